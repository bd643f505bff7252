/** SQLite, reduced to the operations of the store. Only this file uses better-sqlite3. */
import fs from "node:fs";
import { createRequire } from "node:module";
import type Database from "better-sqlite3";
import { messageOf } from "./faults.ts";

/**
 * From Node 22 on, better-sqlite3 13 works, with a binary for all versions; 12 ends the process
 * from 24.19 on. On Node 20 13 ends the process, so that 12 is compiled.
 */
const NODE_API_SINCE = 22;
/** @param node - A version, such as "24.21.0". */
export function sqlitePackage(node: string): string {
  const isNodeApi = Number.parseInt(node, 10) >= NODE_API_SINCE;
  return isNodeApi ? "better-sqlite3-node-api" : "better-sqlite3";
}

/** The package that fits this Node. */
export const Sqlite: typeof Database = loadSqlite();

/** @throws Error with the remedy, when the binary is missing or is that of another Node. */
function loadSqlite(): typeof Database {
  const { node } = process.versions;
  const name = sqlitePackage(node);
  try {
    const loaded = createRequire(import.meta.url)(name) as typeof Database;
    // It loads its binary now.
    new loaded(":memory:").close();
    return loaded;
  } catch (error) {
    const [reason = ""] = messageOf(error).split("\n", 1);
    const remedy =
      "run npm ci with this Node, or use the Node that the packages were installed with";
    throw new Error(`Node ${node} cannot load ${name}: ${remedy} (${reason})`, { cause: error });
  }
}

const FILE_MODE = 0o600;
const IN_MEMORY = ":memory:";

/** Held until `release`, or until the process ends, however it ends. */
export interface FileLock {
  release(): void;
}

/**
 * Locks a database file serving only as a lock, and creates it on demand. The kernel
 * holds the lock, so it never outlives the process.
 * @returns null when another process holds it. @throws SqlFault.
 */
export function lockFile(path: string): FileLock | null {
  return lock(path, {}, (database) => {
    // Nothing is ever written, so no journal file is needed beside it.
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  });
}

/**
 * Like `lockFile`, but for any number of readers at a time, never together with it.
 * @returns null while `lockFile` holds it. @throws SqlFault.
 */
export function shareLockedFile(path: string): FileLock | null {
  return lock(path, { readonly: true, fileMustExist: true }, (database) => {
    database.exec("BEGIN");
    // The first read takes the lock.
    database.prepare("SELECT count(*) FROM sqlite_master").get();
  });
}

function lock(
  path: string,
  options: Database.Options,
  take: (database: Database.Database) => void,
): FileLock | null {
  const database = attempt(() => new Sqlite(path, { ...options, timeout: 0 }));
  try {
    attempt(() => take(database));
  } catch (error) {
    database.close();
    if (error instanceof SqlFault && error.isBusy) return null;
    throw error;
  }
  return { release: () => void database.close() };
}

export type SqlValue = number | string | Uint8Array | null;
export type SqlRow = Readonly<Record<string, unknown>>;

/** An open database. Each statement is prepared once. All methods throw `SqlFault`. */
export interface SqlFile {
  /** Runs any number of statements without rows. */
  execute(sql: string): void;
  /** Runs one statement without rows. */
  run(sql: string, ...values: readonly SqlValue[]): void;
  /** Reads rows one at a time. */
  rows(sql: string, ...values: readonly SqlValue[]): Iterable<SqlRow>;
  /** Reads all rows at once: faster. */
  list(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[];
  /** Reads the first row. */
  row(sql: string, ...values: readonly SqlValue[]): SqlRow | undefined;
  readonly isInTransaction: boolean;
  /** Prepared statements. */
  readonly statementCount: number;
  close(): void;
}

/** An operation of SQLite failed, for example because of a damaged file or a full disk. */
export class SqlFault extends Error {
  override readonly name = "SqlFault";
  /** The content of the file is damaged. */
  readonly isDamage: boolean;
  readonly isBusy: boolean;

  /** @param code - As SQLite names it, such as "SQLITE_FULL". */
  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause });
    this.isDamage = /^SQLITE_(CORRUPT|NOTADB|ERROR|CONSTRAINT|MISMATCH)/.test(code);
    this.isBusy = code === "SQLITE_BUSY";
  }
}

/** Opens an existing file for reading. Creates and changes nothing. @throws SqlFault. */
export function openSqlReader(path: string): SqlFile {
  return open(path, { readonly: true, fileMustExist: true }, []);
}

