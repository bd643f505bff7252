/** Transitions of one event that are not in a block yet, and their format in a block. No I/O. */
import { assert } from "../../../engine/assert.ts";
import type { Actor } from "../../../engine/records.ts";
import type { Block } from "./block.ts";
import { ColumnWriter } from "./columns.ts";
import {
  AREA_STEP,
  type At,
  codeOfActor,
  type Move,
  NO_STATE,
  RECORD_STEP,
  ROW_STEP,
} from "./rows.ts";

/** Records and rows between two positions of a buffer. */
interface Part {
  readonly records: readonly [number, number];
  readonly rows: readonly [number, number];
  readonly areas: readonly [number, number];
}

/** The first value of a row that is a text. */
const FIRST_TEXT = 4;

const writer = new ColumnWriter();

export class RowBuffer {
  /** `RECORD_STEP` values of each record. */
  readonly #records: number[] = [];
  readonly #rows: number[] = [];
  readonly #areas: number[] = [];
  readonly #texts: string[] = [""];
  readonly #textIndexes = new Map([["", 0]]);
  /** Of the last row: the next one mostly has the same. */
  #session = "";
  #sessionIndex = 0;

  get rowCount(): number {
    return this.#rows.length / ROW_STEP;
  }

  get firstSequence(): number {
    return this.#records[0]!;
  }

  get lastSequence(): number {
    return this.#records.at(-RECORD_STEP) ?? 0;
  }

  /** Begins a record; its rows follow. */
  addRecord({ sequence, timeMs }: At, call: number, actor: Actor): void {
    assert(sequence > this.lastSequence, "records are added in order, each once");
    this.#records.push(sequence, timeMs, call, codeOfActor(actor), 0);
  }

  /** Replaces the call of the last record. */
  setCall(call: number): void {
    this.#records[this.#records.length - 3] = call;
  }

  /** Adds a row of the last record. */
  addRow(key: number, move: Move): void {
    const { from, state, priceId, hold, session, holdType, places, counts } = move;
    const records = this.#records;
    records[records.length - 1]! += 1;
    const states = (from ?? NO_STATE) * 8 + (state ?? NO_STATE);
    const age = hold === 0 ? 0 : this.lastSequence - hold + 1;
    if (session !== this.#session) {
      this.#session = session;
      this.#sessionIndex = this.#textIndex(session);
    }
    const holdTypeIndex = holdType === "" ? 0 : this.#textIndex(holdType);
    this.#rows.push(key, states, priceId, age, this.#sessionIndex, holdTypeIndex);
    if (counts === null) return;
    this.#areas.push(places!, counts[0], counts[1], counts[2], counts[3]);
  }

  /** Adds the records of a block from `fromSequence` on. */
  addBlock(block: Block, fromSequence = 0): void {
    for (let record = block.recordOf(fromSequence); record < block.recordCount; record++) {
      this.addRecord(block.atOf(record), block.callOf(record), block.actorOf(record));
      const end = block.rowsEnd(record);
      for (let row = block.rowsStart(record); row < end; row++) {
        this.addRow(block.keyOf(row), block.moveOf(record, row));
      }
    }
  }

  /** Adds the records of another buffer. */
  addBuffer(other: RowBuffer): void {
    const texts = other.#texts.map((text) => this.#textIndex(text));
    for (const value of other.#records) this.#records.push(value);
    for (const value of other.#areas) this.#areas.push(value);
    for (const [i, value] of other.#rows.entries()) {
      const isText = i % ROW_STEP >= FIRST_TEXT;
      this.#rows.push(isText ? texts[value]! : value);
    }
  }

  /** @returns The contents of blocks with at least so many rows, except perhaps the last. */
  *blocks(
    rowsMin: number,
  ): Generator<{ first: number; last: number; rows: number; content: Buffer }> {
    const records = this.#records;
    let start: Part | null = null;
    let [rows, areas] = [0, 0];
    for (let i = 0; i < records.length; i += RECORD_STEP) {
      start ??= { records: [i, i], rows: [rows, rows], areas: [areas, areas] };
      const end = rows + records[i + 4]!;
      if (this.#areas.length === 0) rows = end;
      for (; rows < end; rows++) areas += this.#rows[rows * ROW_STEP]! % 2;
      const isLast = i + RECORD_STEP === records.length;
      if (end - start.rows[0] < rowsMin && !isLast) continue;
      const content = this.#encode({
        records: [start.records[0], i + RECORD_STEP],
        rows: [start.rows[0], end],
        areas: [start.areas[0], areas],
      });
      const first = records[start.records[0]]!;
      yield { first, last: records[i]!, rows: end - start.rows[0], content };
      start = null;
    }
  }

  #textIndex(text: string): number {
    let index = this.#textIndexes.get(text);
    if (index !== undefined) return index;
    index = this.#texts.length;
    this.#texts.push(text);
    this.#textIndexes.set(text, index);
    return index;
  }

  #encode({ records, rows, areas }: Part): Buffer {
    const recordCount = (records[1] - records[0]) / RECORD_STEP;
    const count = rows[1] - rows[0];
    const areaCount = areas[1] - areas[0];
    writer.clear();
    for (const size of [recordCount, count, areaCount]) writer.u32(size);
    for (let i = 0; i < RECORD_STEP; i++) {
      const first = records[0] + i;
      writer.numbers({ values: this.#records, first, step: RECORD_STEP, count: recordCount });
    }
    const start = rows[0] * ROW_STEP;
    for (let i = 0; i < FIRST_TEXT; i++) {
      writer.numbers({ values: this.#rows, first: start + i, step: ROW_STEP, count });
    }
    const texts: string[] = [];
    const indexes = new Map<number, number>();
    for (let i = FIRST_TEXT; i < ROW_STEP; i++) {
      const own: number[] = [];
      for (let at = start + i; own.length < count; at += ROW_STEP) {
        own.push(this.#ownIndex(this.#rows[at]!, texts, indexes));
      }
      writer.numbers({ values: own, first: 0, step: 1, count });
    }
    for (let i = 0; i < AREA_STEP; i++) {
      const first = areas[0] * AREA_STEP + i;
      writer.numbers({ values: this.#areas, first, step: AREA_STEP, count: areaCount });
    }
    writer.texts(texts);
    return writer.content();
  }

  /** @returns The index of the text among those of a block. */
  #ownIndex(index: number, texts: string[], indexes: Map<number, number>): number {
    let own = indexes.get(index);
    if (own !== undefined) return own;
    own = texts.length;
    texts.push(this.#texts[index]!);
    indexes.set(index, own);
    return own;
  }
}
