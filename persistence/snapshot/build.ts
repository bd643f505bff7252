/**
 * Builds one snapshot file from the images of changed partitions, the unchanged partitions of the
 * previous snapshot, and the catalog of that snapshot with the log after it. Synchronous, for a
 * thread of its own. The log may grow meanwhile: the bytes read here never change.
 */
import { assert } from "../../engine/assert.ts";
import { type CatalogPut, TABLES } from "../../engine/catalog.ts";
import { copyPartition, packImage, type PartitionImage } from "../../engine/inventory/image.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { Clock } from "../../engine/ports.ts";
import { type CatalogRecord, RecordType } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import type { Scheduler } from "../disk/clock.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { Malformed } from "../disk/faults.ts";
import { fillSqlFile, readSqlFile, type SqlFile } from "../disk/sqlite.ts";
import {
  makeFoldersNow,
  removeTemporary,
  syncFileNow,
  TEMPORARY_SUFFIX,
} from "../disk/transfer.ts";
import type { Replay } from "../log/codec.ts";
import { LOG_FOLDER, segmentName } from "../log/frame.ts";
import { storedRow } from "../log/layout-packing.ts";
import {
  type ChainMark,
  findSegments,
  LogFollower,
  type LogStart,
  segmentOf,
} from "../log/log-reader.ts";
import type { LogWriter } from "../log/log-writer.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import {
  type CatalogCopy,
  checkSnapshot,
  digestOfImage,
  digestOfSnapshot,
  encodeImage,
  findSnapshots,
  readMeta,
  SCHEMA,
  SNAPSHOT_FOLDER,
  SNAPSHOT_FORMAT,
  type SnapshotMeta,
  snapshotName,
  startOf,
  valuesOf,
} from "./file.ts";
import { tryLoad } from "./load.ts";

export interface BuildOptions extends StorePlace {
  /** Name of the snapshot with the unchanged partitions; null when all images are added. */
  readonly base: string | null;
  /** Called between steps. A thread may rest here to leave the processor to a busy engine. */
  readonly rest?: (() => void) | undefined;
}

/** A partition as of a record. */
export interface ImageAt {
  readonly number: number;
  readonly sequence: number;
  readonly image: PartitionImage;
}

/** The position of the snapshot in the log. */
export interface BuildEnd {
  /** The catalog is as of this record. */
  readonly sequence: number;
  /** No record after this one, up to `sequence`, changes the catalog. */
  readonly catalogSequence: number;
  /** A durable record, at or after every image. */
  readonly mark: ChainMark;
  /** As by `packSequences`, as of `sequence`. */
  readonly sequences: Float64Array;
  readonly createdAtMs: number;
}

/** The contents of a snapshot. */
export interface BuildParts {
  /** As in `BuildOptions`. */
  readonly base: string | null;
  /** Null to read the catalog from disk. */
  readonly catalog: CatalogCopy | null;
  readonly images: Iterable<ImageAt>;
  readonly end: BuildEnd;
}

/** Moves of the log between two rests: about as many as a segment has. */
const MOVES_PER_STEP = 300_000;
/** A record of the catalog counts as so many moves, because it may be a layout of megabytes. */
const MOVES_PER_CATALOG_RECORD = 4_000;
const TEMPORARY_NAME = `next${TEMPORARY_SUFFIX}`;

/** The new snapshot; `bytes` is the size of its file. */
interface Made {
  readonly name: string;
  readonly partitions: number;
  readonly bytes: number;
}

/** The new snapshot, and the pruned files. */
export type Built = Made & Pruned;

/**
 * Ordering: the file is written, synced, read back and checked as a whole; then it is renamed; then
 * the folder is synced. So every file with the name of a snapshot was complete when it was renamed.
 */
