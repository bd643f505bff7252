/**
 * The effect of one record on one event: the transitions of its seats and areas, and its shown
 * changes. `apply` alone gives a record its meaning; this compares the event before and after it.
 */
import { apply, applyCart, type CatalogCall, changedEvents } from "../apply.ts";
import { Broken } from "../assert.ts";
import type { EventStatus, PriceRow } from "../catalog.ts";
import { NONE } from "../constants.ts";
import type { Hold } from "../inventory/holds.ts";
import type { Areas, Partition } from "../inventory/partition.ts";
import { BOOKING_STATES, MOVES, SeatState, statesBefore } from "../inventory/states.ts";
import type { Layout, LayoutArea } from "../layout/layout.ts";
import {
  type ArrivalRecord,
  type CartPart,
  type CartRecord,
  type CatalogRecord,
  type ExtensionRecord,
  type LogRecord,
  type Movement,
  type MoveRecord,
  partsOn,
  RecordType,
} from "../records.ts";
import type { State } from "../state.ts";
import { type AreaAfter, listedState, type SeatAfter } from "./history.ts";
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
  /** The key of its channel, null for none; undefined where the record leaves it as it is. */
  channel: string | null | undefined;
}

/** The shown part of a record beside its places. */
export interface EventEffect {
  readonly call: string;
  /** Of the call, or of the expired hold; empty for none. */
  readonly session: string;
  /** Of a lock, a direct sale, or an expired hold; empty for none. */
  readonly holdType: string;
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
  timed: TimedRecord,
  onMove: OnMove,
): EventEffect {
  const { record, timeMs, sequence } = timed;
  if (record.type === RecordType.CART)
    return applyCartTo(state, number, { ...timed, record }, onMove);
  const isCatalog = record.type === RecordType.CATALOG;
  const call = isCatalog ? (changedEvents(state, record).get(number) ?? "event") : null;
  const before = state.partitions.get(number);
  const end = observe(state, number, { ...timed, call }, onMove);
  apply(state, record, timeMs, sequence);
  const effect = end();
  const after = state.partitions.get(number);
  if (before !== undefined && after !== undefined && before !== after) {
    migrated(before, after, onMove);
  }
  return effect;
}

/** Each part on what those before it leave. */
function applyCartTo(
  state: State,
  number: number,
  { record, ...timed }: TimedRecord & { readonly record: CartRecord },
  onMove: OnMove,
): EventEffect {
  applyCart(state, record, timed, (part, fence) => {
    if (part.partition !== number) return;
    if (part.type === RecordType.MOVE) moved(state, part, fence, onMove);
    else extended(state, part, onMove);
  });
  return cartEffect(record);
}

function cartEffect({ session }: CartRecord): EventEffect {
  return { ...effectOf("cart"), session };
}

/** A record, and its effect as by `changedEvents`; null for a record of one event. */
export interface ObservedRecord extends Pick<TimedRecord, "record" | "sequence"> {
  readonly call: CatalogCall | null;
}

/**
 * Reports the effect of a record on one event, except for seats and areas that another layout adds
 * and removes: see `layoutPlaces`. Of a cart it reports one transition for each seat and area. To be called before the record is applied.
 *
 * @returns To be called once it is applied, and before the next one is.
 */
export function observe(
  state: State,
  number: number,
  { record, sequence, call }: ObservedRecord,
  onMove: OnMove,
): () => EventEffect {
  switch (record.type) {
    case RecordType.MOVE:
    case RecordType.ARRIVAL: {
      const { holds } = state.partitionAt(number);
      const isArrival = record.type === RecordType.ARRIVAL;
      moved(state, record, isArrival ? (record.fences[0] ?? 0) : holds.nextFence(sequence), onMove);
      return () => moveEffect(record);
    }
    case RecordType.PRICE: {
      const priced = Array.from(record.areas).filter((_, i) => i % 3 === 0);
      const report = beforePrices(state, number, seatsIn(record.runs), priced);
      return () => {
        report(onMove);
        return effectOf("prices");
      };
    }
    case RecordType.CART: {
      const report = beforeCart(state, number, partsOn(record, number));
      return () => {
        report(onMove);
        return cartEffect(record);
      };
    }
    case RecordType.EXTENSION: {
      extended(state, record, onMove);
      return () => ({ ...effectOf("extend"), session: record.session });
    }
    case RecordType.CATALOG: {
      const report =
        call === "deleteprice"
          ? beforeRemoval(state, number, record)
          : call === "channels"
            ? beforeAllotment(state, number, record)
            : null;
      const before = switchesOf(state, number);
      return () => {
        report?.(onMove);
        return effectOf(call!, before, switchesOf(state, number));
      };
    }
    case RecordType.DOOR:
      throw new Broken("a step of a door shows nothing");
  }
  return record satisfies never;
}

