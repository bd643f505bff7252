/**
 * The bodies of stored replies that are too long for memory. The trail keeps them because it
 * follows the log anyway, off the engine's thread. A body is removed together with its reply.
 */
import type { CatalogRecord } from "../../engine/records.ts";
import { BODY_IN_MEMORY_MAX } from "../../engine/stored-replies.ts";
import type { SqlFile } from "../disk/sqlite.ts";

export const REPLIES_SCHEMA = "CREATE TABLE replies (id TEXT PRIMARY KEY, body TEXT NOT NULL);";

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
