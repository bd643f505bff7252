/**
 * The format of the audit trail: an SQLite file whose transitions are in blocks. The row in the
 * table `trail` names the log and the last record in the file. It changes in the same transaction
 * as the other rows, so the file never contains part of a record.
 */
import type { TrailExtent } from "../../engine/queries/history.ts";
import type { CatalogRecord } from "../../engine/records.ts";
import { BODY_IN_MEMORY_MAX } from "../../engine/stored-replies.ts";
import { namesIn, type ReadDisk } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { FORMATS } from "../disk/formats.ts";
import {
  openSqlWriter,
  readSqlFile,
  removeFilesBeside,
  SqlFault,
  type SqlFile,
} from "../disk/sqlite.ts";
import { isCount } from "../log/bytes.ts";
import type { ChainMark, LogStart } from "../log/log-reader.ts";
import { BLOCKS_SCHEMA } from "./block-file.ts";
import { LOOKUPS_SCHEMA } from "./lookups.ts";
import type { At } from "./rows.ts";

// The bodies of stored replies that are too long for memory. The trail keeps them because it
// follows the log anyway, off the engine's thread. A body is removed together with its reply.

const REPLIES_SCHEMA = "CREATE TABLE replies (id TEXT PRIMARY KEY, body TEXT NOT NULL);";

/** @returns Characters that were written. */
export function writeReplies(sql: SqlFile, { puts, removes }: CatalogRecord): number {
  let written = 0;
  const remove = (id: string) => sql.run("DELETE FROM replies WHERE id = ?", id);
  for (const { table, key } of removes) if (table === "replies") remove(String(key));
  for (const { table, row } of puts) {
    if (table !== "replies") continue;
    const { id, body } = row;
    if (body === null) remove(id);
    else if (body.length > BODY_IN_MEMORY_MAX) {
      sql.run("INSERT OR REPLACE INTO replies VALUES (?, ?)", id, body);
      written += body.length;
    }
  }
  return written;
}

export function replyBody(sql: SqlFile, id: string): string | null {
  const row = sql.row("SELECT body FROM replies WHERE id = ?", id);
  return row === undefined ? null : String(row["body"]);
}

export const AUDIT_FILE = "audit.sqlite";

/** The row of the table `trail`. */
export interface TrailRow {
  readonly storeId: string;
  /** The last record in the trail; 0 before the first. */
  readonly sequence: number;
  /** The end of a durable batch, at or after `sequence`; null before the first record. */
  readonly mark: ChainMark | null;
  /** The first record with all its transitions; of earlier ones only the result is kept. */
  readonly firstSequence: number;
  /** Milliseconds since 1970; 0 when the trail begins with the log. */
  readonly firstTimeMs: number;
}

/** Names of the actor kinds; index: an `ActorKind`. */
export const ACTOR_NAMES = ["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"] as const;

/**
 * `times` has the last record at each time, of those that changed what the trail shows. `switches`
 * has the changes of all seats of an event, or of an organization's events: of the status (owner
 * `event`, its partition) and of `bookingEnabled`.
 */
const SCHEMA = `
CREATE TABLE trail (
  format INTEGER NOT NULL, storeId TEXT NOT NULL, sequence INTEGER NOT NULL,
  markSequence INTEGER, markChain TEXT, firstSequence INTEGER NOT NULL, firstTimeMs INTEGER NOT NULL
);
CREATE TABLE events (
  partition INTEGER NOT NULL, sequence INTEGER NOT NULL, timeMs INTEGER NOT NULL,
  eventId TEXT NOT NULL, organizationId INTEGER NOT NULL, schemaId INTEGER NOT NULL,
  layoutId INTEGER NOT NULL, name TEXT NOT NULL, status TEXT,
  PRIMARY KEY (partition, sequence)
) WITHOUT ROWID;
CREATE INDEX eventsById ON events (eventId, partition);
CREATE TABLE layouts (
  id INTEGER PRIMARY KEY, schemaId INTEGER NOT NULL, sequence INTEGER NOT NULL, document TEXT
);
CREATE TABLE prices (
  id INTEGER NOT NULL, sequence INTEGER NOT NULL, partition INTEGER NOT NULL,
  slot INTEGER NOT NULL, name TEXT,
  PRIMARY KEY (id, sequence)
) WITHOUT ROWID;
CREATE INDEX pricesOfEvent ON prices (partition, id, sequence);
CREATE TABLE areaHolds (
  partition INTEGER NOT NULL, areaId INTEGER NOT NULL, slot INTEGER NOT NULL,
  hold INTEGER NOT NULL, session TEXT NOT NULL, holdType TEXT NOT NULL, places INTEGER NOT NULL,
  PRIMARY KEY (partition, areaId, slot)
) WITHOUT ROWID;
CREATE TABLE switches (
  owner TEXT NOT NULL, ownerId INTEGER NOT NULL, sequence INTEGER NOT NULL,
  timeMs INTEGER NOT NULL, isOn INTEGER NOT NULL,
  PRIMARY KEY (owner, ownerId, sequence)
) WITHOUT ROWID;
CREATE TABLE times (timeMs INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
${BLOCKS_SCHEMA}
${LOOKUPS_SCHEMA}
${REPLIES_SCHEMA}
`;

