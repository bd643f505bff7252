/**
 * The file of the history: the records of the log that concern events, by event, compressed, and
 * now and then an image of the event. The row in the table `history` names the last record in the
 * file and changes in the same transaction as the other rows, so the file never has part of a
 * batch of the log.
 */
import { brotliCompressSync, brotliDecompressSync, constants, crc32 } from "node:zlib";
import { Broken } from "../../engine/assert.ts";
import type { TrailExtent } from "../../engine/queries/history.ts";
import type { Actor } from "../../engine/records.ts";
import { namesIn, type ReadDisk } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { ensureFormat, FORMATS } from "../disk/formats.ts";
import {
  inTransaction,
  openSqlWriter,
  readSqlFile,
  removeFilesBeside,
  SqlFault,
  type SqlFile,
  type SqlRow,
  type SqlValue,
} from "../disk/sqlite.ts";
import type { ChainMark } from "../log/log-reader.ts";
import { lowerBound } from "./block.ts";

export const AUDIT_FILE = "audit.sqlite";

/** As small as deflate, in half its time; 4 saves a tenth of a short chunk, for three times as long. */
const PARAMS = { [constants.BROTLI_PARAM_QUALITY]: 2 };
/** Bytes of a buffer for compressed bytes, at least (the minimum of zlib), and at most. */
const OUTPUT_BYTES = { min: 64, max: 16 * 1_024 };

/**
 * `events` has a row for each event, also a deleted one, with the ids of its present prices.
 * `versions` has each layout of a schema, and each change of an organization's `bookingEnabled`,
 * because these change many events at once. `chunks` has the other records of an event, in order.
 * The digest of a row is of its other columns. Damage of a row concerns its event alone.
 */
const SCHEMA = `
CREATE TABLE history (
  format INTEGER NOT NULL, storeId TEXT NOT NULL, sequence INTEGER NOT NULL,
  markSequence INTEGER, markChain TEXT, firstSequence INTEGER NOT NULL, firstTimeMs INTEGER NOT NULL,
  digest INTEGER NOT NULL
);
CREATE TABLE events (
  partition INTEGER PRIMARY KEY, eventId TEXT NOT NULL, organizationId INTEGER NOT NULL,
  schemaId INTEGER NOT NULL, created INTEGER NOT NULL, removed INTEGER, prices TEXT NOT NULL,
  digest INTEGER NOT NULL
);
CREATE INDEX eventsById ON events (eventId, partition);
CREATE TABLE versions (
  kind TEXT NOT NULL, owner INTEGER NOT NULL, sequence INTEGER NOT NULL, timeMs INTEGER NOT NULL,
  actorKind INTEGER NOT NULL, actorId INTEGER NOT NULL, body BLOB, digest INTEGER NOT NULL,
  PRIMARY KEY (kind, owner, sequence)
) WITHOUT ROWID;
CREATE TABLE chunks (
  partition INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  lastMs INTEGER NOT NULL, moves INTEGER NOT NULL, image BLOB, records BLOB NOT NULL,
  digest INTEGER NOT NULL,
  PRIMARY KEY (partition, first)
);
CREATE INDEX chunksByLast ON chunks (last, partition);
CREATE TABLE replies (id TEXT PRIMARY KEY, body TEXT NOT NULL, digest INTEGER NOT NULL);
`;
const STATEMENTS = SCHEMA.trimStart()
  .split(/(?<=;\n)/)
  .toSorted();
/** Version 1 had it until nobody read it any more. */
const UNUSED_INDEX = "CREATE INDEX eventsOfOrganization ON events (organizationId);\n";
const TABLES = ["history", "events", "versions", "chunks", "replies"] as const;

/** The row of the table `history`. */
export interface HistoryRow {
  readonly storeId: string;
  /** The last record in the file, and the chain of its batch; null before the first. */
  readonly mark: ChainMark | null;
  /** The first record that can be asked for. */
  readonly firstSequence: number;
  /** Milliseconds since 1970; 0 when the history begins with the log. */
  readonly firstTimeMs: number;
}

