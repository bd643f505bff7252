/**
 * The recent changes of all events. Moves of seats are kept as the log encoded them, and become
 * changes when somebody asks. Of other records, which later ones would hide, the effect is kept.
 *
 * Ordering: `beforeApply` comes before a record is applied, `keep` when its batch is on disk, then
 * `durable`. A change is shown when its record is on disk.
 */
import { type CatalogCall, changedEvents } from "../../engine/apply.ts";
import { assert } from "../../engine/assert.ts";
import type { EventRow } from "../../engine/catalog.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import type { Observer } from "../../engine/ports.ts";
import {
  areaAfter,
  type AreaCounts,
  type EventEffect,
  layoutPlaces,
  movedSeats,
  moveEffect,
  observe,
  type PlaceIds,
  type PlaceMove,
  seatAfter,
  type PricedSeats,
  pricedSeatsOf,
  type TimedRecord,
} from "../../engine/queries/effect.ts";
import {
  byId,
  type ChangePage,
  type EventChange,
  PLACES_PER_PAGE_MAX,
  placesOf,
  type SeatAfter,
} from "../../engine/queries/history.ts";
import { type LogRecord, type MoveRecord, partitionsOf, RecordType } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { decodeRecord, TIME_AT, TYPE_AT } from "../log/codec.ts";
import { lowerBound } from "./block.ts";

/** Memory for recent changes; the oldest are dropped. Older ones are in the audit trail. */
export const RECENT_BYTES_MAX = 32 * 1024 * 1024;
/** Memory of a record in a chain, at least. */
const KEPT_BYTES = 600;
/** Changes of a block. */
export const BLOCK_CHANGES = 512;
/** Chains trimmed for each dropped batch. */
const TRIMMED_PER_BATCH = 8;

/** Kept until its record is dropped. */
interface KeptEffect {
  readonly chain: EventChain;
  readonly sequence: number;
  readonly bytes: number;
}

export class RecentChanges implements Observer {
  readonly #bytesMax: number;
  #state: State | null = null;
  #moves = new RecentMoves(1);
  #durable = 0;
  /** By partition number: events with recent changes, and those that are watched. */
  readonly #chains = new Map<number, EventChain>();
  #trimming: Iterator<EventChain> | null = null;
  readonly #effects = new Queue<KeptEffect>();
  #effectBytes = 0;
  /** Each reads the effect of the last record on one event, once it is applied. */
  readonly #observed: (() => void)[] = [];
  /** The last comparison: the events of a schema change their layout together. */
  #compared: { readonly from: Layout; readonly to: Layout; readonly ids: PlaceIds } | null = null;
  /** Watched events with changes not on disk yet, or not announced yet. */
  #dirty: EventChain[] = [];

