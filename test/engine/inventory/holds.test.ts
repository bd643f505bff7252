/** The holds of a partition: their slots, their sizes and how they end. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { ExpiryQueues, type Hold, Holds } from "../../../engine/inventory/holds.ts";
import { Move } from "../../../engine/inventory/states.ts";
import { digest } from "../../../engine/verify.ts";
import { replayed, World } from "../../support/engine.ts";
import { area, guidOf, layoutOf, section } from "../../support/layout.ts";
import { check, checkMore, tables } from "../../support/table.ts";

let fence = 0;
const holdFrom = (startedAtMs: number, expiresAtMs: number): Hold => ({
  fence: ++fence,
  session: "A",
  holdType: "CART",
  startedAtMs,
  expiresAtMs,
  seats: new Uint32Array(),
});

test("a hold ends when it has nothing left, and its slot is reused", () => {
  const holds = new Holds();
  holds.open(0, holdFrom(1, 10), 2);
  holds.open(1, holdFrom(2, 11), 1);
  expect(holds.count).toBe(2);
  expect(holds.release(0, 1)).toBe(false);
  expect(holds.size(0)).toBe(1);
  expect(holds.release(0, 1)).toBe(true);
  expect(holds.count).toBe(1);
  expect(holds.nextSlot).toBe(0);
  expect([...holds.slots()]).toEqual([1]);
  holds.open(0, holdFrom(3, 12), 1);
  expect(holds.nextSlot).toBe(2);
});

test("the slot that was freed last is reused first", () => {
  const holds = new Holds();
  for (const slot of [0, 1, 2]) holds.open(slot, holdFrom(slot, 0), 1);
  for (const slot of [1, 2, 0]) holds.release(slot, 1);
  const taken: number[] = [];
  for (let i = 0; i < 3; i++) {
    taken.push(holds.nextSlot);
    holds.open(holds.nextSlot, holdFrom(5, 0), 1);
  }
  expect(taken).toEqual([0, 2, 1]);
});

test("a hold is due at its expiry until it is released, and one without an expiry never is", () => {
  const holds = new Holds();
  holds.open(0, holdFrom(1, 10), 1);
  holds.open(1, holdFrom(1, 0), 1);
  holds.open(2, holdFrom(2, 11), 1);
  expect(holds.due(9)).toBe(NONE);
  expect(holds.due(10)).toBe(0);
  holds.release(0, 1);
  expect(holds.due(10)).toBe(NONE);
  expect(holds.due(11)).toBe(2);
  holds.release(2, 1);
  expect(holds.due(Number.MAX_SAFE_INTEGER)).toBe(NONE);
});

test("a wrong slot, an empty hold or too large a release breaks a promise", () => {
  const holds = new Holds();
  expect(() => holds.open(1, holdFrom(1, 10), 1)).toThrow("a new hold takes the next slot");
  expect(() => holds.open(0, holdFrom(1, 10), 0)).toThrow("a new hold has a seat or a place");
  const earlier = holdFrom(1, 10);
  holds.open(0, holdFrom(1, 10), 1);
  expect(() => holds.open(1, earlier, 1)).toThrow("fences only grow");
  expect(() => holds.release(0, 2)).toThrow("a hold gives up no more than it has");
  holds.release(0, 1);
  expect(() => holds.get(0)).toThrow("a named hold exists");
});

test("seats that have left a hold are not freed by its expiry", () => {
  const world = check(
    [section("Stalls", { A: "1 2 3" }), area("Pit", 5)],
    `
    lock    A  A1 A2 A3 Pit:2  ok
    wait    14m
    sale    A  A1              ok
    unlock  A  A2              ok
    lock    B  A2              ok
  `,
  );
  expect([...world.partition.seatsOf(0)]).toEqual([world.seat("A3")]);
  expect(world.partition.holds.size(0)).toBe(3);
  checkMore(
    world,
    `
    wait    1m
    seats   A1 SOLD  A2 LOCKED  A3 ACTIVE
    places  Pit  active 5 locked 0 sold 0 blocked 0
    `,
  );
  expect(world.partition.holds.count).toBe(1);
});

// Holds that expire: with the next command at the latest, whether or not a sweep has run.

const HALL = [section("Stalls", { A: "1 2 3 4" }), area("Pit", 10)];
const inHall = tables(HALL);

inHall("the seats of an expired hold can be locked by others, not sold by its session")(`
  lock    A  A1 A2 Pit:4    ok
  wait    15m
  sale    A  A1             not_available  A1 ACTIVE
  sale    A  Pit:1          not_available  Pit:1 INSUFFICIENT_CAPACITY
  lock    B  A1 Pit:10      ok
  sale    A  A1             not_available  A1 HELD_BY_ANOTHER_SESSION
  sale    B  A1 Pit:10      ok
`);

inHall("every booking command finds the seats of an expired hold free")(`
  lock        A  A1         ok
  wait        15m
  unlock      B  A1         ok
  lock        A  A1         ok
  wait        15m
  revertsale  -  A1         not_available  A1 ACTIVE
  lock        A  A1         ok
  wait        15m
  block       -  A1         ok
  unblock     -  A1         ok
  lock        A  A1 Pit:10  ok
  wait        15m
  directsale  -  A1 Pit:10  ok
`);

inHall("seats sold in time stay sold when the rest of their hold expires")(`
  lock    A  A1 A2 Pit:4    ok
  wait    10m
  sale    A  A1 Pit:1       ok
  unlock  A  Pit:2          ok
  places  Pit  active 8 locked 1 sold 1 blocked 0
  wait    5m
  seats   A1 SOLD  A2 ACTIVE
  places  Pit  active 9 locked 0 sold 1 blocked 0
`);

inHall("a seat that is unlocked and locked again expires with its new hold")(`
  lock    A  A1 A2          ok
  wait    10m
  unlock  A  A1             ok
  lock    A  A1             ok
  wait    5m
  seats   A1 LOCKED  A2 ACTIVE
  wait    10m
  seats   A1 ACTIVE
`);

inHall("a clock that steps back neither prolongs nor shortens a hold")(`
  lock    A  A1             ok
  wait    10m
  lock    A  A2             ok
  wait    -8m
  lock    A  A3             ok
  seats   A1 LOCKED  A2 LOCKED  A3 LOCKED
  wait    13m
  seats   A1 ACTIVE  A2 LOCKED  A3 LOCKED
  wait    10m
  seats   A2 ACTIVE  A3 ACTIVE
`);

inHall("an area can shrink by the places of an expired hold")(`
  lock    A  Pit:8          ok
  price   Pit:5             in_use  Pit:5 INVENTORY_IN_USE
  wait    15m
  price   Pit:5             ok
  places  Pit  active 5 locked 0 sold 0 blocked 0
`);

test("a sweep ends the expired holds of every event, each by a record of its own", () => {
  const world = new World(HALL);
  const first = world.book("lock", world.selection("A", "A1", "Pit:2"));
  expect(first).toMatchObject({ value: true });
  const eventId = world.createEvent();
  const priceId = world.createPrice("Late", eventId);
  const seat = { objectId: world.labels.idOf("A1"), assignmentId: priceId };
  world.must("assignPrices", world.caller, { eventId, body: { seats: [seat] } });
  world.clock.timeMs += 1;
  world.must("lock", world.caller, { eventId, body: world.selection("B", "A1") });
  const { length } = world.journal.kept;

  world.clock.timeMs += 900_000 - 1;
  world.engine.expireAll();
  expect(world.journal.kept.length - length).toBe(1);
  expect(world.lastRecord).toMatchObject({ move: Move.EXPIRE, session: "A", holdType: "CART" });
  world.clock.timeMs += 1;
  world.engine.expireAll();
  expect(world.journal.kept.length - length).toBe(2);
  expect(world.lastRecord).toMatchObject({ move: Move.EXPIRE, session: "B" });
  world.engine.expireAll();
  expect(world.journal.kept.length - length).toBe(2);
  expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
});

test("a sweep of a few holds says whether others may be left, and the next one ends them", () => {
  const world = new World(HALL);
  for (const seat of ["A1", "A2", "A3"]) world.book("lock", world.selection(seat, seat));
  world.clock.timeMs += 900_000;
  const { holds } = world.partition;
  expect(world.engine.expireAll(2)).toBe(true);
  expect(holds.count).toBe(1);
  expect(world.engine.expireAll(2)).toBe(false);
  expect(holds.count).toBe(0);
  expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
});

test("a seat whose hold has expired may be removed from the layout before any sweep", () => {
  const world = check(
    HALL,
    `
    lock    A  A4             ok
    wait    15m
  `,
  );
  const { schemaId, caller } = world;
  const gone = { guid: guidOf("A4"), rowGuid: guidOf("row A"), name: "4", toRemove: true };
  const body = { ...layoutOf(), seats: [gone] };
  expect(world.submit("putLayout", caller, { schemaId, body, forceDelete: false })).toMatchObject({
    refused: 0,
  });
});

test("the hold that expires first is due first, in a tie the lower slot", () => {
  const queues = new ExpiryQueues();
  queues.add(5, 0, 100);
  queues.add(2, 0, 50);
  queues.add(7, 50, 100);
  queues.add(1, 60, 160);
  expect(queues.due(49)).toBe(NONE);
  const ended: number[] = [];
  for (let slot = queues.due(1_000); slot !== NONE; slot = queues.due(1_000)) {
    ended.push(slot);
    queues.remove(slot);
  }
  expect(ended).toEqual([2, 5, 7, 1]);
});

test("removing a hold from any place of its queue leaves the others in order", () => {
  for (const [gone, left] of [
    [0, [1, 2]],
    [1, [0, 2]],
    [2, [0, 1]],
  ] as const) {
    const queues = new ExpiryQueues();
    for (const slot of [0, 1, 2]) queues.add(slot, slot, slot + 100);
    queues.remove(gone);
    queues.remove(gone);
    const ended: number[] = [];
    for (let slot = queues.due(500); slot !== NONE; slot = queues.due(500)) {
      ended.push(slot);
      queues.remove(slot);
    }
    expect(ended).toEqual(left);
  }
});

test("an empty queue is reused for another lifetime, and every hold is due in time", () => {
  const queues = new ExpiryQueues();
  const steps: readonly (readonly [slot: number, startedAtMs: number, expiresAtMs: number])[] = [
    [3, 0, 10],
    [0, 1, 101],
    [9, 2, 52],
    [3, 3, 23],
  ];
  for (const [slot, startedAtMs, expiresAtMs] of steps) {
    queues.add(slot, startedAtMs, expiresAtMs);
    if (expiresAtMs === 10) queues.remove(slot);
  }
  expect([22, 23].map((timeMs) => queues.due(timeMs))).toEqual([NONE, 3]);
  queues.remove(3);
  expect([51, 52].map((timeMs) => queues.due(timeMs))).toEqual([NONE, 9]);
  queues.add(4, 60, 62);
  expect([61, 62, 500].map((timeMs) => queues.due(timeMs))).toEqual([9, 9, 9]);
  queues.remove(9);
  expect([61, 62].map((timeMs) => queues.due(timeMs))).toEqual([NONE, 4]);
  queues.remove(4);
  expect([100, 101].map((timeMs) => queues.due(timeMs))).toEqual([NONE, 0]);
  queues.remove(0);
  expect(queues.due(1_000)).toBe(NONE);
});

test("a hold that is queued twice, out of order or without a lifetime breaks a promise", () => {
  const queues = new ExpiryQueues();
  expect(() => queues.add(0, 10, 10)).toThrow("a hold ends after it began");
  queues.add(0, 10, 20);
  expect(() => queues.add(0, 10, 20)).toThrow("a hold is queued once");
  expect(() => queues.add(1, 5, 15)).toThrow("a queue is sorted by expiry");
});
