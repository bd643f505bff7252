/** The view of changes. */
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import type { EventChange, SeatAfter } from "../../engine/queries/history.ts";
import { localDateTime } from "../http/json.ts";
import { areaAfterView } from "../api/entities.ts";

/** @param isPublic - For the holder of a ticket, who sees neither sessions nor hold types. */
export function changeView(change: EventChange, isPublic: boolean) {
  const { sequence, previous, timeMs, call, session, holdType, seats, areas } = change;
  return {
    sequence,
    previous,
    time: localDateTime(timeMs),
    call,
    sessionId: isPublic ? undefined : session || undefined,
    holdType: isPublic ? undefined : holdType || undefined,
    seats: seats.map(seatView),
    areas: areas.map(areaAfterView),
    status: change.status ?? undefined,
    bookable: change.bookable ?? undefined,
  };
}

export function seatView({ id, state, priceId, expiresAtMs, channel }: SeatAfter) {
  const shown = { id, state: state === null ? null : STATE_NAMES[state], priceId };
  const timed = expiresAtMs === null ? shown : { ...shown, expiresAt: localDateTime(expiresAtMs) };
  return channel === undefined ? timed : { ...timed, channel };
}
