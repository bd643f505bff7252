/** `all`: an unlock or a sale of everything that a session holds in the event. */
import { expect, test } from "vitest";
import type { StateSelection } from "../../engine/bodies.ts";
import type { BookingKind } from "../../engine/commands.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { Result } from "../../engine/results.ts";
import { World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkMore, errorsOf, expectConsistent } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10), area("Lawn", 10)];

/** A holds A1, A2, A4, three places of the pit and one of the lawn, in three holds; B holds A3. */
function newWorld(): World {
  const world = new World(HALL);
  checkMore(
    world,
    `
    lock  A  A2 Pit:2       ok
    lock  A  A1 Pit:1       ok
    lock  B  A3 Pit:4       ok
    lock  A  A4 Lawn:1      ok
  `,
  );
  return world;
}

function book(world: World, kind: BookingKind, body: StateSelection): string[] {
  const outcome = world.book(kind, body);
  expectConsistent(world);
  if (outcome.refused === Result.OK) return [String(outcome.value)];
  return errorsOf(outcome);
}

test.each([
  ["unlock", "ACTIVE", "active 6 locked 4 sold 0 blocked 0"],
  ["sale", "SOLD", "active 3 locked 4 sold 3 blocked 0"],
] as const)(
  "%s of all that a session holds → one record, and others keep theirs",
  (kind, state, pit) => {
    const world = newWorld();
    const { sequence } = world.engine;
    expect(book(world, kind, { sessionId: "A", all: true })).toEqual(["true"]);
    expect(world.engine.sequence).toBe(sequence + 1);
    checkMore(
      world,
      `
    seats   A1 ${state}  A2 ${state}  A3 LOCKED  A4 ${state}
    places  Pit  ${pit}
  `,
    );
  },
);

test("a session that holds more seats than a request may name → all of them, in one record", () => {
  const labels = Array.from({ length: 1_001 }, (_, i) => `A${i + 1}`);
  const world = new World([
    section("Stalls", { A: labels.map((label) => label.slice(1)).join(" ") }),
  ]);
  for (const some of [labels.slice(0, 500), labels.slice(500)]) {
    expect(book(world, "lock", world.selection("A", ...some))).toEqual(["true"]);
  }
  const { sequence } = world.engine;
  expect(book(world, "sale", { sessionId: "A", all: true })).toEqual(["true"]);
  expect(world.engine.sequence).toBe(sequence + 1);
  expect(world.partition.seatsIn[SeatState.SOLD]).toBe(1_001);
});

test("a session that holds nothing → an unlock changes nothing, a sale is refused", () => {
  const world = newWorld();
  world.clock.timeMs += 15 * 60_000;
  expect(book(world, "unlock", { sessionId: "A", all: true })).toEqual(["true"]);
  const { sequence } = world.engine;
  expect(book(world, "unlock", { sessionId: "A", all: true })).toEqual(["true"]);
  expect(book(world, "sale", { sessionId: "A", all: true })).toEqual(["sessionId NOT_FOUND"]);
  expect(world.engine.sequence).toBe(sequence);
});

test("all that is unlocked becomes blocked where the request says so", () => {
  const world = newWorld();
  expect(book(world, "unlock", { sessionId: "A", all: true, toBlocked: true })).toEqual(["true"]);
  checkMore(world, `seats  A1 BLOCKED  A2 BLOCKED  A3 LOCKED  A4 BLOCKED  A5 ACTIVE`);
});

test("all without a session, or beside objects and their guards, is invalid", () => {
  const world = newWorld();
  const seats = world.selection(null, "A1").seats!;
  const { id } = seats[0]!;
  for (const kind of ["unlock", "sale"] as const) {
    expect(book(world, kind, { all: true })).toEqual(["sessionId NOT_NULL"]);
    expect(book(world, kind, { all: true, sessionId: "" })).toEqual(["sessionId NOT_NULL"]);
    const beside = { all: true, sessionId: "A", seats, fence: 1, fences: { [id]: 1 } };
    expect(book(world, kind, { ...beside, groupOfSeats: seats })).toEqual([
      "seats NULL",
      "groupOfSeats NULL",
      "fence NULL",
      "groupOfSeats[0].capacity NOT_NULL",
    ]);
    const priceIds = { [id]: 1 };
    expect(book(world, kind, { all: true, sessionId: "A", priceIds })).toEqual([
      `priceIds[${id}] UNKNOWN`,
    ]);
  }
  for (const kind of ["lock", "revertsale", "directsale", "block", "unblock"] as const) {
    expect(book(world, kind, { all: true, sessionId: "A" })).toEqual(["seats NOT_NULL"]);
  }
});
