/**
 * The effect of one record on one event: the transitions of its seats and areas, and its shown
 * changes. `apply` alone gives a record its meaning; this compares the event before and after it.
 */
import { apply, type CatalogCall, changedEvents } from "../apply.ts";
import type { EventRow, EventStatus } from "../catalog.ts";
import { NONE } from "../constants.ts";
import type { Hold } from "../inventory/holds.ts";
import type { Areas, Partition } from "../inventory/partition.ts";
import { BOOKING_STATES, MOVES, SeatState } from "../inventory/states.ts";
import type { LayoutArea } from "../layout/layout.ts";
import { type CatalogRecord, type LogRecord, type MoveRecord, RecordType } from "../records.ts";
import type { State } from "../state.ts";
import { isOnSale } from "./seats.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** Places of an area: ACTIVE, LOCKED, SOLD, BLOCKED. */
export type AreaCounts = readonly [number, number, number, number];

/** A transition of a seat, or of places of an area. The object is used again for the next one. */
export interface PlaceMove {
  placeId: number;
  /** The places of an area, and its counters afterwards; null for a seat. */
  places: number | null;
  counts: AreaCounts | null;
  /** Null when the place did not exist. */
  from: SeatState | null;
  /** Null when the place no longer exists. */
  to: SeatState | null;
  /** The price afterwards; 0 for none. */
  priceId: number;
  /** The fence of the entered, kept or left hold; 0 for none. */
  hold: number;
  session: string;
  holdType: string;
  /** Milliseconds since 1970: the end of the hold of a LOCKED seat; 0 for none. */
  endsAtMs: number;
}

/** The shown part of a record beside its places. */
export interface EventEffect {
  readonly call: string;
  /** Null where the record does not change it. */
  readonly status: EventStatus | null;
  readonly bookable: boolean | null;
}

export type OnMove = (move: Readonly<PlaceMove>) => void;

/** A record with its time in milliseconds since 1970 and its number in the log. */
export interface TimedRecord {
  readonly record: LogRecord;
  readonly timeMs: number;
  readonly sequence: number;
}

/**
 * Applies a record to a state and reports its effect on one event.
 *
 * @param number - The event's partition. The record changes the event.
 * @param onMove - Called with each transition, in the order of the audit trail.
 * Cost: O(transitions); O(seats of the event) for a change of its layout or a removed price.
 */
export function applyTo(
  state: State,
  number: number,
  { record, timeMs, sequence }: TimedRecord,
  onMove: OnMove,
): EventEffect {
  switch (record.type) {
    case RecordType.MOVE:
      moved(state, record, sequence, onMove);
      apply(state, record, timeMs, sequence);
      return { call: MOVES[record.move].name, status: null, bookable: null };
    case RecordType.PRICE: {
      const { runs, areas } = record;
      const seats = function* () {
        for (let i = 0; i < runs.length; i += 3) {
          const end = runs[i + 1]! + runs[i + 2]!;
          for (let seat = runs[i + 1]!; seat < end; seat++) yield seat;
        }
      };
      const priced = Array.from(areas).filter((_, i) => i % 3 === 0);
      const report = beforePrices(state, number, seats(), priced);
      apply(state, record, timeMs, sequence);
      report(onMove);
      return { call: "prices", status: null, bookable: null };
    }
    case RecordType.CATALOG:
      return catalogChanged(state, number, { record, timeMs, sequence }, onMove);
  }
  return record satisfies never;
}

function blankMove(): PlaceMove {
  const hold = { hold: 0, session: "", holdType: "", endsAtMs: 0 };
  return { placeId: 0, places: null, counts: null, from: null, to: null, priceId: 0, ...hold };
}

function enter(move: PlaceMove, { fence, session, holdType, expiresAtMs }: Hold): void {
  move.hold = fence;
  move.session = session;
  move.holdType = holdType;
  move.endsAtMs = expiresAtMs;
}

