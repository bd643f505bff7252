/** The thread that writes snapshots, as the engine has it, and its work without a thread. */
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { digest } from "../../../engine/verify/digest.ts";
import type { Built } from "../../../persistence/snapshot/build.ts";
import type { SnapshotWriter, SnapshotReport } from "../../../persistence/snapshot/options.ts";
import { serveSnapshots } from "../../../persistence/snapshot/service.ts";
import {
  type FromThread,
  SnapshotThread,
  type ToThread,
} from "../../../persistence/snapshot/thread.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import {
  folderOf,
  history,
  snapshotsIn,
  start,
  storeOf,
  twinOf,
} from "../rescue/folder-fixture.ts";
import type { StoreProcess } from "../store/store-fixture.ts";

const WAIT = { timeout: 20_000, interval: 1 };
const COMPILED = new URL("../../../dist/persistence/snapshot/worker.js", import.meta.url);

function threadOf(folder: string, program?: URL): SnapshotThread {
  const thread = new SnapshotThread({ folder, storeId: STORE_ID }, program);
  onTestFinished(() => thread.close());
  return thread;
}

async function snapshotBy(process: StoreProcess, thread: SnapshotThread): Promise<SnapshotReport> {
  process.open = (base, onWritten) => thread.begin(base, onWritten);
  return reportOf(process);
}

/** A thread takes its time, which no turn of this one waits for. */
async function reportOf(process: StoreProcess): Promise<SnapshotReport> {
  const before = process.reports.length;
  process.snapshots.request();
  await vi.waitFor(() => expect(process.reports.length).toBe(before + 1), WAIT);
  return process.reports.at(-1)!;
}

/** As `SnapshotThread.begin`, for whoever serves at the other end of a port. */
function writerOn(port: MessagePort, base: string | null, onWritten: () => void): SnapshotWriter {
  const tell = (message: ToThread) => port.postMessage(message);
  const built = new Promise<Built>((resolve, reject) => {
    port.removeAllListeners("message").on("message", (answer: FromThread) => {
      if (answer.kind === "built") resolve(answer.built);
      else if (answer.kind === "failed") reject(new Error(answer.message));
      else onWritten();
    });
  });
  tell({ kind: "begin", base });
  return {
    built,
    queued: 0,
    put: (nextId, puts) => tell({ kind: "put", nextId, puts }),
    add: (image) => tell({ kind: "add", image }),
    finish: (end) => tell({ kind: "finish", end }),
    abandon: () => Promise.resolve(),
  };
}

/** @param rung - 1 unless this thread may sleep. */
function portOf(folder: string, rung = 1): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const bell = new Int32Array(new SharedArrayBuffer(4)).fill(rung);
  serveSnapshots(port1, { folder, storeId: STORE_ID, bell });
  onTestFinished(() => port2.close());
  return port2;
}

async function expectRecovered(folder: string, sequence: number): Promise<void> {
  const next = await start(twinOf(folder));
  expect(next.report).toMatchObject({ sequence, records: 0, passedOver: [] });
  expect(digest(next.state)).toBe(history.digestAt(sequence));
}

test("one thread writes one snapshot after the other, and a start goes on from each", async () => {
  const folder = folderOf();
  const process = await start(folder);
  const thread = threadOf(folder, COMPILED);
  for (let round = 1; round <= 3; round++) {
    await process.commit(10);
    expect(await snapshotBy(process, thread)).toMatchObject({ failure: null });
    await expectRecovered(folder, 50 * round);
  }
  expect(snapshotsIn(folder).length).toBe(2);
});

test("what fails in the thread is the failure of that snapshot, and of no other", async () => {
  const folder = folderOf();
  const process = await start(folder);
  const thread = threadOf(folder, COMPILED);
  await process.commit(10);
  fs.writeFileSync(path.join(folder, "snapshots"), "in the way");
  expect((await snapshotBy(process, thread)).failure?.message).toMatch(/snapshots: E/);
  fs.rmSync(path.join(folder, "snapshots"));
  expect(await snapshotBy(process, thread)).toMatchObject({ failure: null });
  await expectRecovered(folder, 50);
});

const RESTS = [
  [
    "rests nine times as long as it worked",
    { workMs: 0.5, bell: 0, restMs: 4.5, end: "timed-out" },
  ],
  [
    "rests a second at most, and not in a hurry",
    { workMs: 200, bell: 1, restMs: 1_000, end: "not-equal" },
  ],
] as const;

