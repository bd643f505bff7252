/**
 * The door of one event: its visitors as a structure of arrays, their places and admissions. There
 * are no rules here: `decide` reads it, `apply` calls its few mutators. A visitor is known by the
 * entry, a hash of the secret id; the id itself is nowhere. Memory: about 60 bytes per visitor,
 * besides the sessions and holds of those who locked.
 */
import { assert } from "../assert.ts";
import type { DoorRow } from "../catalog.ts";
import { NONE, PLACES_WAITING_MAX, VISITORS_MAX } from "../constants.ts";
import { Column, EntryIndex } from "./columns.ts";
import type { Partition } from "./partition.ts";

export const VisitorState = { WAITING: 0, INVITED: 1, INSIDE: 2, GONE: 3 } as const;
export type VisitorState = (typeof VisitorState)[keyof typeof VisitorState];

const { WAITING, INVITED, INSIDE, GONE } = VisitorState;

/** Bytes of an entry. */
export const ENTRY_BYTES = 16;
const SECOND_MS = 1_000;
const SECONDS_PER_MINUTE = 60;
/** Holds under tokens that may have ended, before the ended ones are removed. */
const ENDED_HOLDS_MAX = 1_024;

/** A copy of a door. */
export interface DoorCopy {
  /** In the order of `SCALARS`. */
  readonly scalars: Float64Array;
  /** Empty before the opening. */
  readonly seed: Uint8Array;
  /** `ENTRY_BYTES` per visitor, in order of arrival. */
  readonly entries: Uint8Array;
  /** Index: visitor. */
  readonly state: Uint8Array;
  readonly place: Uint32Array;
  readonly untilMs: Float64Array;
  readonly seconds: Uint32Array;
  readonly sold: Uint32Array;
  /** Visitors of the places after `serving`. */
  readonly order: Uint32Array;
  /** Pairs: visitor, and the length of its session in `sessions`, in UTF-16 code units. */
  readonly sessionUnits: Uint32Array;
  readonly sessions: string;
  /** Live holds under tokens: their numbers, and their visitors. */
  readonly fences: Float64Array;
  readonly holders: Uint32Array;
}

const SCALARS = [
  "id",
  "openedAtMs",
  "drawable",
  "drawn",
  "placeCount",
  "serving",
  "rateStartMs",
  "rateSecond",
  "invitedTotal",
  "noShows",
] as const;
type Scalars = Record<(typeof SCALARS)[number], number>;

export class Door implements Scalars {
  row: DoorRow;
  readonly id: number;
  /** Negative before the opening. */
  openedAtMs = -1;
  /** 32 bytes; empty before the opening. */
  seed: Uint8Array = new Uint8Array(0);
  /** Visitors who joined before `opensAtMs`: the first ones in order of arrival. */
  drawable = 0;
  /** Visitors drawn at the opening. */
  drawn = 0;
  /** Places given so far. */
  placeCount = 0;
  /** Places up to this one were invited or passed over. */
  serving = 0;
  /** The start of the seconds of the rate, and the last second that has invited. */
  rateStartMs = 0;
  rateSecond = 0;
  invitedTotal = 0;
  /** Invitations that ran out. */
  noShows = 0;
  /** Index: a `VisitorState`. Value: how many visitors are in it. */
  readonly visitorsIn = new Uint32Array(GONE + 1);
  readonly #entries = new Column<Uint8Array>(Uint8Array, ENTRY_BYTES);
  readonly #index = new EntryIndex();
  readonly #state = new Column<Uint8Array>(Uint8Array);
  /** 0 for none. */
  readonly #place = new Column<Uint32Array>(Uint32Array);
  /** INVITED, INSIDE and GONE: the end of the invitation or of the admission. */
  readonly #untilMs = new Column<Float64Array>(Float64Array);
  /** INSIDE: how long the admission lasts, in seconds. */
  readonly #seconds = new Column<Uint32Array>(Uint32Array);
  /** Seats and places sold out of holds under the visitor's token. */
  readonly #sold = new Column<Uint32Array>(Uint32Array);
  /** Index: place - 1. Chunks of places that were served are dropped. */
  readonly #order = new Column<Uint32Array>(Uint32Array);
  /** By visitor: the session that its first lock named. */
  readonly #sessions = new Map<number, string>();
  /** By number of a hold: its visitor. Ended holds may be left. */
  readonly #holders = new Map<number, number>();
  /** By visitor: the numbers of those holds. */
  readonly #fences = new Map<number, number[]>();
  readonly #ends = new Ends();

