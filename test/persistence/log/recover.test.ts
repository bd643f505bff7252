/** Recovery finds every acknowledged record and only whole batches; damage halts it. */
import { expect, test } from "vitest";
import { LogCorrupt } from "../../../persistence/disk/faults.ts";
import { type ChainMark, readLog } from "../../../persistence/log/log-reader.ts";
import { SEGMENT_HEADER_BYTES } from "../../../persistence/log/frame.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import {
  type Files,
  LogProcess,
  STORE_ID,
  copyDisk,
  emptyDisk,
  sameFiles,
  settle,
  timeOf,
} from "./log-fixture.ts";

const SECTOR_BYTES = 512;
const SEGMENT_BYTES = 16 * 1024;

async function startedOn(disk: FakeDisk): Promise<LogProcess> {
  const log = await LogProcess.start({ disk, segmentBytes: SEGMENT_BYTES });
  log.expectWhole();
  return log;
}

/** A log of several segments and two epochs after a kill; nothing covers its last batch. */
async function killedLog(): Promise<{ files: Files; records: number }> {
  const disk = emptyDisk();
  const first = await startedOn(disk);
  for (let i = 0; i < 30; i++) await first.commit(1 + (i % 5));
  await first.close();
  const second = await startedOn(disk);
  for (let i = 0; i < 30; i++) await second.commit(1 + (i % 7));
  return { files: disk.files(), records: second.acknowledged };
}

