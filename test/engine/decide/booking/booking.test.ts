/** The booking commands: which states they move seats between, and what a refusal names. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { BOOKING_KINDS, World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];

test("a seat is locked once, and a refusal names every seat that is not available", () => {
  check(
    HALL,
    `
    lock    A  A1 A2          ok
    lock    B  A2 A3 A1       not_available  A2 LOCKED  A1 LOCKED
    seats   A1 LOCKED  A2 LOCKED  A3 ACTIVE
    sale    A  A1 A2          ok
    lock    B  A2 A3          not_available  A2 SOLD
    seats   A1 SOLD  A2 SOLD  A3 ACTIVE
    `,
  );
});

test("a session cannot lock a seat that it already holds", () => {
  check(
    HALL,
    `
    lock    A  A1             ok
    lock    A  A1 A2          not_available  A1 LOCKED
    seats   A1 LOCKED  A2 ACTIVE
    `,
  );
});

test("a request is refused as a whole when one seat or area is not available", () => {
  check(
    HALL,
    `
    lock    A  A1             ok
    lock    B  A2 A1 Pit:2    not_available  A1 LOCKED
    lock    B  A2 Pit:11      not_available  Pit:11 INSUFFICIENT_CAPACITY
    lock    B  A1 Pit:11      not_available  A1 LOCKED  Pit:11 INSUFFICIENT_CAPACITY
    seats   A1 LOCKED  A2 ACTIVE
    places  Pit  active 10 locked 0 sold 0 blocked 0
    `,
  );
});

test("a sale of seats that are not LOCKED is refused", () => {
  check(
    HALL,
    `
    lock    A  A2             ok
    directsale  -  A3         ok
    block   -  A4             ok
    sale    -  A1             not_available  A1 ACTIVE
    sale    -  A3             not_available  A3 SOLD
    sale    -  A4             not_available  A4 BLOCKED
    sale    -  A1 A2 A3 A4    not_available  A1 ACTIVE  A3 SOLD  A4 BLOCKED
    sale    -  A2             ok
    `,
  );
});

test("a sale or unlock that names a session is refused for the hold of another session", () => {
  check(
    HALL,
    `
    lock    A  A1             ok
    lock    -  A2             ok
    unlock  B  A1             not_available  A1 HELD_BY_ANOTHER_SESSION
    sale    B  A1 A2          not_available  A1 HELD_BY_ANOTHER_SESSION  A2 HELD_BY_ANOTHER_SESSION
    sale    A  A2             not_available  A2 HELD_BY_ANOTHER_SESSION
    sale    -  A1             ok
    unlock  -  A2             ok
    seats   A1 SOLD  A2 ACTIVE
    `,
  );
});

test("unlocking ACTIVE seats succeeds and writes no record", () => {
  const world = check(
    HALL,
    `
    unlock  A  A1             ok
    lock    A  A2             ok
    unlock  A  A1 A2          ok
    seats   A1 ACTIVE  A2 ACTIVE
    directsale  -  A3         ok
    block   -  A4             ok
    unlock  -  A1 A3 A4       not_available  A3 SOLD  A4 BLOCKED
    `,
  );
  const records = world.journal.kept.length;
  expect(world.book("unlock", world.selection(null, "A1"))).toMatchObject({ value: true });
  expect(world.journal.kept.length).toBe(records);
});

test("an unlock does not touch the time of change of seats that were ACTIVE", () => {
  const world = check(HALL, `lock  A  A2  ok`);
  world.clock.timeMs += 1_000;
  world.book("unlock", world.selection("A", "A1", "A2"));
  expect(world.partition.changedAtMs[world.seat("A2")]).toBe(world.clock.timeMs);
  expect(world.partition.changedAtMs[world.seat("A1")]).toBe(world.clock.timeMs - 1_000);
});

test("a revertsale makes SOLD seats ACTIVE again, with their price", () => {
  const world = check(
    HALL,
    `
    lock        A  A1         ok
    revertsale  -  A1         not_available  A1 LOCKED
    revertsale  -  A2         not_available  A2 ACTIVE
    sale        A  A1         ok
    revertsale  A  A1         ok
    revertsale  -  A1         not_available  A1 ACTIVE
    seats       A1 ACTIVE
    `,
  );
  expect(world.partition.price[world.seat("A1")]).not.toBe(0);
});

test("a direct sale answers false unless everything in the request is ACTIVE", () => {
  check(
    HALL,
    `
    directsale  -  A1 Pit:4   ok
    directsale  -  A1         false
    directsale  -  A2 A1      false
    directsale  -  A2 Pit:7   false
    lock        A  A3         ok
    directsale  A  A3         false
    block       -  A4         ok
    directsale  -  A4         false
    seats       A1 SOLD  A2 ACTIVE  A3 LOCKED  A4 BLOCKED
    places      Pit  active 6 locked 0 sold 4 blocked 0
    `,
  );
});

test("a direct sale of an unknown seat or area is refused, it does not answer false", () => {
  const world = check(HALL, `directsale  -  A1  ok`);
  const seats = [{ id: world.labels.idOf("A1") }, { id: 987_654 }];
  const groupOfSeats = [{ id: 987_655, capacity: 1 }];
  const outcome = world.book("directsale", { seats, groupOfSeats });
  expect(outcome).toMatchObject({ refused: Result.INVENTORY_NOT_AVAILABLE });
  expect("errors" in outcome && outcome.errors).toMatchObject([
    { field: "seats[0].id", code: "SOLD" },
    { field: "seats[1].id", code: "NOT_FOUND", rejectedValue: 987_654 },
    { field: "groupOfSeats[0].id", code: "NOT_FOUND", rejectedValue: 987_655 },
  ]);
});

test("every booking command refuses seats and areas that are not in the layout", () => {
  const world = new World(HALL);
  const body = { seats: [{ id: 987_654 }], groupOfSeats: [{ id: 987_655, capacity: 1 }] };
  for (const kind of BOOKING_KINDS) {
    expect(world.book(kind, body), kind).toMatchObject({
      refused: Result.INVENTORY_NOT_AVAILABLE,
      errors: [
        { field: "seats[0].id", code: "NOT_FOUND", rejectedValue: 987_654 },
        { field: "groupOfSeats[0].id", code: "NOT_FOUND", rejectedValue: 987_655 },
      ],
    });
  }
});

test("a row or an area among the seats, and a section among the areas, is not found", () => {
  const world = new World(HALL);
  const row = world.labels.idOf("row A");
  const stalls = world.labels.idOf("Stalls");
  for (const body of [
    { seats: [{ id: row }] },
    { groupOfSeats: [{ id: stalls, capacity: 1 }] },
    { seats: [{ id: world.labels.idOf("Pit") }] },
  ]) {
    expect(world.book("lock", body)).toMatchObject({ errors: [{ code: "NOT_FOUND" }] });
  }
});

test("a block withdraws ACTIVE seats, and an unblock puts them back on sale", () => {
  check(
    HALL,
    `
    block    -  A1            ok
    block    -  A1            not_available  A1 BLOCKED
    lock     A  A1            not_available  A1 BLOCKED
    unblock  -  A1 A2         ok
    seats    A1 ACTIVE  A2 ACTIVE
    lock     A  A1            ok
    block    -  A1            not_available  A1 LOCKED
    unblock  -  A1            not_available  A1 LOCKED
    sale     A  A1            ok
    unblock  -  A1            not_available  A1 SOLD
    `,
  );
});

test("seats and areas without a price are refused by every command", () => {
  check(
    HALL,
    `
    lock        A  A1         not_available  A1 NO_PRICE
    unlock      A  A1         not_available  A1 NO_PRICE
    sale        A  A1         not_available  A1 NO_PRICE
    revertsale  -  A1         not_available  A1 NO_PRICE
    block       -  A1         not_available  A1 NO_PRICE
    unblock     -  A1         not_available  A1 NO_PRICE
    directsale  -  A1         false
    lock        A  Pit:1      not_available  Pit NO_PRICE
    directsale  -  Pit:1      false
    seats       A1 NULL
    `,
    { unpriced: ["A1", "Pit"] },
  );
});

test("an event that is not published refuses lock, sale and directsale, and nothing else", () => {
  check(
    HALL,
    `
    lock        A  A1 A2      ok
    directsale  -  A3         ok
    block       -  A4         ok
    status      ARCHIVED
    lock        A  A5         not_published
    sale        A  A1         not_published
    directsale  -  A5         not_published
    directsale  -  A1         not_published
    unlock      A  A1         ok
    revertsale  -  A3         ok
    unblock     -  A4         ok
    block       -  A5         ok
    status      DRAFT
    lock        A  A1         not_published
    status      PUBLISHED
    lock        A  A1         ok
    `,
  );
});

test("without sales control, sale and revertsale are refused, and nothing else", () => {
  check(
    HALL,
    `
    lock        A  A1         ok
    set         salesControl off
    sale        A  A1         no_sales_control
    revertsale  -  A1         no_sales_control
    directsale  -  A2         ok
    unlock      A  A1         ok
    lock        A  A1         ok
    set         salesControl on
    sale        A  A1         ok
    `,
  );
});

test("an organization that is disabled for booking is refused every booking command", () => {
  check(
    HALL,
    `
    lock        A  A1         ok
    set         bookingEnabled off
    lock        A  A2         disabled
    unlock      A  A1         disabled
    sale        A  A1         disabled
    revertsale  -  A1         disabled
    directsale  -  A2         disabled
    block       -  A2         disabled
    unblock     -  A2         disabled
    set         bookingEnabled on
    sale        A  A1         ok
    `,
  );
});
