/** Callbacks that wait for the disk run in order, once, and never too early. */
import { expect, test } from "vitest";
import { DurabilityQueue } from "../../engine/engine.ts";

test("a callback for a sequence number that is on disk runs at once, any other later", () => {
  const queue = new DurabilityQueue(5);
  const called: number[] = [];
  queue.add(5, () => called.push(5));
  queue.add(6, () => called.push(6));
  expect(called).toEqual([5]);
  queue.durable(5);
  expect(called).toEqual([5]);
  queue.durable(6);
  expect(called).toEqual([5, 6]);
});

test("callbacks up to the durable mark run in the order in which they were added", () => {
  const queue = new DurabilityQueue(0);
  const called: string[] = [];
  for (const [sequence, name] of [
    [1, "a"],
    [1, "b"],
    [3, "c"],
    [3, "d"],
    [4, "e"],
  ] as const) {
    queue.add(sequence, () => called.push(name));
  }
  queue.durable(2);
  expect(called.join("")).toBe("ab");
  queue.durable(3);
  expect(called.join("")).toBe("abcd");
  queue.durable(3);
  queue.durable(9);
  expect(called.join("")).toBe("abcde");
});

test("a callback that is added while others run comes after those added before it", () => {
  const queue = new DurabilityQueue(0);
  const called: string[] = [];
  queue.add(1, () => {
    called.push("a");
    queue.add(2, () => called.push("late"));
    queue.add(3, () => called.push("later"));
  });
  queue.add(2, () => called.push("b"));
  queue.durable(2);
  expect(called).toEqual(["a", "b", "late"]);
  queue.durable(3);
  expect(called).toEqual(["a", "b", "late", "later"]);
});

test("a long queue runs every callback once, though it is compacted on the way", () => {
  const queue = new DurabilityQueue(0);
  const called: number[] = [];
  for (let sequence = 1; sequence <= 5_000; sequence++) {
    queue.add(sequence, () => called.push(sequence));
    if (sequence % 7 === 0) queue.durable(sequence - 3);
  }
  queue.durable(5_000);
  expect(called).toEqual(Array.from({ length: 5_000 }, (_, i) => i + 1));
});

test("a durable mark or an entry that goes back breaks a promise", () => {
  const queue = new DurabilityQueue(4);
  queue.add(6, () => {});
  expect(() => queue.add(5, () => {})).toThrow("entries are added in order of sequence number");
  expect(() => queue.durable(3)).toThrow("the durable mark never goes back");
});
