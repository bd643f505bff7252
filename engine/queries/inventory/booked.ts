/** What a booking call has moved, as it is right after the call. */
import { assert } from "../../assert.ts";
import type { EventRow } from "../../catalog.ts";
import { SeatState } from "../../inventory/states.ts";
import { joinKey } from "../../layout/composite-keys.ts";
import { type Layout, seatIndexOf, seatName } from "../../layout/layout.ts";
import type { StateSelection } from "../../shapes/bodies.ts";
import type { State } from "../../state.ts";
import { type AreaFacts, areaFacts } from "../place-facts.ts";

export interface BookedSeat {
  readonly id: number;
  /** The composite key of v1. */
  readonly label: string;
  readonly state: SeatState;
  readonly priceId: number | null;
  /** Milliseconds since 1970: the end of its hold; null for none. */
  readonly expiresAtMs: number | null;
  /** Of its hold; null unless LOCKED. */
  readonly fence: number | null;
}

/** In the order of the request. */
export interface Booked {
  /** The last record of the event. */
  readonly sequence: number;
  readonly seats: readonly BookedSeat[];
  readonly areas: readonly AreaFacts[];
}

/**
 * @param selection - Of a call that was granted just now.
 * Cost: O(objects of the request).
 */
export function bookedFacts(state: State, event: EventRow, selection: StateSelection): Booked {
  const partition = state.partitionOf(event);
  const prices = state.catalog.pricesOf(event.id);
  const { layout, holds } = partition;
  const seats = (selection.seats ?? []).map(({ id }): BookedSeat => {
    const seat = seatIndexOf(layout, id);
    const current = partition.state[seat] as SeatState;
    const hold = current === SeatState.LOCKED ? holds.get(partition.hold[seat]!) : null;
    return {
      id,
      label: labelOf(layout, seat),
      state: current,
      priceId: prices.get(partition.price[seat]!)?.id ?? null,
      expiresAtMs: hold === null || hold.expiresAtMs === 0 ? null : hold.expiresAtMs,
      fence: hold?.fence ?? null,
    };
  });
  const areas = (selection.groupOfSeats ?? []).map(({ id }) => {
    const area = layout.areaIndexes.get(id);
    assert(area !== undefined, "the areas of a granted call are in the layout");
    return areaFacts(partition, prices, area);
  });
  return { sequence: state.sequenceOf(event), seats, areas };
}

function labelOf(layout: Layout, seat: number): string {
  const row = layout.rows[layout.rowOfSeat[seat]!]!;
  return joinKey(layout.sections[row.section]!.name, row.name, seatName(layout, seat));
}
