/** The inventory of one event: what its changes do, and that a record that does not fit fails. */
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { NONE } from "../../../engine/constants.ts";
import { Move, MOVES, SeatState } from "../../../engine/inventory/states.ts";
import {
  ActorKind,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../../engine/records.ts";
import { checkPartition, digestPartition } from "../../../engine/verify.ts";
import { START_MS, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { checkMore } from "../../support/table.ts";

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

test("a move takes a seat from its first state to its second, and fails from any other", () => {
  for (const move of Object.values(Move)) {
    const { from, to } = MOVES[move];
    for (const state of Object.values(SeatState)) {
      const { partition } = new World(HALL);
      partition.state[0] = state;
      if (state === SeatState.LOCKED) {
        const hold = { fence: 1, session: "A", holdType: "CART", startedAtMs: 1, expiresAtMs: 0 };
        partition.holds.open(0, { ...hold, seats: Uint32Array.of(0) }, 1);
        partition.hold[0] = 0;
      }
      const hold = to === SeatState.LOCKED ? partition.holds.nextSlot : NONE;
      const record = moveOf({ move, hold, seats: Uint32Array.of(0) });
      if (state !== from) {
        expect(() => partition.move(record, LATER_MS, 1_000)).toThrow(
          "a seat is in the state that the move leaves",
        );
        continue;
      }
      partition.move(record, LATER_MS, 1_000);
      expect([partition.state[0], partition.hold[0], partition.changedAtMs[0]]).toEqual([
        to,
        hold,
        LATER_MS,
      ]);
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

test("a capacity below what is taken of an area breaks a promise", () => {
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
  partition.removePrice(1, world.clock.timeMs);
  checkPartition(partition);
  const { WITHDRAWN, SOLD, LOCKED } = SeatState;
  expect([...partition.state]).toEqual([WITHDRAWN, SOLD, WITHDRAWN, WITHDRAWN, LOCKED]);
  expect([...partition.price]).toEqual([0, 0, 0, 0, 2]);
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
