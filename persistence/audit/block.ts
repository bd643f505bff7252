/** A block: consecutive records of one event with all their transitions, as it is read. No I/O. */
import { assert } from "../../engine/assert.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { Actor } from "../../engine/records.ts";
import { type Column, ColumnReader, ColumnWriter, type Strided, type Texts } from "./columns.ts";
import {
  actorOfCode,
  AREA_STEP,
  type At,
  type CallFacts,
  codeOfActor,
  type Counts,
  type Held,
  isAreaKey,
  type Move,
  NO_FACTS,
  NO_HOLD,
  NO_STATE,
  type PlaceFacts,
  RECORD_STEP,
  ROW_NUMBERS,
} from "./rows.ts";

export class Block {
  readonly recordCount: number;
  readonly rowCount: number;
  readonly #record: readonly Column[];
  readonly #row: readonly Column[];
  readonly #session: Column;
  readonly #holdType: Column;
  readonly #area: readonly Column[];
  readonly #reader: ColumnReader;
  #texts: Texts | null = null;
  #calls: readonly [lasting: Column, named: Column] | null = null;
  /** Index: row. Value: how many rows of areas are before it. */
  #areas: Uint32Array | null = null;

  /** @throws Malformed when it is not a whole block. */
  constructor(content: Uint8Array) {
    const reader = new ColumnReader(content);
    this.#reader = reader;
    this.recordCount = reader.u32();
    this.rowCount = reader.u32();
    const areaCount = reader.u32();
    const columns = (step: number, count: number) =>
      Array.from({ length: step }, () => reader.numbers(count));
    this.#record = columns(RECORD_STEP, this.recordCount);
    this.#row = columns(ROW_NUMBERS, this.rowCount);
    this.#session = reader.numbers(this.rowCount);
    this.#holdType = reader.numbers(this.rowCount);
    this.#area = columns(AREA_STEP, areaCount);
  }

  sequenceOf(record: number): number {
    return this.#record[0]!.at(record);
  }

