/**
 * The file of the audit trail: SQLite that a person can query (`history` is the view to begin
 * with). Its row in `trail` says up to which record of which log it goes; that row changes in the
 * same transaction as the rest, so the file is always the trail of a whole number of records.
 */
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import { namesIn, type ReadDisk } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { keepSqlFile, readKeptFile, readSqlFile, SqlFault, type SqlFile } from "../disk/sqlite.ts";
import { isCount } from "../log/checks.ts";
import type { ChainMark, LogStart } from "../log/scan.ts";

export const AUDIT_FILE = "audit.sqlite";
export const AUDIT_FORMAT = 1;

/** The row of the table `trail`. */
export interface TrailRow {
  readonly storeId: string;
  /** The last record that it has; 0 before the first. */
  readonly sequence: number;
  /** The end of a batch that was on disk, at or behind `sequence`; null before the first record. */
  readonly mark: ChainMark | null;
  /** Transitions from this record on are kept; what was before, only as the state it came to. */
  readonly firstSequence: number;
  /** Milliseconds since 1970; 0 when the trail is kept from the beginning. */
  readonly firstTimeMs: number;
}

/** Names of the actor kinds; index: an `ActorKind`. */
export const ACTOR_NAMES = ["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"] as const;

const namesOf = (names: readonly (string | null)[], column: string) =>
  `CASE ${column} ${names
    .map((name, code) => (name === null ? "" : `WHEN ${code} THEN '${name}'`))
    .join(" ")} END`;

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
CREATE TABLE records (
  sequence INTEGER PRIMARY KEY, timeMs INTEGER NOT NULL, call TEXT NOT NULL,
  actorKind INTEGER NOT NULL, actorId INTEGER NOT NULL
);
CREATE INDEX recordsByTime ON records (timeMs);
CREATE TABLE transitions (
  partition INTEGER NOT NULL, placeId INTEGER NOT NULL, sequence INTEGER NOT NULL,
  ordinal INTEGER NOT NULL, timeMs INTEGER NOT NULL, fromState INTEGER, toState INTEGER,
  priceId INTEGER NOT NULL, hold INTEGER NOT NULL, session TEXT NOT NULL, holdType TEXT NOT NULL,
  places INTEGER, active INTEGER, locked INTEGER, sold INTEGER, blocked INTEGER,
  PRIMARY KEY (partition, placeId, sequence, ordinal)
) WITHOUT ROWID;
CREATE INDEX transitionsInOrder ON transitions (partition, sequence, ordinal);
CREATE INDEX transitionsOfSession ON transitions (partition, session, sequence, ordinal)
  WHERE session <> '';
CREATE TABLE areaHolds (
  partition INTEGER NOT NULL, areaId INTEGER NOT NULL, slot INTEGER NOT NULL,
  hold INTEGER NOT NULL, session TEXT NOT NULL, holdType TEXT NOT NULL, places INTEGER NOT NULL,
  PRIMARY KEY (partition, areaId, slot)
) WITHOUT ROWID;
CREATE VIEW history AS
SELECT (SELECT eventId FROM events e WHERE e.partition = t.partition LIMIT 1) AS eventId,
  t.sequence, t.ordinal, strftime('%Y-%m-%dT%H:%M:%f', t.timeMs / 1000.0, 'unixepoch') AS time,
  r.call, ${namesOf(ACTOR_NAMES, "r.actorKind")} AS actor, r.actorId,
  t.session, t.holdType, t.hold, t.placeId, t.places,
  ${namesOf(STATE_NAMES, "t.fromState")} AS fromState,
  ${namesOf(STATE_NAMES, "t.toState")} AS toState, t.priceId
FROM transitions t LEFT JOIN records r ON r.sequence = t.sequence;
`;

/**
 * Opens the file and makes its tables when it is empty.
 * @throws Malformed when it is of another format or store; SqlFault.
 */
export function openAuditFile(path: string, storeId: string): SqlFile {
  const sql = keepSqlFile(path);
  try {
    if (sql.row("SELECT 1 FROM sqlite_schema") === undefined) {
      sql.execute(`BEGIN IMMEDIATE;${SCHEMA}`);
      const values = "?, ?, 0, NULL, NULL, 1, 0";
      sql.run(`INSERT INTO trail VALUES (${values})`, AUDIT_FORMAT, storeId);
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
  if (format !== AUDIT_FORMAT) throw new Malformed(`format ${AUDIT_FORMAT}`, String(format));
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

/** Where the log goes on behind the trail; null at its beginning. */
export function startOfTrail({ sequence, mark }: TrailRow): LogStart | null {
  return mark === null ? null : { sequence, mark };
}

/**
 * Opens the trail of a folder for reading, by whomever it is used, and leaves no file beside it
 * that was not there.
 * @param folder - The data folder. @throws SqlFault.
 */
export function readAuditFile(disk: ReadDisk, folder: string): SqlFile {
  const path = `${folder}/${AUDIT_FILE}`;
  // What a killed process did not bring into the file yet stays where it is.
  const hasRest = disk.listNow(folder)?.includes(`${AUDIT_FILE}-wal`) === true;
  return hasRest ? readSqlFile(path) : readKeptFile(path);
}

/**
 * The last record that the trail has; behind it the log is needed yet. A file that cannot be read
 * has nothing, so that it can be made anew from all there is.
 * @param folder - The data folder.
 * @returns null when there is no trail.
 */
export function auditedSequence(disk: ReadDisk, folder: string, storeId: string): number | null {
  if (!namesIn(disk, folder).includes(AUDIT_FILE)) return null;
  let sql: SqlFile | null = null;
  try {
    sql = readAuditFile(disk, folder);
    return readTrail(sql, storeId).sequence;
  } catch (error) {
    only(error, SqlFault, Malformed);
    return 0;
  } finally {
    sql?.close();
  }
}