/** An event, which may have been deleted. */
export interface ArchivedEvent {
  readonly partition: number;
  readonly eventId: string;
  readonly organizationId: number;
  readonly schemaId: number;
  /** The record that created it, or the first one of the history. */
  readonly created: number;
  /** The record that removed it; null while it exists. */
  readonly removed: number | null;
  /** Ids of its prices. */
  readonly prices: readonly number[];
}

/** `layout`: of a schema. `switch`: of an organization's bookings. */
export type VersionKind = "layout" | "switch";

export interface Version {
  readonly kind: VersionKind;
  /** Id of the schema or organization. */
  readonly owner: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly actor: Actor;
  /** JSON of the document, or of the row, deflated; null when it was removed. */
  readonly body: Buffer | null;
}

export type VersionKey = Pick<Version, "kind" | "owner" | "sequence">;

/** Consecutive records of an event. */
export interface Chunk {
  readonly partition: number;
  readonly first: number;
  readonly last: number;
  /** Milliseconds since 1970: the time of the last record. */
  readonly lastMs: number;
  /** Transitions of the records, estimated. */
  readonly moves: number;
  /** The event before the records; null when it continues the chunk before. */
  readonly image: Buffer | null;
  /** As by `ColumnWriter`. */
  readonly records: Buffer;
}

/** A chunk, compressed. */
export type PackedChunk = Chunk & { readonly isPacked: true };

/** A chunk without its content. */
export type ChunkHead = Pick<Chunk, "first" | "last" | "moves"> & { readonly hasImage: boolean };

export class Archive {
  readonly #sql: SqlFile;
  readonly #storeId: string;
  /** As committed. */
  row: HistoryRow;

  /** Opens the file, and creates the tables of an empty one. @throws Malformed, SqlFault. */
  constructor(path: string, storeId: string, open: (path: string) => SqlFile = openSqlWriter) {
    this.#sql = open(path);
    try {
      if (this.#sql.row("SELECT 1 FROM sqlite_schema") === undefined) {
        inTransaction(this.#sql, () => {
          this.#sql.execute(SCHEMA);
          this.#put("history", FORMATS.trail.version, storeId, 0, null, null, 1, 0);
        });
      }
      this.#storeId = storeId;
      this.row = readHistoryRow(this.#sql, storeId);
    } catch (error) {
      this.#sql.close();
      throw error;
    }
  }

  /** The last record in the file; 0 before the first. */
  get sequence(): number {
    return this.row.mark?.sequence ?? 0;
  }

  get extent(): Omit<TrailExtent, "lastSequence"> {
    const { firstSequence, firstTimeMs } = this.row;
    return { firstSequence, firstTimeMs };
  }

