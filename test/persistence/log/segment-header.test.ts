/** The bytes of a segment header are frozen and checked; so is the name of a segment. */
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import {
  SEGMENT_HEADER_BYTES,
  chainOfStore,
  decodeSegmentHeader,
  encodeSegmentHeader,
  parseSegmentName,
  segmentName,
} from "../../../persistence/log/frame.ts";
import { STORE_ID } from "./log-fixture.ts";

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
