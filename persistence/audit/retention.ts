/**
 * Removes the oldest part of the audit trail. The last transition of each place before it stays in
 * a map, so that the places are known from the new beginning on.
 */
import type { SqlFile } from "../disk/sqlite.ts";
import { nextHead, removeBlocksBefore, tableAt, writeMap } from "./blocks/block-file.ts";
import { removeRunsBefore } from "./blocks/lookups.ts";
import { lastBefore, type TrailRow } from "./file.ts";
import { finish } from "./reading/slices.ts";

/**
 * To be called within a transaction.
 * @param beforeMs - Milliseconds since 1970: earlier transitions are removed.
 * @returns The row with the new beginning of the trail. Cost: O(events + transitions before that
 * beginning of the events that have any since the old one).
 */
export function removeBefore(sql: SqlFile, trail: TrailRow, beforeMs: number): TrailRow {
  const first = lastBefore(sql, beforeMs) + 1;
  if (first <= trail.firstSequence) return trail;
  for (const partition of partitionsOf(sql)) {
    if (isGone(sql, partition, first)) {
      for (const table of ["blocks", "runs", "lookups", "maps", "prices", "events"]) {
        sql.run(`DELETE FROM ${table} WHERE partition = ?`, partition);
      }
      sql.run("DELETE FROM switches WHERE owner = 'event' AND ownerId = ?", partition);
    } else {
      removeRows(sql, partition, first);
    }
  }
  sql.run("DELETE FROM times WHERE timeMs < ?", beforeMs);
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

/** Removes the rows of an event before a record. */
function removeRows(sql: SqlFile, partition: number, first: number): void {
  const oldest = nextHead(sql, partition, 0);
  if (oldest === undefined || oldest.first >= first) return;
  const table = finish(tableAt(sql, partition, first - 1, Infinity));
  sql.run("DELETE FROM maps WHERE partition = ? AND sequence < ?", partition, first);
  writeMap(sql, partition, first - 1, table);
  removeBlocksBefore(sql, partition, first);
  removeRunsBefore(sql, partition, first);
}
