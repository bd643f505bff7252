/** Sorted seats that are repaired as they change. */
import { expect, test } from "vitest";
import { SortedSeats } from "../../../engine/queries/seats.ts";
import { Random } from "../../sim/workload/random.ts";

test("after any changes the list equals one that is sorted from scratch", () => {
  const random = new Random(3);
  const seatCount = 3_000;
  const keys = Array.from({ length: seatCount }, () => random.below(50));
  const compare = (a: number, b: number) => keys[a]! - keys[b]! || a - b;
  const all = keys.map((_, seat) => seat);
  const present = new Set(all.filter(() => random.once(2)));
  const kept = new SortedSeats(Uint32Array.from([...present].sort(compare)), seatCount);
  for (let round = 0; round < 60; round++) {
    for (let i = 0; i < 40; i++) {
      const seat = random.below(seatCount);
      kept.remove(seat);
      present.delete(seat);
      // Long runs of one key fill single blocks until they are divided.
      keys[seat] = random.once(2) ? 7 : random.below(50);
      if (random.once(4)) continue;
      kept.add(seat, compare);
      present.add(seat);
    }
    const expected = [...present].sort(compare);
    expect(kept.count).toBe(expected.length);
    expect(kept.slice(0, seatCount)).toEqual(expected);
    const offset = random.below(seatCount);
    expect(kept.slice(offset, 25)).toEqual(expected.slice(offset, offset + 25));
  }
});

const byNumber = (a: number, b: number) => a - b;

test("a list that lost its last seat can be filled again, past the size of a block", () => {
  const kept = new SortedSeats(Uint32Array.of(5), 2_000);
  expect(kept.has(5)).toBe(true);
  kept.remove(5);
  kept.remove(5);
  expect([kept.has(5), kept.count, kept.slice(0, 9)]).toEqual([false, 0, []]);
  for (let seat = 1_999; seat >= 0; seat--) kept.add(seat, byNumber);
  expect(kept.slice(510, 4)).toEqual([510, 511, 512, 513]);
  for (let seat = 0; seat < 2_000; seat += 2) kept.remove(seat);
  expect(kept.slice(998, 9)).toEqual([1_997, 1_999]);
  expect(kept.slice(1_000, 9)).toEqual([]);
});

test("adding a listed seat breaks a promise", () => {
  const kept = new SortedSeats(Uint32Array.of(1), 3);
  expect(() => kept.add(1, byNumber)).toThrow("a seat is listed once");
});

test("a list of no seats is empty, and a block that loses all its seats is dropped", () => {
  const none = new SortedSeats(new Uint32Array(0), 9);
  expect(none.slice(0, 9)).toEqual([]);
  none.add(4, byNumber);
  expect(none.slice(0, 9)).toEqual([4]);
  const seats = Uint32Array.from({ length: 1_000 }, (_, seat) => seat);
  const kept = new SortedSeats(seats, 1_000);
  for (let seat = 200; seat < 800; seat++) kept.remove(seat);
  kept.add(500, byNumber);
  expect(kept.slice(198, 5)).toEqual([198, 199, 500, 800, 801]);
  expect(kept.count).toBe(401);
  kept.remove(990);
  kept.add(990, byNumber);
  expect(kept.slice(390, 3)).toEqual([989, 990, 991]);
});
