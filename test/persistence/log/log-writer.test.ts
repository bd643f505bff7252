/** The journal: batches, marks, segments, admission. */
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { Admission } from "../../../engine/ports.ts";
import { type DiskFault, LogFailed } from "../../../persistence/disk/faults.ts";
import {
  FrameFlag,
  type FrameHeader,
  padToSector,
  readFrameHeader,
  SEGMENT_HEADER_BYTES,
} from "../../../persistence/log/frame.ts";
import { PENDING_BYTES_MAX, PENDING_RECORDS_MAX } from "../../../persistence/log/log-writer.ts";
import { openLog } from "../../../persistence/log/recover.ts";
import { FILL_STEP_BYTES, makeSpare, roomIn, Spares } from "../../../persistence/log/segments.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import type { Operation, Outcome } from "../../support/disk/process-disk.ts";
import {
  emptyDisk,
  LogProcess,
  ManualTime,
  segmentPaths,
  settle,
  STORE_ID,
} from "./log-fixture.ts";

/** The frames of the newest segment. */
function framesOf(disk: FakeDisk): FrameHeader[] {
  const bytes = disk.files().get(segmentPaths(disk).at(-1)!)!;
  const frames: FrameHeader[] = [];
  let at = SEGMENT_HEADER_BYTES;
  for (;;) {
    const header = readFrameHeader(bytes, at);
    if (header === null) return frames;
    frames.push(header);
    at += padToSector(header.frameBytes);
  }
}

test("all records of one turn are written as one frame with one sync", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  log.append(3);
  expect(log.durable).toEqual([]);
  await settle();
  expect(log.durable).toEqual([3]);
  expect(log.journal.stats).toMatchObject({ batches: 1, syncs: 1 });
  expect(framesOf(disk).map((frame) => frame.recordCount)).toEqual([0, 3]);
});

test("records that are appended during a sync are the next batch", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  log.append(1);
  disk.decide = (step) => {
    if (step.operation === "sync" && step.path.endsWith(".log") && log.durable.length === 0) {
      log.append(4);
    }
    return null;
  };
  await settle();
  expect(log.durable).toEqual([1, 5]);
  expect(log.journal.stats.batches).toBe(2);
});

test("without further records an idle marker writes the durable mark", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(2);
  await log.commit(1);
  expect(framesOf(disk).map((frame) => frame.durableSequence)).toEqual([0, 0, 2]);
  await log.time.pass(9);
  expect(framesOf(disk)).toHaveLength(3);
  await log.time.pass(1);
  const marker = framesOf(disk).at(-1)!;
  expect(marker).toMatchObject({ flags: FrameFlag.IDLE_MARKER, durableSequence: 3 });
  expect(marker).toMatchObject({ firstSequence: 4, recordCount: 0 });
  await log.time.pass(1_000);
  expect(framesOf(disk)).toHaveLength(4);
  expect(log.durable).toEqual([2, 3]);
});

test("a batch that is written before the idle marker replaces it", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(1);
  await log.time.pass(9);
  await log.commit(1);
  await log.time.pass(9);
  expect(framesOf(disk).map((frame) => frame.flags)).toEqual([FrameFlag.EPOCH_START, 0, 0]);
});

test("close waits for every record and writes the clean end", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  log.append(5);
  expect(log.journal.admission()).toBe(Admission.OPEN);
  const closed = log.close();
  expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
  await closed;
  expect(log.durable).toEqual([5]);
  const last = framesOf(disk).at(-1)!;
  expect(last).toMatchObject({ flags: FrameFlag.CLEAN_SHUTDOWN, durableSequence: 5 });
  expect([...disk.files().keys()]).toEqual(segmentPaths(disk));
});

test("a full segment on a full disk has space for the mark of a clean end", async () => {
  const disk = emptyDisk();
  disk.decide = ({ path }) => (path.includes("spare") ? { code: "ENOSPC" } : null);
  const log = await LogProcess.start({ disk, segmentBytes: 8 * 1024 });
  const frames = (8 * 1024 - SEGMENT_HEADER_BYTES) / 512 - 2;
  for (let i = 0; i < frames; i++) await log.commit(1, 0, true);
  expect(log.acknowledged).toBe(frames);
  await log.close();
  const next = await LogProcess.start({ disk });
  expect(next.report).toMatchObject({ records: frames, cleanShutdown: true });
});

