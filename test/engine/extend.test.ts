/** Extension: holds end later, never earlier and never beyond the cap of their type. */
import { expect, test } from "vitest";
import type { Extension } from "../../engine/bodies.ts";
import { isRefused, Result } from "../../engine/results.ts";
import { World } from "../support/engine.ts";
import { area, guidOf, section } from "../support/layout.ts";
import { checkMore, errorsOf, expectConsistent } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];
const SECOND = 1_000;

/** SHORT: a minute, with extensions three. CART has none. */
function newWorld(): World {
  const world = new World(HALL);
  replaceTypes(world, { name: "SHORT", ttlSeconds: 60, maxSeconds: 180 });
  return world;
}

function replaceTypes(
  world: World,
  ...body: { name: string; ttlSeconds?: number; maxSeconds?: number }[]
) {
  world.must("replaceHoldTypes", world.caller, { body });
}

/** @returns The number of the hold. */
function lock(world: World, session: string | null, labels: string[], holdType = "SHORT"): number {
  const body = { ...world.selection(session, ...labels), holdType };
  expect(world.book("lock", body).refused).toBe(Result.OK);
  return world.engine.sequence;
}

function extend(world: World, body: Extension) {
  const { caller, eventId } = world;
  const outcome = world.submit("extend", caller, { eventId, body });
  expectConsistent(world);
  return outcome;
}

/** The seconds from now until each hold ends, the oldest first; null for no end. */
function left({ partition, clock }: World): (number | null)[] {
  const { holds } = partition;
  return holds.slots().map((slot) => {
    const { expiresAtMs } = holds.get(slot);
    return expiresAtMs === 0 ? null : (expiresAtMs - clock.timeMs) / SECOND;
  });
}

/** The refusal as `field CODE`. */
function refusalOf(world: World, body: Extension): string[] {
  const { sequence } = world.engine;
  const outcome = extend(world, body);
  if (!isRefused(outcome)) throw new Error("it was granted");
  expect(world.engine.sequence).toBe(sequence);
  const { VALIDATION_FAILED, INVENTORY_NOT_AVAILABLE } = Result;
  const namesErrors = [VALIDATION_FAILED, INVENTORY_NOT_AVAILABLE].includes(
    outcome.refused as never,
  );
  return namesErrors ? errorsOf(outcome) : [String(outcome.refused)];
}

const seats = (world: World, ...labels: string[]) =>
  labels.map((label) => ({ id: world.labels.idOf(label) }));

test("a hold named by one of its seats → all its seats and places end later, up to the cap", () => {
  const world = newWorld();
  const fence = lock(world, "A", ["A2", "A1", "Pit:2"]);
  world.clock.timeMs += 30 * SECOND;
  const outcome = extend(world, { seats: seats(world, "A1"), seconds: 100 });
  expect(left(world)).toEqual([100]);
  const endMs = world.clock.timeMs + 100 * SECOND;
  const seat = { state: 3, expiresAtMs: endMs, fence };
  expect(outcome).toMatchObject({
    value: { seats: [seat, seat], areas: [{ locked: 2, hold: null }], untilMs: endMs },
  });
  const ids = isRefused(outcome) ? [] : outcome.value.seats.map(({ id }) => id);
  expect(ids).toEqual(seats(world, "A1", "A2").map(({ id }) => id));
  // The cap counts from the lock: 180 s, of which 30 are over.
  extend(world, { fence, seconds: 86_400 });
  expect(left(world)).toEqual([150]);
  const { changedAtMs } = world.partition;
  expect([changedAtMs[0], changedAtMs[1]]).toEqual([world.clock.timeMs, world.clock.timeMs]);
  expect(world.partition.fenceOf(0)).toBe(fence);
});

test("an extension that gains nothing → granted, without a record, and says the ends as they are", () => {
  const world = newWorld();
  const fence = lock(world, "A", ["A1"]);
  const cart = lock(world, "A", ["A2"], "CART");
  const house = lock(world, "A", ["A3"], "RESERVED");
  const { sequence } = world.engine;
  const untilMs = world.clock.timeMs + 60 * SECOND;
  expect(extend(world, { fence, seconds: 60 })).toMatchObject({ value: { untilMs } });
  expect(extend(world, { fence: cart, seconds: 86_400 })).toMatchObject({ refused: Result.OK });
  expect(extend(world, { fence: house, seconds: 1 })).toMatchObject({ value: { untilMs: null } });
  expect(extend(world, { sessionId: "A", seconds: 1 })).toMatchObject({ value: { untilMs } });
  expect(left(world)).toEqual([60, 900, null]);
  expect(world.engine.sequence).toBe(sequence);
});

