/** Moments that a query names: a local date-time, or a date that stands for its midnight. */
import { normalLocalDateTime } from "../engine/local-time.ts";

/** As events keep their times, so that the two compare as text. */
export function momentOf(text: unknown): string {
  const moment = String(text);
  return normalLocalDateTime(moment.includes("T") ? moment : `${moment}T00:00`);
}

/** Milliseconds since 1970 on the service clock, which is UTC. */
export function momentMs(text: unknown): number {
  return Date.parse(`${momentOf(text)}Z`);
}
