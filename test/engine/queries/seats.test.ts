/** The seats of an event, filtered, sorted, in pages, and polled for changes. */
import { setImmediate } from "node:timers/promises";
import v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { AssignmentSelection, LayoutBody } from "../../../engine/bodies.ts";
import type { Partition } from "../../../engine/inventory/partition.ts";
import { LayoutChange } from "../../../engine/inventory/partitions.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { lastValue } from "../../../engine/inventory/steps.ts";
import {
  changeOfSeat,
  isOnSale,
  listedEvent,
  ListingCache,
  LISTINGS_PER_EVENT_MAX,
  listSeats,
  prepareListing,
  SEAT_SORTS,
  type SeatQuery,
  type SeatSort,
  SortedSeats,
} from "../../../engine/queries/seats.ts";
import { Random } from "../../sim/workload/random.ts";
import { World } from "../../support/engine.ts";
import { area, layoutOf, section, table } from "../../support/layout.ts";
import { checkMore, expectConsistent } from "../../support/table.ts";

const HALL = [section("Stalls", { B: "1 2", A: "1 10 2" }), table("T", "1"), area("Pit", 5)];
const ALL: SeatQuery = { sort: [], offset: 0, limit: 100 };

const listedOf = (world: World) => listedEvent(world.engine.state, world.event);

function list(world: World, query: Partial<SeatQuery> = {}): { labels: string[]; total: number } {
  const { seats, total } = listSeats(listedOf(world), { ...ALL, ...query });
  const { seatIds } = world.partition.layout;
  return { labels: seats.map((seat) => world.labels.labelOf(seatIds[seat]!)), total };
}

const sorted = (world: World, property: SeatSort, descending = false) =>
  list(world, { sort: [{ property, descending }] }).labels.join(" ");

test("without a sort the seats are in order of id, and areas are left out", () => {
  const world = new World(HALL);
  expect(list(world)).toEqual({ labels: ["B1", "B2", "A1", "A10", "A2", "T1"], total: 6 });
});

test("a list can be limited to a section, to a row, or to both", () => {
  const world = new World(HALL);
  const idOf = (label: string) => world.labels.idOf(label);
  expect(list(world, { sectionId: idOf("T") }).labels).toEqual(["T1"]);
  expect(list(world, { rowId: idOf("row A") }).labels).toEqual(["A1", "A10", "A2"]);
  expect(list(world, { rowId: idOf("row A"), sectionId: idOf("T") }).total).toBe(0);
  expect(list(world, { rowId: 999 }).total).toBe(0);
  expect(list(world, { sectionId: idOf("Pit") }).total).toBe(0);
});

test("a seat that never had a price is listed, one whose price was removed is not", () => {
  const world = new World(HALL, { unpriced: ["B1"] });
  world.partition.state[world.seat("B2")] = SeatState.WITHDRAWN;
  expect(list(world).labels).toEqual(["B1", "A1", "A10", "A2", "T1"]);
});

test("every sort property sorts both ways, ties by id", () => {
  const world = new World(HALL, { unpriced: ["A1"] });
  const half = world.createPrice("Balcony");
  const seats = [{ objectId: world.labels.idOf("B2"), assignmentId: half }];
  world.clock.timeMs += 1;
  world.must("assignPrices", world.caller, { eventId: world.eventId, body: { seats } });
  world.clock.timeMs += 1;
  world.book("lock", world.selection("A", "A10"));
  world.book("directsale", world.selection("A", "B1"));
  const expected: Record<SeatSort, [up: string, down: string]> = {
    seatId: ["B1 B2 A1 A10 A2 T1", "T1 A2 A10 A1 B2 B1"],
    seatName: ["B1 A1 T1 B2 A2 A10", "A10 B2 A2 B1 A1 T1"],
    rowId: ["B1 B2 A1 A10 A2 T1", "T1 A1 A10 A2 B1 B2"],
    rowName: ["A1 A10 A2 B1 B2 T1", "T1 B1 B2 A1 A10 A2"],
    sectionId: ["B1 B2 A1 A10 A2 T1", "T1 B1 B2 A1 A10 A2"],
    sectionName: ["B1 B2 A1 A10 A2 T1", "T1 B1 B2 A1 A10 A2"],
    state: ["A1 B2 A2 T1 A10 B1", "B1 A10 B2 A2 T1 A1"],
    priceId: ["A1 B1 A10 A2 T1 B2", "B2 B1 A10 A2 T1 A1"],
    priceName: ["A1 B2 B1 A10 A2 T1", "B1 A10 A2 T1 B2 A1"],
    updatedAt: ["A1 A2 T1 B2 B1 A10", "B1 A10 B2 A1 A2 T1"],
  };
  for (const property of SEAT_SORTS) {
    expect(sorted(world, property), property).toBe(expected[property][0]);
    expect(sorted(world, property, true), `${property} down`).toBe(expected[property][1]);
  }
});

