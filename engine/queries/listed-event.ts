/**
 * An event as its seats are listed: the inventory, and what else a listed row shows. Most changes
 * are of single seats; those of the status or the organization are of all seats at once, and the
 * new name of a price is of all its seats.
 */
import type { EventRow, PriceRow } from "../catalog.ts";
import { copyPartition } from "../inventory/image.ts";
import { Partition } from "../inventory/partition.ts";
import type { State } from "../state.ts";

export interface ListedEvent {
  readonly partition: Partition;
  /** By slot. */
  readonly prices: ReadonlyMap<number, PriceRow>;
  /** Milliseconds since 1970: the last change of all its seats; 0 for none. */
  readonly changedAtMs: number;
}

export function listedEvent(state: State, event: EventRow): ListedEvent {
  const { organizations } = state.catalog;
  const { bookingChangedAtMs } = organizations.get(event.organizationId)!;
  return {
    partition: state.partitionOf(event),
    prices: state.catalog.pricesOf(event.id),
    changedAtMs: Math.max(event.statusChangedAtMs, bookingChangedAtMs),
  };
}

/** The same seats as a copy, which does not change. Cost: copies 23 bytes per seat. */
export function stillEvent({ partition, prices, changedAtMs }: ListedEvent): ListedEvent {
  const { seats, changes } = copyPartition(partition);
  const still = new Partition(partition.layout, 0, seats, changes);
  return { partition: still, prices: new Map(prices), changedAtMs };
}

/** Whether ACTIVE seats of the event can be booked now. */
export function isOnSale({ catalog }: State, { status, organizationId }: EventRow): boolean {
  return status === "PUBLISHED" && catalog.organizations.get(organizationId)!.bookingEnabled;
}

export function priceOf({ partition, prices }: ListedEvent, seat: number): PriceRow | undefined {
  return prices.get(partition.price[seat]!);
}

/** Milliseconds since 1970: the last change of the seat's row. Cost: constant. */
export function changeOfSeat(event: ListedEvent, seat: number): number {
  const renamedAtMs = priceOf(event, seat)?.renamedAtMs ?? 0;
  return Math.max(event.partition.changedAtMs[seat]!, renamedAtMs, event.changedAtMs);
}
