/** Names of seats for people and screen readers. */
import { SeatState } from "../../map/live-seats.ts";
import type { Acting, Refused } from "../../state/acting.ts";
import type { LiveEvent, Totals } from "../../state/live-event.ts";
import type { Selection } from "../../state/selection.ts";
import { TEXTS } from "../../texts.ts";

/** What the components of this folder work on. */
export interface ActProps {
  readonly event: LiveEvent;
  readonly selection: Selection;
  readonly acting: Acting;
}

/** Of parts that show the present states: the totals change with them. */
export interface LiveProps extends ActProps {
  readonly totals: Totals;
}

/** The states that are counted, as they are listed. */
export const LISTED_STATES = [
  SeatState.FREE,
  SeatState.HELD,
  SeatState.SOLD,
  SeatState.BLOCKED,
  SeatState.UNPRICED,
];

/** As "Block 112, row G, seat 7". */
export function nameOf({ geometry }: LiveEvent, seat: number): string {
  const row = geometry.rows[geometry.rowOfSeat[seat]!]!;
  const section = geometry.sections[row.section]!.name;
  const label = geometry.labels[geometry.labelOfSeat[seat]!]!;
  return [section, TEXTS.row(row.name), TEXTS.seat(label)].join(" · ");
}

/** With its state and price. */
export function describe(event: LiveEvent, seat: number): string {
  const { states, prices } = event.seats;
  const price = event.priceAt(prices[seat]!)?.name;
  return [nameOf(event, seat), TEXTS.states[states[seat]!], price].filter(Boolean).join(", ");
}

export function nameOfRefused(event: LiveEvent, { seat, area }: Refused): string {
  if (seat !== undefined) return nameOf(event, seat);
  return event.geometry.areas[area!]?.name ?? "";
}
