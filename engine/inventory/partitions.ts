/**
 * The partitions of all events. A partition whose layout changes is migrated when it is next read,
 * or by `settleStep`, because a hundred events cannot be migrated at once without a pause. Until
 * then nothing can change it, so the result is the same at any time.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import { type Layout, seatName } from "../layout/layout.ts";
import { channelIn, emptyChannels, putChannel } from "./channels.ts";
import {
  type ChangeLinks,
  emptyParts,
  Partition,
  type SeatColumns,
  unpricedSeats,
} from "./partition.ts";
import { BOOKING_STATES, SeatState } from "./states.ts";
import { drain, SEATS_PER_STEP } from "./steps.ts";

/** Pending changes of one partition: each keeps a layout in memory. */
export const LAYOUT_CHANGES_MAX = 16;

/** A change of the layout of many events, with a shared comparison of the two layouts. */
export class LayoutChange {
  readonly layout: Layout;
  /** Milliseconds since 1970: the time of change of new seats and areas, and of other labels. */
  readonly timeMs: number;
  #from: Layout | null = null;
  #matches: SeatMatches | null = null;

  constructor(layout: Layout, timeMs: number) {
    this.layout = layout;
    this.timeMs = timeMs;
  }

  /** Cost: O(seats) once for each earlier layout, usually one. */
  *migrate(partition: Partition): Generator<void, Partition> {
    let matches = this.#from === partition.layout ? this.#matches : null;
    if (matches === null) {
      matches = yield* matchSeats(partition.layout, this.layout);
      this.#from = partition.layout;
      this.#matches = matches;
    }
    return yield* migrateToLayout(partition, this, matches);
  }
}

/** By partition number. Whoever reads a partition sees it on its event's present layout. */
export class Partitions extends Map<number, Partition> {
  /** By partition number: pending changes of its layout, oldest first. */
  readonly #waiting = new Map<number, LayoutChange[]>();
  /** Seats of all partitions, each on its event's present layout. */
  seatCount = 0;
  /** The migration begun by `settleStep`. */
  #begun: { readonly number: number; readonly steps: Generator<void, Partition> } | null = null;

