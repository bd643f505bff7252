/** `frontrow history`. */
import path from "node:path";
import { readAuditFile } from "../../persistence/audit/file.ts";
import { historyOf } from "../../persistence/audit/reading/history.ts";
import { ensureStore, readStore } from "../../persistence/disk/data-folder.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import { ExitCode, FolderRefused, Malformed, only } from "../../persistence/disk/faults.ts";
import { SqlFault } from "../../persistence/disk/sqlite.ts";
import { Exit, Output } from "./say.ts";

export interface HistoryFlags {
  readonly event?: string;
}

/** @returns The exit code. @throws StoreFault. */
export function history(given: string, { event }: HistoryFlags): number {
  const folder = path.resolve(given);
  ensureStore(realDisk, folder);
  const { storeId } = readStore(realDisk, folder);
  const output = new Output();
  try {
    readAuditFile(realDisk, folder, (sql) => {
      for (const entry of historyOf(sql, storeId, event)) {
        if (!output.line(JSON.stringify(entry))) break;
      }
    });
    return Exit.DONE;
  } catch (error) {
    only(error, SqlFault, Malformed);
    const reason = `its audit trail cannot be read: ${error.message}`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION, error);
  } finally {
    // Also after damage: the transitions before it are shown.
    output.flush();
  }
}
