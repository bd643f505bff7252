/** A snapshot and the log after it give the same state as the whole log, whatever happens. */
import fs from "node:fs";
import { expect, test, vi } from "vitest";
import { RecordType } from "../../../engine/records.ts";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { fillSqlFile } from "../../../persistence/disk/sqlite.ts";
import { segmentOf } from "../../../persistence/log/log-reader.ts";
import { parseSegmentName } from "../../../persistence/log/frame.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import { World } from "../../support/engine.ts";
import { layoutOf, section } from "../../support/layout.ts";
import { settle } from "../log/log-fixture.ts";
import { history, recovered, twoSnapshots } from "../rescue/folder-fixture.ts";
import {
  diskOn,
  folderOf,
  namesIn,
  removeFolder,
  snapshotPaths,
  snapshotThreadOn,
  StoreProcess,
} from "../store/store-fixture.ts";

test("records of every kind may be written while a snapshot is copied", async () => {
  // From many positions: some catalog records then change rows not copied yet.
  let inBetween = 0;
  for (let from = 40; from < 400; from += 7) {
    const folder = folderOf();
    const process = await StoreProcess.start({ folder, history });
    await process.commit(1, from);
    process.snapshots.request();
    for (let i = 0; i < 6; i++) {
      await process.commit(1, 4);
    }
    await process.settled(() => process.reports.length > 0);
    const after = await recovered(folder);
    expect(after.report.sequence).toBe(process.durable);
    expect(process.reports[0]).toMatchObject({ failure: null });
    const types = history.records.slice(from, from + 24).map(({ record }) => record.type);
    if (types.includes(RecordType.CATALOG)) inBetween += 1;
    removeFolder(folder);
  }
  expect(inBetween).toBeGreaterThan(10);
});

test("events that are deleted during a snapshot are copied before they go", async () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  for (let i = 0; i < 5; i++) world.createEvent();
  world.book("block", world.selection(null, "A1"));
  const before = world.journal.kept.length;
  const other = world.createOrganization(world.tenant, "Other");
  world.must("deleteOrganization", world.tenant, { ...world.caller });
  for (let i = 0; i < 4; i++) world.must("createVenue", other, { body: { name: `V${i}` } });
  const records = world.journal.kept;
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history: { records } });
  await process.commit(before, 1);
  const copies = [...process.state.partitions.values()].map(({ holds }) => vi.spyOn(holds, "copy"));
  const copied = () => copies.filter((copy) => copy.mock.calls.length > 0).length;
  process.snapshots.request();
  await new Promise((resolve) => setImmediate(resolve));
  const known = copied();
  expect(known).toBeLessThan(copies.length - 2);
  process.append(2);
  expect(process.state.partitions.size).toBe(0);
  expect(copied()).toBe(known);
  process.append(records.length - process.sequence);
  await process.settled(() => process.reports.length > 0);
  expect(process.reports[0]).toMatchObject({ failure: null, copied: copies.length });
  expect(copied()).toBe(copies.length);
  const after = await StoreProcess.start({ folder, history: { records } });
  expect(after.report).toMatchObject({ sequence: records.length, passedOver: [] });
  expect(after.report.snapshot).not.toBeNull();
  expect(digest(after.state)).toBe(digest(world.engine.state));
});

test("a layout that changes during a snapshot is in the next snapshot of each event", async () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  for (let i = 0; i < 5; i++) world.createEvent();
  const before = world.journal.kept.length;
  const { caller, schemaId } = world;
  const body = layoutOf(section("Stalls", { A: "1 2 3 4" }));
  world.must("putLayout", caller, { schemaId, body, forceDelete: false });
  const withLayout = world.journal.kept.length;
  world.must("createVenue", caller, { body: { name: "Other" } });
  const records = world.journal.kept;
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history: { records } });
  await process.commit(before, 1);
  process.snapshots.request();
  await new Promise((resolve) => setImmediate(resolve));
  process.append(withLayout - process.sequence);
  await process.settled(() => process.reports.length > 0);
  process.append(records.length - process.sequence);
  await process.snapshot();
  const after = await StoreProcess.start({ folder, history: { records } });
  expect(after.report).toMatchObject({ records: 0, passedOver: [] });
  expect(digest(after.state)).toBe(digest(world.engine.state));
});

