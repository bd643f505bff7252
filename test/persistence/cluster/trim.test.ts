/** Removals of the leader from etcd, and when there is no room for more. */
import { expect, test } from "vitest";
import { CellKeys, type Etcd, type Transaction } from "../../../persistence/cluster/etcd.ts";
import { Trim } from "../../../persistence/cluster/leader.ts";

const MEBIBYTE = 1024 * 1024;
const keys = new CellKeys("cell");
const at = (n: number) => ({ number: 2, offset: n * MEBIBYTE });

/** A member: carries out each order, and repeats it. */
class Told {
  readonly changes: Transaction[] = [];
  readonly compacted: number[] = [];
  readonly #earlier: readonly string[];

  constructor(earlier: readonly string[]) {
    this.#earlier = earlier;
  }

  get etcd(): Etcd {
    const etcd: Pick<Etcd, "transact" | "compact" | "range"> = {
      range: (_request, _deadlineMs, answer) => {
        const revisions = { createRevision: 1, modRevision: 1 };
        const pairs = this.#earlier.map((key) => ({ key, value: Buffer.alloc(0), ...revisions }));
        answer({ kind: "done", value: { pairs, more: false, revision: 1 } });
      },
      transact: (change, _, answer) => {
        this.changes.push(change);
        answer({ kind: "done", value: { isDone: true, revision: 7, found: [] } });
      },
      compact: (revision, _, answer) => {
        this.compacted.push(revision);
        answer({ kind: "done", value: null });
      },
    };
    return etcd as Etcd;
  }
}

/** Frames of 1 MiB each in segment 2. */
function trimWith(count: number, earlier: readonly string[] = []) {
  const told = new Told(earlier);
  const trim = new Trim({ etcd: told.etcd, keys, token: 3 });
  for (let n = 0; n < count; n++) trim.add(at(n), MEBIBYTE);
  trim.step(at(0), [], 0);
  return { told, trim };
}

test("without a second host the log stays in etcd, and beyond 1 GiB there is no room", () => {
  const { told, trim } = trimWith(1_023);
  trim.step(at(1_023), [], 1);
  expect([told.changes.length, trim.hasRoom]).toEqual([0, true]);
  trim.add(at(1_023), MEBIBYTE);
  expect(trim.hasRoom).toBe(false);
});

test("what two hosts have is removed under the token and compacted; 64 MiB stay", () => {
  const { told, trim } = trimWith(200);
  trim.step(at(200), [at(10), at(199)], 1);
  expect(told.changes).toMatchObject([
    {
      compares: [{ key: keys.leader, createRevision: 3 }],
      deletes: [keys.logsBefore(at(136)), keys.partsBefore(at(136))],
    },
  ]);
  expect(told.compacted).toEqual([7]);
  expect(trim.retainedBytes).toBe(64 * MEBIBYTE);
});

test("what no second host has stays", () => {
  const { told, trim } = trimWith(200);
  trim.step(at(200), [at(20), at(30)], 1);
  expect(told.changes[0]!.deletes[0]).toEqual(keys.logsBefore(at(30)));
  expect(trim.retainedBytes).toBe(170 * MEBIBYTE);
});

test("what comes after the beginning of a copy stays, up to 512 MiB", () => {
  const { told, trim } = trimWith(400);
  trim.step(at(400), [{ ...at(400), keepFrom: at(100) }, at(390)], 1);
  expect(told.changes[0]!.deletes[0]).toEqual(keys.logsBefore(at(100)));
  // Of the leader itself, too. 300 MiB are left.
  trim.step({ ...at(400), keepFrom: at(150) }, [at(400)], 2);
  expect(trim.retainedBytes).toBe(250 * MEBIBYTE);
  for (let n = 400; n < 700; n++) trim.add(at(n), MEBIBYTE);
  trim.step({ ...at(700), keepFrom: at(150) }, [at(700)], 3);
  expect(trim.retainedBytes).toBe(64 * MEBIBYTE);
});

test("frames of earlier leaders count, and are removed first", () => {
  const before = [0, 40, 110].map((n) => keys.log({ number: 1, offset: n * MEBIBYTE }));
  const { told, trim } = trimWith(2, before);
  expect(trim.retainedBytes).toBe(112 * MEBIBYTE);
  trim.step(at(2), [at(2)], 1);
  const kept = { number: 1, offset: 40 * MEBIBYTE };
  expect(told.changes[0]!.deletes[0]).toEqual(keys.logsBefore(kept));
});

test("once a minute old revisions are compacted, even when no frame is removed", () => {
  const { told, trim } = trimWith(2);
  trim.step(at(2), [at(2)], 59_999);
  expect(told.compacted).toEqual([]);
  trim.step(at(2), [at(2)], 60_000);
  expect([told.compacted, trim.retainedBytes]).toEqual([[7], 2 * MEBIBYTE]);
});