  /** Puts an existing partition on another layout. Cost: constant, unless too many wait. */
  migrate(number: number, change: LayoutChange): void {
    this.seatCount += change.layout.seatCount - this.#seatsOf(number);
    if ((this.#waiting.get(number)?.length ?? 0) >= LAYOUT_CHANGES_MAX) this.#settle(number);
    const changes = this.#waiting.get(number);
    if (changes === undefined) this.#waiting.set(number, [change]);
    else changes.push(change);
  }

  /** Partitions with a pending migration. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Does a step of one pending migration. @returns True while one is pending. */
  settleStep(): boolean {
    const [number] = this.#waiting.keys();
    if (number === undefined) return false;
    this.#begun ??= { number, steps: this.#migrate(number) };
    const step = this.#begun.steps.next();
    if (step.done === true) this.set(this.#begun.number, step.value);
    return this.#waiting.size > 0;
  }

  /** The layout of the partition as `get` gives it. */
  layoutOf(number: number): Layout | undefined {
    return this.#waiting.get(number)?.at(-1)?.layout ?? super.get(number)?.layout;
  }

  /** The partition as it is, on its event's present layout or still on an earlier one. */
  peek(number: number): Partition | undefined {
    return super.get(number);
  }

  /** True when a hold may have expired. Exact without a pending migration. */
  hasDue(number: number, timeMs: number): boolean {
    return (super.get(number)?.holds.due(timeMs) ?? NONE) !== NONE;
  }

  /** Holds of all events; those of removed seats count until their partition is migrated. */
  get holdCount(): number {
    let count = 0;
    for (const partition of super.values()) count += partition.holds.count;
    return count;
  }

  override get(number: number): Partition | undefined {
    if (this.#waiting.size > 0) this.#settle(number);
    return super.get(number);
  }

  override set(number: number, partition: Partition): this {
    this.seatCount += partition.layout.seatCount - this.#seatsOf(number);
    this.#forget(number);
    return super.set(number, partition);
  }

  override delete(number: number): boolean {
    this.seatCount -= this.#seatsOf(number);
    this.#forget(number);
    return super.delete(number);
  }

  override clear(): void {
    this.seatCount = 0;
    this.#waiting.clear();
    this.#begun = null;
    super.clear();
  }

  override values() {
    this.#settleAll();
    return super.values();
  }

  override entries() {
    this.#settleAll();
    return super.entries();
  }

  override [Symbol.iterator]() {
    return this.entries();
  }

  #seatsOf(number: number): number {
    return this.layoutOf(number)?.seatCount ?? 0;
  }

  #settleAll(): void {
    for (const number of this.#waiting.keys()) this.#settle(number);
  }

  #settle(number: number): void {
    if (!this.#waiting.has(number)) return;
    const isBegun = this.#begun?.number === number;
    this.set(number, drain(isBegun ? this.#begun!.steps : this.#migrate(number)));
  }

  /** Follows the pending changes, including those added between two steps. */
  *#migrate(number: number): Generator<void, Partition> {
    let partition = super.get(number)!;
    for (const change of this.#waiting.get(number)!) partition = yield* change.migrate(partition);
    return partition;
  }

  #forget(number: number): void {
    this.#waiting.delete(number);
    if (this.#begun?.number === number) this.#begun = null;
  }
}

// Migrates an event's inventory to another version of its layout. Seats and areas are matched by
// id: a new one has no price, and a removed one leaves its hold.

/** The same seats in two layouts. Index: seat of the first. */
interface SeatMatches {
  /** Value: its index in the second; NONE when the second does not have it. */
  readonly matchOf: Uint32Array;
  /** Value: 1 when the second lists it with another row, section or label. */
  readonly isRelabelled: Uint8Array;
}

/** Cost: O(seats of both layouts). */
function* matchSeats(from: Layout, to: Layout): Generator<void, SeatMatches> {
  const matchOf = new Uint32Array(from.seatCount).fill(NONE);
  const isRelabelled = new Uint8Array(from.seatCount);
  let match = 0;
  for (let seat = 0; seat < from.seatCount; seat++) {
    if (seat % SEATS_PER_STEP === SEATS_PER_STEP - 1) yield;
    const id = from.seatIds[seat]!;
    while (match < to.seatCount && to.seatIds[match]! < id) match++;
    if (to.seatIds[match] !== id) continue;
    matchOf[seat] = match;
    isRelabelled[seat] = hasSameLabels(from, seat, to, match) ? 0 : 1;
  }
  return { matchOf, isRelabelled };
}

/** True for two versions of a seat with the same row, section and labels. */
function hasSameLabels(a: Layout, seat: number, b: Layout, match: number): boolean {
  if (seatName(a, seat) !== seatName(b, match)) return false;
  const rowA = a.rows[a.rowOfSeat[seat]!]!;
  const rowB = b.rows[b.rowOfSeat[match]!]!;
  if (rowA.id !== rowB.id || rowA.name !== rowB.name) return false;
  const sectionA = a.sections[rowA.section]!;
  const sectionB = b.sections[rowB.section]!;
  return sectionA.id === sectionB.id && sectionA.name === sectionB.name;
}

/**
 * @param matches - Of the source's layout and the new one.
 * @returns The migrated partition; `source` is not changed, and must not change between two steps.
 * Cost: O(seats), about three milliseconds for 200,000.
 */
function* migrateToLayout(
  source: Partition,
  { layout, timeMs }: LayoutChange,
  matches: SeatMatches,
): Generator<void, Partition> {
  const { channels } = source;
  const seats = {
    ...unpricedSeats(layout.seatCount, timeMs),
    channels: channels === null ? null : keptChannels(channels, matches, layout.seatCount),
  };
  const links = yield* copySeats(source, seats, matches);
  const target = new Partition(layout, timeMs, seats, emptyParts(layout, timeMs, links));
  copyAreas(source, target);
  yield* copyHolds(source, target, matches);
  return target;
}

/** The channels of matched seats; null when none of these is in one. Cost: O(seats). */
function keptChannels(
  channels: Uint8Array,
  { matchOf }: SeatMatches,
  seatCount: number,
): Uint8Array | null {
  const kept = emptyChannels(seatCount);
  let isUsed = false;
  for (let seat = 0; seat < matchOf.length; seat++) {
    const slot = channelIn(channels, seat);
    if (slot === 0 || matchOf[seat] === NONE) continue;
    putChannel(kept, matchOf[seat]!, slot);
    isUsed = true;
  }
  return isUsed ? kept : null;
}

/**
 * Matched seats keep their order of change. The new ones, and those with other labels, come after
 * them, as the latest change.
 */
function* copySeats(
  source: Partition,
  target: SeatColumns,
  { matchOf, isRelabelled }: SeatMatches,
): Generator<void, ChangeLinks> {
  const seatCount = target.state.length;
  let left = SEATS_PER_STEP;
  const isUnchanged = new Uint8Array(seatCount);
  const order = new OrderOfChange(seatCount);
  for (let seat = source.changes.oldest; seat !== NONE; seat = source.changes.laterThan(seat)) {
    if (--left === 0) {
      yield;
      left = SEATS_PER_STEP;
    }
    const match = matchOf[seat]!;
    if (match === NONE) continue;
    target.state[match] = source.state[seat]!;
    target.price[match] = source.price[seat]!;
    // `copyHolds` gives LOCKED seats their new slots.
    if (source.state[seat]! > SeatState.LOCKED) {
      target.holdOrFence[match] = source.holdOrFence[seat]!;
      target.fenceHigh[match] = source.fenceHigh[seat]!;
    }
    if (isRelabelled[seat] === 1) continue;
    assert(isUnchanged[match] === 0, "a seat is copied once");
    target.changedAtMs[match] = source.changedAtMs[seat]!;
    isUnchanged[match] = 1;
    order.add(match);
  }
  for (let seat = 0; seat < seatCount; seat++) {
    if (seat % SEATS_PER_STEP === SEATS_PER_STEP - 1) yield;
    if (isUnchanged[seat] === 0) order.add(seat);
  }
  return order.links;
}

/** Builds the links of a change list, seat by seat. */
class OrderOfChange {
  readonly #later: Uint32Array;
  #oldest = NONE as number;
  #newest = NONE as number;

  constructor(seatCount: number) {
    this.#later = new Uint32Array(seatCount);
  }

  add(seat: number): void {
    if (this.#newest === NONE) this.#oldest = seat;
    else this.#later[this.#newest] = seat;
    this.#later[seat] = NONE;
    this.#newest = seat;
  }

  get links(): ChangeLinks {
    return { later: this.#later, oldest: this.#oldest, touches: this.#later.length };
  }
}

function copyAreas(source: Partition, target: Partition): void {
  for (let area = 0; area < source.areas.count; area++) {
    const match = matchArea(source, target, area);
    if (match === NONE) continue;
    target.areas.price[match] = source.areas.price[area]!;
    target.areas.changedAtMs[match] = source.areas.changedAtMs[area]!;
    for (const state of BOOKING_STATES) {
      target.areas.add(match, state, source.areas.places(area, state));
    }
    const capacity = source.areas.capacity(area);
    assert(target.areas.capacity(match) === capacity, "an area keeps its capacity");
  }
}

/** The oldest hold first, so the expiry queues stay sorted. */
function* copyHolds(
  source: Partition,
  target: Partition,
  { matchOf }: SeatMatches,
): Generator<void, void> {
  let left = SEATS_PER_STEP;
  for (const slot of source.holds.slots()) {
    left -= 1 + source.holds.get(slot).seats.length + source.areas.count;
    if (left <= 0) {
      yield;
      left = SEATS_PER_STEP;
    }
    const hold = source.holds.get(slot);
    const seats = source
      .seatsOf(slot)
      .map((seat) => matchOf[seat]!)
      .filter((seat) => seat !== NONE);
    const places = matchPlaces(source, target, slot);
    const size = places.reduce((sum, [, count]) => sum + count, seats.length);
    assert(size <= source.holds.size(slot), "a hold gains nothing from another layout");
    if (size === 0) continue;
    const newSlot = target.holds.nextSlot;
    target.holds.open(newSlot, { ...hold, seats }, size);
    for (const seat of seats) target.holdOrFence[seat] = newSlot;
    for (const [area, count] of places) target.areas.addHeld(area, newSlot, count);
  }
  target.holds.passFences(source.holds.fenceBound);
}

/** @returns Pairs: area index of the target, places of the hold there. */
function matchPlaces(source: Partition, target: Partition, slot: number): [number, number][] {
  const held = source.areas.heldOf(new Set([slot])).get(slot) ?? [];
  return held.flatMap(([area, places]) => {
    const match = matchArea(source, target, area);
    return match === NONE ? [] : [[match, places] as [number, number]];
  });
}

/** @returns The index of the same area in the target; NONE when it has none. */
function matchArea(source: Partition, target: Partition, area: number): number {
  return target.layout.areaIndexes.get(source.layout.areas[area]!.id) ?? NONE;
}
