/** General-admission areas: their counters, and the places that each hold has. */
import { expect, test } from "vitest";
import { Areas } from "../../../engine/inventory/partition.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { area, section } from "../../support/layout.ts";
import { checkIn } from "../../support/table.ts";

const PARTS = [area("Pit", 10), area("Lawn", null), section("Stalls", { A: "1 2" })];
const check = checkIn(PARTS, { gaCapacity: 13 });

test("places move between four counters whose sum is the capacity", () => {
  check(`
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
});

test("a command for more places than there are in the state that it leaves is refused", () => {
  check(`
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
});

test("unlocking or unblocking free places is refused, but unlocking a free seat is not", () => {
  check(`
    unlock      -  Pit:1      not_available  Pit:1 INSUFFICIENT_CAPACITY
    unblock     -  Pit:1      not_available  Pit:1 INSUFFICIENT_CAPACITY
    unlock      -  A1         ok
  `);
});

test("a session can sell and unlock the places of all its holds, but of no other's", () => {
  check(`
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
});

test("an unlock without a session takes places from the oldest hold first", () => {
  check(`
    lock    A  Pit:2          ok
    wait    5m
    lock    B  Pit:3          ok
    unlock  -  Pit:3          ok
    sale    A  Pit:1          not_available  Pit HELD_BY_ANOTHER_SESSION
    sale    B  Pit:2          ok
    wait    20m
    places  Pit  active 8 locked 0 sold 2 blocked 0
  `);
});

test("a sale takes places from the session's oldest hold first", () => {
  check(`
    lock    A  Pit:2          ok
    wait    5m
    lock    A  Pit:2          ok
    sale    A  Pit:3          ok
    wait    10m
    places  Pit  active 6 locked 1 sold 3 blocked 0
    wait    5m
    places  Pit  active 7 locked 0 sold 3 blocked 0
  `);
});

test("each area of a request has its own counters and its own refusal", () => {
  check(`
    lock    A  Pit:3 Lawn:3   ok
    lock  B  Pit:8 Lawn:1  not_available  Pit:8 INSUFFICIENT_CAPACITY  Lawn:1 INSUFFICIENT_CAPACITY
    unlock  A  Lawn:3 Pit:1   ok
    places  Pit  active 8 locked 2 sold 0 blocked 0
    places  Lawn  active 3 locked 0 sold 0 blocked 0
  `);
});

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

test("a counter below zero, an overflow or an unknown area breaks a promise", () => {
  const areas = new Areas(2, 5);
  areas.add(1, SeatState.ACTIVE, 4);
  expect(areas.capacity(1)).toBe(4);
  expect(areas.capacity(0)).toBe(0);
  expect(() => areas.add(1, SeatState.ACTIVE, -5)).toThrow("a counter is never negative");
  expect(() => areas.add(0, SeatState.ACTIVE, 2 ** 31)).toThrow("a counter never overflows");
  expect(() => areas.add(2, SeatState.ACTIVE, 1)).toThrow("an area is in the layout");
});

test("a hold takes LOCKED places once, gives up no more than those, and is then forgotten", () => {
  const areas = new Areas(1, 0);
  expect(() => areas.addHeld(0, 3, "A", 0)).toThrow("a hold takes at least one place");
  expect(() => areas.addHeld(0, 3, "A", 2)).toThrow("held places are LOCKED");
  areas.add(0, SeatState.LOCKED, 2);
  areas.addHeld(0, 3, "A", 2);
  expect(() => areas.addHeld(0, 3, "A", 2)).toThrow("takes its places in an area once");
  expect(() => areas.removeHeld(0, 3, 3)).toThrow("no more places than it has");
  areas.removeHeld(0, 3, 1);
  expect(areas.held(0, 3)).toBe(1);
  areas.removeHeld(0, 3, 1);
  expect([...areas.holdsIn(0)]).toEqual([]);
  expect([...areas.slotsOf("A")]).toEqual([3]);
  areas.forgetHold(3, "A");
  areas.forgetHold(3, "A");
  expect([...areas.slotsOf("A")]).toEqual([]);
});
