/** Moments as text: in queries, where a date stands for its midnight, and in answers. */
import { normalLocalDateTime } from "../../engine/local-time.ts";

/** In the form in which events keep their times, so that the two compare as text. */
export function momentOf(text: string): string {
  return normalLocalDateTime(text.includes("T") ? text : `${text}T00:00`);
}

/** Milliseconds since 1970 on the service clock, which is UTC. */
export function momentMs(text: string): number {
  return Date.parse(`${momentOf(text)}Z`);
}

/** The last second shown: most objects of a page changed in the same few seconds. */
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