test("a session's holds are extended together, in one record, and those of others are not", () => {
  const world = newWorld();
  lock(world, "A", ["A1"]);
  lock(world, "B", ["A2"]);
  world.clock.timeMs += 10 * SECOND;
  lock(world, "A", ["A3", "Pit:1"]);
  const { sequence } = world.engine;
  extend(world, { sessionId: "A", seconds: 90 });
  expect(left(world)).toEqual([90, 50, 90]);
  expect(world.engine.sequence).toBe(sequence + 1);
  expect(refusalOf(world, { sessionId: "C", seconds: 9 })).toEqual(["sessionId NOT_FOUND"]);
});

test("the definition of the hold type now decides; a type that is gone extends nothing", () => {
  const world = newWorld();
  const fence = lock(world, "A", ["A1"]);
  replaceTypes(world, { name: "SHORT", ttlSeconds: 10, maxSeconds: 600 });
  extend(world, { fence, seconds: 400 });
  expect(left(world)).toEqual([400]);
  replaceTypes(world, { name: "SHORT", ttlSeconds: 10 });
  extend(world, { fence, seconds: 500 });
  replaceTypes(world);
  extend(world, { fence, seconds: 500 });
  expect(left(world)).toEqual([400]);
});

test.each([
  ["grew", { name: "SHORT", ttlSeconds: 100 }, 95],
  ["shrank", { name: "SHORT", ttlSeconds: 10 }, 55],
  ["became endless", { name: "SHORT" }, 400],
])("a type without maxSeconds whose ttlSeconds %s → caps at its ttlSeconds now", (_, type, end) => {
  const world = newWorld();
  const fence = lock(world, "A", ["A1"]);
  replaceTypes(world, type);
  world.clock.timeMs += 5 * SECOND;
  extend(world, { fence, seconds: 400 });
  expect(left(world)).toEqual([end]);
});

test.each([
  ["a millisecond before its end", -1, true],
  ["at its end", 0, false],
  ["a millisecond after its end", 1, false],
])(
  "a hold %s → alive for lock, sale, unlock and extend alike, or over for each",
  (_, ms, isAlive) => {
    for (const isExtended of [false, true]) {
      const at = (call: (world: World) => unknown) => {
        const world = newWorld();
        const fence = lock(world, "A", ["A1", "Pit:1"]);
        if (isExtended) extend(world, { fence, seconds: 90 });
        world.clock.timeMs += (isExtended ? 90 : 60) * SECOND + ms;
        const result = call(world);
        expectConsistent(world);
        return result;
      };
      const refused = Result.INVENTORY_NOT_AVAILABLE;
      const book = (kind: "lock" | "sale", session: string) =>
        at((world) => world.book(kind, world.selection(session, "A1")).refused);
      expect(book("lock", "B")).toBe(isAlive ? refused : Result.OK);
      expect(book("sale", "A")).toBe(isAlive ? Result.OK : refused);
      const later = (body: (world: World) => Extension) =>
        at((world) => {
          const outcome = extend(world, body(world));
          return isRefused(outcome) ? errorsOf(outcome) : left(world);
        });
      expect(later(() => ({ sessionId: "A", seconds: 10 }))).toEqual(
        isAlive ? [10] : ["sessionId NOT_FOUND"],
      );
      expect(later((world) => ({ seats: seats(world, "A1"), seconds: 10 }))).toEqual(
        isAlive ? [10] : ["seats[0].id ACTIVE"],
      );
      expect(at((world) => (world.engine.expireAll(), world.partition.holds.count))).toBe(
        isAlive ? 1 : 0,
      );
    }
  },
);

test("extended holds and others end in order of their ends", () => {
  const world = newWorld();
  const first = lock(world, "A", ["A1"]);
  lock(world, "B", ["A2"]);
  const third = lock(world, "C", ["A3"]);
  lock(world, "D", ["A4"], "RESERVED");
  extend(world, { fence: first, seconds: 90 });
  extend(world, { fence: third, seconds: 75 });
  extend(world, { fence: first, seconds: 80 });
  world.clock.timeMs += 200 * SECOND;
  world.engine.expireAll();
  const ended = world.journal.kept
    .slice(-3)
    .map(({ record }) => ("session" in record ? record.session : ""));
  expect(ended).toEqual(["B", "C", "A"]);
  expectConsistent(world);
});

