/** An intact frame or header in the wrong place is damage. */
import { expect, test } from "vitest";
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
import { LogScan } from "../../../persistence/log/log-reader.ts";
import { STORE_ID } from "./log-fixture.ts";

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

test("a frame with another chain is damage", () => {
  const other = Buffer.alloc(512);
  sealFrame(other, START, Buffer.alloc(16, 1));
  const log = new LogScan(STORE_ID, () => {});
  const bytes = Buffer.concat([encodeSegmentHeader(HEADER), other]);
  const place = { number: 1, firstSequence: 1 };
  expect(() => log.segment({ path: "1.log", place, bytes, newest: true })).toThrow(/chain/);
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