/** Held seats and places stay LOCKED, and end later. To be called before the record is applied. */
function extended(state: State, record: ExtensionRecord, onMove: OnMove): void {
  const partition = state.partitionAt(record.partition);
  const { layout, holds, areas } = partition;
  const { seatIds, price, prices } = pricedSeatsOf(state, record.partition, partition);
  const held = areas.heldOf(new Set(record.holds));
  const move = { ...blankMove(), from: LOCKED, to: LOCKED };
  for (const [i, slot] of record.holds.entries()) {
    const hold = { ...holds.get(slot), expiresAtMs: record.endsAtMs[i]! };
    enter(move, hold);
    [move.places, move.counts] = [null, null];
    for (const seat of partition.seatsOf(slot)) {
      move.placeId = seatIds[seat]!;
      move.priceId = prices.get(price[seat]!)?.id ?? 0;
      onMove(move);
    }
    for (const [area, places] of held.get(slot) ?? []) {
      move.placeId = layout.areas[area]!.id;
      move.priceId = prices.get(areas.price[area]!)?.id ?? 0;
      [move.places, move.counts] = [places, countsOf(areas, area)];
      onMove(move);
    }
  }
}

/** The effect of a move beside its places. */
export function moveEffect({ move, session, holdType }: Movement): EventEffect {
  return { call: MOVES[move].name, session, holdType, status: null, bookable: null };
}

interface Switches {
  readonly status: EventStatus;
  readonly bookable: boolean;
}

/** Null where the event does not exist. */
function effectOf(
  call: string,
  before: Switches | null = null,
  after: Switches | null = null,
): EventEffect {
  const status = after === null || after.status === before?.status ? null : after.status;
  const bookable = after === null || after.bookable === before?.bookable ? null : after.bookable;
  return { call, session: "", holdType: "", status, bookable };
}

function switchesOf(state: State, number: number): Switches | null {
  const event = state.catalog.eventOf(number);
  return event === undefined ? null : { status: event.status, bookable: isOnSale(state, event) };
}

/** @returns A seat as a change shows it after a transition. */
export function seatAfter({
  placeId: id,
  to,
  priceId,
  endsAtMs,
  channel,
}: Pick<PlaceMove, "placeId" | "to" | "priceId" | "endsAtMs" | "channel">): SeatAfter {
  const expiresAtMs = to === LOCKED ? endsAtMs || null : null;
  const seat = { id, state: listedState(to), priceId: priceId || null, expiresAtMs };
  return channel === undefined ? seat : { ...seat, channel };
}

export function areaAfter(id: number, counts: AreaCounts): AreaAfter {
  const [active, locked, sold, blocked] = counts;
  return { id, active, locked, sold, blocked };
}

function blankMove(): PlaceMove {
  const hold = { hold: 0, session: "", holdType: "", endsAtMs: 0, channel: undefined };
  return { placeId: 0, places: null, counts: null, from: null, to: null, priceId: 0, ...hold };
}

function enter(move: PlaceMove, { fence, session, holdType, expiresAtMs }: Hold): void {
  move.hold = fence;
  move.session = session;
  move.holdType = holdType;
  move.endsAtMs = expiresAtMs;
}

/** The seats of an event, and their prices, while neither changes. */
export interface PricedSeats {
  /** Index: seat. */
  readonly seatIds: Float64Array;
  /** Index: seat. Value: the price slot. */
  readonly price: Uint16Array;
  /** By slot. */
  readonly prices: ReadonlyMap<number, Pick<PriceRow, "id">>;
}

interface FencedMove {
  readonly record: Movement;
  /** Of its lock; anything for another move. */
  readonly fence: number;
}

export function pricedSeatsOf(
  { catalog }: State,
  number: number,
  partition: Partition,
): PricedSeats {
  const prices = catalog.pricesOf(catalog.eventOf(number)?.id ?? "");
  return { seatIds: partition.layout.seatIds, price: partition.price, prices };
}

/**
 * The seats of a move.
 * @param before - Before the record; null where states and holds that seats leave do not matter.
 */
export function movedSeats(
  { seatIds, price, prices }: PricedSeats,
  { record, fence }: FencedMove,
  onMove: OnMove,
  before: Partition | null = null,
): void {
  const move = moveOf({ record, fence });
  for (const seat of record.seats) {
    move.placeId = seatIds[seat]!;
    move.priceId = prices.get(price[seat]!)?.id ?? 0;
    if (before !== null) leave(move, record, before, seat);
    onMove(move);
  }
}

/** A seat on sale that an unlock withdraws leaves no hold. */
function leave(move: PlaceMove, record: Movement, before: Partition, seat: number): void {
  move.from = before.state[seat] as SeatState;
  if (move.from === LOCKED) enter(move, before.holds.get(before.holdOf(seat)));
  else if (move.to !== LOCKED) {
    const { session, holdType } = record;
    [move.hold, move.session, move.holdType, move.endsAtMs] = [0, session, holdType, 0];
  }
}