test("several sorts apply one after the other", () => {
  const world = new World(HALL);
  const sort = [
    { property: "rowName", descending: true },
    { property: "seatName", descending: true },
  ] as const;
  expect(list(world, { sort }).labels.join(" ")).toBe("T1 B2 B1 A10 A2 A1");
});

test("a page has the total of all pages, and one past the end is empty", () => {
  const world = new World(HALL);
  expect(list(world, { offset: 1, limit: 2 })).toEqual({ labels: ["B2", "A1"], total: 6 });
  expect(list(world, { offset: 4, limit: 3 })).toEqual({ labels: ["A2", "T1"], total: 6 });
  expect(list(world, { offset: 6, limit: 3 })).toEqual({ labels: [], total: 6 });
});

test("seats that changed since a moment are listed once each, in order of id", () => {
  const world = new World(HALL);
  const since = (changedSinceMs: number) => list(world, { changedSinceMs }).labels;
  const start = world.clock.timeMs;
  world.clock.timeMs += 10;
  world.book("lock", world.selection("A", "A2"));
  world.book("lock", world.selection("A", "B1"));
  world.clock.timeMs += 10;
  world.book("unlock", world.selection("A", "A2"));
  expect(since(start)).toHaveLength(6);
  expect(since(start + 1)).toEqual(["B1", "A2"]);
  expect(since(start + 10)).toEqual(["B1", "A2"]);
  expect(since(start + 11)).toEqual(["A2"]);
  expect(since(start + 21)).toEqual([]);
});

test("a poll for changes can be filtered and sorted", () => {
  const world = new World(HALL);
  world.clock.timeMs += 10;
  world.book("lock", world.selection("A", "A1", "A2", "B2"));
  const query = { changedSinceMs: world.clock.timeMs, rowId: world.labels.idOf("row A") };
  expect(list(world, query).labels).toEqual(["A1", "A2"]);
  const sort = [{ property: "seatId", descending: true }] as const;
  expect(list(world, { ...query, sort }).labels).toEqual(["A2", "A1"]);
});

/** An event of 2,400 seats: two long rows and many short ones, so that listings are cached. */
function arena(): World {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join(" ");
  const rows = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`R${i}x`, numbers(20)] as const),
  );
  const stalls = section("Stalls", { L: numbers(1_100), M: numbers(1_100) });
  return new World([stalls, section("Circle", rows)]);
}

/** An arena of two prices, which changes in every way that a listing may show. */
class BusyArena {
  readonly world = arena();
  readonly random = new Random(11);
  readonly #half = this.world.createPrice("Half");
  /** When the second half of the stalls got the other price: more seats than are looked at. */
  readonly repricedMs: number;