  atOf(record: number): At {
    return { sequence: this.sequenceOf(record), timeMs: this.#record[1]!.at(record) };
  }

  callOf(record: number): number {
    return this.#record[2]!.at(record);
  }

  actorOf(record: number): Actor {
    return actorOfCode(this.#record[3]!.at(record));
  }

  /** @returns The first record at or after the number; `recordCount` for none. */
  recordOf(sequence: number): number {
    return this.#record[0]!.lowerBound(this.recordCount, sequence);
  }

  rowsStart(record: number): number {
    return this.#record[4]!.at(record);
  }

  rowsEnd(record: number): number {
    return record + 1 < this.recordCount ? this.rowsStart(record + 1) : this.rowCount;
  }

  keyOf(row: number): number {
    return this.#row[0]!.at(row);
  }

  sessionOf(row: number): string {
    return this.texts.at(this.sessionIndexOf(row));
  }

  /** Into `texts`. */
  sessionIndexOf(row: number): number {
    return this.#session.at(row);
  }

  get texts(): Texts {
    this.#texts ??= this.#reader.texts();
    return this.#texts;
  }

  factsOfCall(record: number): CallFacts {
    const [lasting, named] = this.#callColumns();
    const lastsMs = lasting.at(record);
    const endsAtMs = lastsMs === 0 ? 0 : this.#record[1]!.at(record) + lastsMs;
    return { endsAtMs, isNamed: named.at(record) === 1 };
  }

  /** They come after the texts. */
  #callColumns(): readonly [lasting: Column, named: Column] {
    this.#texts ??= this.#reader.texts();
    const read = () => this.#reader.numbers(this.recordCount);
    return (this.#calls ??= [read(), read()]);
  }

  /** @param record - The record that the row belongs to. */
  moveOf(record: number, row: number): Move {
    const isArea = isAreaKey(this.keyOf(row));
    return {
      from: stateOf(this.#row[1]!.at(row) >> 3),
      state: stateOf(this.#row[1]!.at(row) & 7),
      priceId: this.#row[2]!.at(row),
      ...this.#heldOf(record, row),
      places: isArea ? this.#area[0]!.at(this.#areaOf(row)) : null,
      counts: isArea ? this.#countsOf(row) : null,
    };
  }

  /** The place after the row. What only matters for a LOCKED seat is left out of others. */
  factsOf(record: number, row: number): PlaceFacts {
    const state = stateOf(this.#row[1]!.at(row) & 7);
    const isHeld = state === SeatState.LOCKED;
    return {
      state,
      priceId: this.#row[2]!.at(row),
      ...(isHeld ? this.#heldOf(record, row) : NO_HOLD),
      counts: isAreaKey(this.keyOf(row)) ? this.#countsOf(row) : null,
    };
  }

  #heldOf(record: number, row: number): Held {
    const age = this.#row[3]!.at(row);
    return {
      hold: age === 0 ? 0 : this.sequenceOf(record) + 1 - age,
      session: this.sessionOf(row),
      holdType: this.texts.at(this.#holdType.at(row)),
    };
  }

  #countsOf(row: number): Counts {
    const area = this.#areaOf(row);
    const [, active, locked, sold, blocked] = this.#area;
    return [active!.at(area), locked!.at(area), sold!.at(area), blocked!.at(area)];
  }

  #areaOf(row: number): number {
    if (this.#areas === null) {
      this.#areas = new Uint32Array(this.rowCount);
      let before = 0;
      for (let i = 0; i < this.rowCount; i++) {
        this.#areas[i] = before;
        if (isAreaKey(this.keyOf(i))) before += 1;
      }
    }
    return this.#areas[row]!;
  }
}

function stateOf(code: number): SeatState | null {
  return code === NO_STATE ? null : (code as SeatState);
}

// Transitions of one event that are not in a block yet, and their format in a block. No I/O.

/** Where a part of a buffer begins or ends, in records, rows, and rows of areas. */
interface Position {
  readonly record: number;
  readonly row: number;
  readonly area: number;
}

/** A block that is ready to be stored. */
export interface NewBlock {
  readonly first: number;
  readonly last: number;
  readonly rows: number;
  /** Valid until the next block is made. */
  readonly content: Buffer;
}

/** In a record: its first row, what its hold lasts, and whether the call names its session. */
const [AT_ROWS, AT_LASTING, AT_NAMED] = [4, 5, 6];
/** The last two have columns of their own in a block. */
const BUFFERED_STEP = RECORD_STEP + 2;

const writer = new ColumnWriter();
/** A column of the block that is being made. It grows as needed. */
let indexes = new Float64Array(0);

/** Groups that there is room for at first. */
const GROUPS_MIN = 32;

/** Numbers in groups of `step`. A typed array, because it is filled and read very often. */
class Groups {
  readonly #step: number;
  values: Float64Array;
  count = 0;

  constructor(step: number) {
    this.#step = step;
    this.values = new Float64Array(GROUPS_MIN * step);
  }

  /** Adds a group, which the caller fills. @returns Where it begins. */
  add(): number {
    const start = this.count * this.#step;
    if (start === this.values.length) {
      const grown = new Float64Array(2 * start);
      grown.set(this.values);
      this.values = grown;
    }
    this.count += 1;
    return start;
  }

  /** Keeps the memory. */
  clear(): void {
    this.count = 0;
  }

  addAll({ values, count }: Groups): void {
    const all = new Float64Array(Math.max(GROUPS_MIN, this.count + count) * this.#step);
    all.set(this.values.subarray(0, this.count * this.#step));
    all.set(values.subarray(0, count * this.#step), this.count * this.#step);
    this.values = all;
    this.count += count;
  }

  /** @returns The numbers at `index` of the groups from `from` to `to`. */
  column(index: number, from: number, to: number): Strided {
    const step = this.#step;
    return { values: this.values, first: from * step + index, step, count: to - from };
  }
}

export class RowBuffer {
  readonly #records = new Groups(BUFFERED_STEP);
  readonly #rows = new Groups(ROW_NUMBERS);
  readonly #areas = new Groups(AREA_STEP);
  // Index of both: row. They may be longer than there are rows.
  readonly #sessions: string[] = [];
  readonly #holdTypes: string[] = [];
  /** Of the last record; 0 before the first. */
  lastSequence = 0;

  get rowCount(): number {
    return this.#rows.count;
  }

  /** Rows that there is room for. */
  get rowRoom(): number {
    return this.#rows.values.length / ROW_NUMBERS;
  }

  /** Removes all records, and keeps the memory for others. */
  clear(): void {
    for (const groups of [this.#records, this.#rows, this.#areas]) groups.clear();
    // Setting the length to 0 would free the arrays. The texts themselves are let go.
    for (const column of [this.#sessions, this.#holdTypes]) column.fill("");
    this.lastSequence = 0;
  }

  /** Begins a record; its rows follow. */
  addRecord({ sequence, timeMs }: At, call: number, actor: Actor): void {
    assert(sequence > this.lastSequence, "records are added in order, each once");
    this.lastSequence = sequence;
    const start = this.#records.add();
    const { values } = this.#records;
    values[start] = sequence;
    values[start + 1] = timeMs;
    values[start + 2] = call;
    values[start + 3] = codeOfActor(actor);
    values[start + AT_ROWS] = this.#rows.count;
    values[start + AT_LASTING] = 0;
    values[start + AT_NAMED] = 0;
  }

  /** Replaces the call of the last record. */
  setCall(call: number, { endsAtMs, isNamed }: CallFacts = NO_FACTS): void {
    const last = (this.#records.count - 1) * BUFFERED_STEP;
    const { values } = this.#records;
    values[last + 2] = call;
    if (endsAtMs > 0) values[last + AT_LASTING] = endsAtMs - values[last + 1]!;
    values[last + AT_NAMED] = Number(isNamed);
  }

  /** Adds a row of the last record. */
  addRow(key: number, move: Move): void {
    const { from, state, hold, counts } = move;
    const row = this.#rows.count;
    const start = this.#rows.add();
    const { values } = this.#rows;
    values[start] = key;
    values[start + 1] = (from ?? NO_STATE) * 8 + (state ?? NO_STATE);
    values[start + 2] = move.priceId;
    values[start + 3] = hold === 0 ? 0 : this.lastSequence - hold + 1;
    this.#sessions[row] = move.session;
    this.#holdTypes[row] = move.holdType;
    if (counts === null) return;
    const area = this.#areas.add();
    this.#areas.values.set([move.places!, ...counts], area);
  }

  /** Adds the records of a block from `fromSequence` on. */
  addBlock(block: Block, fromSequence = 0): void {
    for (let record = block.recordOf(fromSequence); record < block.recordCount; record++) {
      this.addRecord(block.atOf(record), 0, block.actorOf(record));
      this.setCall(block.callOf(record), block.factsOfCall(record));
      const end = block.rowsEnd(record);
      for (let row = block.rowsStart(record); row < end; row++) {
        this.addRow(block.keyOf(row), block.moveOf(record, row));
      }
    }
  }

  /** Adds the records of another buffer, which must not be used any more. */
  addBuffer(other: RowBuffer): void {
    for (let record = 0; record < other.#records.count; record++) {
      const at = record * BUFFERED_STEP;
      other.#records.values[at + AT_ROWS]! += this.#rows.count;
    }
    for (let row = 0; row < other.#rows.count; row++) {
      this.#sessions[this.#rows.count + row] = other.#sessions[row]!;
      this.#holdTypes[this.#rows.count + row] = other.#holdTypes[row]!;
    }
    this.#records.addAll(other.#records);
    this.#rows.addAll(other.#rows);
    this.#areas.addAll(other.#areas);
    this.lastSequence = other.lastSequence;
  }

  /** @returns Blocks with at least so many rows, except perhaps the last. */
  *blocks(rowsMin: number): Generator<NewBlock, void> {
    const { values, count } = this.#records;
    let start: Position = { record: 0, row: 0, area: 0 };
    let area = 0;
    for (let record = 1; record <= count; record++) {
      const before = this.#rowOf(record - 1);
      const row = this.#rowOf(record);
      if (this.#areas.count > 0) area += this.#areasIn(before, row);
      const rows = row - start.row;
      if (rows < rowsMin && record < count) continue;
      const next = { record, row, area };
      const first = values[start.record * BUFFERED_STEP]!;
      const last = values[(record - 1) * BUFFERED_STEP]!;
      yield { first, last, rows, content: this.#encode(start, next) };
      start = next;
    }
  }

  /** @returns The first row of the record. */
  #rowOf(record: number): number {
    if (record === this.#records.count) return this.#rows.count;
    return this.#records.values[record * BUFFERED_STEP + AT_ROWS]!;
  }

  #areasIn(from: number, to: number): number {
    let areas = 0;
    for (let row = from; row < to; row++) areas += this.#rows.values[row * ROW_NUMBERS]! % 2;
    return areas;
  }

  #encode(from: Position, to: Position): Buffer {
    const [records, rows] = [to.record - from.record, to.row - from.row];
    writer.clear();
    for (const size of [records, rows, to.area - from.area]) writer.u32(size);
    for (let i = 0; i < AT_ROWS; i++) {
      writer.numbers(this.#records.column(i, from.record, to.record));
    }
    if (indexes.length < records) indexes = new Float64Array(records);
    for (let i = 0; i < records; i++) indexes[i] = this.#rowOf(from.record + i) - from.row;
    writer.numbers({ values: indexes, first: 0, step: 1, count: records });
    for (let i = 0; i < ROW_NUMBERS; i++) writer.numbers(this.#rows.column(i, from.row, to.row));
    const texts = new Map<string, number>();
    for (const column of [this.#sessions, this.#holdTypes]) {
      setIndexes(column, from.row, to.row, texts);
      writer.numbers({ values: indexes, first: 0, step: 1, count: rows });
    }
    for (let i = 0; i < AREA_STEP; i++) writer.numbers(this.#areas.column(i, from.area, to.area));
    writer.texts([...texts.keys()]);
    for (const index of [AT_LASTING, AT_NAMED]) {
      writer.numbers(this.#records.column(index, from.record, to.record));
    }
    return writer.content();
  }
}

/** @param texts - By text: its index. New texts are added. */
function setIndexes(
  column: readonly string[],
  from: number,
  to: number,
  texts: Map<string, number>,
): void {
  if (indexes.length < to - from) indexes = new Float64Array(to - from);
  let before: string | null = null;
  let index = 0;
  for (let row = from; row < to; row++) {
    const text = column[row]!;
    // Neighbours mostly have the same.
    if (text !== before) {
      before = text;
      const known = texts.get(text);
      index = known ?? texts.size;
      if (known === undefined) texts.set(text, index);
    }
    indexes[row - from] = index;
  }
}
