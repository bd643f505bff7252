/** The inventory of one event: the effects of its changes, and the failure of an unfit record. */
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { NONE } from "../../../engine/constants.ts";
import { Areas, ChangeList, initialLinks } from "../../../engine/inventory/partition.ts";
import { Move, MOVES, SeatState } from "../../../engine/inventory/states.ts";
import {
  ActorKind,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../../engine/records.ts";
import { checkPartition, digestPartition } from "../../../engine/verify.ts";
import { Random } from "../../sim/workload/random.ts";
import { START_MS, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { checkIn, checkMore, tables } from "../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];
const LATER_MS = START_MS + 9;
const SYSTEM = { kind: ActorKind.SYSTEM, id: 0 } as const;

const moveOf = (more: Partial<MoveRecord>): MoveRecord => ({
  type: RecordType.MOVE,
  actor: SYSTEM,
  partition: 1,
  move: Move.BLOCK,
  hold: NONE,
  expiresAtMs: 0,
  session: "",
  holdType: "",
  seats: new Uint32Array(),
  areas: new Uint32Array(),
  ...more,
});
const pricesOf = (more: Partial<PriceRecord>): PriceRecord => ({
  type: RecordType.PRICE,
  actor: SYSTEM,
  partition: 1,
  runs: new Uint32Array(),
  areas: new Uint32Array(),
  ...more,
});

test("a move takes a seat from its first state, or a second, to its last, and fails from any other", () => {
  for (const move of Object.values(Move)) {
    const { from, orFrom, to } = MOVES[move];
    for (const state of Object.values(SeatState)) {
      const { partition } = new World(HALL);
      partition.state[0] = state;
      if (state === SeatState.LOCKED) {
        const hold = { fence: 1, session: "A", holdType: "CART", startedAtMs: 1, expiresAtMs: 0 };
        partition.holds.open(0, { ...hold, seats: Uint32Array.of(0) }, 1);
        partition.holdOrFence[0] = 0;
      }
      const hold = to === SeatState.LOCKED ? partition.holds.nextSlot : NONE;
      const record = moveOf({ move, hold, seats: Uint32Array.of(0) });
      if (state !== from && state !== orFrom) {
        expect(() => partition.move(record, LATER_MS, 1_000)).toThrow(
          "a seat is in the state that the move leaves",
        );
        continue;
      }
      partition.move(record, LATER_MS, 1_000);
      expect([partition.state[0], partition.holdOf(0), partition.changedAtMs[0]]).toEqual([
        to,
        hold,
        LATER_MS,
      ]);
      expect(partition.fenceOf(0)).toBe(to === SeatState.ACTIVE ? 0 : 1_000);
      expect(partition.holds.count).toBe(to === SeatState.LOCKED ? 1 : 0);
    }
  }
});

test("a record that does not fit fails before anything has changed", () => {
  const { partition } = new World(HALL);
  const before = digestPartition(partition);
  const wrong = [
    moveOf({ move: Move.SALE, seats: Uint32Array.of(0) }),
    moveOf({ move: Move.BLOCK, seats: Uint32Array.of(0, 7) }),
    moveOf({ move: Move.LOCK, hold: 3, seats: Uint32Array.of(0) }),
    moveOf({ move: Move.LOCK, hold: 0 }),
    moveOf({ move: Move.LOCK, hold: 0, areas: Uint32Array.of(0, 1, 2) }),
    moveOf({ move: Move.BLOCK, areas: Uint32Array.of(0, NONE, 6) }),
  ];
  for (const record of wrong) expect(() => partition.move(record, LATER_MS, 1_000)).toThrow(Broken);
  const long = pricesOf({ runs: Uint32Array.of(1, 2, 2) });
  expect(() => partition.assignPrices(long, LATER_MS)).toThrow(
    "a run of prices is within the layout",
  );
  expect(digestPartition(partition)).toBe(before);
});

test("a capacity below what is taken of an area fails an assertion", () => {
  const world = new World(HALL);
  world.book("block", world.selection(null, "Pit:3"));
  const small = pricesOf({ areas: Uint32Array.of(0, 1, 2) });
  expect(() => world.partition.assignPrices(small, LATER_MS)).toThrow("an area keeps room");
});

test("a price brings a withdrawn seat back on sale", () => {
  const { partition } = new World(HALL, { unpriced: true });
  partition.state[1] = SeatState.WITHDRAWN;
  partition.assignPrices(pricesOf({ runs: Uint32Array.of(2, 0, 2) }), LATER_MS);
  expect([...partition.state]).toEqual([2, 2, 0]);
  expect([...partition.price]).toEqual([2, 2, 0]);
});

test("removing a price ends holds and withdraws every seat that is not SOLD", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 9)]);
  const half = world.createPrice("Half");
  const seats = [{ objectId: world.labels.idOf("A5"), assignmentId: half }];
  world.must("assignPrices", world.caller, { eventId: world.eventId, body: { seats } });
  checkMore(
    world,
    `
    lock        A  A1 Pit:2     ok
    lock        B  A5 Pit:1     ok
    directsale  -  A2 Pit:3     ok
    block       -  A3 Pit:1     ok
    `,
  );
  const { partition } = world;
  const fences = () => Array.from(partition.state, (_, seat) => partition.fenceOf(seat));
  const [, sold, , , locked] = fences();
  partition.removePrice(1, world.clock.timeMs);
  checkPartition(partition);
  const { WITHDRAWN, SOLD, LOCKED } = SeatState;
  expect([...partition.state]).toEqual([WITHDRAWN, SOLD, WITHDRAWN, WITHDRAWN, LOCKED]);
  expect([...partition.price]).toEqual([0, 0, 0, 0, 2]);
  expect(fences()).toEqual([0, sold, 0, 0, locked]);
  expect(partition.areas.capacity(0)).toBe(3);
  expect(partition.holds.count).toBe(1);
  const before = digestPartition(partition);
  const nothing = pricesOf({ areas: Uint32Array.of(0, 0, 4) });
  expect(() => partition.assignPrices(nothing, LATER_MS)).toThrow(
    "an area without a price has nothing",
  );
  expect(digestPartition(partition)).toBe(before);
});