test("no batch takes the sector of the clean end", async () => {
  const disk = emptyDisk();
  let full = true;
  disk.decide = ({ path }) => (full && path.includes("spare") ? { code: "ENOSPC" } : null);
  const log = await LogProcess.start({ disk, segmentBytes: 8 * 1024 });
  const frames = (8 * 1024 - SEGMENT_HEADER_BYTES) / 512 - 2;
  for (let i = 0; i < frames; i++) await log.commit(1, 0, true);
  expect(await log.commit(1, 0, true)).toBe(Admission.UNAVAILABLE);
  expect(log.acknowledged).toBe(frames);
  full = false;
  await log.time.pass(1_000);
  await log.commit(1, 0, true);
  expect(log.acknowledged).toBe(frames + 1);
});

test("a journal without a listener breaks an assertion", async () => {
  const time = new ManualTime();
  const { journal } = await openLog({
    disk: emptyDisk().process!,
    folder: "/data",
    storeId: STORE_ID,
    clock: time,
    runningMs: () => time.nowMs(),
    scheduler: time,
    replay: () => {},
    start: null,
    onFailure: () => {},
    segmentBytes: 8 * 1024,
  });
  expect(() => journal.durable(1)).toThrow(Broken);
});

test("a log that was closed without records starts again cleanly", async () => {
  const disk = emptyDisk();
  const first = await LogProcess.start({ disk });
  expect(first.report).toMatchObject({ epoch: 0, cleanShutdown: true, segments: 0 });
  await first.close();
  const second = await LogProcess.start({ disk });
  expect(second.report).toMatchObject({ epoch: 1, cleanShutdown: true, records: 0 });
});

test("a record longer than a segment is refused until a segment is long enough", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(1);
  expect(await log.commit(1, 300_000)).toBe(Admission.OVERLOADED);
  expect(log.durable).toEqual([1]);
  expect(await log.commit(1, 300_000)).toBe(Admission.OPEN);
  await log.commit(1);
  expect(log.durable).toEqual([1, 2, 3]);
  expect(segmentPaths(disk)).toHaveLength(2);
  await log.close();
  const next = await LogProcess.start({ disk });
  expect(next.report.records).toBe(3);
});

test("without space for a spare records are refused until there is space", async () => {
  const disk = emptyDisk();
  let full = false;
  disk.decide = ({ path, operation }) =>
    full && path.includes("spare") && operation === "create" ? { code: "ENOSPC" } : null;
  const log = await LogProcess.start({ disk });
  await settle();
  full = true;
  let admitted = 0;
  while (log.journal.admission() === Admission.OPEN && admitted < 1_000) {
    admitted += 1;
    await log.commit(1);
  }
  expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
  expect(log.acknowledged).toBe(admitted);
  // The current segment and the ready spare are used before any record is refused.
  expect(segmentPaths(disk)).toHaveLength(2);
  expect(log.failures).toEqual([]);
  expect([...disk.files().keys()]).toEqual(segmentPaths(disk));
  await log.time.pass(1_000);
  expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
  full = false;
  await log.time.pass(1_000);
  expect(log.journal.admission()).toBe(Admission.OPEN);
  await log.commit(1);
  await log.close();
  const next = await LogProcess.start({ disk });
  expect(next.report.records).toBe(admitted + 1);
});

test("a record longer than the log can keep is refused for good, and the log goes on", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(1);
  const recordBytesMax = 128 * 1024 * 1024;
  const tooLong = { recordBytes: expect.any(Number) as number, recordBytesMax };
  const first = log.append(1);
  const refused = log.append(1, recordBytesMax) as { recordBytes: number };
  expect([first, refused, log.append(1)]).toEqual([Admission.OPEN, tooLong, Admission.OPEN]);
  expect(refused.recordBytes - recordBytesMax).toBeGreaterThan(0);
  expect(refused.recordBytes - recordBytesMax).toBeLessThan(200);
  await settle();
  expect(await log.commit(1, recordBytesMax, true)).toEqual(tooLong);
  expect(log.durable).toEqual([1, 3]);
  expect(segmentPaths(disk)).toHaveLength(1);
  await log.close();
  expect((await LogProcess.start({ disk })).report).toMatchObject({ records: 3 });
});

const MEBIBYTE = 1024 * 1024;

