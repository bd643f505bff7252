/** Moments in words. */
import { clockTime } from "../watch/format.ts";

/** In the time zone of the browser. The day is left out when it is today. */
export function momentOf(atMs: number): string {
  const day = new Date(atMs).toLocaleDateString("sv");
  const isToday = day === new Date().toLocaleDateString("sv");
  return isToday ? clockTime(atMs) : `${day} ${clockTime(atMs)}`;
}