  /** Runs `write` as one transaction that ends at a row. */
  commit(row: HistoryRow, write: () => void): void {
    inTransaction(this.#sql, () => {
      write();
      const { mark, firstSequence, firstTimeMs } = row;
      const chain = mark === null ? null : Buffer.from(mark.chain).toString("hex");
      const sequence = mark?.sequence ?? null;
      const end = [sequence ?? 0, sequence, chain, firstSequence, firstTimeMs];
      this.#sql.run("DROP INDEX IF EXISTS eventsOfOrganization");
      this.#sql.run("DELETE FROM history");
      this.#put("history", FORMATS.trail.version, this.#storeId, ...end);
    });
    this.row = row;
  }

  putEvent(event: ArchivedEvent): void {
    const { partition, eventId, organizationId, schemaId, created, removed, prices } = event;
    const ids = prices.join(" ");
    this.#put("events", partition, eventId, organizationId, schemaId, created, removed, ids);
  }

  putVersion({ kind, owner, sequence, timeMs, actor, body }: Version): void {
    this.#put("versions", kind, owner, sequence, timeMs, actor.kind, actor.id, body);
  }

  putChunk({ partition, first, last, lastMs, moves, image, records }: PackedChunk): void {
    this.#put("chunks", partition, first, last, lastMs, moves, image, records);
  }

  /** Adds a row, or replaces it. */
  #put(table: (typeof TABLES)[number], ...values: SqlValue[]): void {
    const places = "?, ".repeat(values.length);
    this.#sql.run(
      `INSERT OR REPLACE INTO ${table} VALUES (${places}?)`,
      ...values,
      digestOf(values),
    );
  }

  /** @param body - Null when the reply was dropped. */
  putReply(id: string, body: string | null): void {
    if (body === null) this.#sql.run("DELETE FROM replies WHERE id = ?", id);
    else this.#put("replies", id, body);
  }

  reply(id: string): string | null {
    const row = this.#sql.row("SELECT * FROM replies WHERE id = ?", id);
    return row === undefined ? null : String(intact("replies", row)["body"]);
  }

  /** The newest event with the id. */
  eventOf(eventId: string): ArchivedEvent | undefined {
    const select = "SELECT * FROM events WHERE eventId = ? ORDER BY partition DESC LIMIT 1";
    const row = this.#sql.row(select, eventId);
    return row === undefined ? undefined : eventIn(row);
  }

  /** @throws Malformed when its row is damaged. */
  eventAt(partition: number): ArchivedEvent | undefined {
    const row = this.#sql.row("SELECT * FROM events WHERE partition = ?", partition);
    return row === undefined ? undefined : eventIn(row);
  }

  /** True when the row of an event is damaged. It may be under another key: the chunks tell. */
  hasLost(partition: number): boolean {
    const event = unlessDamaged(() => this.eventAt(partition));
    return event === null || (event === undefined && this.chunksOf(partition).length > 0);
  }

  /** Every event, also deleted ones. */
  *allEvents(): Generator<ArchivedEvent> {
    for (const row of this.#sql.rows("SELECT * FROM events")) {
      yield eventIn(row);
    }
  }

  /** Events that exist, without those whose row is damaged. */
  *events(): Generator<ArchivedEvent> {
    for (const row of this.#sql.rows("SELECT * FROM events WHERE removed IS NULL")) {
      const event = unlessDamaged(() => eventIn(row));
      if (event !== null) yield event;
    }
  }

  /** @returns The next version after a record; undefined for none. */
  versionAfter(kind: VersionKind, owner: number, sequence: number): Version | undefined {
    return this.#version("sequence > ? ORDER BY sequence", kind, owner, sequence);
  }

  /** @returns The last version up to a record; undefined for none. */
  versionAt(kind: VersionKind, owner: number, sequence: number): Version | undefined {
    return this.#version("sequence <= ? ORDER BY sequence DESC", kind, owner, sequence);
  }

  /** The last version of each organization's bookings, without damaged ones. */
  latestSwitches(): Version[] {
    const select = `SELECT owner, max(sequence) AS sequence FROM versions
      WHERE kind = 'switch' GROUP BY owner`;
    return this.#sql.list(select).flatMap(({ owner }) => {
      return unlessDamaged(() => this.versionAt("switch", Number(owner), Infinity)) ?? [];
    });
  }

  #version(which: string, kind: VersionKind, owner: number, at: number): Version | undefined {
    const select = `SELECT * FROM versions WHERE kind = ? AND owner = ? AND ${which} LIMIT 1`;
    const row = this.#sql.row(select, kind, owner, at);
    if (row === undefined) return undefined;
    const { actorKind, actorId, ...version } = intact("versions", row);
    return { ...version, actor: { kind: actorKind, id: actorId } } as unknown as Version;
  }

  /** The chunks of an event, in order. */
  chunksOf(partition: number): readonly ChunkHead[] {
    const select = `SELECT first, last, moves, image IS NOT NULL AS hasImage FROM chunks
      WHERE partition = ? ORDER BY first`;
    const rows = this.#sql.list(select, partition);
    return rows.map((row) => ({ ...row, hasImage: row["hasImage"] === 1 }) as ChunkHead);
  }

  /** @throws Malformed when it is damaged. Cost: O(bytes of the chunk). */
  chunk(partition: number, at: number): Chunk {
    const select = "SELECT * FROM chunks WHERE partition = ? AND first = ?";
    const row = this.#sql.row(select, partition, at);
    if (row === undefined) throw new Malformed(`a chunk of event ${partition} at ${at}`, "none");
    const kept = intact("chunks", row) as unknown as Chunk;
    const image = kept.image === null ? null : brotliDecompressSync(kept.image);
    return { ...kept, image, records: brotliDecompressSync(kept.records) };
  }

  /** @returns The last record of a chunk that ends before a time; 0 for none. Cost: O(log² chunks). */
  lastBefore(timeMs: number): number {
    // Records are in the order of their times, so the index of records serves.
    const select = `SELECT partition, first, lastMs FROM chunks
      WHERE last <= ? ORDER BY last DESC LIMIT 1`;
    const at = (sequence: number) => this.#sql.row(select, sequence);
    const isLate = (sequence: number) => Number(at(sequence)?.["lastMs"] ?? -Infinity) >= timeMs;
    const found = at(lowerBound(this.sequence + 1, isLate) - 1);
    if (found === undefined) return 0;
    // A damaged time must not remove the chunks after it.
    const chunk = () => this.chunk(Number(found["partition"]), Number(found["first"]));
    return unlessDamaged(chunk)?.last ?? 0;
  }

  /** @returns The next partition with chunks; null for none. */
  partitionAfter(partition: number): number | null {
    const select = "SELECT min(partition) AS next FROM chunks WHERE partition > ?";
    const next = this.#sql.row(select, partition)?.["next"] ?? null;
    return next === null ? null : Number(next);
  }

  removeChunk(partition: number, first: number): void {
    this.#sql.run("DELETE FROM chunks WHERE partition = ? AND first = ?", partition, first);
  }

  removeEvent(partition: number): void {
    this.#sql.run("DELETE FROM events WHERE partition = ?", partition);
  }

  /** Versions that no chunk from a record on needs. */
  versionsBefore(sequence: number): readonly VersionKey[] {
    const select = `SELECT kind, owner, sequence FROM versions WHERE EXISTS (
      SELECT 1 FROM versions AS later WHERE later.kind = versions.kind
      AND later.owner = versions.owner AND later.sequence > versions.sequence
      AND later.sequence < ?)`;
    return this.#sql.list(select, sequence) as unknown as VersionKey[];
  }

  removeVersion({ kind, owner, sequence }: VersionKey): void {
    const where = "kind = ? AND owner = ? AND sequence = ?";
    this.#sql.run(`DELETE FROM versions WHERE ${where}`, kind, owner, sequence);
  }

  /** Partitions with records of their own after a record. */
  changedAfter(sequence: number): number[] {
    const select = "SELECT DISTINCT partition FROM chunks WHERE last > ?";
    return this.#sql.list(select, sequence).map(({ partition }) => Number(partition));
  }

  /** Owners of versions after a record. */
  ownersAfter(kind: VersionKind, sequence: number): number[] {
    const select = "SELECT DISTINCT owner FROM versions WHERE kind = ? AND sequence > ?";
    return this.#sql.list(select, kind, sequence).map(({ owner }) => Number(owner));
  }

  close(): void {
    this.#sql.close();
  }
}

