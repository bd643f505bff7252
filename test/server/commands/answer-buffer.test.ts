/** The memory that connections share for their answers. */
import { expect, test } from "vitest";
import { AnswerBuffers, IDLE_BUFFERS_MAX } from "../../../server/commands/answer-buffer.ts";

test("buffers are kept for others up to a bound, and large ones are not", () => {
  const buffers = new AnswerBuffers();
  const large = buffers.take();
  large.reserve(16 * 1_024 + 1);
  buffers.giveBack(large);
  expect(buffers.take()).not.toBe(large);
  const taken = Array.from({ length: IDLE_BUFFERS_MAX + 1 }, () => buffers.take());
  for (const buffer of taken) buffers.giveBack(buffer);
  const again = new Set(taken.map(() => buffers.take()));
  expect(taken.filter((buffer) => again.has(buffer))).toHaveLength(IDLE_BUFFERS_MAX);
});