  constructor(bytesMax = RECENT_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** To be called once, before the first record. @param sequence - Of the last record. */
  begin(state: State, sequence: number): void {
    this.#state = state;
    this.#moves = new RecentMoves(sequence + 1);
    this.#durable = sequence;
  }

  /** Memory of the recent changes, estimated. */
  get bytes(): number {
    return this.#moves.bytes + this.#effectBytes;
  }

  /** Changes after this record are in memory. */
  get since(): number {
    return this.#moves.first - 1;
  }

  /** Milliseconds since 1970: the time of the oldest record; 0 when there is none. */
  get oldestMs(): number {
    return this.#moves.oldestMs;
  }

  /** The last record on disk. */
  get durableSequence(): number {
    return this.#durable;
  }

  /** The last record of the event that is on disk. */
  lastOf(partition: number): number {
    const chain = this.#chains.get(partition);
    return chain?.lastUpTo(this.#durable) ?? this.#state!.sequences.get(partition) ?? 0;
  }

  /**
   * @param since - At most the last record on disk.
   * @returns Null when not all changes after `since` are in memory. Cost: O(seats of the page).
   */
  page(event: EventRow, since: number, limit: number): ChangePage | null {
    const chain = this.#chainSince(event, since);
    if (chain === null) return null;
    const sequences = chain?.after(since, this.#durable, limit + 1) ?? [];
    const changes = this.#changesOf(event, since, sequences.slice(0, limit));
    return { changes, hasMore: changes.length < sequences.length };
  }

  /**
   * As `page`, but the changes end with a block of the event's changes, so that whoever is far
   * behind asks for the same ones in the end.
   *
   * @param until - The last record that is wanted, at most the last on disk.
   */
  block(event: EventRow, since: number, until: number): readonly EventChange[] | null {
    const chain = this.#chainSince(event, since);
    if (chain === null) return null;
    const sequences = chain?.inBlock(since, until, BLOCK_CHANGES) ?? [];
    return this.#changesOf(event, since, sequences);
  }

  /** @returns Null when memory lacks changes after `since`; undefined when there are none. */
  #chainSince({ partition }: EventRow, since: number): EventChain | null | undefined {
    this.#readEffects();
    const chain = this.#chains.get(partition);
    if (chain === undefined) {
      return since >= (this.#state!.sequences.get(partition) ?? this.since) ? undefined : null;
    }
    chain.trim(this.#moves.first);
    return since < chain.before ? null : chain;
  }

  /** @returns The changes of consecutive records, unless they are of too many seats. */
  #changesOf({ partition }: EventRow, since: number, sequences: readonly number[]) {
    const changes: EventChange[] = [];
    if (sequences.length === 0) return changes;
    const chain = this.#chains.get(partition)!;
    let previous = chain.lastUpTo(since);
    let places = 0;
    for (const sequence of sequences) {
      if (places >= PLACES_PER_PAGE_MAX) break;
      const change = { sequence, previous, ...this.#shown(chain, sequence) };
      changes.push(change);
      places += placesOf(change);
      previous = sequence;
    }
    return changes;
  }

  /**
   * @param onChanged - Called when changes of the event have come to disk, before the answers that
   * wait for them.
   * @returns Ends it.
   */
  watch(partition: number, onChanged: () => void): () => void {
    // An event without a number is deleted, and what memory had of it is dropped.
    const chain = this.#chainOf(partition, this.since);
    chain.watchers.add(onChanged);
    // Changes that were decided before this call may not be on disk yet.
    if (chain.last > this.#durable) this.#touch(chain);
    return () => void chain.watchers.delete(onChanged);
  }

  beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    this.#readEffects();
    if (record.type === RecordType.DOOR) return;
    if (record.type !== RecordType.CATALOG) {
      const isPlain = record.type === RecordType.MOVE && record.areas.length === 0;
      for (const partition of partitionsOf(record)) {
        const chain = this.#chainOf(partition);
        if (!isPlain) this.#observe(chain, { sequence, timeMs, record }, null);
        this.#add(chain, sequence);
      }
      return;
    }
    for (const [partition, call] of changedEvents(this.#state!, record)) {
      const chain = this.#chainOf(partition);
      this.#observe(chain, { sequence, timeMs, record }, call);
      this.#add(chain, sequence);
    }
  }

  /** A batch of the log is on disk. @param payload - As in `RecentMoves`. */
  keep(payload: Buffer, first: number, recordCount: number): void {
    this.#moves.keep(payload, first, recordCount);
    while (this.bytes > this.#bytesMax && this.#moves.batchCount > 1) this.#dropBatch();
  }

  durable(sequence: number): void {
    this.#readEffects();
    this.#durable = sequence;
    if (this.#dirty.length === 0) return;
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const chain of dirty) {
      const { shown } = chain;
      chain.isDirty = false;
      if (chain.last > sequence) this.#touch(chain);
      if (chain.lastUpTo(sequence) > shown) for (const onChanged of chain.watchers) onChanged();
    }
  }

  /** @param unknown - The last record of an event that the state does not have. */
  #chainOf(partition: number, unknown = 0): EventChain {
    let chain = this.#chains.get(partition);
    if (chain === undefined) {
      const before = this.#state!.sequences.get(partition) ?? unknown;
      this.#chains.set(partition, (chain = new EventChain(partition, before)));
    }
    return chain;
  }

  #add(chain: EventChain, sequence: number): void {
    chain.add(sequence);
    if (chain.watchers.size > 0) this.#touch(chain);
  }

  #touch(chain: EventChain): void {
    if (chain.isDirty) return;
    chain.isDirty = true;
    chain.shown = chain.lastUpTo(this.#durable);
    this.#dirty.push(chain);
  }

  #readEffects(): void {
    if (this.#observed.length === 0) return;
    for (const read of this.#observed) read();
    this.#observed.length = 0;
    this.#compared = null;
  }

  /** Keeps the effect of a record on an event, once it is applied, and the era that it ends. */
  #observe(chain: EventChain, { sequence, timeMs, record }: TimedRecord, call: CatalogCall | null) {
    const state = this.#state!;
    const { partition } = chain;
    const isPriced = record.type === RecordType.PRICE || call === "deleteprice";
    const from = state.partitions.layoutOf(partition);
    const endsEra = record.type === RecordType.PRICE || record.type === RecordType.CATALOG;
    const era = endsEra ? this.#presentEra(chain, isPriced) : null;
    const image = new AfterImage();
    const end = observe(state, partition, { sequence, record, call }, image.add);
    this.#observed.push(() => {
      const effect = end();
      const to = state.partitions.layoutOf(partition);
      if (from !== undefined && to !== undefined && from !== to) {
        image.layout = this.#compare(from, to);
      }
      let bytes = KEPT_BYTES + image.bytes;
      if (isPriced || from !== to) bytes += chain.endEra(sequence, era);
      chain.effects.set(sequence, { timeMs, effect, image });
      this.#effects.push({ chain, sequence, bytes });
      this.#effectBytes += bytes;
    });
  }

  /**
   * The seats and prices of now, if a move of the chain refers to them.
   * @param isPriced - True when the prices are about to change in place; else another partition takes
   * the place of this one: a hundred events may follow a layout, and copies of all would stop
   * everybody.
   */
  #presentEra(chain: EventChain, isPriced: boolean): PricedSeats | null {
    const state = this.#state!;
    const present = state.partitions.peek(chain.partition);
    if (present === undefined || chain.isEmpty || chain.last <= chain.eraStart) return null;
    const { seatIds, price, prices } = pricedSeatsOf(state, chain.partition, present);
    return { seatIds, price: isPriced ? price.slice() : price, prices: new Map(prices) };
  }

  #compare(from: Layout, to: Layout): PlaceIds {
    if (this.#compared?.from !== from || this.#compared.to !== to) {
      this.#compared = { from, to, ids: layoutPlaces(from, to) };
    }
    return this.#compared.ids;
  }

