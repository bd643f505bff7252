/**
 * Finds the records of a place or a session among very many. A run is the sorted list of the places
 * and sessions of consecutive blocks. Eight or so runs are joined into one of the next level, so a
 * search reads few of them. The blocks after the last run are searched themselves.
 */
import { assert } from "../../../engine/assert.ts";
import type { SqlFile, SqlRow } from "../../disk/sqlite.ts";
import type { Block } from "./block.ts";
import { BLOCK_ROWS, blockAt } from "./block-file.ts";
import { type Column, ColumnReader, ColumnWriter } from "./columns.ts";
import { hashBytes, packText } from "./text.ts";

/** A run of level 0 is made of blocks, the others of runs of the level before. */
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

/** Rows of a run, at least, by level. */
const RUN_ROWS = [16 * BLOCK_ROWS, 128 * BLOCK_ROWS, 1_024 * BLOCK_ROWS] as const;
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
interface Entries {
  readonly keys: number[];
  readonly sequences: number[];
}
type Collected = readonly [Entries, Entries];

interface Sorted {
  readonly keys: Float64Array;
  readonly sequences: Float64Array;
}

/** Blocks after a record that are never joined with later ones: no full block is. */
const FINAL = `SELECT first, last, rows FROM blocks WHERE partition = ? AND last > ? AND last <=
  (SELECT max(last) FROM blocks WHERE partition = ? AND last > ? AND rows >= ?) ORDER BY last`;
const OF_LEVEL = `SELECT first, last, rows FROM runs WHERE partition = ? AND level = ?
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

/** To be called after blocks were added. Cost: O(rows) now and then. */
export function extendRuns(sql: SqlFile, partition: number): void {
  const last = Number(sql.row(LAST_RUN, partition)?.["last"] ?? 0);
  let blocks: SqlRow[] = [];
  for (const block of sql.list(FINAL, partition, last, partition, last, BLOCK_ROWS)) {
    blocks.push(block);
    if (rowsOf(blocks) < RUN_ROWS[0]) continue;
    addRun(sql, partition, blocks);
    joinRuns(sql, partition, 0);
    blocks = [];
  }
}

function addRun(sql: SqlFile, partition: number, blocks: readonly SqlRow[]): void {
  const entries = newEntries();
  for (const { last } of blocks) collect(entries, blockAt(sql, partition, Number(last)));
  writeRun(sql, { partition, level: 0, parts: blocks }, entries);
}

/** Joins the runs of a level when together they are long enough for the next one. */
function joinRuns(sql: SqlFile, partition: number, level: number): void {
  const rowsMin = RUN_ROWS[level + 1];
  const runs = sql.list(OF_LEVEL, partition, level);
  if (rowsMin === undefined || rowsOf(runs) < rowsMin) return;
  const entries = newEntries();
  for (const { first } of runs) {
    for (const kind of KINDS) {
      const stored = sql.list(PARTS, partition, Number(first), kind, 0);
      for (const { content } of stored) addPart(entries[kind], content);
    }
    removeRun(sql, partition, Number(first));
  }
  writeRun(sql, { partition, level: level + 1, parts: runs }, entries);
  joinRuns(sql, partition, level + 1);
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

function newEntries(): Collected {
  return [
    { keys: [], sequences: [] },
    { keys: [], sequences: [] },
  ];
}

/** Adds each row with its place, and each record with its sessions. */
function collect([places, sessions]: Collected, block: Block): void {
  const hashes = new Map<number, number>();
  for (let record = 0; record < block.recordCount; record++) {
    const sequence = block.sequenceOf(record);
    const end = block.rowsEnd(record);
    let before = -1;
    for (let row = block.rowsStart(record); row < end; row++) {
      places.keys.push(block.keyOf(row));
      places.sequences.push(sequence);
      const session = block.sessionIndexOf(row);
      if (session === before) continue;
      before = session;
      const packed = block.texts.packedAt(session);
      if (packed.length === 0) continue;
      let hash = hashes.get(session);
      if (hash === undefined) hashes.set(session, (hash = hashBytes(packed)));
      sessions.keys.push(hash);
      sessions.sequences.push(sequence);
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
    if (entries[kind].keys.length === 0) continue;
    const sorted = sortByKey(entries[kind]);
    const total = sorted.keys.length;
    for (let at = 0, part = 0; at < total; at += PART_ENTRIES, part++) {
      const count = Math.min(PART_ENTRIES, total - at);
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
function sortByKey(entries: Entries): Sorted {
  let sorted = sortedBefore(entries);
  const { keys } = sorted;
  let next: Sorted = {
    keys: new Float64Array(keys.length),
    sequences: new Float64Array(keys.length),
  };
  let [low, high] = [Infinity, 0];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (key < low) low = key;
    if (key > high) high = key;
  }
  assert(Number.isSafeInteger(high - low), "the range of the keys of a run is exact");
  for (let unit = 1; unit <= high - low; unit *= DIGITS) {
    scatter(sorted, next, { low, unit });
    [sorted, next] = [next, sorted];
  }
  return sorted;
}

function sortedBefore({ keys, sequences }: Entries): Sorted {
  return { keys: new Float64Array(keys), sequences: new Float64Array(sequences) };
}

/** Moves the entries to their places by one digit of their keys. */
function scatter(from: Sorted, to: Sorted, { low, unit }: { low: number; unit: number }): void {
  const { keys, sequences } = from;
  const places = new Uint32Array(DIGITS + 1);
  for (let i = 0; i < keys.length; i++) places[digitOf(keys[i]! - low, unit) + 1]! += 1;
  for (let digit = 1; digit < DIGITS; digit++) places[digit]! += places[digit - 1]!;
  for (let i = 0; i < keys.length; i++) {
    const digit = digitOf(keys[i]! - low, unit);
    const place = places[digit]!;
    to.keys[place] = keys[i]!;
    to.sequences[place] = sequences[i]!;
    places[digit] = place + 1;
  }
}

const digitOf = (value: number, unit: number) => (value / unit) & (DIGITS - 1);

function readPart(content: unknown): { count: number; keys: Column; sequences: Column } {
  const reader = new ColumnReader(content as Uint8Array);
  const count = reader.u32();
  return { count, keys: reader.numbers(count), sequences: reader.numbers(count) };
}

function addPart(entries: Entries, content: unknown): void {
  const { count, keys, sequences } = readPart(content);
  for (let i = 0; i < count; i++) {
    entries.keys.push(keys.at(i));
    entries.sequences.push(sequences.at(i));
  }
}