test("an extended hold on another layout → its end and its cap, from its own lock, stay", () => {
  const world = newWorld();
  const fence = lock(world, "A", ["A1", "A2", "Pit:2"]);
  world.clock.timeMs += 30 * SECOND;
  extend(world, { fence, seconds: 100 });
  world.clock.timeMs += 10 * SECOND;
  const second = { guid: guidOf("A2"), rowGuid: guidOf("row A"), name: "2" };
  world.putLayout({ seats: [{ ...second, toRemove: true }] }, true);
  expectConsistent(world);
  expect(left(world)).toEqual([90]);
  expect([...world.partition.seatsOf(0)]).toEqual([0]);
  // Of 180 seconds 40 are over; a second extension counts from the same lock.
  for (const seconds of [120, 86_400, 86_400]) extend(world, { fence, seconds });
  expect(left(world)).toEqual([140]);
  world.clock.timeMs += 140 * SECOND - 1;
  expect(refusalOf(world, { fence: fence + 1, seconds: 1 })).toEqual(["fence NOT_FOUND"]);
  expect(left(world)).toEqual([0.001]);
  world.clock.timeMs += 1;
  world.engine.expireAll();
  expect(refusalOf(world, { fence, seconds: 1 })).toEqual(["fence NOT_FOUND"]);
});

test("wrong members and holds that are not there are refused, and nothing changes", () => {
  const world = newWorld();
  const fence = lock(world, "A", ["A1", "A2"]);
  const other = lock(world, "B", ["A3"]);
  checkMore(world, `directsale  -  A4  ok`);
  const seconds = 90;
  const of = (...labels: string[]) => seats(world, ...labels);
  const [a1, a3] = of("A1", "A3");
  const cases: [Extension, string[]][] = [
    [{ seconds }, ["seats NOT_NULL"]],
    [{ seconds, seats: [], sessionId: "" }, ["seats NOT_NULL"]],
    [{ seconds, fence, groupOfSeats: [] }, ["groupOfSeats NULL"]],
    [{ seconds, seats: of("A1", "A1") }, ["seats[1].id DUPLICATE"]],
    [{ seconds, seats: [{ ...a1!, capacity: 1 }] }, ["seats[0].capacity NULL"]],
    [{ seconds, fence, fences: { [a1!.id]: fence } }, [`fences[${a1!.id}] UNKNOWN`]],
    [{ seconds, seats: of("A1", "A4", "A5") }, ["seats[1].id SOLD", "seats[2].id ACTIVE"]],
    [{ seconds, seats: [{ id: 999_999 }] }, ["seats[0].id NOT_FOUND"]],
    [{ seconds, sessionId: "A", seats: of("A1", "A3") }, ["seats[1].id HELD_BY_ANOTHER_SESSION"]],
    [{ seconds, fence, seats: of("A1", "A3") }, ["seats[1].id HELD_BY_ANOTHER_SESSION"]],
    [{ seconds, fence: other + 9 }, ["fence NOT_FOUND"]],
    [{ seconds, fence: other, sessionId: "A" }, ["fence NOT_FOUND"]],
  ];
  for (const [body, errors] of cases) {
    expect(refusalOf(world, body), JSON.stringify(body)).toEqual(errors);
  }
  expect(left(world)).toEqual([60, 60]);
  const guarded = { fence, fences: { [a3!.id]: other }, seats: of("A1", "A3"), seconds };
  extend(world, guarded);
  expect(left(world)).toEqual([90, 90]);
  checkMore(world, `status  ARCHIVED`);
  expect(refusalOf(world, { fence, seconds })).toEqual([String(Result.EVENT_NOT_PUBLISHED)]);
  world.change({ bookingEnabled: false });
  expect(refusalOf(world, { fence, seconds })).toEqual([String(Result.ORGANIZATION_DISABLED)]);
});

test("a longest lifetime below the lifetime, or of a hold without an end, is refused", () => {
  const world = new World(HALL);
  const body = [
    { name: "A", ttlSeconds: 60, maxSeconds: 59 },
    { name: "B", ttlSeconds: null, maxSeconds: 60 },
    { name: "C", ttlSeconds: 60, maxSeconds: 60 },
  ];
  expect(world.submit("replaceHoldTypes", world.caller, { body })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [
      { field: "[0].maxSeconds", code: "RANGE", rejectedValue: 59 },
      { field: "[1].maxSeconds", code: "NULL", rejectedValue: 60 },
    ],
  });
});
