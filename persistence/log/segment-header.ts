/**
 * The name of a segment file and its first block: the store, the position in the log, the epoch,
 * and the chain that it continues. No I/O. The block has 4,096 bytes and is written once.
 *
 *     0 "SEATWAL1"          16 store id, 16 bytes    48 u32 epoch        64 chain before, 16 bytes
 *     8 u16 version         32 u64 segment number    52 u32 zero       4092 u32 check (CRC-32)
 *    10 u16 sector bytes    40 u64 first sequence    56 f64 created at
 *    12 u32 header bytes
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { assert } from "../../engine/assert.ts";
import { uuidText } from "../disk/data-folder.ts";
import { Malformed } from "../disk/faults.ts";
import { ensureFormat, FORMATS } from "../disk/formats.ts";
import { isCount, isU32 } from "./checks.ts";
import { CHAIN_BYTES, LOG_VERSION, SECTOR_BYTES } from "./frame.ts";

/** The folder of the segments, in the data folder. */
export const LOG_FOLDER = "wal";
export const SEGMENT_HEADER_BYTES = 4_096;

const MAGIC = "SEATWAL1";
const AT_CHECK = SEGMENT_HEADER_BYTES - 4;
const NAME = /^([0-9a-f]{16})-([0-9a-f]{16})\.log$/;

/** The position of a segment in the log. */
export interface SegmentPlace {
  /** From 1, without gaps. */
  readonly number: number;
  /** Sequence number of the first record in it. */
  readonly firstSequence: number;
}

export interface SegmentHeader extends SegmentPlace {
  /** UUID, lower case. */
  readonly storeId: string;
  readonly epoch: number;
  /** Chain of the last frame before this segment. */
  readonly chain: Uint8Array;
  /** Milliseconds since 1970; for people only. */
  readonly createdAtMs: number;
}

export function segmentName(place: SegmentPlace): string {
  assert(isCount(place.number) && isCount(place.firstSequence), "a place has safe integers");
  return `${hex16(place.number)}-${hex16(place.firstSequence)}.log`;
}

/** @returns null when `name` is not the name of a segment. */
export function parseSegmentName(name: string): SegmentPlace | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const place = { number: parseInt(match[1]!, 16), firstSequence: parseInt(match[2]!, 16) };
  return isCount(place.number) && isCount(place.firstSequence) ? place : null;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  assert(isCount(header.number) && isCount(header.firstSequence), "a place has safe integers");
  assert(isU32(header.epoch), "an epoch fits 32 bits");
  assert(header.chain.length === CHAIN_BYTES, "a chain has 128 bits");
  const block = Buffer.alloc(SEGMENT_HEADER_BYTES);
  block.write(MAGIC, 0, "latin1");
  block.writeUInt16LE(LOG_VERSION, 8);
  block.writeUInt16LE(SECTOR_BYTES, 10);
  block.writeUInt32LE(SEGMENT_HEADER_BYTES, 12);
  block.set(storeIdBytes(header.storeId), 16);
  block.writeBigUInt64LE(BigInt(header.number), 32);
  block.writeBigUInt64LE(BigInt(header.firstSequence), 40);
  block.writeUInt32LE(header.epoch, 48);
  block.writeDoubleLE(header.createdAtMs, 56);
  block.set(header.chain, 64);
  block.writeUInt32LE(crc32(block.subarray(0, AT_CHECK)), AT_CHECK);
  return block;
}

/** @throws Malformed when the block is not an intact header; OtherFormat. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader {
  if (bytes.length < SEGMENT_HEADER_BYTES) {
    throw new Malformed(`a header of ${SEGMENT_HEADER_BYTES} bytes`, `${bytes.length} bytes`);
  }
  const magic = bytes.toString("latin1", 0, MAGIC.length);
  if (magic !== MAGIC) throw new Malformed(`"${MAGIC}"`, JSON.stringify(magic));
  if (bytes.readUInt32LE(AT_CHECK) !== crc32(bytes.subarray(0, AT_CHECK))) {
    throw new Malformed("an intact header", "one whose checksum is wrong");
  }
  ensureFormat(FORMATS.log, bytes.readUInt16LE(8));
  return {
    storeId: uuidText(bytes.subarray(16, 32)),
    number: Number(bytes.readBigUInt64LE(32)),
    firstSequence: Number(bytes.readBigUInt64LE(40)),
    epoch: bytes.readUInt32LE(48),
    createdAtMs: bytes.readDoubleLE(56),
    chain: Buffer.from(bytes.subarray(64, 64 + CHAIN_BYTES)),
  };
}

/** @returns The chain before the first frame of the store; every store has its own. */
export function chainOfStore(storeId: string): Buffer {
  const digest = createHash("sha256").update(MAGIC).update(storeIdBytes(storeId)).digest();
  return digest.subarray(0, CHAIN_BYTES);
}

function hex16(value: number): string {
  return value.toString(16).padStart(16, "0");
}

function storeIdBytes(storeId: string): Buffer {
  const bytes = Buffer.from(storeId.replaceAll("-", ""), "hex");
  assert(uuidText(bytes) === storeId, "a store id is a UUID in lower case");
  return bytes;
}
