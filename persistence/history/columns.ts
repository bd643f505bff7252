/**
 * The records of a chunk as columns of small numbers: compressed, a quarter to an eighth of their
 * bytes in the log. A session that the chunk has already is a number, and its seats are not repeated.
 */
import { Packr } from "msgpackr";
import { assert } from "../../engine/assert.ts";
import type { ChannelSeats } from "../../engine/catalog.ts";
import { NONE } from "../../engine/constants.ts";
import { type Move, MOVES, SeatState } from "../../engine/inventory/states.ts";
import type { TimedRecord } from "../../engine/queries/effect.ts";
import { type Actor, type MoveRecord, RecordType } from "../../engine/records.ts";
import { ByteWriter } from "../log/bytes.ts";
import { decodeRecord, encodeRecord } from "../log/codec.ts";

/** In place of a move: a record of another type, as in the log. */
const OTHER = 0;
/** In place of the distance to an earlier session: a new one. */
const NEW_UUID = 0;
const NEW_TEXT = 1;
const DISTANCE_BASE = 2;
/** In place of a count of seats: those of the last record with the session. */
const SAME_SEATS = 0;
const COUNT_BASE = 1;

const UUID_LENGTH = 36;
const HYPHEN = 0x2d;
const UUID_BYTES = 16;
/** By character: 0 to 15 for a digit of lower-case hexadecimal, else 16. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, unit) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(unit));
  return digit < 0 ? 16 : digit;
});
const packr = new Packr({ useRecords: false, copyBuffers: true });

/** Differences are to the record before. */
class Columns {
  sequence: number[] = [];
  timeMs: number[] = [];
  move: number[] = [];
  actorKind: number[] = [];
  actorId: number[] = [];
  session: number[] = [];
  /** Index in `holdTypes`. */
  holdType: number[] = [];
  /** Of a lock: the slot of its hold, and the milliseconds until its end or null. */
  hold: number[] = [];
  lasts: (number | null)[] = [];
  /** For each record its count; then the first seat, and the difference of each to the one before. */
  seats: number[] = [];
  /** For each record its count; then the numbers. */
  areas: number[] = [];
  others: Buffer[] = [];
  holdTypes: string[] = [];
  /** Sessions in another form than a UUID; the bytes of the UUIDs follow. */
  texts: string[] = [];
  uuids: Buffer = Buffer.alloc(0);
}

const NO_SEATS = new Uint32Array(0);

/** For one record at a time. */
const other = new ByteWriter(1_024);

export class ColumnWriter {
  readonly #columns = new Columns();
  readonly #holdTypes = new Map<string, number>();
  /** By session: its number, and the seats of its last record. */
  readonly #sessions = new Map<string, { readonly number: number; seats: Uint32Array }>();
  #uuids = Buffer.allocUnsafe(16 * UUID_BYTES);
  #uuidBytes = 0;
  #actorId = 0;
  /** The first record and the last one, with its time; 0 for none. */
  first = 0;
  last = 0;
  lastMs = 0;
  /** As by `movesIn`. */
  moves = 0;

  /** @returns As by `movesIn`. Cost: O(seats). */
  add(timed: TimedRecord): number {
    const { sequence, timeMs, record } = timed;
    const columns = this.#columns;
    columns.sequence.push(sequence - this.last);
    columns.timeMs.push(timeMs - this.lastMs);
    if (this.first === 0) this.first = sequence;
    this.last = sequence;
    this.lastMs = timeMs;
    const moves = movesIn(timed);
    this.moves += moves;
    if (record.type === RecordType.MOVE) {
      this.#addMove(record, timeMs);
      return moves;
    }
    other.length = 0;
    encodeRecord(other, timeMs, record);
    columns.move.push(OTHER);
    columns.others.push(Buffer.from(other.bytes.subarray(0, other.length)));
    return moves;
  }

  #addMove(record: MoveRecord, timeMs: number): void {
    const columns = this.#columns;
    const { actor, move, hold, expiresAtMs, session, holdType, areas } = record;
    columns.move.push(move);
    columns.actorKind.push(actor.kind);
    columns.actorId.push(actor.id - this.#actorId);
    this.#actorId = actor.id;
    if (MOVES[move].to === SeatState.LOCKED) {
      columns.hold.push(hold);
      columns.lasts.push(expiresAtMs === 0 ? null : expiresAtMs - timeMs);
    } else assert(hold === NONE && expiresAtMs === 0, "only a lock begins a hold");
    let typeIndex = this.#holdTypes.get(holdType);
    if (typeIndex === undefined) {
      typeIndex = columns.holdTypes.push(holdType) - 1;
      this.#holdTypes.set(holdType, typeIndex);
    }
    columns.holdType.push(typeIndex);
    this.#addSeats(session, record.seats);
    columns.areas.push(areas.length);
    for (const number of areas) columns.areas.push(number);
  }

  #addSeats(session: string, seats: Uint32Array): void {
    const columns = this.#columns;
    const known = this.#sessions.get(session);
    if (known === undefined) {
      const isUuid = this.#addUuid(session);
      columns.session.push(isUuid ? NEW_UUID : NEW_TEXT);
      if (!isUuid) columns.texts.push(session);
      this.#sessions.set(session, { number: this.#sessions.size, seats });
    } else {
      columns.session.push(DISTANCE_BASE + this.#sessions.size - 1 - known.number);
      const isSame = isEqual(known.seats, seats);
      known.seats = seats;
      if (isSame) {
        columns.seats.push(SAME_SEATS);
        return;
      }
    }
    columns.seats.push(COUNT_BASE + seats.length);
    let before = 0;
    for (const seat of seats) {
      columns.seats.push(seat - before);
      before = seat;
    }
  }

