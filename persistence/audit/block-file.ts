/**
 * The blocks in the file of the trail. A transaction adds a block for each event that it touches,
 * and joins it with the small blocks before it, so an event has few small ones.
 */
import { SeatState } from "../../engine/inventory/states.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { Block, RowBuffer } from "./block.ts";
import { ColumnReader, ColumnWriter } from "./columns.ts";
import {
  type Counts,
  type Held,
  isAreaKey,
  type Mutable,
  NO_STATE,
  type PlaceFacts,
} from "./rows.ts";

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

// The last transition of each place of an event, as of some record. The live table of an event
// follows its records; others are built from a stored one and the blocks after it. No I/O.

/** A place that is in the layout, and has had no transition. */
const FRESH_COUNTS: Counts = [0, 0, 0, 0];
const { UNPRICED, LOCKED } = SeatState;
const COUNTS = [0, 1, 2, 3] as const;

const writer = new ColumnWriter();

export class PlaceTable {
  /** By key: the slot. */
  readonly #slots = new Map<number, number>();
  // Index of each array: the slot.
  readonly #keys: number[] = [];
  readonly #states: number[] = [];
  readonly #prices: number[] = [];
  readonly #holds: number[] = [];
  readonly #timesMs: number[] = [];
  /** When it was last written; 0 for never. */
  readonly #turns: number[] = [];
  readonly #sessions: string[] = [];
  readonly #holdTypes: string[] = [];
  /** By slot, of areas. */
  readonly #counts = new Map<number, Counts>();
  #turn = 0;

  /** Places that are known. */
  get size(): number {
    return this.#keys.length;
  }

  /** @returns The slot of the place, which is made for a place without a transition. */
  slotOf(key: number): number {
    let slot = this.#slots.get(key);
    if (slot !== undefined) return slot;
    slot = this.#keys.length;
    this.#slots.set(key, slot);
    this.#keys.push(key);
    this.#states.push(UNPRICED);
    this.#prices.push(0);
    this.#holds.push(0);
    this.#timesMs.push(0);
    this.#turns.push(0);
    this.#sessions.push("");
    this.#holdTypes.push("");
    return slot;
  }

  /** @returns The slot; undefined for a place without a transition, or outside the layout. */
  find(key: number): number | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined || this.#turns[slot] === 0) return undefined;
    return this.#states[slot] === NO_STATE ? undefined : slot;
  }

  keyAt(slot: number): number {
    return this.#keys[slot]!;
  }

  /** @returns null when the place is not in the layout. */
  state(slot: number): SeatState | null {
    const state = this.#states[slot]!;
    return state === NO_STATE ? null : (state as SeatState);
  }

  priceId(slot: number): number {
    return this.#prices[slot]!;
  }

  /** The hold of a LOCKED seat. */
  held(slot: number): Held {
    const [hold, session] = [this.#holds[slot]!, this.#sessions[slot]!];
    return { hold, session, holdType: this.#holdTypes[slot]! };
  }

  copyHeld(slot: number, target: Mutable<Held>): void {
    target.hold = this.#holds[slot]!;
    target.session = this.#sessions[slot]!;
    target.holdType = this.#holdTypes[slot]!;
  }

  timeMs(slot: number): number {
    return this.#timesMs[slot]!;
  }

  counts(slot: number): Counts {
    return this.#counts.get(slot) ?? FRESH_COUNTS;
  }

  put(slot: number, timeMs: number, facts: PlaceFacts): void {
    const { state, priceId, counts } = facts;
    const isHeld = state === LOCKED && counts === null;
    this.#states[slot] = state ?? NO_STATE;
    this.#prices[slot] = priceId;
    this.#holds[slot] = isHeld ? facts.hold : 0;
    this.#timesMs[slot] = timeMs;
    this.#turns[slot] = ++this.#turn;
    this.#sessions[slot] = isHeld ? facts.session : "";
    this.#holdTypes[slot] = isHeld ? facts.holdType : "";
    if (counts !== null) this.#counts.set(slot, counts);
  }

  /** Applies the records of a block up to `sequence`, from the record with an index on. */
  apply(block: Block, firstRecord: number, sequence: number): void {
    for (let record = firstRecord; record < block.recordCount; record++) {
      const at = block.atOf(record);
      if (at.sequence > sequence) return;
      const end = block.rowsEnd(record);
      for (let row = block.rowsStart(record); row < end; row++) {
        this.put(this.slotOf(block.keyOf(row)), at.timeMs, block.factsOf(record, row));
      }
    }
  }

  /** Keys and slots of the places in the layout that have transitions, the oldest one first. */
  list(): (readonly [key: number, slot: number])[] {
    return Array.from(this.#listed(), (slot) => [this.#keys[slot]!, slot]);
  }

  /** The slots of `list`. */
  #listed(): Uint32Array {
    const slots = new Uint32Array(this.size);
    let count = 0;
    for (let slot = 0; slot < this.size; slot++) {
      if (this.#turns[slot] !== 0 && this.#states[slot] !== NO_STATE) slots[count++] = slot;
    }
    return slots.subarray(0, count).sort((a, b) => this.#turns[a]! - this.#turns[b]!);
  }

  /** @returns In memory that the next content uses again; null when it has no places. */
  encode(): Buffer | null {
    const slots = this.#listed();
    if (slots.length === 0) return null;
    const areas = slots.filter((slot) => isAreaKey(this.#keys[slot]!));
    const texts = new Map<string, number>();
    const indexOf = (text: string) => {
      if (!texts.has(text)) texts.set(text, texts.size);
      return texts.get(text)!;
    };
    const values = new Float64Array(slots.length);
    const put = (of: Uint32Array, valueOf: (slot: number) => number) => {
      for (let i = 0; i < of.length; i++) values[i] = valueOf(of[i]!);
      writer.numbers({ values, first: 0, step: 1, count: of.length });
    };
    writer.clear();
    writer.u32(slots.length);
    writer.u32(areas.length);
    for (const column of [this.#keys, this.#states, this.#prices, this.#holds, this.#timesMs]) {
      put(slots, (slot) => column[slot]!);
    }
    for (const column of [this.#sessions, this.#holdTypes]) {
      put(slots, (slot) => indexOf(column[slot]!));
    }
    for (const i of COUNTS) put(areas, (slot) => this.counts(slot)[i]);
    writer.texts([...texts.keys()]);
    return writer.content();
  }

  /** @param content - As by `encode`. @throws Malformed. */
  static decode(content: Uint8Array): PlaceTable {
    const reader = new ColumnReader(content);
    const count = reader.u32();
    const areaCount = reader.u32();
    const read = (length: number) => reader.numbers(length);
    const [keys, states, prices, holds] = [read(count), read(count), read(count), read(count)];
    const [timesMs, sessions, holdTypes] = [read(count), read(count), read(count)];
    const counts = COUNTS.map(() => read(areaCount));
    const texts = reader.texts();
    const table = new PlaceTable();
    for (let i = 0, area = 0; i < count; i++) {
      const key = keys.at(i);
      const isArea = isAreaKey(key);
      table.put(table.slotOf(key), timesMs.at(i), {
        state: states.at(i) as SeatState,
        priceId: prices.at(i),
        hold: holds.at(i),
        session: texts.at(sessions.at(i)),
        holdType: texts.at(holdTypes.at(i)),
        counts: isArea ? (counts.map((column) => column.at(area)) as unknown as Counts) : null,
      });
      if (isArea) area += 1;
    }
    return table;
  }
}
