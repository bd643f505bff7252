/**
 * The chain of a log at the beginning of each segment, and after each frame of the newest two. It
 * links each frame to all frames before it, so two logs whose chains agree at one place are the
 * same up to there.
 */
import { readStore } from "../disk/data-folder.ts";
import type { Disk, ReadDisk } from "../disk/disk.ts";
import { readFileNow } from "../disk/transfer.ts";
import { padToSector, payloadIsIntact, readChain, readFrameHeader } from "../log/frame.ts";
import { findSegments } from "../log/read-log.ts";
import {
  decodeSegmentHeader,
  LOG_FOLDER,
  SEGMENT_HEADER_BYTES,
  type SegmentPlace,
  segmentName,
} from "../log/segment-header.ts";
import { HeldFolder } from "./held-folder.ts";

/** Hosts are seldom further apart. */
const WHOLE_SEGMENTS = 2;

/** A place between two frames. */
export interface ChainAt {
  readonly segment: number;
  /** Bytes from the beginning of the segment. */
  readonly offset: number;
  /** The last record before the place. */
  readonly sequence: number;
  /** Hexadecimal. */
  readonly chain: string;
}

export interface Chains {
  readonly storeId: string;
  /** The oldest first; the last one is the end of the log. */
  readonly chains: readonly ChainAt[];
}

/** What a comparison of two logs came to. */
export interface Compared {
  /** The newest place at which both have the same chain; null when they share no place. */
  readonly same: ChainAt | null;
  /** The oldest place at which they differ; null when there is none. */
  readonly different: ChainAt | null;
}

/**
 * Reads the chains of a data folder, which may be in use.
 * Cost: O(bytes of the newest two segments). @throws LogCorrupt, FolderRefused, DiskFault.
 */
export function chainsOf(disk: Disk, folder: string): Chains {
  const held = HeldFolder.hold(disk, folder);
  try {
    const { storeId } = readStore(held, folder);
    const places = findSegments(held, folder);
    const whole = new Set(places.slice(-WHOLE_SEGMENTS));
    const chains = places.flatMap((place) => {
      return chainsIn(held, folder, { place, isWhole: whole.has(place) });
    });
    return { storeId, chains };
  } finally {
    held.release();
  }
}

/** Compares two logs at the places that both have. */
export function compareChains(one: Chains, other: Chains): Compared {
  const others = new Map(other.chains.map((each) => [keyOf(each), each.chain]));
  let same: ChainAt | null = null;
  for (const each of one.chains) {
    const found = others.get(keyOf(each));
    if (found === undefined) continue;
    if (found !== each.chain) return { same, different: each };
    same = each;
  }
  return { same, different: null };
}

function keyOf({ segment, offset }: ChainAt): string {
  return `${segment}:${offset}`;
}

function chainsIn(
  disk: ReadDisk,
  folder: string,
  { place, isWhole }: { readonly place: SegmentPlace; readonly isWhole: boolean },
): ChainAt[] {
  const path = `${folder}/${LOG_FOLDER}/${segmentName(place)}`;
  const bytes = isWhole ? readFileNow(disk, path) : headOf(disk, path);
  const { number, firstSequence, chain } = decodeSegmentHeader(bytes);
  const at = (offset: number, sequence: number, hash: Uint8Array): ChainAt => {
    return { segment: number, offset, sequence, chain: Buffer.from(hash).toString("hex") };
  };
  let offset = SEGMENT_HEADER_BYTES;
  const chains = [at(offset, firstSequence - 1, chain)];
  for (;;) {
    const header = readFrameHeader(bytes, offset);
    const end = offset + padToSector(header?.frameBytes ?? 0);
    const frame = bytes.subarray(offset, end);
    if (header === null || end > bytes.length || !payloadIsIntact(frame)) return chains;
    offset = end;
    chains.push(at(end, header.firstSequence + header.recordCount - 1, readChain(frame)));
  }
}

function headOf(disk: ReadDisk, path: string): Buffer {
  const file = disk.openNow(path);
  try {
    const head = Buffer.alloc(SEGMENT_HEADER_BYTES);
    file.readNow(head, 0);
    return head;
  } finally {
    file.closeNow();
  }
}
