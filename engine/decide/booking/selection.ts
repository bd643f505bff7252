/**
 * The border at which the ids of a booking request become indexes of the event's layout, once. It
 * also finds what is wrong with the request itself, whatever the state of the inventory. Lengths of
 * texts are checked by the shape of the body alone.
 */
import { assert } from "../../assert.ts";
import { AREA_CAPACITY_MAX, OBJECTS_PER_REQUEST_MAX } from "../../constants.ts";
import { type Layout, seatIndexOf } from "../../layout/layout.ts";
import { duplicate, type FieldError, missing } from "../../results.ts";
import type { SeatChoice, StateSelection } from "../../shapes/bodies.ts";

const NO_CHOICES: readonly SeatChoice[] = [];

export interface Choices {
  readonly seats: readonly SeatChoice[];
  readonly areas: readonly SeatChoice[];
}

export function choicesOf(selection: StateSelection): Choices {
  return {
    seats: selection.seats ?? NO_CHOICES,
    areas: selection.groupOfSeats ?? NO_CHOICES,
  };
}

/** @returns The errors of the request, in its own order. */
export function checkSelection(selection: StateSelection): FieldError[] {
  const errors: FieldError[] = [];
  const { seats, areas } = choicesOf(selection);
  const count = seats.length + areas.length;
  if (count === 0)
    errors.push(missing("seats", "must name a seat, unless groupOfSeats names an area"));
  if (count > OBJECTS_PER_REQUEST_MAX) {
    const message = `at most ${OBJECTS_PER_REQUEST_MAX} objects in one request`;
    return [{ field: "seats", code: "SIZE", message, rejectedValue: count }];
  }
  checkDuplicates(seats, "seats", errors);
  checkDuplicates(areas, "groupOfSeats", errors);
  checkFences(selection, seats, errors);
  for (let i = 0; i < seats.length; i++) {
    const { capacity } = seats[i]!;
    if (capacity === null || capacity === undefined) continue;
    const message = "must be null for a seat";
    errors.push({ field: `seats[${i}].capacity`, code: "NULL", message, rejectedValue: capacity });
  }
  for (let i = 0; i < areas.length; i++) {
    if (isCapacity(areas[i]!.capacity)) continue;
    errors.push(capacityError(areas[i]!.capacity, `groupOfSeats[${i}].capacity`));
  }
  return errors;
}

function isCapacity(capacity: number | null | undefined): boolean {
  if (capacity === null || capacity === undefined) return false;
  return Number.isSafeInteger(capacity) && capacity >= 1 && capacity <= AREA_CAPACITY_MAX;
}

function capacityError(capacity: number | null | undefined, field: string): FieldError {
  if (capacity === null || capacity === undefined) return missing(field);
  const message = `must be a whole number from 1 to ${AREA_CAPACITY_MAX}`;
  return { field, code: "RANGE", message, rejectedValue: capacity };
}

function checkDuplicates(
  choices: readonly SeatChoice[],
  field: string,
  errors: FieldError[],
): void {
  if (areRising(choices)) return;
  const seen = new Set<number>();
  for (const [i, { id }] of choices.entries()) {
    if (seen.has(id)) errors.push(duplicate(`${field}[${i}].id`, id));
    seen.add(id);
  }
}

/** A fence belongs to a seat of the request. */
function checkFences(
  { fences }: StateSelection,
  seats: readonly SeatChoice[],
  errors: FieldError[],
): void {
  if (fences === undefined || fences === null) return;
  const ids = new Set(seats.map(({ id }) => String(id)));
  for (const [id, fence] of Object.entries(fences)) {
    if (ids.has(id)) continue;
    const message = "is the fence of a seat that the request does not name";
    errors.push({ field: `fences[${id}]`, code: "UNKNOWN", message, rejectedValue: fence });
  }
}

/** Whether each id is larger than the one before, as in most requests: then none repeats. */
function areRising(choices: readonly SeatChoice[]): boolean {
  for (let i = 1; i < choices.length; i++) {
    if (choices[i - 1]!.id >= choices[i]!.id) return false;
  }
  return true;
}

/** Seat indexes in the order of the request; NONE for an id that the layout does not have. */
export function seatIndexes(layout: Layout, seats: readonly SeatChoice[]): Uint32Array {
  assert(seats.length <= OBJECTS_PER_REQUEST_MAX, "a checked selection is bounded");
  const indexes = new Uint32Array(seats.length);
  for (let i = 0; i < seats.length; i++) {
    indexes[i] = seatIndexOf(layout, seats[i]!.id);
  }
  return indexes;
}
