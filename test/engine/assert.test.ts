/** Assertions, limits and the tables of states: small, and in the log for ever. */
import { expect, test } from "vitest";
import { assert, Broken, unreachable } from "../../engine/assert.ts";
import { Move, MOVES, SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import { ActorKind, RecordType } from "../../engine/records.ts";

test("a broken promise is thrown with its text", () => {
  assert(true, "never told");
  expect(() => assert(false, "two holds have one seat")).toThrow(
    new Broken("two holds have one seat"),
  );
  expect(() => unreachable("lost" as never)).toThrow("no case for lost");
});

test("codes that are in the log are never renumbered", () => {
  expect(SeatState).toEqual({
    UNPRICED: 0,
    WITHDRAWN: 1,
    ACTIVE: 2,
    LOCKED: 3,
    SOLD: 4,
    BLOCKED: 5,
  });
  expect(Move).toEqual({
    LOCK: 1,
    UNLOCK: 2,
    SALE: 3,
    REVERT_SALE: 4,
    DIRECT_SALE: 5,
    BLOCK: 6,
    UNBLOCK: 7,
    EXPIRE: 8,
  });
  expect(RecordType).toMatchObject({ CATALOG: 1, MOVE: 2, PRICE: 3 });
  expect(ActorKind).toEqual({ SYSTEM: 0, ORGANIZATION: 1, TENANT: 2, ACCOUNT: 3 });
});

test("every move goes between two states that have a public name", () => {
  for (const { name, from, to } of Object.values(MOVES)) {
    expect(STATE_NAMES[from], name).not.toBeNull();
    expect(STATE_NAMES[to], name).not.toBeNull();
    expect(from).not.toBe(to);
  }
});
