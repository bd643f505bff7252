/**
 * The inventory of one event: the state of its seats as a structure of arrays, and the counters of
 * its areas. There are no rules here: `decide` reads it, `apply` calls its few mutators, and each
 * asserts its preconditions. Memory: 25 bytes per seat, without the layout; with seats in channels
 * half a byte more.
 */
import { assert } from "../assert.ts";
import type { ChannelSeats } from "../catalog.ts";
import { AREA_CAPACITY_MAX, CHANNELS_PER_EVENT_MAX, NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import type {
  ArrivalRecord,
  ExtensionRecord,
  Movement,
  MoveRecord,
  PriceRecord,
} from "../records.ts";
import { channelIn, emptyChannels, putChannel } from "./channels.ts";
import { Holds } from "./holds.ts";
import { Places } from "./places.ts";
import { BOOKING_STATES, type BookingState, MOVES, SeatState } from "./states.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** The seats as arrays. Index: the seat index of the layout. */
export interface SeatColumns {
  /** A `SeatState` each. */
  readonly state: Uint8Array;
  /** Price slots; 0 for none. */
  readonly price: Uint16Array;
  /** LOCKED: hold slots. SOLD and BLOCKED: the lower 32 bits of fences. Otherwise NONE. */
  readonly holdOrFence: Uint32Array;
  /** SOLD and BLOCKED: the bits of fences above those. Of other states, anything. */
  readonly fenceHigh: Uint16Array;
  /** Milliseconds since 1970 of the last change. */
  readonly changedAtMs: Float64Array;
  /** Slots of channels, as by `channelIn`; null while no seat is in one. */
  readonly channels: Uint8Array | null;
}

const LOW = 0x1_0000_0000;
/** A fence fits its columns: after 150 years of 57,000 records a second it no longer does. */
const FENCE_MAX = 0x1_0000 * LOW - 1;

/** A partition beside its seats. */
interface Parts {
  readonly changes: ChangeList;
  readonly areas: Areas;
  readonly holds: Holds;
  /** Null for the inventory itself. */
  readonly draft: Draft | null;
}

/** Seats as they were before a draft. */
interface Draft {
  readonly origin: Partition;
  /** The number of the cart's hold. */
  readonly fence: number;
  /** Index: a `SeatState`. */
  readonly seatsIn: Uint32Array;
  /** The changed seats, in order; one may come again. */
  readonly changed: number[];
  /** Three numbers for each of these: its state before, and both columns of its fence. */
  readonly before: number[];
}

/** Areas without places, and no holds. @param links - Of the seats, in their order of change. */
export function emptyParts(
  layout: Layout,
  createdAtMs: number,
  links = initialLinks(layout.seatCount),
): Parts {
  const areas = new Areas(layout.areas.length, createdAtMs);
  return { changes: new ChangeList(links), areas, holds: new Holds(), draft: null };
}

export class Partition implements SeatColumns {
  readonly layout: Layout;
  readonly state: Uint8Array;
  readonly price: Uint16Array;
  readonly holdOrFence: Uint32Array;
  readonly fenceHigh: Uint16Array;
  readonly changedAtMs: Float64Array;
  channels: Uint8Array | null;
  /** Index: a `SeatState`. Value: how many seats are in it. */
  readonly seatsIn: Uint32Array;
  readonly changes: ChangeList;
  readonly areas: Areas;
  readonly holds: Holds;
  #places: Places | null = null;
  readonly #draft: Draft | null;

  /**
   * @param createdAtMs - Milliseconds since 1970: the first time of change of seats and areas.
   * @param seats - The columns to continue from, whose arrays are kept; by default all unpriced.
   */
  constructor(
    layout: Layout,
    createdAtMs: number,
    seats = unpricedSeats(layout.seatCount, createdAtMs),
    { changes, areas, holds, draft } = emptyParts(layout, createdAtMs),
  ) {
    this.layout = layout;
    this.state = seats.state;
    this.price = seats.price;
    this.holdOrFence = seats.holdOrFence;
    this.fenceHigh = seats.fenceHigh;
    this.changedAtMs = seats.changedAtMs;
    this.channels = seats.channels;
    this.seatsIn = draft?.seatsIn ?? countStates(seats.state);
    this.changes = changes;
    this.areas = areas;
    this.holds = holds;
    this.#draft = draft;
  }

  /**
   * The inventory for the items of a cart after its first one on the event. It shares the seats and
   * slots of this partition, and notes what `moveAs` and `extend` change in them: nothing else may
   * read or change this one before `discard`. Prices and times of changes stay.
   *
   * @param fence - The number of the cart's hold: as by `Holds.nextFence`.
   * Cost: O(areas).
   */
  draft(fence: number): Partition {
    const { changes, seatsIn } = this;
    return new Partition(this.layout, 0, this, {
      changes,
      areas: this.areas.draft(),
      holds: this.holds.draft(),
      draft: { origin: this, fence, seatsIn: seatsIn.slice(), changed: [], before: [] },
    });
  }

  /**
   * Of a draft: puts the seats and slots back.
   * Cost: O(changes), and that of `Places.forget` where the draft was asked for the best places.
   */
  discard(): void {
    assert(this.#draft !== null, "only a draft is discarded");
    const { origin, changed, before } = this.#draft;
    for (let i = changed.length - 1; i >= 0; i--) {
      const seat = changed[i]!;
      this.state[seat] = before[3 * i]!;
      this.holdOrFence[seat] = before[3 * i + 1]!;
      this.fenceHigh[seat] = before[3 * i + 2]!;
    }
    this.holds.discard();
    origin.#places?.forget();
  }

  /** The slot of the next lock. All locks of a cart are one hold, while it lasts. */
  get lockSlot(): number {
    const { holds } = this;
    const slot = this.#draft === null ? NONE : holds.slotOf(this.#draft.fence);
    return slot === NONE ? holds.nextSlot : slot;
  }

  /** The slot of the seat's hold; NONE unless it is LOCKED. */
  holdOf(seat: number): number {
    return this.state[seat] === LOCKED ? this.holdOrFence[seat]! : NONE;
  }

  /**
   * The number of the seat's lock, sale or block, as by `Holds.nextFence`. 0 in other states, and
   * for sales and blocks from before there were fences.
   */
  fenceOf(seat: number): number {
    const state = this.state[seat]!;
    if (state < LOCKED) return 0;
    const low = this.holdOrFence[seat]!;
    return state === LOCKED ? this.holds.get(low).fence : this.fenceHigh[seat]! * LOW + low;
  }

  /**
   * The index of the best places: derived from the seats alone, and made when it is asked. A draft
   * has that of its origin, and shows it the seats that it has changed.
   */
  get places(): Places {
    if (this.#draft === null) return (this.#places ??= new Places(this));
    const { places } = this.#draft.origin;
    places.show(this.#draft.changed);
    return places;
  }

  /**
   * @param sequence - The number of the record in the log.
   * Cost: O(seats and areas of the record), usually 2.
   */
  move(record: MoveRecord, timeMs: number, sequence: number): void {
    this.moveAs(record, timeMs, this.holds.nextFence(sequence));
  }

  /**
   * A step of a cart.
   *
   * @param fence - Of its lock, sale or block: as by `Holds.nextFence` before the cart.
   * Cost: as `move`.
   */
  moveAs(record: MoveRecord, timeMs: number, fence: number): void {
    this.#move(record, timeMs, fence, timeMs);
  }

  /** Cost: as `move`. */
  arrive(record: ArrivalRecord, timeMs: number): void {
    const { hold, seats, fences, startedAtMs, fenceBound } = record;
    assert(fences.length === (hold === NONE ? seats.length : 1), "what arrives has its fences");
    assert(startedAtMs <= timeMs, "a hold began before it arrives");
    if (hold === NONE) {
      this.#move(record, timeMs, 0, timeMs);
      for (const [i, seat] of seats.entries()) this.#fence(seat, fences[i]!);
    } else this.#move(record, timeMs, fences[0]!, startedAtMs);
    this.holds.passFences(fenceBound);
  }

  #move(record: Movement, timeMs: number, fence: number, startedAtMs: number): void {
    const { from, orFrom = from, to } = MOVES[record.move];
    assert((to === LOCKED) === (record.hold !== NONE), "a lock, and nothing else, opens a hold");
    let count = 0;
    for (const seat of record.seats) {
      if (this.state[seat] === from) count += 1;
      else assert(this.state[seat] === orFrom, "a seat is in the state that the move leaves");
    }
    const isJoined = to === LOCKED && this.holds.is(record.hold, fence);
    if (to === LOCKED) this.#openHold(record, startedAtMs, fence, isJoined);
    // A lock, like a return to ACTIVE, spares itself the second column.
    const isFenced = to === SOLD || to === BLOCKED;
    if (isFenced) this.holds.passFences(fence + 1);
    if (this.#draft !== null) this.#note(this.#draft, record.seats);
    for (const seat of record.seats) {
      if (this.state[seat] === LOCKED) this.holds.release(this.holdOrFence[seat]!, 1);
      this.state[seat] = to;
      if (isFenced) this.#fence(seat, fence);
      else this.holdOrFence[seat] = record.hold;
      this.#touch(seat, timeMs);
    }
    this.seatsIn[from]! -= count;
    this.seatsIn[orFrom]! -= record.seats.length - count;
    this.seatsIn[to]! += record.seats.length;
    this.#movePlaces(record, timeMs, isJoined);
  }

  /** To be called before the seats change. */
  #note(draft: Draft, seats: Uint32Array): void {
    for (const seat of seats) {
      draft.changed.push(seat);
      draft.before.push(this.state[seat]!, this.holdOrFence[seat]!, this.fenceHigh[seat]!);
    }
  }

  /** Of a SOLD or BLOCKED seat. */
  #fence(seat: number, fence: number): void {
    assert(fence <= FENCE_MAX, "a fence fits its columns");
    this.holdOrFence[seat] = fence % LOW;
    this.fenceHigh[seat] = Math.floor(fence / LOW);
  }

  /** @param isJoined - The hold of the lock may have places of these areas. */
  #movePlaces(record: Movement, timeMs: number, isJoined: boolean): void {
    const { from, orFrom = from, to } = MOVES[record.move];
    const { areas } = record;
    for (let i = 0; i < areas.length; i += 3) {
      const area = areas[i]!;
      const slot = areas[i + 1]!;
      const places = areas[i + 2]!;
      const first = orFrom === from ? places : Math.min(places, this.areas.places(area, from));
      this.areas.move(area, from, to, first);
      if (first < places) this.areas.move(area, orFrom, to, places - first);
      if (from === LOCKED) {
        this.areas.removeHeld(area, slot, places);
        this.holds.release(slot, places);
      }
      if (to === LOCKED) {
        this.areas.addHeld(area, slot, places, isJoined ? this.areas.held(area, slot) : 0);
      }
      this.#touchArea(area, timeMs);
    }
  }

  /** Cost: O(seats of the holds + log of the extended holds of the event). */
  extend({ holds, endsAtMs }: ExtensionRecord, timeMs: number): void {
    assert(holds.length === endsAtMs.length, "each hold of an extension has its end");
    for (const [i, slot] of holds.entries()) {
      this.holds.extend(slot, endsAtMs[i]!);
      for (const seat of this.seatsOf(slot)) this.#touch(seat, timeMs);
    }
  }

  /** Cost: O(seats in the runs + holds of areas without a price afterwards). */
  assignPrices(record: PriceRecord, timeMs: number): void {
    const { runs, areas } = record;
    for (let i = 0; i < runs.length; i += 3) {
      const end = runs[i + 1]! + runs[i + 2]!;
      assert(end <= this.layout.seatCount, "a run of prices is within the layout");
      for (let seat = runs[i + 1]!; seat < end; seat++) this.#priceSeat(seat, runs[i]!, timeMs);
    }
    for (let i = 0; i < areas.length; i += 3) {
      this.#priceArea(areas[i]!, areas[i + 1]!, areas[i + 2]!, timeMs);
    }
  }

  /** Removes a price wherever it is assigned. Cost: O(seats). */
  removePrice(slot: number, timeMs: number): void {
    assert(slot !== 0, "slot 0 is no price");
    for (let seat = 0; seat < this.layout.seatCount; seat++) {
      if (this.price[seat] === slot) this.#priceSeat(seat, 0, timeMs);
    }
    for (let area = 0; area < this.areas.count; area++) {
      if (this.areas.price[area] !== slot) continue;
      this.#priceArea(area, 0, this.areas.places(area, SOLD), timeMs);
    }
  }

  /** The slot of the seat's channel; 0 for none. */
  channelOf(seat: number): number {
    return this.channels === null ? 0 : channelIn(this.channels, seat);
  }

  /** Seats that join or leave the channel, rising. Cost: O(seats). */
  allotted({ slot, runs }: ChannelSeats): Uint32Array {
    const { seatCount } = this.layout;
    const wanted = new Uint8Array(seatCount);
    for (let i = 0; i < runs.length; i += 2) {
      const end = runs[i]! + runs[i + 1]!;
      assert(end <= seatCount, "a run of a channel is within the layout");
      wanted.fill(1, runs[i], end);
    }
    const changed: number[] = [];
    for (let seat = 0; seat < seatCount; seat++) {
      if ((this.channelOf(seat) === slot) !== (wanted[seat] === 1)) changed.push(seat);
    }
    return Uint32Array.from(changed);
  }

  /** The channel has exactly the seats of the runs. Cost: O(seats). */
  allot(given: ChannelSeats, timeMs: number): void {
    const { slot } = given;
    assert(slot > 0 && slot <= CHANNELS_PER_EVENT_MAX, "a channel has a slot");
    const channels = this.channels ?? emptyChannels(this.layout.seatCount);
    for (const seat of this.allotted(given)) {
      const present = channelIn(channels, seat);
      assert(present === slot || present === 0, "a seat is in one channel at most");
      putChannel(channels, seat, present === slot ? 0 : slot);
      this.#touch(seat, timeMs);
    }
    this.channels = channels.some((slots) => slots !== 0) ? channels : null;
  }

  /** A seat without a price leaves its hold and is withdrawn, unless it is SOLD. */
  #priceSeat(seat: number, slot: number, timeMs: number): void {
    const state = this.state[seat]!;
    if (slot === 0) {
      if (state === LOCKED) this.holds.release(this.holdOrFence[seat]!, 1);
      if (state >= ACTIVE && state !== SOLD) {
        this.holdOrFence[seat] = NONE;
        this.#setState(seat, WITHDRAWN);
      }
    } else if (state === UNPRICED || state === WITHDRAWN) {
      this.#setState(seat, ACTIVE);
    }
    this.price[seat] = slot;
    assert(this.price[seat] === slot, "a price slot fits its column");
    this.#touch(seat, timeMs);
  }

  #setState(seat: number, to: SeatState): void {
    this.seatsIn[this.state[seat]!]! -= 1;
    this.seatsIn[to]! += 1;
    this.state[seat] = to;
  }

  #priceArea(area: number, slot: number, capacity: number, timeMs: number): void {
    const { areas } = this;
    if (slot === 0) {
      for (const [hold, places] of Array.from(areas.holdsIn(area))) {
        areas.removeHeld(area, hold, places);
        this.holds.release(hold, places);
      }
      areas.add(area, LOCKED, -areas.places(area, LOCKED));
      areas.add(area, BLOCKED, -areas.places(area, BLOCKED));
    }
    const active = areas.places(area, ACTIVE);
    const taken = areas.capacity(area) - active;
    assert(capacity >= taken, "an area keeps room for what is taken");
    assert(slot !== 0 || capacity === taken, "an area without a price has nothing on sale");
    areas.price[area] = slot;
    areas.add(area, ACTIVE, capacity - taken - active);
    assert(areas.capacity(area) === capacity, "a priced area has the capacity of the record");
    this.#touchArea(area, timeMs);
  }

  #touch(seat: number, timeMs: number): void {
    if (this.#draft !== null) return;
    assert(timeMs >= this.changedAtMs[seat]!, "the time of changes never steps back");
    this.changedAtMs[seat] = timeMs;
    this.changes.touch(seat);
  }

  #touchArea(area: number, timeMs: number): void {
    if (this.#draft !== null) return;
    assert(timeMs >= this.areas.changedAtMs[area]!, "the time of changes never steps back");
    this.areas.changedAtMs[area] = timeMs;
  }

  /** Opens the hold of a lock, or adds to that of an earlier part of its cart. */
  #openHold(record: Movement, startedAtMs: number, fence: number, isJoined: boolean): void {
    const { session, holdType, expiresAtMs, seats, areas } = record;
    let size = seats.length;
    for (let i = 0; i < areas.length; i += 3) {
      assert(areas[i + 1] === record.hold, "locked places go to the new hold");
      size += areas[i + 2]!;
    }
    const hold = { fence, session, holdType, startedAtMs, expiresAtMs, seats };
    if (isJoined) this.holds.join(record.hold, hold, size);
    else this.holds.open(record.hold, hold, size);
  }

  /** Indexes of the hold's remaining seats. Cost: O(its first seats). */
  seatsOf(slot: number): Uint32Array {
    const seats = this.holds.get(slot).seats.filter((seat) => this.holdOf(seat) === slot);
    assert(seats.length <= this.holds.size(slot), "the size of a hold counts its seats");
    return seats;
  }
}

