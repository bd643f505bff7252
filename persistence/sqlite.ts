/** SQLite, as narrow as the store needs it. The only file that touches better-sqlite3. */
import Database from "better-sqlite3";

/** Held until `release`, or until the process ends in whatever way. */
export interface FileLock {
  release(): void;
}

/**
 * Locks a database file of its own, made when missing. The lock is the kernel's, so it never
 * outlives the process.
 * @returns null when another holder has it.
 */
export function lockFile(path: string): FileLock | null {
  const database = new Database(path, { timeout: 0 });
  try {
    // Nothing is ever written, so no journal file shall lie beside it.
    database.pragma("journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Database.SqliteError && error.code === "SQLITE_BUSY") return null;
    throw error;
  }
  return {
    release() {
      database.close();
    },
  };
}
