/** The bytes of a frame are frozen, and each bit is checked. */
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import { decodeRecord } from "../../../persistence/log/codec.ts";
import {
  chainAfter,
  chainOfStore,
  decodeSegmentHeader,
  encodeSegmentHeader,
  FrameFlag,
  type FrameHeader,
  LOG_VERSION,
  padToSector,
  parseSegmentName,
  payloadIsIntact,
  readChain,
  readFrameHeader,
  sealFrame,
  SEGMENT_HEADER_BYTES,
  segmentName,
} from "../../../persistence/log/frame.ts";
import { Batch } from "../../../persistence/log/log-writer.ts";
import { recordOf, STORE_ID, timeOf } from "./log-fixture.ts";

const FACTS = { flags: 0, firstSequence: 6, durableSequence: 5, epoch: 3, offset: 4_608 };

function sealed(records: number): { frame: Buffer; chain: Buffer } {
  const batch = new Batch();
  for (let i = 1; i <= records; i++) batch.add(timeOf(i), recordOf(i));
  return batch.seal(FACTS, chainOfStore(STORE_ID));
}

// A change of these makes old logs unreadable: `persistence/FORMATS.md` says what to
// do before the bytes here change.
const GOLDEN_HEADER =
  "4652574697000000cd0bd82e0100000006000000000000000500000000000000030000000100000027fbe8f9" +
  "090000002348530c28cfe8c3970b815a8ceaaded";
const GOLDEN_RECORD =
  "57000000020200000010c006450c7a42" +
  "01070000000000000001010000000100000000107ae2450c7a42" +
  "090073657373696f6e2d31040043415254" +
  "020000000100000001000000" +
  "03000000010000000100000002000000";

test("the bytes of a frame are frozen", () => {
  const { frame } = sealed(1);
  expect(LOG_VERSION).toBe(1);
  expect(frame).toHaveLength(512);
  expect(frame.toString("hex", 0, 64)).toBe(GOLDEN_HEADER);
  expect(frame.toString("hex", 64, 151)).toBe(GOLDEN_RECORD);
  expect(frame.subarray(151).every((byte) => byte === 0)).toBe(true);
});

test("a move of version 1 → it is read as one of version 2", () => {
  const bytes = Buffer.from(GOLDEN_RECORD, "hex");
  for (const version of [1, 2]) {
    bytes[5] = version;
    expect(decodeRecord(bytes, 1)).toEqual({ sequence: 1, timeMs: timeOf(1), record: recordOf(1) });
  }
});

test("the codes of the flags are frozen", () => {
  expect(FrameFlag).toEqual({ EPOCH_START: 1, IDLE_MARKER: 2, CLEAN_SHUTDOWN: 4 });
});

test("a frame header has the values that were sealed", () => {
  const { frame, chain } = sealed(20);
  const header = readFrameHeader(frame, 0)!;
  expect(header).toMatchObject({ ...FACTS, version: LOG_VERSION, recordCount: 20 });
  expect(padToSector(header.frameBytes)).toBe(frame.length);
  expect(payloadIsIntact(frame)).toBe(true);
  expect(readChain(frame)).toEqual(chain);
  expect(chainAfter(frame, header.frameBytes, chainOfStore(STORE_ID))).toEqual(chain);
});

test("numbers beyond 32 bits are kept exactly", () => {
  const firstSequence = Number.MAX_SAFE_INTEGER;
  const facts = { ...FACTS, firstSequence, durableSequence: 2 ** 40 + 1 };
  const { frame } = new Batch().seal(facts, chainOfStore(STORE_ID));
  expect(readFrameHeader(frame, 0)).toMatchObject(facts);
});

test("no changed bit goes unseen", () => {
  const { frame } = sealed(8);
  for (let bit = 0; bit < 8 * frame.length; bit++) {
    const at = bit >> 3;
    frame[at]! ^= 1 << (bit & 7);
    const seen = readFrameHeader(frame, 0) === null || !payloadIsIntact(frame);
    expect(seen).toBe(true);
    frame[at]! ^= 1 << (bit & 7);
  }
});

