/** The booking commands: their transitions, and the objects named by a refusal. */
import { expect, test } from "vitest";
import type { StateSelection } from "../../engine/bodies.ts";
import { checkSelection } from "../../engine/booking.ts";
import type { BookingKind } from "../../engine/commands.ts";
import { CART_TTL_SECONDS } from "../../engine/constants.ts";
import { isRefused, Result } from "../../engine/results.ts";
import { BOOKING_KINDS, replayed, World } from "../support/engine.ts";
import { area, section, table } from "../support/layout.ts";
import { check, checkMore, tables } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];
const inHall = tables(HALL);

inHall("a seat is locked once, and a refusal names every seat that is not available")(`
  lock    A  A1 A2          ok
  lock    B  A2 A3 A1       not_available  A2 LOCKED  A1 LOCKED
  seats   A1 LOCKED  A2 LOCKED  A3 ACTIVE
  sale    A  A1 A2          ok
  lock    B  A2 A3          not_available  A2 SOLD
  seats   A1 SOLD  A2 SOLD  A3 ACTIVE
`);

inHall("a session locks a seat of its own again → refused as its own; without a session as any")(`
  lock    A  A1             ok
  lock    A  A1 A2          not_available  A1 HELD_BY_THIS_SESSION
  lock    -  A3             ok
  lock    -  A3             not_available  A3 LOCKED
  lock    -  A1             not_available  A1 LOCKED
  seats   A1 LOCKED  A2 ACTIVE
`);

inHall("a request is refused as a whole when one seat or area is not available")(`
  lock    A  A1             ok
  lock    B  A2 A1 Pit:2    not_available  A1 LOCKED
  lock    B  A2 Pit:11      not_available  Pit:11 INSUFFICIENT_CAPACITY
  lock    B  A1 Pit:11      not_available  A1 LOCKED  Pit:11 INSUFFICIENT_CAPACITY
  seats   A1 LOCKED  A2 ACTIVE
  places  Pit  active 10 locked 0 sold 0 blocked 0
`);

inHall("a sale of seats that are not LOCKED is refused")(`
  lock    A  A2             ok
  directsale  -  A3         ok
  block   -  A4             ok
  sale    -  A1             not_available  A1 ACTIVE
  sale    -  A3             not_available  A3 SOLD
  sale    -  A4             not_available  A4 BLOCKED
  sale    -  A1 A2 A3 A4    not_available  A1 ACTIVE  A3 SOLD  A4 BLOCKED
  sale    -  A2             ok
`);

inHall("a sale or unlock that names a session is refused for the hold of another session")(`
  lock    A  A1             ok
  lock    -  A2             ok
  unlock  B  A1             not_available  A1 HELD_BY_ANOTHER_SESSION
  sale    B  A1 A2          not_available  A1 HELD_BY_ANOTHER_SESSION  A2 HELD_BY_ANOTHER_SESSION
  sale    A  A2             not_available  A2 HELD_BY_ANOTHER_SESSION
  sale    -  A1             ok
  unlock  -  A2             ok
  seats   A1 SOLD  A2 ACTIVE
`);

inHall("unlocking ACTIVE seats succeeds and writes no record")(`
  unlock  A  A1             same
  lock    A  A2             ok
  unlock  A  A1 A2          ok
  seats   A1 ACTIVE  A2 ACTIVE
  directsale  -  A3         ok
  block   -  A4             ok
  unlock  -  A1 A3 A4       not_available  A3 SOLD  A4 BLOCKED
`);

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

inHall("a direct sale answers false unless everything in the request is ACTIVE")(`
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
`);