test("only changed partitions are copied; the others come from the snapshot before", async () => {
  const { folder } = await twoSnapshots();
  const process = await recovered(folder);
  const first = await process.snapshot();
  const partitions = process.state.partitions.size;
  expect(first).toMatchObject({ failure: null, partitions });
  process.append(1);
  await settle();
  const second = await process.snapshot();
  expect(second).toMatchObject({ failure: null, partitions });
  expect("copied" in second && second.copied).toBeLessThan(2);
  const again = await recovered(folder);
  expect(again.report.records).toBe(0);
});

test("a snapshot reads the log only if the catalog has changed since the one before", async () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  const before = world.journal.kept.length;
  world.book("block", world.selection(null, "A1"));
  const withMove = world.journal.kept.length;
  world.createEvent();
  const records = world.journal.kept;
  const folder = folderOf();
  let read: string[] = [];
  const startSnapshotThread = snapshotThreadOn({
    ...realDisk,
    openNow: (name) => {
      read.push(name.split("/").at(-1)!);
      return realDisk.openNow(name);
    },
  });
  const process = await StoreProcess.start({ folder, history: { records }, startSnapshotThread });
  const segmentsReadAt = async (sequence: number) => {
    await process.commit(1, sequence - process.sequence);
    read = [];
    expect(await process.snapshot()).toMatchObject({ failure: null });
    return read.filter((name) => parseSegmentName(name) !== null);
  };
  expect(await segmentsReadAt(before)).toHaveLength(1);
  expect(await segmentsReadAt(withMove)).toEqual([]);
  expect(await segmentsReadAt(records.length)).toHaveLength(1);
  const after = await StoreProcess.start({ folder, history: { records } });
  expect(after.report).toMatchObject({ records: 0, passedOver: [] });
  expect(digest(after.state)).toBe(digest(world.engine.state));
});

test("a snapshot that begins before this disk has all records is made when it has", async () => {
  const process = await StoreProcess.start({ folder: folderOf(), history });
  await process.commit(20);
  const { journal } = process;
  // As on the leader of a cluster: the records are durable elsewhere.
  const written: (() => void)[] = [];
  vi.spyOn(journal, "mark", "get").mockReturnValue(null);
  vi.spyOn(journal, "whenWritten").mockImplementation((done) => void written.push(done));
  process.snapshots.request();
  await process.settled(() => written.length > 0);
  expect(process.reports).toEqual([]);
  vi.restoreAllMocks();
  for (const done of written) done();
  await process.settled(() => process.reports.length > 0);
  expect(process.reports).toMatchObject([{ failure: null }]);
});

test("no snapshot is taken if there are no new records", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(3);
  await process.snapshot();
  process.snapshots.request();
  await settle();
  await process.close();
  expect(process.reports).toHaveLength(1);
  const next = await StoreProcess.start({ folder, history });
  await next.close();
  expect(next.reports).toEqual([]);
});

test("after an orderly close the next start reads no record", async () => {
  const folder = folderOf();
  for (let round = 1; round <= 6; round++) {
    const process = await recovered(folder);
    expect(process.report.records).toBe(0);
    expect(process.report.sequence).toBe((round - 1) * 20);
    await process.commit(4);
    await process.close();
    expect(process.reports).toHaveLength(1);
  }
  expect(snapshotPaths(folder)).toHaveLength(2);
});

