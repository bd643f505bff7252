/** When two booking requests with the same idempotency key are the same request. */
import type { BookingKind } from "../../engine/commands.ts";
import type { StateSelection } from "../../engine/shapes/bodies.ts";
import type { Keys } from "../auth/keys.ts";

export function bookingPath<Kind extends BookingKind>(kind: Kind) {
  return `/api/private/v2.0/booking/${kind}` as const;
}

/** The same text for the same event and selection, whatever the bytes that they were sent in. */
export function meaningOf(eventId: string, selection: StateSelection): string {
  const { sessionId, seats, groupOfSeats, holdType, fences } = selection;
  const choices = (list: StateSelection["seats"]) =>
    (list ?? []).map(({ id, capacity }) => [id, capacity ?? null]);
  const texts = [sessionId ?? null, holdType ?? null];
  const held = Object.entries(fences ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [...texts, choices(seats), choices(groupOfSeats), held];
  return `${eventId} ${JSON.stringify(parts)}`;
}

/** As the front makes it of a request over HTTP. */
export function fingerprintOf(
  keys: Keys,
  kind: BookingKind,
  eventId: string,
  selection: StateSelection,
): string {
  const meaning = Buffer.from(meaningOf(eventId, selection));
  return keys.fingerprint(`post ${bookingPath(kind)}`, meaning);
}