  #dropBatch(): void {
    this.#moves.drop();
    const { first } = this.#moves;
    while (this.#effects.length > 0 && this.#effects.at(0).sequence < first) {
      const { chain, sequence, bytes } = this.#effects.at(0);
      chain.forget(sequence);
      this.#effectBytes -= bytes;
      this.#effects.drop(1);
    }
    this.#trimSome(first);
  }

  #trimSome(first: number): void {
    for (let i = 0; i < TRIMMED_PER_BATCH; i++) {
      this.#trimming ??= this.#chains.values();
      const { value: chain, done } = this.#trimming.next();
      if (done === true) {
        this.#trimming = null;
        return;
      }
      chain.trim(first);
      const isIdle = chain.isEmpty && chain.watchers.size === 0;
      if (isIdle && !chain.isDirty) this.#chains.delete(chain.partition);
    }
  }

  /** Cost: O(seats and areas of the change). */
  #shown(chain: EventChain, sequence: number): Shown {
    const kept = chain.effects.get(sequence);
    if (kept !== undefined) return { timeMs: kept.timeMs, ...kept.effect, ...kept.image.places };
    const state = this.#state!;
    const { partition } = chain;
    const { timeMs, record } = this.#moves.at(sequence);
    const seating =
      chain.eraOf(sequence) ?? pricedSeatsOf(state, partition, state.partitionAt(partition));
    const seats: SeatAfter[] = [];
    movedSeats(seating, { record, fence: sequence }, (move) => seats.push(seatAfter(move)));
    return { timeMs, ...moveEffect(record), seats: seats.sort(byId), areas: [] };
  }
}

/** A change without its place among others. */
type Shown = Omit<EventChange, "sequence" | "previous">;

/** Numbers of a run of seats that are alike and whose ids follow each other. */
const RUN_NUMBERS = 6;
/** In place of the index of a channel. */
const [UNCHANGED, NO_CHANNEL] = [-2, -1];
const NUMBER_BYTES = 12;
const AREA_BYTES = 100;

