/**
 * Makes one snapshot file from the images that are handed in, the unchanged partitions of the
 * previous snapshot, and the catalog of that snapshot with the log after it. Synchronous, for a
 * thread of its own. The log may grow meanwhile: what this code reads is never written again.
 */
import { assert } from "../../engine/assert.ts";
import { TABLES, type CatalogPut } from "../../engine/catalog.ts";
import type { PartitionImage } from "../../engine/inventory/image.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { type CatalogRecord, RecordType } from "../../engine/records.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { type SqlFile, SqlFault, fillSqlFile, readSqlFile } from "../disk/sqlite.ts";
import { makeFoldersNow } from "../disk/transfer.ts";
import { readLog } from "../log/read-log.ts";
import type { ChainMark, LogStart } from "../log/scan.ts";
import { LOG_FOLDER } from "../log/segment-header.ts";
import { TEMPORARY_SUFFIX } from "../log/segments.ts";
import type { CatalogCopy } from "./catalog-copy.ts";
import {
  SCHEMA,
  SNAPSHOT_FOLDER,
  SNAPSHOT_FORMAT,
  type SnapshotMeta,
  checkSnapshot,
  digestOfImage,
  digestOfSnapshot,
  findSnapshots,
  readMeta,
  snapshotName,
  startOf,
} from "./file.ts";
import { encodeImage } from "./image-codec.ts";
import { type Pruned, type PruneOptions, prune } from "./prune.ts";

export interface BuildOptions {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /**
   * Name of the snapshot from which the partitions that are not handed in are taken; null when all
   * of them are handed in.
   */
  readonly base: string | null;
  /** Called between steps, so that the thread can leave the machine to a busy engine. */
  readonly rest?: (() => void) | undefined;
}

/** A partition as of a record. */
export interface ImageAt {
  readonly number: number;
  readonly sequence: number;
  readonly image: PartitionImage;
}

/** Where the snapshot ends. */
export interface BuildEnd {
  /** The catalog is as of this record. */
  readonly sequence: number;
  /** A durable record, at or after every image. */
  readonly mark: ChainMark;
  readonly createdAtMs: number;
}

/** Everything that a snapshot is made of. */
export interface BuildParts {
  readonly base: string | null;
  /** Null when the catalog is to be taken from disk. */
  readonly catalog: CatalogCopy | null;
  readonly images: Iterable<ImageAt>;
  readonly end: BuildEnd;
}

const TEMPORARY_NAME = `next${TEMPORARY_SUFFIX}`;

/** The new snapshot. */
interface Made {
  readonly name: string;
  readonly partitions: number;
  readonly bytes: number;
}

/** The new snapshot, and what was removed because of it. */
export type Built = Made & Pruned;

/**
 * Ordering: the file is written, synced, read back and checked as a whole; then renamed; then the
 * folder is synced. So whatever has the name of a snapshot was whole when it got that name.
 */
export class SnapshotBuild {
  readonly base: string | null;
  readonly #options: BuildOptions;
  readonly #folder: string;
  readonly #path: string;
  readonly #sql: SqlFile;
  /** Partitions that were handed in. */
  readonly #added = new Set<number>();
  #newestImage = 0;
  /** Catalog rows were handed in, and therefore all partitions. */
  #hasCatalog = false;
  #nextId = 1;