  /** @returns False for another text than a UUID in its usual form. */
  #addUuid(session: string): boolean {
    if (session.length !== UUID_LENGTH) return false;
    if (this.#uuidBytes + UUID_BYTES > this.#uuids.length) {
      this.#uuids = Buffer.concat([this.#uuids], 2 * this.#uuids.length);
    }
    let at = this.#uuidBytes;
    for (let i = 0; i < UUID_LENGTH; i += 2) {
      if (i === 8 || i === 13 || i === 18 || i === 23) {
        if (session.charCodeAt(i) !== HYPHEN) return false;
        i += 1;
      }
      const [high, low] = [DIGITS[session.charCodeAt(i)]!, DIGITS[session.charCodeAt(i + 1)]!];
      // Undefined for a character beyond the table.
      if (!(high < 16 && low < 16)) return false;
      this.#uuids[at++] = 16 * high + low;
    }
    this.#uuidBytes = at;
    return true;
  }

  /** @returns The bytes for `recordsIn`. Cost: O(records). */
  pack(): Buffer {
    const columns = this.#columns;
    columns.uuids = this.#uuids.subarray(0, this.#uuidBytes);
    return packr.pack(Object.values(columns));
  }
}

function isEqual(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

const NAMES = Object.keys(new Columns()) as readonly (keyof Columns)[];

/** @returns The records of a chunk of an event, in order. Cost: O(bytes). */
export function* recordsIn(bytes: Buffer, partition: number): Generator<TimedRecord> {
  const lists = packr.unpack(bytes) as unknown[];
  const columns = Object.fromEntries(NAMES.map((name, i) => [name, lists[i]])) as never as Columns;
  const { move: moves, others, uuids, texts, holdTypes } = columns;
  const hex = uuids.toString("hex");
  const sessions: { readonly session: string; seats: Uint32Array }[] = [];
  let [sequence, timeMs, actorId] = [0, 0, 0];
  let [moveAt, otherAt, lockAt, uuidAt, textAt, seatAt, areaAt] = [0, 0, 0, 0, 0, 0, 0];
  const sessionOf = (code: number) => {
    if (code >= DISTANCE_BASE) return sessions[sessions.length - 1 - (code - DISTANCE_BASE)]!;
    const session = code === NEW_TEXT ? texts[textAt++]! : uuidIn(hex, UUID_BYTES * 2 * uuidAt++);
    const begun = { session, seats: NO_SEATS };
    sessions.push(begun);
    return begun;
  };
  const seatsOf = (before: Uint32Array) => {
    const code = columns.seats[seatAt++]!;
    if (code === SAME_SEATS) return before;
    const seats = new Uint32Array(code - COUNT_BASE);
    let seat = 0;
    for (let i = 0; i < seats.length; i++) seats[i] = seat += columns.seats[seatAt++]!;
    return seats;
  };
  for (const [i, move] of moves.entries()) {
    sequence += columns.sequence[i]!;
    timeMs += columns.timeMs[i]!;
    if (move === OTHER) {
      yield decodeRecord(others[otherAt++]!, sequence);
      continue;
    }
    const isLock = MOVES[move as Move].to === SeatState.LOCKED;
    const lasts = isLock ? columns.lasts[lockAt]! : null;
    const kept = sessionOf(columns.session[moveAt]!);
    kept.seats = seatsOf(kept.seats);
    const areaCount = columns.areas[areaAt++]!;
    const record: MoveRecord = {
      type: RecordType.MOVE,
      actor: {
        kind: columns.actorKind[moveAt] as Actor["kind"],
        id: (actorId += columns.actorId[moveAt]!),
      },
      partition,
      move: move as Move,
      hold: isLock ? columns.hold[lockAt++]! : NONE,
      expiresAtMs: lasts === null ? 0 : timeMs + lasts,
      session: kept.session,
      holdType: holdTypes[columns.holdType[moveAt]!]!,
      seats: kept.seats,
      areas: Uint32Array.from(columns.areas.slice(areaAt, areaAt + areaCount)),
    };
    areaAt += areaCount;
    moveAt += 1;
    yield { sequence, timeMs, record };
  }
}

function uuidIn(hex: string, at: number): string {
  const part = (from: number, to: number) => hex.slice(at + from, at + to);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}

function seatsInRuns({ runs }: ChannelSeats): number {
  return runs.reduce((sum, count, i) => (i % 2 === 1 ? sum + count : sum), 0);
}

/** Priced seats, counted as one transition. */
const PRICED_PER_MOVE = 8;

/** The transitions of a record; of a change in the catalog an estimate, at least 1. */
export function movesIn({ record }: Pick<TimedRecord, "record">): number {
  switch (record.type) {
    case RecordType.MOVE:
    case RecordType.ARRIVAL:
      return record.seats.length + record.areas.length / 3;
    case RecordType.PRICE:
      // A replay prices a run of seats much faster than it moves them.
      return record.runs.reduce((sum, count, i) => {
        return i % 3 === 2 ? sum + Math.ceil(count / PRICED_PER_MOVE) : sum;
      }, 1);
    case RecordType.EXTENSION:
      return record.places;
    case RecordType.CART:
      return record.parts.reduce((sum, part) => sum + movesIn({ record: part }), 0);
    case RecordType.CATALOG:
      return record.puts.reduce((sum, { channel }) => {
        return channel === undefined
          ? sum
          : sum + Math.ceil(seatsInRuns(channel) / PRICED_PER_MOVE);
      }, 1);
    case RecordType.DOOR:
      return 1;
  }
  return record satisfies never;
}
