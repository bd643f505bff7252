/**
 * The border at which a booking request's ids become indexes of the event's layout, once. What is
 * wrong with the request itself, whatever the inventory says, is found here.
 */
import type { SeatChoice, StateSelection } from "../../commands.ts";
import {
  AREA_CAPACITY_MAX,
  HOLD_TYPE_LENGTH_MAX,
  OBJECTS_PER_REQUEST_MAX,
  SESSION_LENGTH_MAX,
} from "../../constants.ts";
import { type Layout, seatIndexOf } from "../../layout/layout.ts";
import { type FieldError, duplicate, missing } from "../../results.ts";

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

/** @returns What is wrong with the request, in its own order; empty when nothing is. */
export function checkSelection(selection: StateSelection): FieldError[] {
  const faults: FieldError[] = [];
  const { seats, areas } = choicesOf(selection);
  const count = seats.length + areas.length;
  if (count === 0) faults.push(missing("seats"));
  if (count > OBJECTS_PER_REQUEST_MAX) {
    const message = `at most ${OBJECTS_PER_REQUEST_MAX} objects in one request`;
    return [{ field: "seats", code: "SIZE", message, rejectedValue: count }];
  }
  checkLength(selection.sessionId, SESSION_LENGTH_MAX, "sessionId", faults);
  checkLength(selection.holdType, HOLD_TYPE_LENGTH_MAX, "holdType", faults);
  checkDuplicates(seats, "seats", faults);
  checkDuplicates(areas, "groupOfSeats", faults);
  for (let i = 0; i < seats.length; i++) {
    const { capacity } = seats[i]!;
    if (capacity === null || capacity === undefined) continue;
    const message = "must be null for a seat";
    faults.push({ field: `seats[${i}].capacity`, code: "NULL", message, rejectedValue: capacity });
  }
  for (let i = 0; i < areas.length; i++) {
    if (isCapacity(areas[i]!.capacity)) continue;
    faults.push(capacityFault(areas[i]!.capacity, `groupOfSeats[${i}].capacity`));
  }
  return faults;
}

function checkLength(
  text: string | null | undefined,
  lengthMax: number,
  field: string,
  faults: FieldError[],
): void {
  if (text === null || text === undefined || text.length <= lengthMax) return;
  const message = `must have at most ${lengthMax} characters`;
  faults.push({ field, code: "SIZE", message, rejectedValue: text });
}

function isCapacity(capacity: number | null | undefined): boolean {
  if (capacity === null || capacity === undefined) return false;
  return Number.isSafeInteger(capacity) && capacity >= 1 && capacity <= AREA_CAPACITY_MAX;
}

function capacityFault(capacity: number | null | undefined, field: string): FieldError {
  if (capacity === null || capacity === undefined) return missing(field);
  const message = `must be a whole number from 1 to ${AREA_CAPACITY_MAX}`;
  return { field, code: "RANGE", message, rejectedValue: capacity };
}

function checkDuplicates(
  choices: readonly SeatChoice[],
  field: string,
  faults: FieldError[],
): void {
  if (areRising(choices)) return;
  const seen = new Set<number>();
  for (const [i, { id }] of choices.entries()) {
    if (seen.has(id)) faults.push(duplicate(`${field}[${i}].id`, id, "is named twice"));
    seen.add(id);
  }
}

/** Whether each id is larger than the one before, as in most requests: then none is there twice. */
function areRising(choices: readonly SeatChoice[]): boolean {
  for (let i = 1; i < choices.length; i++) {
    if (choices[i - 1]!.id >= choices[i]!.id) return false;
  }
  return true;
}

/** Seat indexes in the order of the request; NONE for an id that the layout does not have. */
export function seatIndexes(layout: Layout, seats: readonly SeatChoice[]): Uint32Array {
  const indexes = new Uint32Array(seats.length);
  for (let i = 0; i < seats.length; i++) {
    indexes[i] = seatIndexOf(layout, seats[i]!.id);
  }
  return indexes;
}
