/** Limits against hoarding: how much a session, and all sessions together, may hold in an event. */
import type { OrganizationRow } from "../../catalog.ts";
import type { Holds } from "../../inventory/holds.ts";
import type { FieldError } from "../../results.ts";
import type { StateSelection } from "../../shapes/bodies.ts";
import { choicesOf } from "./selection.ts";

const NO_ERRORS: readonly FieldError[] = [];
const HELD_LIMIT = "HELD_LIMIT";

/**
 * The requested objects that a lock would hold beyond a limit: in the order of the request, those
 * for which nothing is left. Locks without a session count as those of one session.
 * Cost: O(objects of the request); for the first lock of an event under a limit, O(its holds).
 */
export function findBeyondLimits(
  holds: Holds,
  { heldPerSession, heldPerEvent }: OrganizationRow,
  selection: StateSelection,
): readonly FieldError[] {
  if (heldPerSession === undefined && heldPerEvent === undefined) return NO_ERRORS;
  const errors: FieldError[] = [];
  const left = {
    session: heldPerSession === undefined ? Infinity : heldPerSession - held(holds, selection),
    event: heldPerEvent === undefined ? Infinity : heldPerEvent - holds.held,
  };
  const take = (places: number, field: string, rejectedValue: number) => {
    if (places <= Math.min(left.session, left.event)) {
      left.session -= places;
      left.event -= places;
      return;
    }
    const message =
      places > left.session
        ? `is more than the ${heldPerSession} that a session may hold in an event`
        : `is more than the ${heldPerEvent} that may be held in an event`;
    errors.push({ field, code: HELD_LIMIT, message, rejectedValue });
  };
  const { seats, areas } = choicesOf(selection);
  for (const [i, { id }] of seats.entries()) take(1, `seats[${i}].id`, id);
  for (const [i, { capacity }] of areas.entries()) {
    take(capacity!, `groupOfSeats[${i}].capacity`, capacity!);
  }
  return errors;
}

function held(holds: Holds, { sessionId }: StateSelection): number {
  return holds.heldBy(sessionId ?? "");
}
