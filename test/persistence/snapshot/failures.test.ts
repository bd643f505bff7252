/** What comes in the way of a snapshot costs nothing that was acknowledged. */
import fs from "node:fs";
import { expect, test } from "vitest";
import { digest } from "../../../engine/verify/digest.ts";
import type { ImageAt } from "../../../persistence/snapshot/build.ts";
import { CrashingDisk } from "../../support/crashing-disk.ts";
import { settle } from "../log/log-fixture.ts";
import { contentOf, namesIn, snapshotPaths, StoreProcess } from "../store/store-fixture.ts";
import { folderOf, history, recovered } from "./snapshot-fixture.ts";

test("partitions are copied no faster than they are written", async () => {
  const process = await StoreProcess.start({ folder: folderOf(), history });
  await process.commit(10);
  const { open } = process;
  let queued = 4;
  let tell = () => {};
  const added: number[] = [];
  process.open = (base, onWritten) => {
    const writer = open(base, onWritten);
    tell = onWritten;
    const add = (image: ImageAt) => {
      added.push(image.number);
      writer.add(image);
    };
    return {
      ...writer,
      add,
      get queued() {
        return queued;
      },
    };
  };
  process.snapshots.request();
  await settle();
  expect(added).toEqual([]);
  queued = 0;
  tell();
  await process.settled(() => process.reports.length === 1);
  expect(process.reports).toMatchObject([{ failure: null, copied: added.length }]);
});

test("a snapshot waits for the log, and never comes when the log fails", async () => {
  const folder = folderOf();
  const disk = new CrashingDisk();
  const process = await StoreProcess.start({ folder, history, disk });
  await process.commit(6);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { code: "EIO" } : null;
  process.append(3);
  process.snapshots.request();
  for (let i = 0; i < 50; i++) await settle();
  expect(process.reports).toEqual([]);
  expect(fs.existsSync(`${folder}/snapshots`)).toBe(false);
});

test("a snapshot that fails loses nothing, and is tried again with all partitions", async () => {
  const folder = folderOf();
  const disk = new CrashingDisk();
  const process = await StoreProcess.start({ folder, history, disk });
  await process.commit(10);
  await process.snapshot();
  await process.commit(2);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith("next.tmp") ? { code: "ENOSPC" } : null;
  const failed = await process.snapshot();
  expect(failed.failure).toMatchObject({ code: "ENOSPC" });
  expect(namesIn(folder, "snapshots").filter((name) => name.endsWith(".tmp"))).toEqual([]);
  disk.decide = () => null;
  await process.commit(2);
  await process.time.pass(60_000);
  await process.settled(() => process.reports.length === 3);
  expect(process.reports.at(-1)).toMatchObject({ failure: null, copied: 3 });
  expect((await recovered(folder)).report.sequence).toBe(process.durable);
});

test("a snapshot asked for while one is in the making changes nothing for later ones", async () => {
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

test("without a thread there is no snapshot, and the next one copies what changed", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(10);
  await process.snapshot();
  await process.commit(2);
  const { open } = process;
  process.open = () => {
    throw new Error("no thread");
  };
  expect((await process.snapshot()).failure?.message).toBe("no thread");
  process.open = open;
  await process.time.pass(60_000);
  await process.settled(() => process.reports.length === 3);
  expect(process.reports.at(-1)).toMatchObject({ failure: null, copied: 3 });
  const again = await recovered(folder);
  expect(again.report.snapshot).toBe(snapshotPaths(folder)[0]!.split("/").at(-1));
  expect(digest(again.state)).toBe(history.digestAt(process.durable));
});

test("a state that may not be what the log says is never copied", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(10);
  process.snapshots.request();
  await new Promise((resolve) => setImmediate(resolve));
  // A record that was kept, but applied by half.
  process.isSound = false;
  process.state.partitions.clear();
  await process.settled(() => process.reports.length === 1);
  process.snapshots.request();
  await process.close();
  expect(process.reports.map(({ failure }) => failure?.message)).toEqual(["the engine has halted"]);
  expect([...contentOf(folder).keys()].filter((name) => name.endsWith(".sqlite"))).toEqual([]);
  expect(digest((await recovered(folder)).state)).toBe(history.digestAt(process.durable));
});

test("an end behind a log that failed does not wait for a snapshot", async () => {
  const disk = new CrashingDisk();
  const process = await StoreProcess.start({ folder: folderOf(), history, disk });
  await process.commit(4);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { code: "EIO" } : null;
  process.append(1);
  process.snapshots.request();
  await settle();
  await process.snapshots.stop();
  expect(process.reports.map(({ failure }) => failure !== null)).toEqual([true]);
});

test("an end in order gives up a snapshot that never ends, and keeps the log", async () => {
  const folder = folderOf();
  const disk = new CrashingDisk();
  const process = await StoreProcess.start({ folder, history, disk });
  await process.commit(4);
  // Its writer never comes back.
  disk.decide = ({ operation }) => (operation === "create" ? { dies: true } : null);
  process.snapshots.request();
  await settle();
  const stopped = process.snapshots.stop().then(() => "stopped");
  expect(await Promise.race([stopped, settle().then(() => "waiting")])).toBe("waiting");
  await process.time.pass(10_000);
  expect(await stopped).toBe("stopped");
  expect(process.reports.map(({ failure }) => failure?.message)).toEqual([
    "given up: it takes too long for an end",
  ]);
  expect((await recovered(folder)).report.sequence).toBe(process.durable);
});
