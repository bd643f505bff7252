/** Prices of an event, assigned to seats, rows, sections, tables and areas. */
import { expect, test } from "vitest";
import type { AssignmentSelection } from "../../../engine/bodies.ts";
import type { BookingKind } from "../../../engine/commands.ts";
import { AMOUNT_MAX, AREA_CAPACITY_MAX, PRICES_PER_EVENT_MAX } from "../../../engine/constants.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { summarizeEvent } from "../../../engine/queries/summary.ts";
import { RecordType } from "../../../engine/records.ts";
import { Result } from "../../../engine/results.ts";
import { NO_EVENT, START_MS, World } from "../../support/engine.ts";
import { area, section, table } from "../../support/layout.ts";
import { check, expectConsistent, tables } from "../../support/table.ts";

const HALL = [
  section("Stalls", { A: "1 2 3", B: "1 2" }),
  table("T", "1 2"),
  area("Pit", 10),
  area("Lawn", null),
];

/** The name of the price of every seat, by label. */
function priceNames(world: World): Record<string, string> {
  const prices = world.engine.state.catalog.pricesOf(world.eventId);
  const { price } = world.partition;
  return Object.fromEntries(
    world.labels.seats.map((label) => [label, prices.get(price[world.seat(label)]!)?.name ?? "-"]),
  );
}

const itemsOf = (world: World) => (label: string, assignmentId: number) => ({
  objectId: world.labels.idOf(label),
  assignmentId,
});

const assign = (world: World, body: AssignmentSelection) =>
  world.submit("assignPrices", world.caller, { eventId: world.eventId, body });

test("a price can be assigned to a section, a row, a table or a seat", () => {
  const world = new World(HALL, { unpriced: true });
  const [full, half] = [world.priceId, world.createPrice("Half")];
  const item = itemsOf(world);
  assign(world, { groupOfSeats: [item("row B", half), item("T", half)] });
  const [none, halves] = [
    { A1: "-", A2: "-", A3: "-" },
    { B1: "Half", B2: "Half" },
  ];
  expect(priceNames(world)).toEqual({ ...none, ...halves, T1: "Half", T2: "Half" });
  assign(world, { groupOfSeats: [item("Stalls", full)], seats: [item("A2", half)] });
  expect(priceNames(world)).toMatchObject({ A1: "Full", A2: "Half", A3: "Full", B1: "Full" });
});

test("in one request a seat overrides its section, and a later group an earlier one", () => {
  const world = new World(HALL, { unpriced: true });
  const [full, half] = [world.priceId, world.createPrice("Half")];
  const item = itemsOf(world);
  const groupOfSeats = [item("row A", half), item("Stalls", full), item("row B", half)];
  assign(world, { groupOfSeats, seats: [item("A1", half)] });
  expect(priceNames(world)).toMatchObject({ A1: "Half", A2: "Full", A3: "Full", B1: "Half" });
});

test("seats that are held, sold or blocked get the new price and keep their state", () => {
  const world = check(
    HALL,
    `
    lock        A  A1         ok
    directsale  -  A2         ok
    block       -  A3         ok
    `,
  );
  const half = world.createPrice("Half");
  assign(world, { seats: [{ objectId: world.labels.idOf("A1"), assignmentId: half }] });
  const stalls = { objectId: world.labels.idOf("Stalls"), assignmentId: half };
  assign(world, { groupOfSeats: [stalls] });
  expect(priceNames(world)).toMatchObject({ A1: "Half", A2: "Half", A3: "Half" });
  expect(["A1", "A2", "A3"].map((label) => world.partition.state[world.seat(label)])).toEqual([
    3, 4, 5,
  ]);
});

tables(HALL, { unpriced: true })("a seat goes on sale when it gets a price")(`
  seats   A1 NULL  T1 NULL
  price   A1 T              ok
  seats   A1 ACTIVE  A2 NULL  T1 ACTIVE  T2 ACTIVE
`);