  constructor() {
    this.world.clock.timeMs += 1_000;
    this.repricedMs = this.world.clock.timeMs;
    const groupOfSeats = [{ objectId: this.#idOf("row M"), assignmentId: this.#half }];
    this.#assign({ groupOfSeats });
  }

  change(round: number): void {
    const { world, random } = this;
    const { labels, caller, eventId } = world;
    world.clock.timeMs += 1;
    const chosen = Array.from({ length: 3 }, () => this.#idOf(random.pick(labels.seats)));
    const seats = chosen.map((id) => ({ id }));
    world.book(random.pick(["lock", "directsale", "block"]), { seats });
    const assignmentId = random.pick([world.priceId, this.#half]);
    if (round < 90) this.#assign({ seats: [{ objectId: chosen[0]!, assignmentId }] });
    if (round % 20 === 10) {
      const name = round % 40 === 10 ? "Zenith" : "Apex";
      const body = [{ id: world.priceId, name, eventId }];
      world.must("updatePrices", caller, { eventId, body });
    }
    if (round === 70) world.createPrice("Third");
    if (round % 50 === 45) world.change({ bookingEnabled: round === 95 });
    if (round === 90) world.partition.removePrice(2, world.clock.timeMs);
  }

  #assign(body: AssignmentSelection): void {
    const { world } = this;
    world.must("assignPrices", world.caller, { eventId: world.eventId, body });
  }

  #idOf(label: string): number {
    return this.world.labels.idOf(label);
  }
}

function copyOf(partition: Partition): Partition {
  const change = { layout: partition.layout, timeMs: 0 };
  return lastValue(new LayoutChange(change).migrate(partition));
}

test("a cached listing of a large event equals a new one after every change", () => {
  const busy = new BusyArena();
  const { world, random, repricedMs } = busy;
  const { partition, labels } = world;
  const filters: Pick<SeatQuery, "rowId" | "sectionId" | "changedSinceMs">[] = [
    {},
    {},
    { changedSinceMs: repricedMs },
    { sectionId: labels.idOf("Stalls") },
    { sectionId: labels.idOf("Circle") },
    { rowId: labels.idOf("row L") },
    { rowId: labels.idOf("row R3x"), sectionId: labels.idOf("Stalls") },
  ];
  const sorts: SeatQuery["sort"][] = [
    [],
    [{ property: "seatName", descending: false }],
    [{ property: "seatName", descending: true }],
    [{ property: "state", descending: true }],
    [{ property: "updatedAt", descending: false }],
    [{ property: "priceId", descending: true }],
    [
      { property: "rowName", descending: false },
      { property: "priceName", descending: false },
    ],
  ];
  for (let round = 0; round < 175; round++) {
    busy.change(round);
    // Few listings at a time, so that each is read again and must have been repaired.
    const sort = sorts[(2 * Math.floor(round / 25) + random.below(2)) % sorts.length]!;
    const query: SeatQuery = { ...random.pick(filters), sort, offset: 0, limit: 10_000 };
    const text = JSON.stringify(query);
    const listedNow = listedOf(world);
    const { seats, total } = listSeats(listedNow, query);
    // A copy of the partition has no cached listings.
    const copy = copyOf(partition);
    expect(seats, text).toEqual(listSeats({ ...listedNow, partition: copy }, query).seats);
    const { rowId, sectionId, changedSinceMs = 0 } = query;
    const { layout, state } = partition;
    const listed = [...state.keys()].filter((seat) => {
      const row = layout.rows[layout.rowOfSeat[seat]!]!;
      const isInRow = rowId === undefined || row.id === rowId;
      const isInSection = sectionId === undefined || layout.sections[row.section]!.id === sectionId;
      const isRecent = changeOfSeat(listedNow, seat) >= changedSinceMs;
      return isInRow && isInSection && isRecent && state[seat] !== SeatState.WITHDRAWN;
    });
    expect([total, seats.toSorted((a, b) => a - b)], text).toEqual([listed.length, listed]);
    const page = { ...query, offset: random.below(2_400), limit: 1 + random.below(100) };
    expect(listSeats(listedNow, page)).toEqual({
      seats: seats.slice(page.offset, page.offset + page.limit),
      total,
    });
  }
});

test("a listing that was prepared while the event changed equals a new one", () => {
  const busy = new BusyArena();
  const { world } = busy;
  const properties = ["state", "priceName", "updatedAt", "rowName", "seatName"] as const;
  const sort = properties.map((property, i) => ({ property, descending: i % 2 === 0 }));
  for (let round = 0; round < 60; round++) {
    const query: SeatQuery = { sort: sort.slice(round % 5), offset: 0, limit: 10_000 };
    const steps = prepareListing(listedOf(world), query);
    for (let step = 0; steps.next().done !== true; step++) if (step % 4 === 1) busy.change(round);
    const listedNow = listedOf(world);
    const copy = copyOf(world.partition);
    const expected = listSeats({ ...listedNow, partition: copy }, query);
    expect(listSeats(listedNow, query)).toEqual(expected);
  }
});

test("a listing is prepared when the event did not change meanwhile, or is prepared again", () => {
  const busy = new BusyArena();
  const query: SeatQuery = {
    sort: [{ property: "updatedAt", descending: true }],
    offset: 0,
    limit: 10,
  };
  const steps = prepareListing(listedOf(busy.world), query);
  steps.next();
  busy.change(0);
  expect(lastValue(steps)).toBe(false);
  expect(lastValue(prepareListing(listedOf(busy.world), query))).toBe(true);
});

test("a seat that changes twice in a row moves twice in a cached listing", () => {
  const world = arena();
  const first = () => {
    const sort = [{ property: "state", descending: true }] as const;
    return list(world, { sort, limit: 1 }).labels;
  };
  expect(first()).toEqual(["L1"]);
  world.book("lock", world.selection("s", "L5"));
  expect(first()).toEqual(["L5"]);
  world.book("unlock", world.selection("s", "L5"));
  expect(first()).toEqual(["L1"]);
});

test("renaming a price reorders the cached listing of a large event", () => {
  const { world } = new BusyArena();
  const first = () => {
    const sort = [{ property: "priceName", descending: false }] as const;
    const { seats } = listSeats(listedOf(world), { sort, offset: 0, limit: 1 });
    return world.labels.labelOf(world.partition.layout.seatIds[seats[0]!]!);
  };
  const rename = (name: string) =>
    world.must("updatePrices", world.caller, {
      eventId: world.eventId,
      body: [{ id: world.priceId, name, eventId: world.eventId }],
    });
  expect(first()).toBe("L1");
  rename("Zenith");
  expect(first()).toBe("M1");
  rename("Apex");
  expect(first()).toBe("L1");
});

test("long rows and the whole event have separate cached listings", () => {
  const world = arena();
  const rowId = world.labels.idOf("row L");
  expect(list(world, { rowId, limit: 5_000 }).total).toBe(1_100);
  expect(list(world, { limit: 5_000 }).total).toBe(2_400);
  expect(list(world, { rowId: world.labels.idOf("row M"), limit: 5_000 }).total).toBe(1_100);
});

// When the row of a seat counts as changed, beside the changes of the seat itself.

test("an event is on sale while it is published and its organization may book", () => {
  const world = new World(HALL);
  const onSale = () => isOnSale(world.engine.state, world.event);
  expect(onSale()).toBe(true);
  world.change({ bookingEnabled: false });
  expect(onSale()).toBe(false);
  world.change({ bookingEnabled: true });
  checkMore(world, "status  ARCHIVED");
  expect(onSale()).toBe(false);
});

/** Runs a change, and lists the seats that have changed since just before it. */
function changedBy(world: World, change: () => void): string {
  world.clock.timeMs += 10;
  change();
  const changedSinceMs = world.clock.timeMs;
  world.clock.timeMs += 10;
  const event = listedEvent(world.engine.state, world.event);
  const { seats } = listSeats(event, { sort: [], offset: 0, limit: 100, changedSinceMs });
  expect(seats.every((seat) => changeOfSeat(event, seat) === changedSinceMs)).toBe(true);
  const { seatIds } = world.partition.layout;
  return seats.map((seat) => world.labels.labelOf(seatIds[seat]!)).join(" ");
}

test("a change of the event's status or of bookingEnabled changes every seat", () => {
  const world = new World(HALL, { unpriced: ["A2"] });
  const all = "B1 B2 A1 A10 A2 T1";
  const { eventId, caller } = world;
  const archive = () =>
    world.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
  expect(changedBy(world, archive)).toBe(all);
  expect(changedBy(world, () => world.change({ bookingEnabled: false }))).toBe(all);
  expect(changedBy(world, () => world.change({ bookingEnabled: false }))).toBe("");
  expect(changedBy(world, () => world.change({ salesControl: false }))).toBe("");
  expect(changedBy(world, () => world.change({ bookingEnabled: true }))).toBe(all);
});

test("the new name of a price changes the seats of that price", () => {
  const world = new World(HALL);
  const half = world.createPrice("Half");
  const { eventId, caller } = world;
  const seats = [{ objectId: world.labels.idOf("A10"), assignmentId: half }];
  world.must("assignPrices", caller, { eventId, body: { seats } });
  const name = (to: string) => () =>
    world.must("updatePrices", caller, { eventId, body: [{ id: half, name: to, eventId }] });
  expect(changedBy(world, name("Third"))).toBe("A10");
  expect(changedBy(world, name("Third"))).toBe("");
});

test("new labels change the seats that they are shown for", () => {
  const world = new World(HALL);
  const { sectors, rows, seats } = layoutOf(...HALL);
  const put = (body: LayoutBody) => () => void world.putLayout(body);
  const [seat, row, sector] = [seats!.at(0)!, rows!.at(1)!, sectors!.at(1)!];
  expect(changedBy(world, put({ seats: [{ ...seat, name: "9" }] }))).toBe("B9");
  expect(changedBy(world, put({ rows: [{ ...row, rowNumber: "C" }] }))).toBe("C1 C10 C2");
  expect(changedBy(world, put({ sectors: [{ ...sector, name: "U" }] }))).toBe("T1");
  expect(changedBy(world, put({ sectors: [{ ...sector, name: "U", x: 9 }] }))).toBe("");
  expectConsistent(world);
});

// Sorted seats that are repaired as they change.

test("after any changes the list equals one that is sorted from scratch", () => {
  const random = new Random(3);
  const seatCount = 3_000;
  const keys = Array.from({ length: seatCount }, () => random.below(50));
  const compare = (a: number, b: number) => keys[a]! - keys[b]! || a - b;
  const all = keys.map((_, seat) => seat);
  const present = new Set(all.filter(() => random.once(2)));
  const kept = new SortedSeats(Uint32Array.from([...present].sort(compare)), seatCount);
  for (let round = 0; round < 60; round++) {
    for (let i = 0; i < 40; i++) {
      const seat = random.below(seatCount);
      kept.remove(seat);
      present.delete(seat);
      // Long runs of one key fill single blocks until they are divided.
      keys[seat] = random.once(2) ? 7 : random.below(50);
      if (random.once(4)) continue;
      kept.add(seat, compare);
      present.add(seat);
    }
    const expected = [...present].sort(compare);
    expect(kept.count).toBe(expected.length);
    expect(kept.slice(0, seatCount)).toEqual(expected);
    const offset = random.below(seatCount);
    expect(kept.slice(offset, 25)).toEqual(expected.slice(offset, offset + 25));
  }
});

const byNumber = (a: number, b: number) => a - b;

test("a list that lost its last seat can be filled again, past the size of a block", () => {
  const kept = new SortedSeats(Uint32Array.of(5), 2_000);
  expect(kept.has(5)).toBe(true);
  kept.remove(5);
  kept.remove(5);
  expect([kept.has(5), kept.count, kept.slice(0, 9)]).toEqual([false, 0, []]);
  for (let seat = 1_999; seat >= 0; seat--) kept.add(seat, byNumber);
  expect(kept.slice(510, 4)).toEqual([510, 511, 512, 513]);
  for (let seat = 0; seat < 2_000; seat += 2) kept.remove(seat);
  expect(kept.slice(998, 9)).toEqual([1_997, 1_999]);
  expect(kept.slice(1_000, 9)).toEqual([]);
});

test("adding a listed seat breaks a promise", () => {
  const kept = new SortedSeats(Uint32Array.of(1), 3);
  expect(() => kept.add(1, byNumber)).toThrow("a seat is listed once");
});

test("a list of no seats is empty, and a block that loses all its seats is dropped", () => {
  const none = new SortedSeats(new Uint32Array(0), 9);
  expect(none.slice(0, 9)).toEqual([]);
  none.add(4, byNumber);
  expect(none.slice(0, 9)).toEqual([4]);
  const seats = Uint32Array.from({ length: 1_000 }, (_, seat) => seat);
  const kept = new SortedSeats(seats, 1_000);
  for (let seat = 200; seat < 800; seat++) kept.remove(seat);
  kept.add(500, byNumber);
  expect(kept.slice(198, 5)).toEqual([198, 199, 500, 800, 801]);
  expect(kept.count).toBe(401);
  kept.remove(990);
  kept.add(990, byNumber);
  expect(kept.slice(390, 3)).toEqual([989, 990, 991]);
});

// The listings that are kept: how many, and which are dropped.

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
