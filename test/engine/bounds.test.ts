/** The fair queue and the quota. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { FairQueue, TenantQuota } from "../../engine/bounds.ts";

/** Pushes `a1` for the key `a`, and so on. */
function filled(...items: readonly string[]): FairQueue<string, string> {
  const queue = new FairQueue<string, string>();
  for (const item of items) queue.push(item[0]!, item);
  return queue;
}

function drained(queue: FairQueue<string, string>): string[] {
  const items: string[] = [];
  for (let { first } = queue; first !== undefined; { first } = queue) {
    expect(queue.shift()).toBe(first);
    items.push(first);
  }
  expect([queue.isEmpty, queue.size]).toEqual([true, 0]);
  return items;
}

test("keys take turns, and the items of a key keep their order", () => {
  const queue = filled("a1", "a2", "a3", "b1", "c1", "c2");
  expect([queue.size, queue.sizeOf("a"), queue.sizeOf("x")]).toEqual([6, 3, 0]);
  expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
});

test("a new key comes after the waiting keys, and an item is queued once", () => {
  const queue = filled("a1", "a2", "b1");
  expect(queue.shift()).toBe("a1");
  for (const item of ["c1", "a2", "a3"]) queue.push(item[0]!, item);
  expect(drained(queue)).toEqual(["b1", "a2", "c1", "a3"]);
});

test("the newest item of the longest key leaves without a turn", () => {
  const queue = filled("a1", "b1", "b2", "b3", "c1", "c2");
  expect(queue.longest).toBe("b");
  expect([queue.pop("b"), queue.pop("x")]).toEqual(["b3", undefined]);
  expect(queue.pop("a")).toBe("a1");
  expect(drained(queue)).toEqual(["b1", "c1", "b2", "c2"]);
  expect(queue.longest).toBeUndefined();
});

test("an item with more left stays ahead of the others of its key", () => {
  const queue = filled("a1", "a2", "b1");
  const run: string[] = [];
  while (!queue.isEmpty) {
    queue.turn((item) => {
      run.push(item);
      return run.filter((name) => name === item).length < 2;
    });
  }
  expect(run.join(" ")).toBe("a1 b1 a1 b1 a2 a2");
});

test("an item that is pushed while it runs comes again", () => {
  const queue = filled("a1");
  queue.turn((item) => {
    queue.push("a", item);
    return false;
  });
  expect(drained(queue)).toEqual(["a1"]);
});

test("a deleted item does not run, and leaves no empty key", () => {
  const queue = filled("a1", "a2", "b1");
  queue.turn(() => true);
  for (const item of ["a1", "b1", "x1"]) queue.delete(item[0]!, item);
  expect(drained(queue)).toEqual(["a2"]);
});

test("an item may be taken of a given key", () => {
  const queue = filled("a1", "b1", "b2");
  expect([queue.shift("b"), queue.shift("x")]).toEqual(["b1", undefined]);
  expect(drained(queue)).toEqual(["a1", "b2"]);
});

test("between two turns of a key, no other key has two", () => {
  const keys = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 40 });
  fc.assert(
    fc.property(keys, (pushed) => {
      const order = drained(filled(...pushed.map((key, i) => `${key}${i}`)));
      expect(order.toSorted()).toEqual(pushed.map((key, i) => `${key}${i}`).toSorted());
      for (const [i, item] of order.entries()) {
        const next = order.findIndex((later, j) => j > i && later[0] === item[0]);
        const between = order.slice(i + 1, next === -1 ? i + 1 : next).map(([key]) => key);
        expect(new Set(between).size).toBe(between.length);
      }
    }),
  );
});

test("a key takes its maximum, all keys theirs, and what is given back can be taken", () => {
  const quota = new TenantQuota<string>(3, 5);
  expect([quota.take("a", 2), quota.take("a"), quota.take("a")]).toEqual([true, true, false]);
  expect([quota.take("b", 3), quota.take("b", 2), quota.take("c")]).toEqual([false, true, false]);
  expect(quota).toMatchObject({ used: 5, refused: 3 });
  quota.giveBack("a", 3);
  expect([quota.take("b"), quota.take("b"), quota.take("c", 2)]).toEqual([true, false, true]);
  expect(quota.used).toBe(5);
  quota.add("c", 2);
  expect([quota.used, quota.take("a")]).toEqual([7, false]);
  quota.giveBack("c", 4);
  expect([quota.used, quota.take("a")]).toEqual([3, true]);
});
