/** Fences: an unlock or a sale that names the hold of a seat acts on no other hold. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../../engine/commands.ts";
import { Result } from "../../../../engine/results.ts";
import { BOOKING_KINDS, World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";

const HALL = [section("Stalls", { A: "1 2 3 4" }), area("Pit", 10)];

/** Locks the labels. @returns The fence of the lock. */
function lock(world: World, session: string, ...labels: string[]): number {
  expect(world.book("lock", world.selection(session, ...labels)).refused).toBe(Result.OK);
  return world.engine.sequence;
}

/** @param fences - By label of the seat. */
function book(
  world: World,
  kind: BookingKind,
  [session, ...labels]: readonly [string | null, ...string[]],
  fences: Readonly<Record<string, number>>,
) {
  const byId = Object.entries(fences).map(([label, fence]) => [world.labels.idOf(label), fence]);
  const body = { ...world.selection(session, ...labels), fences: Object.fromEntries(byId) };
  const outcome = world.book(kind, body);
  const errors = "errors" in outcome ? outcome.errors : [];
  return [outcome.refused, ...errors.map(({ field, code }) => `${field} ${code}`)];
}

const REFUSED = Result.INVENTORY_NOT_AVAILABLE;

test.each(["unlock", "sale"] as const)("%s with the fences of the holds is granted", (kind) => {
  const world = new World(HALL);
  const first = lock(world, "A", "A1", "Pit:2");
  const second = lock(world, "A", "A2");
  expect(second).toBeGreaterThan(first);
  const fences = { A2: second, A1: first };
  expect(book(world, kind, ["A", "A2", "A1", "Pit:2"], fences)).toEqual([Result.OK]);
});

test.each(["unlock", "sale"] as const)(
  "%s with the fence of an earlier hold is refused, even for the same session",
  (kind) => {
    const world = new World(HALL);
    const first = lock(world, "A", "A1");
    world.book("unlock", world.selection("A", "A1"));
    const second = lock(world, "A", "A2", "A1");
    for (const session of ["A", null]) {
      expect(book(world, kind, [session, "A2", "A1"], { A1: first, A2: second })).toEqual([
        REFUSED,
        "seats[1].id HELD_BY_ANOTHER_SESSION",
      ]);
    }
    expect(book(world, kind, ["A", "A2", "A1"], { A1: second })).toEqual([Result.OK]);
  },
);

test("a sale with the fence of a hold that ran out is refused; an unlock is granted", () => {
  const world = new World(HALL);
  const fence = lock(world, "A", "A1");
  world.clock.timeMs += 15 * 60_000;
  expect(book(world, "sale", ["A", "A1"], { A1: fence })).toEqual([REFUSED, "seats[0].id ACTIVE"]);
  const { sequence } = world.engine;
  expect(book(world, "unlock", ["A", "A1"], { A1: fence })).toEqual([Result.OK]);
  expect(world.engine.sequence).toBe(sequence);
});

test("a fence does not stand for the session", () => {
  const world = new World(HALL);
  const fence = lock(world, "A", "A1");
  expect(book(world, "unlock", ["B", "A1"], { A1: fence })).toEqual([
    REFUSED,
    "seats[0].id HELD_BY_ANOTHER_SESSION",
  ]);
});

test("a fence of a seat that the request does not name is invalid", () => {
  const world = new World(HALL);
  const fence = lock(world, "A", "A1", "A2");
  const field = `fences[${world.labels.idOf("A2")}]`;
  for (const kind of BOOKING_KINDS) {
    expect(book(world, kind, ["A", "A1"], { A1: fence, A2: fence })).toEqual([
      Result.VALIDATION_FAILED,
      `${field} UNKNOWN`,
    ]);
  }
});

test("other calls do not look at fences", () => {
  const world = new World(HALL);
  for (const kind of ["lock", "block", "directsale"] as const) {
    const label = { lock: "A1", block: "A2", directsale: "A3" }[kind];
    expect(book(world, kind, [null, label], { [label]: 1 })).toEqual([Result.OK]);
  }
});

test("a seat that another layout keeps stays in its hold, with its fence", () => {
  const world = new World(HALL);
  lock(world, "A", "A4");
  const fence = lock(world, "A", "A1", "A2");
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const gone = document.seats.find(({ id }) => id === world.labels.idOf("A4"))!;
  world.putLayout({ seats: [{ ...gone, toRemove: true }] }, true);
  expect(book(world, "sale", ["A", "A1"], { A1: fence - 1 })[0]).toBe(REFUSED);
  expect(book(world, "sale", ["A", "A1"], { A1: fence })).toEqual([Result.OK]);
});
