/**
 * What a booking command would move: the seats and the places that are in the state it leaves, and
 * a fault for every requested object that is not.
 */
import type { SeatChoice, StateSelection } from "../../commands.ts";
import { NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { Move, MOVES, SeatState, STATE_NAMES } from "../../inventory/states.ts";
import type { FieldError } from "../../results.ts";
import type { Booking } from "./bookings.ts";
import { choicesOf, seatIndexes } from "./selection.ts";

const NO_AREAS = new Uint32Array(0);

export interface Inventory {
  /** Indexes of all requested seats, in the order of the request. */
  readonly requested: Uint32Array;
  /** Indexes of those that would move: fewer where a seat is fine as it is. */
  readonly seats: Uint32Array;
  /** Triples of a `MoveRecord`: area index, hold slot, places. */
  readonly areas: Uint32Array;
  readonly faults: readonly FieldError[];
}

/** Where a request looks, and how. */
interface Search {
  readonly partition: Partition;
  readonly booking: Booking;
  /** The session that must have what is held; null for any. */
  readonly session: string | null;
}

/**
 * Cost: O(objects of the request), usually 2; GA places cost O(holds that give them), usually 1.
 */
export function findInventory(
  partition: Partition,
  selection: StateSelection,
  booking: Booking,
): Inventory {
  const choices = choicesOf(selection);
  const session = booking.session ? (selection.sessionId ?? null) : null;
  const search = { partition, booking, session };
  const faults: FieldError[] = [];
  const requested = seatIndexes(partition.layout, choices.seats);
  for (let i = 0; i < requested.length; i++) {
    const code = seatFault(search, requested[i]!);
    if (code !== null) faults.push(seatFaultAt(i, choices.seats[i]!, code));
  }
  const areas = choices.areas.length === 0 ? NO_AREAS : findPlaces(search, choices.areas, faults);
  const seats = booking.idle ? withoutIdle(partition, requested) : requested;
  return { requested, seats, areas, faults };
}

/** The seats but those that are ACTIVE already; mostly all of them. */
function withoutIdle({ state }: Partition, seats: Uint32Array): Uint32Array {
  for (let i = 0; i < seats.length; i++) {
    if (state[seats[i]!] === SeatState.ACTIVE) {
      return seats.filter((seat) => state[seat] !== SeatState.ACTIVE);
    }
  }
  return seats;
}

/** @returns Triples of a `MoveRecord`. */
function findPlaces(
  search: Search,
  areas: readonly SeatChoice[],
  faults: FieldError[],
): Uint32Array {
  const triples: number[] = [];
  for (let i = 0; i < areas.length; i++) {
    const { id, capacity } = areas[i]!;
    const area = search.partition.layout.areaIndexes.get(id) ?? NONE;
    // The selection has been checked: every area has its capacity.
    const places = capacity!;
    const code = areaFault(search, area, places);
    if (code !== null) faults.push(areaFaultAt(i, areas[i]!, code));
    else takePlaces(search, area, places, triples);
  }
  return Uint32Array.from(triples);
}

/** @returns Why the seat cannot go through the move; null when it can. */
function seatFault({ partition, booking, session }: Search, seat: number): string | null {
  if (seat === NONE) return "NOT_FOUND";
  const state = partition.state[seat] as SeatState;
  const { from, to } = MOVES[booking.move];
  if (state === from) {
    // A seat that was sold may have lost its price since; then there is nothing to go back to.
    if (to === SeatState.ACTIVE && partition.price[seat] === 0) return "NO_PRICE";
    if (state !== SeatState.LOCKED || session === null) return null;
    const hold = partition.holds.get(partition.hold[seat]!);
    return hold.session === session ? null : "HELD_BY_ANOTHER_SESSION";
  }
  if (booking.idle && state === SeatState.ACTIVE) return null;
  return STATE_NAMES[state] ?? "NO_PRICE";
}

/** @returns Why the places cannot go through the move; null when they can. */
function areaFault(
  { partition, booking, session }: Search,
  area: number,
  places: number,
): string | null {
  if (area === NONE) return "NOT_FOUND";
  const { areas } = partition;
  if (areas.price[area] === 0) return "NO_PRICE";
  const { from } = MOVES[booking.move];
  if (areas.places(area, from) < places) return "INSUFFICIENT_CAPACITY";
  if (from !== SeatState.LOCKED || session === null) return null;
  let held = 0;
  for (const slot of areas.slotsOf(session)) held += areas.held(area, slot);
  return held < places ? "HELD_BY_ANOTHER_SESSION" : null;
}

/** Adds to `triples` where the places come from: held places from the oldest hold first. */
function takePlaces(
  { partition, booking, session }: Search,
  area: number,
  places: number,
  triples: number[],
): void {
  if (MOVES[booking.move].from !== SeatState.LOCKED) {
    const slot = booking.move === Move.LOCK ? partition.holds.nextSlot : NONE;
    triples.push(area, slot, places);
    return;
  }
  const { areas } = partition;
  const slots = session === null ? areas.holdsIn(area).keys() : areas.slotsOf(session);
  let left = places;
  for (const slot of slots) {
    const taken = Math.min(left, areas.held(area, slot));
    if (taken > 0) triples.push(area, slot, taken);
    left -= taken;
    if (left === 0) return;
  }
}

const SEAT_MESSAGES: Readonly<Record<string, string>> = {
  NOT_FOUND: "is not in the layout of the event",
  NO_PRICE: "has no price in this event",
  ACTIVE: "is on sale, not held or sold",
  LOCKED: "is held",
  SOLD: "is sold",
  BLOCKED: "is withdrawn from sale",
  HELD_BY_ANOTHER_SESSION: "is held by another session",
  INSUFFICIENT_CAPACITY: "has fewer places than requested",
};

function seatFaultAt(position: number, { id }: SeatChoice, code: string): FieldError {
  return { field: `seats[${position}].id`, code, message: SEAT_MESSAGES[code]!, rejectedValue: id };
}

function areaFaultAt(position: number, choice: SeatChoice, code: string): FieldError {
  const member = code === "INSUFFICIENT_CAPACITY" ? "capacity" : "id";
  const field = `groupOfSeats[${position}].${member}`;
  return { field, code, message: SEAT_MESSAGES[code]!, rejectedValue: choice[member] };
}
