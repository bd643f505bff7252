/** The booking commands: which state each leaves and reaches, and what a refusal names. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];

test("a seat can be held once, and a refusal names every seat that stands in the way", () => {
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

test("the same session cannot lock a seat that it holds already", () => {
  check(
    HALL,
    `
    lock    A  A1             ok
    lock    A  A1 A2          not_available  A1 LOCKED
    seats   A1 LOCKED  A2 ACTIVE
    `,
  );
});

test("a request over seats and areas is all or nothing, in both directions", () => {
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

test("sale takes what is LOCKED and nothing else", () => {
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

test("sale and unlock that name a session act only on its holds; without one on any", () => {
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

test("unlocking what is on sale already succeeds and changes nothing", () => {
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

test("unlock leaves what was ACTIVE untouched, its time of change too", () => {
  const world = check(HALL, `lock  A  A2  ok`);
  world.clock.timeMs += 1_000;
  world.book("unlock", world.selection("A", "A1", "A2"));
  expect(world.partition.changedAtMs[world.seat("A2")]).toBe(world.clock.timeMs);
  expect(world.partition.changedAtMs[world.seat("A1")]).toBe(world.clock.timeMs - 1_000);
});

test("revertsale needs what is SOLD and gives it back with its price", () => {
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

test("a direct sale takes ACTIVE seats whole or answers false", () => {
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

test("a direct sale of a seat or area that the layout lacks is refused, not false", () => {
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

test("every booking command refuses what is not in the layout", () => {
  const world = new World(HALL);
  const body = { seats: [{ id: 987_654 }] };
  for (const kind of ["lock", "unlock", "sale", "revertsale", "block", "unblock"] as const) {
    const fault = { field: "seats[0].id", code: "NOT_FOUND", rejectedValue: 987_654 };
    expect(world.book(kind, body), kind).toMatchObject({
      refused: Result.INVENTORY_NOT_AVAILABLE,
      errors: [fault],
    });
  }
});

test("a row or section named as a seat, and a section named as an area, are not found", () => {
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

test("block withdraws ACTIVE seats and unblock gives them back", () => {
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

test("a seat without a price cannot be moved by anything", () => {
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

test("an event that is not published takes no lock or sale of any kind; the rest goes on", () => {
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

test("without sales control there is no sale and no revertsale, but a direct sale", () => {
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

test("an organization that is disabled for booking gets no booking call through", () => {
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

test("an event of nobody and an event of another organization answer alike", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const body = world.selection(null, "A1");
  const nobodys = { eventId: "00000000-0000-4000-8000-00000000beef", body };
  const anothers = { eventId: world.eventId, body };
  for (const kind of ["lock", "unlock", "sale", "revertsale", "directsale", "block"] as const) {
    const refusal = world.submit(kind, other, anothers);
    expect(refusal.refused, kind).toBe(Result.EVENT_ACCESS_DENIED);
    expect(world.submit(kind, other, nobodys), kind).toEqual(refusal);
  }
});

test("where several refusals apply, the one that comes first in the order answers", () => {
  const world = new World([section("Stalls", { A: "1 2 3" })], {
    settings: { salesControl: false, bookingEnabled: false, orphanPrevention: true },
  });
  const other = world.createOrganization(world.tenant, "Other");
  const { caller, eventId } = world;
  world.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
  const sale = (body = world.selection(null, "A2")) => world.book("sale", body).refused;

  const twice = world.selection(null, "A2", "A2");
  expect(world.submit("sale", other, { eventId, body: twice }).refused).toBe(
    Result.VALIDATION_FAILED,
  );
  expect(world.submit("sale", other, { eventId, body: world.selection(null, "A2") }).refused).toBe(
    Result.EVENT_ACCESS_DENIED,
  );
  expect(sale()).toBe(Result.ORGANIZATION_DISABLED);
  world.change({ bookingEnabled: true });
  expect(sale()).toBe(Result.SALES_CONTROL_REQUIRED);
  world.change({ salesControl: true });
  expect(sale()).toBe(Result.EVENT_NOT_PUBLISHED);
  world.must("changeEventStatus", caller, { eventId, body: { status: "DRAFT" } });
  world.must("changeEventStatus", caller, { eventId, body: { status: "PUBLISHED" } });
  expect(sale()).toBe(Result.INVENTORY_NOT_AVAILABLE);
  world.change({ orphanPrevention: false });
  world.book("lock", world.selection(null, "A1", "A2"));
  world.change({ orphanPrevention: true });
  expect(sale(world.selection(null, "A1"))).toBe(Result.OK);
  expect(sale()).toBe(Result.ORPHAN_SEAT);
});
