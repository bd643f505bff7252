/** The thread that writes snapshots: the real one, and its service in this thread. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { workerThread } from "../../../persistence/disk/worker.ts";
import type { SnapshotReport } from "../../../persistence/snapshot/build.ts";
import {
  type FromThread,
  serveSnapshots,
  SnapshotThread,
  type StartSnapshotThread,
  type ToThread,
} from "../../../persistence/snapshot/thread.ts";
import { LocalThread } from "../../support/store.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, snapshotsIn, start, twinOf } from "../rescue/folder-fixture.ts";
import { folderOf, StoreProcess } from "../store/store-fixture.ts";

const COMPILED = new URL("../../../dist/persistence/store/snapshot-worker.js", import.meta.url);
const NOWHERE = new URL("none.js", import.meta.url);
const startCompiled: StartSnapshotThread = workerThread(COMPILED, "test");

async function startWith(startSnapshotThread: StartSnapshotThread) {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history, startSnapshotThread });
  onTestFinished(() => process.close());
  return { folder, process };
}

/** Waits for the real thread. */
async function snapshotOf(process: StoreProcess): Promise<SnapshotReport> {
  const before = process.reports.length;
  process.snapshots.request();
  await vi.waitFor(() => expect(process.reports.length).toBe(before + 1), 20_000);
  return process.reports.at(-1)!;
}

async function expectRecovered(folder: string, sequence: number): Promise<void> {
  const next = await start(twinOf(folder));
  expect(next.report).toMatchObject({ sequence, records: 0, passedOver: [] });
  expect(digest(next.state)).toBe(history.digestAt(sequence));
}

test("one thread writes several snapshots, and each can be recovered", async () => {
  const { folder, process } = await startWith(startCompiled);
  for (let round = 1; round <= 3; round++) {
    await process.commit(10);
    expect(await snapshotOf(process)).toMatchObject({ failure: null });
    await expectRecovered(folder, 50 * round);
  }
  expect(snapshotsIn(folder).length).toBe(2);
});

test("an error in the thread fails that snapshot and no other", async () => {
  const { folder, process } = await startWith(startCompiled);
  await process.commit(10);
  fs.writeFileSync(path.join(folder, "snapshots"), "in the way");
  expect((await snapshotOf(process)).failure?.message).toMatch(/snapshots: E/);
  fs.rmSync(path.join(folder, "snapshots"));
  expect(await snapshotOf(process)).toMatchObject({ failure: null });
  await expectRecovered(folder, 50);
});

test("without its program the thread fails each snapshot", async () => {
  const { process } = await startWith(workerThread(NOWHERE, "test"));
  await process.commit(4);
  for (let i = 0; i < 2; i++) {
    expect((await snapshotOf(process)).failure?.message).toMatch(/Cannot find module/);
  }
});

test("a thread that is terminated abandons the snapshot in progress", async () => {
  const folder = folderOf();
  const thread = new SnapshotThread({ folder, storeId: STORE_ID }, startCompiled);
  const writer = thread.begin(null, () => {});
  const failure = writer.built.catch((error: Error) => error.message);
  await writer.abandon();
  expect(await failure).toBe("the thread ended without an answer");
  expect(snapshotsIn(folder)).toEqual([]);
});

/** The service of the thread, run in this one. @returns A function that gives its answers. */
function serviceOn(folder: string, bell: Int32Array) {
  const answers: FromThread[] = [];
  const thread = new LocalThread<ToThread, FromThread>({
    serve: (port) => {
      const audited = () => null;
      serveSnapshots(port, { disk: realDisk, folder, storeId: STORE_ID, bell, audited });
    },
    events: { message: (answer) => answers.push(answer), error: () => {}, exit: () => {} },
    later: (task) => task(),
  });
  onTestFinished(() => thread.release());
  return (message: ToThread) => {
    thread.post(message);
    return answers.splice(0);
  };
}

const newBell = () => new Int32Array(new SharedArrayBuffer(4));

test("messages that follow a failure are ignored until the next snapshot begins", () => {
  const folder = folderOf();
  fs.writeFileSync(path.join(folder, "snapshots"), "in the way");
  const tell = serviceOn(folder, newBell().fill(1));
  const mark = { sequence: 1, chain: Buffer.alloc(16) };
  const sequences = new Float64Array();
  const end = { sequence: 1, catalogSequence: 1, mark, sequences, createdAtMs: 0 };
  const finish = { kind: "finish", end } as const;
  expect(tell({ kind: "begin", base: null })).toMatchObject([
    { kind: "failed", message: expect.stringMatching(/snapshots: E/) },
  ]);
  expect(tell({ kind: "put", nextId: 1, puts: [] })).toEqual([]);
  expect(tell(finish)).toEqual([]);
  fs.rmSync(path.join(folder, "snapshots"));
  expect(tell({ kind: "begin", base: "none.sqlite" })).toEqual([]);
  expect(tell(finish)).toEqual([
    { kind: "failed", message: "expected the snapshot none.sqlite, found a damaged one" },
  ]);
});

test("the thread rests nine times as long as it works, and no longer than a second", () => {
  let [nowMs, workMs] = [1_000, 5];
  vi.spyOn(performance, "now").mockImplementation(() => (nowMs += workMs));
  const wait = vi.spyOn(Atomics, "wait").mockReturnValue("timed-out");
  onTestFinished(() => void vi.restoreAllMocks());
  const bell = newBell();
  const tell = serviceOn(folderOf(), bell);
  tell({ kind: "begin", base: null });
  tell({ kind: "put", nextId: 1, puts: [] });
  workMs = 500;
  tell({ kind: "put", nextId: 1, puts: [] });
  expect(wait.mock.calls).toEqual([
    [bell, 0, 0, 45],
    [bell, 0, 0, 1_000],
  ]);
});

test("after hurry() the thread does not rest", () => {
  const bells: Int32Array[] = [];
  const thread = new SnapshotThread({ folder: "none", storeId: STORE_ID }, ({ bell }) => {
    bells.push(bell);
    return { post: () => {}, keepAlive: () => {}, terminate: () => Promise.resolve() };
  });
  expect(Atomics.wait(bells[0]!, 0, 0, 1)).toBe("timed-out");
  thread.hurry();
  expect(Atomics.wait(bells[0]!, 0, 0, 60_000)).toBe("not-equal");
});