/** Allows only spares of a mebibyte. */
function limitSpares(disk: FakeDisk): void {
  let writes = 0;
  disk.decide = ({ path, operation }) => {
    if (!path.includes("spare")) return null;
    if (operation !== "write") writes = 0;
    else writes += 1;
    return writes > MEBIBYTE / FILL_STEP_BYTES ? { code: "ENOSPC" } : null;
  };
}

test("a record that does not fit is refused, and smaller ones are accepted", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk, segmentBytes: MEBIBYTE });
  await settle();
  limitSpares(disk);
  const first = log.append(2);
  expect(log.append(1, 2 * MEBIBYTE)).toBe(Admission.OVERLOADED);
  expect([first, log.append(1)]).toEqual([Admission.OPEN, Admission.OPEN]);
  await settle();
  expect(log.durable).toEqual([3]);
  // More than the current segment and the ready spare: spares of usual length are still made.
  for (let i = 0; i < 40; i++) {
    expect(await log.commit(1, 2 * MEBIBYTE), `at ${i}`).toBe(Admission.UNAVAILABLE);
    await log.time.pass(1_000);
    expect(await log.commit(1, MEBIBYTE / 8), `at ${i}`).toBe(Admission.OPEN);
  }
  expect(segmentPaths(disk).length).toBeGreaterThan(2);
  disk.decide = () => null;
  await log.commit(1, 2 * MEBIBYTE);
  await log.time.pass(1_000);
  expect(await log.commit(1, 2 * MEBIBYTE)).toBe(Admission.OPEN);
  await log.close();
  const next = await LogProcess.start({ disk, segmentBytes: MEBIBYTE });
  expect(next.report).toMatchObject({ records: log.acknowledged, cleanShutdown: true });
});

test("a spare that was too long for the disk is tried again at the next request", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk, segmentBytes: MEBIBYTE });
  await settle();
  limitSpares(disk);
  await log.commit(1, 2 * MEBIBYTE);
  expect(await log.commit(1, 2 * MEBIBYTE)).toBe(Admission.UNAVAILABLE);
  // Tried once, because of the second request.
  await log.time.pass(1_000);
  expect(await log.commit(1, MEBIBYTE / 8)).toBe(Admission.OPEN);
  await log.time.pass(1_000);
  expect(await log.commit(1, 2 * MEBIBYTE)).toBe(Admission.OVERLOADED);
});

test("reserved space is left for follow-up records only", async () => {
  const disk = emptyDisk();
  disk.decide = ({ path }) => (path.includes("spare") ? { code: "ENOSPC" } : null);
  const log = await LogProcess.start({ disk, segmentBytes: 64 * 1024 });
  await settle();
  expect(log.append(1, 44 * 1024)).toBe(Admission.UNAVAILABLE);
  expect(log.append(1, 42 * 1024)).toBe(Admission.OPEN);
  expect(log.append(1, 2 * 1024)).toBe(Admission.UNAVAILABLE);
  expect(log.append(1, 15 * 1024, true)).toBe(Admission.OPEN);
  expect(log.append(1, 15 * 1024, true)).toBe(Admission.UNAVAILABLE);
  expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
  await settle();
  expect(log.durable).toEqual([2]);
});

test("the records of one command find no room together → none is written, others are", async () => {
  const disk = emptyDisk();
  disk.decide = ({ path }) => (path.includes("spare") ? { code: "ENOSPC" } : null);
  const log = await LogProcess.start({ disk, segmentBytes: 64 * 1024 });
  await settle();
  expect(log.append(1, 10 * 1024)).toBe(Admission.OPEN);
  expect(log.appendAll(3, 14 * 1024)).toBe(Admission.UNAVAILABLE);
  expect(log.appendAll(2, 14 * 1024)).toBe(Admission.OPEN);
  await settle();
  expect(log.durable).toEqual([3]);
  expect(framesOf(disk).at(-1)).toMatchObject({ recordCount: 3 });
});

test("a batch in flight reduces the space for the next records", async () => {
  const disk = emptyDisk();
  disk.decide = ({ path }) => (path.includes("spare") ? { code: "ENOSPC" } : null);
  const log = await LogProcess.start({ disk, segmentBytes: 64 * 1024 });
  await settle();
  const inFlight: unknown[] = [];
  disk.decide = ({ path, operation }) => {
    if (operation === "sync" && path.endsWith(".log") && inFlight.length === 0) {
      inFlight.push(log.journal.admission(), log.append(1, 30 * 1024));
    }
    return path.includes("spare") ? { code: "ENOSPC" } : null;
  };
  await log.commit(1, 30 * 1024);
  expect(inFlight).toEqual([Admission.OPEN, Admission.UNAVAILABLE]);
  expect(log.durable).toEqual([1]);
});

