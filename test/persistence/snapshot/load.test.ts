/** Starts with damaged snapshots, or without the log they need. */
import fs from "node:fs";
import { expect, test } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { LogCorrupt, SnapshotsDamaged } from "../../../persistence/disk/faults.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { sameFiles, settle } from "../log/log-fixture.ts";
import {
  history,
  recovered,
  snapshotsIn,
  start,
  storeOf,
  twoSnapshots,
} from "../rescue/folder-fixture.ts";
import {
  contentOf,
  folderOf,
  namesIn,
  snapshotPaths,
  StoreProcess,
} from "../store/store-fixture.ts";

async function haltOf(folder: string): Promise<unknown> {
  const before = contentOf(folder);
  const fault = await StoreProcess.start({ folder, history }).then(
    () => null,
    (error: unknown) => error,
  );
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  return fault;
}

test("a damaged newest snapshot is skipped and named", async () => {
  const { folder, records } = await twoSnapshots();
  const [newest] = snapshotPaths(folder);
  const bytes = fs.readFileSync(newest!);
  let passed = 0;
  for (let at = 0; at < bytes.length; at += 997) {
    const damaged = Buffer.from(bytes);
    damaged[at]! ^= 1 << (at % 8);
    fs.writeFileSync(newest!, damaged);
    const twin = folderOf();
    fs.cpSync(folder, twin, { recursive: true });
    const process = await recovered(twin);
    expect(process.report.sequence).toBe(records);
    // A bit in an unused part of the file changes nothing.
    if (process.report.passedOver.length === 0) continue;
    expect(process.report.passedOver[0]).toContain(newest!.split("/").at(-1));
    expect(process.report.snapshot).toBe(snapshotPaths(folder)[1]!.split("/").at(-1));
    passed += 1;
  }
  expect(passed).toBeGreaterThan(10);
});

test("a snapshot of an invalid state is skipped, even if its digests are right", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(10);
  await process.snapshot();
  await process.commit(4);
  for (const { holdOrFence } of process.state.partitions.values()) holdOrFence.fill(0);
  await process.snapshot();
  const [newest, older] = snapshotPaths(folder).map((name) => name.split("/").at(-1)!);
  const again = await recovered(folder);
  expect(again.report.snapshot).toBe(older);
  expect(again.report.passedOver).toEqual([expect.stringContaining(newest!)]);
  expect(digest(again.state)).toBe(history.digestAt(process.durable));
});

test("with two damaged snapshots and no beginning of the log, the start halts", async () => {
  const { folder } = await twoSnapshots();
  const [newest, older] = snapshotPaths(folder);
  fs.truncateSync(newest!, 9_000);
  fs.truncateSync(older!, 9_000);
  const fault = (await haltOf(folder)) as SnapshotsDamaged;
  expect(fault).toBeInstanceOf(SnapshotsDamaged);
  expect(fault.exitCode).toBe(78);
  for (const name of [newest!, older!]) expect(fault.message).toContain(name);
  for (const name of [newest!, older!]) fs.rmSync(name);
  expect(((await haltOf(folder)) as Error).message).toContain("there is no snapshot");
});

test("a log that ends before the snapshot halts the start", async () => {
  const { folder } = await twoSnapshots();
  const process = await recovered(folder);
  await process.commit(2);
  await process.close();
  const wal = `${folder}/wal`;
  const segments = namesIn(folder, "wal").filter((name) => name.endsWith(".log"));
  const last = segments.at(-2)!;
  const bytes = fs.readFileSync(`${wal}/${last}`);
  fs.rmSync(`${wal}/${segments.at(-1)!}`);
  const used = bytes.findLastIndex((byte) => byte !== 0) + 1;
  fs.writeFileSync(`${wal}/${last}`, bytes.subarray(0, used - 600));
  const fault = (await haltOf(folder)) as LogCorrupt;
  expect(fault).toBeInstanceOf(LogCorrupt);
  expect(fault.expected).toMatch(/^record \d+ of \d+$/);
});

test("a snapshot of a log with the same records in other batches halts the start", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(6);
  const other = folderOf();
  fs.cpSync(folder, other, { recursive: true });
  // The same records in other batches have another chain.
  const courses = [
    { place: folder, batches: 4, batchRecords: 5 },
    { place: other, batches: 2, batchRecords: 10 },
  ];
  for (const { place, batches, batchRecords } of courses) {
    const half = await StoreProcess.start({ folder: place, history });
    await half.commit(batches, batchRecords);
    await half.snapshot();
  }
  fs.rmSync(`${folder}/snapshots`, { recursive: true });
  fs.cpSync(`${other}/snapshots`, `${folder}/snapshots`, { recursive: true });
  const fault = (await haltOf(folder)) as LogCorrupt;
  expect(fault).toBeInstanceOf(LogCorrupt);
  expect(fault.expected).toMatch(/^chain [0-9a-f]{32}$/);
});

// Snapshots damaged while the process runs: the next one is written from memory.

const RETRY_MS = 60_000;

/** A process with a log without its beginning, and with damaged snapshots only. */
async function damagedProcess(): Promise<{ folder: string; process: StoreProcess }> {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const process = await start(folder);
  expect(namesIn(folder, "wal")[0]).not.toMatch(/^0{15}1-/);
  for (const name of snapshotsIn(folder)) fs.truncateSync(name, 9_000);
  await process.commit(2);
  return { folder, process };
}

async function expectWhole(folder: string, sequence: number): Promise<void> {
  const next = await start(folder);
  expect(next.report.sequence).toBe(sequence);
  expect(digest(next.state)).toBe(history.digestAt(sequence));
}

test("the second attempt copies everything from memory, and the store starts again", async () => {
  const { folder, process } = await damagedProcess();
  expect((await process.snapshot()).failure).toBeInstanceOf(Error);
  await process.time.pass(RETRY_MS);
  await process.settled(() => process.reports.length === 2);
  expect(process.reports[1]).toMatchObject({
    failure: null,
    copied: process.state.partitions.size,
    removedSegments: 0,
  });
  await process.commit(2);
  await expectWhole(folder, process.durable);
  // The next one is usual, and removes the damaged ones.
  const next = await start(folder);
  await next.commit(2);
  expect(await next.snapshot()).toMatchObject({ failure: null, removedSnapshots: 2 });
  expect(verifyFolder({ disk: realDisk, folder }).findings).toEqual([]);
});

test("an orderly close leaves a good snapshot, although all others are damaged", async () => {
  const { folder, process } = await damagedProcess();
  await process.close();
  expect(process.reports.map(({ failure }) => failure === null)).toEqual([false, true]);
  await expectWhole(folder, process.durable);
});

test(
  "records of every kind may be written while the catalog is handed over",
  { timeout: 60_000 },
  async () => {
    for (let extra = 0; extra < 60; extra += 11) {
      const { folder, process } = await damagedProcess();
      await process.commit(1, extra + 1);
      await process.snapshot();
      void process.time.pass(RETRY_MS);
      for (let i = 0; i < 12; i++) {
        process.append(2);
        await settle();
      }
      await process.settled(() => process.reports.length === 2);
      expect(process.reports[1]).toMatchObject({ failure: null });
      await expectWhole(folder, process.durable);
    }
  },
);
