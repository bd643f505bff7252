/** The holds of a partition: their slots, their sizes and how they end. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { ExpiryQueues, type Hold, Holds } from "../../../engine/inventory/holds.ts";
import { Move } from "../../../engine/inventory/states.ts";
import { digest } from "../../../engine/verify.ts";
import { Random } from "../../sim/workload/random.ts";
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

test("a hold ends when it has nothing left, and the slot that was freed last is reused first", () => {
  const holds = new Holds();
  for (const slot of [0, 1, 2]) holds.open(slot, holdFrom(slot, 0), 2);
  expect(holds.release(1, 1)).toBe(false);
  expect([holds.count, holds.size(1)]).toEqual([3, 1]);
  expect(holds.release(1, 1)).toBe(true);
  for (const slot of [2, 0]) holds.release(slot, 2);
  expect([holds.count, holds.slots()]).toEqual([0, []]);
  const taken: number[] = [];
  for (let i = 0; i < 4; i++) {
    taken.push(holds.nextSlot);
    holds.open(holds.nextSlot, holdFrom(5, 0), 1);
  }
  expect(taken).toEqual([0, 2, 1, 3]);
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

test("holds asked for by session or number → found, whenever the first question is", () => {
  const random = new Random(11);
  for (const asksAt of [0, 500, 2_000]) {
    const holds = new Holds();
    /** By slot: session, fence. */
    const live = new Map<number, readonly [string, number]>();
    for (let step = 0; step < 6_000; step++) {
      if (live.size === 0 || random.below(live.size < 40 ? 3 : 2) > 0) {
        const [slot, session] = [holds.nextSlot, `S${random.below(9)}`];
        const hold = { ...holdFrom(step, 0), session };
        holds.open(slot, hold, 2);
        live.set(slot, [session, hold.fence]);
      } else {
        const slots = [...live.keys()];
        const slot = slots[random.below(slots.length)]!;
        const [, number] = live.get(slot)!;
        holds.release(slot, 2);
        live.delete(slot);
        expect(holds.slotOf(number)).toBe(NONE);
      }
      if (step < asksAt || step % 50 !== 0) continue;
      for (let i = 0; i < 9; i++) {
        const own = [...live].filter(([, [session]]) => session === `S${i}`);
        const slots = own.map(([slot]) => slot).sort((a, b) => a - b);
        expect(holds.slotsOf(`S${i}`).sort((a, b) => a - b)).toEqual(slots);
        expect(holds.heldBy(`S${i}`, 10_000)).toBe(2 * slots.length);
      }
      const byFence = [...live].sort(([, [, a]], [, [, b]]) => a - b);
      for (const [slot, [, number]] of byFence) expect(holds.slotOf(number)).toBe(slot);
      expect(holds.slots()).toEqual(byFence.map(([slot]) => slot));
    }
  }
});

test("fences passed by another cell → later ones continue them, across a copy", () => {
  const holds = new Holds();
  holds.passFences(500);
  expect([holds.nextFence(7), holds.nextFence(600)]).toEqual([500, 600]);
  holds.passFences(400);
  const again = new Holds();
  again.restore(holds.copy());
  expect(again.nextFence(7)).toBe(500);
});

test("a wrong slot, an empty hold or too large a release fails an assertion", () => {
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

// Expiry of holds: with the next command at the latest, with or without a sweep.

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

test("the first expired hold is due, in a tie the lower slot, whatever came and went before", () => {
  const random = new Random(5);
  const queues = new ExpiryQueues();
  const ends = new Map<number, number>();
  for (let timeMs = 1; timeMs < 6_000; timeMs++) {
    const slot = random.below(40);
    const endMs = ends.get(slot);
    if (endMs !== undefined && random.once(2)) {
      const laterMs = Math.max(endMs, timeMs) + random.below(90);
      queues.postpone(slot, laterMs);
      ends.set(slot, laterMs);
    } else if (ends.has(slot) || random.once(3)) {
      queues.remove(slot);
      ends.delete(slot);
    } else {
      const lifetimeMs = random.pick([10, 10, 25, 60, 1 + random.below(80)]);
      queues.add(slot, timeMs, timeMs + lifetimeMs);
      ends.set(slot, timeMs + lifetimeMs);
    }
    const [first = NONE] = [...ends.keys()].sort((a, b) => ends.get(a)! - ends.get(b)! || a - b);
    expect(queues.due(timeMs)).toBe((ends.get(first) ?? Infinity) <= timeMs ? first : NONE);
  }
});

test("a hold that is queued twice, out of order or without a lifetime fails an assertion", () => {
  const queues = new ExpiryQueues();
  expect(() => queues.add(0, 10, 10)).toThrow("a hold ends after it began");
  queues.add(0, 10, 20);
  expect(() => queues.add(0, 10, 20)).toThrow("a hold is queued once");
  expect(() => queues.add(1, 5, 15)).toThrow("a queue is sorted by expiry");
});
