/**
 * Copies a schema with its layout, zones and their assignments, in one command: the clone operation
 * is complete when it is answered, and its row always says so.
 */
import { assert } from "../../assert.ts";
import type { CatalogPut, CloneRow, LayoutRow } from "../../catalog.ts";
import { NAME_LENGTH_MAX } from "../../constants.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { ownRow } from "../../queries/access.ts";
import { type Decision, isRefused } from "../../results.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { assignmentsOf, objectIds } from "../removals.ts";
import { mapGuids, newGuid } from "./guids.ts";

/** From the id of an original to the id of its copy. */
type IdOf = (id: number) => number;

/**
 * The ids of the copies are in the order of the originals; guids are new. Answers the operation,
 * whose id is `cloneId`. Cost: O(n log n) in the seats.
 */
export function cloneSchema(
  state: State,
  { caller, schemaId, cloneId }: CommandWith<{ schemaId: number; cloneId: string }>,
  timeMs: number,
): Decision<CloneRow> {
  const { catalog } = state;
  const schema = ownRow(catalog.schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  const layout = catalog.layouts.get(schemaId);
  const zones = [...catalog.zones.values()].filter((zone) => zone.schemaId === schemaId);
  const objects = layout === undefined ? [] : objectIds(layout.document);
  const originals = [schemaId, ...zones.map(({ id }) => id), ...objects].sort((a, b) => a - b);
  const copies = new Map(originals.map((id, i) => [id, catalog.nextId + i]));
  assert(copies.size === originals.length, "no two rows or objects have the same id");
  const idOf: IdOf = (id) => {
    const copy = copies.get(id);
    assert(copy !== undefined, "everything that a copy refers to is copied");
    return copy;
  };

  const id = idOf(schemaId);
  const clone: CloneRow = { id: cloneId, organizationId: schema.organizationId, schemaId: id };
  const puts: CatalogPut[] = [
    { table: "schemas", row: { ...schema, id, name: copyName(schema.name), updatedAtMs: timeMs } },
    { table: "clones", row: clone },
  ];
  const shapes = layout?.document.shapes ?? [];
  if (layout !== undefined) {
    const { sectors, rows, seats } = layout.document;
    const guids = new Map<string, string>();
    for (const object of [...sectors, ...rows, ...seats]) {
      guids.set(object.guid, newGuid(timeMs, idOf(object.id)));
    }
    for (const [i, shape] of shapes.entries()) {
      const serial = catalog.nextId + originals.length + i;
      if (shape.id !== undefined) guids.set(shape.id, newGuid(timeMs, serial));
    }
    puts.push({ table: "layouts", row: copyLayout(layout, idOf, guids) });
  }
  for (const zone of zones) {
    puts.push({ table: "zones", row: { ...zone, id: idOf(zone.id), schemaId: id } });
  }
  for (const assignment of assignmentsOf(state, schemaId)) {
    const zoneId = idOf(assignment.zoneId);
    const row = { id: idOf(assignment.id), schemaId: id, zoneId };
    puts.push({ table: "zoneAssignments", row });
  }
  const newIds = originals.length + shapes.length;
  return grantChange(state, caller, { newIds, puts }, clone);
}

/** Lengths of names are counted in code points. */
function copyName(name: string): string {
  return Array.from(`${name} (copy)`).slice(0, NAME_LENGTH_MAX).join("");
}

/** @param guids - From the guid of an original, or the id of a shape, to that of its copy. */
function copyLayout(
  { id, document }: LayoutRow,
  idOf: IdOf,
  guids: ReadonlyMap<string, string>,
): LayoutRow {
  const copy = <T extends { readonly id: number }>(objects: readonly T[]): T[] =>
    objects.map((object) => ({ ...object, id: idOf(object.id) }));
  const { sectors, rows, seats, ...drawing } = document;
  const copied: LayoutDocument = {
    ...drawing,
    sectors: copy(sectors),
    rows: copy(rows),
    seats: copy(seats),
  };
  return { id: idOf(id), document: mapGuids(copied, (guid) => guids.get(guid) ?? guid) };
}
