/**
 * The transitions of consecutive records of one event, in memory: columns of numbers, and each text
 * once. About 60 bytes for a transition.
 */
import { assert } from "../../engine/assert.ts";
import {
  type AreaCounts,
  areaAfter,
  type EventEffect,
  type PlaceMove,
  seatAfter,
} from "../../engine/queries/effect.ts";
import {
  type EventChange,
  type AreaAfter,
  byId,
  type SeatAfter,
  type Transition,
} from "../../engine/queries/history.ts";
import type { SeatState } from "../../engine/inventory/states.ts";
import type { Actor, LogRecord } from "../../engine/records.ts";
import type { EventStatus } from "../../engine/catalog.ts";

/** In place of a state: the place does not exist. */
const NO_STATE = 7;
const NO_TEXT = "";
/** In the column of channels: the text 0. */
const KEY_BASE = 2;

/** A column of numbers that grows. */
class Column<Numbers extends Float64Array | Uint32Array | Uint8Array> {
  #numbers: Numbers;
  length = 0;

  constructor(numbers: Numbers) {
    this.#numbers = numbers;
  }

  get bytes(): number {
    return this.#numbers.byteLength;
  }

  at(index: number): number {
    assert(index < this.length, "an entry of a column exists");
    return this.#numbers[index]!;
  }