tables(HALL, { unpriced: true })(
  "an area gets the given count, its own capacity, or what is left of the total",
)(`
  price   Pit:4 Lawn:0      ok
  places  Pit  active 4 locked 0 sold 0 blocked 0
  places  Lawn  active 0 locked 0 sold 0 blocked 0
  price   Pit Lawn          ok
  places  Pit  active 10 locked 0 sold 0 blocked 0
  places  Lawn  active 7 locked 0 sold 0 blocked 0
`);

const TWO_OPEN = [area("Pit", 10), area("Lawn", null), area("Meadow", null)];

test.each([
  ["no total is declared", HALL, null],
  ["the other areas take the whole total", HALL, 10],
  ["several areas have no capacity", TWO_OPEN, 100],
] as const)("an area without a capacity needs a count when %s", (_, parts, gaCapacity) => {
  check(
    parts,
    `
    price   Lawn              invalid  groupOfSeats[0].activeCount NOT_NULL
    price   Lawn:3            ok
    places  Lawn  active 3 locked 0 sold 0 blocked 0
    `,
    { unpriced: true, gaCapacity },
  );
});

tables(HALL)("an area cannot get fewer places than are held, sold and blocked")(`
  lock        A  Pit:2      ok
  directsale  -  Pit:3      ok
  block       -  Pit:1      ok
  price       Pit:5         in_use  Pit:5 INVENTORY_IN_USE
  price       A1 Pit:5 Lawn:1  in_use  Pit:5 INVENTORY_IN_USE
  places      Pit  active 4 locked 2 sold 3 blocked 1
  price       Pit:6         ok
  places      Pit  active 0 locked 2 sold 3 blocked 1
  price       Pit:9         ok
  places      Pit  active 3 locked 2 sold 3 blocked 1
`);

tables(HALL)("an assignment of what is already so is granted and writes no record")(`
  wait    10ms
  price   A1 Stalls Pit     same
`);

test("only the seats and areas that get another price or capacity change", () => {
  const world = new World(HALL);
  world.clock.timeMs += 10;
  const { priceId } = world;
  const other = world.createPrice("Other");
  const idOf = (name: string) => world.labels.idOf(name);
  assign(world, {
    seats: [
      { objectId: idOf("A1"), assignmentId: priceId },
      { objectId: idOf("A2"), assignmentId: other },
    ],
    groupOfSeats: [
      // The last assignment of an area counts: the pit keeps its price and its capacity.
      { objectId: idOf("Pit"), assignmentId: other, activeCount: 4 },
      { objectId: idOf("Pit"), assignmentId: priceId },
      { objectId: idOf("Lawn"), assignmentId: priceId, activeCount: 6 },
    ],
  });
  expect(world.lastRecord).toMatchObject({
    runs: Uint32Array.from([2, world.seat("A2"), 1]),
    areas: Uint32Array.from([world.area("Lawn"), 1, 6]),
  });
  const { changedAtMs, areas } = world.partition;
  expect(changedAtMs[world.seat("A1")]).toBe(world.clock.timeMs - 10);
  expect(changedAtMs[world.seat("A2")]).toBe(world.clock.timeMs);
  expect(areas.changedAtMs[world.area("Pit")]).toBe(world.clock.timeMs - 10);
});

