/**
 * A schema copied with its layout, zones and their assignments, in one command: the operation is
 * complete when it is answered, and its row says so ever after.
 */
import type { CloneRow, LayoutRow, CatalogPut } from "../../catalog.ts";
import type { CommandOf } from "../../commands.ts";
import { NAME_LENGTH_MAX } from "../../constants.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { isRefusal, ownRow } from "../../queries/access.ts";
import { type Decision, grant } from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";
import { assignmentsOf, objectIds } from "../removals.ts";

/** From the id of what is copied to the id of its copy. */
type IdOf = (id: number) => number;

/**
 * Ids are new and in the order of the old ones; guids stay, which are unique within a layout.
 *
 * @returns ENTITY_NOT_FOUND or ACCESS_DENIED; else the operation. Cost: O(n log n) in the seats.
 */
export function cloneSchema(
  state: State,
  { caller, schemaId, cloneId }: CommandOf<"cloneSchema">,
  timeMs: number,
): Decision<CloneRow> {
  const { catalog } = state;
  const schema = ownRow(catalog.schemas.get(schemaId), caller, "schema");
  if (isRefusal(schema)) return schema;
  const layout = catalog.layouts.get(schemaId);
  const zones = [...catalog.zones.values()].filter((zone) => zone.schemaId === schemaId);
  const objects = layout === undefined ? [] : objectIds(layout.document);
  const olds = [schemaId, ...zones.map(({ id }) => id), ...objects].sort((a, b) => a - b);
  const news = new Map(olds.map((id, i) => [id, catalog.nextId + i]));
  const idOf: IdOf = (id) => news.get(id)!;

  const id = idOf(schemaId);
  const clone: CloneRow = { id: cloneId, organizationId: schema.organizationId, schemaId: id };
  const puts: CatalogPut[] = [
    { table: "schemas", row: { ...schema, id, name: copyName(schema.name), updatedAtMs: timeMs } },
    { table: "clones", row: clone },
  ];
  if (layout !== undefined) puts.push({ table: "layouts", row: copyLayout(layout, idOf) });
  for (const zone of zones) {
    puts.push({ table: "zones", row: { ...zone, id: idOf(zone.id), schemaId: id } });
  }
  for (const assignment of assignmentsOf(state, schemaId)) {
    const zoneId = idOf(assignment.zoneId);
    const row = { id: idOf(assignment.id), schemaId: id, zoneId };
    puts.push({ table: "zoneAssignments", row });
  }
  const nextId = catalog.nextId + olds.length;
  return grant(catalogRecord(caller, { nextId, puts }), clone);
}

/** Lengths are counted in characters, not in halves of them. */
function copyName(name: string): string {
  return Array.from(`${name} (copy)`).slice(0, NAME_LENGTH_MAX).join("");
}

function copyLayout({ id, document }: LayoutRow, idOf: IdOf): LayoutRow {
  const copy = <T extends { readonly id: number }>(objects: readonly T[]): T[] =>
    objects.map((object) => ({ ...object, id: idOf(object.id) }));
  const { sectors, rows, seats, ...drawing } = document;
  const copied: LayoutDocument = {
    ...drawing,
    sectors: copy(sectors),
    rows: copy(rows),
    seats: copy(seats),
  };
  return { id: idOf(id), document: copied };
}