export function unpricedSeats(seatCount: number, createdAtMs: number): SeatColumns {
  return {
    state: new Uint8Array(seatCount),
    price: new Uint16Array(seatCount),
    holdOrFence: new Uint32Array(seatCount).fill(NONE),
    fenceHigh: new Uint16Array(seatCount),
    changedAtMs: new Float64Array(seatCount).fill(createdAtMs),
    channels: null,
  };
}

function countStates(state: Uint8Array): Uint32Array {
  const counts = new Uint32Array(BLOCKED + 1);
  for (let seat = 0; seat < state.length; seat++) counts[state[seat]!]! += 1;
  return counts;
}

// The general-admission areas of one partition: four counters per area, and its held places by
// hold. The capacity of an area is the sum of its counters.

const STATES = BOOKING_STATES.length;
/** Entries per hold and area in `AreaCounters.held`. */
const HELD_ENTRIES = 3;

/** A copy of the counters and of the held places. */
export interface AreaCounters {
  /** Places: four counters per area, ACTIVE, LOCKED, SOLD, BLOCKED. */
  readonly counts: Int32Array;
  readonly price: Uint16Array;
  readonly changedAtMs: Float64Array;
  /** Triples: area index, hold slot, places. In order of area, then from the oldest hold on. */
  readonly held: Uint32Array;
}

