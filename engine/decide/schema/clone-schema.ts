/**
 * Copies a schema with its layout, zones and their assignments, in one command: the clone operation
 * is complete when it is answered, and its row always says so.
 */
import { assert } from "../../assert.ts";
import type {
  CatalogPut,
  CloneRow,
  MadeLayout,
  SchemaRow,
  ZoneAssignmentRow,
  ZoneRow,
} from "../../catalog.ts";
import { NAME_LENGTH_MAX } from "../../constants.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { plainDocument } from "../../layout/packed-layout.ts";
import { ownRow } from "../../queries/access.ts";
import { type Decision, isRefused } from "../../results.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { assignmentsOf, objectIds } from "../removals.ts";
import { mapGuids, newGuid } from "./guids.ts";

/** What a clone copies. */
export interface Original {
  readonly schemaId: number;
  /** Null when the schema has no layout. */
  readonly document: LayoutDocument | null;
  readonly zones: readonly ZoneRow[];
  readonly assignments: readonly ZoneAssignmentRow[];
}

/** The copy of a schema's layout and zones. */
export interface Copy {
  readonly schemaId: number;
  readonly document: LayoutDocument | null;
  readonly zones: readonly ZoneRow[];
  readonly assignments: readonly ZoneAssignmentRow[];
  /** How many ids the copy takes. */
  readonly newIds: number;
}

interface Next {
  readonly nextId: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/**
 * Copies a schema's layout and zones. The ids of the copies are in the order of the originals;
 * guids are new. Depends on nothing but its arguments. Cost: O(n log n) in the seats.
 */
export function copyOriginal(original: Original, { nextId, timeMs }: Next): Copy {
  const { schemaId, document, zones } = original;
  const objects = document === null ? [] : objectIds(document);
  const originals = [schemaId, ...zones.map(({ id }) => id), ...objects].sort((a, b) => a - b);
  const copies = new Map(originals.map((id, i) => [id, nextId + i]));
  assert(copies.size === originals.length, "no two rows or objects have the same id");
  const idOf = (id: number) => {
    const copy = copies.get(id);
    assert(copy !== undefined, "everything that a copy refers to is copied");
    return copy;
  };
  const id = idOf(schemaId);
  const newGuidOf = (serial: number) => newGuid(timeMs, serial);
  const nextShape = nextId + originals.length;
  return {
    schemaId: id,
    document: document === null ? null : copyDocument(document, idOf, { newGuidOf, nextShape }),
    zones: zones.map((zone) => ({ ...zone, id: idOf(zone.id), schemaId: id })),
    assignments: original.assignments.map((assignment) => ({
      id: idOf(assignment.id),
      schemaId: id,
      zoneId: idOf(assignment.zoneId),
    })),
    newIds: originals.length + (document?.shapes.length ?? 0),
  };
}

interface NewGuids {
  readonly newGuidOf: (serial: number) => string;
  /** The serial number of the first shape. */
  readonly nextShape: number;
}

function copyDocument(
  document: LayoutDocument,
  idOf: (id: number) => number,
  { newGuidOf, nextShape }: NewGuids,
): LayoutDocument {
  const { sectors, rows, seats, shapes } = document;
  const guids = new Map<string, string>();
  for (const objects of [sectors, rows, seats]) {
    for (const { guid, id } of objects) guids.set(guid, newGuidOf(idOf(id)));
  }
  for (const [i, shape] of shapes.entries()) {
    if (shape.id !== undefined) guids.set(shape.id, newGuidOf(nextShape + i));
  }
  const copy = <T extends { readonly id: number }>(objects: readonly T[]): T[] =>
    objects.map((object) => ({ ...object, id: idOf(object.id) }));
  const copied: LayoutDocument = {
    ...document,
    sectors: copy(sectors),
    rows: copy(rows),
    seats: copy(seats),
  };
  return mapGuids(copied, (guid) => guids.get(guid) ?? guid);
}

/** What `copyOriginal` copies of a schema. Cost: O(objects of the layout). */
export function originalOf(state: State, schemaId: number): Original {
  const { layouts, zones } = state.catalog;
  return {
    schemaId,
    document: layouts.get(schemaId)?.document ?? null,
    zones: [...zones.values()].filter((zone) => zone.schemaId === schemaId),
    assignments: assignmentsOf(state, schemaId),
  };
}

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
}

/** The grant of a clone whose layout and zones were copied. */
export function grantClone(
  state: State,
  { caller, cloneId, timeMs }: CommandWith<{ cloneId: string; timeMs: number }>,
  { schema, copy, newIds, made }: CloneGrant,
): Decision<CloneRow> {
  const { schemaId: id, document } = copy;
  const clone: CloneRow = { id: cloneId, organizationId: schema.organizationId, schemaId: id };
  const puts: CatalogPut[] = [
    { table: "schemas", row: { ...schema, id, name: copyName(schema.name), updatedAtMs: timeMs } },
    { table: "clones", row: clone },
  ];
  if (document !== null) {
    const row = { id, document };
    puts.push({ table: "layouts", row, ...(made === undefined ? {} : { made }) });
  }
  for (const row of copy.zones) puts.push({ table: "zones", row });
  for (const row of copy.assignments) puts.push({ table: "zoneAssignments", row });
  return grantChange(state, caller, { newIds, puts }, clone);
}

/** Lengths of names are counted in code points. */
function copyName(name: string): string {
  return Array.from(`${name} (copy)`).slice(0, NAME_LENGTH_MAX).join("");
}
