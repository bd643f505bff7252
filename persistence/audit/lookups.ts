/**
 * Finds the records of a place or a session among very many. A run is the sorted list of the places
 * and sessions of consecutive blocks. Six to ten runs are joined into one of the next level, so a
 * search reads few of them. The blocks after the last run are searched themselves.
 */
import { assert } from "../../engine/assert.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";
import type { Block } from "./block.ts";
import { BLOCK_ROWS, blockAt } from "./block-file.ts";
import { type Column, ColumnReader, ColumnWriter, hashBytes, packText } from "./columns.ts";

/** Later runs never have a higher level than earlier ones. */
export const LOOKUPS_SCHEMA = `
CREATE TABLE runs (
  partition INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  rows INTEGER NOT NULL, level INTEGER NOT NULL,
  PRIMARY KEY (partition, last)
) WITHOUT ROWID;
CREATE TABLE lookups (
  partition INTEGER NOT NULL, first INTEGER NOT NULL, kind INTEGER NOT NULL,
  lastKey INTEGER NOT NULL, part INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE UNIQUE INDEX lookupKeys ON lookups (partition, first, kind, lastKey, part);`;

/** Rows of a run, at least, by level. A transaction of a busy log suffices for the second. */
const RUN_ROWS = [16 * BLOCK_ROWS, 96 * BLOCK_ROWS, 960 * BLOCK_ROWS] as const;
/** Entries of a row in `lookups`: about 20 KiB. */
const PART_ENTRIES = 4_096;

/** Values of a digit by which a run is sorted. */
const DIGITS = 2 ** 11;

/** What a run is sorted by: the key of a place, or the hash of a session. */
export const LookupKind = { PLACE: 0, SESSION: 1 } as const;
export type LookupKind = (typeof LookupKind)[keyof typeof LookupKind];
const KINDS = [LookupKind.PLACE, LookupKind.SESSION] as const;

/** A range of records, inclusive. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

/** Keys, each with the sequence number of its record, in the order of the records. */
class Entries {
  keys: Float64Array;
  sequences: Float64Array;
  count = 0;

  /** @param room - More entries are never added. */
  constructor(room: number) {
    this.keys = new Float64Array(room);
    this.sequences = new Float64Array(room);
  }

  add(key: number, sequence: number): void {
    this.keys[this.count] = key;
    this.sequences[this.count++] = sequence;
  }

  addPart({ count, keys, sequences }: Part): void {
    keys.copyTo(this.keys, this.count, count);
    sequences.copyTo(this.sequences, this.count, count);
    this.count += count;
  }
}
type Collected = readonly [Entries, Entries];

/** A row of `lookups`. */
interface Part {
  readonly count: number;
  readonly keys: Column;
  readonly sequences: Column;
}

/** Blocks after a record that are never joined with later ones: no full block is. */
const FINAL = `SELECT first, last, rows FROM blocks WHERE partition = ? AND last > ? AND last <=
  (SELECT max(last) FROM blocks WHERE partition = ? AND last > ? AND rows >= ?) ORDER BY last`;
const BELOW_LEVEL = `SELECT first, last, rows FROM runs WHERE partition = ? AND level < ?
  ORDER BY last`;
const LAST_RUN = "SELECT last FROM runs WHERE partition = ? ORDER BY last DESC LIMIT 1";
const NEXT_RUN = `SELECT first, last FROM runs WHERE partition = ? AND last >= ?
  ORDER BY last LIMIT 1`;
const PARTS = `SELECT content FROM lookups
  WHERE partition = ? AND first = ? AND kind = ? AND lastKey >= ? ORDER BY lastKey, part`;
const NEXT_PART = `${PARTS} LIMIT 1 OFFSET ?`;

const writer = new ColumnWriter();

export const sessionKey = (session: string) => hashBytes(packText(session));

/** @returns The first run that has the record or later ones. */
export function nextRun(sql: SqlFile, partition: number, sequence: number): Run | undefined {
  return sql.row(NEXT_RUN, partition, sequence) as Run | undefined;
}

/** @returns The records of the entries with the key in order; another session may have its key. */
export function findInRun(
  sql: SqlFile,
  partition: number,
  run: Run,
  { kind, key }: { readonly kind: LookupKind; readonly key: number },
): number[] {
  const found: number[] = [];
  for (let skipped = 0; ; skipped++) {
    const part = sql.row(NEXT_PART, partition, run.first, kind, key, skipped);
    if (part === undefined) return found;
    const { count, keys, sequences } = readPart(part["content"]);
    for (let i = keys.lowerBound(count, key); i < count; i++) {
      if (keys.at(i) !== key) return found;
      found.push(sequences.at(i));
    }
  }
}

/**
 * To be called after blocks were added. Blocks and shorter runs become one run of the highest level
 * that they suffice for. Cost: O(rows) now and then.
 */
export function extendRuns(sql: SqlFile, partition: number): void {
  const last = Number(sql.row(LAST_RUN, partition)?.["last"] ?? 0);
  const blocks = sql.list(FINAL, partition, last, partition, last, BLOCK_ROWS);
  if (rowsOf(blocks) < RUN_ROWS[0]) return;
  let joined: { readonly level: number; readonly runs: readonly SqlRow[] } = { level: 0, runs: [] };
  for (let level = 1; level < RUN_ROWS.length; level++) {
    const runs = sql.list(BELOW_LEVEL, partition, level);
    if (rowsOf(blocks) + rowsOf(runs) >= RUN_ROWS[level]!) joined = { level, runs };
  }
  const { level, runs } = joined;
  const parts = [...runs, ...blocks];
  const entries = [new Entries(rowsOf(parts)), new Entries(rowsOf(parts))] as const;
  for (const { first } of runs) takeRun(sql, partition, Number(first), entries);
  for (const block of blocks) collect(entries, blockAt(sql, partition, Number(block["last"])));
  writeRun(sql, { partition, level, parts }, entries);
}

