/** Hold types: how long a lock lasts, and the hold types of an organization. */
import { expect, test } from "vitest";
import { findHoldType, holdEndMs } from "../../../../engine/booking.ts";
import { Result } from "../../../../engine/results.ts";
import { START_MS, World } from "../../../support/engine.ts";
import { section } from "../../../support/layout.ts";
import { check, checkMore } from "../../../support/table.ts";

const ROW = [section("Stalls", { A: "1 2 3 4" })];

test("a cart is held for exactly fifteen minutes, a reservation forever", () => {
  check(
    ROW,
    `
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
    `,
  );
});

test("a lock with an unknown hold type is refused; other commands ignore the hold type", () => {
  check(
    ROW,
    `
    lock        A  A1 as NIGHT    invalid  holdType UNKNOWN
    lock        A  A1 as cart     invalid  holdType UNKNOWN
    lock        A  A1             ok
    sale        A  A1 as NIGHT    ok
    revertsale  -  A1 as NIGHT    ok
    directsale  -  A1 as NIGHT    ok
    block       -  A2 as NIGHT    ok
    unblock     -  A2 as NIGHT    ok
    unlock      -  A2 as NIGHT    ok
    `,
  );
});

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
  const organization = world.engine.state.catalog.organizations.get(world.caller.organizationId)!;
  expect(holdEndMs(findHoldType(organization, "OPEN")!, START_MS)).toBe(0);
  expect(holdEndMs(findHoldType(organization, null)!, START_MS)).toBe(START_MS + 900_000);
});

test("a direct sale records the hold type that it is given, even an unknown one", () => {
  const world = new World(ROW);
  world.must("directsale", world.caller, {
    eventId: world.eventId,
    body: { ...world.selection(null, "A1"), holdType: "COMP tickets" },
  });
  expect(world.lastRecord).toMatchObject({ holdType: "COMP tickets", hold: 0xffff_ffff });
});