test("a wrong assignment is refused with the fields that are wrong", () => {
  const world = new World(HALL, { unpriced: true });
  const foreign = world.createPrice("Late", world.createEvent());
  const { priceId: assignmentId } = world;
  const objectId = world.labels.idOf("A1");
  const pit = world.labels.idOf("Pit");
  const cases: [AssignmentSelection, string[]][] = [
    [{ seats: [{ assignmentId }] }, ["seats[0].seatId NOT_NULL"]],
    [{ seats: [{ objectId }] }, ["seats[0].assignmentId NOT_NULL"]],
    [{ seats: [{}] }, ["seats[0].seatId NOT_NULL", "seats[0].assignmentId NOT_NULL"]],
    [{ groupOfSeats: [{ assignmentId }] }, ["groupOfSeats[0].objectId NOT_NULL"]],
    [{ seats: [{ objectId, assignmentId: foreign }] }, ["seats[0].assignmentId NOT_FOUND"]],
    [{ seats: [{ objectId, assignmentId: 999 }] }, ["seats[0].assignmentId NOT_FOUND"]],
    [{ seats: [{ objectId: pit, assignmentId }] }, ["seats[0].objectId NOT_FOUND"]],
    [{ groupOfSeats: [{ objectId, assignmentId }] }, ["groupOfSeats[0].objectId NOT_FOUND"]],
  ];
  for (const [body, expected] of cases) {
    const outcome = assign(world, body);
    expect(outcome.refused, JSON.stringify(body)).toBe(Result.VALIDATION_FAILED);
    const errors = "errors" in outcome ? outcome.errors : [];
    expect(errors.map(({ field, code }) => `${field} ${code}`)).toEqual(expected);
  }
  expect(assign(world, { seats: [{ seatId: objectId, assignmentId }] }).refused).toBe(Result.OK);
});

test("an empty assignment is granted and writes no record", () => {
  const world = new World(HALL, { unpriced: true });
  const { length } = world.journal.kept;
  expect(assign(world, { seats: null, groupOfSeats: [] })).toMatchObject({ value: true });
  expect(world.journal.kept.length).toBe(length);
});

test("the record has one run for neighbouring seats with the same price", () => {
  const world = new World(HALL, { unpriced: true });
  world.priceAll();
  // A1 A2 A3 B1 B2 T1 T2 in ascending order of id.
  expect(world.lastRecord).toMatchObject({
    type: RecordType.PRICE,
    runs: Uint32Array.from([1, 0, 7]),
  });
});

test("new prices must name the event of the path, and get the next free slots", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const other = world.createEvent();
  const wrong = [
    { name: "A", eventId },
    { name: "B", eventId: other },
  ];
  expect(world.submit("createPrices", caller, { eventId, body: wrong })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "[1].eventId", rejectedValue: other }],
  });
  const twice = [
    { name: "Full", eventId: eventId.toUpperCase(), externalId: "x-1" },
    { name: "Full", eventId },
  ];
  expect(world.must("createPrices", caller, { eventId, body: twice })).toMatchObject([
    { name: "Full", eventId, slot: 2, externalId: "x-1" },
    { name: "Full", eventId, slot: 3, externalId: null },
  ]);
});

test("revenue beyond 2^53 → the number that is closest to the exact sum", () => {
  const world = new World([section("Stalls", { A: "1 2" }), area("Pit", AREA_CAPACITY_MAX)]);
  const { caller, eventId, labels } = world;
  const amounts = [AMOUNT_MAX, 1, 1];
  const news = amounts.map((amount) => ({ name: "P", eventId, amount, currency: "EUR" }));
  const made = world.must("createPrices", caller, { eventId, body: news });
  const [pit, ...seats] = ["Pit", "A1", "A2"].map((label, i) => ({
    objectId: labels.idOf(label),
    assignmentId: made[i]!.id,
  }));
  world.must("assignPrices", caller, { eventId, body: { seats, groupOfSeats: [pit!] } });
  const revenue = (places: number) => {
    const groupOfSeats = [{ id: pit!.objectId, capacity: places }];
    world.must("directsale", caller, { eventId, body: { groupOfSeats } });
    const { state } = world.engine;
    return summarizeEvent(state, state.catalog.events.get(eventId)!).revenue;
  };
  const sold = seats.map(({ objectId: id }) => ({ id }));
  world.must("directsale", caller, { eventId, body: { seats: sold } });
  expect(revenue(9_007)).toEqual([{ currency: "EUR", sold: 9_007_000_000_000_002 }]);
  // Each of the two alone would be lost in a double.
  expect(revenue(1)).toEqual([{ currency: "EUR", sold: 9_008_000_000_000_002 }]);
  const all = BigInt(AREA_CAPACITY_MAX) * BigInt(AMOUNT_MAX) + 2n;
  expect(revenue(AREA_CAPACITY_MAX - 9_008)).toEqual([{ currency: "EUR", sold: Number(all) }]);
});

