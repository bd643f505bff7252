/**
 * The snapshot file: SQLite that a person can query. One table for each table of the catalog (a
 * position, an id, the row as JSON), one row for each partition, and one row that says where in the
 * log the snapshot stands. What a reader trusts is covered by digests. No change of a file here.
 *
 * A snapshot is fuzzy: the catalog is as of `sequence`, each partition as of a number of its own,
 * at or behind what the row says; see `snapshots.ts` for why the log then makes one state of it.
 */
import { createHash, type Hash } from "node:crypto";
import { TABLES, type TableName } from "../../engine/catalog.ts";
import { Malformed } from "../disk/faults.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";
import { isCount, isU32 } from "../log/checks.ts";
import type { LogStart } from "../log/scan.ts";

export const SNAPSHOT_FOLDER = "snapshots";
export const SNAPSHOT_FORMAT = 1;

const NAME = /^([0-9a-f]{16})\.sqlite$/;
/** Tables whose ids are texts; all others have numbers. */
const TEXT_IDS: ReadonlySet<TableName> = new Set(["clones", "events", "replies"]);

/** The row of the table `snapshot`. */
export interface SnapshotMeta {
  readonly format: number;
  readonly storeId: string;
  /** The last record in the catalog; no partition is older. */
  readonly sequence: number;
  /** A record that was on disk before the snapshot got its name; no partition is newer. */
  readonly markSequence: number;
  /** Chain of the frame that ends with that record; hexadecimal digits. */
  readonly markChain: string;
  /** `Catalog.nextId`. */
  readonly nextId: number;
  /** For people; ISO 8601. */
  readonly createdAt: string;
}

/** The row of one partition, without its image. */
export interface PartitionFacts {
  readonly number: number;
  /** The last record that the image holds, of those that touch the partition. */
  readonly sequence: number;
  /** SHA-256 of the image, hexadecimal digits. */
  readonly digest: string;
}

export const SCHEMA = `
CREATE TABLE snapshot (
  format INTEGER NOT NULL, storeId TEXT NOT NULL, sequence INTEGER NOT NULL,
  markSequence INTEGER NOT NULL, markChain TEXT NOT NULL, nextId INTEGER NOT NULL,
  createdAt TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE partitions (
  number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
  active INTEGER NOT NULL, locked INTEGER NOT NULL, sold INTEGER NOT NULL, blocked INTEGER NOT NULL,
  digest TEXT NOT NULL, image BLOB NOT NULL
);
${TABLES.map(tableOf).join("\n")}
`;

function tableOf(table: TableName): string {
  const type = TEXT_IDS.has(table) ? "TEXT" : "INTEGER";
  return `CREATE TABLE ${table} (
  position INTEGER PRIMARY KEY, id ${type} NOT NULL UNIQUE, row TEXT NOT NULL
);`;
}

export function snapshotName(sequence: number): string {
  return `${sequence.toString(16).padStart(16, "0")}.sqlite`;
}

/** @returns Names of snapshots among these, the newest first. */
export function findSnapshots(names: readonly string[]): string[] {
  return names.filter((name) => NAME.test(name)).toSorted((a, b) => (a < b ? 1 : -1));
}

/** Where the log goes on behind the snapshot. */
export function startOf({ sequence, markSequence, markChain }: SnapshotMeta): LogStart {
  return { sequence, mark: { sequence: markSequence, chain: Buffer.from(markChain, "hex") } };
}

export function digestOfImage(image: Uint8Array): string {
  return createHash("sha256").update(image).digest("hex");
}

/**
 * Covers the row of the snapshot, every row of the catalog, and the digests of the images.
 * Cost: O(bytes of the catalog).
 */
export function digestOfSnapshot(sql: SqlFile, meta: SnapshotMeta): string {
  const hash = createHash("sha256");
  const { format, storeId, sequence, markSequence, markChain, nextId, createdAt } = meta;
  const fields = [format, storeId, sequence, markSequence, markChain, nextId, createdAt];
  hash.update(JSON.stringify(fields));
  for (const table of TABLES) {
    addRow(hash, [table]);
    for (const { id, row } of rowsOf(sql, table)) addRow(hash, [String(id), row]);
  }
  for (const facts of sql.rows("SELECT number, sequence, digest FROM partitions ORDER BY number")) {
    const { number, sequence: upTo, digest } = partitionFactsOf(facts);
    addRow(hash, [String(number), String(upTo), digest]);
  }
  return hash.digest("hex");
}