test("removing a price ends the holds of an area in the order in which they began", () => {
  const world = new World(HALL);
  checkMore(
    world,
    `
    lock  A  Pit:1  ok
    lock  B  Pit:2  ok
    `,
  );
  const { partition } = world;
  partition.removePrice(1, world.clock.timeMs);
  // Records name slots, so a replay has to free them in the same order.
  expect(partition.holds.nextSlot).toBe(1);
});

test("a SOLD seat or place without a price cannot be reverted", () => {
  const world = new World(HALL);
  checkMore(world, `directsale  -  A1 Pit:2  ok`);
  world.partition.removePrice(1, world.clock.timeMs);
  const back = world.book("revertsale", world.selection(null, "A1", "Pit:1"));
  expect(back).toMatchObject({ errors: [{ code: "NO_PRICE" }, { code: "NO_PRICE" }] });
});

// General-admission areas: their counters, and the places of each hold.

const PARTS = [area("Pit", 10), area("Lawn", null), section("Stalls", { A: "1 2" })];
const check = checkIn(PARTS, { gaCapacity: 13 });
const inAreas = tables(PARTS, { gaCapacity: 13 });

inAreas("places move between four counters whose sum is the capacity")(`
  lock        A  Pit:6      ok
  places      Pit  active 4 locked 6 sold 0 blocked 0
  sale        A  Pit:4      ok
  directsale  -  Pit:1      ok
  block       -  Pit:2      ok
  places      Pit  active 1 locked 2 sold 5 blocked 2
  revertsale  -  Pit:3      ok
  unblock     -  Pit:1      ok
  unlock      A  Pit:2      ok
  places      Pit  active 7 locked 0 sold 2 blocked 1
`);

inAreas("a command for more places than there are in the state that it leaves is refused")(`
  lock        A  Pit:5      ok
  directsale  -  Pit:2      ok
  block       -  Pit:1      ok
  lock        A  Pit:3      not_available  Pit:3 INSUFFICIENT_CAPACITY
  sale        A  Pit:6      not_available  Pit:6 INSUFFICIENT_CAPACITY
  unlock      A  Pit:6      not_available  Pit:6 INSUFFICIENT_CAPACITY
  revertsale  -  Pit:3      not_available  Pit:3 INSUFFICIENT_CAPACITY
  block       -  Pit:3      not_available  Pit:3 INSUFFICIENT_CAPACITY
  unblock     -  Pit:2      not_available  Pit:2 INSUFFICIENT_CAPACITY
  directsale  -  Pit:3      false
  places      Pit  active 2 locked 5 sold 2 blocked 1
`);

inAreas("unlocking or unblocking free places is refused, but unlocking a free seat is not")(`
  unlock      -  Pit:1      not_available  Pit:1 INSUFFICIENT_CAPACITY
  unblock     -  Pit:1      not_available  Pit:1 INSUFFICIENT_CAPACITY
  unlock      -  A1         ok
`);

inAreas("a session can sell and unlock the places of all its holds, but of no other's")(`
  lock    A  Pit:2          ok
  lock    B  Pit:3          ok
  lock    A  Pit:2          ok
  sale    A  Pit:5          not_available  Pit HELD_BY_ANOTHER_SESSION
  sale    A  Pit:8          not_available  Pit:8 INSUFFICIENT_CAPACITY
  unlock  C  Pit:1          not_available  Pit HELD_BY_ANOTHER_SESSION
  sale    A  Pit:3          ok
  unlock  A  Pit:2          not_available  Pit HELD_BY_ANOTHER_SESSION
  unlock  A  Pit:1          ok
  sale    B  Pit:3          ok
  places  Pit  active 4 locked 0 sold 6 blocked 0
`);

