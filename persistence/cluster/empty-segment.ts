/**
 * Sets a newest segment without a whole frame aside. A leader begins a segment before the first
 * frame of it is in etcd; if the host is lost in between, another leader begins the same segment.
 */
import type { Disk } from "../disk/disk.ts";
import { readFileNow } from "../disk/transfer.ts";
import { padToSector, payloadIsIntact, readFrameHeader } from "../log/frame.ts";
import { findSegments } from "../log/read-log.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import { LOG_FOLDER, SEGMENT_HEADER_BYTES, segmentName } from "../log/segment-header.ts";

/** @param folder - The data folder. @returns Whether there was one. */
export function setAsideEmpty(disk: Disk, folder: string): boolean {
  const newest = findSegments(disk, folder).at(-1);
  if (newest === undefined) return false;
  const log = `${folder}/${LOG_FOLDER}`;
  const path = `${log}/${segmentName(newest)}`;
  const bytes = readFileNow(disk, path);
  const header = readFrameHeader(bytes, SEGMENT_HEADER_BYTES);
  if (header !== null) {
    const end = SEGMENT_HEADER_BYTES + padToSector(header.frameBytes);
    const frame = bytes.subarray(SEGMENT_HEADER_BYTES, end);
    if (end <= bytes.length && payloadIsIntact(frame)) return false;
  }
  disk.renameNow(path, `${path}${BROKEN_SUFFIX}`);
  disk.syncFolderNow(log);
  return true;
}