  constructor(options: BuildOptions) {
    const { disk, folder, base } = options;
    this.base = base;
    this.#options = options;
    this.#folder = `${folder}/${SNAPSHOT_FOLDER}`;
    this.#path = `${this.#folder}/${TEMPORARY_NAME}`;
    makeFoldersNow(disk, this.#folder);
    this.#removeFile();
    // Created by the disk, which makes the file private to this user.
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

  /** Hands in catalog rows, for a build without a base. Cost: O(bytes of the rows). */
  put(nextId: number, puts: readonly CatalogPut[]): void {
    assert(this.base === null, "a build with a base takes the catalog from it");
    this.#hasCatalog = true;
    this.#applyCatalog({ nextId, removes: [], puts });
    this.#rest();
  }

  /** Cost: O(bytes of the image). */
  add({ number, sequence, image }: ImageAt): void {
    assert(!this.#added.has(number), "a partition is handed in once");
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
   * Cost: O(bytes of the snapshot + bytes of the log since the base).
   * @throws DiskFault, SqlFault, Malformed, LogCorrupt when there is no new snapshot; nothing else
   * has changed then.
   */
  finish(end: BuildEnd): Made {
    assert(end.sequence > 0, "an empty store has no snapshot");
    assert(end.sequence <= end.mark.sequence, "the catalog is durable");
    assert(this.#newestImage <= end.mark.sequence, "every image is durable");
    const { disk, storeId } = this.#options;
    if (!this.#hasCatalog) this.#takeCatalog(end);
    this.#rest();
    const partitions = this.#takePartitions();
    this.#rest();
    const meta = this.#seal(end);
    this.#sql.close();
    this.#rest();
    const bytes = this.#sync();
    this.#rest();
    check(this.#path, storeId, meta);
    const name = snapshotName(end.sequence);
    disk.renameNow(this.#path, `${this.#folder}/${name}`);
    disk.syncFolderNow(this.#folder);
    return { name, partitions, bytes };
  }

  /** Gives up, also after a failure. Removes the unfinished file. */
  abandon(): void {
    this.#sql.close();
    this.#removeFile();
  }

  #rest(): void {
    this.#options.rest?.();
  }

  #removeFile(): void {
    const { disk } = this.#options;
    const exists = namesIn(disk, this.#folder).includes(TEMPORARY_NAME);
    if (exists) disk.removeNow(this.#path);
  }

  #takeCatalog(end: BuildEnd): void {
    const { disk, folder, storeId } = this.#options;
    const start = this.#takeBase();
    const { scan } = readLog({
      disk,
      folder: `${folder}/${LOG_FOLDER}`,
      storeId,
      start,
      until: end.sequence,
      replay: (sequence, _, record) => {
        if (record.type !== RecordType.CATALOG || sequence > end.sequence) return;
        this.#applyCatalog(record);
      },
    });
    if (scan.sequence < end.sequence) {
      throw new Malformed(`the log up to record ${end.sequence}`, `${scan.sequence}`);
    }
  }

  /** Takes the catalog of the previous snapshot. @returns null when none can be read. */
  #takeBase(): LogStart | null {
    const { disk, storeId } = this.#options;
    const names = this.base === null ? findSnapshots(namesIn(disk, this.#folder)) : [this.base];
    for (const name of names) {
      const meta = metaOfFile(`${this.#folder}/${name}`, storeId);
      if (meta === null) continue;
      this.#nextId = meta.nextId;
      this.#attach(name);
      return startOf(meta);
    }
    if (this.base !== null) throw new Malformed(`the snapshot ${this.base}`, "a damaged one");
    return null;
  }

  #attach(name: string): void {
    // SQLite attaches outside of transactions only.
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
    for (const { table, row } of puts) {
      // A row that is put again keeps its position, as it does in memory.
      this.#sql.run(
        `INSERT INTO ${table} (id, row) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET row = excluded.row`,
        row.id,
        JSON.stringify(row),
      );
    }
  }

  /** @returns How many partitions there are. */
  #takePartitions(): number {
    const sql = this.#sql;
    if (this.base !== null) {
      sql.execute(`INSERT INTO main.partitions SELECT * FROM base.partitions
        WHERE number NOT IN (SELECT number FROM main.partitions)`);
    }
    const living = "SELECT row ->> 'partition' FROM events";
    sql.execute(`DELETE FROM main.partitions WHERE number NOT IN (${living})`);
    const [counts] = [
      ...sql.rows(`SELECT (SELECT count(*) FROM main.partitions) AS partitions,
        (SELECT count(*) FROM main.events) AS events`),
    ];
    const { partitions, events } = counts as { partitions: number; events: number };
    if (partitions !== events) throw new Malformed(`${events} partitions`, `${partitions}`);
    return partitions;
  }

  #seal(end: BuildEnd): SnapshotMeta {
    const meta: SnapshotMeta = {
      format: SNAPSHOT_FORMAT,
      storeId: this.#options.storeId,
      sequence: end.sequence,
      markSequence: end.mark.sequence,
      markChain: Buffer.from(end.mark.chain).toString("hex"),
      nextId: this.#nextId,
      createdAt: new Date(end.createdAtMs).toISOString(),
    };
    const { format, storeId, sequence, markSequence, markChain, nextId, createdAt } = meta;
    const digest = digestOfSnapshot(this.#sql, meta);
    const values = [format, storeId, sequence, markSequence, markChain, nextId, createdAt, digest];
    this.#sql.run("INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...values);
    this.#sql.execute("COMMIT");
    return meta;
  }

  /** @returns The size of the file in bytes. */
  #sync(): number {
    const file = this.#options.disk.openNow(this.#path);
    try {
      file.syncNow();
      return file.sizeNow();
    } finally {
      file.closeNow();
    }
  }
}

/** Makes a whole snapshot in this thread, then prunes. Leaves no unfinished file on failure. */
export function buildSnapshot(
  options: Omit<PruneOptions, "newest" | "base">,
  { base, catalog, images, end }: BuildParts,
): Built {
  const build = new SnapshotBuild({ ...options, base });
  let made: Made;
  try {
    if (catalog !== null) for (const puts of catalog) build.put(catalog.nextId, puts);
    for (const image of images) build.add(image);
    made = build.finish(end);
  } catch (error) {
    build.abandon();
    throw error;
  }
  return { ...made, ...prune({ ...options, newest: made.name, base }) };
}

/** @returns null when the file is not a readable snapshot of this store. */
function metaOfFile(path: string, storeId: string): SnapshotMeta | null {
  try {
    const sql = readSqlFile(path);
    try {
      return readMeta(sql, storeId);
    } finally {
      sql.close();
    }
  } catch (error) {
    only(error, Malformed, SqlFault);
    return null;
  }
}

/** Reads the file back, as recovery will. */
function check(path: string, storeId: string, written: SnapshotMeta): void {
  const sql = readSqlFile(path);
  try {
    const meta = checkSnapshot(sql, storeId);
    assert(meta.markSequence === written.markSequence, "the file says what was written");
  } finally {
    sql.close();
  }
}
