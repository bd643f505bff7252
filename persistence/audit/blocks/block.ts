/** A block: consecutive records of one event with all their transitions, as it is read. No I/O. */
import { SeatState } from "../../../engine/inventory/states.ts";
import type { Actor } from "../../../engine/records.ts";
import { type Column, ColumnReader, type Texts } from "./columns.ts";
import {
  actorOfCode,
  AREA_STEP,
  type At,
  type CallFacts,
  type Counts,
  type Held,
  isAreaKey,
  type Move,
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
