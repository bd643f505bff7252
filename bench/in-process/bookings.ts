/** Bookings that fill the log of a data folder. */
import type { Store } from "../../persistence/store/open-engine.ts";
import { EngineVenue } from "./engine-venue.ts";

/** Bookings that wait for the disk together. */
const PAIRS_PER_BATCH = 500;

export interface StoreOnSale {
  readonly store: Store;
  readonly venue: EngineVenue;
  readonly eventIds: readonly string[];
}

/** Creates events of the same layout, with every seat on sale. */
export async function putOnSale(store: Store, events: number, seats: number): Promise<StoreOnSale> {
  const venue = new EngineVenue(store.engine, await store.callerFor("Bench"), seats);
  const eventIds: string[] = [];
  for (let i = 0; i < events; i++) {
    eventIds.push(venue.openEvent());
    await durable(store);
  }
  return { store, venue, eventIds };
}

/** Locks and unlocks pairs of seats until the log has `records` more records, all on disk. */
export async function book(
  { store, venue, eventIds }: StoreOnSale,
  records: number,
): Promise<void> {
  const pairs = venue.seatIds.length >> 1;
  for (let turn = 0; turn < records / 2; turn++) {
    const eventId = eventIds[turn % eventIds.length]!;
    const first = (Math.floor(turn / eventIds.length) % pairs) * 2;
    venue.submit(venue.booking("lock", eventId, first));
    venue.submit(venue.booking("unlock", eventId, first));
    if (turn % PAIRS_PER_BATCH === 0) await durable(store);
  }
  await durable(store);
}

export function durable(store: Store): Promise<void> {
  return new Promise((resolve) => {
    store.engine.afterDurable(resolve);
  });
}
