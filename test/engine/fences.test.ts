/** Fences: a call with the fence of a hold, a sale or a block acts on no other one. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../engine/commands.ts";
import { Result } from "../../engine/results.ts";
import { BOOKING_KINDS, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkMore, errorsOf, expectConsistent } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];
const FENCED = ["unlock", "sale", "revertsale", "unblock"] as const;

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
  return [outcome.refused, ...errorsOf(outcome)];
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
  for (const kind of FENCED) {
    expect(book(world, kind, ["A", "A1"], { A1: fence, A2: fence })).toEqual([
      Result.VALIDATION_FAILED,
      `${field} UNKNOWN`,
    ]);
  }
});

test.each(["unlock", "sale"] as const)("%s of a hold by its number → its places alone", (kind) => {
  const world = new World(HALL);
  const first = lock(world, "A", "A1", "Pit:2");
  const second = lock(world, "A", "A2", "Pit:3");
  const ask = (fence: number, objects: [string | null, ...string[]], fences?: object) => {
    const [session, ...labels] = objects;
    const outcome = world.book(kind, { ...world.selection(session, ...labels), fence, ...fences });
    return [outcome.refused, ...errorsOf(outcome)];
  };
  const another = "HELD_BY_ANOTHER_SESSION";
  const short = [REFUSED, "groupOfSeats[0].capacity INSUFFICIENT_CAPACITY"];
  expect(ask(first, ["A", "Pit:3"])).toEqual(short);
  expect(ask(first, [null, "Pit:3"])).toEqual(short);
  expect(ask(first, ["A", "A2"])).toEqual([REFUSED, `seats[0].id ${another}`]);
  expect(ask(second + 1, ["A", "Pit:1"])).toEqual([REFUSED, `groupOfSeats[0].id ${another}`]);
  expect(ask(first, ["B", "Pit:1"])).toEqual([REFUSED, `groupOfSeats[0].id ${another}`]);
  const id = world.labels.idOf("A2");
  expect(ask(first, ["A", "A1", "A2", "Pit:2"], { fences: { [id]: second } })).toEqual([Result.OK]);
  expect(ask(second, [null, "Pit:3"])).toEqual([Result.OK]);
  expect(world.partition.holds.count).toBe(0);
});

test("a call that takes free seats and carries a fence is invalid", () => {
  const world = new World(HALL);
  const others = BOOKING_KINDS.filter((kind) => !(FENCED as readonly string[]).includes(kind));
  expect(others).toEqual(["lock", "directsale", "block"]);
  for (const kind of others) {
    const body = { ...world.selection("A", "A1"), fence: 3, fences: {} };
    expect(world.book(kind, body)).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [
        { field: "fence", code: "NULL", rejectedValue: 3 },
        { field: "fences", code: "NULL", rejectedValue: {} },
      ],
    });
    expect(world.book(kind, { ...body, fence: null, fences: null }).refused).toBe(Result.OK);
    world.book("unlock", world.selection("A", "A1"));
    world.book("revertsale", world.selection("A", "A1"));
  }
});

/** The fence of each seat: A1, A2, A3. */
const fencesOf = ({ partition }: World) => [0, 1, 2].map((seat) => partition.fenceOf(seat));