inHall("a lock or a direct sale from BLOCKED → one record, ACTIVE and BLOCKED alike")(`
  block   -  A1 A3 Pit:4    ok
  lock    A  A1 A2          not_available  A1 BLOCKED
  lock    A  A1 A2 Pit:5 with fromBlocked  ok
  places  Pit  active 5 locked 5 sold 0 blocked 0
  directsale  -  A1 with fromBlocked  false
  directsale  -  A3 A4 with fromBlocked  ok
  seats   A1 LOCKED  A2 LOCKED  A3 SOLD  A4 SOLD
  block   -  Pit:3          ok
  lock    A  Pit:6 with fromBlocked  not_available  Pit:6 INSUFFICIENT_CAPACITY
  directsale  -  Pit:2 with fromBlocked  ok
  places  Pit  active 2 locked 5 sold 2 blocked 1
  wait    15m
  seats   A1 ACTIVE  A2 ACTIVE
  places  Pit  active 7 locked 0 sold 2 blocked 1
`);

inHall("an unlock or a revertsale to BLOCKED → withdrawn in one record, ACTIVE seats too")(`
  lock    A  A1 Pit:3       ok
  lock    B  A2             ok
  unlock  A  A1 A2 with toBlocked  not_available  A2 HELD_BY_ANOTHER_SESSION
  unlock  A  A1 A3 Pit:2 with toBlocked  ok
  seats   A1 BLOCKED  A2 LOCKED  A3 BLOCKED
  places  Pit  active 7 locked 1 sold 0 blocked 2
  unlock  A  A3 with toBlocked  not_available  A3 BLOCKED
  unlock  A  Pit:2 with toBlocked  not_available  Pit:2 INSUFFICIENT_CAPACITY
  unlock  -  A4 with toBlocked  ok
  directsale  -  A5 Pit:2   ok
  revertsale  -  A4 with toBlocked  not_available  A4 BLOCKED
  revertsale  -  A5 Pit:1 with toBlocked  ok
  seats   A4 BLOCKED  A5 BLOCKED
  places  Pit  active 5 locked 1 sold 1 blocked 3
`);

inHall("fromBlocked and toBlocked on other calls → without effect")(`
  block   -  A1             ok
  sale    -  A1 with fromBlocked  not_available  A1 BLOCKED
  block   -  A1 with fromBlocked  not_available  A1 BLOCKED
  lock    A  A2 with toBlocked  ok
  sale    A  A2 with toBlocked  ok
  unblock  -  A1 with toBlocked  ok
  seats   A1 ACTIVE  A2 SOLD
`);

test("places of several holds are sold or unlocked → the hold that ends first gives them", () => {
  const world = check(
    HALL,
    `
    lock    A  Pit:2 as RESERVED  ok
    lock    A  Pit:2          ok
    wait    5m
    lock    A  Pit:2          ok
    lock    B  Pit:1 as RESERVED  ok
    sale    A  Pit:3          ok
    wait    10m
    places  Pit  active 3 locked 4 sold 3 blocked 0
    sale    -  Pit:1          ok
    wait    5m
    places  Pit  active 3 locked 3 sold 4 blocked 0
    sale    A  Pit:3          not_available  Pit HELD_BY_ANOTHER_SESSION
    `,
  );
  expect(world.partition.holds.count).toBe(2);
});

