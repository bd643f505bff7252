/** Moments as text: what a query names, a date for its midnight, and what an answer shows. */
import { normalLocalDateTime } from "../../engine/local-time.ts";

/** As events keep their times, so that the two compare as text. */
export function momentOf(text: unknown): string {
  const moment = String(text);
  return normalLocalDateTime(moment.includes("T") ? moment : `${moment}T00:00`);
}

/** Milliseconds since 1970 on the service clock, which is UTC. */
export function momentMs(text: unknown): number {
  return Date.parse(`${momentOf(text)}Z`);
}

/** The second that was shown last: the objects of a page mostly changed in the same few. */
const shown = { second: NaN, text: "" };

/** The service clock is UTC; the interface shows it without offset, with three decimals. */
export function localDateTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1_000);
  if (second !== shown.second) {
    shown.text = new Date(second * 1_000).toISOString().slice(0, -"000Z".length);
    shown.second = second;
  }
  return shown.text + String(timeMs - second * 1_000).padStart(3, "0");
}
