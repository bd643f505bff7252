/**
 * How long files live: two snapshots are kept, and of the log the segments that the older of them
 * or the audit trail needs yet. With a single good snapshot every segment stays, so that the whole
 * log is the second way.
 */
import { auditedSequence } from "../audit/file.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { SqlFault, readSqlFile } from "../disk/sqlite.ts";
import { findSegments, segmentOf } from "../log/read-log.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, checkSnapshot, findSnapshots } from "./file.ts";

export interface KeepOptions {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /** Name of the snapshot that was just made. */
  readonly newest: string;
  /** Name of the one that it was made from, when that is known to be good. */
  readonly base: string | null;
}

/** What went. */
export interface Kept {
  readonly removedSegments: number;
  readonly removedSnapshots: number;
}

/**
 * Ordering: the oldest goes first, so that what is left is always the end of the log without gaps,
 * whenever the process ends.
 */
export function keepTwo(options: KeepOptions): Kept {
  const { disk, folder, storeId, newest } = options;
  const older = olderOf(options);
  if (older === null) return { removedSegments: 0, removedSnapshots: 0 };
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const others = findSnapshots(namesIn(disk, snapshots)).filter(
    (name) => name !== newest && name !== older.name,
  );
  for (const name of others) disk.removeNow(`${snapshots}/${name}`);
  if (others.length > 0) disk.syncFolderNow(snapshots);
  const audited = auditedSequence(disk, folder, storeId) ?? older.sequence;
  const needed = Math.min(older.sequence, audited);
  const removedSegments = removeSegments(disk, `${folder}/${LOG_FOLDER}`, needed);
  return { removedSegments, removedSnapshots: others.length };
}

interface Older {
  readonly name: string;
  readonly sequence: number;
}

/** The newest of the others that is good as a whole; null when none is. */
function olderOf({ disk, folder, storeId, newest, base }: KeepOptions): Older | null {
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const names = findSnapshots(namesIn(disk, snapshots)).filter((name) => name !== newest);
  const known = base === null ? names : [base, ...names];
  for (const name of known) {
    const sequence = goodSequence(`${snapshots}/${name}`, storeId);
    if (sequence !== null) return { name, sequence };
  }
  return null;
}

function goodSequence(path: string, storeId: string): number | null {
  try {
    const sql = readSqlFile(path);
    try {
      return checkSnapshot(sql, storeId).sequence;
    } finally {
      sql.close();
    }
  } catch (error) {
    only(error, Malformed, SqlFault);
    return null;
  }
}

/** @param sequence - The log is needed from the segment on that holds this record. */
function removeSegments(disk: Disk, folder: string, sequence: number): number {
  const names = namesIn(disk, folder);
  const places = findSegments(folder, names);
  const first = segmentOf(places, sequence);
  if (first === null) return 0;
  const gone = places.filter(({ number }) => number < first.number).map(segmentName);
  for (const name of gone) {
    if (names.includes(`${name}${BROKEN_SUFFIX}`)) {
      disk.removeNow(`${folder}/${name}${BROKEN_SUFFIX}`);
    }
    disk.removeNow(`${folder}/${name}`);
  }
  if (gone.length > 0) disk.syncFolderNow(folder);
  return gone.length;
}