/** @returns The chunk for `putChunk`. Cost: compresses it. */
export function packed(chunk: Chunk): PackedChunk {
  const image = chunk.image === null ? null : compressed(chunk.image);
  return { ...chunk, image, records: compressed(chunk.records), isPacked: true };
}

function compressed(bytes: Buffer): Buffer {
  const { min, max } = OUTPUT_BYTES;
  // The result keeps the whole buffer alive, and a round of archiving has a chunk for each event.
  const chunkSize = Math.min(Math.max(bytes.length, min), max);
  return brotliCompressSync(bytes, { params: PARAMS, chunkSize });
}

function digestOf(values: readonly SqlValue[]): number {
  const add = (digest: number, value: SqlValue) =>
    crc32(Buffer.isBuffer(value) ? value : `${String(value)}\n`, digest);
  return values.reduce(add, 0);
}

/** @returns The row without its digest. @throws Malformed when it is not as it was written. */
function intact(table: string, row: SqlRow): SqlRow {
  const { digest, ...columns } = row;
  const values = Object.values(columns) as SqlValue[];
  if (digestOf(values) === digest) return columns;
  const key = values.slice(0, 2).map(String).join(", ");
  throw new Malformed(`an intact row ${key} of ${table}`, "another digest");
}

/** @throws The error, unless it is damage of a part of the archive. */
export function onlyDamage(error: unknown): void {
  if (!isDamage(error)) throw error;
}

