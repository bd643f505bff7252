/** Numbers, times and seats in words. */
import type { Geometry } from "../../map/geometry.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import type { MovedPlaces } from "../../state/watch/happenings.ts";
import { TEXTS } from "../../texts.ts";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

export function whole(value: number): string {
  return WHOLE.format(value);
}

/** Of the browser's time zone. */
export function clockTime(ms: number): string {
  return CLOCK.format(ms);
}

/** Minutes and seconds. */
export function countdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

interface Named {
  /** Ids of the first seats, and how many there are. */
  readonly seats: readonly number[];
  readonly seatCount: number;
  readonly areas: readonly MovedPlaces[];
}

/** Such as `Block 112 · G 5–8`, `Standing · 2 places`, or with ` +3` for what is elsewhere. */
export function nameOf(event: LiveEvent, { seats, seatCount, areas }: Named): string {
  const { geometry } = event;
  const [first, ...others] = areas;
  const known = seats.flatMap((id) => event.seatOf(id) ?? []);
  if (known.length === 0) {
    if (first === undefined) return TEXTS.watch.wholeEvent;
    const { name } = geometry.areas[first.area]!;
    const text = first.places === 0 ? name : TEXTS.watch.places(name, first.places);
    return others.length === 0 ? text : TEXTS.watch.more(text, others.length);
  }
  const row = geometry.rowOfSeat[known[0]!]!;
  const inRow = known.filter((seat) => geometry.rowOfSeat[seat] === row);
  const { name, section } = geometry.rows[row]!;
  const text = `${geometry.sections[section]!.name} · ${name} ${labelsOf(geometry, inRow)}`;
  const elsewhere = seatCount - inRow.length + areas.reduce((sum, { places }) => sum + places, 0);
  return elsewhere === 0 ? text : TEXTS.watch.more(text, elsewhere);
}

/** Neighbours as `5–8`, others as `5, 9`. */
function labelsOf({ labels, labelOfSeat }: Geometry, seats: readonly number[]): string {
  const names = seats.map((seat) => labels[labelOfSeat[seat]!]!);
  const numbers = names.map(Number).sort((a, b) => a - b);
  const [from, to] = [numbers[0]!, numbers.at(-1)!];
  if (names.length > 1 && to - from === names.length - 1) return `${from}–${to}`;
  return numbers.some(Number.isNaN) ? names.join(", ") : numbers.join(", ");
}
