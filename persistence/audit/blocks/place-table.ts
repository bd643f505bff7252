/**
 * The last transition of each place of an event, as of some record. The live table of an event
 * follows its records; others are built from a stored one and the blocks after it. No I/O.
 */
import { SeatState } from "../../../engine/inventory/states.ts";
import type { Block } from "./block.ts";
import { ColumnReader, ColumnWriter } from "./columns.ts";
import {
  type Counts,
  type Held,
  isAreaKey,
  type Mutable,
  NO_STATE,
  type PlaceFacts,
} from "./rows.ts";

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
