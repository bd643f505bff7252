/**
 * The recent changes of one event: the sequences of their records, and what later records would
 * hide of what the older ones say.
 */
import type { CatalogCall } from "../../engine/apply.ts";
import { Broken } from "../../engine/assert.ts";
import type { EventRow } from "../../engine/catalog.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, MOVES, SeatState } from "../../engine/inventory/states.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import {
  type AreaAfter,
  byId,
  type EventChange,
  listedState,
  type SeatAfter,
} from "../../engine/queries/history.ts";
import { isOnSale } from "../../engine/queries/seats.ts";
import type { CatalogRecord, MoveRecord, PriceRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";

/** What moves before a change of prices, layout or event refer to. */
export interface Era {
  /** The record of that change. */
  readonly until: number;
  /** Index: seat. */
  readonly seatIds: Float64Array;
  /** Index: seat. Value: the price slot. */
  readonly price: Uint16Array;
  /** By slot, when the change removes prices; null when a later era or the catalog has them. */
  readonly priceIds: ReadonlyMap<number, number> | null;
}

/** A change, or the part of it that is not in the encoded record. */
export type Captured = Omit<EventChange, "sequence" | "previous">;

export class EventChain {
  readonly partition: number;
  /** The event's last record before those that are kept. */
  before: number;
  readonly #sequences: number[] = [];
  #head = 0;
  /** Records that are in the list no more. */
  #dropped = 0;
  /** The oldest first. */
  readonly eras: Era[] = [];
  /** The record with which the present era began. */
  eraStart = 0;
  /** By record: changes of anything but seats. They are made when they are first asked for. */
  readonly captured = new Map<number, (eventId: string) => Captured>();
  /** Called after each batch with a change. */
  readonly watchers = new Set<() => void>();
  isDirty = false;
  /** The last record on disk when the chain became dirty: the watchers know of it. */
  shown = 0;

  constructor(partition: number, before: number) {
    this.partition = partition;
    this.before = before;
  }

  /** The event's last record. */
  get last(): number {
    return this.#head < this.#sequences.length ? this.#sequences.at(-1)! : this.before;
  }

  get isEmpty(): boolean {
    return this.#head === this.#sequences.length;
  }

  add(sequence: number): void {
    this.#sequences.push(sequence);
  }

  /** Forgets records before `first`. */
  trim(first: number): void {
    const end = this.#indexAfter(first - 1);
    if (end === this.#head) return;
    this.before = this.#sequences[end - 1]!;
    this.#head = end;
    if (end * 2 < this.#sequences.length) return;
    this.#sequences.splice(0, end);
    this.#dropped += end;
    this.#head = 0;
  }

  /** @returns The last record up to `sequence`. */
  lastUpTo(sequence: number): number {
    const index = this.#indexAfter(sequence);
    return index === this.#head ? this.before : this.#sequences[index - 1]!;
  }

  /** @returns Records after `since` and up to `until`, at most `limit`. */
  after(since: number, until: number, limit: number): readonly number[] {
    const start = this.#indexAfter(since);
    const end = Math.min(this.#indexAfter(until), start + limit);
    return this.#sequences.slice(start, end);
  }

  /** @returns Records after `since` and up to `until`, to the end of a block of so many at most. */
  inBlock(since: number, until: number, blockRecords: number): readonly number[] {
    const start = this.#indexAfter(since);
    const left = blockRecords - ((this.#dropped + start) % blockRecords);
    return this.#sequences.slice(start, Math.min(this.#indexAfter(until), start + left));
  }

  /** @returns The index of the era of a record; that after the last for the present one. */
  eraOf(sequence: number): number {
    return lowerBound(this.eras.length, 0, (i) => this.eras[i]!.until > sequence);
  }

  /** @returns Prices by slot in an era; null when the catalog has them. */
  priceIdsFrom(era: number): ReadonlyMap<number, number> | null {
    for (let i = era; i < this.eras.length; i++) {
      const { priceIds } = this.eras[i]!;
      if (priceIds !== null) return priceIds;
    }
    return null;
  }

  /** @returns The index of the first record after `sequence`. */
  #indexAfter(sequence: number): number {
    const isAfter = (i: number) => this.#sequences[i]! > sequence;
    return lowerBound(this.#sequences.length, this.#head, isAfter);
  }
}

/** @returns The first index that matches; all after it match too. */
function lowerBound(end: number, start: number, matches: (index: number) => boolean): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (matches(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// What a record changes, other than by moving seats: read from the state around the record, because
// later records would hide it.

const { ACTIVE, LOCKED } = SeatState;

/** What seats and areas became. */
export type Places = Pick<Captured, "seats" | "areas">;

/** Places that are made when they are asked for, and the memory that this takes. */
export interface Made {
  readonly places: () => Places;
  readonly bytes: number;
}

/** Numbers of a run of seats that are alike and whose ids follow each other. */
const RUN_NUMBERS = 5;
const RUN_BYTES = 8 * RUN_NUMBERS;

/** @returns The areas after a move, which is yet to be applied. */
export function areasAfter(partition: Partition, { move, areas }: MoveRecord): AreaAfter[] {
  const { from, to } = MOVES[move];
  const counts = new Map<number, number[]>();
  for (let i = 0; i < areas.length; i += 3) {
    const area = areas[i]!;
    const places = areas[i + 2]!;
    const after = counts.get(area) ?? countsOf(partition, area);
    after[from - ACTIVE]! -= places;
    after[to - ACTIVE]! += places;
    counts.set(area, after);
  }
  const { layout } = partition;
  return [...counts].map(([area, after]) => areaOf(layout.areas[area]!.id, after)).sort(byId);
}

function countsOf({ areas }: Partition, area: number): number[] {
  return BOOKING_STATES.map((state) => areas.places(area, state));
}

function areaOf(id: number, [active = 0, locked = 0, sold = 0, blocked = 0]: number[]): AreaAfter {
  return { id, active, locked, sold, blocked };
}

/** What a record changes the price of, by index. */
export interface Priced {
  /** Pairs: the first seat, and the seat after the last. Rising. */
  readonly seatRanges: readonly number[];
  readonly areas: readonly number[];
}

export function pricedBy({ runs, areas }: PriceRecord): Priced {
  const seatRanges: number[] = [];
  for (let i = 0; i < runs.length; i += 3) {
    seatRanges.push(runs[i + 1]!, runs[i + 1]! + runs[i + 2]!);
  }
  return { seatRanges, areas: Array.from(areas).filter((_, i) => i % 3 === 0) };
}

/** To be called before the price is removed. */
export function pricedWith({ price, areas }: Partition, slots: ReadonlySet<number>): Priced {
  const seatRanges: number[] = [];
  for (let seat = 0; seat < price.length; seat++) {
    if (!slots.has(price[seat]!)) continue;
    if (seatRanges.at(-1) === seat) seatRanges[seatRanges.length - 1] = seat + 1;
    else seatRanges.push(seat, seat + 1);
  }
  const priced = Array.from(areas.price.keys()).filter((area) => slots.has(areas.price[area]!));
  return { seatRanges, areas: priced };
}

/** To be called when the prices have changed, before the next record. */
export function placesAfter(
  state: State,
  { partition: number, id }: EventRow,
  { seatRanges, areas }: Priced,
): Made {
  const partition = state.partitionAt(number);
  const prices = state.catalog.pricesOf(id);
  const priceIdOf = (seat: number) => prices.get(partition.price[seat]!)?.id ?? 0;
  const runs = runsOfSeats(partition, seatRanges, priceIdOf);
  const { layout } = partition;
  const after = areas.map((area) => areaOf(layout.areas[area]!.id, countsOf(partition, area)));
  const bytes = (RUN_BYTES * runs.length) / RUN_NUMBERS + 100 * after.length;
  const places = () => ({ seats: seatsOf(runs), areas: after.sort(byId) });
  return { places, bytes };
}

/**
 * Seats in runs, because a change may be of very many seats, most of them alike.
 *
 * @returns For each run: its first id, its number of seats, their state, price id, and the end of
 * their timed hold; 0 for none.
 */
function runsOfSeats(
  { layout, state, hold, holds }: Partition,
  ranges: readonly number[],
  priceIdOf: (seat: number) => number,
): Float64Array {
  const runs: number[] = [];
  let [first, count, lastState, lastPriceId, lastEndMs] = [0, 0, 0, 0, 0];
  for (let i = 0; i < ranges.length; i += 2) {
    for (let seat = ranges[i]!; seat < ranges[i + 1]!; seat++) {
      const seatState = state[seat]!;
      const priceId = priceIdOf(seat);
      const endMs = seatState === LOCKED ? holds.get(hold[seat]!).expiresAtMs : 0;
      const isAlike = seatState === lastState && priceId === lastPriceId && endMs === lastEndMs;
      if (isAlike && layout.seatIds[seat] === first + count) {
        count += 1;
        continue;
      }
      if (count > 0) runs.push(first, count, lastState, lastPriceId, lastEndMs);
      [first, count] = [layout.seatIds[seat]!, 1];
      [lastState, lastPriceId, lastEndMs] = [seatState, priceId, endMs];
    }
  }
  if (count > 0) runs.push(first, count, lastState, lastPriceId, lastEndMs);
  return Float64Array.from(runs);
}

function seatsOf(runs: Float64Array): SeatAfter[] {
  const seats: SeatAfter[] = [];
  for (let i = 0; i < runs.length; i += RUN_NUMBERS) {
    const first = runs[i]!;
    const after = {
      state: listedState(runs[i + 2]! as SeatState),
      priceId: runs[i + 3]! || null,
      expiresAtMs: runs[i + 4]! || null,
    };
    for (let id = first; id < first + runs[i + 1]!; id++) seats.push({ id, ...after });
  }
  return seats.sort(byId);
}

/** Ids of seats and areas that a layout adds and removes. */
interface LayoutChange {
  readonly added: Float64Array;
  readonly removed: Float64Array;
  readonly areas: readonly number[];
}

/** The last comparison: the events of a schema change their layout together. */
let compared: { from: Layout; to: Layout; change: LayoutChange } | null = null;

/** @returns What becomes of seats and areas of an event that moves to another layout. */
export function layoutChange(from: Layout, to: Layout): Made {
  if (compared?.from !== from || compared.to !== to) {
    compared = { from, to, change: compareLayouts(from, to) };
  }
  const { added, removed, areas } = compared.change;
  const seatOf = (id: number): SeatAfter => ({ id, state: null, priceId: null, expiresAtMs: null });
  const places = () => ({
    seats: [...Array.from(added, seatOf), ...Array.from(removed, seatOf)].sort(byId),
    areas: areas.map((id) => areaOf(id, [])).sort(byId),
  });
  return { places, bytes: 8 * (added.length + removed.length + areas.length) };
}

function compareLayouts(from: Layout, to: Layout): LayoutChange {
  const areasOf = ({ areas }: Layout) => new Set(areas.map(({ id }) => id));
  const [before, after] = [areasOf(from), areasOf(to)];
  const areas = [...before].filter((id) => !after.has(id));
  for (const id of after) if (!before.has(id)) areas.push(id);
  const missing = (ids: Float64Array, others: Float64Array) => {
    let at = 0;
    return ids.filter((id) => {
      while (at < others.length && others[at]! < id) at++;
      return others[at] !== id;
    });
  };
  return {
    added: missing(to.seatIds, from.seatIds),
    removed: missing(from.seatIds, to.seatIds),
    areas,
  };
}

/** An event before and after a record, or only before it when the record removes the event. */
export interface Versions {
  readonly before: EventRow | undefined;
  readonly after: EventRow;
}

/** To be called before the record is applied. */
export function versionsOf(state: State, partition: number, { puts }: CatalogRecord): Versions {
  for (const { table, row } of puts) {
    if (table !== "events" || row.partition !== partition) continue;
    return { before: state.catalog.events.get(row.id), after: row };
  }
  const before = eventAt(state, partition);
  return { before, after: before };
}

/** Cost: O(events), but little of what changes an event does not move seats. */
export function eventAt(state: State, partition: number): EventRow {
  for (const event of state.catalog.events.values())
    if (event.partition === partition) return event;
  throw new Broken("a partition belongs to an event");
}

type Switches = Pick<Captured, "status" | "bookable">;

/** To be called before the record is applied. */
export function switchesOf(
  state: State,
  { puts }: CatalogRecord,
  { before, after }: Versions,
  call: CatalogCall,
): Switches {
  if (call !== "event") return { status: null, bookable: null };
  const { organizations } = state.catalog;
  let { bookingEnabled } = organizations.get(after.organizationId)!;
  for (const { table, row } of puts) {
    if (table === "organizations" && row.id === after.organizationId) ({ bookingEnabled } = row);
  }
  const bookable = after.status === "PUBLISHED" && bookingEnabled;
  const wasBookable = before === undefined ? null : isOnSale(state, before);
  return {
    status: after.status === before?.status ? null : after.status,
    bookable: bookable === wasBookable ? null : bookable,
  };
}

/** By slot. */
export type PriceIds = ReadonlyMap<number, number>;

export function priceIdsOf({ catalog }: State, eventId: string): PriceIds {
  return new Map([...catalog.pricesOf(eventId)].map(([slot, { id }]) => [slot, id]));
}