export type HeldPlaces = readonly [area: number, places: number];

export class Areas {
  /** As in `AreaCounters`. */
  readonly #counts: Int32Array;
  /** Index: area. Value: the price slot; 0 for none. */
  readonly price: Uint16Array;
  /** Index: area. Value: milliseconds since 1970 of the last change. */
  readonly changedAtMs: Float64Array;
  /** Index: area. Value: places by hold slot, from the oldest hold on. */
  readonly #held: readonly Map<number, number>[];
  /** Of a draft: by area, the places by hold slot that differ from `#held`. */
  readonly #drafted: Map<number, Map<number, number>> | null;

  constructor(areaCount: number, createdAtMs: number, origin: Areas | null = null) {
    if (origin === null) {
      this.#counts = new Int32Array(areaCount * STATES);
      this.price = new Uint16Array(areaCount);
      this.changedAtMs = new Float64Array(areaCount).fill(createdAtMs);
      this.#held = Array.from({ length: areaCount }, () => new Map<number, number>());
      this.#drafted = null;
    } else {
      this.#counts = origin.#counts.slice();
      this.price = origin.price;
      this.changedAtMs = origin.changedAtMs;
      this.#held = origin.#held;
      this.#drafted = new Map();
    }
  }

  /** A copy whose counters and held places change apart. Cost: O(areas). */
  draft(): Areas {
    assert(this.#drafted === null, "a draft is made of the inventory itself");
    return new Areas(this.count, 0, this);
  }

  get count(): number {
    return this.#held.length;
  }

  places(area: number, state: BookingState): number {
    return this.#counts[area * STATES + state - SeatState.ACTIVE]!;
  }

  capacity(area: number): number {
    const counts = this.#counts;
    const first = area * STATES;
    return counts[first]! + counts[first + 1]! + counts[first + 2]! + counts[first + 3]!;
  }

  /** @param places - Negative to remove places. */
  add(area: number, state: BookingState, places: number): void {
    assert(area < this.count, "an area is in the layout");
    const after = this.places(area, state) + places;
    assert(after >= 0, "a counter is never negative");
    assert(after <= AREA_CAPACITY_MAX, "a counter never overflows");
    this.#counts[area * STATES + state - SeatState.ACTIVE] = after;
  }

  move(area: number, from: BookingState, to: BookingState, places: number): void {
    const capacity = this.capacity(area);
    this.add(area, from, -places);
    this.add(area, to, places);
    assert(this.capacity(area) === capacity, "a move keeps the capacity of an area");
  }

  /** Places held by the hold in the area. */
  held(area: number, slot: number): number {
    return this.#drafted?.get(area)?.get(slot) ?? this.#held[area]!.get(slot) ?? 0;
  }

  #setHeld(area: number, slot: number, places: number): void {
    const held = this.#held[area]!;
    if (this.#drafted !== null) {
      const drafted = this.#drafted.get(area);
      if (drafted === undefined) this.#drafted.set(area, new Map([[slot, places]]));
      else drafted.set(slot, places);
    } else if (places === 0) held.delete(slot);
    else held.set(slot, places);
  }