test("an event cannot have more prices than a slot can number", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const many = (count: number) => Array.from({ length: count }, () => ({ name: "P", eventId }));
  const create = (count: number) =>
    world.submit("createPrices", caller, { eventId, body: many(count) }).refused;
  expect(create(PRICES_PER_EVENT_MAX)).toBe(Result.VALIDATION_FAILED);
  expect(create(PRICES_PER_EVENT_MAX - 1)).toBe(Result.OK);
  expect(create(1)).toBe(Result.VALIDATION_FAILED);
});

test("missing members of an assignment are reported even for an unknown event", () => {
  const world = new World(HALL);
  const body = { seats: [{ objectId: 1 }] };
  const outcome = world.submit("assignPrices", world.caller, { eventId: NO_EVENT, body });
  expect(outcome.refused).toBe(Result.VALIDATION_FAILED);
});

// Prices: updated and deleted.

const SMALL_HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];

test("an update changes names and external ids, and keeps slots and assignments", () => {
  const world = new World(SMALL_HALL);
  const { caller, eventId, priceId } = world;
  const half = world.createPrice("Half");
  const body = [
    { id: half, name: "Full", eventId, externalId: "x" },
    { id: priceId, name: "Full", eventId: eventId.toUpperCase() },
  ];
  expect(world.must("updatePrices", caller, { eventId, body })).toEqual([
    { id: half, eventId, slot: 2, name: "Full", renamedAtMs: START_MS, externalId: "x" },
    { id: priceId, eventId, slot: 1, name: "Full", renamedAtMs: 0, externalId: null },
  ]);
  expect([...world.partition.price]).toEqual([1, 1]);
  expectConsistent(world);
});

test("an update with one wrong price is refused as a whole, with the fields that are wrong", () => {
  const world = new World(SMALL_HALL);
  const { caller, eventId, priceId } = world;
  const otherEvent = world.createEvent();
  const elsewhere = world.createPrice("Elsewhere", otherEvent);
  const records = world.journal.kept.length;
  const item = (id: number, of = eventId) => ({ id, name: "New", eventId: of });
  const change = (...body: ReturnType<typeof item>[]) =>
    world.submit("updatePrices", caller, { eventId, body });
  expect(change(item(priceId), item(priceId), item(priceId, otherEvent))).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [
      { field: "[2].eventId", code: "MISMATCH" },
      { field: "[1].id", code: "DUPLICATE" },
      { field: "[2].id", code: "DUPLICATE" },
    ],
  });
  expect(change(item(priceId), item(elsewhere))).toMatchObject({
    refused: Result.ENTITY_NOT_FOUND,
    errors: [{ field: "[1].id", code: "NOT_FOUND", rejectedValue: elsewhere }],
  });
  expect(world.journal.kept.length).toBe(records);
});

test("a deleted price is taken from its seats and areas", () => {
  const world = new World(SMALL_HALL);
  const { caller, eventId, priceId } = world;
  const half = world.createPrice("Half");
  const seats = [{ objectId: world.labels.idOf("A2"), assignmentId: half }];
  world.must("assignPrices", caller, { eventId, body: { seats } });
  world.book("directsale", world.selection(null, "A2"));
  world.must("deletePrice", caller, { eventId, priceId });
  expect([...world.partition.state]).toEqual([SeatState.WITHDRAWN, SeatState.SOLD]);
  expect(world.partition.areas.price[0]).toBe(0);
  expect(world.partition.areas.capacity(0)).toBe(0);
  expectConsistent(world);
});

const { OK, INVENTORY_IN_USE } = Result;

const USES: readonly (readonly [BookingKind, string])[] = [
  ["lock", "A1"],
  ["directsale", "A1"],
  ["block", "A1"],
  ["lock", "Pit:1"],
  ["directsale", "Pit:1"],
  ["block", "Pit:1"],
];