test.each(RESTS)("between its steps it %s", async (_, { workMs, bell, restMs, end }) => {
  const folder = folderOf();
  const process = await start(folder);
  await process.commit(10);
  const port = portOf(folder, bell);
  process.open = (base, onWritten) => writerOn(port, base, onWritten);
  // Each look at the clock finds it a step further, so every piece of work takes one.
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += workMs));
  const rests = vi.spyOn(Atomics, "wait");
  onTestFinished(() => {
    clock.mockRestore();
    rests.mockRestore();
  });
  expect(await reportOf(process)).toMatchObject({ failure: null });
  expect(rests.mock.calls.length).toBeGreaterThan(4);
  expect(new Set(rests.mock.calls.map(([, , , timeoutMs]) => timeoutMs))).toEqual(
    new Set([restMs]),
  );
  expect(new Set(rests.mock.results.map(({ value }) => value as string))).toEqual(new Set([end]));
});

/** A thread that rests until it is told to hurry, and then says so. */
const RESTING = `
  const { parentPort, workerData } = require("node:worker_threads");
  parentPort.on("message", () => {
    Atomics.wait(workerData.bell, 0, 0);
    parentPort.postMessage({ kind: "failed", message: "in a hurry" });
  });`;

test("a thread that rests is woken when it must hurry", async () => {
  const folder = folderOf();
  const program = path.join(folder, "resting.cjs");
  fs.writeFileSync(program, RESTING);
  const thread = threadOf(folder, pathToFileURL(program));
  const { built } = thread.begin(null, () => {});
  thread.hurry();
  await expect(built).rejects.toThrow("in a hurry");
});

test("without its program there is no snapshot, and the next one tries again", async () => {
  const folder = folderOf();
  const process = await start(folder);
  await process.commit(4);
  // The package's own is compiled: there is none beside the source.
  const thread = threadOf(folder);
  expect((await snapshotBy(process, thread)).failure?.message).toMatch(/Cannot find module/);
  expect((await snapshotBy(process, thread)).failure?.message).toMatch(/Cannot find module/);
});

test("a thread that is ended gives up the snapshot that is in the making", async () => {
  const folder = folderOf();
  const thread = threadOf(folder, COMPILED);
  const writer = thread.begin(null, () => {});
  const gone = writer.built.then(
    () => "built",
    (failure: Error) => failure.message,
  );
  await writer.abandon();
  expect(await gone).toBe("the thread ended without an answer");
  expect(snapshotsIn(folder)).toEqual([]);
});

test("each image is told when it is written, and a failure once", async () => {
  const folder = folderOf();
  const process = await start(folder);
  await process.commit(10);
  const port = portOf(folder);
  let written = 0;
  process.open = (base) => writerOn(port, base, () => (written += 1));
  fs.writeFileSync(path.join(folder, "snapshots"), "in the way");
  expect((await reportOf(process)).failure?.message).toMatch(/snapshots: E/);
  expect(written).toBe(0);
  fs.rmSync(path.join(folder, "snapshots"));
  const { failure, ...report } = await reportOf(process);
  expect(failure).toBeNull();
  expect(written).toBe("copied" in report && report.copied);
  expect(written).toBeGreaterThan(0);
  await expectRecovered(folder, 50);
});

test("a catalog that is handed over is that of the snapshot", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const process = await start(folder);
  // No snapshot to take it from, and no log from the beginning.
  for (const name of snapshotsIn(folder)) fs.truncateSync(name, 9_000);
  await process.commit(2);
  const port = portOf(folder);
  process.open = (base, onWritten) => writerOn(port, base, onWritten);
  expect((await reportOf(process)).failure).toBeInstanceOf(Error);
  expect((await reportOf(process)).failure).toBeNull();
  await expectRecovered(folder, process.durable);
});

test("what is told behind a failure belongs to a snapshot that there will not be", async () => {
  const folder = folderOf();
  fs.writeFileSync(path.join(folder, "snapshots"), "in the way");
  const port = portOf(folder);
  const said: FromThread[] = [];
  port.on("message", (answer: FromThread) => said.push(answer));
  const tell = (message: ToThread) => port.postMessage(message);
  tell({ kind: "begin", base: null });
  tell({ kind: "put", nextId: 1, puts: [] });
  const end = { sequence: 1, mark: { sequence: 1, chain: Buffer.alloc(16) }, createdAtMs: 0 };
  tell({ kind: "finish", end });
  await vi.waitFor(() => expect(said.length).toBe(1));
  fs.rmSync(path.join(folder, "snapshots"));
  tell({ kind: "begin", base: "none.sqlite" });
  tell({ kind: "finish", end });
  await vi.waitFor(() => expect(said.length).toBe(2));
  expect(said).toMatchObject([
    { kind: "failed", message: expect.stringMatching(/snapshots: E/) },
    { kind: "failed", message: "expected the snapshot none.sqlite, found a damaged one" },
  ]);
});
