/** The holds of a partition: their slots, their sizes and how they end. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { type Hold, Holds } from "../../../engine/inventory/holds.ts";
import { area, section } from "../../support/layout.ts";
import { check, checkMore } from "../../support/table.ts";

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
