/** The seats of an event, filtered, sorted, in pages, and polled for changes. */
import { expect, test } from "vitest";
import type { AssignmentSelection, LayoutBody } from "../../../engine/bodies.ts";
import { SeatState, STATE_NAMES } from "../../../engine/inventory/states.ts";
import { nameKey } from "../../../engine/layout/layout.ts";
import {
  changeOfSeat,
  isOnSale,
  listedEvent,
  listInSteps,
  listSeats,
  SEAT_SORTS,
  type SeatFacts,
  seatFacts,
  type SeatPage,
  type SeatQuery,
  type SeatSort,
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
  const body = { seats: [{ objectId: world.labels.idOf("B2") }] };
  world.must("unassignPrices", world.caller, { eventId: world.eventId, body });
  expect(list(world)).toEqual({ labels: ["B1", "A1", "A10", "A2", "T1"], total: 5 });
  expect(list(world, { offset: 2, limit: 2 }).labels).toEqual(["A10", "A2"]);
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

/** An event of 2,400 seats, with two long rows and many short ones. */
function arena(): World {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join(" ");
  const rows = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`R${i}x`, numbers(20)] as const),
  );
  const stalls = section("Stalls", { L: numbers(1_100), M: numbers(1_100) });
  return new World([stalls, section("Circle", rows)]);
}

/** An arena of two prices, with every change visible in a listing. */
class BusyArena {
  readonly world = arena();
  readonly random = new Random(11);
  readonly #half = this.world.createPrice("Half");
  /** Time of the other price for the second half of the stalls. */
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
    if (round < 30) this.#assign({ seats: [{ objectId: chosen[0]!, assignmentId }] });
    if (round % 10 === 5) {
      const name = round % 20 === 5 ? "Zenith" : "Apex";
      const body = [{ id: world.priceId, name, eventId }];
      world.must("updatePrices", caller, { eventId, body });
    }
    if (round === 25) world.createPrice("Third");
    if (round % 20 === 15) world.change({ bookingEnabled: round === 35 });
    if (round === 30) world.partition.removePrice(2, world.clock.timeMs);
  }

  #assign(body: AssignmentSelection): void {
    const { world } = this;
    world.must("assignPrices", world.caller, { eventId: world.eventId, body });
  }

  #idOf(label: string): number {
    return this.world.labels.idOf(label);
  }
}

/** By property: a value to compare. */
const VALUE_OF: Readonly<Record<SeatSort, (facts: SeatFacts) => number | string>> = {
  seatId: ({ seatId }) => seatId,
  seatName: ({ seatName }) => nameKey(seatName),
  rowId: ({ rowId }) => rowId,
  rowName: ({ rowName }) => nameKey(rowName),
  sectionId: ({ sectionId }) => sectionId,
  sectionName: ({ sectionName }) => nameKey(sectionName),
  state: ({ state }) => STATE_NAMES[state] ?? "",
  priceId: ({ priceId }) => priceId ?? 0,
  priceName: ({ priceName }) => nameKey(priceName ?? ""),
  updatedAt: ({ changedAtMs }) => changedAtMs,
};

/** The rows of the listing, filtered and sorted one by one. */
function expectedRows(world: World, query: Partial<SeatQuery>): SeatFacts[] {
  const { sectionId, rowId, changedSinceMs = 0, sort = [] } = query;
  const event = listedOf(world);
  const { state } = event.partition;
  const all = Array.from(state.keys(), (seat) => seatFacts(event, seat));
  const rows = all.filter(
    (facts) =>
      facts.state !== SeatState.WITHDRAWN &&
      facts.changedAtMs >= changedSinceMs &&
      (rowId === undefined || facts.rowId === rowId) &&
      (sectionId === undefined || facts.sectionId === sectionId),
  );
  return rows.sort((a, b) => {
    for (const { property, descending } of sort) {
      const [first, second] = [a, b].map(VALUE_OF[property]) as [number, number];
      if (first !== second) return first < second === descending ? 1 : -1;
    }
    return 0;
  });
}

const factsOf = ({ seats, shown }: SeatPage) => seats.map((seat) => seatFacts(shown, seat));

test("the listing of a large event is right after every change, page by page", () => {
  const busy = new BusyArena();
  const { world, random, repricedMs } = busy;
  const idOf = (label: string) => world.labels.idOf(label);
  const filters: Pick<SeatQuery, "rowId" | "sectionId" | "changedSinceMs">[] = [
    {},
    {},
    { changedSinceMs: repricedMs },
    { changedSinceMs: repricedMs + 1 },
    { sectionId: idOf("Stalls") },
    { sectionId: idOf("Circle"), changedSinceMs: repricedMs + 1 },
    { rowId: idOf("row L") },
    { rowId: idOf("row R3x"), sectionId: idOf("Stalls") },
  ];
  for (let round = 0; round < 60; round++) {
    busy.change(round);
    const sort = Array.from({ length: random.below(4) }, () => ({
      property: random.pick(SEAT_SORTS),
      descending: random.once(2),
    }));
    const query = { ...random.pick(filters), sort };
    const expected = expectedRows(world, query);
    const text = JSON.stringify(query);
    const all = listSeats(listedOf(world), { ...query, offset: 0, limit: 10_000 });
    expect([all.total, factsOf(all)], text).toEqual([expected.length, expected]);
    const [offset, limit] = [random.below(expected.length), 1 + random.below(100)];
    const page = listSeats(listedOf(world), { ...query, offset, limit });
    expect(factsOf(page), text).toEqual(expected.slice(offset, offset + limit));
  }
});

test("a listing shows the event as it was at the first step", () => {
  const busy = new BusyArena();
  const sort = (["seatName", "state", "priceName"] as const).map((property) => {
    return { property, descending: true };
  });
  const query = { sort, offset: 10, limit: 90 };
  const expected = expectedRows(busy.world, query).slice(10, 100);
  const steps = listInSteps(listedOf(busy.world), query);
  let step = steps.next();
  expect(step.done).toBe(false);
  for (let round = 0; step.done !== true; round++, step = steps.next()) busy.change(round);
  expect(factsOf(step.value)).toEqual(expected);
});

// Changes of a seat's row, beside the changes of the seat itself.

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

/** Runs a change, and lists the seats changed since just before it. */
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
