/** What connections keep for later frames: buffers for answers, and texts of commands as JSON. */
import { expect, test } from "vitest";
import { AnswerBuffers, IDLE_BUFFERS_MAX } from "../../../server/commands/answer-buffer.ts";
import { RecentTexts, TEXTS_MAX } from "../../../server/commands/command.ts";

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

test("of ten thousand texts, as many as there are places are remembered", () => {
  const texts = new RecentTexts();
  const find = (i: number) => texts.find(Buffer.from(`session-${i}`), 0, `session-${i}`.length);
  for (let i = 0; i < 10_000; i++) expect(find(i)).toBe(`session-${i}`);
  expect(texts.count).toBeLessThanOrEqual(TEXTS_MAX);
  expect(texts.count).toBeGreaterThan(TEXTS_MAX / 2);
});