/** A replay that begins with a damaged number fails an assertion. */
export function isDamage(error: unknown): boolean {
  if (error instanceof SqlFault) return error.isDamage;
  return error instanceof Malformed || error instanceof Broken;
}

/** @returns What was read; null when that part of the archive is damaged. */
export function unlessDamaged<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    onlyDamage(error);
    return null;
  }
}

function eventIn(row: SqlRow): ArchivedEvent {
  const { prices, ...event } = intact("events", row);
  const ids = String(prices).split(" ").filter(Boolean).map(Number);
  return { ...event, prices: ids } as unknown as ArchivedEvent;
}

/** SQLite reads its own description of the tables without a checksum. */
function hasSchema(sql: SqlFile): boolean {
  const found = sql.list("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL");
  // In a copy the indexes come after all tables.
  const statements = found.map((row) => `${String(row["sql"])};\n`);
  return (
    statements
      .filter((one) => one !== UNUSED_INDEX)
      .toSorted()
      .join("") === STATEMENTS.join("")
  );
}

/** @returns The row of an archive of this format. @throws Malformed, OtherFormat, SqlFault. */
function ensureArchive(sql: SqlFile): SqlRow {
  const row = sql.row("SELECT * FROM history");
  if (row === undefined) throw new Malformed("the row of a history", "none");
  const isKnown = hasSchema(sql);
  // With the tables of this format, another version is damage; with others, it is another format.
  if (isKnown) intact("history", row);
  ensureFormat(FORMATS.trail, row["format"]);
  if (!isKnown) throw new Malformed("the tables of a history", "others");
  return row;
}

/** @throws Malformed, OtherFormat, SqlFault. */
export function readHistoryRow(sql: SqlFile, storeId: string): HistoryRow {
  const row = ensureArchive(sql);
  const { markSequence, markChain, firstSequence, firstTimeMs } = row;
  if (row["storeId"] !== storeId) throw new Malformed(`store ${storeId}`, String(row["storeId"]));
  const chain = typeof markChain === "string" ? Buffer.from(markChain, "hex") : null;
  return {
    storeId,
    mark: chain === null ? null : { sequence: Number(markSequence), chain },
    firstSequence: Number(firstSequence),
    firstTimeMs: Number(firstTimeMs),
  };
}

/** Reads the archive of a data folder. @throws As `readFileOf`. */
export function readAuditFile<T>(disk: ReadDisk, folder: string, read: (sql: SqlFile) => T): T {
  return readFileOf(disk, folder, AUDIT_FILE, read);
}

/**
 * Reads an SQLite file of a data folder, even while a process uses it. Leaves no new file beside
 * it. @throws SqlFault.
 */
export function readFileOf<T>(
  disk: ReadDisk,
  folder: string,
  name: string,
  read: (sql: SqlFile) => T,
): T {
  const path = `${folder}/${name}`;
  // A write-ahead log of a killed process must stay: it may have commits that the file lacks.
  const hasLog = namesIn(disk, folder).includes(`${name}-wal`);
  try {
    return readSqlFile(path, read);
  } finally {
    if (!hasLog) removeFilesBeside(path);
  }
}

/**
 * @param folder - The data folder.
 * @returns The last record in the archive; later ones must stay in the log. 0 when the file cannot be
 * read, because it will be rebuilt from the whole log; null when there is no file.
 * @throws OtherFormat.
 */
export function auditedSequence(disk: ReadDisk, folder: string, storeId: string): number | null {
  if (!namesIn(disk, folder).includes(AUDIT_FILE)) return null;
  try {
    return readAuditFile(disk, folder, (sql) => readHistoryRow(sql, storeId).mark?.sequence ?? 0);
  } catch (error) {
    only(error, SqlFault, Malformed);
    return 0;
  }
}

/** Names of the actor kinds; index: an `ActorKind`. */
export const ACTOR_NAMES = ["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"] as const;

/** @throws Malformed when a row is not as it was written; OtherFormat. Cost: O(bytes). */
export function checkRows(sql: SqlFile): void {
  ensureArchive(sql);
  for (const table of TABLES) {
    for (const row of sql.rows(`SELECT * FROM ${table}`)) intact(table, row);
  }
}