/** To be called before the record is applied: later its holds may be gone. */
function moved(state: State, record: MoveRecord, sequence: number, onMove: OnMove): void {
  const partition = state.partitionAt(record.partition);
  const { layout, holds, hold, price } = partition;
  const priceIdIn = priceIdsOf(state, record.partition);
  const { from, to } = MOVES[record.move];
  const move = blankMove();
  move.from = from;
  move.to = to;
  move.hold = to === LOCKED ? sequence : 0;
  move.session = record.session;
  move.holdType = record.holdType;
  move.endsAtMs = to === LOCKED ? record.expiresAtMs : 0;
  for (const seat of record.seats) {
    move.placeId = layout.seatIds[seat]!;
    move.priceId = priceIdIn(price[seat]!);
    if (from === LOCKED) enter(move, holds.get(hold[seat]!));
    onMove(move);
  }
  const counts = new Map<number, AreaCounts>();
  for (let i = 0; i < record.areas.length; i += 3) {
    const [area, slot, places] = record.areas.subarray(i, i + 3) as unknown as AreaCounts;
    const after = [...(counts.get(area) ?? countsOf(partition.areas, area))];
    after[from - ACTIVE]! -= places;
    after[to - ACTIVE]! += places;
    counts.set(area, (move.counts = after as unknown as AreaCounts));
    move.placeId = layout.areas[area]!.id;
    move.places = places;
    move.priceId = priceIdIn(partition.areas.price[area]!);
    if (from === LOCKED) enter(move, holds.get(slot));
    onMove(move);
  }
}

/** @returns Finds the id of the price in a slot; 0 for none. */
function priceIdsOf({ catalog }: State, number: number): (slot: number) => number {
  const prices = catalog.pricesOf(eventAt(catalog.events.values(), number)?.id ?? "");
  return (slot) => prices.get(slot)?.id ?? 0;
}

function eventAt(events: Iterable<EventRow>, number: number): EventRow | undefined {
  for (const event of events) if (event.partition === number) return event;
  return undefined;
}

function countsOf(areas: Areas, area: number): AreaCounts {
  return BOOKING_STATES.map((state) => areas.places(area, state)) as unknown as AreaCounts;
}

/** An area before a record. */
interface AreaBefore {
  readonly id: number;
  readonly counts: AreaCounts;
  /** Its holds, the oldest first. */
  readonly held: readonly { readonly hold: Hold; readonly places: number }[];
}

function areaBefore({ layout, areas, holds }: Partition, area: number): AreaBefore {
  const held = Array.from(areas.holdsIn(area), ([slot, places]) => {
    return { hold: holds.get(slot), places };
  });
  held.sort((a, b) => a.hold.fence - b.hold.fence);
  return { id: layout.areas[area]!.id, counts: countsOf(areas, area), held };
}

/**
 * To be called before the prices of seats and areas change.
 * @returns Reports their transitions afterwards.
 */
function beforePrices(
  state: State,
  number: number,
  seats: Iterable<number>,
  areas: readonly number[],
): (onMove: OnMove) => void {
  const partition = state.partitionAt(number);
  const before = Array.from(seats, (seat) => {
    const from = partition.state[seat] as SeatState;
    const hold = from === LOCKED ? partition.holds.get(partition.hold[seat]!) : null;
    return { seat, from, hold };
  });
  const areasBefore = areas.map((area) => areaBefore(partition, area));
  return (onMove) => {
    const priceIdIn = priceIdsOf(state, number);
    const { layout, price } = partition;
    for (const { seat, from, hold } of before) {
      const move = blankMove();
      move.placeId = layout.seatIds[seat]!;
      move.from = from;
      move.to = partition.state[seat] as SeatState;
      move.priceId = priceIdIn(price[seat]!);
      if (hold !== null) enter(move, hold);
      onMove(move);
    }
    for (const [i, area] of areas.entries()) {
      const priceId = priceIdIn(partition.areas.price[area]!);
      repriced(areasBefore[i]!, countsOf(partition.areas, area), priceId, onMove);
    }
  };
}

/** Reports moves of places of one area, one after the other. */
class AreaMoves {
  readonly #move = blankMove();
  readonly #counts: number[];
  readonly #onMove: OnMove;

  constructor({ id, counts }: AreaBefore, priceId: number, onMove: OnMove) {
    this.#move.placeId = id;
    this.#move.priceId = priceId;
    this.#counts = [...counts];
    this.#onMove = onMove;
  }