  constructor(row: DoorRow) {
    this.row = row;
    this.id = row.id;
  }

  /** Visitors so far. */
  get count(): number {
    return this.visitorsIn[0]! + this.visitorsIn[1]! + this.visitorsIn[2]! + this.visitorsIn[3]!;
  }

  get isOpen(): boolean {
    return this.openedAtMs >= 0;
  }

  /** Places that wait for their invitation, or are passed over. */
  get placesWaiting(): number {
    return this.placeCount - this.serving;
  }

  /** @returns The visitor with the entry; NONE for none. Cost: constant. */
  find(entry: Uint8Array): number {
    return this.#index.find(this.#entries, entry);
  }

  /** The entry of a visitor; a view, valid while the door is. */
  entryOf(visitor: number): Uint8Array {
    return this.#entries.lanes(visitor);
  }

  /** An invitation or an admission that has run out is over, swept or not. */
  stateOf(visitor: number, timeMs: number): VisitorState {
    const state = this.#state.get(visitor) as VisitorState;
    if (state !== INVITED && state !== INSIDE) return state;
    return timeMs < this.#untilMs.get(visitor) ? state : GONE;
  }

  /** From 1; 0 for none. */
  placeOf(visitor: number): number {
    return this.#place.get(visitor);
  }

  untilOf(visitor: number): number {
    return this.#untilMs.get(visitor);
  }

  secondsOf(visitor: number): number {
    return this.#seconds.get(visitor);
  }

  /** The session bound to the visitor; undefined before the first lock. */
  sessionOf(visitor: number): string | undefined {
    return this.#sessions.get(visitor);
  }

  /** Seats and places sold, or still held, under the visitor's token. Cost: O(its holds). */
  takenOf(visitor: number, { holds }: Partition): number {
    let taken = this.#sold.get(visitor);
    for (const fence of this.#fences.get(visitor) ?? []) {
      const slot = holds.slotOf(fence);
      if (slot !== NONE) taken += holds.size(slot);
    }
    return taken;
  }

  /** Other settings count from now on. */
  configure(row: DoorRow, timeMs: number): void {
    const before = this.row;
    assert(row.id === this.id, "a door keeps its id");
    assert(!this.isOpen || row.opensAtMs === before.opensAtMs, "an open door has opened");
    this.row = row;
    if (before.opensAtMs !== row.opensAtMs) this.drawable = this.count;
    if (before.draw !== row.draw) this.#placeByArrival(row.draw);
    if (before.perMinute !== row.perMinute || (before.paused && !row.paused)) this.restart(timeMs);
  }