/** Seats and areas as one record leaves them. It may be of very many seats, most of them alike. */
class AfterImage {
  /** Of each run: the first id, the number of seats, their state, price id, end of hold, channel. */
  readonly #runs: number[] = [];
  /** Keys of the channels of its seats. */
  readonly #channels: string[] = [];
  readonly #areas = new Map<number, AreaCounts>();
  /** Added and removed by another layout. Events with the same layouts share it. */
  layout: PlaceIds = { seats: new Float64Array(), areas: [] };

  readonly add = (move: Readonly<PlaceMove>): void => {
    const { placeId, counts, to, priceId, endsAtMs } = move;
    if (counts !== null) {
      this.#areas.set(placeId, counts);
      return;
    }
    const runs = this.#runs;
    const state = to ?? SeatState.UNPRICED;
    const endMs = to === SeatState.LOCKED ? endsAtMs : 0;
    const last = runs.length - RUN_NUMBERS;
    const next = last < 0 ? NaN : runs[last]! + runs[last + 1]!;
    const channel = this.#indexOf(move.channel);
    const isAlike = runs[last + 2] === state && runs[last + 3] === priceId;
    const isInSame = runs[last + 4] === endMs && runs[last + 5] === channel;
    if (next === placeId && isAlike && isInSame) runs[last + 1]! += 1;
    else runs.push(placeId, 1, state, priceId, endMs, channel);
  };

  #indexOf(channel: string | null | undefined): number {
    if (channel === undefined) return UNCHANGED;
    if (channel === null) return NO_CHANNEL;
    const index = this.#channels.indexOf(channel);
    return index === -1 ? this.#channels.push(channel) - 1 : index;
  }

  #channelAt(index: number): string | null | undefined {
    return index === UNCHANGED ? undefined : index === NO_CHANNEL ? null : this.#channels[index]!;
  }

  /** Estimated memory. */
  get bytes(): number {
    const { seats, areas } = this.layout;
    const numbers = this.#runs.length + seats.length + areas.length;
    return NUMBER_BYTES * numbers + AREA_BYTES * this.#areas.size;
  }

  get places(): Pick<EventChange, "seats" | "areas"> {
    const seats: SeatAfter[] = [];
    for (let i = 0; i < this.#runs.length; i += RUN_NUMBERS) {
      const [first, count, to, priceId, endsAtMs, index] = this.#runs.slice(
        i,
        i + RUN_NUMBERS,
      ) as Run;
      const channel = this.#channelAt(index);
      for (let placeId = first; placeId < first + count; placeId++) {
        seats.push(seatAfter({ placeId, to, priceId, endsAtMs, channel }));
      }
    }
    for (const placeId of this.layout.seats) {
      const gone = { to: null, priceId: 0, endsAtMs: 0, channel: undefined };
      seats.push(seatAfter({ placeId, ...gone }));
    }
    const areas = Array.from(this.#areas, ([id, counts]) => areaAfter(id, counts));
    for (const id of this.layout.areas) areas.push(areaAfter(id, [0, 0, 0, 0]));
    return { seats: seats.sort(byId), areas: areas.sort(byId) };
  }
}

type Run = [number, number, SeatState, number, number, number];

/** An array without its oldest items. Amortized constant. */
class Queue<Item> {
  #items: Item[] = [];
  #head = 0;
  /** Items that were dropped. */
  dropped = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** @param index - From the oldest item on. */
  at(index: number): Item {
    return this.#items[this.#head + index]!;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  slice(start: number, end: number): readonly Item[] {
    return this.#items.slice(this.#head + start, this.#head + end);
  }

