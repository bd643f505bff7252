/**
 * The inventory that a booking command would move: the seats and places that are in the state the
 * move leaves, and an error for every requested object that is not.
 */
import { assert } from "../../assert.ts";
import { NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { Move, MOVES, SeatState, STATE_NAMES } from "../../inventory/states.ts";
import type { FieldError } from "../../results.ts";
import type { SeatChoice, StateSelection } from "../../shapes/bodies.ts";
import type { BookingRules } from "./rules.ts";
import { choicesOf, seatIndexes } from "./selection.ts";

const NO_AREAS = new Uint32Array(0);

export interface Inventory {
  /** Indexes of all requested seats, in the order of the request. */
  readonly requested: Uint32Array;
  /** Indexes of those that would move: fewer where a seat may stay as it is. */
  readonly seats: Uint32Array;
  /** Triples of a `MoveRecord`: area index, hold slot, places. */
  readonly areas: Uint32Array;
  readonly errors: readonly FieldError[];
}

/** Where a request looks for its inventory, and under which rules. */
interface Search {
  readonly partition: Partition;
  readonly rules: BookingRules;
  /** The session that must have the holds; null for any. */
  readonly session: string | null;
  /** By seat id: the hold that must have the seat; null for any. */
  readonly fences: StateSelection["fences"] | null;
}

/**
 * Cost: O(objects of the request), usually 2; GA places cost O(holds that give them), usually 1.
 */
export function findInventory(
  partition: Partition,
  selection: StateSelection,
  rules: BookingRules,
): Inventory {
  const choices = choicesOf(selection);
  const session = rules.respectsSession ? (selection.sessionId ?? null) : null;
  const fences = rules.respectsSession ? (selection.fences ?? null) : null;
  const search = { partition, rules, session, fences };
  const errors: FieldError[] = [];
  const requested = seatIndexes(partition.layout, choices.seats);
  for (let i = 0; i < requested.length; i++) {
    const code = seatProblem(search, requested[i]!);
    if (code !== null) errors.push(seatError(i, choices.seats[i]!, code));
  }
  const areas = choices.areas.length === 0 ? NO_AREAS : findPlaces(search, choices.areas, errors);
  const seats = rules.skipsActive ? withoutActive(partition, requested) : requested;
  assert(areas.length % 3 === 0, "areas are triples");
  return { requested, seats, areas, errors };
}

/** The seats that are not ACTIVE already: usually all of them. */
function withoutActive({ state }: Partition, seats: Uint32Array): Uint32Array {
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
  errors: FieldError[],
): Uint32Array {
  const triples: number[] = [];
  for (let i = 0; i < areas.length; i++) {
    const { id, capacity } = areas[i]!;
    const area = search.partition.layout.areaIndexes.get(id) ?? NONE;
    assert(typeof capacity === "number", "a checked selection has a capacity for each area");
    const code = areaProblem(search, area, capacity);
    if (code !== null) errors.push(areaError(i, areas[i]!, code));
    else takePlaces(search, area, capacity, triples);
  }
  return Uint32Array.from(triples);
}

/** @returns Why the seat cannot go through the move; null when it can. */
function seatProblem(search: Search, seat: number): string | null {
  const { partition, rules } = search;
  if (seat === NONE) return "NOT_FOUND";
  const state = partition.state[seat] as SeatState;
  const { from, to } = MOVES[rules.move];
  if (state === from) {
    // A sold seat may have lost its price; then it cannot become ACTIVE again.
    if (to === SeatState.ACTIVE && partition.price[seat] === 0) return "NO_PRICE";
    return state === SeatState.LOCKED ? holdProblem(search, seat) : null;
  }
  if (rules.skipsActive && state === SeatState.ACTIVE) return null;
  return STATE_NAMES[state] ?? "NO_PRICE";
}

/** @returns Why the hold of the seat is not the one that the request is about; null when it is. */
function holdProblem({ partition, session, fences }: Search, seat: number): string | null {
  if (session === null && fences === null) return null;
  const hold = partition.holds.get(partition.hold[seat]!);
  if (session !== null && hold.session !== session) return "HELD_BY_ANOTHER_SESSION";
  const fence = fences?.[partition.layout.seatIds[seat]!];
  return fence === undefined || fence === hold.fence ? null : ANOTHER_HOLD;
}

/** @returns Why the places cannot go through the move; null when they can. */
function areaProblem(
  { partition, rules, session }: Search,
  area: number,
  places: number,
): string | null {
  if (area === NONE) return "NOT_FOUND";
  const { areas } = partition;
  if (areas.price[area] === 0) return "NO_PRICE";
  const { from } = MOVES[rules.move];
  if (areas.places(area, from) < places) return "INSUFFICIENT_CAPACITY";
  if (from !== SeatState.LOCKED || session === null) return null;
  let held = 0;
  for (const slot of areas.slotsOf(session)) held += areas.held(area, slot);
  return held < places ? "HELD_BY_ANOTHER_SESSION" : null;
}

/** Adds to `triples` the holds that give the places, the oldest first. */
function takePlaces(
  { partition, rules, session }: Search,
  area: number,
  places: number,
  triples: number[],
): void {
  if (MOVES[rules.move].from !== SeatState.LOCKED) {
    const slot = rules.move === Move.LOCK ? partition.holds.nextSlot : NONE;
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
    if (left === 0) break;
  }
  assert(left === 0, "the places that were counted are found");
}

/** The same session may have locked the seat again, but the code for programs is the same. */
const ANOTHER_HOLD = "ANOTHER_HOLD";

const SEAT_MESSAGES: Readonly<Record<string, string>> = {
  NOT_FOUND: "is not in the layout of the event",
  NO_PRICE: "has no price in this event",
  ACTIVE: "is on sale, not held or sold",
  LOCKED: "is held",
  SOLD: "is sold",
  BLOCKED: "is withdrawn from sale",
  HELD_BY_ANOTHER_SESSION: "is held by another session",
  [ANOTHER_HOLD]: "is not in the hold with this fence",
  INSUFFICIENT_CAPACITY: "has fewer places than requested",
};

function seatError(position: number, { id }: SeatChoice, problem: string): FieldError {
  const code = problem === ANOTHER_HOLD ? "HELD_BY_ANOTHER_SESSION" : problem;
  const message = SEAT_MESSAGES[problem]!;
  return { field: `seats[${position}].id`, code, message, rejectedValue: id };
}

function areaError(position: number, choice: SeatChoice, code: string): FieldError {
  const member = code === "INSUFFICIENT_CAPACITY" ? "capacity" : "id";
  const field = `groupOfSeats[${position}].${member}`;
  return { field, code, message: SEAT_MESSAGES[code]!, rejectedValue: choice[member] };
}