  /**
   * Places in the area by hold slot, from the oldest hold on.
   * Cost: constant; of a draft O(holds there).
   */
  holdsIn(area: number): ReadonlyMap<number, number> {
    const held = this.#held[area]!;
    const drafted = this.#drafted?.get(area);
    if (drafted === undefined) return held;
    const merged = new Map(held);
    for (const [slot, places] of drafted) {
      if (places === 0) merged.delete(slot);
      else merged.set(slot, places);
    }
    return merged;
  }

  /**
   * The places of holds, by slot: pairs of area index and places, areas rising.
   * Cost: for each area, O(holds asked for), or O(holds with places there) where those are fewer.
   */
  heldOf(slots: ReadonlySet<number>): Map<number, HeldPlaces[]> {
    const found = new Map<number, HeldPlaces[]>();
    const add = (slot: number, area: number, places: number) => {
      const pairs = found.get(slot);
      if (pairs === undefined) found.set(slot, [[area, places]]);
      else pairs.push([area, places]);
    };
    for (const [area, { size }] of this.#held.entries()) {
      if (size < slots.size) {
        for (const [slot, places] of this.holdsIn(area)) {
          if (slots.has(slot)) add(slot, area, places);
        }
      } else {
        for (const slot of slots) {
          const places = this.held(area, slot);
          if (places > 0) add(slot, area, places);
        }
      }
    }
    return found;
  }