test("an object has another price than the request expects → PRICE_CHANGED, its state first", () => {
  const world = check(HALL, `block  -  A4  ok`);
  const idOf = (label: string) => world.labels.idOf(label);
  const price = [...world.engine.state.catalog.pricesOf(world.eventId).values()][0]!.id;
  const ask = (kind: BookingKind, labels: string[], prices: Record<string, number>) => {
    const byId = Object.entries(prices).map(([label, id]) => [idOf(label), id]);
    const body = { ...world.selection("A", ...labels), priceIds: Object.fromEntries(byId) };
    const outcome = world.book(kind, body);
    const errors = "errors" in outcome ? outcome.errors : [];
    if (errors.length === 0) return "value" in outcome ? outcome.value : outcome.refused;
    return errors.map((error) => `${error.field} ${error.code} ${String(error.rejectedValue)}`);
  };
  const changed = [`seats[1].id PRICE_CHANGED ${price + 1}`];
  const body = { ...world.selection("A", "A2"), priceIds: { [idOf("A2")]: 999 } };
  const message = `has price ${price} now, not 999: show it to the buyer and ask again`;
  expect(world.book("lock", body)).toMatchObject({ errors: [{ message }] });
  expect(ask("lock", ["A1", "A2"], { A1: price, A2: price + 1 })).toEqual(changed);
  expect(ask("directsale", ["A1", "A2"], { A2: price + 1 })).toEqual(changed);
  expect(ask("lock", ["Pit:2", "A4", "A1"], { Pit: 7, A1: 7, A4: 7 })).toEqual([
    `seats[0].id BLOCKED ${idOf("A4")}`,
    "seats[1].id PRICE_CHANGED 7",
    "groupOfSeats[0].id PRICE_CHANGED 7",
  ]);
  expect(ask("directsale", ["A4", "A1"], { A1: 7 })).toBe(false);
  expect(ask("lock", ["A1", "Pit:2"], { Pit: 7 })).toEqual(["groupOfSeats[0].id PRICE_CHANGED 7"]);
  expect(ask("lock", ["A1", "Pit:2"], { A1: price, Pit: price })).toBe(true);
  expect(ask("sale", ["A1", "Pit:2"], { A1: 7, Pit: price })).toEqual([
    "seats[0].id PRICE_CHANGED 7",
  ]);
  expect(ask("unlock", ["A1"], { A1: 7 })).toBe(true);
  expect(ask("sale", ["Pit:2"], { Pit: price })).toBe(true);
  expect(ask("lock", ["A1"], { A1: price, A2: price })).toEqual([
    `priceIds[${idOf("A2")}] UNKNOWN ${price}`,
  ]);
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

inHall("a block withdraws ACTIVE seats, and an unblock puts them back on sale")(`
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
`);

tables(HALL, { unpriced: ["A1", "Pit"] })(
  "seats and areas without a price are refused by every command",
)(`
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
`);

inHall("an event that is not published refuses lock, sale and directsale, and nothing else")(`
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
`);

inHall("without sales control, sale and revertsale are refused, and nothing else")(`
  lock        A  A1         ok
  set         salesControl off
  sale        A  A1         no_sales_control
  revertsale  -  A1         no_sales_control
  directsale  -  A2         ok
  unlock      A  A1         ok
  lock        A  A1         ok
  set         salesControl on
  sale        A  A1         ok
`);

inHall("an organization that is disabled for booking is refused every booking command")(`
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
`);

// Booking requests refused in any state of the inventory.

const ANY_CALL = { otherFence: null, respectsSession: false };
const errorsOf = (selection: StateSelection) =>
  checkSelection(selection, ANY_CALL).map(({ field, code }) => `${field} ${code}`);

test("every error of a request is reported with its field", () => {
  const seat = (id: number, capacity?: number) => ({ id, capacity });
  const cases: [StateSelection, string[]][] = [
    [{}, ["seats NOT_NULL"]],
    [{ seats: [], groupOfSeats: null }, ["seats NOT_NULL"]],
    [{ seats: [seat(1)] }, []],
    [{ seats: [seat(1), seat(2), seat(1)] }, ["seats[2].id DUPLICATE"]],
    [{ seats: [seat(1, 1)] }, ["seats[0].capacity NULL"]],
    [{ seats: [{ id: 1, capacity: null }] }, []],
    [{ groupOfSeats: [seat(7)] }, ["groupOfSeats[0].capacity NOT_NULL"]],
    [{ groupOfSeats: [{ id: 7, capacity: null }] }, ["groupOfSeats[0].capacity NOT_NULL"]],
    [{ groupOfSeats: [seat(7, 0)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, -1)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, 1.5)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, 2 ** 31)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, 2 ** 31 - 1)] }, []],
    [{ groupOfSeats: [seat(7, 1), seat(7, 2)] }, ["groupOfSeats[1].id DUPLICATE"]],
    [{ seats: [seat(7)], groupOfSeats: [seat(7, 1)] }, []],
    [
      { seats: [seat(1, 1), seat(1)], groupOfSeats: [seat(7, 0)] },
      ["seats[1].id DUPLICATE", "seats[0].capacity NULL", "groupOfSeats[0].capacity RANGE"],
    ],
  ];
  for (const [selection, errors] of cases) {
    expect(errorsOf(selection), JSON.stringify(selection)).toEqual(errors);
  }
});