function moveOf({ record, fence }: FencedMove): PlaceMove {
  const { move: kind, session, holdType, expiresAtMs } = record;
  const { from, to } = MOVES[kind];
  const [hold, endsAtMs] = to === LOCKED ? [fence, expiresAtMs] : [0, 0];
  return { ...blankMove(), from, to, hold, session, holdType, endsAtMs };
}

/**
 * To be called before the record is applied: later its holds may be gone.
 * @param fence - Of its lock; anything for another move.
 */
function moved(
  state: State,
  record: MoveRecord | ArrivalRecord,
  fence: number,
  onMove: OnMove,
): void {
  const partition = state.partitionAt(record.partition);
  const { layout, holds, areas } = partition;
  const { to } = MOVES[record.move];
  const seating = pricedSeatsOf(state, record.partition, partition);
  movedSeats(seating, { record, fence }, onMove, partition);
  const move = moveOf({ record, fence });
  const counts = new Map<number, AreaCounts>();
  for (let i = 0; i < record.areas.length; i += 3) {
    const [area, slot, places] = record.areas.subarray(i, i + 3) as unknown as AreaCounts;
    move.placeId = layout.areas[area]!.id;
    move.priceId = seating.prices.get(areas.price[area]!)?.id ?? 0;
    let left = places;
    for (const from of statesBefore(record.move)) {
      const after = [...(counts.get(area) ?? countsOf(areas, area))];
      const part = Math.min(left, after[from - ACTIVE]!);
      if (part === 0) continue;
      left -= part;
      after[from - ACTIVE]! -= part;
      after[to - ACTIVE]! += part;
      counts.set(area, (move.counts = after as unknown as AreaCounts));
      move.from = from;
      move.places = part;
      if (from === LOCKED) enter(move, holds.get(slot));
      onMove(move);
    }
  }
}

function countsOf(areas: Areas, area: number): AreaCounts {
  return BOOKING_STATES.map((state) => areas.places(area, state)) as unknown as AreaCounts;
}

/**
 * To be called before a cart is applied. A seat that it moves twice has one transition here.
 * @returns Reports them afterwards.
 */
function beforeCart(
  state: State,
  number: number,
  parts: readonly CartPart[],
): (onMove: OnMove) => void {
  const partition = state.partitionAt(number);
  const { layout, holds, areas } = partition;
  const from = new Map<number, SeatState>();
  const movedAreas = new Set<number>();
  const addSeats = (seats: Uint32Array) => {
    for (const seat of seats) from.set(seat, partition.state[seat] as SeatState);
  };
  const extendedSlots = new Set<number>();
  for (const part of parts) {
    if (part.type === RecordType.MOVE) {
      addSeats(part.seats);
      for (let i = 0; i < part.areas.length; i += 3) movedAreas.add(part.areas[i]!);
      continue;
    }
    // A hold that the cart opens has seats and areas of its moves alone.
    for (const slot of part.holds) if (holds.has(slot)) extendedSlots.add(slot);
  }
  for (const slot of extendedSlots) addSeats(partition.seatsOf(slot));
  for (const pairs of areas.heldOf(extendedSlots).values()) {
    for (const [area] of pairs) movedAreas.add(area);
  }
  return (onMove) => {
    const { seatIds, price, prices } = pricedSeatsOf(state, number, partition);
    const move = blankMove();
    for (const [seat, before] of from) {
      move.placeId = seatIds[seat]!;
      [move.from, move.to] = [before, partition.state[seat] as SeatState];
      move.priceId = prices.get(price[seat]!)?.id ?? 0;
      const slot = partition.holdOf(seat);
      if (slot !== NONE) enter(move, holds.get(slot));
      else [move.hold, move.session, move.holdType, move.endsAtMs] = [0, "", "", 0];
      onMove(move);
    }
    for (const area of movedAreas) {
      const place = { ...blankMove(), placeId: layout.areas[area]!.id, places: 0 };
      const priceId = prices.get(areas.price[area]!)?.id ?? 0;
      onMove({ ...place, priceId, counts: countsOf(areas, area) });
    }
  };
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

/** @param runs - Triples: price slot, first seat, seats. */
function seatsIn(runs: Uint32Array): Uint32Array {
  let count = 0;
  for (let i = 0; i < runs.length; i += 3) count += runs[i + 2]!;
  const seats = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < runs.length; i += 3) {
    const end = runs[i + 1]! + runs[i + 2]!;
    for (let seat = runs[i + 1]!; seat < end; seat++) seats[at++] = seat;
  }
  return seats;
}

