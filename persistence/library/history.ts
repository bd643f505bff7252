/** Subscriptions to an event, over the recent changes of the store. */
import type { EventRow } from "../../engine/catalog.ts";
import { type SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { EventChange } from "../../engine/queries/history.ts";
import type { RecentChanges } from "../history/recent-changes.ts";
import { type Refusal, Refused } from "../store/open-engine.ts";

/** Changes that are made at once for a reader. */
const CHANGES_AT_ONCE = 100;
/** The call of an event's last change. */
const DELETED = "deleteevent";

/** @returns Why changes after the position are not available; null when they are. */
export function refusePosition(
  { since: start, durableSequence: last }: RecentChanges,
  since: number,
): Refusal<"HISTORY_GONE" | "VALIDATION_FAILED"> | null {
  if (!Number.isSafeInteger(since) || since < 0) {
    const detail = "The position is not a sequence number.";
    const message = "must be a whole number, 0 or greater";
    const errors = [{ field: "since", code: "TYPE", message, rejectedValue: since ?? null }];
    return { ok: false, code: "VALIDATION_FAILED", detail, errors };
  }
  if (since >= start && since <= last) return null;
  const isOld = since < start;
  const detail = isOld
    ? `Changes up to sequence ${start} are not kept.`
    : `The last sequence is ${last}.`;
  const message = `must be from ${start} to ${last}`;
  const errors = [{ field: "since", code: "RANGE", message, rejectedValue: since }];
  return { ok: false, code: "HISTORY_GONE", detail, errors };
}

/**
 * The changes of an event once they are on disk, until the event is deleted or the signal aborts.
 *
 * @param since - A position that `refusePosition` does not refuse.
 * @throws Refused with HISTORY_GONE when a change that the reader has not read is dropped.
 */
export async function* follow(
  recent: RecentChanges,
  event: EventRow,
  since: number,
  signal: AbortSignal,
): AsyncGenerator<Change, void, undefined> {
  let position = since;
  let wake = () => {};
  const onWake = () => wake();
  const unwatch = recent.watch(event.partition, onWake);
  signal.addEventListener("abort", onWake);
  try {
    while (!signal.aborted) {
      const page = recent.page(event, position, CHANGES_AT_ONCE);
      if (page === null) throw new Refused(refusePosition(recent, position)!);
      for (const change of page.changes) {
        if (signal.aborted) return;
        position = change.sequence;
        if (isShown(change)) yield changeOf(change);
        if (change.call === DELETED) return;
      }
      if (page.changes.length > 0) continue;
      // oxlint-disable-next-line no-await-in-loop -- one change after the other
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unwatch();
    signal.removeEventListener("abort", onWake);
  }
}

/** False for a change of neither seats nor areas, unless it is the last one. */
function isShown({ call, seats, areas }: EventChange): boolean {
  return seats.length + areas.length > 0 || call === DELETED;
}

function changeOf({
  sequence,
  timeMs,
  call,
  session,
  holdType,
  seats,
  areas,
}: EventChange): Change {
  return {
    sequence,
    timeMs,
    call,
    sessionId: session || null,
    holdType: holdType || null,
    seats: seats.map(({ state, ...seat }) => ({ ...seat, state: state && stateName(state) })),
    areas: areas.map(({ id, active, locked, sold, blocked }) => {
      const capacity = active + locked + sold + blocked;
      return { id, capacity, active, locked, sold, blocked };
    }),
  };
}

export function stateName(state: SeatState): StateName | null {
  return STATE_NAMES[state];
}

/** The name of a state. */
export type StateName = "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED";

/** Seats and areas of an event after one call, or after the end of one hold. */
export interface Change {
  /** Its position in the log. The sequences of an event rise, with gaps. */
  readonly sequence: number;
  /** Milliseconds since 1970, UTC. */
  readonly timeMs: number;
  /**
   * The booking call in lower case, such as "lock", "sale" or "expire"; "prices", "deleteprice",
   * "channels" and "layout" for changes of those. The last change of an event is its "deleteevent".
   */
  readonly call: string;
  /** The session of the hold or the call; null for none. */
  readonly sessionId: string | null;
  /** The type of the hold; null for none. */
  readonly holdType: string | null;
  /** Every seat that changed, each once, as it is after the change. In ascending order of id. */
  readonly seats: readonly SeatChange[];
  /** Every area that changed, as it is after the change. In ascending order of id. */
  readonly areas: readonly AreaChange[];
}

export interface SeatChange {
  readonly id: number;
  /** Null while the seat has no price; state and price are null when it is no longer listed. */
  readonly state: StateName | null;
  readonly priceId: number | null;
  /** Milliseconds since 1970 at which its hold ends; null unless LOCKED with an end. */
  readonly expiresAtMs: number | null;
  /** With the call "channels": the key of its channel, null for none. */
  readonly channel?: string | null;
}

/** Numbers of places: in all, and by state. */
export interface AreaChange {
  readonly id: number;
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}
