/**
 * Removes files that are no longer needed. Two snapshots are kept, and the segments of the log that
 * the older snapshot or the audit trail still needs. With a single good snapshot every segment
 * stays, so that the whole log is the second way to recover.
 */
import { type Disk, namesIn } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { SqlFault, readSqlFile } from "../disk/sqlite.ts";
import { findSegments, segmentOf } from "../log/read-log.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, checkSnapshot, findSnapshots } from "./file.ts";

export interface PruneOptions {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /** @returns The last record in the audit trail; null when there is no trail. */
  readonly audited: () => number | null;
  /** Name of the snapshot that was just made. */
  readonly newest: string;
  /** Name of the snapshot that it was made from, when that is known to be good. */
  readonly base: string | null;
}

/** What was removed. */
export interface Pruned {
  readonly removedSegments: number;
  readonly removedSnapshots: number;
}

/**
 * Ordering: the oldest file goes first, so that what remains is always the end of the log without
 * gaps, whenever the process ends.
 */
export function prune(options: PruneOptions): Pruned {
  const { disk, folder, newest, audited } = options;
  const older = findOlder(options);
  if (older === null) return { removedSegments: 0, removedSnapshots: 0 };
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const others = findSnapshots(namesIn(disk, snapshots)).filter(
    (name) => name !== newest && name !== older.name,
  );
  for (const name of others) disk.removeNow(`${snapshots}/${name}`);
  if (others.length > 0) disk.syncFolderNow(snapshots);
  const needed = Math.min(older.sequence, audited() ?? older.sequence);
  const removedSegments = removeSegments(disk, `${folder}/${LOG_FOLDER}`, needed);
  return { removedSegments, removedSnapshots: others.length };
}

interface Older {
  readonly name: string;
  readonly sequence: number;
}

/** The newest of the other snapshots that is wholly good; null when none is. */
function findOlder({ disk, folder, storeId, newest, base }: PruneOptions): Older | null {
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

/** @param sequence - The segment that holds this record, and all later ones, are needed. */
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