  /** Drops the oldest items. */
  drop(count: number): void {
    this.#head += count;
    this.dropped += count;
    if (this.#head * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}

/** Prices, layout and event as the moves before their next change refer to them. */
interface Era extends PricedSeats {
  /** The record of that change. */
  readonly until: number;
}

/** The recent changes of one event: the numbers of their records. */
export class EventChain {
  readonly partition: number;
  /** The event's last record before those that are kept. */
  before: number;
  readonly #sequences = new Queue<number>();
  /** The oldest first. */
  readonly #eras: Era[] = [];
  /** The record with which the present era began. */
  eraStart = 0;
  /** By record: changes of anything but seats alone. */
  readonly effects = new Map<number, Effect>();
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
    return this.isEmpty ? this.before : this.#sequences.at(this.#sequences.length - 1);
  }

  get isEmpty(): boolean {
    return this.#sequences.length === 0;
  }

  add(sequence: number): void {
    this.#sequences.push(sequence);
  }

  /** Forgets records before `first`. */
  trim(first: number): void {
    const end = this.#indexAfter(first - 1);
    if (end === 0) return;
    this.before = this.#sequences.at(end - 1);
    this.#sequences.drop(end);
  }

  /** Forgets the effect of a record, and the eras up to it. */
  forget(sequence: number): void {
    this.effects.delete(sequence);
    while (this.#eras.length > 0 && this.#eras[0]!.until <= sequence) this.#eras.shift();
  }

  /** @returns The last record up to `sequence`. */
  lastUpTo(sequence: number): number {
    const index = this.#indexAfter(sequence);
    return index === 0 ? this.before : this.#sequences.at(index - 1);
  }

  /** @returns Records after `since` and up to `until`, at most `limit`. */
  after(since: number, until: number, limit: number): readonly number[] {
    const start = this.#indexAfter(since);
    return this.#sequences.slice(start, Math.min(this.#indexAfter(until), start + limit));
  }

  /** @returns Records after `since` and up to `until`, to the end of a block of so many at most. */
  inBlock(since: number, until: number, blockRecords: number): readonly number[] {
    const start = this.#indexAfter(since);
    const left = blockRecords - ((this.#sequences.dropped + start) % blockRecords);
    return this.after(since, until, left);
  }

  /** @param seating - Null when no move refers to it. @returns Its memory, estimated. */
  endEra(sequence: number, seating: PricedSeats | null): number {
    this.eraStart = sequence;
    if (seating === null) return 0;
    this.#eras.push({ until: sequence, ...seating });
    return 10 * seating.price.length + 50 * seating.prices.size;
  }

  /** @returns Undefined for the present era. */
  eraOf(sequence: number): PricedSeats | undefined {
    return this.#eras[lowerBound(this.#eras.length, (i) => this.#eras[i]!.until > sequence)];
  }

  /** @returns The index of the first record after `sequence`. */
  #indexAfter(sequence: number): number {
    return lowerBound(this.#sequences.length, (i) => this.#sequences.at(i) > sequence);
  }
}

/** The effect of a record that later ones would hide. */
interface Effect {
  readonly timeMs: number;
  readonly effect: EventEffect;
  readonly image: AfterImage;
}

// The newest moves on disk, as the log encoded them: a batch costs one copy of its bytes, and a
// record is decoded only when somebody asks for it.

/** The length of a record that is not a move, in its place. */
const GAP_BYTES = 4;
const OFFSET_BYTES = 4;
/** Memory of the objects around a batch, at most. */
const BATCH_BYTES = 512;
const CHUNK_BYTES = 256 * 1_024;

/**
 * Memory of several batches. Chunks are used again: memory outside the heap that comes and goes
 * makes the collector look through the whole heap several times a second.
 */
interface Chunk {
  readonly bytes: Buffer;
  used: number;
  batches: number;
}

interface Batch {
  readonly first: number;
  readonly recordCount: number;
  readonly timeMs: number;
  readonly chunk: Chunk;
  /** In the chunk: room for the offsets of its records, each as four bytes, then the records. */
  readonly start: number;
  readonly bytes: number;
  /** False until the first read, which most batches never have. */
  isIndexed: boolean;
}

export class RecentMoves {
  readonly #batches = new Queue<Batch>();
  #chunk: Chunk | null = null;
  readonly #idle: Chunk[] = [];
  /** Chunks that were made. */
  chunkCount = 0;
  /** The first record that is kept. */
  first: number;
  bytes = 0;

  /** @param first - The first record that will be kept. */
  constructor(first: number) {
    this.first = first;
  }

  /** Milliseconds since 1970: the time of the oldest record; 0 when there is none. */
  get oldestMs(): number {
    return this.batchCount === 0 ? 0 : this.#batches.at(0).timeMs;
  }

  get batchCount(): number {
    return this.#batches.length;
  }

  /** Adds a batch. @param payload - Its records as encoded; valid only during this call. */
  keep(payload: Buffer, first: number, recordCount: number): void {
    const gapBytes = gapsIn(payload);
    const bytes = OFFSET_BYTES * recordCount + payload.length - gapBytes;
    const chunk = this.#chunkFor(bytes);
    const start = chunk.used;
    const records = start + OFFSET_BYTES * recordCount;
    if (gapBytes === 0) payload.copy(chunk.bytes, records);
    else copyMoves(payload, chunk.bytes, records);
    chunk.used += bytes;
    chunk.batches += 1;
    const timeMs = payload.readDoubleLE(TIME_AT);
    const isIndexed = false;
    this.#batches.push({ first, recordCount, timeMs, chunk, start, bytes, isIndexed });
    this.bytes += bytes + BATCH_BYTES;
  }

  #chunkFor(bytes: number): Chunk {
    const present = this.#chunk;
    if (present !== null && present.used + bytes <= present.bytes.length) return present;
    const idle = bytes <= CHUNK_BYTES ? this.#idle.pop() : undefined;
    this.#chunk = idle ?? this.#newChunk(Math.max(bytes, CHUNK_BYTES));
    return this.#chunk;
  }

  #newChunk(bytes: number): Chunk {
    this.chunkCount += 1;
    return { bytes: Buffer.allocUnsafeSlow(bytes), used: 0, batches: 0 };
  }

  #free(chunk: Chunk): void {
    chunk.used = 0;
    if (chunk !== this.#chunk && chunk.bytes.length === CHUNK_BYTES) this.#idle.push(chunk);
  }

  /** Drops the oldest batch. */
  drop(): void {
    const { bytes, first, recordCount, chunk } = this.#batches.at(0);
    this.bytes -= bytes + BATCH_BYTES;
    this.first = first + recordCount;
    this.#batches.drop(1);
    chunk.batches -= 1;
    if (chunk.batches === 0) this.#free(chunk);
  }

  /**
   * @param sequence - Of a move that is kept.
   * Cost: O(log batches + seats of the move); O(records of its batch) the first time.
   */
  at(sequence: number): { readonly timeMs: number; readonly record: MoveRecord } {
    const batch = this.#batchOf(sequence);
    if (!batch.isIndexed) indexBatch(batch);
    const { bytes } = batch.chunk;
    const start = bytes.readUInt32LE(batch.start + OFFSET_BYTES * (sequence - batch.first));
    const end = start + bytes.readUInt32LE(start);
    assert(end > start + GAP_BYTES, "only moves are read from the recent records");
    const { timeMs, record } = decodeRecord(bytes.subarray(start, end), sequence);
    return { timeMs, record: record as MoveRecord };
  }

  #batchOf(sequence: number): Batch {
    const batches = this.#batches;
    const after = lowerBound(batches.length, (i) => batches.at(i).first > sequence);
    assert(after > 0, "a recent record is in a batch");
    return batches.at(after - 1);
  }
}

/** @returns Bytes of a batch to be left out. */
function gapsIn(payload: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < payload.length;) {
    const recordBytes = payload.readUInt32LE(at);
    if (payload[at + TYPE_AT] !== RecordType.MOVE) bytes += recordBytes - GAP_BYTES;
    at += recordBytes;
  }
  return bytes;
}

/** Copies the moves of a batch, and of each other record only a length. */
function copyMoves(payload: Buffer, to: Buffer, start: number): void {
  let kept = start;
  for (let at = 0; at < payload.length;) {
    const end = at + payload.readUInt32LE(at);
    if (payload[at + TYPE_AT] === RecordType.MOVE) kept += payload.copy(to, kept, at, end);
    else kept = to.writeUInt32LE(GAP_BYTES, kept);
    at = end;
  }
}

/** Notes where each record of a batch begins. */
function indexBatch(batch: Batch): void {
  const { chunk, start, recordCount } = batch;
  let at = start + OFFSET_BYTES * recordCount;
  for (let i = 0; i < recordCount; i++) {
    chunk.bytes.writeUInt32LE(at, start + OFFSET_BYTES * i);
    at += chunk.bytes.readUInt32LE(at);
  }
  batch.isIndexed = true;
}
