/** Local date-times of the server, as people read them. */

const DATE = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const MINUTE_MS = 60_000;
const UNITS = [
  ["day", 24 * 60 * MINUTE_MS],
  ["hour", 60 * MINUTE_MS],
] as const;

export function dateOf(moment: string): string {
  return DATE.format(new Date(moment));
}

/** As "in 20 days". */
export function distanceTo(moment: string, now: number): string {
  const ms = new Date(moment).getTime() - now;
  const [unit, size] = UNITS.find(([, one]) => Math.abs(ms) >= one) ?? ["minute", MINUTE_MS];
  return RELATIVE.format(Math.round(ms / size), unit);
}