  push(value: number): void {
    if (this.length === this.#numbers.length) this.#grow();
    this.#numbers[this.length++] = value;
  }

  #grow(): void {
    const Numbers = this.#numbers.constructor as new (length: number) => Numbers;
    const grown = new Numbers(2 * this.#numbers.length);
    grown.set(this.#numbers);
    this.#numbers = grown;
  }
}

const ENTRIES_MIN = 16;
const doubles = () => new Column(new Float64Array(ENTRIES_MIN));
const words = () => new Column(new Uint32Array(ENTRIES_MIN));
const octets = () => new Column(new Uint8Array(ENTRIES_MIN));

/** Each text once. */
class Texts {
  readonly #texts: string[] = [NO_TEXT];
  readonly #indexes = new Map<string, number>([[NO_TEXT, 0]]);
  /** Estimated memory. */
  bytes = 0;

  indexOf(text: string): number | undefined {
    return this.#indexes.get(text);
  }

  add(text: string): number {
    let index = this.#indexes.get(text);
    if (index === undefined) {
      index = this.#texts.push(text) - 1;
      this.#indexes.set(text, index);
      this.bytes += 64 + text.length;
    }
    return index;
  }

  at(index: number): string {
    return this.#texts[index]!;
  }
}

/** The filtered part of a transition. */
export interface RowFilter {
  readonly placeId: number | null;
  readonly isArea: boolean;
  readonly session: string | null;
}

export class Block {
  /** The event's last record before the block; 0 for none. */
  readonly previous: number;
  readonly #sequence = doubles();
  readonly #timeMs = doubles();
  readonly #call = words();
  readonly #actorKind = octets();
  readonly #actorId = doubles();
  /** The first row of a record. */
  readonly #start = words();
  /** Of the request; the hold may have another. */
  readonly #ownSession = words();
  readonly #ownType = words();
  readonly #status = words();
  /** 0: unchanged; 1: not bookable; 2: bookable. */
  readonly #bookable = octets();
  readonly #place = doubles();
  /** From, times eight, plus to. */
  readonly #states = octets();
  readonly #price = doubles();
  readonly #hold = doubles();
  readonly #endsAtMs = doubles();
  readonly #session = words();
  readonly #holdType = words();
  /** 0: unchanged; 1: none; else two more than the text of its key. */
  readonly #channel = words();
  /** Of an area: its first number in `#areas`, plus one; 0 for a seat. */
  readonly #area = words();
  /** Five for a row: places, then the counters. */
  readonly #areas = words();
  readonly #texts = new Texts();

  constructor(previous: number) {
    this.previous = previous;
  }

  get recordCount(): number {
    return this.#sequence.length;
  }

  get rowCount(): number {
    return this.#place.length;
  }

  /** Estimated memory. */
  get bytes(): number {
    const perRecord = 8 * 3 + 4 * 5 + 2;
    const perRow = 8 * 4 + 4 * 4 + 1;
    const columns = this.recordCount * perRecord + this.rowCount * perRow;
    return 1.5 * (columns + this.#areas.bytes) + this.#texts.bytes;
  }

  /** To be called after the moves of the record. @param start - `rowCount` before them. */
  add(
    { sequence, timeMs, record }: { sequence: number; timeMs: number; record: LogRecord },
    start: number,
    { call, session, holdType, status, bookable }: EventEffect,
  ): void {
    const { kind, id } = record.actor;
    this.#sequence.push(sequence);
    this.#timeMs.push(timeMs);
    this.#call.push(this.#texts.add(call));
    this.#actorKind.push(kind);
    this.#actorId.push(id);
    this.#start.push(start);
    this.#ownSession.push(this.#texts.add(session));
    this.#ownType.push(this.#texts.add(holdType));
    this.#status.push(this.#texts.add(status ?? NO_TEXT));
    this.#bookable.push(bookable === null ? 0 : bookable ? 2 : 1);
  }

  addMove(move: PlaceMove): void {
    this.#place.push(move.placeId);
    this.#states.push((move.from ?? NO_STATE) * 8 + (move.to ?? NO_STATE));
    this.#price.push(move.priceId);
    this.#hold.push(move.hold);
    this.#endsAtMs.push(move.endsAtMs);
    this.#session.push(this.#texts.add(move.session));
    this.#holdType.push(this.#texts.add(move.holdType));
    const { counts, places, channel } = move;
    const isText = typeof channel === "string";
    this.#channel.push(isText ? KEY_BASE + this.#texts.add(channel) : channel === null ? 1 : 0);
    this.#area.push(counts === null ? 0 : this.#areas.length + 1);
    if (counts === null) return;
    this.#areas.push(places!);
    for (const count of counts) this.#areas.push(count);
  }

  sequenceOf(record: number): number {
    return this.#sequence.at(record);
  }

  timeOf(record: number): number {
    return this.#timeMs.at(record);
  }

  /** @returns The first record that is at or after the number; `recordCount` for none. */
  recordFrom(sequence: number): number {
    return lowerBound(this.recordCount, (i) => this.#sequence.at(i) >= sequence);
  }

  /** @returns The first record at or after a time, in milliseconds since 1970. */
  recordAt(timeMs: number): number {
    return lowerBound(this.recordCount, (i) => this.#timeMs.at(i) >= timeMs);
  }

  rowsFrom(record: number): number {
    return record < this.recordCount ? this.#start.at(record) : this.rowCount;
  }

  /** @returns The record of a row. Cost: O(log records). */
  recordOf(row: number): number {
    return lowerBound(this.recordCount, (i) => this.#start.at(i) > row) - 1;
  }

  /** @returns Rows from `start` to before `end` that match. Cost: O(rows). */
  matching(start: number, end: number, { placeId, isArea, session }: RowFilter): number[] {
    const rows: number[] = [];
    const text = session === null ? null : this.#texts.indexOf(session);
    if (text === undefined) return rows;
    for (let row = start; row < end; row++) {
      if (placeId !== null) {
        if (this.#place.at(row) !== placeId || this.#area.at(row) > 0 !== isArea) continue;
      }
      if (text === null || this.#session.at(row) === text) rows.push(row);
    }
    return rows;
  }

  transition(record: number, row: number): Transition {
    const states = this.#states.at(row);
    const area = this.#area.at(row);
    const channel = this.#channelOf(row);
    return {
      sequence: this.sequenceOf(record),
      timeMs: this.timeOf(record),
      ordinal: row - this.rowsFrom(record),
      call: this.#texts.at(this.#call.at(record)),
      actor: this.#actorOf(record),
      session: this.#texts.at(this.#session.at(row)),
      holdType: this.#texts.at(this.#holdType.at(row)),
      placeId: this.#place.at(row),
      isArea: area > 0,
      from: stateOf(states >> 3),
      to: stateOf(states & 7),
      places: area === 0 ? null : this.#areas.at(area - 1),
      priceId: this.#price.at(row),
      hold: this.#hold.at(row),
      ...(channel === undefined ? {} : { channel }),
    };
  }

  #channelOf(row: number): string | null | undefined {
    const code = this.#channel.at(row);
    return code >= KEY_BASE ? this.#texts.at(code - KEY_BASE) : code === 1 ? null : undefined;
  }

  #actorOf(record: number): Actor {
    const kind = this.#actorKind.at(record) as Actor["kind"];
    return { kind, id: this.#actorId.at(record) };
  }

  change(record: number): EventChange {
    const seats: SeatAfter[] = [];
    const areas = new Map<number, AreaAfter>();
    const end = this.rowsFrom(record + 1);
    for (let row = this.rowsFrom(record); row < end; row++) {
      const id = this.#place.at(row);
      const area = this.#area.at(row);
      if (area > 0) {
        areas.set(id, areaAfter(id, this.#countsFrom(area)));
        continue;
      }
      const to = stateOf(this.#states.at(row) & 7);
      const [priceId, endsAtMs] = [this.#price.at(row), this.#endsAtMs.at(row)];
      const channel = this.#channelOf(row);
      seats.push(seatAfter({ placeId: id, to, priceId, endsAtMs, channel }));
    }
    const status = this.#texts.at(this.#status.at(record));
    const bookable = this.#bookable.at(record);
    return {
      sequence: this.sequenceOf(record),
      previous: record === 0 ? this.previous : this.sequenceOf(record - 1),
      timeMs: this.timeOf(record),
      call: this.#texts.at(this.#call.at(record)),
      session: this.#texts.at(this.#ownSession.at(record)),
      holdType: this.#texts.at(this.#ownType.at(record)),
      seats: lastOfEach(seats.sort(byId)),
      areas: [...areas.values()].sort(byId),
      status: status === NO_TEXT ? null : (status as EventStatus),
      bookable: bookable === 0 ? null : bookable === 2,
    };
  }

  #countsFrom(area: number): AreaCounts {
    return [area, area + 1, area + 2, area + 3].map((at) => this.#areas.at(at)) as never;
  }
}

/** @param seats - By id; of one that a cart moves twice, its last transition is the last. */
function lastOfEach(seats: readonly SeatAfter[]): readonly SeatAfter[] {
  const isLast = (seat: SeatAfter, i: number) => seats[i + 1]?.id !== seat.id;
  return seats.every(isLast) ? seats : seats.filter(isLast);
}

function stateOf(code: number): SeatState | null {
  return code === NO_STATE ? null : (code as SeatState);
}

/** @returns The first index that matches; all after it match too. */
export function lowerBound(end: number, matches: (index: number) => boolean): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (matches(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
