/** Prices of an event, and their assignment to seats, rows, sections, tables and areas. */
import { expect, test } from "vitest";
import type { AssignmentSelection } from "../../../../engine/shapes/bodies.ts";
import { PRICES_PER_EVENT_MAX } from "../../../../engine/constants.ts";
import { RecordType } from "../../../../engine/records.ts";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { area, section, table } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

const HALL = [
  section("Stalls", { A: "1 2 3", B: "1 2" }),
  table("T", "1 2"),
  area("Pit", 10),
  area("Lawn", null),
];

/** Labels by name of their price. */
function priceNames(world: World): Record<string, string> {
  const prices = world.engine.state.catalog.pricesOf(world.eventId);
  const { price } = world.partition;
  return Object.fromEntries(
    world.labels.seats.map((label) => [label, prices.get(price[world.seat(label)]!)?.name ?? "-"]),
  );
}

const assign = (world: World, body: AssignmentSelection) =>
  world.submit("assignPrices", world.caller, { eventId: world.eventId, body });

test("a price goes to a section, a row, a table or a seat", () => {
  const world = new World(HALL, { unpriced: true });
  const [full, half] = [world.priceId, world.createPrice("Half")];
  const item = (label: string, assignmentId: number) => ({
    objectId: world.labels.idOf(label),
    assignmentId,
  });
  assign(world, { groupOfSeats: [item("row B", half), item("T", half)] });
  expect(priceNames(world)).toEqual({
    A1: "-",
    A2: "-",
    A3: "-",
    B1: "Half",
    B2: "Half",
    T1: "Half",
    T2: "Half",
  });
  assign(world, { groupOfSeats: [item("Stalls", full)], seats: [item("A2", half)] });
  expect(priceNames(world)).toMatchObject({ A1: "Full", A2: "Half", A3: "Full", B1: "Full" });
});

test("in one request a seat wins over its section, a later group over an earlier", () => {
  const world = new World(HALL, { unpriced: true });
  const [full, half] = [world.priceId, world.createPrice("Half")];
  const item = (label: string, assignmentId: number) => ({
    objectId: world.labels.idOf(label),
    assignmentId,
  });
  const groupOfSeats = [item("row A", half), item("Stalls", full), item("row B", half)];
  assign(world, { groupOfSeats, seats: [item("A1", half)] });
  expect(priceNames(world)).toMatchObject({ A1: "Half", A2: "Full", A3: "Full", B1: "Half" });
});

test("seats that are held, sold or blocked keep their state and take the new price", () => {
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

test("seats without a price go on sale with one", () => {
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

test("an area takes the count, else its own capacity, else the schema's", () => {
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

test("an area without any capacity needs a count", () => {
  check(
    HALL,
    `
    price   Lawn              invalid  groupOfSeats[0].activeCount NOT_NULL
    price   Lawn:3            ok
    places  Lawn  active 3 locked 0 sold 0 blocked 0
    `,
    { unpriced: true, gaCapacity: null },
  );
});

test("an area is never left with fewer places than are held, sold and blocked", () => {
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

test("a price given again counts as a change of the seat", () => {
  const world = new World(HALL);
  world.clock.timeMs += 10;
  assign(world, {
    seats: [{ objectId: world.labels.idOf("A1"), assignmentId: world.priceId }],
    groupOfSeats: [{ objectId: world.labels.idOf("Pit"), assignmentId: world.priceId }],
  });
  const { changedAtMs, areas } = world.partition;
  expect(changedAtMs[world.seat("A1")]).toBe(world.clock.timeMs);
  expect(changedAtMs[world.seat("A2")]).toBe(world.clock.timeMs - 10);
  expect(areas.changedAtMs[world.area("Pit")]).toBe(world.clock.timeMs);
});

test("an assignment that cannot be is refused with the fields that are wrong", () => {
  const world = new World(HALL, { unpriced: true });
  const anothers = world.createPrice("Late", world.createEvent());
  const { priceId: assignmentId } = world;
  const objectId = world.labels.idOf("A1");
  const pit = world.labels.idOf("Pit");
  const cases: [AssignmentSelection, string[]][] = [
    [{ seats: [{ assignmentId }] }, ["seats[0].seatId NOT_NULL"]],
    [{ seats: [{ objectId }] }, ["seats[0].assignmentId NOT_NULL"]],
    [{ seats: [{}] }, ["seats[0].seatId NOT_NULL", "seats[0].assignmentId NOT_NULL"]],
    [{ groupOfSeats: [{ assignmentId }] }, ["groupOfSeats[0].objectId NOT_NULL"]],
    [{ seats: [{ objectId, assignmentId: anothers }] }, ["seats[0].assignmentId NOT_FOUND"]],
    [{ seats: [{ objectId, assignmentId: 999 }] }, ["seats[0].assignmentId NOT_FOUND"]],
    [{ seats: [{ objectId: pit, assignmentId }] }, ["seats[0].objectId NOT_FOUND"]],
    [{ groupOfSeats: [{ objectId, assignmentId }] }, ["groupOfSeats[0].objectId NOT_FOUND"]],
  ];
  for (const [body, faults] of cases) {
    const outcome = assign(world, body);
    expect(outcome.refused, JSON.stringify(body)).toBe(Result.VALIDATION_FAILED);
    const errors = "errors" in outcome ? outcome.errors : [];
    expect(errors.map(({ field, code }) => `${field} ${code}`)).toEqual(faults);
  }
  expect(assign(world, { seats: [{ seatId: objectId, assignmentId }] }).refused).toBe(Result.OK);
});

test("an empty assignment is granted and writes nothing", () => {
  const world = new World(HALL, { unpriced: true });
  const { length } = world.journal.kept;
  expect(assign(world, { seats: null, groupOfSeats: [] })).toMatchObject({ value: true });
  expect(world.journal.kept.length).toBe(length);
});

test("seats of one price side by side are one run in the record", () => {
  const world = new World(HALL, { unpriced: true });
  world.priceAll();
  // A1 A2 A3 B1 B2 T1 T2 in ascending order of id.
  expect(world.lastRecord).toMatchObject({
    type: RecordType.PRICE,
    runs: Uint32Array.from([1, 0, 7]),
  });
});

test("prices belong to the event of the path, names may repeat, slots are given from 1", () => {
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

test("an event has at most as many prices as a slot can number", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const many = (count: number) => Array.from({ length: count }, () => ({ name: "P", eventId }));
  const create = (count: number) =>
    world.submit("createPrices", caller, { eventId, body: many(count) }).refused;
  expect(create(PRICES_PER_EVENT_MAX)).toBe(Result.VALIDATION_FAILED);
  expect(create(PRICES_PER_EVENT_MAX - 1)).toBe(Result.OK);
  expect(create(1)).toBe(Result.VALIDATION_FAILED);
});

test("prices of nobody's event and of another's answer alike, after a bad body", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  for (const eventId of [world.eventId, "00000000-0000-4000-8000-00000000beef"]) {
    const body = [{ name: "P", eventId }];
    expect(world.submit("createPrices", other, { eventId, body }).refused).toBe(
      Result.EVENT_ACCESS_DENIED,
    );
    expect(world.submit("assignPrices", other, { eventId, body: {} }).refused).toBe(
      Result.EVENT_ACCESS_DENIED,
    );
    const incomplete = { seats: [{ objectId: 1 }] };
    expect(world.submit("assignPrices", other, { eventId, body: incomplete }).refused).toBe(
      Result.VALIDATION_FAILED,
    );
  }
});