test.each(USES)("after %s of %s the deletion of the price is refused", (kind, object) => {
  const world = new World(SMALL_HALL);
  const { caller, eventId, priceId } = world;
  expect(world.book(kind, world.selection("A", object)).refused).toBe(OK);
  const outcome = world.submit("deletePrice", caller, { eventId, priceId });
  const inUse = object === "A1" ? "1 seat and 0 areas" : "0 seats and 1 area";
  const detail = `Held, sold or blocked inventory at this price: ${inUse}.`;
  expect(outcome).toMatchObject({ refused: INVENTORY_IN_USE, detail });
  expectConsistent(world);
});

test("an expired hold does not keep its price from being deleted", () => {
  const world = new World(SMALL_HALL);
  const { caller, eventId, priceId } = world;
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  world.clock.timeMs += 900_000;
  expect(world.submit("deletePrice", caller, { eventId, priceId }).refused).toBe(OK);
});

test("onlyActive and an area that keeps its capacity → it needs no count", () => {
  const world = new World([area("Lawn", null), area("Bar", 9)], {
    unpriced: true,
    gaCapacity: null,
  });
  const { caller, eventId, labels, priceId } = world;
  const half = world.createPrice("Half");
  const item = (label: string, assignmentId: number) => {
    return { objectId: labels.idOf(label), assignmentId };
  };
  const lawn = { ...item("Lawn", priceId), activeCount: 5 };
  world.must("assignPrices", caller, { eventId, body: { groupOfSeats: [lawn] } });
  const groupOfSeats = [item("Lawn", half), item("Bar", half)];
  const assignActive = () =>
    world.submit("assignPrices", caller, { eventId, body: { groupOfSeats, onlyActive: true } });
  expect(assignActive()).toMatchObject({ errors: [{ field: "groupOfSeats[0].activeCount" }] });
  world.book("lock", world.selection("A", "Lawn:1"));
  expect(assignActive().refused).toBe(OK);
  const { areas } = world.partition;
  expect(["Lawn", "Bar"].map((label) => areas.capacity(world.area(label)))).toEqual([5, 9]);
});

test("onlyActive → what is taken keeps its price, an area also its capacity", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 9), area("Bar", 9)], {
    unpriced: ["A5"],
  });
  const { caller, eventId, labels } = world;
  const half = world.createPrice("Half");
  world.book("lock", world.selection("A", "A1"));
  world.book("directsale", world.selection(null, "A2", "Pit:3"));
  world.book("block", world.selection(null, "A3"));
  const assignHalf = (onlyActive: boolean | null, activeCount: number) => {
    const item = (label: string) => ({ objectId: labels.idOf(label), assignmentId: half });
    const seats = [item("A1")];
    const pit = { ...item("Pit"), activeCount };
    const groupOfSeats = [item("Stalls"), pit, { ...item("Bar"), activeCount }];
    return world.submit("assignPrices", caller, {
      eventId,
      body: { seats, groupOfSeats, onlyActive },
    });
  };
  const halves = () => {
    const { partition } = world;
    const slot = partition.price[world.seat("A4")]!;
    const areas = ["Pit", "Bar"].map((label) => world.area(label));
    return [
      [...partition.price].map((price) => price === slot),
      areas.map((of) => [partition.areas.price[of] === slot, partition.areas.capacity(of)]),
    ];
  };
  // Below the places sold of Pit: it is left alone.
  expect(assignHalf(true, 2).refused).toBe(OK);
  const [open, kept] = [true, false];
  expect(halves()).toEqual([
    [kept, kept, kept, open, open],
    [
      [kept, 9],
      [open, 2],
    ],
  ]);
  const { length } = world.journal.kept;
  expect(assignHalf(true, 2).refused).toBe(OK);
  expect(world.journal.kept).toHaveLength(length);
  expect(assignHalf(false, 2).refused).toBe(INVENTORY_IN_USE);
  expect(assignHalf(null, 3).refused).toBe(OK);
  expect(halves()).toEqual([
    [open, open, open, open, open],
    [
      [open, 3],
      [open, 3],
    ],
  ]);
  // The hold has ended: the seat is free again, whatever its state in memory.
  world.clock.timeMs += 900_000;
  const seats = [{ objectId: labels.idOf("A1"), assignmentId: world.priceId }];
  world.must("assignPrices", caller, { eventId, body: { seats, onlyActive: true } });
  expect(halves()[0]).toEqual([false, open, open, open, open]);
  expectConsistent(world);
});

