/** A snapshot that fails, waits or is given up loses no acknowledged record. */
import { expect, test, vi } from "vitest";
import { digest } from "../../../engine/verify.ts";
import type { Thread } from "../../../persistence/disk/worker.ts";
import type { StartSnapshotThread, ToThread } from "../../../persistence/snapshot/thread.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { settle } from "../log/log-fixture.ts";
import { history, recovered } from "../rescue/folder-fixture.ts";
import {
  diskOn,
  folderOf,
  namesIn,
  snapshotPaths,
  snapshotThreadOn,
  StoreProcess,
} from "../store/store-fixture.ts";

test("partitions are copied no faster than they are written", async () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  for (let i = 0; i < 7; i++) world.createEvent();
  const records = world.journal.kept;
  let written: (() => void)[] | null = [];
  let added = 0;
  const folder = folderOf();
  const disk = diskOn(folder);
  const startSnapshotThread: StartSnapshotThread = (data, events) => {
    const thread = snapshotThreadOn(disk.process!)(data, {
      ...events,
      message(answer) {
        const pass = () => events.message(answer);
        if (written === null || answer.kind !== "written") pass();
        else written.push(pass);
      },
    });
    return {
      post(message: ToThread) {
        if (message.kind === "add") added += 1;
        thread.post(message);
      },
      keepAlive: () => {},
      terminate: () => thread.terminate(),
    };
  };
  const options = { folder, history: { records }, disk, startSnapshotThread };
  const process = await StoreProcess.start(options);
  await process.commit(records.length, 1);
  process.snapshots.request();
  for (let i = 0; i < 50; i++) await settle();
  expect(added).toBe(4);
  for (const pass of written) pass();
  written = null;
  await process.settled(() => process.reports.length === 1);
  expect(process.reports).toMatchObject([{ failure: null, copied: 8 }]);
});

test("a snapshot waits for the log, and is not published if the log fails", async () => {
  const folder = folderOf();
  const disk = diskOn(folder);
  const process = await StoreProcess.start({ folder, history, disk });
  await process.commit(6);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { code: "EIO" } : null;
  process.append(3);
  process.snapshots.request();
  for (let i = 0; i < 50; i++) await settle();
  expect(process.reports).toEqual([]);
  expect(namesIn(folder, "snapshots")).toEqual(["next.tmp"]);
});

test("a failed snapshot loses nothing, and the next attempt copies all partitions", async () => {
  const folder = folderOf();
  const disk = diskOn(folder);
  const process = await StoreProcess.start({ folder, history, disk });
  await process.commit(10);
  await process.snapshot();
  await process.commit(2);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith("next.tmp") ? { code: "ENOSPC" } : null;
  const failed = await process.snapshot();
  expect(failed.failure?.message).toMatch(/^cannot sync .*: ENOSPC/);
  expect(namesIn(folder, "snapshots").filter((name) => name.endsWith(".tmp"))).toEqual([]);
  disk.decide = () => null;
  await process.commit(2);
  await process.time.pass(60_000);
  await process.settled(() => process.reports.length === 3);
  expect(process.reports.at(-1)).toMatchObject({
    failure: null,
    copied: process.state.partitions.size,
  });
  expect((await recovered(folder)).report.sequence).toBe(process.durable);
});

test("a request during a snapshot is ignored, and later snapshots are taken", async () => {
  const process = await StoreProcess.start({ folder: folderOf(), history });
  await process.commit(4);
  process.snapshots.request();
  await new Promise((resolve) => setImmediate(resolve));
  process.snapshots.request();
  await process.settled(() => process.reports.length === 1);
  await process.commit(2);
  expect(await process.snapshot()).toMatchObject({ failure: null });
  expect(process.reports).toHaveLength(2);
});

test("without a thread a snapshot fails, and the next one copies every partition", async () => {
  const folder = folderOf();
  const disk = diskOn(folder);
  const threads: Thread<ToThread>[] = [];
  let isAvailable = true;
  const startSnapshotThread: StartSnapshotThread = (data, events) => {
    if (!isAvailable) throw new Error("no thread");
    const thread = snapshotThreadOn(disk.process!)(data, events);
    threads.push(thread);
    return thread;
  };
  const process = await StoreProcess.start({ folder, history, disk, startSnapshotThread });
  await process.commit(10);
  await process.snapshot();
  await process.commit(2);
  isAvailable = false;
  await threads[0]!.terminate();
  await settle();
  expect((await process.snapshot()).failure?.message).toBe("no thread");
  isAvailable = true;
  await process.time.pass(60_000);
  await process.settled(() => process.reports.length === 3);
  expect(process.reports.at(-1)).toMatchObject({
    failure: null,
    copied: process.state.partitions.size,
  });
  const again = await recovered(folder);
  expect(again.report.snapshot).toBe(snapshotPaths(folder)[0]!.split("/").at(-1));
  expect(digest(again.state)).toBe(history.digestAt(process.durable));
});

test("the state of a halted engine is not copied", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(10);
  process.snapshots.request();
  await new Promise((resolve) => setImmediate(resolve));
  // As after a record that was appended and only partially applied.
  vi.spyOn(process.store.engine, "isHalted", "get").mockReturnValue(true);
  process.state.partitions.clear();
  await process.settled(() => process.reports.length === 1);
  process.snapshots.request();
  await process.close();
  expect(process.reports.map(({ failure }) => failure?.message)).toEqual(["the engine has halted"]);
  expect(snapshotPaths(folder)).toEqual([]);
  expect(digest((await recovered(folder)).state)).toBe(history.digestAt(process.durable));
});

test("a close after the log failed does not wait for a snapshot", async () => {
  const folder = folderOf();
  const disk = diskOn(folder);
  const process = await StoreProcess.start({ folder, history, disk });
  await process.commit(4);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { code: "EIO" } : null;
  process.append(1);
  process.snapshots.request();
  await process.settled(() => process.journal.hasFailed);
  await process.snapshots.stop();
  expect(process.reports.map(({ failure }) => failure !== null)).toEqual([true]);
});

test("a close gives up a snapshot that does not end, and keeps the log", async () => {
  const folder = folderOf();
  const startSnapshotThread: StartSnapshotThread = () => ({
    // It never answers.
    post() {},
    keepAlive() {},
    terminate: () => Promise.resolve(),
  });
  const process = await StoreProcess.start({ folder, history, startSnapshotThread });
  await process.commit(4);
  process.snapshots.request();
  await settle();
  const stopped = process.snapshots.stop().then(() => "stopped");
  expect(await Promise.race([stopped, settle().then(() => "waiting")])).toBe("waiting");
  await process.time.pass(10_000);
  expect(await stopped).toBe("stopped");
  expect(process.reports.map(({ failure }) => failure?.message)).toEqual([
    "abandoned: the shutdown cannot wait",
  ]);
  expect((await recovered(folder)).report.sequence).toBe(process.durable);
});
