/** The listings that are kept: how many, and which are dropped. */
import { setImmediate } from "node:timers/promises";
import v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import {
  listedEvent,
  ListingCache,
  LISTINGS_PER_EVENT_MAX,
  listSeats,
  type SeatSort,
} from "../../../engine/queries/seats.ts";
import { World } from "../../support/engine.ts";
import { layoutOf, section } from "../../support/layout.ts";

const SEATS = 1_200;
const NUMBERS = Array.from({ length: SEATS }, (_, i) => i + 1).join(" ");
const PROPERTIES = ["state", "seatName", "updatedAt", "priceId"] as const;

/** Two events whose listings are long enough to be kept. */
class Hall {
  readonly world = new World([section("Stalls", { L: NUMBERS })]);
  readonly cache: ListingCache;
  readonly eventIds = [this.world.eventId, this.world.createEvent()];

  constructor(bytesMax?: number) {
    this.cache = new ListingCache(bytesMax);
  }

  list(event: number, ...properties: readonly SeatSort[]): readonly number[] {
    const { state } = this.world.engine;
    const row = state.catalog.events.get(this.eventIds[event]!)!;
    const sort = properties.map((property) => ({ property, descending: true }));
    const query = { sort, offset: 0, limit: SEATS };
    return listSeats(listedEvent(state, row), query, this.cache).seats;
  }
}

/** Of one listing, without its texts. */
const ONE = (() => {
  const hall = new Hall();
  hall.list(0);
  return hall.cache.bytes;
})();

test("listings of all events share one bound; the least recently used is dropped first", () => {
  const hall = new Hall(3.5 * ONE);
  const { cache } = hall;
  const [byState, other] = [hall.list(0, "state"), hall.list(1, "state")];
  hall.list(0, "seatName");
  expect([cache.count, cache.dropped]).toEqual([3, 0]);
  // Used again, so the listing of the other event is the oldest.
  hall.list(0, "state");
  hall.list(0, "updatedAt");
  expect([cache.count, cache.dropped]).toEqual([3, 1]);
  expect(cache.bytes).toBeLessThanOrEqual(3.5 * ONE);
  expect(hall.list(1, "state")).toEqual(other);
  expect(hall.list(0, "state")).toEqual(byState);
  expect(cache.dropped).toBe(2);
});

test("an event has sixteen listings at most", () => {
  const hall = new Hall();
  hall.list(1);
  for (const first of PROPERTIES) {
    for (const second of PROPERTIES) hall.list(0, first, second);
  }
  expect([hall.cache.count, hall.cache.dropped]).toEqual([LISTINGS_PER_EVENT_MAX + 1, 0]);
  hall.list(0);
  expect([hall.cache.count, hall.cache.dropped]).toEqual([LISTINGS_PER_EVENT_MAX + 1, 1]);
});

test("a listing that is larger than the bound is answered, and not kept", () => {
  const hall = new Hall(ONE / 2);
  expect(hall.list(0, "seatName")).toHaveLength(SEATS);
  expect(hall.cache).toMatchObject({ bytes: 0, count: 0, dropped: 1 });
});

test("listings of an event's earlier layouts, and of deleted events, are forgotten", async () => {
  v8.setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const hall = new Hall();
  const { cache, world } = hall;
  for (const names of [NUMBERS, `first ${NUMBERS}`, `second ${NUMBERS}`]) {
    world.putLayout(layoutOf(section("Stalls", { L: names })));
    hall.list(0, "state");
    hall.list(1, "state");
  }
  world.must("deleteEvent", world.caller, { eventId: hall.eventIds[1]! });
  expect(cache.count).toBe(6);
  await setImmediate();
  collectGarbage();
  hall.eventIds.push(world.createEvent());
  hall.list(2, "state");
  // Of the present layout of the first event, and of the new event.
  expect([cache.count, cache.dropped]).toEqual([2, 0]);
});
