/**
 * Copies a schema with its layout, zones and their assignments, in one command: the clone operation
 * is complete when it is answered, and its row always says so.
 */
import type { CatalogPut, CloneRow, MadeLayout, SchemaRow } from "../../catalog.ts";
import { NAME_LENGTH_MAX } from "../../constants.ts";
import { type Copy, copyOriginal } from "../../layout/change/copy-schema.ts";
import { plainDocument } from "../../layout/packed-layout.ts";
import { ownRow } from "../../queries/access.ts";
import { originalOf } from "../../queries/schema-content.ts";
import { type Decision, isRefused } from "../../results.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import type { ZoneChange } from "../../layout/zone-table.ts";
import { grantChange } from "../catalog-record.ts";

interface CloneCommand {
  readonly schemaId: number;
  readonly cloneId: string;
}

/** Answers the operation, whose id is `cloneId`. Cost: O(n log n) in the seats. */
export function cloneSchema(
  state: State,
  { caller, schemaId, cloneId }: CommandWith<CloneCommand>,
  timeMs: number,
): Decision<CloneRow> {
  const { schemas, nextId } = state.catalog;
  const schema = ownRow(schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  const original = originalOf(state, schemaId);
  const document = original.document === null ? null : plainDocument(original.document);
  const copy = copyOriginal({ ...original, document }, { nextId, timeMs });
  return grantClone(state, { caller, cloneId, timeMs }, { schema, copy, newIds: copy.newIds });
}

interface CloneGrant {
  readonly schema: SchemaRow;
  readonly copy: Copy;
  readonly newIds: number;
  readonly made?: MadeLayout;
  /** As `ZoneChange.made`. */
  readonly madeZones?: Map<number, number> | undefined;
}

/** The grant of a clone whose layout and zones were copied. */
export function grantClone(
  state: State,
  { caller, cloneId, timeMs }: CommandWith<{ cloneId: string; timeMs: number }>,
  { schema, copy, newIds, made, madeZones }: CloneGrant,
): Decision<CloneRow> {
  const { schemaId: id, document } = copy;
  const clone: CloneRow = { id: cloneId, organizationId: schema.organizationId, schemaId: id };
  const puts: CatalogPut[] = [
    { table: "schemas", row: { ...schema, id, name: copyName(schema.name), updatedAtMs: timeMs } },
    { table: "clones", row: clone },
  ];
  if (document !== null) {
    const row = { id, document, version: 0 };
    puts.push({ table: "layouts", row, ...(made === undefined ? {} : { made }) });
  }
  for (const row of copy.zones) puts.push({ table: "zones", row });
  const change: ZoneChange = { schemaId: id, runs: copy.assignments };
  const zoned = madeZones === undefined ? change : { ...change, made: madeZones };
  const zones = copy.assignments.length === 0 ? [] : [zoned];
  return grantChange(state, caller, { newIds, puts, zones }, clone);
}

/** Lengths of names are counted in code points. */
function copyName(name: string): string {
  return Array.from(`${name} (copy)`).slice(0, NAME_LENGTH_MAX).join("");
}