  /** Before the opening. Cost: O(visitors). */
  #placeByArrival(isDrawn: boolean): void {
    assert(!this.isOpen, "an open door keeps its order");
    this.placeCount = 0;
    for (let visitor = 0; visitor < this.count; visitor++) {
      if (isDrawn) this.#place.set(visitor, 0);
      else this.#giveLastPlace(visitor);
    }
  }

  /** The seconds of the rate begin anew. */
  restart(timeMs: number): void {
    if (!this.isOpen) return;
    this.rateStartMs = timeMs;
    this.rateSecond = 0;
  }

  /**
   * A new visitor, or one that is gone and comes back. Cost: constant.
   * @param visitor - `count` for a new one.
   */
  join(visitor: number, entry: Uint8Array, timeMs: number): void {
    if (visitor === this.count) {
      assert(visitor < VISITORS_MAX, "a door takes only so many visitors");
      assert(entry.length === ENTRY_BYTES, "an entry has its length");
      assert(this.find(entry) === NONE, "an entry joins once");
      this.#entries.setLanes(visitor, entry);
      this.#state.set(visitor, WAITING);
      this.#place.set(visitor, 0);
      this.#index.add(this.#entries, visitor);
      this.visitorsIn[WAITING]! += 1;
      if (timeMs < this.row.opensAtMs) this.drawable = this.count;
    } else {
      assert(this.stateOf(visitor, timeMs) === GONE, "only who is gone comes back");
      this.#move(visitor, WAITING);
    }
    // Before a draw nobody has a place.
    if (this.isOpen || !this.row.draw) this.#giveLastPlace(visitor);
  }

  #giveLastPlace(visitor: number): void {
    this.#order.set(this.placeCount, visitor);
    this.placeCount += 1;
    this.#place.set(visitor, this.placeCount);
    assert(this.placesWaiting <= PLACES_WAITING_MAX, "only so many places wait");
  }

  /**
   * @param order - The drawn visitors, the first place first; empty without a draw.
   * Cost: O(visitors), a few nanoseconds each.
   */
  open(seed: Uint8Array, order: Uint32Array, timeMs: number): void {
    assert(!this.isOpen, "a door opens once");
    this.seed = Uint8Array.from(seed);
    this.openedAtMs = timeMs;
    this.restart(timeMs);
    if (!this.row.draw) return;
    assert(order.length === this.drawable, "everybody who joined in time is drawn");
    this.drawn = order.length;
    this.placeCount = order.length;
    this.#order.fill(0, order);
    for (let i = 0; i < order.length; i++) this.#place.set(order[i]!, i + 1);
    for (let visitor = order.length; visitor < this.count; visitor++) this.#giveLastPlace(visitor);
  }

  /** The second of the rate at a time, from 1. */
  secondAt(timeMs: number): number {
    return Math.floor((timeMs - this.rateStartMs) / SECOND_MS) + 1;
  }

  /** Invitations due now, by the rate and the room inside; 0 once a second has invited. */
  allowance(timeMs: number): number {
    const { perMinute, maxInside } = this.row;
    const second = this.secondAt(timeMs);
    if (!this.isOpen || second <= this.rateSecond) return 0;
    const upTo = (seconds: number) => Math.ceil((perMinute * seconds) / SECONDS_PER_MINUTE);
    const inside = this.visitorsIn[INVITED]! + this.visitorsIn[INSIDE]!;
    const room = maxInside === null ? Infinity : maxInside - inside;
    return Math.max(0, Math.min(upTo(second) - upTo(second - 1), room));
  }

  /** @returns The last place to serve, so that `max` who wait are invited. Cost: O(places). */
  through(max: number): number {
    let [place, left] = [this.serving, max];
    while (left > 0 && place < this.placeCount) {
      place += 1;
      if (this.#waiterAt(place) !== NONE) left -= 1;
    }
    return place;
  }

  /** The visitor who waits at the place; NONE where it is passed over. */
  #waiterAt(place: number): number {
    const visitor = this.#order.get(place - 1);
    const isThere = this.#place.get(visitor) === place && this.#state.get(visitor) === WAITING;
    return isThere ? visitor : NONE;
  }

  /** Invites who waits at the places after `serving`, up to `through`. Cost: O(these places). */
  invite(through: number, untilMs: number, timeMs: number): void {
    assert(through > this.serving && through <= this.placeCount, "places are served in order");
    for (let place = this.serving + 1; place <= through; place++) {
      const visitor = this.#waiterAt(place);
      if (visitor === NONE) continue;
      this.#move(visitor, INVITED);
      this.#endAt(visitor, untilMs);
      this.invitedTotal += 1;
    }
    this.serving = through;
    this.rateSecond = this.secondAt(timeMs);
    this.#order.dropBefore(through);
  }

  /** Cost: constant. */
  enter(visitor: number, untilMs: number, seconds: number): void {
    assert(this.#state.get(visitor) === INVITED, "only who is invited enters");
    this.#move(visitor, INSIDE);
    this.#seconds.set(visitor, seconds);
    this.#endAt(visitor, untilMs);
  }

  /** Visitors leave, or their time has come. Cost: O(visitors of the record). */
  end(visitors: Uint32Array, timeMs: number): void {
    for (const visitor of visitors) {
      const state = this.#state.get(visitor);
      assert(state !== GONE, "only who is there leaves");
      if (state === INVITED && this.#untilMs.get(visitor) <= timeMs) this.noShows += 1;
      this.#move(visitor, GONE);
    }
  }

  /** Visitors whose time has come, at most so many. Cost: O(these). */
  due(timeMs: number, max: number): number[] {
    return this.#ends.due(timeMs, max, (visitor) => {
      const state = this.#state.get(visitor);
      const isThere = state === INVITED || state === INSIDE;
      return isThere ? this.#untilMs.get(visitor) : Infinity;
    });
  }

  /** A lock under the token of a visitor. Cost: constant, amortized. */
  lock(visitor: number, fence: number, session: string, { holds }: Partition): void {
    assert(visitor < this.count, "a token is of a visitor");
    const bound = this.#sessions.get(visitor);
    assert(bound === undefined || bound === session, "a visitor keeps its session");
    if (bound === undefined) this.#sessions.set(visitor, session);
    const own = (this.#fences.get(visitor) ?? []).filter((held) => holds.slotOf(held) !== NONE);
    // Locks of one cart are one hold.
    if (!own.includes(fence)) own.push(fence);
    this.#fences.set(visitor, own);
    this.#holders.set(fence, visitor);
    if (this.#holders.size > 2 * holds.count + ENDED_HOLDS_MAX) this.#forgetEnded(holds);
  }

  #forgetEnded(holds: Partition["holds"]): void {
    for (const [fence, visitor] of this.#holders) {
      if (holds.slotOf(fence) !== NONE) continue;
      this.#holders.delete(fence);
      const left = (this.#fences.get(visitor) ?? []).filter((own) => own !== fence);
      if (left.length === 0) this.#fences.delete(visitor);
      else this.#fences.set(visitor, left);
    }
  }

  /** Seats or places are sold out of a hold, which still has them. Cost: constant. */
  sell(fence: number, places: number): void {
    const visitor = this.#holders.get(fence);
    if (visitor !== undefined) this.#sold.set(visitor, this.#sold.get(visitor) + places);
  }

  /** The visitor under whose token a hold is; NONE for none. */
  holderOf(fence: number): number {
    return this.#holders.get(fence) ?? NONE;
  }

  /** Live holds under tokens: number and visitor, in order of number. */
  heldBy({ holds }: Partition): (readonly [number, number])[] {
    const live = [...this.#holders].filter(([fence]) => holds.slotOf(fence) !== NONE);
    return live.sort(([a], [b]) => a - b);
  }

  soldTo(visitor: number): number {
    return this.#sold.get(visitor);
  }

  /** Visitor at a place after `serving`. */
  visitorAt(place: number): number {
    assert(place > this.serving && place <= this.placeCount, "only waiting places are kept");
    return this.#order.get(place - 1);
  }

  #move(visitor: number, to: VisitorState): void {
    this.visitorsIn[this.#state.get(visitor)]! -= 1;
    this.visitorsIn[to]! += 1;
    this.#state.set(visitor, to);
  }

  #endAt(visitor: number, untilMs: number): void {
    this.#untilMs.set(visitor, untilMs);
    this.#ends.add(visitor, untilMs);
  }

  /** Cost: copies about 40 bytes per visitor: 1,000,000 in a few tens of milliseconds. */
  copy(partition: Partition): DoorCopy {
    const { count } = this;
    const held = this.heldBy(partition);
    const bound = [...this.#sessions].sort(([a], [b]) => a - b);
    return {
      scalars: Float64Array.from(SCALARS, (name) => this[name]),
      seed: this.seed.slice(),
      entries: this.#entries.slice(0, count),
      state: this.#state.slice(0, count),
      place: this.#place.slice(0, count),
      untilMs: this.#untilMs.slice(0, count),
      seconds: this.#seconds.slice(0, count),
      sold: this.#sold.slice(0, count),
      order: this.#order.slice(this.serving, this.placeCount),
      sessionUnits: Uint32Array.from(bound.flatMap(([visitor, text]) => [visitor, text.length])),
      sessions: bound.map(([, text]) => text).join(""),
      fences: Float64Array.from(held, ([fence]) => fence),
      holders: Uint32Array.from(held, ([, visitor]) => visitor),
    };
  }

  /** @throws Broken when the copy is of another door. Cost: O(visitors). */
  static restore(copy: DoorCopy, row: DoorRow): Door {
    const door = new Door(row);
    const scalars = Object.fromEntries(
      SCALARS.map((name, i) => [name, copy.scalars[i]!]),
    ) as Scalars;
    assert(scalars.id === row.id, "an image has the door of its event");
    Object.assign(door, scalars);
    door.#restore(copy);
    return door;
  }

  #restore(copy: DoorCopy): void {
    const { state, entries, order, sessionUnits, fences, holders } = copy;
    const count = state.length;
    this.seed = Uint8Array.from(copy.seed);
    this.#entries.fill(0, entries);
    this.#state.fill(0, state);
    this.#place.fill(0, copy.place);
    this.#untilMs.fill(0, copy.untilMs);
    this.#seconds.fill(0, copy.seconds);
    this.#sold.fill(0, copy.sold);
    this.#order.fill(this.serving, order);
    for (let visitor = 0; visitor < count; visitor++) {
      const at = state[visitor]!;
      assert(at <= GONE, "a state is one of the four");
      this.visitorsIn[at]! += 1;
      this.#index.add(this.#entries, visitor);
      if (at === INVITED || at === INSIDE) this.#ends.add(visitor, copy.untilMs[visitor]!);
    }
    let textAt = 0;
    for (let i = 0; i < sessionUnits.length; i += 2) {
      const end = textAt + sessionUnits[i + 1]!;
      this.#sessions.set(sessionUnits[i]!, copy.sessions.slice(textAt, end));
      textAt = end;
    }
    for (const [i, fence] of fences.entries()) {
      const visitor = holders[i]!;
      this.#holders.set(fence, visitor);
      this.#fences.set(visitor, [...(this.#fences.get(visitor) ?? []), fence]);
    }
  }
}

/** A door as the items of a cart so far leave it: places taken by its visitors. */
export class DoorDraft {
  readonly #door: Door;
  /** The number of the cart's hold, and the visitor under whose token it is. */
  readonly #fence: number;
  #holder: number = NONE;
  /** Seats and places that the cart has sold, by visitor. */
  readonly #sold = new Map<number, number>();

  constructor(door: Door, fence: number) {
    this.#door = door;
    this.#fence = fence;
  }

  lock(visitor: number): void {
    this.#holder = visitor;
  }

  /** As `Door.sell`. */
  sell(fence: number, places: number): void {
    const visitor = fence === this.#fence ? this.#holder : this.#door.holderOf(fence);
    if (visitor !== NONE) this.#sold.set(visitor, (this.#sold.get(visitor) ?? 0) + places);
  }

  /** As `Door.takenOf`. @param partition - The draft of the event. */
  takenOf(visitor: number, partition: Partition): number {
    const taken = this.#door.takenOf(visitor, partition) + (this.#sold.get(visitor) ?? 0);
    const { holds } = partition;
    const slot = visitor === this.#holder ? holds.slotOf(this.#fence) : NONE;
    return slot === NONE ? taken : taken + holds.size(slot);
  }
}

/** Ends of invitations and admissions, by the second in which they come. */
class Ends {
  readonly #buckets = new Map<number, number[]>();
  /** No bucket is earlier. */
  #first = Infinity;

  add(visitor: number, untilMs: number): void {
    const second = Math.floor(untilMs / SECOND_MS);
    this.#first = Math.min(this.#first, second);
    const bucket = this.#buckets.get(second);
    if (bucket === undefined) this.#buckets.set(second, [visitor]);
    else bucket.push(visitor);
  }

  /**
   * @param untilOf - The end of a visitor as it is now; Infinity for one who has left.
   * @returns Visitors, each once. They stay until their end is applied.
   * Cost: O(ends that have come), and the seconds since the last call.
   */
  due(timeMs: number, max: number, untilOf: (visitor: number) => number): number[] {
    const now = Math.floor(timeMs / SECOND_MS);
    const due = new Set<number>();
    for (let second = this.#first; second <= now && due.size < max; second++) {
      // A later end has a bucket of its own.
      const isEnd = (visitor: number) => Math.floor(untilOf(visitor) / SECOND_MS) === second;
      const left = (this.#buckets.get(second) ?? []).filter(isEnd);
      if (left.length > 0) this.#buckets.set(second, left);
      else this.#buckets.delete(second);
      if (left.length === 0 && second === this.#first) this.#first += 1;
      for (const visitor of left) {
        if (due.size < max && untilOf(visitor) <= timeMs) due.add(visitor);
      }
    }
    if (this.#buckets.size === 0) this.#first = Infinity;
    return [...due];
  }
}
