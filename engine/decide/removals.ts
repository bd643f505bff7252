/**
 * What is removed together with a row: every row by name, so that the log needs no rules, and in an
 * order that `apply` follows cheaply: an event before its prices, which then have no inventory to
 * leave.
 */
import { assert } from "../assert.ts";
import type { CatalogRemove, EventRow, ZoneAssignmentRow } from "../catalog.ts";
import { assignmentsOf } from "../queries/schema-content.ts";
import type { State } from "../state.ts";

/** An event and its prices. */
export function removesOfEvent({ catalog }: State, event: EventRow): CatalogRemove[] {
  assert(catalog.events.has(event.id), "only an event that exists is removed");
  const prices = [...catalog.pricesOf(event.id).values()];
  return [
    { table: "events", key: event.id },
    ...prices.map(({ id }): CatalogRemove => ({ table: "prices", key: id })),
  ];
}

/** A schema, its layout, its zones and their assignments, and the clone operation that made it. */
export function removesOfSchema(state: State, schemaId: number): CatalogRemove[] {
  const { schemas, layouts, zones, clones } = state.catalog;
  assert(schemas.has(schemaId), "only a schema that exists is removed");
  const removes = removesOfAssignments(assignmentsOf(state, schemaId));
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

export function removesOfAssignments(rows: readonly ZoneAssignmentRow[]): CatalogRemove[] {
  return rows.map(({ id }) => ({ table: "zoneAssignments", key: id }));
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
