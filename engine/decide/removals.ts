/**
 * What is removed together with a row: every row by name, so that the log needs no rules, and in an
 * order that `apply` follows cheaply: an event before its prices, which then have no inventory to
 * leave.
 */
import { assert } from "../assert.ts";
import type { CatalogRemove, EventRow } from "../catalog.ts";
import type { State } from "../state.ts";
import { type ZoneChange, ZoneRuns } from "../layout/zone-table.ts";

/** An event and its prices. */
export function removesOfEvent({ catalog }: State, event: EventRow): CatalogRemove[] {
  assert(catalog.events.has(event.id), "only an event that exists is removed");
  const prices = [...catalog.pricesOf(event.id).values()];
  return [
    { table: "events", key: event.id },
    ...prices.map(({ id }): CatalogRemove => ({ table: "prices", key: id })),
  ];
}

/** A schema, its layout, its zones, and the clone operation that made it; see `zonesOfSchema`. */
export function removesOfSchema(state: State, schemaId: number): CatalogRemove[] {
  const { schemas, layouts, zones, clones } = state.catalog;
  assert(schemas.has(schemaId), "only a schema that exists is removed");
  const removes: CatalogRemove[] = [];
  for (const zone of zones.values()) {
    if (zone.schemaId === schemaId) removes.push({ table: "zones", key: zone.id });
  }
  for (const clone of clones.values()) {
    if (clone.schemaId === schemaId) removes.push({ table: "clones", key: clone.id });
  }
  if (layouts.has(schemaId)) removes.push({ table: "layouts", key: schemaId });
  removes.push({ table: "schemas", key: schemaId });
  return removes;
}

/** The objects of the schema lose their zones. Cost: O(objects with zones). */
export function zonesOfSchema({ catalog }: State, schemaId: number): ZoneChange[] {
  return withoutZones(schemaId, catalog.zoneAssignments.of(schemaId).keys());
}

/** As `zonesOfSchema`, for all schemas of an organization. */
export function zonesOfOwned(state: State, organizationId: number): ZoneChange[] {
  return [...state.catalog.schemas.values()].flatMap((schema) =>
    schema.organizationId === organizationId ? zonesOfSchema(state, schema.id) : [],
  );
}

/** @param ids - Of objects with zones. @returns No change when there are none. */
export function withoutZones(schemaId: number, ids: Iterable<number>): ZoneChange[] {
  const runs = new ZoneRuns();
  for (const id of ids) runs.add(id, 0);
  return runs.isEmpty ? [] : [{ schemaId, runs: runs.runs }];
}

/** Everything an organization owns: webhooks, events, series, schemas, venues, and their rows. */
export function removesOfOwned(state: State, organizationId: number): CatalogRemove[] {
  const { webhooks, events, series, schemas, venues } = state.catalog;
  const owned = <Row extends { readonly organizationId: number }>(
    rows: ReadonlyMap<unknown, Row>,
  ) => [...rows.values()].filter((row) => row.organizationId === organizationId);
  return [
    ...owned(webhooks).map(({ id }): CatalogRemove => ({ table: "webhooks", key: id })),
    ...owned(events).flatMap((event) => removesOfEvent(state, event)),
    ...owned(series).map(({ id }): CatalogRemove => ({ table: "series", key: id })),
    ...owned(schemas).flatMap(({ id }) => removesOfSchema(state, id)),
    ...owned(venues).map(({ id }): CatalogRemove => ({ table: "venues", key: id })),
  ];
}