test("a price of another event of the same organization is not found", () => {
  const world = new World(SMALL_HALL);
  const { caller, priceId } = world;
  const eventId = world.createEvent();
  const body = [{ id: priceId, name: "New", eventId }];
  const { ENTITY_NOT_FOUND } = Result;
  expect(world.submit("deletePrice", caller, { eventId, priceId }).refused).toBe(ENTITY_NOT_FOUND);
  expect(world.submit("updatePrices", caller, { eventId, body }).refused).toBe(ENTITY_NOT_FOUND);
});

// Prices taken away: from everything in an event, or from named seats and areas.

const LONG_HALL = [section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 10), area("Lawn", 10)];

const inLongHall = tables(LONG_HALL);

inLongHall("clearing removes the prices of all that is not sold, and ends its holds")(`
  lock        s  A1 Pit:1 Lawn:4  ok
  directsale  -  A2 Pit:2   ok
  block       -  A3 Pit:3   ok
  clear       ok
  seats       A1 WITHDRAWN  A2 SOLD  A3 WITHDRAWN  A4 WITHDRAWN
  places      Lawn  active 0 locked 0 sold 0 blocked 0
  // An area with sold places keeps its price and all its places.
  places      Pit  active 4 locked 1 sold 2 blocked 3
  sale        s  Pit:1      ok
  revertsale  -  A2 Pit:3   ok
  lock        s  Lawn:1     not_available  Lawn NO_PRICE
`);

tables(LONG_HALL, { unpriced: true })("clearing an event without prices writes no record")(`
  clear       same
`);

inLongHall("unassigning takes the prices of the named seats and areas only")(`
  lock        s  A1 Pit:1   ok
  unprice     A4 A4 Lawn    ok
  seats       A1 LOCKED  A2 ACTIVE  A4 WITHDRAWN  A5 ACTIVE
  places      Lawn  active 0 locked 0 sold 0 blocked 0
  places      Pit  active 9 locked 1 sold 0 blocked 0
  unprice     A4            same
`);

inLongHall("unassigning seats and areas that are held, sold or blocked is refused")(`
  lock        s  A1 Pit:1   ok
  directsale  -  A2         ok
  block       -  A3         ok
  unprice     A4 A1 A2 Lawn  in_use  A1 INVENTORY_IN_USE  A2 INVENTORY_IN_USE
  unprice     A3 Pit        in_use  A3 INVENTORY_IN_USE  Pit INVENTORY_IN_USE
  unlock      s  Pit:1      ok
  block       -  Pit:1      ok
  unprice     Pit           in_use  Pit INVENTORY_IN_USE
  unblock     -  Pit:1      ok
  unprice     Pit           ok
  places      Pit  active 0 locked 0 sold 0 blocked 0
`);

test("unassigning objects that are not in the layout is refused", () => {
  const world = new World(LONG_HALL);
  const named = (...labels: readonly string[]) =>
    labels.map((label) => ({ objectId: world.labels.idOf(label) }));
  const body = {
    seats: [{ objectId: 999_999 }, ...named("Pit", "A1")],
    groupOfSeats: named("A5", "Stalls"),
  };
  const fields = ["seats[0]", "seats[1]", "groupOfSeats[0]", "groupOfSeats[1]"];
  const { caller, eventId } = world;
  expect(world.submit("unassignPrices", caller, { eventId, body })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: fields.map((field) => ({ field: `${field}.objectId`, code: "NOT_FOUND" })),
  });
});
