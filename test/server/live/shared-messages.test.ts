/** Messages that many clients ask for. */
import { expect, test } from "vitest";
import { ChangesMessage, SHARED_WEIGHT_MAX, SharedMessages } from "../../../server/live/message.ts";

const SEAT = { id: 1, state: null, priceId: 1, expiresAtMs: null } as const;

function message(seats = 1): ChangesMessage {
  const places = { seats: Array.from({ length: seats }, () => SEAT), areas: [] };
  const facts = {
    timeMs: 0,
    call: "lock",
    session: "",
    holdType: "",
    status: null,
    bookable: null,
  };
  return new ChangesMessage([{ sequence: 8, previous: 7, ...facts, ...places }]);
}

test("a message is found by its event and the record before it, again and again", () => {
  const shared = new SharedMessages();
  const kept = message();
  shared.keep("event", 7, kept);
  expect([shared.after("event", 7), shared.after("event", 7)]).toEqual([kept, kept]);
  expect(shared.after("event", 6)).toBeUndefined();
  expect(shared.after("other", 7)).toBeUndefined();
});

test("a message that was found is not found any more once another one has its place", () => {
  const shared = new SharedMessages();
  const later = message();
  shared.keep("event", 7, message());
  shared.after("event", 7);
  shared.keep("event", 7, later);
  expect(shared.after("event", 7)).toBe(later);
});

test("a message that was found is not found any more once there is no room for it", () => {
  const shared = new SharedMessages();
  const large = message(SHARED_WEIGHT_MAX / 200);
  shared.keep("event", 7, message());
  shared.after("event", 7);
  shared.keep("event", 8, large);
  expect(shared.after("event", 7)).toBeUndefined();
  expect(shared.count).toBe(1);
});