async function corruptionIn(disk: FakeDisk): Promise<LogCorrupt> {
  const before = disk.files();
  const fault = await startedOn(disk).then(
    () => null,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(LogCorrupt);
  expect(sameFiles(disk.files(), before)).toBe(true);
  return fault as LogCorrupt;
}

function newestOf(files: Files): { path: string; bytes: Buffer } {
  const path = [...files.keys()].findLast((name) => name.endsWith(".log"))!;
  return { path, bytes: Buffer.from(files.get(path)!) };
}

/** The end of the last non-zero byte, rounded up to a whole sector. */
function usedBytes(bytes: Buffer): number {
  const last = bytes.findLastIndex((byte) => byte !== 0);
  return Math.ceil((last + 1) / SECTOR_BYTES) * SECTOR_BYTES;
}

test("the mark of a snapshot is the end of a batch, with its chain", async () => {
  const disk = emptyDisk();
  const log = await startedOn(disk);
  await log.commit(3);
  const { chain } = log.journal.mark!;
  const read = (mark: ChainMark) => {
    const reading = {
      disk: disk.begin(),
      folder: "/data",
      storeId: STORE_ID,
      replay: () => {},
    };
    return readLog({ ...reading, start: { sequence: 1, mark } }).segments;
  };
  expect(read({ sequence: 3, chain })).toBe(1);
  expect(() => read({ sequence: 2, chain })).toThrow("a batch up to record 2");
  expect(() => read({ sequence: 3, chain: Buffer.alloc(16) })).toThrow("chain 0000");
});

test("the report of a recovery counts records, segments, epochs and torn bytes", async () => {
  const { files, records } = await killedLog();
  const log = await startedOn(copyDisk(files));
  expect(log.report).toMatchObject({
    records,
    sequence: records,
    timeMs: timeOf(records),
    epoch: 2,
    cleanShutdown: false,
    tornBytes: 0,
    segments: [...files.keys()].filter((path) => path.endsWith(".log")).length,
  });
});

test("a cut at any byte of the last three batches drops whole batches only", async () => {
  const disk = emptyDisk();
  const log = await startedOn(disk);
  await log.commit(2);
  const ends: { bytes: number; records: number }[] = [];
  for (const count of [8, 1, 12]) {
    ends.push({ bytes: usedBytes(newestOf(disk.files()).bytes), records: log.acknowledged });
    await log.commit(count);
  }
  const files = disk.files();
  const { path, bytes } = newestOf(files);
  const end = usedBytes(bytes);
  ends.push({ bytes: end, records: log.acknowledged });
  for (let cut = ends[0]!.bytes; cut <= end; cut++) {
    // The file ends there, or its space was allocated and never written.
    for (const left of [bytes.subarray(0, cut), Buffer.from(bytes).fill(0, cut)]) {
      const isIntact = (length: number) =>
        left.subarray(0, length).equals(bytes.subarray(0, length));
      const kept = ends.findLast((batch) => isIntact(batch.bytes))!;
      const cutDisk = copyDisk(new Map(files).set(path, left));
      const next = await startedOn(cutDisk);
      expect(next.report.records).toBe(kept.records);
      expect(next.report.tornBytes > 0).toBe(next.report.tornSegment !== null);
      expect(cutDisk.files().has(`${path}.broken`)).toBe(next.report.tornBytes > 0);
    }
  }
});

test("any sectors of the batch that was not synced may be lost or garbled", async () => {
  const disk = emptyDisk();
  const log = await startedOn(disk);
  await log.commit(2);
  const start = usedBytes(newestOf(disk.files()).bytes);
  log.append(28);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { dies: true } : null;
  await settle();
  disk.kill();
  const files = disk.files();
  const { path, bytes } = newestOf(files);
  const sectors = (usedBytes(bytes) - start) / SECTOR_BYTES;
  expect(sectors).toBe(5);
  for (const fill of [0, 0xa5]) {
    for (let subset = 0; subset < 2 ** sectors; subset++) {
      const damaged = Buffer.from(bytes);
      for (let i = 0; i < sectors; i++) {
        const at = start + i * SECTOR_BYTES;
        if ((subset & (1 << i)) !== 0) damaged.fill(fill, at, at + SECTOR_BYTES);
      }
      const next = await startedOn(copyDisk(new Map(files).set(path, damaged)));
      expect(next.report.records).toBe(subset === 0 ? 30 : 2);
    }
  }
});

test("a changed bit in covered data halts the start, and no file is changed", async () => {
  const { files } = await killedLog();
  const newest = newestOf(files);
  let trials = 0;
  for (const [path, bytes] of files) {
    const used = usedBytes(bytes);
    const coveredBytes = path === newest.path ? SEGMENT_HEADER_BYTES + SECTOR_BYTES : used;
    for (let at = 0; at < coveredBytes; at += 1 + (at % 13)) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1 << (at % 8);
      const fault = await corruptionIn(copyDisk(new Map(files).set(path, damaged)));
      expect(fault.exitCode).toBe(78);
      expect(fault.segment).toBe(path);
      expect(fault.offset).toBeLessThanOrEqual(at);
      expect(fault.message).toContain(path);
      trials += 1;
    }
  }
  expect(trials).toBeGreaterThan(1_000);
});

test("a damaged marker before a batch halts", async () => {
  const disk = emptyDisk();
  const log = await startedOn(disk);
  await log.commit(1);
  await log.time.pass(10);
  await log.commit(1);
  const files = disk.files();
  const { path, bytes } = newestOf(files);
  bytes[usedBytes(bytes) - 2 * SECTOR_BYTES]! ^= 1;
  const fault = await corruptionIn(copyDisk(new Map(files).set(path, bytes)));
  expect(fault.message).toContain("a later frame");
});

test("a changed bit before a marker, or in a full segment's zeros, halts the start", async () => {
  for (const finish of ["marker", "close"] as const) {
    const disk = emptyDisk();
    const log = await startedOn(disk);
    await log.commit(9);
    if (finish === "close") await log.close();
    else await log.time.pass(10);
    const files = disk.files();
    const { path, bytes } = newestOf(files);
    const start = SEGMENT_HEADER_BYTES + SECTOR_BYTES;
    for (let at = start; at < usedBytes(bytes) - SECTOR_BYTES; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1 << (at % 8);
      await corruptionIn(copyDisk(new Map(files).set(path, damaged)));
    }
  }
  const { files } = await killedLog();
  const path = [...files.keys()].find((name) => name.endsWith(".log"))!;
  const damaged = Buffer.from(files.get(path)!);
  damaged[damaged.length - 1] = 1;
  expect((await corruptionIn(copyDisk(new Map(files).set(path, damaged)))).segment).toBe(path);
});