test.each([
  ["revertsale", ["directsale"]],
  ["revertsale", ["lock", "sale"]],
  ["unblock", ["block"]],
] as const)("%s of a seat taken again by %s → its earlier fence is refused", (kind, takes) => {
  const world = new World(HALL);
  const take = (...labels: string[]): number => {
    for (const each of takes) {
      expect(world.book(each, world.selection("A", ...labels)).refused).toBe(Result.OK);
    }
    return world.engine.sequence;
  };
  const first = take("A1");
  expect(book(world, kind, ["A", "A1"], { A1: first })).toEqual([Result.OK]);
  expect(fencesOf(world)).toEqual([0, 0, 0]);
  const second = take("A1", "A2");
  expect(fencesOf(world)).toEqual([second, second, 0]);
  const stale = [REFUSED, "seats[1].id STALE_FENCE"];
  expect(book(world, kind, ["A", "A2", "A1"], { A1: first, A2: second })).toEqual(stale);
  const ofAll = { ...world.selection("A", "A2", "A1"), fence: first };
  expect(
    world.book(kind, { ...ofAll, fences: { [world.labels.idOf("A2")]: second } }),
  ).toMatchObject({ errors: [{ field: "seats[1].id", code: "STALE_FENCE" }] });
  // A seat in another state keeps its own code.
  const other = kind === "unblock" ? [Result.OK] : [REFUSED, "seats[0].id ACTIVE"];
  expect(book(world, kind, ["A", "A3"], { A3: first })).toEqual(other);
  expect(world.book(kind, { ...ofAll, fence: second }).refused).toBe(Result.OK);
  expectConsistent(world);
});

test("a fence of a revertsale is about its seats, and leaves the places of areas alone", () => {
  const world = new World(HALL);
  world.book("directsale", world.selection(null, "A1", "Pit:2"));
  const { sequence: fence } = world.engine;
  world.book("directsale", world.selection(null, "Pit:3"));
  const body = { ...world.selection(null, "A1", "Pit:5"), fence };
  expect(world.book("revertsale", body).refused).toBe(Result.OK);
});

test("moves out of BLOCKED and into it give the seats the fence of their record", () => {
  const world = new World(HALL);
  const move = (kind: BookingKind, label: string, more = {}) => {
    expect(world.book(kind, { ...world.selection("A", label), ...more }).refused).toBe(Result.OK);
    return world.engine.sequence;
  };
  move("block", "A1");
  const locked = move("lock", "A1", { fromBlocked: true });
  expect(fencesOf(world)).toEqual([locked, 0, 0]);
  const blocked = move("unlock", "A1", { toBlocked: true, fence: locked });
  expect(fencesOf(world)).toEqual([blocked, 0, 0]);
  const sold = move("directsale", "A1", { fromBlocked: true });
  const again = move("revertsale", "A1", { toBlocked: true, fence: sold });
  expect(fencesOf(world)).toEqual([again, 0, 0]);
  expect(book(world, "unblock", [null, "A1"], { A1: blocked })).toEqual([
    REFUSED,
    "seats[0].id STALE_FENCE",
  ]);
  // An unlock of what is free needs no hold, also where it blocks.
  move("unblock", "A1", { fence: again });
  const free = move("unlock", "A1", { toBlocked: true, fence: locked });
  expect(fencesOf(world)).toEqual([free, 0, 0]);
  expectConsistent(world);
});

test("all prices are removed → a sold seat keeps its fence, a blocked one loses it", () => {
  const world = new World(HALL);
  checkMore(world, `directsale  -  A1  ok`);
  const { sequence: sold } = world.engine;
  checkMore(
    world,
    `
    block   -  A2  ok
    clear   ok
  `,
  );
  expect(fencesOf(world)).toEqual([sold, 0, 0]);
});

test("a seat that another layout keeps stays in its hold, sale or block, with its fence", () => {
  const world = new World(HALL);
  checkMore(world, `block  -  A3  ok`);
  const { sequence: blocked } = world.engine;
  lock(world, "A", "A4");
  const fence = lock(world, "A", "A1", "A2");
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const gone = document.seats.find(({ id }) => id === world.labels.idOf("A4"))!;
  world.putLayout({ seats: [{ ...gone, toRemove: true }] }, true);
  expect(book(world, "sale", ["A", "A1"], { A1: fence - 1 })[0]).toBe(REFUSED);
  expect(fencesOf(world)).toEqual([fence, fence, blocked]);
  expect(book(world, "sale", ["A", "A1"], { A1: fence })).toEqual([Result.OK]);
  expectConsistent(world);
});
