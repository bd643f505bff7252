/** Removes the oldest part of the audit trail, except the last row of each place. */
import type { SqlFile } from "../disk/sqlite.ts";
import type { TrailRow } from "./file.ts";

const IS_SUPERSEDED = `EXISTS (SELECT 1 FROM transitions later
  WHERE later.partition = t.partition AND later.placeId = t.placeId AND later.sequence < ?
  AND (later.sequence, later.ordinal) > (t.sequence, t.ordinal))`;

/**
 * To be called within a transaction.
 * @param beforeMs - Milliseconds since 1970: earlier transitions are removed.
 * @returns The row with the new beginning of the trail. Cost: O(events + rows before that beginning
 * of the events that have rows since the old one).
 */
export function removeBefore(sql: SqlFile, trail: TrailRow, beforeMs: number): TrailRow {
  const old = sql.row("SELECT max(sequence) AS last FROM records WHERE timeMs < ?", beforeMs);
  const first = Number(old?.["last"] ?? 0) + 1;
  if (first <= trail.firstSequence) return trail;
  const [from, to] = [trail.firstSequence, first];
  for (const partition of partitionsOf(sql)) {
    if (isGone(sql, partition, to)) {
      for (const table of ["transitions", "prices", "events"]) {
        sql.run(`DELETE FROM ${table} WHERE partition = ?`, partition);
      }
      sql.run("DELETE FROM switches WHERE owner = 'event' AND ownerId = ?", partition);
    } else if (hasRows(sql, partition, from, to)) {
      const range = "partition = ? AND sequence < ?";
      const superseded = `DELETE FROM transitions AS t WHERE ${range} AND ${IS_SUPERSEDED}`;
      sql.run(superseded, partition, to, to);
      sql.run(`DELETE FROM transitions WHERE ${range} AND toState IS NULL`, partition, to);
    }
  }
  sql.run("DELETE FROM records WHERE sequence < ?", to);
  return { ...trail, firstSequence: first, firstTimeMs: beforeMs };
}

function partitionsOf(sql: SqlFile): number[] {
  const rows = [...sql.rows("SELECT DISTINCT partition FROM events")];
  return rows.map(({ partition }) => Number(partition));
}

/** Whether the event was deleted before the record. */
function isGone(sql: SqlFile, partition: number, sequence: number): boolean {
  const last = "SELECT sequence, status FROM events WHERE partition = ? ORDER BY sequence DESC";
  const row = sql.row(`${last} LIMIT 1`, partition)!;
  return row["status"] === null && Number(row["sequence"]) < sequence;
}

function hasRows(sql: SqlFile, partition: number, from: number, to: number): boolean {
  const where = "WHERE partition = ? AND sequence >= ? AND sequence < ?";
  const query = `SELECT 1 FROM transitions INDEXED BY transitionsInOrder ${where} LIMIT 1`;
  return sql.row(query, partition, from, to) !== undefined;
}