/** Adds the entries of a run, and removes it. */
function takeRun(sql: SqlFile, partition: number, first: number, entries: Collected): void {
  for (const kind of KINDS) {
    for (const { content } of sql.list(PARTS, partition, first, kind, 0)) {
      entries[kind].addPart(readPart(content));
    }
  }
  removeRun(sql, partition, first);
}

/** Removes the runs of which no record is left. */
export function removeRunsBefore(sql: SqlFile, partition: number, sequence: number): void {
  const runs = "SELECT first FROM runs WHERE partition = ? AND last < ?";
  for (const { first } of sql.list(runs, partition, sequence)) {
    removeRun(sql, partition, Number(first));
  }
}

function removeRun(sql: SqlFile, partition: number, first: number): void {
  for (const table of ["lookups", "runs"]) {
    sql.run(`DELETE FROM ${table} WHERE partition = ? AND first = ?`, partition, first);
  }
}

function rowsOf(parts: readonly SqlRow[]): number {
  return parts.reduce((sum, { rows }) => sum + Number(rows), 0);
}

/** Adds each row with its place, and each record with its sessions. */
function collect([places, sessions]: Collected, block: Block): void {
  const hashes = new Map<number, number>();
  for (let record = 0; record < block.recordCount; record++) {
    const sequence = block.sequenceOf(record);
    const end = block.rowsEnd(record);
    let before = -1;
    for (let row = block.rowsStart(record); row < end; row++) {
      places.add(block.keyOf(row), sequence);
      const session = block.sessionIndexOf(row);
      if (session === before) continue;
      before = session;
      const packed = block.texts.packedAt(session);
      if (packed.length === 0) continue;
      let hash = hashes.get(session);
      if (hash === undefined) hashes.set(session, (hash = hashBytes(packed)));
      sessions.add(hash, sequence);
    }
  }
}

interface NewRun {
  readonly partition: number;
  readonly level: number;
  /** The blocks or runs that it covers. */
  readonly parts: readonly SqlRow[];
}

function writeRun(sql: SqlFile, { partition, level, parts }: NewRun, entries: Collected): void {
  const [first, last] = [Number(parts[0]!["first"]), Number(parts.at(-1)!["last"])];
  sql.run("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", partition, first, last, rowsOf(parts), level);
  const insert = "INSERT INTO lookups VALUES (?, ?, ?, ?, ?, ?)";
  for (const kind of KINDS) {
    const sorted = entries[kind];
    sortByKey(sorted);
    for (let at = 0, part = 0; at < sorted.count; at += PART_ENTRIES, part++) {
      const count = Math.min(PART_ENTRIES, sorted.count - at);
      writer.clear();
      writer.u32(count);
      writer.numbers({ values: sorted.keys, first: at, step: 1, count });
      writer.numbers({ values: sorted.sequences, first: at, step: 1, count });
      const lastKey = sorted.keys[at + count - 1]!;
      sql.run(insert, partition, first, kind, lastKey, part, writer.content());
    }
  }
}

/**
 * Entries of equal keys stay in their order. Sorts by one digit after the other, the lowest first.
 * Cost: O(entries) for each digit of the range of the keys, usually two or three.
 */
function sortByKey(entries: Entries): void {
  const { keys, count } = entries;
  let [low, high] = [Infinity, 0];
  for (let i = 0; i < count; i++) {
    const key = keys[i]!;
    if (key < low) low = key;
    if (key > high) high = key;
  }
  if (count === 0 || low === high) return;
  assert(Number.isSafeInteger(high - low), "the range of the keys of a run is exact");
  const other = new Entries(count);
  const digits = new Uint16Array(count);
  for (let unit = 1; unit <= high - low; unit *= DIGITS) {
    scatter(entries, other, digits, { low, unit });
    const { keys: sortedKeys, sequences: sorted } = other;
    [other.keys, other.sequences] = [entries.keys, entries.sequences];
    [entries.keys, entries.sequences] = [sortedKeys, sorted];
  }
}

/**
 * Copies the entries to their places by one digit of their keys.
 * @param digits - Room for the digit of each.
 */
function scatter(
  { keys, sequences, count }: Entries,
  to: Entries,
  digits: Uint16Array,
  { low, unit }: { readonly low: number; readonly unit: number },
): void {
  const places = new Uint32Array(DIGITS + 1);
  for (let i = 0; i < count; i++) {
    const digit = digitOf(keys[i]! - low, unit);
    digits[i] = digit;
    places[digit + 1]! += 1;
  }
  for (let digit = 1; digit < DIGITS; digit++) places[digit]! += places[digit - 1]!;
  const [toKeys, toSequences] = [to.keys, to.sequences];
  for (let i = 0; i < count; i++) {
    const place = places[digits[i]!]!++;
    toKeys[place] = keys[i]!;
    toSequences[place] = sequences[i]!;
  }
}

/** In floating point: most hashes are too large for the operators that work on bits. */
function digitOf(value: number, unit: number): number {
  const upper = Math.floor(value / unit);
  return upper - Math.floor(upper / DIGITS) * DIGITS;
}

function readPart(content: unknown): Part {
  const reader = new ColumnReader(content as Uint8Array);
  const count = reader.u32();
  return { count, keys: reader.numbers(count), sequences: reader.numbers(count) };
}
