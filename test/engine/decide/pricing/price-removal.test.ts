/** Prices taken away: from everything in an event, or from named seats and areas. */
import { expect, test } from "vitest";
import { SeatState, STATE_NAMES } from "../../../../engine/inventory/states.ts";
import { Result } from "../../../../engine/results.ts";
import type { ObjectSelection } from "../../../../engine/bodies.ts";
import { digest } from "../../../../engine/verify.ts";
import { World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { checkMore, expectConsistent } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 10), area("Lawn", 10)];

/** A1 is held, A2 sold and A3 blocked, and so are places in the pit. */
function busyWorld(): World {
  const world = new World(HALL);
  checkMore(
    world,
    `
    lock        s  A1 Pit:1  ok
    directsale  -  A2 Pit:2  ok
    block       -  A3 Pit:3  ok
    `,
  );
  return world;
}

function states(world: World): string {
  const { state } = world.partition;
  return Array.from(state, (each) => STATE_NAMES[each as SeatState] ?? "-").join(" ");
}

const unassign = (world: World, body: ObjectSelection) =>
  world.submit("unassignPrices", world.caller, { eventId: world.eventId, body });
const named = (world: World, ...labels: readonly string[]) =>
  labels.map((label) => ({ objectId: world.labels.idOf(label) }));

test("clearing removes the prices of all that is not sold, and ends its holds", () => {
  const world = busyWorld();
  checkMore(world, "lock  s  Lawn:4  ok");
  expect(world.must("clearPrices", world.caller, { eventId: world.eventId })).toBe(true);
  expectConsistent(world);
  expect(states(world)).toBe("- SOLD - - -");
  const { areas, price } = world.partition;
  expect([...price]).toEqual([0, 1, 0, 0, 0]);
  expect([areas.capacity(world.area("Lawn")), areas.price[world.area("Lawn")]]).toEqual([0, 0]);
});

test("an area with sold places keeps its price and all its places when prices are cleared", () => {
  const world = busyWorld();
  world.must("clearPrices", world.caller, { eventId: world.eventId });
  checkMore(
    world,
    `
    places      Pit  active 4 locked 1 sold 2 blocked 3
    sale        s    Pit:1  ok
    revertsale  -    A2 Pit:3  ok
    `,
  );
  expect(world.partition.areas.price[world.area("Pit")]).toBe(1);
});

test("clearing an event without prices writes no record", () => {
  const world = new World(HALL, { unpriced: true });
  const { sequence } = world.engine;
  expect(world.must("clearPrices", world.caller, { eventId: world.eventId })).toBe(true);
  expect(world.engine.sequence).toBe(sequence);
});

test("unassigning takes the prices of the named seats and areas only", () => {
  const world = busyWorld();
  const outcome = unassign(world, {
    seats: named(world, "A4", "A4"),
    groupOfSeats: named(world, "Lawn"),
  });
  expect(outcome.refused).toBe(Result.OK);
  expectConsistent(world);
  expect(states(world)).toBe("LOCKED SOLD BLOCKED - ACTIVE");
  expect(world.partition.areas.price[world.area("Lawn")]).toBe(0);
  expect(world.partition.areas.price[world.area("Pit")]).not.toBe(0);
  const { sequence } = world.engine;
  expect(unassign(world, { seats: named(world, "A4") }).refused).toBe(Result.OK);
  expect(world.engine.sequence).toBe(sequence);
});

test("unassigning seats and areas that are held, sold or blocked is refused", () => {
  const world = busyWorld();
  const before = digest(world.engine.state);
  const seats = named(world, "A4", "A1", "A2", "A3");
  const outcome = unassign(world, { seats, groupOfSeats: named(world, "Lawn", "Pit") });
  expect(outcome).toMatchObject({
    refused: Result.INVENTORY_IN_USE,
    errors: [
      { field: "seats[1].objectId" },
      { field: "seats[2].objectId" },
      { field: "seats[3].objectId" },
      { field: "groupOfSeats[1].objectId" },
    ],
  });
  expect(digest(world.engine.state)).toBe(before);
});

test("unassigning an area is refused while one of its places is blocked", () => {
  const world = new World(HALL);
  checkMore(world, "block  -  Pit:1  ok");
  const unassigned = () => unassign(world, { groupOfSeats: named(world, "Pit") });
  const errors = [{ field: "groupOfSeats[0].objectId", rejectedValue: world.labels.idOf("Pit") }];
  expect(unassigned()).toMatchObject({ refused: Result.INVENTORY_IN_USE, errors });
  checkMore(world, "unblock  -  Pit:1  ok");
  expect(unassigned().refused).toBe(Result.OK);
  expectConsistent(world);
  expect(world.partition.areas.capacity(world.area("Pit"))).toBe(0);
});

test("unassigning objects that are not in the layout is refused", () => {
  const world = busyWorld();
  const outcome = unassign(world, {
    seats: [{ objectId: 999_999 }, ...named(world, "Pit", "A1")],
    groupOfSeats: named(world, "A5", "Stalls"),
  });
  expect(outcome).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [
      { field: "seats[0].objectId", code: "NOT_FOUND" },
      { field: "seats[1].objectId", code: "NOT_FOUND" },
      { field: "groupOfSeats[0].objectId", code: "NOT_FOUND" },
      { field: "groupOfSeats[1].objectId", code: "NOT_FOUND" },
    ],
  });
});
