/** The records of one event in memory. */
import { expect, test } from "vitest";
import { EventChain } from "../../../persistence/history/recent-changes.ts";

const BLOCK = 4;
const RECORDS = 40;

test("blocks end at the same records, wherever they begin and whatever was forgotten", () => {
  const chain = new EventChain(1, 0);
  for (let sequence = 3; sequence <= 3 * RECORDS; sequence += 3) chain.add(sequence);
  const ends = () => {
    const found = new Set<number | undefined>();
    for (let since = chain.before; since < 3 * RECORDS; since++) {
      const block = chain.inBlock(since, Infinity, BLOCK);
      expect(block[0]).toBe(3 * Math.floor(since / 3) + 3);
      expect(block.length).toBeLessThanOrEqual(BLOCK);
      found.add(block.at(-1));
    }
    return [...found];
  };
  expect(ends()).toEqual([12, 24, 36, 48, 60, 72, 84, 96, 108, 120]);
  chain.trim(31);
  expect(ends()).toEqual([36, 48, 60, 72, 84, 96, 108, 120]);
  chain.trim(64);
  expect(ends()).toEqual([72, 84, 96, 108, 120]);
});

test("a block ends before the records that are not wanted yet", () => {
  const chain = new EventChain(1, 0);
  for (let sequence = 1; sequence <= RECORDS; sequence++) chain.add(sequence);
  expect(chain.inBlock(1, 3, BLOCK)).toEqual([2, 3]);
  expect(chain.inBlock(3, 3, BLOCK)).toEqual([]);
});
