/** Reading a log while it is written; what is missing is reported with its place. */
import { expect, onTestFinished, test } from "vitest";
import { LogCorrupt } from "../../../persistence/disk/faults.ts";
import { LogFollower, type LogStart, readLog } from "../../../persistence/log/log-reader.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import { emptyDisk, LogProcess, segmentPaths, STORE_ID } from "./log-fixture.ts";

const SEGMENT_BYTES = 8 * 1024;

async function logOf(batches: number): Promise<{ disk: FakeDisk; log: LogProcess }> {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk, segmentBytes: SEGMENT_BYTES });
  for (let i = 0; i < batches; i++) await log.commit(2);
  return { disk, log };
}

function followerOf(disk: FakeDisk, start: LogStart | null = null) {
  const sequences: number[] = [];
  const replay = (sequence: number) => void sequences.push(sequence);
  const follower = new LogFollower({
    disk: disk.process!,
    folder: "/data",
    storeId: STORE_ID,
    start,
    replay,
  });
  onTestFinished(() => follower.close());
  return { follower, sequences };
}

test("it follows a growing log over segments, and reads each record once", async () => {
  const { disk, log } = await logOf(5);
  const { follower, sequences } = followerOf(disk);
  for (let round = 0; round < 12; round++) {
    follower.read(log.acknowledged);
    expect(sequences.length).toBe(log.acknowledged);
    await log.commit(3, 600);
  }
  expect(sequences).toEqual(sequences.map((_, i) => i + 1));
  expect(segmentPaths(disk).length).toBeGreaterThan(3);
});

test("frames are read whole, whatever part of them was read ahead", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk, segmentBytes: 8 * 1024 * 1024 });
  const { follower, sequences } = followerOf(disk);
  const late = followerOf(disk);
  for (const bytes of [400_000, 400_000, 400_000, 2_500_000, 10, 1_048_000, 900_000, 600_000]) {
    await log.commit(1, bytes);
    await log.commit(2);
    follower.read(log.acknowledged);
    expect(sequences.length).toBe(log.acknowledged);
  }
  late.follower.read(log.acknowledged);
  expect(late.sequences).toEqual(sequences);
});

test("a missing log is reported with the first missing record", async () => {
  const disk = emptyDisk();
  const at = (start: LogStart | null) => () => followerOf(disk, start).follower.read(9);
  expect(at(null)).toThrow("expected record 1, found none after record 0");
  const mark = { sequence: 5, chain: Buffer.alloc(16) };
  expect(at({ sequence: 5, mark })).toThrow("expected record 6, found none after record 0");
  const all = { disk: disk.process!, folder: "/data", storeId: STORE_ID, replay: () => {} };
  const read = () => readLog({ ...all, start: { sequence: 5, mark } });
  expect(read).toThrow("expected a segment with record 5, found no segment");
});

test("a missing segment is reported with its number", async () => {
  const { disk, log } = await logOf(30);
  const paths = segmentPaths(disk);
  disk.plant(paths[1]!, null);
  const { follower, sequences } = followerOf(disk);
  const read = () => follower.read(log.acknowledged);
  expect(read).toThrow("expected segment 2, found none after record 12");
  expect(sequences.at(-1)).toBe(12);
  disk.plant(paths[0]!, null);
  const all = { disk: disk.process!, folder: "/data", storeId: STORE_ID, replay: () => {} };
  const start = { sequence: 5, mark: { sequence: 6, chain: Buffer.alloc(16) } };
  const first = paths[2]!.slice("/data/wal/".length);
  expect(() => readLog({ ...all, start })).toThrow(`record 5, found ${first} as the first`);
});

test("a segment that ends before the wanted record is damage", async () => {
  const { disk, log } = await logOf(4);
  const [path] = segmentPaths(disk);
  const { follower } = followerOf(disk);
  follower.read(4);
  disk.plant(
    path!,
    disk
      .files()
      .get(path!)!
      .subarray(0, 4_096 + 512),
  );
  const { follower: other, sequences } = followerOf(disk);
  expect(() => other.read(log.acknowledged)).toThrow(LogCorrupt);
  expect(sequences).toEqual([]);
});

test("a file that shrinks while it is read is damage, not the end of the log", async () => {
  const { disk, log } = await logOf(4);
  const [path] = segmentPaths(disk);
  const process = disk.process!;
  const open = process.openNow.bind(process);
  process.openNow = (name) => {
    const file = open(name);
    file.readNow = () => 0;
    return file;
  };
  const { follower } = followerOf(disk);
  const read = () => follower.read(log.acknowledged);
  expect(read).toThrow(`${path} at byte 0: expected more bytes, found none`);
});