/**
 * Opens the file, and creates the tables of an empty one.
 * @throws Malformed when it has another format or belongs to another store; SqlFault.
 */
export function openAuditFile(path: string, storeId: string): SqlFile {
  const sql = openSqlWriter(path);
  try {
    if (sql.row("SELECT 1 FROM sqlite_schema") === undefined) {
      sql.execute(`BEGIN IMMEDIATE;${SCHEMA}`);
      const values = "?, ?, 0, NULL, NULL, 1, 0";
      sql.run(`INSERT INTO trail VALUES (${values})`, FORMATS.trail.version, storeId);
      sql.execute("COMMIT");
    }
    readTrail(sql, storeId);
    return sql;
  } catch (error) {
    sql.close();
    throw error;
  }
}

/** @throws Malformed, SqlFault. */
export function readTrail(sql: SqlFile, storeId: string): TrailRow {
  const row = sql.row("SELECT * FROM trail");
  if (row === undefined) throw new Malformed("the row of a trail", "none");
  const { format, sequence, markSequence, markChain, firstSequence, firstTimeMs } = row;
  const { version } = FORMATS.trail;
  if (format !== version) throw new Malformed(`format ${version}`, String(format));
  if (row["storeId"] !== storeId) throw new Malformed(`store ${storeId}`, String(row["storeId"]));
  if (![sequence, firstSequence, firstTimeMs].every(isCount)) {
    throw new Malformed("whole numbers in the row of a trail", JSON.stringify(row));
  }
  const chain = typeof markChain === "string" ? Buffer.from(markChain, "hex") : null;
  return {
    storeId,
    sequence: Number(sequence),
    mark: chain === null ? null : { sequence: Number(markSequence), chain },
    firstSequence: Number(firstSequence),
    firstTimeMs: Number(firstTimeMs),
  };
}

export function writeTrail(sql: SqlFile, { sequence, mark, ...first }: TrailRow): void {
  sql.run(
    `UPDATE trail SET sequence = ?, markSequence = ?, markChain = ?, firstSequence = ?,
     firstTimeMs = ?`,
    sequence,
    mark?.sequence ?? null,
    mark === null ? null : Buffer.from(mark.chain).toString("hex"),
    first.firstSequence,
    first.firstTimeMs,
  );
}

export function extentOf({ sequence, firstSequence, firstTimeMs }: TrailRow): TrailExtent {
  return { firstSequence, firstTimeMs, lastSequence: sequence };
}

/** Where the log continues after the trail; null for its beginning. */
export function startOfTrail({ sequence, mark }: TrailRow): LogStart | null {
  return mark === null ? null : { sequence, mark };
}

/** Reads the trail of a data folder. @throws As `readFileOf`. */
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
 * @returns The last record in the trail; later ones must stay in the log. 0 when the file cannot be
 * read, because it will be rebuilt from the whole log; null when there is no file.
 */
export function auditedSequence(disk: ReadDisk, folder: string, storeId: string): number | null {
  if (!namesIn(disk, folder).includes(AUDIT_FILE)) return null;
  try {
    return readAuditFile(disk, folder, (sql) => readTrail(sql, storeId).sequence);
  } catch (error) {
    only(error, SqlFault, Malformed);
    return 0;
  }
}

/** @returns The last record before the time, in milliseconds since 1970; 0 when there is none. */
export function lastBefore(sql: SqlFile, timeMs: number): number {
  const last = "SELECT sequence FROM times WHERE timeMs < ? ORDER BY timeMs DESC LIMIT 1";
  return Number(sql.row(last, timeMs)?.["sequence"] ?? 0);
}

/** @returns The time of a record that changed what the trail shows. Cost: 41 look-ups. */
export function timeOf(sql: SqlFile, sequence: number): number {
  let [low, high] = [0, 2 ** 41];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (lastBefore(sql, middle + 1) >= sequence) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Writes the table `times`. Times rise with sequence numbers, and many records have the same. */
export class RecordTimes {
  readonly #sql: SqlFile;
  #last: At | null = null;

  constructor(sql: SqlFile) {
    this.#sql = sql;
  }

  add(at: At): void {
    if (this.#last !== null && this.#last.timeMs !== at.timeMs) this.flush();
    this.#last = at;
  }

  flush(): void {
    if (this.#last === null) return;
    const { timeMs, sequence } = this.#last;
    this.#sql.run("INSERT OR REPLACE INTO times VALUES (?, ?)", timeMs, sequence);
    this.#last = null;
  }
}