/**
 * To be called before the prices of seats and areas change. Without an object for each seat: there
 * may be 200,000.
 * @returns Reports their transitions afterwards.
 */
function beforePrices(
  state: State,
  number: number,
  seats: ArrayLike<number>,
  areas: readonly number[],
): (onMove: OnMove) => void {
  const partition = state.partitionAt(number);
  const from = new Uint8Array(seats.length);
  const holds = new Map<number, Hold>();
  for (let i = 0; i < seats.length; i++) {
    const seat = seats[i]!;
    from[i] = partition.state[seat]!;
    if (from[i] === LOCKED) holds.set(seat, partition.holds.get(partition.holdOf(seat)));
  }
  const areasBefore = areas.map((area) => areaBefore(partition, area));
  return (onMove) => {
    const { seatIds, price, prices } = pricedSeatsOf(state, number, partition);
    const move = blankMove();
    for (let i = 0; i < seats.length; i++) {
      const seat = seats[i]!;
      move.placeId = seatIds[seat]!;
      move.from = from[i] as SeatState;
      move.to = partition.state[seat] as SeatState;
      move.priceId = prices.get(price[seat]!)?.id ?? 0;
      if (move.from === LOCKED) enter(move, holds.get(seat)!);
      else [move.hold, move.session, move.holdType, move.endsAtMs] = [0, "", "", 0];
      onMove(move);
    }
    for (const [i, area] of areas.entries()) {
      const priceId = prices.get(partition.areas.price[area]!)?.id ?? 0;
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

/** As `beforePrices`, for seats that join or leave a channel: their states and prices stay. */
function beforeAllotment(state: State, number: number, { puts }: CatalogRecord) {
  const partition = state.partitionAt(number);
  const reports = puts.flatMap((put) => {
    const { channel } = put;
    if (put.table !== "events" || put.row.partition !== number || channel === undefined) return [];
    const seats = partition.allotted(channel);
    const key = put.row.channels?.find(({ slot }) => slot === channel.slot)?.key ?? null;
    return [{ seats, key, slot: channel.slot, report: beforePrices(state, number, seats, []) }];
  });
  return (onMove: OnMove) => {
    for (const { seats, key, slot, report } of reports) {
      let next = 0;
      report((move) => {
        const isIn = partition.channelOf(seats[next++]!) === slot;
        onMove({ ...move, channel: isIn ? key : null });
      });
    }
  };
}

/** Seats and areas that another layout removes and adds. The others stay as they are. */
function migrated(before: Partition, after: Partition, onMove: OnMove): void {
  const seat = blankMove();
  for (const index of missingIn(after.layout, before.layout)) {
    seat.placeId = before.layout.seatIds[index]!;
    seat.from = before.state[index] as SeatState;
    [seat.hold, seat.session, seat.holdType, seat.endsAtMs] = [0, "", "", 0];
    if (seat.from === LOCKED) enter(seat, before.holds.get(before.holdOf(index)));
    onMove(seat);
  }
  const added = blankMove();
  added.to = UNPRICED;
  for (const index of missingIn(before.layout, after.layout)) {
    added.placeId = after.layout.seatIds[index]!;
    onMove(added);
  }
  for (const { id } of missingAreas(after.layout, before.layout)) {
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
  for (const { id } of missingAreas(before.layout, after.layout)) {
    new AreaMoves({ id, counts: [0, 0, 0, 0], held: [] }, 0, onMove).move(null, UNPRICED, 0);
  }
}

/** @returns Indexes of seats that the other layout lacks. Both are in ascending order of id. */
function missingIn(other: Layout, { seatIds }: Layout): number[] {
  const missing: number[] = [];
  let at = 0;
  for (let index = 0; index < seatIds.length; index++) {
    const id = seatIds[index]!;
    while (at < other.seatCount && other.seatIds[at]! < id) at++;
    if (other.seatIds[at] !== id) missing.push(index);
  }
  return missing;
}

function missingAreas(other: Layout, { areas }: Layout): LayoutArea[] {
  return areas.filter(({ id }) => !other.areaIndexes.has(id));
}

/** Ids in ascending order. */
export interface PlaceIds {
  readonly seats: Float64Array;
  readonly areas: readonly number[];
}

/** @returns Seats and areas that only one of two layouts has. Cost: O(seats). */
export function layoutPlaces(from: Layout, to: Layout): PlaceIds {
  const idsOf = (other: Layout, layout: Layout) =>
    missingIn(other, layout).map((index) => layout.seatIds[index]!);
  const seats = Float64Array.from([...idsOf(to, from), ...idsOf(from, to)]).sort();
  const areas = [...missingAreas(to, from), ...missingAreas(from, to)].map(({ id }) => id);
  return { seats, areas: areas.sort((a, b) => a - b) };
}