test("while a spare becomes a segment, the log accepts records that fit into it", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk, segmentBytes: 64 * 1024 });
  await settle();
  const during: unknown[] = [];
  disk.decide = ({ path, operation }) => {
    if (operation === "rename" && path.includes("spare")) during.push(log.append(1, 20 * 1024));
    return null;
  };
  await log.commit(1, 40 * 1024);
  await log.commit(1, 20 * 1024);
  expect(during).toEqual([Admission.OPEN]);
  expect(log.durable).toEqual([1, 3]);
  expect(segmentPaths(disk)).toHaveLength(2);
});

test("while too many bytes wait for the disk, records are refused", async () => {
  const log = await LogProcess.start({ disk: emptyDisk(), segmentBytes: 64 * 1024 * 1024 });
  await settle();
  const { journal } = log;
  while (journal.stats.pendingBytes <= PENDING_BYTES_MAX) {
    expect(journal.admission()).toBe(Admission.OPEN);
    log.append(1, 1024 * 1024);
  }
  expect(journal.admission()).toBe(Admission.OVERLOADED);
  await settle();
  expect(journal.admission()).toBe(Admission.OPEN);
});

test("while too many records wait for the disk, others are refused", async () => {
  const log = await LogProcess.start({ disk: emptyDisk(), segmentBytes: 16 * 1024 * 1024 });
  await settle();
  log.append(PENDING_RECORDS_MAX - 1);
  expect(log.journal.admission()).toBe(Admission.OPEN);
  log.append(1);
  expect(log.journal.admission()).toBe(Admission.OVERLOADED);
  await settle();
  expect(log.durable).toEqual([PENDING_RECORDS_MAX]);
  expect(log.journal.admission()).toBe(Admission.OPEN);
});

// The journal on a failing disk: acknowledgements, reports, and the next start.

/** Gives another outcome to the k-th operation of this kind on the log. */
function atLogStep(disk: FakeDisk, operation: Operation, k: number, outcome: Outcome): void {
  let seen = 0;
  disk.decide = (step) => {
    if (step.operation !== operation || !step.path.endsWith(".log")) return null;
    seen += 1;
    return seen === k ? outcome : null;
  };
}

test("after a failed sync nothing is acknowledged, and the failure is reported once", async () => {
  for (let k = 1; k <= 6; k++) {
    const disk = emptyDisk();
    const log = await LogProcess.start({ disk });
    atLogStep(disk, "sync", k, { code: "EIO" });
    for (let i = 0; i < 10; i++) await log.commit(2);
    expect(log.durable).toHaveLength(k - 1);
    expect(log.failures).toHaveLength(1);
    expect(log.failures[0]).toMatchObject({ exitCode: 70, cause: { code: "EIO" } });
    expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
    await log.time.pass(5_000);
    expect(log.durable).toHaveLength(k - 1);
    await expect(log.close()).rejects.toThrow(LogFailed);
    expect(log.failures).toHaveLength(1);
  }
});

test("close fails if a file cannot be closed", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(1);
  disk.decide = ({ operation }) => (operation === "close" ? { code: "EIO" } : null);
  await expect(log.close()).rejects.toMatchObject({ cause: { operation: "close" } });
});

test("a segment that cannot be started fails the log", async () => {
  for (const operation of ["write", "sync", "rename", "close"] as const) {
    const disk = emptyDisk();
    const log = await LogProcess.start({ disk, segmentBytes: 16 * 1024 });
    await settle();
    disk.decide = (step) =>
      step.operation === operation && (operation === "close" || step.path.includes("spare"))
        ? { code: "EIO" }
        : null;
    for (let i = 0; i < 40 && log.failures.length === 0; i++) await log.commit(1);
    expect(log.failures).toMatchObject([{ cause: { code: "EIO", operation } }]);
    const { acknowledged } = log;
    disk.kill();
    disk.decide = () => null;
    const next = await LogProcess.start({ disk });
    expect(next.report.records).toBeGreaterThanOrEqual(acknowledged);
  }
});

