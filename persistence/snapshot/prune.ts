/**
 * Removes files that are no longer needed. Two snapshots are kept, and the segments of the log that
 * the older snapshot or the audit trail still needs. With a single intact snapshot every segment is
 * kept, because the whole log is then the second way to recover.
 */
import type { StorePlace } from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { readSqlFile } from "../disk/sqlite.ts";
import { findSegments, segmentOf } from "../log/read-log.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, checkSnapshot, findSnapshots } from "./file.ts";
import { tryLoad } from "./load.ts";

export interface PruneOptions extends StorePlace {
  /** @returns The last record in the audit trail; null when there is no trail. */
  readonly audited: () => number | null;
  /** Name of the snapshot that was just built. */
  readonly newest: string;
  /** Name of the snapshot that it was built from; null for none. */
  readonly base: string | null;
}

/** How many files were removed. */
export interface Pruned {
  readonly removedSegments: number;
  readonly removedSnapshots: number;
}

/**
 * Ordering: the oldest segment is removed first, so the rest is always the end of the log without a
 * gap, whenever the process ends.
 */
export function prune(options: PruneOptions): Pruned {
  const { disk, folder, newest, audited } = options;
  const older = findOlder(options);
  if (older === null) return { removedSegments: 0, removedSnapshots: 0 };
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const others = findSnapshots(disk, folder).filter(
    (name) => name !== newest && name !== older.name,
  );
  for (const name of others) disk.removeNow(`${snapshots}/${name}`);
  if (others.length > 0) disk.syncFolderNow(snapshots);
  const needed = Math.min(older.sequence, audited() ?? older.sequence);
  const removedSegments = removeSegments(disk, folder, needed);
  return { removedSegments, removedSnapshots: others.length };
}

interface Older {
  readonly name: string;
  readonly sequence: number;
}

/** Finds the base, or else the newest of the other snapshots that is intact; null when none is. */
function findOlder({ disk, folder, storeId, newest, base }: PruneOptions): Older | null {
  const names = findSnapshots(disk, folder).filter((name) => name !== newest);
  const candidates = base === null ? names : [base, ...names];
  for (const name of candidates) {
    const path = `${folder}/${SNAPSHOT_FOLDER}/${name}`;
    const meta = tryLoad(path, () => readSqlFile(path, (sql) => checkSnapshot(sql, storeId)));
    if (!("expected" in meta)) return { name, sequence: meta.sequence };
  }
  return null;
}

/**
 * Removes the segments before the one that contains the record.
 * @returns How many were removed.
 */
function removeSegments(disk: Disk, folder: string, sequence: number): number {
  const log = `${folder}/${LOG_FOLDER}`;
  const places = findSegments(disk, folder);
  const first = segmentOf(places, sequence);
  if (first === undefined) return 0;
  const names = namesIn(disk, log);
  const unneeded = places.filter(({ number }) => number < first.number).map(segmentName);
  for (const name of unneeded) {
    const broken = `${name}${BROKEN_SUFFIX}`;
    if (names.includes(broken)) disk.removeNow(`${log}/${broken}`);
    disk.removeNow(`${log}/${name}`);
  }
  if (unneeded.length > 0) disk.syncFolderNow(log);
  return unneeded.length;
}