test("a request without seats and areas is told what to name", () => {
  const [error] = checkSelection({}, ANY_CALL);
  expect(error?.message).toBe("must name a seat, unless groupOfSeats names an area");
});

test("a request with more than a thousand seats and areas is refused", () => {
  const choices = (count: number) => Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const areas = choices(500).map(({ id }) => ({ id, capacity: 1 }));
  expect(errorsOf({ seats: choices(1_000) })).toEqual([]);
  expect(errorsOf({ seats: choices(1_001) })).toEqual(["seats SIZE"]);
  expect(errorsOf({ seats: choices(500), groupOfSeats: areas })).toEqual([]);
  expect(errorsOf({ seats: choices(501), groupOfSeats: areas })).toEqual(["seats SIZE"]);
});

inHall("every booking command refuses an invalid request and changes nothing")(`
  lock        A  A1 A1      invalid  seats[1].id DUPLICATE
  unlock      A  A1 A1      invalid  seats[1].id DUPLICATE
  sale        A  A1 A1      invalid  seats[1].id DUPLICATE
  revertsale  A  A1 A1      invalid  seats[1].id DUPLICATE
  directsale  A  A1 A1      invalid  seats[1].id DUPLICATE
  block       A  A1 A1      invalid  seats[1].id DUPLICATE
  unblock     A  Pit:0      invalid  groupOfSeats[0].capacity RANGE
  lock        A  Pit:1 Pit:1  invalid  groupOfSeats[1].id DUPLICATE
`);

test("an unknown hold type is reported together with the other errors of a lock", () => {
  const world = new World(HALL);
  expect(world.book("lock", { seats: [], holdType: "NIGHT" })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "seats" }, { field: "holdType", rejectedValue: "NIGHT" }],
  });
});

// Limits on the holds of a session, and of all sessions together, in an event. Off by default.