inAreas("an unlock without a session takes places from the oldest hold first")(`
  lock    A  Pit:2          ok
  wait    5m
  lock    B  Pit:3          ok
  unlock  -  Pit:3          ok
  sale    A  Pit:1          not_available  Pit HELD_BY_ANOTHER_SESSION
  sale    B  Pit:2          ok
  wait    20m
  places  Pit  active 8 locked 0 sold 2 blocked 0
`);

inAreas("a sale takes places from the session's oldest hold first")(`
  lock    A  Pit:2          ok
  wait    5m
  lock    A  Pit:2          ok
  sale    A  Pit:3          ok
  wait    10m
  places  Pit  active 6 locked 1 sold 3 blocked 0
  wait    5m
  places  Pit  active 7 locked 0 sold 3 blocked 0
`);

inAreas("each area of a request has its own counters and its own refusal")(`
  lock    A  Pit:3 Lawn:3   ok
  lock  B  Pit:8 Lawn:1  not_available  Pit:8 INSUFFICIENT_CAPACITY  Lawn:1 INSUFFICIENT_CAPACITY
  unlock  A  Lawn:3 Pit:1   ok
  places  Pit  active 8 locked 2 sold 0 blocked 0
  places  Lawn  active 3 locked 0 sold 0 blocked 0
`);

test("an area has the time of its last move or expiry", () => {
  const world = check(`lock  A  Pit:2  ok`);
  const changedAt = () => [...world.partition.areas.changedAtMs];
  const [pit, lawn] = changedAt();
  world.clock.timeMs += 10;
  world.book("sale", world.selection("A", "Pit:1"));
  expect(changedAt()).toEqual([pit! + 10, lawn]);
  world.clock.timeMs += 900_000;
  world.engine.expireAll();
  expect(changedAt()).toEqual([pit! + 900_010, lawn]);
});

test("a counter below zero, an overflow or an unknown area fails an assertion", () => {
  const areas = new Areas(2, 5);
  areas.add(1, SeatState.ACTIVE, 4);
  expect(areas.capacity(1)).toBe(4);
  expect(areas.capacity(0)).toBe(0);
  expect(() => areas.add(1, SeatState.ACTIVE, -5)).toThrow("a counter is never negative");
  expect(() => areas.add(0, SeatState.ACTIVE, 2 ** 31)).toThrow("a counter never overflows");
  expect(() => areas.add(2, SeatState.ACTIVE, 1)).toThrow("an area is in the layout");
});

test("a hold takes LOCKED places once, and gives up no more than those", () => {
  const areas = new Areas(1, 0);
  expect(() => areas.addHeld(0, 3, 0)).toThrow("a hold takes at least one place");
  expect(() => areas.addHeld(0, 3, 2)).toThrow("held places are LOCKED");
  areas.add(0, SeatState.LOCKED, 2);
  areas.addHeld(0, 3, 2);
  expect(() => areas.addHeld(0, 3, 2)).toThrow("takes its places in an area once");
  expect(() => areas.removeHeld(0, 3, 3)).toThrow("no more places than it has");
  areas.removeHeld(0, 3, 1);
  expect(areas.held(0, 3)).toBe(1);
  areas.removeHeld(0, 3, 1);
  expect([...areas.holdsIn(0)]).toEqual([]);
});

// The change list: every seat once, the most recently changed last.

function newestFirst(list: ChangeList): number[] {
  const seats: number[] = [];
  for (let seat = list.newest; seat !== NONE; seat = list.earlierThan(seat)) seats.push(seat);
  return seats;
}

test.each([0, 1, 2, 9])(
  "after any touches the list of %i seats agrees with a plain array",
  (count) => {
    const random = new Random(7);
    const list = new ChangeList(initialLinks(count));
    const plain = Array.from({ length: count }, (_, seat) => seat);
    for (let i = 0; i < 1_000; i++) {
      expect([...list.oldestFirst()]).toEqual(plain);
      expect([list.oldest, list.newest]).toEqual([plain[0] ?? NONE, plain.at(-1) ?? NONE]);
      expect(list.touches).toBe(i);
      if (count === 0) break;
      const seat = random.below(count);
      list.touch(seat);
      plain.push(...plain.splice(plain.indexOf(seat), 1));
    }
    expect(newestFirst(list)).toEqual(plain.toReversed());
    expect(() => list.touch(count)).toThrow("a touched seat is in the change list");
  },
);
