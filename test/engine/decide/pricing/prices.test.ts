/** Prices of an event, assigned to seats, rows, sections, tables and areas. */
import { expect, test } from "vitest";
import { PRICES_PER_EVENT_MAX } from "../../../../engine/constants.ts";
import { RecordType } from "../../../../engine/records.ts";
import { Result } from "../../../../engine/results.ts";
import type { AssignmentSelection } from "../../../../engine/bodies.ts";
import { NO_EVENT, World } from "../../../support/engine.ts";
import { area, section, table } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

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

test("a seat goes on sale when it gets a price", () => {
  check(
    HALL,
    `
    seats   A1 NULL  T1 NULL
    price   A1 T              ok
    seats   A1 ACTIVE  A2 NULL  T1 ACTIVE  T2 ACTIVE
    `,
    { unpriced: true },
  );
});

test("an area gets the given count, its own capacity, or what is left of the total", () => {
  check(
    HALL,
    `
    price   Pit:4 Lawn:0      ok
    places  Pit  active 4 locked 0 sold 0 blocked 0
    places  Lawn  active 0 locked 0 sold 0 blocked 0
    price   Pit Lawn          ok
    places  Pit  active 10 locked 0 sold 0 blocked 0
    places  Lawn  active 7 locked 0 sold 0 blocked 0
    `,
    { unpriced: true },
  );
});

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

test("an area cannot get fewer places than are held, sold and blocked", () => {
  check(
    HALL,
    `
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
    `,
  );
});

test("an assignment of what is already so is granted and writes no record", () => {
  const world = new World(HALL);
  const { length } = world.journal.kept;
  world.clock.timeMs += 10;
  const { priceId: assignmentId } = world;
  const groups = ["Stalls", "Pit"].map((name) => ({ objectId: world.labels.idOf(name) }));
  const groupOfSeats = groups.map((group) => ({ ...group, assignmentId }));
  const seats = [{ objectId: world.labels.idOf("A1"), assignmentId }];
  expect(assign(world, { seats, groupOfSeats })).toMatchObject({ value: true });
  expect(world.journal.kept.length).toBe(length);
});

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