const TWO_ROWS = [section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 3 4 5 6" }), area("Pit", 20)];

const inTwoRows = tables(TWO_ROWS);

inTwoRows("without limits a session may hold everything")(`
  lock    A  A1 A2 A3 A4 A5 A6 B1 B2 Pit:20  ok
`);

inTwoRows("a session holds at most so many seats and places in an event, over all its locks")(`
  set     heldPerSession 4
  lock    A  A1 Pit:2       ok
  lock    A  A2 A3          not_available  A3 HELD_LIMIT
  lock    A  Pit:2          not_available  Pit:2 HELD_LIMIT
  lock    A  A2             ok
  lock    B  A3 A4 A5 A6    ok
  lock    A  B1             not_available  B1 HELD_LIMIT
  unlock  A  Pit:1          ok
  lock    A  B1             ok
  lock    A  B2             not_available  B2 HELD_LIMIT
  sale    A  B1             ok
  lock    A  B2             ok
  wait    15m
  lock    A  A1 A2 A3 A4    ok
`);

inTwoRows("locks without a session count as those of one session")(`
  set     heldPerSession 2
  lock    -  A1 A2          ok
  lock    -  A3             not_available  A3 HELD_LIMIT
`);

inTwoRows("all sessions together hold at most so many in an event")(`
  set     heldPerEvent 3
  lock    A  A1 A2          ok
  lock    B  A3 A4          not_available  A4 HELD_LIMIT
  lock    B  A3             ok
  directsale  -  A4         ok
  block   -  A5             ok
  lock    C  A6             not_available  A6 HELD_LIMIT
  sale    A  A1             ok
  lock    C  A6             ok
`);

test("a refusal names the limit in its way", () => {
  const world = new World(TWO_ROWS, { settings: { heldPerSession: 2, heldPerEvent: 3 } });
  const messageOf = (session: string, ...labels: string[]) => {
    const outcome = world.book("lock", world.selection(session, ...labels));
    return "errors" in outcome ? outcome.errors.map(({ message }) => message).join() : "";
  };
  expect(messageOf("A", "A1", "A2", "A3")).toBe(
    "is more than the 2 that a session may hold in an event",
  );
  expect(messageOf("A", "A1", "A2")).toBe("");
  expect(messageOf("B", "A3", "A4")).toBe("is more than the 3 that may be held in an event");
});

inTwoRows("a limit that is lowered ends no hold; 0 turns it off, and what is left out stays")(`
  set     heldPerSession 4
  set     heldPerEvent 8
  lock    A  A1 A2 A3       ok
  set     heldPerSession 2
  lock    A  A4             not_available  A4 HELD_LIMIT
  sale    A  A1 A2 A3       ok
  lock    A  A4 A5          ok
  set     heldPerSession 0
  lock    A  A6 B1 B2 B3 B4 B5  ok
  lock    B  B6             not_available  B6 HELD_LIMIT
`);

inTwoRows("a seat that is not on sale is named alone, before any limit")(`
  set     heldPerSession 1
  block   -  A1             ok
  lock    A  A1 A2 A3       not_available  A1 BLOCKED
`);

test("the counters of a restored inventory are those of the holds", () => {
  const world = new World(TWO_ROWS, { settings: { heldPerSession: 9 } });
  checkMore(world, `lock  A  A1 A2 Pit:3  ok\nlock  B  A3  ok\nunlock  A  A1 Pit:1  ok`);
  const { holds } = world.partition;
  expect([holds.held, holds.heldBy("A", 9), holds.heldBy("B", 9), holds.heldBy("C", 9)]).toEqual([
    4, 3, 1, 0,
  ]);
  const again = replayed(world.journal).partitionAt(world.event.partition).holds;
  again.heldBy("A", 9);
  expect([again.held, again.heldBy("A", 9), again.heldBy("B", 9)]).toEqual([4, 3, 1]);
  expect([again.heldBy("A", 3), again.heldBy("A", 2)]).toEqual([3, 2]);
});

// Hold types: how long a lock lasts, and the hold types of an organization.

const ROW = [section("Stalls", { A: "1 2 3 4 5 6" })];
const inRow = tables(ROW);

inRow("a cart is held for exactly fifteen minutes, a reservation forever")(`
  lock    A  A1                 ok
  lock    A  A2 as CART         ok
  lock    A  A3 as RESERVED     ok
  wait    14m
  wait    59999ms
  seats   A1 LOCKED  A2 LOCKED  A3 LOCKED
  wait    1ms
  seats   A1 ACTIVE  A2 ACTIVE  A3 LOCKED
  wait    90000h
  seats   A3 LOCKED
`);

inRow("a lock with an unknown hold type is refused; other commands ignore the hold type")(`
  lock        A  A1 as NIGHT    invalid  holdType UNKNOWN
  lock        A  A1 as cart     invalid  holdType UNKNOWN
  lock        A  A1             ok
  sale        A  A1 as NIGHT    ok
  revertsale  -  A1 as NIGHT    ok
  directsale  -  A1 as NIGHT    ok
  block       -  A2 as NIGHT    ok
  unblock     -  A2 as NIGHT    ok
  unlock      -  A2 as NIGHT    ok
`);

test("replacing the hold types replaces all of them, and does not change existing holds", () => {
  const world = new World(ROW);
  const replace = (...body: { name: string; ttlSeconds: number | null }[]) =>
    world.must("replaceHoldTypes", world.caller, { body });
  replace({ name: "SHORT", ttlSeconds: 60 }, { name: "AGENT", ttlSeconds: null });
  checkMore(
    world,
    `
    lock    A  A1 as SHORT        ok
    lock    A  A2 as AGENT        ok
    lock    A  A3 as RESERVED     ok
    `,
  );
  replace({ name: "SHORT", ttlSeconds: 3_600 });
  checkMore(
    world,
    `
    lock    A  A4 as AGENT        invalid  holdType UNKNOWN
    lock    A  A4 as SHORT        ok
    wait    60s
    seats   A1 ACTIVE  A2 LOCKED  A3 LOCKED  A4 LOCKED
    wait    59m
    seats   A1 ACTIVE  A2 LOCKED  A3 LOCKED  A4 ACTIVE
    `,
  );
});

test("a hold type with the name of a built-in one replaces it", () => {
  const world = new World(ROW);
  world.must("replaceHoldTypes", world.caller, { body: [{ name: "CART", ttlSeconds: 5 }] });
  checkMore(
    world,
    `
    lock    A  A1                 ok
    wait    5s
    seats   A1 ACTIVE
    `,
  );
});

test("hold types with the same name twice are refused, and the previous ones stay", () => {
  const world = new World(ROW);
  world.must("replaceHoldTypes", world.caller, { body: [{ name: "SHORT", ttlSeconds: 60 }] });
  const twice = [
    { name: "LONG", ttlSeconds: 1 },
    { name: "LONG", ttlSeconds: 2 },
  ];
  expect(world.submit("replaceHoldTypes", world.caller, { body: twice })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "[1].name", code: "DUPLICATE", rejectedValue: "LONG" }],
  });
  checkMore(world, `lock  A  A1 as SHORT  ok`);
});