// Spares are ready before they are needed, long enough, and removed in the end.

const SEGMENT_BYTES = 16 * 1024;

function sparesOn(disk: FakeDisk) {
  const time = new ManualTime();
  let readyCount = 0;
  const spares = new Spares({
    disk: disk.process!,
    scheduler: time,
    folder: "/data",
    segmentBytes: SEGMENT_BYTES,
    onReady: () => (readyCount += 1),
  });
  return { spares, time, readyCount: () => readyCount };
}

function closing(spares: Spares): Promise<DiskFault | null> {
  return new Promise((resolve) => spares.close(resolve));
}

test("a spare is a file of zeros that survives a power cut", async () => {
  const disk = emptyDisk();
  const bytes = 2 * 1024 * 1024 + 512;
  await new Promise((resolve) => makeSpare(disk.process!, "/data/a.tmp", bytes, resolve));
  disk.process!.syncFolderNow("/data");
  disk.losePower();
  expect(disk.files().get("/data/a.tmp")!.equals(Buffer.alloc(bytes))).toBe(true);
});

test("a spare is made once per request, and its taker owns it", async () => {
  const disk = emptyDisk();
  const { spares, readyCount } = sparesOn(disk);
  expect(spares.roomBytes).toBe(0);
  spares.request(0);
  spares.request(100);
  await settle();
  expect(readyCount()).toBe(1);
  expect(spares.roomBytes).toBe(roomIn(SEGMENT_BYTES));
  expect(spares.take(spares.roomBytes + 1)).toBeNull();
  expect(spares.take(spares.roomBytes)!.bytes).toBe(SEGMENT_BYTES);
  expect(spares.roomBytes).toBe(0);
  expect(await closing(spares)).toBeNull();
  expect(disk.files().size).toBe(1);
});

test("a spare that is too small is replaced by a longer one", async () => {
  for (const wait of [settle, () => Promise.resolve()]) {
    const disk = emptyDisk();
    const { spares } = sparesOn(disk);
    spares.request(0);
    await wait();
    spares.request(100_000);
    await settle();
    expect(spares.roomBytes).toBeGreaterThanOrEqual(100_000 + roomIn(SEGMENT_BYTES));
    expect(disk.files().size).toBe(1);
  }
});

test("a ready spare stays while there is no space for a longer one", async () => {
  const disk = emptyDisk();
  const { spares, time } = sparesOn(disk);
  spares.request(0);
  await settle();
  disk.decide = ({ operation }) => (operation === "write" ? { code: "ENOSPC" } : null);
  spares.request(100_000);
  await settle();
  expect(spares.fault).toMatchObject({ code: "ENOSPC" });
  expect(spares.roomBytes).toBe(roomIn(SEGMENT_BYTES));
  disk.decide = () => null;
  // Without another request it is not tried again: the disk is not filled repeatedly.
  await time.pass(1_000);
  expect(spares.roomBytes).toBe(roomIn(SEGMENT_BYTES));
  spares.request(100_000);
  await settle();
  expect(spares.roomBytes).toBeGreaterThanOrEqual(100_000);
  expect(spares.fault).toBeNull();
});

test("a spare that cannot be made leaves no file, and is tried again", async () => {
  for (const operation of ["create", "write", "sync"] as const) {
    const disk = emptyDisk();
    const { spares, time, readyCount } = sparesOn(disk);
    disk.decide = (step) => (step.operation === operation ? { code: "ENOSPC" } : null);
    spares.request(0);
    await settle();
    expect(spares.fault).toMatchObject({ code: "ENOSPC", operation });
    expect(disk.files().size).toBe(0);
    await time.pass(999);
    disk.decide = () => null;
    await time.pass(0);
    expect(readyCount()).toBe(0);
    await time.pass(1);
    expect(readyCount()).toBe(1);
    expect(spares.fault).toBeNull();
  }
});

test("close removes the spare, even one that is being made, and stops retrying", async () => {
  for (const code of [null, "ENOSPC"]) {
    for (const wait of [settle, () => Promise.resolve()]) {
      const disk = emptyDisk();
      const { spares, time } = sparesOn(disk);
      if (code !== null) disk.decide = (s) => (s.operation === "write" ? { code } : null);
      spares.request(0);
      await wait();
      await closing(spares);
      spares.request(0);
      await time.pass(5_000);
      expect(disk.files().size).toBe(0);
    }
  }
});
