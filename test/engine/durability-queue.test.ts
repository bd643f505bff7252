/** Those who wait for the disk are called in order, once, and never too early. */
import { expect, test } from "vitest";
import { DurabilityQueue } from "../../engine/durability-queue.ts";

test("what is on disk already is called back at once", () => {
  const waiting = new DurabilityQueue(5);
  const called: number[] = [];
  waiting.add(5, () => called.push(5));
  waiting.add(6, () => called.push(6));
  expect(called).toEqual([5]);
  waiting.durable(5);
  expect(called).toEqual([5]);
  waiting.durable(6);
  expect(called).toEqual([5, 6]);
});

test("callbacks run in the order in which they were given, up to the durable mark", () => {
  const waiting = new DurabilityQueue(0);
  const called: string[] = [];
  for (const [sequence, name] of [
    [1, "a"],
    [1, "b"],
    [3, "c"],
    [3, "d"],
    [4, "e"],
  ] as const) {
    waiting.add(sequence, () => called.push(name));
  }
  waiting.durable(2);
  expect(called.join("")).toBe("ab");
  waiting.durable(3);
  expect(called.join("")).toBe("abcd");
  waiting.durable(3);
  waiting.durable(9);
  expect(called.join("")).toBe("abcde");
});

test("a callback given while others are being called runs after those given before it", () => {
  const waiting = new DurabilityQueue(0);
  const called: string[] = [];
  waiting.add(1, () => {
    called.push("a");
    waiting.add(2, () => called.push("late"));
    waiting.add(3, () => called.push("later"));
  });
  waiting.add(2, () => called.push("b"));
  waiting.durable(2);
  expect(called).toEqual(["a", "b", "late"]);
  waiting.durable(3);
  expect(called).toEqual(["a", "b", "late", "later"]);
});

test("a long queue gives its space back and loses nobody", () => {
  const waiting = new DurabilityQueue(0);
  const called: number[] = [];
  for (let sequence = 1; sequence <= 5_000; sequence++) {
    waiting.add(sequence, () => called.push(sequence));
    if (sequence % 7 === 0) waiting.durable(sequence - 3);
  }
  waiting.durable(5_000);
  expect(called).toEqual(Array.from({ length: 5_000 }, (_, i) => i + 1));
});

test("neither the durable mark nor those who come may go back", () => {
  const waiting = new DurabilityQueue(4);
  waiting.add(6, () => {});
  expect(() => waiting.add(5, () => {})).toThrow("those who come later wait for later");
  expect(() => waiting.durable(3)).toThrow("the durable mark never goes back");
});