  move(
    from: SeatState | null,
    to: SeatState | null,
    places: number,
    hold: Hold | null = null,
  ): void {
    const move = this.#move;
    if (from !== null && from >= ACTIVE) this.#counts[from - ACTIVE]! -= places;
    if (to !== null && to >= ACTIVE) this.#counts[to - ACTIVE]! += places;
    move.from = from;
    move.to = to;
    move.places = places;
    move.counts = [...this.#counts] as unknown as AreaCounts;
    [move.hold, move.session, move.holdType, move.endsAtMs] = [0, "", "", 0];
    if (hold !== null) enter(move, hold);
    this.#onMove(move);
  }
}

/** There is always a last move, because the price may have changed without the places. */
function repriced(before: AreaBefore, after: AreaCounts, priceId: number, onMove: OnMove): void {
  const moves = new AreaMoves(before, priceId, onMove);
  const isPriced = priceId !== 0;
  if (!isPriced) {
    for (const { hold, places } of before.held) moves.move(LOCKED, WITHDRAWN, places, hold);
    const blocked = before.counts[3];
    if (blocked > 0) moves.move(BLOCKED, WITHDRAWN, blocked);
  }
  const more = after[0] - before.counts[0];
  const to = more < 0 || !isPriced ? WITHDRAWN : ACTIVE;
  moves.move(more > 0 ? UNPRICED : ACTIVE, to, Math.abs(more));
}

function catalogChanged(
  state: State,
  number: number,
  { record, timeMs, sequence }: TimedRecord & { readonly record: CatalogRecord },
  onMove: OnMove,
): EventEffect {
  const call: CatalogCall = changedEvents(state, record).get(number) ?? "event";
  const before = switchesOf(state, number);
  const partition = state.partitions.get(number);
  const reportPrices = call === "deleteprice" ? beforeRemoval(state, number, record) : null;
  apply(state, record, timeMs, sequence);
  const after = switchesOf(state, number);
  if (after === null) return { call, status: null, bookable: null };
  reportPrices?.(onMove);
  const present = state.partitionAt(number);
  if (partition !== undefined && partition !== present) migrated(partition, present, onMove);
  return {
    call,
    status: after.status === before?.status ? null : after.status,
    bookable: after.bookable === before?.bookable ? null : after.bookable,
  };
}

function switchesOf(state: State, number: number) {
  const event = eventAt(state.catalog.events.values(), number);
  return event === undefined ? null : { status: event.status, bookable: isOnSale(state, event) };
}

/** As `beforePrices`, for seats and areas that lose a removed price. */
function beforeRemoval(state: State, number: number, { removes }: CatalogRecord) {
  const { price, areas } = state.partitionAt(number);
  const slots = new Set<number>();
  for (const { table, key } of removes) {
    if (table === "prices") slots.add(state.catalog.prices.get(Number(key))?.slot ?? NONE);
  }
  const seats: number[] = [];
  for (let seat = 0; seat < price.length; seat++) if (slots.has(price[seat]!)) seats.push(seat);
  const priced = Array.from(areas.price.keys()).filter((area) => slots.has(areas.price[area]!));
  return beforePrices(state, number, seats, priced);
}

/** Seats and areas that another layout removes and adds. The others stay as they are. */
function migrated(before: Partition, after: Partition, onMove: OnMove): void {
  const seat = blankMove();
  for (const index of missingIn(after, before)) {
    seat.placeId = before.layout.seatIds[index]!;
    seat.from = before.state[index] as SeatState;
    [seat.hold, seat.session, seat.holdType, seat.endsAtMs] = [0, "", "", 0];
    if (seat.from === LOCKED) enter(seat, before.holds.get(before.hold[index]!));
    onMove(seat);
  }
  const added = blankMove();
  added.to = UNPRICED;
  for (const index of missingIn(before, after)) {
    added.placeId = after.layout.seatIds[index]!;
    onMove(added);
  }
  const isMissing = (other: Partition) => (area: LayoutArea) => {
    return !other.layout.areaIndexes.has(area.id);
  };
  for (const { id } of before.layout.areas.filter(isMissing(after))) {
    const area = areaBefore(before, before.layout.areaIndexes.get(id)!);
    const moves = new AreaMoves(area, 0, onMove);
    for (const { hold, places } of area.held) moves.move(LOCKED, null, places, hold);
    for (const state of [ACTIVE, SOLD, BLOCKED] as const) {
      const places = area.counts[state - ACTIVE]!;
      if (places > 0) moves.move(state, null, places);
    }
    // The last transition of the area, whether it had places or not.
    moves.move(UNPRICED, null, 0);
  }
  for (const { id } of after.layout.areas.filter(isMissing(before))) {
    new AreaMoves({ id, counts: [0, 0, 0, 0], held: [] }, 0, onMove).move(null, UNPRICED, 0);
  }
}

/** @returns Indexes of seats that the other layout lacks. Both are in ascending order of id. */
function missingIn({ layout: other }: Partition, { layout }: Partition): number[] {
  const missing: number[] = [];
  let at = 0;
  for (const [index, id] of layout.seatIds.entries()) {
    while (at < other.seatCount && other.seatIds[at]! < id) at++;
    if (other.seatIds[at] !== id) missing.push(index);
  }
  return missing;
}