  /** Gives LOCKED places to a hold. @param before - Places that it has there. */
  addHeld(area: number, slot: number, places: number, before = 0): void {
    assert(places > 0, "a hold takes at least one place");
    assert(places <= this.places(area, SeatState.LOCKED), "held places are LOCKED");
    assert(this.held(area, slot) === before, "a hold takes its places in an area once");
    this.#setHeld(area, slot, before + places);
  }

  removeHeld(area: number, slot: number, places: number): void {
    const left = this.held(area, slot) - places;
    assert(left >= 0, "a hold gives up no more places than it has");
    this.#setHeld(area, slot, left);
  }

  /** Cost: O(areas + holds with places in them). */
  copy(): AreaCounters {
    const heldCount = this.#held.reduce((sum, places) => sum + places.size, 0);
    const held = new Uint32Array(HELD_ENTRIES * heldCount);
    let at = 0;
    for (const [area, places] of this.#held.entries()) {
      for (const [slot, count] of places) {
        held[at++] = area;
        held[at++] = slot;
        held[at++] = count;
      }
    }
    return {
      counts: this.#counts.slice(),
      price: this.price.slice(),
      changedAtMs: this.changedAtMs.slice(),
      held,
    };
  }

  /**
   * Restores copied counters into empty areas.
   * @param holds - Those of the partition, already restored.
   */
  restore({ counts, price, changedAtMs, held }: AreaCounters, holds: Holds): void {
    assert(counts.length === this.#counts.length, "every area has its counters");
    assert(price.length === this.count, "every area has its price");
    assert(changedAtMs.length === this.count, "every area has its time of change");
    assert(held.length % HELD_ENTRIES === 0, "held places are triples");
    this.#counts.set(counts);
    this.price.set(price);
    this.changedAtMs.set(changedAtMs);
    const holders = new Set<number>();
    for (let i = 0; i < held.length; i += HELD_ENTRIES) {
      assert(held[i]! < this.count, "held places are in an area");
      assert(held[i + 2]! > 0, "a hold has at least one place where it is listed");
      this.#held[held[i]!]!.set(held[i + 1]!, held[i + 2]!);
      holders.add(held[i + 1]!);
    }
    for (const slot of holds.taken()) holders.delete(slot);
    assert(holders.size === 0, "held places belong to existing holds");
  }
}

// The change list of a partition: a linked list of every seat, the most recently changed last.
// "Changes since" walks back from the end, so it costs O(changes), and the list never overflows.

/** A copy of the list. The backward links follow from the forward ones. */
export interface ChangeLinks {
  /** Index: seat. Value: the next changed seat; NONE for the newest. */
  readonly later: Uint32Array;
  readonly oldest: number;
  readonly touches: number;
}

/** The list before the first change: seats in ascending order of index. */
export function initialLinks(seatCount: number): ChangeLinks {
  const later = new Uint32Array(seatCount);
  for (let seat = 0; seat < seatCount; seat++) later[seat] = seat + 1;
  if (seatCount > 0) later[seatCount - 1] = NONE;
  return { later, oldest: seatCount > 0 ? 0 : NONE, touches: 0 };
}

export class ChangeList {
  /** Index: seat. Value: the seat changed just before; NONE for the oldest. */
  readonly #earlier: Uint32Array;
  /** Index: seat. Value: the seat changed just after; NONE for the newest. */
  readonly #later: Uint32Array;
  #oldest: number;
  #newest = NONE;
  /** Number of touches so far. */
  touches: number;