test("data after a clean end halts the start", async () => {
  const disk = emptyDisk();
  const log = await startedOn(disk);
  await log.commit(1);
  await log.close();
  const files = disk.files();
  const { path, bytes } = newestOf(files);
  bytes[usedBytes(bytes) + 700] = 1;
  const fault = await corruptionIn(copyDisk(new Map(files).set(path, bytes)));
  expect(fault.expected).toBe("zeros after a clean end");
});

test("the torn segment is kept beside its copy", async () => {
  const { files } = await killedLog();
  const { path, bytes } = newestOf(files);
  bytes.write("torn", usedBytes(bytes) + 100);
  const disk = copyDisk(new Map(files).set(path, bytes));
  const log = await startedOn(disk);
  expect(log.report.tornBytes).toBe(104);
  const kept = disk.files().get(`${path}.broken`)!;
  expect(kept).toEqual(bytes.subarray(0, kept.length));
  expect(kept.subarray(-4).toString()).toBe("torn");
  expect(disk.files().get(path)!).toEqual(bytes.subarray(0, kept.length - 104));
});

test("a torn byte far beyond the end, in a segment of full length, is found", async () => {
  const disk = emptyDisk();
  const segmentBytes = 64 * 1024 * 1024;
  const log = await LogProcess.start({ disk, segmentBytes });
  await log.commit(1);
  await settle();
  disk.kill();
  const { path, bytes } = newestOf(disk.files());
  const start = usedBytes(bytes);
  for (const at of [start, start + 70_000, segmentBytes - 200_000, segmentBytes - 1]) {
    // The first segment of a process is shorter.
    const damaged = Buffer.alloc(segmentBytes);
    bytes.copy(damaged);
    damaged[at] = 1;
    const next = await startedOn(copyDisk(new Map([[path, damaged]])));
    expect(next.report).toMatchObject({ records: 1, tornBytes: at + 1 - start });
  }
});

test("a failed read halts the start, and is not the end of the log", async () => {
  const { files } = await killedLog();
  const disk = copyDisk(files);
  const { path } = newestOf(files);
  disk.decide = (step) =>
    step.operation === "read" && step.path === path ? { code: "EIO" } : null;
  await expect(startedOn(disk)).rejects.toMatchObject({ code: "EIO", exitCode: 74 });
  expect(sameFiles(disk.files(), files)).toBe(true);
});

test("records whose sync failed are durable after the next start that finds them", async () => {
  const disk = emptyDisk();
  const log = await startedOn(disk);
  await log.commit(3);
  disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { code: "EIO" } : null;
  await log.commit(2);
  expect(log.durable).toEqual([3]);
  expect(log.failures).toHaveLength(1);
  disk.kill();
  disk.decide = () => null;
  const second = await startedOn(disk);
  // The start read them from the cache, so they may be observed from now on.
  expect(second.report.records).toBe(5);
  await second.commit(1);
  disk.losePower();
  const third = await startedOn(disk);
  expect(third.report.records).toBe(6);
});

test("unfinished files of an earlier start are removed", async () => {
  const { files, records } = await killedLog();
  const disk = copyDisk(files);
  disk.plant("/data/wal/spare-9.tmp", Buffer.alloc(100));
  disk.plant(`${newestOf(files).path}.tmp`, Buffer.alloc(100));
  const log = await startedOn(disk);
  expect(log.report.records).toBe(records);
  await log.close();
  expect([...disk.files().keys()].filter((path) => path.endsWith(".tmp"))).toEqual([]);
});