test("a hold of a type without a time limit never ends", () => {
  const world = new World(ROW);
  // A caller may leave the member out.
  const body = [{ name: "OPEN" } as unknown as { name: string; ttlSeconds: null }];
  expect(world.must("replaceHoldTypes", world.caller, { body })).toEqual([
    { name: "OPEN", ttlSeconds: null },
  ]);
  checkMore(world, `lock  A  A1 as OPEN  ok\nwait  90000h\nseats  A1 LOCKED`);
});

test("a direct sale records the hold type that it is given, even an unknown one", () => {
  const world = new World(ROW);
  world.must("directsale", world.caller, {
    eventId: world.eventId,
    body: { ...world.selection(null, "A1"), holdType: "COMP tickets" },
  });
  expect(world.lastRecord).toMatchObject({ holdType: "COMP tickets", hold: 0xffff_ffff });
});

// Orphan prevention: no request may leave a single ACTIVE seat without an ACTIVE neighbour.

const ON = { settings: { orphanPrevention: true } };
const withoutOrphans = tables(ROW, ON);

withoutOrphans("a lock that leaves one seat alone at the end of a row is refused")(`
  lock    A  A2             orphan  A2 leaves A1
  lock    A  A5             orphan  A5 leaves A6
  lock    A  A1             ok
  lock    A  A3             orphan  A3 leaves A2
  lock    A  A2 A3          ok
`);

withoutOrphans("a request is judged as a whole: its own seats are never left alone")(`
  lock    A  A1 A3          orphan  A1 leaves A2  A3 leaves A2
  lock    A  A3 A2 A1       ok
  lock    A  A5             orphan  A5 leaves A4  A5 leaves A6
  lock    A  A4 A5 A6       ok
`);

tables(
  [section("Stalls", { A: "1 2 3" })],
  ON,
)("a seat that leaves two seats alone is named once for each")(`
  lock    A  A2             orphan  A2 leaves A1  A2 leaves A3
  lock    A  A1 A2          orphan  A2 leaves A3
  lock    A  A1             ok
`);

