/** The texts that the reader of JSON commands remembers. */
import { expect, test } from "vitest";
import { RecentTexts, TEXTS_MAX } from "../../../server/commands/recent-texts.ts";

test("of ten thousand texts, as many as there are places are remembered", () => {
  const texts = new RecentTexts();
  const find = (i: number) => texts.find(Buffer.from(`session-${i}`), 0, `session-${i}`.length);
  for (let i = 0; i < 10_000; i++) expect(find(i)).toBe(`session-${i}`);
  expect(texts.count).toBeLessThanOrEqual(TEXTS_MAX);
  expect(texts.count).toBeGreaterThan(TEXTS_MAX / 2);
});
