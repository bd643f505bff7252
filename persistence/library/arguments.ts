/** Checks what a caller of the library passes to queries. Commands have checks of their own. */
import { TRANSITION_SORTS } from "../../engine/queries/audit-trail.ts";
import { SEAT_SORTS } from "../../engine/queries/seat-listing.ts";
import { type FieldError, missing, refuseInvalid } from "../../engine/results.ts";
import { LONG, UUID_KEY } from "../../engine/shapes/fields.ts";
import {
  BOOLEAN,
  integer,
  list,
  number,
  object,
  oneOf,
  type Shape,
  TEXT,
  whenSet,
} from "../../engine/shapes/shape.ts";
import { type Refusal, resultOf } from "../store/results.ts";
import { shapeErrors } from "../store/shape-check.ts";

const COUNT = integer({ minimum: 0 });
const RANGE = { offset: whenSet(COUNT), limit: whenSet(COUNT) };
const sortBy = (properties: readonly string[]) =>
  whenSet(list(object({ property: oneOf(properties), descending: BOOLEAN })));

/** By the name of the argument. */
const SHAPES = {
  organizationId: LONG,
  venueId: LONG,
  schemaId: LONG,
  zoneId: LONG,
  priceId: LONG,
  eventId: UUID_KEY,
  cloneId: UUID_KEY,
  folder: TEXT,
  moment: object({ sequence: whenSet(COUNT), timeMs: whenSet(number()) }),
  seatFilter: object({
    sectionId: whenSet(LONG),
    rowId: whenSet(LONG),
    changedSinceMs: whenSet(number()),
    sort: sortBy(SEAT_SORTS),
    ...RANGE,
  }),
  auditFilter: object({
    seatId: whenSet(LONG),
    areaId: whenSet(LONG),
    session: whenSet(TEXT),
    fromMs: whenSet(number()),
    toMs: whenSet(number()),
    fromSequence: whenSet(COUNT),
    toSequence: whenSet(COUNT),
    sort: sortBy(TRANSITION_SORTS),
    ...RANGE,
  }),
} satisfies Record<string, Shape>;

/** What a caller has passed, by the name of the argument. */
export type Arguments = { readonly [Name in keyof typeof SHAPES]?: unknown };

/** @returns VALIDATION_FAILED for arguments of the wrong form; else null. */
export function refuseArguments(given: Arguments): Refusal<"VALIDATION_FAILED"> | null {
  const errors = Object.entries(given).flatMap(([name, value]) =>
    shapeErrors(SHAPES[name as keyof Arguments], value ?? null).map((error) => within(name, error)),
  );
  if ("moment" in given && errors.length === 0 && !isMoment(given.moment)) {
    errors.push(missing("moment", "must have a sequence or a timeMs"));
  }
  if (errors.length === 0) return null;
  return resultOf(refuseInvalid(errors)) as Refusal<"VALIDATION_FAILED">;
}

function isMoment(moment: unknown): boolean {
  const { sequence, timeMs } = moment as { sequence?: unknown; timeMs?: unknown };
  return sequence !== undefined || timeMs !== undefined;
}

function within(argument: string, error: FieldError): FieldError {
  return { ...error, field: error.field === "" ? argument : `${argument}.${error.field}` };
}