export class SnapshotBuild {
  readonly base: string | null;
  readonly #options: BuildOptions;
  readonly #folder: string;
  readonly #path: string;
  readonly #sql: SqlFile;
  /** Numbers of the partitions whose images were added. */
  readonly #added = new Set<number>();
  #newestImage = 0;
  /** Catalog rows were put; all images are added then, too. */
  #hasCatalog = false;
  #nextId = 1;

  constructor(options: BuildOptions) {
    const { disk, folder, base } = options;
    this.base = base;
    this.#options = options;
    this.#folder = `${folder}/${SNAPSHOT_FOLDER}`;
    this.#path = `${this.#folder}/${TEMPORARY_NAME}`;
    makeFoldersNow(disk, this.#folder);
    removeTemporary(disk, this.#folder);
    // Created by the disk: private to this user.
    disk.createNow(this.#path).closeNow();
    this.#sql = fillSqlFile(this.#path);
    try {
      this.#sql.execute(SCHEMA);
      this.#sql.execute("BEGIN");
    } catch (error) {
      // An open connection would keep its lock on the file.
      this.abandon();
      throw error;
    }
  }

  /** Adds catalog rows to a build without a base. Cost: O(bytes of the rows). */
  put(nextId: number, puts: readonly CatalogPut[]): void {
    assert(this.base === null, "a build with a base has the catalog of the base");
    this.#hasCatalog = true;
    this.#applyCatalog({ nextId, removes: [], puts });
    this.#rest();
  }

  /** Adds a partition. Cost: O(bytes of the image). */
  add({ number, sequence, image }: ImageAt): void {
    assert(!this.#added.has(number), "a partition is added once");
    this.#added.add(number);
    this.#newestImage = Math.max(this.#newestImage, sequence);
    const bytes = encodeImage(image);
    const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;
    const counts = [0, 0, 0, 0, 0, 0];
    for (const state of image.seats.state) counts[state]! += 1;
    this.#sql.run(
      "INSERT INTO partitions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      number,
      sequence,
      ...[ACTIVE, LOCKED, SOLD, BLOCKED].map((state) => counts[state]!),
      digestOfImage(bytes),
      bytes,
    );
    this.#rest();
  }

  /**
   * Completes and publishes the snapshot. Cost: O(bytes of the snapshot, and of the log from the
   * base to the last change of the catalog). @throws DiskFault, SqlFault, Malformed, LogCorrupt:
   * then there is no new snapshot, and nothing else has changed.
   */
  finish(end: BuildEnd): Made {
    assert(end.sequence > 0, "an empty store has no snapshot");
    assert(end.sequence <= end.mark.sequence, "the catalog is durable");
    assert(this.#newestImage <= end.mark.sequence, "every image is durable");
    const { disk, storeId } = this.#options;
    if (!this.#hasCatalog) this.#readCatalog(end);
    this.#rest();
    const partitions = this.#copyPartitions();
    this.#rest();
    this.#seal(end);
    this.#sql.close();
    this.#rest();
    const bytes = syncFileNow(disk, this.#path);
    this.#rest();
    // Reads the file back, as recovery will.
    const meta = readSqlFile(this.#path, (sql) => checkSnapshot(sql, storeId));
    assert(meta.markSequence === end.mark.sequence, "the file has the values that were written");
    const name = snapshotName(end.sequence);
    disk.renameNow(this.#path, `${this.#folder}/${name}`);
    disk.syncFolderNow(this.#folder);
    return { name, partitions, bytes };
  }

  /** Ends the build without a snapshot, also after a failure. Removes the unfinished file. */
  abandon(): void {
    this.#sql.close();
    removeTemporary(this.#options.disk, this.#folder);
  }

  #rest(): void {
    this.#options.rest?.();
  }

  /** Most records of a busy log are moves, so it is read only as far as the catalog changes. */
  #readCatalog({ catalogSequence }: BuildEnd): void {
    const start = this.#attachBase();
    if (catalogSequence <= (start?.sequence ?? 0)) return;
    let moves = 0;
    const replay: Replay = (sequence, _, record) => {
      moves += record.type === RecordType.CATALOG ? MOVES_PER_CATALOG_RECORD : 1;
      if (moves >= MOVES_PER_STEP) {
        moves = 0;
        this.#rest();
      }
      if (record.type !== RecordType.CATALOG || sequence > catalogSequence) return;
      this.#applyCatalog(record);
    };
    // Its window is short: whole segments would stay in memory long after the snapshot.
    const log = new LogFollower({ ...this.#options, start, replay });
    try {
      log.read(catalogSequence);
    } finally {
      log.close();
    }
  }

  /** Copies the catalog of the previous snapshot. @returns null when no snapshot can be read. */
  #attachBase(): LogStart | null {
    const { disk, folder, storeId } = this.#options;
    const names = this.base === null ? findSnapshots(disk, folder) : [this.base];
    for (const name of names) {
      const path = `${this.#folder}/${name}`;
      const meta = tryLoad(path, () => readSqlFile(path, (sql) => readMeta(sql, storeId)));
      if ("expected" in meta) continue;
      this.#nextId = meta.nextId;
      this.#attach(name);
      return startOf(meta);
    }
    if (this.base !== null) throw new Malformed(`the snapshot ${this.base}`, "a damaged one");
    return null;
  }

  #attach(name: string): void {
    // SQLite attaches a file only outside of a transaction.
    this.#sql.execute("COMMIT");
    this.#sql.run("ATTACH ? AS base", `${this.#folder}/${name}`);
    this.#sql.execute("BEGIN");
    for (const table of TABLES) {
      this.#sql.execute(`INSERT INTO main.${table} SELECT * FROM base.${table}`);
    }
  }

  #applyCatalog({ nextId, removes, puts }: Omit<CatalogRecord, "type" | "actor">): void {
    this.#nextId = nextId;
    for (const { table, key } of removes) this.#sql.run(`DELETE FROM ${table} WHERE id = ?`, key);
    for (const put of puts) {
      // A replaced row keeps its position, as it does in memory.
      const insert = `INSERT INTO ${put.table} (id, row) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET row = excluded.row`;
      this.#sql.run(insert, put.row.id, storedRow(put));
    }
  }

  /** Copies the unchanged partitions of the base. @returns How many partitions the snapshot has. */
  #copyPartitions(): number {
    const sql = this.#sql;
    if (this.base !== null) {
      sql.execute(`INSERT INTO main.partitions SELECT * FROM base.partitions
        WHERE number NOT IN (SELECT number FROM main.partitions)`);
    }
    const living = "SELECT row ->> 'partition' FROM events";
    sql.execute(`DELETE FROM main.partitions WHERE number NOT IN (${living})`);
    const counts = sql.row(`SELECT (SELECT count(*) FROM main.partitions) AS partitions,
        (SELECT count(*) FROM main.events) AS events`);
    const { partitions, events } = counts as { partitions: number; events: number };
    if (partitions !== events) throw new Malformed(`${events} partitions`, `${partitions}`);
    return partitions;
  }

  #seal(end: BuildEnd): void {
    const meta: SnapshotMeta = {
      format: SNAPSHOT_FORMAT,
      storeId: this.#options.storeId,
      sequence: end.sequence,
      markSequence: end.mark.sequence,
      markChain: Buffer.from(end.mark.chain).toString("hex"),
      nextId: this.#nextId,
      createdAt: new Date(end.createdAtMs).toISOString(),
    };
    const { buffer, byteOffset, byteLength } = end.sequences;
    const content = Buffer.from(buffer, byteOffset, byteLength);
    this.#sql.run("INSERT INTO eventSequences VALUES (?, ?)", content, digestOfImage(content));
    const values = [...valuesOf(meta), digestOfSnapshot(this.#sql, meta)];
    this.#sql.run("INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...values);
    this.#sql.execute("COMMIT");
  }
}

/** Builds a snapshot in this thread. After a failure no unfinished file remains. */
export function buildSnapshot(place: StorePlace, { base, catalog, images, end }: BuildParts): Made {
  const build = new SnapshotBuild({ ...place, base });
  try {
    if (catalog !== null) for (const puts of catalog.parts) build.put(catalog.nextId, puts);
    for (const image of images) build.add(image);
    return build.finish(end);
  } catch (error) {
    build.abandon();
    throw error;
  }
}

/** @returns Images of the partitions, as of the last record. */
export function* imagesOf(
  state: State,
  numbers: Iterable<number>,
  sequence: number,
): Generator<ImageAt> {
  for (const number of numbers) {
    const copy = copyPartition(state.partitionAt(number), state.doors.get(number));
    yield { number, sequence, image: packImage(copy) };
  }
}

// The options and reports of `Snapshots`.

/** Writes one snapshot in another thread. */
export interface SnapshotWriter {
  /** Adds catalog rows: before the images, and only when the catalog is not read from disk. */
  put(nextId: number, puts: readonly CatalogPut[]): void;
  add(image: ImageAt): void;
  /** Added images not yet written. */
  readonly queued: number;
  /** To be called after the last image. */
  finish(end: BuildEnd): void;
  /** Rejects as soon as the snapshot has failed, for whatever reason. */
  readonly built: Promise<Built>;
  /** Stops at once. Settles when nothing is being written any more. */
  abandon(): Promise<void>;
}

export interface SnapshotsOptions {
  readonly state: State;
  readonly log: Pick<LogWriter, "mark" | "hasFailed" | "whenWritten"> & {
    readonly stats: Pick<LogWriter["stats"], "bytes">;
  };
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Memory agrees with the log; otherwise the state is not copied. */
  readonly isSound: () => boolean;
  /**
   * Begins a snapshot; `base` as in `BuildOptions`. Throws when no thread can be started.
   * @param onWritten - Called in a later turn whenever an image was written.
   */
  readonly open: (base: string | null, onWritten: () => void) => SnapshotWriter;
  /** A snapshot is taken each time the log has grown by this many bytes. */
  readonly everyBytes: number;
  /** A snapshot is taken when the last one is this old and the log has new records. */
  readonly everyMs: number;
  /** Copying time of a turn before its last step, in milliseconds: usually `TURN_MS`. */
  readonly turnMs: number;
  readonly start: SnapshotsStart;
  readonly onReport: (report: SnapshotReport) => void;
}

/** The result of recovery, as `Snapshots` needs it. */
export interface SnapshotsStart {
  /** The last record. */
  readonly sequence: number;
  /** Name of the loaded snapshot; null for none: then all partitions are copied. */
  readonly base: string | null;
  /** The last record in the catalog of the base; 0 without a base. */
  readonly baseSequence: number;
  /** Begin of the base; the time of the start without a base. */
  readonly baseMs: number;
  /** Partitions changed since the base. */
  readonly changed: Iterable<number>;
  /** Approximate bytes of the log since the base. */
  readonly bytes: number;
}

/** The outcome of a snapshot. */
export type SnapshotReport =
  | (Built & {
      readonly failure: null;
      /** Copied partitions. */
      readonly copied: number;
      readonly seconds: number;
      /** The longest pause of the engine, in milliseconds. */
      readonly pauseMsMax: number;
    })
  | { readonly failure: Error };

// Prunes. Two snapshots are kept, and the segments of the log still needed by
// the older snapshot or the audit trail. With a single intact snapshot every segment is
// kept, because the whole log is then the second way to recover.

export interface PruneOptions extends StorePlace {
  /** @returns The last record in the audit trail; null when there is no trail. */
  readonly audited: () => number | null;
  /** Name of the new snapshot. */
  readonly newest: string;
  /** Name of its base; null for none. */
  readonly base: string | null;
}

/** Numbers of removed files. */
interface Pruned {
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

/** Finds the base, or else the newest other intact snapshot; null for none. */
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
 * Removes the segments before the one with the record.
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
