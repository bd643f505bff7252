/** Times and seats in words. */
import type { Geometry } from "../map/geometry.ts";
import type { MovedPlaces } from "../state/figures.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Of the browser's time zone. */
export function clockTime(ms: number): string {
  return CLOCK.format(ms);
}

/** In the time zone of the browser. The day is left out when it is today. */
export function momentOf(atMs: number): string {
  const day = new Date(atMs).toLocaleDateString("sv");
  const isToday = day === new Date().toLocaleDateString("sv");
  return isToday ? clockTime(atMs) : `${day} ${clockTime(atMs)}`;
}

/** Minutes and seconds. */
export function countdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

interface Group {
  /** Ids of the first seats, and how many there are. */
  readonly seats: readonly number[];
  readonly seatCount: number;
  readonly areas: readonly MovedPlaces[];
}

/** Such as `Block 112 · G 5–8`, `Standing · 2 places`, or with ` +3` for places elsewhere. */
export function groupName(event: LiveEvent, { seats, seatCount, areas }: Group): string {
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

/** As `Block 112 · Row G · Seat 7`. */
export function seatName({ geometry }: LiveEvent, seat: number): string {
  const row = geometry.rows[geometry.rowOfSeat[seat]!]!;
  const section = geometry.sections[row.section]!.name;
  const label = geometry.labels[geometry.labelOfSeat[seat]!]!;
  return [section, TEXTS.row(row.name), TEXTS.seat(label)].join(" · ");
}

/** With its state and price. */
export function describe(event: LiveEvent, seat: number): string {
  const { states, prices } = event.seats;
  const price = event.priceAt(prices[seat]!)?.name;
  return [seatName(event, seat), TEXTS.states[states[seat]!], price].filter(Boolean).join(", ");
}
