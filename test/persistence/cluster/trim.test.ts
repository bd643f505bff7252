/** What the leader removes from etcd, and when there is no room for more. */
import { expect, test } from "vitest";
import type { Etcd, Transaction } from "../../../persistence/cluster/etcd.ts";
import { CellKeys } from "../../../persistence/cluster/keys.ts";
import { Trim } from "../../../persistence/cluster/trim.ts";

const MEBIBYTE = 1024 * 1024;
const keys = new CellKeys("cell");
const at = (offset: number) => ({ number: 1, offset });

/** A member that does what it is told, and says what it was. */
class Told {
  readonly changes: Transaction[] = [];
  readonly compacted: number[] = [];

  get etcd(): Etcd {
    const etcd: Pick<Etcd, "transact" | "compact"> = {
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

function trimWith(count: number, bytes: number): { readonly told: Told; readonly trim: Trim } {
  const told = new Told();
  const trim = new Trim({ etcd: told.etcd, keys, token: 3 });
  for (let n = 0; n < count; n++) trim.add(at(n * bytes), bytes);
  return { told, trim };
}

test("without a second host the log stays in etcd, and beyond 1 GiB there is no room", () => {
  const { told, trim } = trimWith(1_023, MEBIBYTE);
  trim.step(at(1_023 * MEBIBYTE), [], 0);
  expect([told.changes.length, trim.hasRoom]).toEqual([0, true]);
  trim.add(at(1_023 * MEBIBYTE), MEBIBYTE);
  expect(trim.hasRoom).toBe(false);
});

test("what all live hosts have is removed, under the token, and compacted", () => {
  const { told, trim } = trimWith(10, MEBIBYTE);
  trim.step(at(10 * MEBIBYTE), [at(6 * MEBIBYTE), at(8 * MEBIBYTE)], 0);
  expect(told.changes).toMatchObject([
    {
      compares: [{ key: keys.leader, createRevision: 3 }],
      deletes: [keys.logsBefore(at(6 * MEBIBYTE)), keys.partsBefore(at(6 * MEBIBYTE))],
    },
  ]);
  expect(told.compacted).toEqual([7]);
  expect(trim.retainedBytes).toBe(4 * MEBIBYTE);
});

test("a slow host is waited for up to 64 MiB; then what two hosts have is removed", () => {
  const { told, trim } = trimWith(100, MEBIBYTE);
  trim.step(at(100 * MEBIBYTE), [at(50 * MEBIBYTE), at(90 * MEBIBYTE)], 0);
  expect(trim.retainedBytes).toBe(50 * MEBIBYTE);
  for (let n = 100; n < 120; n++) trim.add(at(n * MEBIBYTE), MEBIBYTE);
  trim.step(at(120 * MEBIBYTE), [at(50 * MEBIBYTE), at(110 * MEBIBYTE)], 1);
  expect(told.changes.at(-1)!.deletes[0]).toEqual(keys.logsBefore(at(110 * MEBIBYTE)));
});

test("the last frame stays, even when every host has it", () => {
  const { told, trim } = trimWith(10, MEBIBYTE);
  trim.step(at(10 * MEBIBYTE), [at(10 * MEBIBYTE)], 0);
  expect(told.changes[0]!.deletes[0]).toEqual(keys.logsBefore(at(9 * MEBIBYTE)));
});
