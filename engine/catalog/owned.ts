/** The grant of a catalog command: rows put and removed in one record. */
import { assert } from "../assert.ts";
import type { Caller } from "../bodies.ts";
import type { CatalogPut, CatalogRemove, EventRow } from "../catalog.ts";
import type { Partition } from "../inventory/partition.ts";
import { type BookingState, SeatState } from "../inventory/states.ts";
import { type ZoneChange, ZoneRuns } from "../layout/zones.ts";
import { RecordType } from "../records.ts";
import { type Grant, grant } from "../results.ts";
import type { State } from "../state.ts";

export interface CatalogChange {
  /** Number of ids for the new rows, counted from the catalog's `nextId`. */
  readonly newIds?: number;
  readonly puts?: readonly CatalogPut[];
  readonly removes?: readonly CatalogRemove[];
  readonly zones?: readonly ZoneChange[];
}

/** @param value - The answer of the command. */
export function grantChange<Value>(
  { catalog }: State,
  { actor }: Caller,
  { newIds = 0, puts = [], removes = [], zones = [] }: CatalogChange,
  value: Value,
): Grant<Value> {
  assert(newIds >= 0, "an id that was given out is never given out again");
  const nextId = catalog.nextId + newIds;
  assert(Number.isSafeInteger(nextId), "every id is exact as a double");
  const record = { type: RecordType.CATALOG, actor, nextId, puts, removes } as const;
  return grant(zones.length === 0 ? record : { ...record, zones }, value);
}

// Cascading removals: every row by name, so the log needs no rules, and in an order cheap to apply:
// an event before its prices, which then have no inventory to leave.

/** An event and its prices. */
export function removesOfEvent({ catalog }: State, event: EventRow): CatalogRemove[] {
  assert(catalog.events.has(event.id), "only an event that exists is removed");
  const prices = [...catalog.pricesOf(event.id).values()];
  return [
    { table: "events", key: event.id },
    ...prices.map(({ id }): CatalogRemove => ({ table: "prices", key: id })),
  ];
}

/** A schema, its layout, its zones, and the clone operation behind it; see `zonesOfSchema`. */
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

// Held or sold inventory, which must not just vanish.

const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** True for any LOCKED or SOLD seat or place. Cost: O(areas). */
export function isHeldOrSold(state: State, event: EventRow): boolean {
  return hasAny(state, event, [LOCKED, SOLD]);
}

/** True for any LOCKED, SOLD or BLOCKED seat or place. Cost: O(areas). */
export function isInUse(state: State, event: EventRow): boolean {
  return hasAny(state, event, [LOCKED, SOLD, BLOCKED]);
}

function hasAny(
  { partitions }: State,
  { partition: number }: EventRow,
  states: readonly BookingState[],
): boolean {
  const has = ({ seatsIn, areas }: Partition) =>
    states.some((state) => {
      if (seatsIn[state]! > 0) return true;
      for (let area = 0; area < areas.count; area++) if (areas.places(area, state) > 0) return true;
      return false;
    });
  // Usually there is nothing, on any layout, and the event need not be migrated to find out.
  return has(partitions.peek(number)!) && has(partitions.get(number)!);
}

/** Seats and areas with LOCKED, SOLD or BLOCKED inventory, which prevent a price's deletion. */
interface PriceUse {
  readonly seats: number;
  readonly areas: number;
}

/** True for LOCKED, SOLD or BLOCKED places. */
export function isAreaInUse({ areas }: Partition, area: number): boolean {
  return areas.capacity(area) > areas.places(area, ACTIVE);
}

/** Cost: O(seats and areas). */
export function usesOfPrice(partition: Partition, slot: number): PriceUse {
  const { state, price, areas } = partition;
  assert(slot > 0, "slot 0 stands for no price");
  let seats = 0;
  for (let seat = 0; seat < state.length; seat++) {
    if (price[seat] === slot && state[seat]! > ACTIVE) seats++;
  }
  let used = 0;
  for (let area = 0; area < areas.count; area++) {
    if (areas.price[area] === slot && isAreaInUse(partition, area)) used++;
  }
  return { seats, areas: used };
}
