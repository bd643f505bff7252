/** The change list: every seat once, the most recently changed last. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { ChangeList, initialLinks } from "../../../engine/inventory/partition.ts";
import { Random } from "../../sim/workload/random.ts";

function newestFirst(list: ChangeList): number[] {
  const seats: number[] = [];
  for (let seat = list.newest; seat !== NONE; seat = list.earlierThan(seat)) seats.push(seat);
  return seats;
}

test("a new change list is in the order of the seats", () => {
  const list = new ChangeList(initialLinks(4));
  expect([...list.oldestFirst()]).toEqual([0, 1, 2, 3]);
  expect(newestFirst(list)).toEqual([3, 2, 1, 0]);
});

test("a touched seat becomes the newest, from either end and from the middle", () => {
  const list = new ChangeList(initialLinks(4));
  list.touch(0);
  list.touch(2);
  list.touch(2);
  expect([...list.oldestFirst()]).toEqual([1, 3, 0, 2]);
  expect(newestFirst(list)).toEqual([2, 0, 3, 1]);
});

test("a change list of one seat works, and one of no seat is empty", () => {
  const one = new ChangeList(initialLinks(1));
  one.touch(0);
  expect([...one.oldestFirst()]).toEqual([0]);
  const none = new ChangeList(initialLinks(0));
  expect(none.newest).toBe(NONE);
  expect([...none.oldestFirst()]).toEqual([]);
  expect(() => none.touch(0)).toThrow("a touched seat is in the change list");
});

test("after any touches the list agrees with a plain array", () => {
  const random = new Random(7);
  const list = new ChangeList(initialLinks(9));
  const plain = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  for (let i = 0; i < 2_000; i++) {
    const seat = random.below(9);
    list.touch(seat);
    plain.push(...plain.splice(plain.indexOf(seat), 1));
    expect([...list.oldestFirst()]).toEqual(plain);
  }
  expect(newestFirst(list)).toEqual(plain.toReversed());
});
