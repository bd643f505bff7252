/** Spares are ready before they are needed, long enough, and removed in the end. */
import { expect, test } from "vitest";
import type { DiskFault } from "../../../persistence/disk/faults.ts";
import { Spares, makeSpare, roomIn } from "../../../persistence/log/segments.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import { ManualTime, emptyDisk, settle } from "./log-fixture.ts";

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

function closed(spares: Spares): Promise<DiskFault | null> {
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
  expect(await closed(spares)).toBeNull();
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
      await closed(spares);
      spares.request(0);
      await time.pass(5_000);
      expect(disk.files().size).toBe(0);
    }
  }
});
