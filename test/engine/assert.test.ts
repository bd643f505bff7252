/** Assertions, and the codes that the log stores. */
import { expect, test } from "vitest";
import { assert, Broken, unreachable } from "../../engine/assert.ts";
import { Move, SeatState } from "../../engine/inventory/states.ts";
import { ActorKind, RecordType } from "../../engine/records.ts";

test("a failed assertion and an unhandled case throw, each with its text", () => {
  assert(true, "never thrown");
  expect(() => assert(false, "two holds have one seat")).toThrow(
    new Broken("two holds have one seat"),
  );
  expect(() => unreachable("lost" as never)).toThrow("no case for lost");
});

test("the codes that the log stores keep their numbers", () => {
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
