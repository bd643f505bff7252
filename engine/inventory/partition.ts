/**
 * The inventory of one event: the state of its seats as a structure of arrays, and the counters of
 * its areas. There are no rules here: `decide` reads it, `apply` calls the few methods that change
 * it, and each asserts its preconditions. Memory: 23 bytes per seat, without the layout.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import type { MoveRecord, PriceRecord } from "../records.ts";
import { Areas } from "./areas.ts";
import { ChangeList, initialLinks } from "./changes.ts";
import { Holds } from "./holds.ts";
import { MOVES, SeatState } from "./states.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** The seats as arrays. Index: the seat index of the layout. */
export interface SeatColumns {
  /** A `SeatState` each. */
  readonly state: Uint8Array;
  /** Price slots; 0 for none. */
  readonly price: Uint16Array;
  /** Hold slots; NONE unless LOCKED. */
  readonly hold: Uint32Array;
  /** Milliseconds since 1970 of the last change. */
  readonly changedAtMs: Float64Array;
}

export class Partition implements SeatColumns {
  readonly layout: Layout;
  readonly state: Uint8Array;
  readonly price: Uint16Array;
  readonly hold: Uint32Array;
  readonly changedAtMs: Float64Array;
  /** Index: a `SeatState`. Value: how many seats are in it. */
  readonly seatsIn: Uint32Array;
  readonly changes: ChangeList;
  readonly areas: Areas;
  readonly holds = new Holds();

  /**
   * @param createdAtMs - Milliseconds since 1970: the first time of change of seats and areas.
   * @param seats - The columns to continue from, whose arrays are kept; by default all unpriced.
   */
  constructor(
    layout: Layout,
    createdAtMs: number,
    seats = unpricedSeats(layout.seatCount, createdAtMs),
    links = initialLinks(layout.seatCount),
  ) {
    this.layout = layout;
    this.state = seats.state;
    this.price = seats.price;
    this.hold = seats.hold;
    this.changedAtMs = seats.changedAtMs;
    this.seatsIn = countStates(seats.state);
    this.changes = new ChangeList(links);
    this.areas = new Areas(layout.areas.length, createdAtMs);
  }

  /**
   * @param sequence - The number of the record in the log.
   * Cost: O(seats and areas of the record), usually 2.
   */
  move(record: MoveRecord, timeMs: number, sequence: number): void {
    const { from, to } = MOVES[record.move];
    assert((to === LOCKED) === (record.hold !== NONE), "a lock, and nothing else, opens a hold");
    for (const seat of record.seats) {
      assert(this.state[seat] === from, "a seat is in the state that the move leaves");
    }
    if (to === LOCKED) this.#openHold(record, timeMs, sequence);
    for (const seat of record.seats) {
      if (from === LOCKED) this.#releaseHold(this.hold[seat]!, 1);
      this.state[seat] = to;
      this.hold[seat] = record.hold;
      this.#touch(seat, timeMs);
    }
    this.seatsIn[from]! -= record.seats.length;
    this.seatsIn[to]! += record.seats.length;
    this.#movePlaces(record, timeMs);
  }

  #movePlaces(record: MoveRecord, timeMs: number): void {
    const { from, to } = MOVES[record.move];
    const { areas } = record;
    for (let i = 0; i < areas.length; i += 3) {
      const area = areas[i]!;
      const slot = areas[i + 1]!;
      const places = areas[i + 2]!;
      this.areas.move(area, from, to, places);
      if (from === LOCKED) {
        this.areas.removeHeld(area, slot, places);
        this.#releaseHold(slot, places);
      }
      if (to === LOCKED) this.areas.addHeld(area, slot, record.session, places);
      this.#touchArea(area, timeMs);
    }
  }

  /** Cost: O(seats in the runs + holds of areas that lose their price). */
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

  /** A seat that loses its price leaves its hold and is withdrawn, unless it is SOLD. */
  #priceSeat(seat: number, slot: number, timeMs: number): void {
    const state = this.state[seat]!;
    if (slot === 0) {
      if (state === LOCKED) this.#releaseHold(this.hold[seat]!, 1);
      this.hold[seat] = NONE;
      if (state >= ACTIVE && state !== SOLD) this.#setState(seat, WITHDRAWN);
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
        this.#releaseHold(hold, places);
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
    assert(timeMs >= this.changedAtMs[seat]!, "the time of changes never steps back");
    this.changedAtMs[seat] = timeMs;
    this.changes.touch(seat);
  }

  #touchArea(area: number, timeMs: number): void {
    assert(timeMs >= this.areas.changedAtMs[area]!, "the time of changes never steps back");
    this.areas.changedAtMs[area] = timeMs;
  }

  #openHold(record: MoveRecord, timeMs: number, fence: number): void {
    const { session, holdType, expiresAtMs, seats, areas } = record;
    let size = seats.length;
    for (let i = 0; i < areas.length; i += 3) {
      assert(areas[i + 1] === record.hold, "locked places go to the new hold");
      size += areas[i + 2]!;
    }
    const hold = { fence, session, holdType, startedAtMs: timeMs, expiresAtMs, seats };
    this.holds.open(record.hold, hold, size);
  }

  #releaseHold(slot: number, size: number): void {
    const { session } = this.holds.get(slot);
    if (this.holds.release(slot, size)) this.areas.forgetHold(slot, session);
  }

  /** Indexes of the seats that the hold still has. Cost: O(seats that it began with). */
  seatsOf(slot: number): Uint32Array {
    const seats = this.holds.get(slot).seats.filter((seat) => this.hold[seat] === slot);
    assert(seats.length <= this.holds.size(slot), "the size of a hold counts its seats");
    return seats;
  }
}

export function unpricedSeats(seatCount: number, createdAtMs: number): SeatColumns {
  return {
    state: new Uint8Array(seatCount),
    price: new Uint16Array(seatCount),
    hold: new Uint32Array(seatCount).fill(NONE),
    changedAtMs: new Float64Array(seatCount).fill(createdAtMs),
  };
}

function countStates(state: Uint8Array): Uint32Array {
  const counts = new Uint32Array(BLOCKED + 1);
  for (let seat = 0; seat < state.length; seat++) counts[state[seat]!]! += 1;
  return counts;
}