function addRow(hash: Hash, texts: readonly string[]): void {
  for (const text of texts) hash.update(`${text.length}:`).update(text);
}

/** @throws Malformed when the file is no snapshot of this format and store. */
export function readMeta(sql: SqlFile, storeId: string): SnapshotMeta {
  const [row] = [...sql.rows("SELECT * FROM snapshot")];
  if (row === undefined) throw new Malformed("the row of a snapshot", "none");
  const meta = metaOf(row);
  if (meta.format !== SNAPSHOT_FORMAT) {
    throw new Malformed(`snapshot format ${SNAPSHOT_FORMAT}`, `${meta.format}`);
  }
  if (meta.storeId !== storeId) throw new Malformed(`store ${storeId}`, meta.storeId);
  const digest = digestOfSnapshot(sql, meta);
  if (row["digest"] !== digest) throw new Malformed(`digest ${digest}`, String(row["digest"]));
  return meta;
}

/** Ids and rows (JSON) of a catalog table, in the order in which they lie in memory. */
export function* rowsOf(
  sql: SqlFile,
  table: TableName,
): Generator<{ id: number | string; row: string }> {
  for (const { id, row } of sql.rows(`SELECT id, row FROM ${table} ORDER BY position`)) {
    const isId = TEXT_IDS.has(table) ? typeof id === "string" : isCount(id);
    if (!isId || typeof row !== "string") throw new Malformed(`a row of ${table}`, "another value");
    yield { id: id as number | string, row };
  }
}

/**
 * All partitions, their images checked against their digests.
 * @throws Malformed at the first that is not what was written. Cost: O(bytes of the images).
 */
export function* partitionsOf(sql: SqlFile): Generator<PartitionFacts & { image: Buffer }> {
  for (const row of sql.rows("SELECT * FROM partitions ORDER BY number")) {
    const facts = partitionFactsOf(row);
    const { image } = row;
    const what = `partition ${facts.number}`;
    if (!Buffer.isBuffer(image)) throw new Malformed(`an image of ${what}`, "none");
    const digest = digestOfImage(image);
    if (digest !== facts.digest) throw new Malformed(`digest ${facts.digest} of ${what}`, digest);
    yield { ...facts, image };
  }
}

/** All that can be checked without the log. @throws Malformed, SqlFault. */
export function checkSnapshot(sql: SqlFile, storeId: string): SnapshotMeta {
  for (const row of sql.rows("PRAGMA quick_check")) {
    const [problem] = Object.values(row);
    if (problem !== "ok") throw new Malformed("a sound SQLite file", String(problem));
  }
  const meta = readMeta(sql, storeId);
  for (const { number, sequence } of partitionsOf(sql)) {
    if (sequence <= meta.markSequence) continue;
    throw new Malformed(`partition ${number} up to ${meta.markSequence}`, `${sequence}`);
  }
  return meta;
}

function metaOf(row: SqlRow): SnapshotMeta {
  const { format, storeId, sequence, markSequence, markChain, nextId, createdAt } = row;
  const counts = [format, sequence, markSequence, nextId];
  const texts = [storeId, markChain, createdAt];
  if (!counts.every(isCount) || texts.some((text) => typeof text !== "string")) {
    throw new Malformed("the row of a snapshot", "another value");
  }
  return { format, storeId, sequence, markSequence, markChain, nextId, createdAt } as SnapshotMeta;
}

function partitionFactsOf(row: SqlRow): PartitionFacts {
  const { number, sequence, digest } = row;
  if (!isU32(Number(number)) || !isCount(sequence) || typeof digest !== "string") {
    throw new Malformed("the row of a partition", "another value");
  }
  return { number: Number(number), sequence: Number(sequence), digest };
}
