/** Messages shared by many clients. */
import { expect, onTestFinished, test, vi } from "vitest";
import {
  type ChangesMessage,
  SHARED_WEIGHT_MAX,
  SharedMessages,
} from "../../../server/live/message.ts";

const messageOf = (weight = 1) => ({ weight }) as ChangesMessage;

test("a message is found by its event and the record before it, until another replaces it", () => {
  const shared = new SharedMessages();
  const [kept, later] = [messageOf(), messageOf()];
  shared.keep("event", 7, kept);
  expect([shared.after("event", 7), shared.after("event", 7)]).toEqual([kept, kept]);
  expect(shared.after("event", 6)).toBeUndefined();
  expect(shared.after("other", 7)).toBeUndefined();
  shared.keep("event", 7, later);
  expect(shared.after("event", 7)).toBe(later);
});

test("messages are kept up to their memory, and dropped when nobody adds one", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const shared = new SharedMessages();
  const message = messageOf(SHARED_WEIGHT_MAX / 2);
  shared.keep("event", 0, message);
  expect(shared.after("event", 0)).toBe(message);
  for (const sequence of [1, 2, 2]) shared.keep("event", sequence, message);
  expect(shared.count).toBe(2);
  expect(shared.after("event", 0)).toBeUndefined();
  expect(shared.after("event", 1)).toBe(message);
  vi.advanceTimersByTime(10_000);
  expect(shared.count).toBe(0);
});

test("a message that is larger than all that may be kept is kept alone", () => {
  const shared = new SharedMessages();
  const large = messageOf(2 * SHARED_WEIGHT_MAX);
  shared.keep("event", 1, messageOf());
  shared.keep("event", 2, large);
  expect(shared.count).toBe(1);
  expect(shared.after("event", 2)).toBe(large);
});