/** Opens an existing file for reading, passes it to `read`, and closes it. @throws SqlFault. */
export function readSqlFile<T>(path: string, read: (sql: SqlFile) => T): T {
  const sql = openSqlReader(path);
  try {
    return read(sql);
  } finally {
    sql.close();
  }
}

/**
 * Removes SQLite's files beside an unused file of `openSqlWriter`: a
 * reader creates them and cannot remove them; the last writable connection does.
 */
export function removeFilesBeside(path: string): void {
  try {
    const last = open(path, { fileMustExist: true }, []);
    try {
      last.row("SELECT 1 FROM sqlite_schema");
    } finally {
      last.close();
    }
  } catch (error) {
    // They do no harm where they cannot be removed.
    if (!(error instanceof SqlFault)) throw error;
  }
}

/**
 * @param check - The quick one does not compare indexes with their tables.
 * @returns The first problem found by SQLite; null for a sound file.
 */
export function problemIn(
  sql: SqlFile,
  check: "quick_check" | "integrity_check" = "quick_check",
): string | null {
  const problem = sql.row(`PRAGMA ${check}(1)`)?.[check];
  return problem === "ok" ? null : String(problem);
}

/**
 * Opens an empty file, filled once by this process alone. There is no journal on disk and no sync:
 * the caller must sync the file before renaming it. @throws SqlFault.
 */
export function fillSqlFile(path: string): SqlFile {
  return open(path, { fileMustExist: true }, FILLING);
}

/**
 * Opens or creates a file for reading and writing; others may read it at the same time. A commit is
 * on disk when it returns, and a power cut leaves whole transactions. @throws SqlFault.
 */
export function openSqlWriter(path: string): SqlFile {
  if (path !== IN_MEMORY) createPrivate(path);
  return open(path, {}, WRITING);
}

/** SQLite creates files readable by everybody; those beside a file get the rights of the file. */
function createPrivate(path: string): void {
  try {
    fs.closeSync(fs.openSync(path, "a", FILE_MODE));
  } catch {
    // SQLite opens it next, and names the reason.
  }
}

/** With the write-ahead log, FULL syncs it at every commit. */
const WRITING = [
  "page_size = 8192",
  "journal_mode = WAL",
  "synchronous = FULL",
  "journal_size_limit = 67108864",
  "cache_size = -16384",
  "temp_store = MEMORY",
];

const FILLING = [
  "page_size = 8192",
  // SQLite silently refuses OFF, because it runs in its defensive mode.
  "journal_mode = MEMORY",
  "synchronous = OFF",
  "locking_mode = EXCLUSIVE",
  "temp_store = MEMORY",
];

/** Prepared statements, at most. */
export const STATEMENTS_MAX = 500;

function open(path: string, options: Database.Options, settings: readonly string[]): SqlFile {
  const database = attempt(() => {
    const opened = new Sqlite(path, options);
    for (const setting of settings) opened.pragma(setting);
    return opened;
  });
  const statements = new Map<string, Database.Statement>();
  const prepared = (sql: string) => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      // Texts depend on the callers, so their number is unbounded.
      if (statements.size >= STATEMENTS_MAX) statements.clear();
      statements.set(sql, (statement = database.prepare(sql)));
    }
    return statement;
  };
  return {
    get isInTransaction() {
      return database.inTransaction;
    },
    get statementCount() {
      return statements.size;
    },
    execute: (sql) => attempt(() => void database.exec(sql)),
    run: (sql, ...values) => attempt(() => void prepared(sql).run(...values)),
    *rows(sql, ...values) {
      const rows = attempt(() => prepared(sql).iterate(...values));
      try {
        for (;;) {
          const { value, done } = attempt(() => rows.next());
          if (done === true) return;
          yield value as SqlRow;
        }
      } finally {
        rows.return?.();
      }
    },
    list: (sql, ...values) => attempt(() => prepared(sql).all(...values) as SqlRow[]),
    row: (sql, ...values) => attempt(() => prepared(sql).get(...values) as SqlRow | undefined),
    close: () => attempt(() => void database.close()),
  };
}

/** Runs `work` as one transaction, on disk when it returns. An error leaves nothing of it. */
export function inTransaction<Value>(sql: SqlFile, work: () => Value): Value {
  sql.execute("BEGIN IMMEDIATE");
  try {
    const value = work();
    sql.execute("COMMIT");
    return value;
  } catch (error) {
    // SQLite may have rolled back by itself, as on a full disk.
    if (sql.isInTransaction) sql.execute("ROLLBACK");
    throw error;
  }
}

function attempt<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Sqlite.SqliteError) throw new SqlFault(error.message, error.code, error);
    throw error;
  }
}
