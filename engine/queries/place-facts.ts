/** Seats and areas with the ids, labels and prices that the interface shows for them. */
import type { PriceRow } from "../catalog.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import { seatName } from "../layout/layout.ts";
import { changeOfSeat, type ListedEvent } from "./listed-event.ts";

/** The prices of the event by slot. */
type Prices = ReadonlyMap<number, Pick<PriceRow, "id" | "name">>;

export interface SeatFacts {
  readonly seatId: number;
  readonly seatName: string;
  readonly rowId: number;
  readonly rowName: string;
  readonly sectionId: number;
  readonly sectionName: string;
  readonly state: SeatState;
  readonly priceId: number | null;
  readonly priceName: string | null;
  /** Milliseconds since 1970. */
  readonly changedAtMs: number;
}

export interface AreaFacts {
  readonly areaId: number;
  readonly name: string;
  readonly priceId: number | null;
  readonly priceName: string | null;
  /** All places, and below the places by state. */
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
  /** Milliseconds since 1970. */
  readonly changedAtMs: number;
}

/** Cost: constant. */
export function seatFacts(event: ListedEvent, seat: number): SeatFacts {
  const { partition, prices } = event;
  const { layout } = partition;
  const row = layout.rows[layout.rowOfSeat[seat]!]!;
  const section = layout.sections[row.section]!;
  const price = prices.get(partition.price[seat]!);
  return {
    seatId: layout.seatIds[seat]!,
    seatName: seatName(layout, seat),
    rowId: row.id,
    rowName: row.name,
    sectionId: section.id,
    sectionName: section.name,
    state: partition.state[seat] as SeatState,
    priceId: price?.id ?? null,
    priceName: price?.name ?? null,
    changedAtMs: changeOfSeat(event, seat),
  };
}

/** Cost: constant. */
export function areaFacts(partition: Partition, prices: Prices, area: number): AreaFacts {
  const { layout, areas } = partition;
  const { id, name } = layout.areas[area]!;
  const price = prices.get(areas.price[area]!);
  return {
    areaId: id,
    name,
    priceId: price?.id ?? null,
    priceName: price?.name ?? null,
    capacity: areas.capacity(area),
    active: areas.places(area, SeatState.ACTIVE),
    locked: areas.places(area, SeatState.LOCKED),
    sold: areas.places(area, SeatState.SOLD),
    blocked: areas.places(area, SeatState.BLOCKED),
    changedAtMs: areas.changedAtMs[area]!,
  };
}