test("snapshots are taken as the log grows, and the folder stays small", async () => {
  const folder = folderOf();
  const everyBytes = 64 * 1024;
  // The header of a segment, 4 KiB, takes little of it.
  const segmentBytes = 32 * 1024;
  const process = await StoreProcess.start({ folder, history, everyBytes, segmentBytes });
  let most = 0;
  for (let i = 0; i < 240; i++) {
    await process.commit(1, 6);
    await settle();
    most = Math.max(most, namesIn(folder, "wal").length);
  }
  expect(process.reports.length).toBeGreaterThan(2);
  // Two rounds of the log, the current round, and spares.
  expect(most).toBeLessThan(3 * (everyBytes / segmentBytes) + 4);
  expect(snapshotPaths(folder)).toHaveLength(2);
  await recovered(folder);
});

test("a segment is removed only if neither snapshot needs it", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  for (let round = 0; round < 6; round++) {
    await process.commit(18);
    const report = await process.snapshot();
    const names = namesIn(folder, "wal").filter((name) => name.endsWith(".log"));
    const places = names.map((name) => parseSegmentName(name)!);
    if (round === 0) {
      expect(report).toMatchObject({ removedSegments: 0 });
      expect(places[0]!.number).toBe(1);
      continue;
    }
    const older = parseInt(snapshotPaths(folder)[1]!.split("/").at(-1)!, 16);
    // The first segment left contains the end of the older snapshot.
    expect(segmentOf(places, older)).toEqual(places[0]);
    for (const lost of snapshotPaths(folder)) {
      const twin = folderOf();
      fs.cpSync(folder, twin, { recursive: true });
      fs.rmSync(lost.replace(folder, twin));
      expect((await recovered(twin)).report.sequence).toBe(process.durable);
    }
  }
});

/** A start, three snapshots with records between and during them, and an orderly end. */
async function life(folder: string, disk: FakeDisk, seen: { durable: number }): Promise<void> {
  const process = await StoreProcess.start({ folder, history, disk, segmentBytes: 8 * 1024 });
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 3; i++) {
      await process.commit(1, 8);
      seen.durable = process.durable;
    }
    process.snapshots.request();
    await process.commit(1, 2);
    await process.settled(() => process.reports.length > round);
    seen.durable = process.durable;
  }
  await process.close();
}

/** Runs a life to its end or its death. @returns The last acknowledged record. */
async function liveOn(folder: string, disk: FakeDisk): Promise<number> {
  const seen = { durable: 0 };
  const over = { isTrue: false };
  const ended = life(folder, disk, seen).catch((error: unknown) => {
    if (!disk.isDead) throw error;
  });
  // The process has started before its first wait.
  const died = async () => {
    while (!disk.isDead && !over.isTrue) await settle();
  };
  await Promise.race([ended, died()]);
  over.isTrue = true;
  return seen.durable;
}

test.each(["kill", "losePower"] as const)(
  "%s at any change of the disk keeps every acknowledged record",
  { timeout: 120_000 },
  async (end) => {
    let at = 0;
    for (let isWhole = false; !isWhole; at++) {
      const folder = folderOf();
      const disk = diskOn(folder);
      disk.endAtChange(at + 1);
      const durable = await liveOn(folder, disk);
      isWhole = !disk.isDead;
      disk[end]();
      disk.decide = () => null;
      const next = await recovered(folder, disk);
      expect(next.report.sequence).toBeGreaterThanOrEqual(durable);
      await next.commit(1);
      expect(await next.snapshot()).toMatchObject({ failure: null });
      disk[end]();
      expect((await recovered(folder, disk)).report.sequence).toBe(next.durable);
      removeFolder(folder);
    }
    expect(at).toBeGreaterThan(80);
  },
);

test("a start removes the unfinished snapshot of a killed process", async () => {
  const folder = folderOf();
  const path = `${folder}/next.tmp`;
  fs.writeFileSync(path, "");
  const sql = fillSqlFile(path);
  sql.execute("CREATE TABLE a (b); BEGIN; INSERT INTO a VALUES (1)");
  sql.execute("COMMIT; BEGIN; UPDATE a SET b = 2");
  expect(fs.readdirSync(folder)).toEqual(["next.tmp"]);
  sql.close();
});