withoutOrphans("a seat that is already alone may be taken")(`
  set     orphanPrevention off
  lock    A  A2 A4          ok
  set     orphanPrevention on
  lock    B  A1             ok
  lock    B  A3             ok
  lock    B  A5             orphan  A5 leaves A6
  lock    B  A5 A6          ok
`);

tables(
  [section("Stalls", { A: "1 2 3 4 5 6 7" })],
  ON,
)("a seat next to the neighbour of an existing orphan may be taken")(`
  set     orphanPrevention off
  block   -  A2 A4          ok
  set     orphanPrevention on
  // A3 is already alone; A5 is next to A4, not next to A3.
  lock    A  A5             ok
  lock    B  A3             ok
`);

tables([section("Stalls", { A: "1 2 3 _ 4 5 6" })], ON)("an aisle counts as the end of a row")(`
  lock    A  A5             orphan  A5 leaves A4  A5 leaves A6
  lock    A  A1 A2          orphan  A2 leaves A3
  lock    A  A3             ok
  lock    A  A1 A2          ok
  lock    A  A6             ok
`);

test("without coordinates the seats of a row sit in the order of a sorted list", () => {
  const { seats, ...row } = section("Stalls", { A: "A b C é f" });
  check(
    [{ ...row, seats: seats.map(({ guid, rowGuid, name }) => ({ guid, rowGuid, name })) }],
    `
    lock    A  Ab             orphan  Ab leaves AA
    lock    A  AA             ok
    lock    A  Aé             orphan  Aé leaves Af
    lock    A  Ab AC          ok
    lock    B  Aé Af          ok
    `,
    ON,
  );
});

tables([section("Stalls", { A: "1 2 3", B: "1 2 3", C: "1 2 3", D: "1 2 3" })], {
  ...ON,
  unpriced: ["D1"],
})("a seat whose only neighbour is LOCKED, SOLD, BLOCKED or unpriced counts as alone")(`
  lock        -  A1         ok
  directsale  -  B1         ok
  block       -  C1         ok
  lock        A  A3         orphan  A3 leaves A2
  lock        A  B3         orphan  B3 leaves B2
  lock        A  C3         orphan  C3 leaves C2
  lock        A  D3         orphan  D3 leaves D2
`);

tables(
  [section("Stalls", { A: "1 2", B: "1 2" }), table("T", "1 2 3 4")],
  ON,
)("seats of different rows are not neighbours, and seats of a table never orphans")(`
  lock    A  A1             orphan  A1 leaves A2
  lock    A  A1 A2          ok
  lock    A  T2             ok
  lock    A  T4             ok
`);

withoutOrphans("a sale is judged as if its seats were still ACTIVE")(`
  set     orphanPrevention off
  lock    A  A2 A3          ok
  set     orphanPrevention on
  sale    A  A2             orphan  A2 leaves A1
  sale    A  A3             ok
  set     orphanPrevention off
  lock    B  A1             ok
  set     orphanPrevention on
  sale    A  A2             ok
`);

withoutOrphans("commands other than lock and sale may leave a seat alone")(`
  directsale  -  A2         ok
  revertsale  -  A2         ok
  block       -  A2         ok
  unblock     -  A2         ok
  set         orphanPrevention off
  lock        A  A2         ok
  set         orphanPrevention on
  unlock      A  A2         ok
`);

withoutOrphans("seats that are not available are reported before orphans")(`
  lock    A  A1 A2          ok
  lock    B  A2 A4          not_available  A2 LOCKED
  lock    B  A4             orphan  A4 leaves A3
`);

test("the refusal names the requested seat, and the seat that it would leave alone", () => {
  const world = new World(ROW, ON);
  const id = world.labels.idOf("A2");
  expect(world.book("lock", { seats: [{ id }] })).toMatchObject({
    refused: Result.ORPHAN_SEAT,
    errors: [
      {
        field: "seats[0].id",
        code: "ORPHAN_SEAT",
        rejectedValue: id,
        message: `would leave seat ${world.labels.idOf("A1")} alone`,
      },
    ],
  });
});