test("no frame header is read beyond the end, or from zeros", () => {
  const { frame } = sealed(1);
  expect(readFrameHeader(frame, frame.length - 63)).toBeNull();
  expect(readFrameHeader(Buffer.alloc(512), 0)).toBeNull();
});

test("a batch can be cleared, filled and sealed again", () => {
  const batch = new Batch();
  batch.add(timeOf(1), recordOf(1, 40_000_000));
  const long = batch.seal(FACTS, chainOfStore(STORE_ID));
  expect(payloadIsIntact(long.frame)).toBe(true);
  batch.clear();
  batch.add(timeOf(1), recordOf(1));
  expect(batch.seal(FACTS, chainOfStore(STORE_ID))).toEqual(sealed(1));
});

test("a frame header with an impossible value breaks an assertion", () => {
  const chain = chainOfStore(STORE_ID);
  const good: FrameHeader = { ...FACTS, version: LOG_VERSION, recordCount: 0, frameBytes: 64 };
  const frame = Buffer.alloc(512);
  expect(sealFrame(frame, good, chain)).toHaveLength(16);
  for (const change of [
    { durableSequence: 6 },
    { firstSequence: 2 ** 53 },
    { offset: 4_609 },
    { epoch: -1 },
    { frameBytes: 513 },
  ]) {
    expect(() => sealFrame(frame, { ...good, ...change }, chain)).toThrow(Broken);
  }
  expect(() => sealFrame(frame, good, chain.subarray(1))).toThrow(Broken);
});

// The bytes of a segment header are frozen and checked; so is the name of a segment.

const HEADER = {
  storeId: STORE_ID,
  number: 2 ** 33,
  firstSequence: 2 ** 40 + 1,
  epoch: 7,
  chain: chainOfStore(STORE_ID),
  createdAtMs: 1_790_000_000_123,
};

test("the bytes of a header are frozen", () => {
  const block = encodeSegmentHeader(HEADER);
  expect(block).toHaveLength(SEGMENT_HEADER_BYTES);
  expect(block.toString("hex", 0, 80)).toBe(
    "5345415457414c3101000002001000000b0e7a3c5d1f4c3e9a526f0d3c1b2a490000000002000000" +
      "0100000000010000070000000000000000b0c706450c7a42718a9dd30350a1c182185131e6c5a557",
  );
  expect(block.toString("hex", 80)).toBe(`${"00".repeat(4_012)}eca975b0`);
});

test("a decoded header equals the encoded one", () => {
  expect(decodeSegmentHeader(encodeSegmentHeader(HEADER))).toEqual(HEADER);
});

test("no changed bit goes unseen", () => {
  const block = encodeSegmentHeader(HEADER);
  for (let at = 0; at < block.length; at++) {
    block[at]! ^= 1 << (at % 8);
    expect(() => decodeSegmentHeader(block)).toThrow(Malformed);
    block[at]! ^= 1 << (at % 8);
  }
  expect(() => decodeSegmentHeader(block.subarray(1))).toThrow("a header of 4096 bytes");
});

test("names sort like their segments, and can be parsed", () => {
  const place = { number: 26, firstSequence: 1_000 };
  expect(segmentName(place)).toBe("000000000000001a-00000000000003e8.log");
  expect(parseSegmentName(segmentName(place))).toEqual(place);
  for (const name of [
    "1a-3e8.log",
    "000000000000001A-00000000000003E8.log",
    "000000000000001a-00000000000003e8.log.broken",
    "000000000000001a-ffffffffffffffff.log",
  ]) {
    expect(parseSegmentName(name)).toBeNull();
  }
});

test("a store id is a UUID in lower case", () => {
  for (const storeId of [STORE_ID.toUpperCase(), STORE_ID.slice(1), "store"]) {
    expect(() => chainOfStore(storeId)).toThrow(Broken);
  }
});

test("a header of a later version is not read by this one", () => {
  const block = encodeSegmentHeader(HEADER);
  block.writeUInt16LE(2, 8);
  block.writeUInt32LE(crc32(block.subarray(0, -4)), block.length - 4);
  expect(() => decodeSegmentHeader(block)).toThrow(OtherFormat);
  expect(() => decodeSegmentHeader(block)).toThrow("version 2, and this Frontrow reads version 1");
});