  /** Continues from copied links and keeps their array. Cost: O(seats). */
  constructor({ later, oldest, touches }: ChangeLinks) {
    this.#later = later;
    this.#earlier = new Uint32Array(later.length);
    this.#oldest = oldest;
    this.touches = touches;
    let count = 0;
    for (let seat = oldest; seat !== NONE && count < later.length; seat = later[seat]!) {
      assert(seat < later.length, "the links of a change list lead to seats");
      this.#earlier[seat] = this.#newest;
      this.#newest = seat;
      count += 1;
    }
    assert(count === later.length, "a change list has every seat once");
    assert(count === 0 || later[this.#newest] === NONE, "a change list ends at its newest seat");
  }

  /** The seat changed last; NONE without seats. */
  get newest(): number {
    return this.#newest;
  }

  /** The seat changed least recently; NONE without seats. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The seat changed just after `seat`; NONE for the newest. */
  laterThan(seat: number): number {
    return this.#later[seat]!;
  }

  /** The seat changed just before `seat`; NONE for the oldest. */
  earlierThan(seat: number): number {
    return this.#earlier[seat]!;
  }

  /** Makes `seat` the newest. Cost: constant. */
  touch(seat: number): void {
    assert(seat < this.#earlier.length, "a touched seat is in the change list");
    this.touches += 1;
    if (seat === this.#newest) return;
    const earlier = this.#earlier[seat]!;
    const later = this.#later[seat]!;
    assert(this.#earlier[later] === seat, "the links of neighbours agree");
    if (earlier === NONE) this.#oldest = later;
    else this.#later[earlier] = later;
    this.#earlier[later] = earlier;
    this.#earlier[seat] = this.#newest;
    this.#later[seat] = NONE;
    assert(this.#later[this.#newest] === NONE, "the newest seat ends the change list");
    this.#later[this.#newest] = seat;
    this.#newest = seat;
  }

  /** Cost: O(seats), one copy of memory. */
  copy(): ChangeLinks {
    return { later: this.#later.slice(), oldest: this.#oldest, touches: this.touches };
  }

  /** Every seat, from the least recently changed on. Cost: O(seats). */
  *oldestFirst(): Generator<number> {
    for (let seat = this.#oldest; seat !== NONE; seat = this.#later[seat]!) yield seat;
  }
}
