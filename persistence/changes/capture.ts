/**
 * What a record changes, other than by moving seats: read from the state around the record, because
 * later records would hide it.
 */
import type { CatalogCall } from "../../engine/affected-partitions.ts";
import { Broken } from "../../engine/assert.ts";
import type { EventRow } from "../../engine/catalog.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, MOVES, SeatState } from "../../engine/inventory/states.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import {
  type AreaAfter,
  byId,
  listedState,
  type SeatAfter,
} from "../../engine/queries/event-change.ts";
import { isOnSale } from "../../engine/queries/listed-event.ts";
import type { CatalogRecord, MoveRecord, PriceRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import type { Captured } from "./event-chain.ts";

const { ACTIVE, LOCKED } = SeatState;

/** What seats and areas became. */
export type Places = Pick<Captured, "seats" | "areas">;

/** Places that are made when they are asked for, and the memory that this takes. */
export interface Made {
  readonly places: () => Places;
  readonly bytes: number;
}

/** Seats after a change of their price, in columns, because there may be very many. */
interface SeatColumns {
  readonly ids: Float64Array;
  readonly states: Uint8Array;
  readonly priceIds: Float64Array;
  /** Ends of timed holds; null when none of the seats has one. */
  readonly endsMs: Float64Array | null;
}

/** @returns The areas after a move, which is yet to be applied. */
export function areasAfter(partition: Partition, { move, areas }: MoveRecord): AreaAfter[] {
  const { from, to } = MOVES[move];
  const counts = new Map<number, number[]>();
  for (let i = 0; i < areas.length; i += 3) {
    const area = areas[i]!;
    const places = areas[i + 2]!;
    const after = counts.get(area) ?? countsOf(partition, area);
    after[from - ACTIVE]! -= places;
    after[to - ACTIVE]! += places;
    counts.set(area, after);
  }
  const { layout } = partition;
  return [...counts].map(([area, after]) => areaOf(layout.areas[area]!.id, after)).sort(byId);
}

function countsOf({ areas }: Partition, area: number): number[] {
  return BOOKING_STATES.map((state) => areas.places(area, state));
}

function areaOf(id: number, [active = 0, locked = 0, sold = 0, blocked = 0]: number[]): AreaAfter {
  return { id, active, locked, sold, blocked };
}

/** Seats and areas, by index, that a record changes the price of. */
export interface Priced {
  readonly seats: readonly number[];
  readonly areas: readonly number[];
}

export function pricedBy({ runs, areas }: PriceRecord): Priced {
  const seats: number[] = [];
  for (let i = 0; i < runs.length; i += 3) {
    const end = runs[i + 1]! + runs[i + 2]!;
    for (let seat = runs[i + 1]!; seat < end; seat++) seats.push(seat);
  }
  return { seats, areas: Array.from(areas).filter((_, i) => i % 3 === 0) };
}

/** To be called before the price is removed. */
export function pricedWith({ price, areas }: Partition, slots: ReadonlySet<number>): Priced {
  const seats: number[] = [];
  for (let seat = 0; seat < price.length; seat++) if (slots.has(price[seat]!)) seats.push(seat);
  const priced = Array.from(areas.price.keys()).filter((area) => slots.has(areas.price[area]!));
  return { seats, areas: priced };
}

/** To be called when the prices have changed, before the next record. */
export function placesAfter(
  state: State,
  { partition: number, id }: EventRow,
  { seats, areas }: Priced,
): Made {
  const partition = state.partitionAt(number);
  const prices = state.catalog.pricesOf(id);
  const { layout, holds } = partition;
  const count = seats.length;
  let endsMs: Float64Array | null = null;
  const columns = {
    ids: new Float64Array(count),
    states: new Uint8Array(count),
    priceIds: new Float64Array(count),
  };
  for (let i = 0; i < count; i++) {
    const seat = seats[i]!;
    columns.ids[i] = layout.seatIds[seat]!;
    columns.states[i] = partition.state[seat]!;
    columns.priceIds[i] = prices.get(partition.price[seat]!)?.id ?? 0;
    if (partition.state[seat] !== LOCKED) continue;
    endsMs ??= new Float64Array(count);
    endsMs[i] = holds.get(partition.hold[seat]!).expiresAtMs;
  }
  const after = areas.map((area) => areaOf(layout.areas[area]!.id, countsOf(partition, area)));
  const bytes = 25 * count + 100 * after.length;
  const places = () => ({ seats: seatsOf({ ...columns, endsMs }), areas: after.sort(byId) });
  return { places, bytes };
}

function seatsOf({ ids, states, priceIds, endsMs }: SeatColumns): SeatAfter[] {
  return Array.from(ids, (id, i) => ({
    id,
    state: listedState(states[i] as SeatState),
    priceId: priceIds[i] || null,
    expiresAtMs: endsMs?.[i] || null,
  })).sort(byId);
}

/** Ids of seats and areas that a layout adds and removes. */
interface LayoutChange {
  readonly added: Float64Array;
  readonly removed: Float64Array;
  readonly areas: readonly number[];
}

/** The last comparison: the events of a schema change their layout together. */
let compared: { from: Layout; to: Layout; change: LayoutChange } | null = null;

/** @returns What becomes of seats and areas of an event that moves to another layout. */
export function layoutChange(from: Layout, to: Layout): Made {
  if (compared?.from !== from || compared.to !== to) {
    compared = { from, to, change: compareLayouts(from, to) };
  }
  const { added, removed, areas } = compared.change;
  const seatOf = (id: number): SeatAfter => ({ id, state: null, priceId: null, expiresAtMs: null });
  const places = () => ({
    seats: [...Array.from(added, seatOf), ...Array.from(removed, seatOf)].sort(byId),
    areas: areas.map((id) => areaOf(id, [])).sort(byId),
  });
  return { places, bytes: 8 * (added.length + removed.length + areas.length) };
}

function compareLayouts(from: Layout, to: Layout): LayoutChange {
  const areasOf = ({ areas }: Layout) => new Set(areas.map(({ id }) => id));
  const [before, after] = [areasOf(from), areasOf(to)];
  const areas = [...before].filter((id) => !after.has(id));
  for (const id of after) if (!before.has(id)) areas.push(id);
  const missing = (ids: Float64Array, others: Float64Array) => {
    let at = 0;
    return ids.filter((id) => {
      while (at < others.length && others[at]! < id) at++;
      return others[at] !== id;
    });
  };
  return {
    added: missing(to.seatIds, from.seatIds),
    removed: missing(from.seatIds, to.seatIds),
    areas,
  };
}

/** An event before and after a record, or only before it when the record removes the event. */
export interface Versions {
  readonly before: EventRow | undefined;
  readonly after: EventRow;
}

/** To be called before the record is applied. */
export function versionsOf(state: State, partition: number, { puts }: CatalogRecord): Versions {
  for (const { table, row } of puts) {
    if (table !== "events" || row.partition !== partition) continue;
    return { before: state.catalog.events.get(row.id), after: row };
  }
  const before = eventAt(state, partition);
  return { before, after: before };
}

/** Cost: O(events), but little of what changes an event does not move seats. */
export function eventAt(state: State, partition: number): EventRow {
  for (const event of state.catalog.events.values())
    if (event.partition === partition) return event;
  throw new Broken("a partition belongs to an event");
}

type Switches = Pick<Captured, "status" | "bookable">;

/** To be called before the record is applied. */
export function switchesOf(
  state: State,
  { puts }: CatalogRecord,
  { before, after }: Versions,
  call: CatalogCall,
): Switches {
  if (call !== "event") return { status: null, bookable: null };
  const { organizations } = state.catalog;
  let { bookingEnabled } = organizations.get(after.organizationId)!;
  for (const { table, row } of puts) {
    if (table === "organizations" && row.id === after.organizationId) ({ bookingEnabled } = row);
  }
  const bookable = after.status === "PUBLISHED" && bookingEnabled;
  const wasBookable = before === undefined ? null : isOnSale(state, before);
  return {
    status: after.status === before?.status ? null : after.status,
    bookable: bookable === wasBookable ? null : bookable,
  };
}

/** By slot. */
export type PriceIds = ReadonlyMap<number, number>;

export function priceIdsOf({ catalog }: State, eventId: string): PriceIds {
  return new Map([...catalog.pricesOf(eventId)].map(([slot, { id }]) => [slot, id]));
}
