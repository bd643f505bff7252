/** SQLite, as narrow as the store needs it. The only file that touches better-sqlite3. */
import Database from "better-sqlite3";

/** Held until `release`, or until the process ends in whatever way. */
export interface FileLock {
  release(): void;
}

/**
 * Locks a database file of its own, made when missing. The lock is the kernel's, so it never
 * outlives the process.
 * @returns null when another process holds it. @throws SqlFault.
 */
export function lockFile(path: string): FileLock | null {
  return lock(path, {}, (database) => {
    // Nothing is ever written, so there is no need for a journal file beside it.
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  });
}

/**
 * Like `lockFile`, for readers: many at a time, but not together with a holder of the other lock.
 * @returns null when that is held. @throws SqlFault.
 */
export function shareLockedFile(path: string): FileLock | null {
  return lock(path, { readonly: true, fileMustExist: true }, (database) => {
    database.exec("BEGIN");
    // The lock is taken by the first look into the file.
    database.prepare("SELECT count(*) FROM sqlite_master").get();
  });
}

function lock(
  path: string,
  options: Database.Options,
  take: (database: Database.Database) => void,
): FileLock | null {
  const database = attempt(() => new Database(path, { ...options, timeout: 0 }));
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

/** An open database. Statements are prepared once. Everything throws an `SqlFault`. */
export interface SqlFile {
  /** Statements that give nothing back. */
  execute(sql: string): void;
  run(sql: string, ...values: readonly SqlValue[]): void;
  rows(sql: string, ...values: readonly SqlValue[]): Iterable<SqlRow>;
  /** All rows at once: faster where there are many. */
  list(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[];
  /** The first row. */
  row(sql: string, ...values: readonly SqlValue[]): SqlRow | undefined;
  close(): void;
}

/** SQLite could not do what was asked: a broken file, or a full disk. */
export class SqlFault extends Error {
  override readonly name = "SqlFault";
  /** The content of the file is not what it was. */
  readonly isDamage: boolean;
  readonly isBusy: boolean;

  /** @param code - As SQLite names it, such as "SQLITE_FULL". */
  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause });
    this.isDamage = /^SQLITE_(CORRUPT|NOTADB|ERROR|CONSTRAINT|MISMATCH)/.test(code);
    this.isBusy = code === "SQLITE_BUSY";
  }
}

/** Opens an existing file for reading; nothing is made or changed. @throws SqlFault. */
export function readSqlFile(path: string): SqlFile {
  return guarded(() => new Database(path, { readonly: true, fileMustExist: true }));
}

/**
 * As `readSqlFile`, for a file of `keepSqlFile` that nobody has open perhaps. A reader makes files
 * beside it and, alone, leaves them there; here they go when it is closed.
 * @throws SqlFault.
 */
export function readKeptFile(path: string): SqlFile {
  const sql = readSqlFile(path);
  return { ...sql, close: () => (sql.close(), removeFilesBeside(path)) };
}

/** Whoever may write and is the last to close removes them. */
function removeFilesBeside(path: string): void {
  try {
    const last = guarded(() => new Database(path, { fileMustExist: true }));
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
 * Opens an empty file to be filled once and by this process alone. No journal on disk and no sync:
 * whoever gives the file its name syncs it before.
 * @throws SqlFault.
 */
export function fillSqlFile(path: string): SqlFile {
  return guarded(() => {
    const database = new Database(path, { fileMustExist: true });
    for (const setting of FILLING) database.pragma(setting);
    return database;
  });
}

/**
 * Opens a file, or makes it, to be read and changed for long; others may read it meanwhile. What is
 * committed is on disk, and a power cut leaves whole transactions.
 * @throws SqlFault.
 */
export function keepSqlFile(path: string): SqlFile {
  return guarded(() => {
    const database = new Database(path);
    for (const setting of KEEPING) database.pragma(setting);
    return database;
  });
}

/** With the write-ahead log, FULL is what syncs it at every commit. */
const KEEPING = [
  "page_size = 8192",
  "journal_mode = WAL",
  "synchronous = FULL",
  "journal_size_limit = 67108864",
  "cache_size = -65536",
  "temp_store = MEMORY",
];

const FILLING = [
  "page_size = 8192",
  // OFF would be refused without a word: SQLite is in its defensive mode here.
  "journal_mode = MEMORY",
  "synchronous = OFF",
  "locking_mode = EXCLUSIVE",
  "temp_store = MEMORY",
];

function guarded(open: () => Database.Database): SqlFile {
  const database = attempt(open);
  const statements = new Map<string, Database.Statement>();
  const prepared = (sql: string) => {
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, (statement = database.prepare(sql)));
    return statement;
  };
  return {
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

function attempt<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Database.SqliteError) throw new SqlFault(error.message, error.code, error);
    throw error;
  }
}
