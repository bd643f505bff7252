/** An intact frame or header in the wrong place is damage. */
import { expect, onTestFinished, test } from "vitest";
import { LogCorrupt } from "../../../persistence/disk/faults.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import {
  chainOfStore,
  encodeSegmentHeader,
  FrameFlag,
  type FrameHeader,
  LOG_VERSION,
  sealFrame,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from "../../../persistence/log/frame.ts";
import {
  LogFollower,
  LogScan,
  type LogStart,
  readLog,
} from "../../../persistence/log/log-reader.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import { emptyDisk, LogProcess, segmentPaths, STORE_ID } from "./log-fixture.ts";

const CHAIN = chainOfStore(STORE_ID);
const HEADER: SegmentHeader = {
  storeId: STORE_ID,
  number: 1,
  firstSequence: 1,
  epoch: 1,
  chain: CHAIN,
  createdAtMs: 0,
};
const START: FrameHeader = {
  version: LOG_VERSION,
  flags: FrameFlag.EPOCH_START,
  firstSequence: 1,
  durableSequence: 0,
  epoch: 1,
  recordCount: 0,
  offset: SEGMENT_HEADER_BYTES,
  frameBytes: 64,
};
const MARKER: FrameHeader = {
  ...START,
  flags: FrameFlag.IDLE_MARKER,
  offset: SEGMENT_HEADER_BYTES + 512,
};

interface Parts {
  readonly header?: Partial<SegmentHeader>;
  readonly frames?: readonly FrameHeader[];
  readonly newest?: boolean;
}

/** Scans a first segment with valid checksums. */
function scan(parts: Parts): LogScan {
  let chain: Uint8Array = CHAIN;
  const frames = (parts.frames ?? [START]).map((header) => {
    const frame = Buffer.alloc(512);
    chain = sealFrame(frame, header, chain);
    return frame;
  });
  const block = encodeSegmentHeader({ ...HEADER, ...parts.header });
  const bytes = Buffer.concat([block, ...frames, Buffer.alloc(1_024)]);
  const log = new LogScan(STORE_ID, () => {});
  const place = { number: 1, firstSequence: 1 };
  log.segment({ path: "1.log", place, bytes, newest: parts.newest ?? true });
  return log;
}

function damageIn(parts: Parts): LogCorrupt {
  try {
    scan(parts);
  } catch (error) {
    if (error instanceof LogCorrupt) return error;
    throw error;
  }
  throw new Error("no damage was found");
}

test("an epoch with its markers is a valid log", () => {
  expect(scan({ frames: [START, MARKER] })).toMatchObject({ epoch: 1, sequence: 0, clean: false });
  expect(scan({ frames: [START, { ...MARKER, flags: FrameFlag.CLEAN_SHUTDOWN }] }).clean).toBe(
    true,
  );
});

test("a header of another segment is damage at byte 0", () => {
  const cases: [Partial<SegmentHeader>, string][] = [
    [{ storeId: STORE_ID.replace("0b", "0c") }, `store ${STORE_ID}`],
    [{ number: 2 }, "segment 1"],
    [{ firstSequence: 2 }, "sequence 1"],
    [{ epoch: 2 }, "epoch 1"],
    [{ epoch: 0 }, "epoch 1"],
    [{ chain: Buffer.alloc(16, 1) }, `chain ${CHAIN.toString("hex")}`],
  ];
  for (const [header, expected] of cases) {
    expect(damageIn({ header })).toMatchObject({ segment: "1.log", offset: 0, expected });
  }
});

test("an intact frame that is out of place is damage at its offset", () => {
  const cases: [Partial<FrameHeader>, string][] = [
    [{ offset: SEGMENT_HEADER_BYTES }, "a frame of byte 4608"],
    [{ epoch: 2 }, "epoch 1"],
    [{ firstSequence: 2, durableSequence: 0 }, "sequence 1"],
    [{ firstSequence: 2, durableSequence: 1 }, "sequence 1"],
    [{ flags: 8 }, "known flags"],
    [{ recordCount: 1 }, "no records in a marker"],
    [{ flags: FrameFlag.EPOCH_START }, "the start of an epoch at its first frame only"],
    [{ flags: 0, recordCount: 1 }, "4 further bytes"],
    [{ flags: 0, frameBytes: 65 }, "0 records"],
  ];
  for (const [change, expected] of cases) {
    const damage = damageIn({ frames: [START, { ...MARKER, ...change }] });
    expect(damage).toMatchObject({ offset: SEGMENT_HEADER_BYTES + 512, expected });
  }
});

test("a frame of a later version is not damage", () => {
  const frames = [START, { ...MARKER, version: LOG_VERSION + 1 }];
  expect(() => scan({ frames })).toThrow(OtherFormat);
});

test("an epoch that does not begin with its start frame is damage", () => {
  const offset = SEGMENT_HEADER_BYTES;
  expect(damageIn({ frames: [{ ...MARKER, offset }] })).toMatchObject({ offset });
  expect(damageIn({ frames: [] })).toMatchObject({ expected: "the first frame of an epoch" });
});

test("a frame after a clean end is damage", () => {
  const end = { ...MARKER, flags: FrameFlag.CLEAN_SHUTDOWN };
  const frames = [START, end, { ...MARKER, offset: MARKER.offset + 512 }];
  expect(damageIn({ frames }).expected).toBe("nothing after a clean end");
});

test("reading may continue in a segment that has no frame yet", () => {
  const log = new LogScan(STORE_ID, () => {}, {
    sequence: 40,
    mark: { sequence: 40, chain: CHAIN },
  });
  const block = encodeSegmentHeader({ ...HEADER, number: 5, firstSequence: 41, epoch: 3 });
  const bytes = Buffer.concat([block, Buffer.alloc(1_024)]);
  const place = { number: 5, firstSequence: 41 };
  const extent = log.segment({ path: "5.log", place, bytes, newest: true });
  expect(extent).toEqual({ validBytes: SEGMENT_HEADER_BYTES, tornBytes: 0 });
  expect(log).toMatchObject({ number: 5, sequence: 40, epoch: 3, clean: false });
});

// Reading a log while it is written; what is missing is reported with its place.

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