// Messages of refusals: object, reason, remedy.

const PLACES = [section("Stalls", { A: "1 2 3 4" }), table("Round", "1 2"), area("Pit", 10)];

test.each([
  ["seats", "Stalls", "is a section: name each of its seats in seats"],
  ["seats", "Round", "is a table: name each of its seats in seats"],
  ["seats", "row A", "is a row: name each of its seats in seats"],
  ["seats", "Pit", "is a general-admission area: name it in groupOfSeats"],
  ["groupOfSeats", "Stalls", "is a section: name each of its seats in seats"],
  ["groupOfSeats", "Round", "is a table: name each of its seats in seats"],
  ["groupOfSeats", "row A", "is a row: name each of its seats in seats"],
  ["groupOfSeats", "A1", "is a seat: name it in seats"],
  ["groupOfSeats", "nothing", expect.stringMatching(/^is not in the layout, which may have/)],
  ["seats", "nothing", expect.stringMatching(/^is not in the layout, which may have/)],
] as const)(
  "%s with %s → refused, says what it is and where it belongs",
  (list, label, message) => {
    const world = new World(PLACES);
    const id = label === "nothing" ? 999_999 : world.labels.idOf(label);
    const choice = list === "seats" ? { id } : { id, capacity: 1 };
    for (const kind of BOOKING_KINDS) {
      const error = { field: `${list}[0].id`, code: "NOT_FOUND", message, rejectedValue: id };
      expect([kind, world.book(kind, { sessionId: "s", [list]: [choice] })]).toMatchObject([
        kind,
        { errors: [error] },
      ]);
    }
  },
);

test("a sale after the hold ran out → refused, and says to lock again", () => {
  const world = new World(PLACES);
  const [A1, Pit] = ["A1", "Pit"].map((label) => world.labels.idOf(label)) as [number, number];
  const cart = { sessionId: "s", seats: [{ id: A1 }], groupOfSeats: [{ id: Pit, capacity: 2 }] };
  expect(isRefused(world.book("lock", cart))).toBe(false);
  world.clock.timeMs += CART_TTL_SECONDS * 1_000;
  expect(world.book("sale", cart)).toMatchObject({
    refused: Result.INVENTORY_NOT_AVAILABLE,
    errors: [
      {
        field: "seats[0].id",
        code: "ACTIVE",
        message: "is on sale, not held: its hold may have run out; to sell it, lock it again",
      },
      {
        field: "groupOfSeats[0].capacity",
        code: "INSUFFICIENT_CAPACITY",
        message: "has fewer held places: a hold may have run out; lock again",
      },
    ],
  });
});

test("any call on seats and places in any state → each refusal has a message", () => {
  const world = new World(PLACES);
  const idOf = (label: string) => world.labels.idOf(label);
  const of = (label: string) => ({ sessionId: "s", seats: [{ id: idOf(label) }] });
  world.book("lock", { ...of("A2"), sessionId: "other" });
  world.book("directsale", of("A3"));
  world.book("block", of("A4"));
  const places = { sessionId: "s", groupOfSeats: [{ id: idOf("Pit"), capacity: 11 }] };
  const { caller, eventId, engine } = world;
  const flags = [{}, { fromBlocked: true, toBlocked: true }];
  const selections = [...["A1", "A2", "A3", "A4"].map(of), places];
  let count = 0;
  for (const kind of BOOKING_KINDS) {
    for (const body of selections.flatMap((one) => flags.map((more) => ({ ...one, ...more })))) {
      const outcome = engine.check({ kind, caller, eventId, body });
      for (const { message } of isRefused(outcome) ? outcome.errors : []) {
        expect(message).toMatch(/^(is|has) /);
        count += 1;
      }
    }
  }
  expect(count).toBeGreaterThan(BOOKING_KINDS.length * 4);
});
