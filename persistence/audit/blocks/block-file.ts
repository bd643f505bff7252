/**
 * The blocks in the file of the trail. A transaction adds a block for each event that it touches,
 * and joins it with the small blocks before it, so an event has few small ones.
 */
import type { SqlFile } from "../../disk/sqlite.ts";
import { Block } from "./block.ts";
import { PlaceTable } from "./place-table.ts";
import { RowBuffer } from "./row-buffer.ts";

/** `last` is in the key, because a reader looks for the first block that ends at or after it. */
export const BLOCKS_SCHEMA = `
CREATE TABLE blocks (
  partition INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  rows INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE UNIQUE INDEX blockHeads ON blocks (partition, last, first, rows);
CREATE TABLE maps (
  partition INTEGER NOT NULL, sequence INTEGER NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY (partition, sequence)
);`;

/** Rows of a full block, at least: about 20 KiB. The rows of a record are never separated. */
export const BLOCK_ROWS = 1_024;

const INSERT = "INSERT INTO blocks VALUES (?, ?, ?, ?, ?)";
const CONTENT = "SELECT content FROM blocks WHERE partition = ? AND last = ?";
const DELETE = "DELETE FROM blocks WHERE partition = ? AND last = ?";
const NEWEST = `SELECT first, last, rows FROM blocks WHERE partition = ? AND last < ?
  ORDER BY last DESC LIMIT 1`;
const NEXT_HEAD = `SELECT first, last, rows FROM blocks WHERE partition = ? AND last >= ?
  ORDER BY last LIMIT 1`;
const NEXT_BLOCK = `SELECT last, content FROM blocks WHERE partition = ? AND last >= ?
  ORDER BY last LIMIT 1`;
const MAP = `SELECT sequence, content FROM maps WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 1`;

/** What the file says about a block beside its content. */
export interface BlockHead {
  readonly first: number;
  readonly last: number;
  readonly rows: number;
}

/** Adds rows, together with those of the small blocks before them. */
export function appendBlocks(sql: SqlFile, partition: number, added: RowBuffer): void {
  const joined: BlockHead[] = [];
  let rows = added.rowCount;
  let newest = newestBefore(sql, partition, Number.MAX_SAFE_INTEGER);
  while (newest !== undefined && isJoined(newest.rows, rows)) {
    rows += newest.rows;
    joined.unshift(newest);
    newest = newestBefore(sql, partition, newest.last);
  }
  if (joined.length === 0) return insertBlocks(sql, partition, added);
  const all = new RowBuffer();
  for (const { last } of joined) {
    all.addBlock(blockAt(sql, partition, last));
    sql.run(DELETE, partition, last);
  }
  all.addBuffer(added);
  insertBlocks(sql, partition, all);
}

/**
 * So a small block has at least twice the rows of the next one, or stays as it is before many rows.
 * A full block is never joined, because a run may have it.
 */
function isJoined(rows: number, added: number): boolean {
  return rows < BLOCK_ROWS && rows < 2 * added && rows + added < 2 * BLOCK_ROWS;
}

function newestBefore(sql: SqlFile, partition: number, last: number): BlockHead | undefined {
  return sql.row(NEWEST, partition, last) as BlockHead | undefined;
}

function insertBlocks(sql: SqlFile, partition: number, buffer: RowBuffer): void {
  for (const { first, last, rows, content } of buffer.blocks(BLOCK_ROWS)) {
    sql.run(INSERT, partition, first, last, rows, content);
  }
}

/** @returns The first block that has the record or later ones. */
export function nextHead(sql: SqlFile, partition: number, sequence: number): BlockHead | undefined {
  return sql.row(NEXT_HEAD, partition, sequence) as BlockHead | undefined;
}

/** @returns The first block that has the record or later ones, and its last record. */
export function nextBlock(
  sql: SqlFile,
  partition: number,
  sequence: number,
): { readonly block: Block; readonly last: number } | undefined {
  const row = sql.row(NEXT_BLOCK, partition, sequence);
  if (row === undefined) return undefined;
  return { block: new Block(row["content"] as Uint8Array), last: Number(row["last"]) };
}

/** @param last - Of its head. */
export function blockAt(sql: SqlFile, partition: number, last: number): Block {
  return new Block(sql.row(CONTENT, partition, last)!["content"] as Uint8Array);
}

/** Removes the records before a number, which is after the first record of the event's blocks. */
export function removeBlocksBefore(sql: SqlFile, partition: number, sequence: number): void {
  sql.run("DELETE FROM blocks WHERE partition = ? AND last < ?", partition, sequence);
  const head = nextHead(sql, partition, sequence);
  if (head === undefined || head.first >= sequence) return;
  const left = new RowBuffer();
  left.addBlock(blockAt(sql, partition, head.last), sequence);
  sql.run(DELETE, partition, head.last);
  insertBlocks(sql, partition, left);
}

/** A table without places needs no map. @param sequence - The last record in the table. */
export function writeMap(
  sql: SqlFile,
  partition: number,
  sequence: number,
  table: PlaceTable,
): void {
  const content = table.encode();
  if (content === null) return;
  sql.run("INSERT OR REPLACE INTO maps VALUES (?, ?, ?)", partition, sequence, content);
}

/**
 * Builds the table of the places as of a record, from the last stored one before and the blocks
 * after it. A `yield` ends a slice of about `sliceRows` rows.
 */
export function* tableAt(
  sql: SqlFile,
  partition: number,
  sequence: number,
  sliceRows: number,
): Generator<void, PlaceTable, void> {
  const map = sql.row(MAP, partition, sequence);
  const content = map?.["content"] as Uint8Array | undefined;
  const table = content === undefined ? new PlaceTable() : PlaceTable.decode(content);
  let next = Number(map?.["sequence"] ?? 0) + 1;
  let rows = table.size;
  while (next <= sequence) {
    const found = nextBlock(sql, partition, next);
    if (found === undefined) break;
    const { block, last } = found;
    table.apply(block, block.recordOf(next), sequence);
    next = last + 1;
    rows += block.rowCount;
    if (rows < sliceRows) continue;
    rows = 0;
    yield;
  }
  return table;
}

/** @returns How many rows the event has since its last map. Cost: O(blocks since then). */
export function rowsAfterMap(sql: SqlFile, partition: number): number {
  const rows = `SELECT total(rows) AS rows FROM blocks WHERE partition = ? AND last >
    (SELECT coalesce(max(sequence), 0) FROM maps WHERE maps.partition = blocks.partition)`;
  return Number(sql.row(rows, partition)!["rows"]);
}
