/**
 * The recent changes of all events. Moves are kept as the log encoded them, and become changes when
 * somebody asks; of other records, what later ones would hide is kept from the state.
 *
 * Ordering: `beforeApply` comes before a record is applied, `keep` when its batch is on disk, then
 * `durable`. A change is shown when its record is on disk.
 */
import { type CatalogCall, changedEvents } from "../../engine/apply.ts";
import { assert } from "../../engine/assert.ts";
import type { EventRow } from "../../engine/catalog.ts";
import { Move, MOVES, SeatState } from "../../engine/inventory/states.ts";
import type { Observer } from "../../engine/ports.ts";
import {
  byId,
  type ChangePage,
  type EventChange,
  PLACES_PER_PAGE_MAX,
  placesOf,
} from "../../engine/queries/history.ts";
import {
  type CatalogRecord,
  type LogRecord,
  type MoveRecord,
  RecordType,
} from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { decodeRecords } from "../log/codec.ts";
import {
  areasAfter,
  type Captured,
  eventAt,
  EventChain,
  layoutChange,
  type Made,
  type Places,
  placesAfter,
  type Priced,
  pricedBy,
  pricedWith,
  type PriceIds,
  priceIdsOf,
  switchesOf,
  versionsOf,
} from "./event-chain.ts";

/** Memory for recent changes; the oldest are dropped. Older ones are in the audit trail. */
export const RECENT_BYTES_MAX = 32 * 1024 * 1024;
/** What a chain keeps of a record, in bytes, at least. */
const CAPTURED_BYTES = 450;
/** Changes of a block. */
export const BLOCK_CHANGES = 512;
/** Chains that are trimmed for each batch that is dropped. */
const TRIMMED_PER_BATCH = 8;
/** Changes of these carry the hold type of the record. */
const TYPED: ReadonlySet<Move> = new Set([Move.LOCK, Move.EXPIRE, Move.DIRECT_SALE]);

/** Something that is kept until its record is dropped. */
interface Droppable {
  readonly sequence: number;
  readonly bytes: number;
  readonly drop: () => void;
}

/** A change, and the memory that it takes. */
interface Kept {
  readonly read: (eventId: string) => Captured;
  readonly bytes: number;
}

const NO_PLACES: Places = { seats: [], areas: [] };

export class RecentChanges implements Observer {
  readonly #bytesMax: number;
  #state: State | null = null;
  #moves = new RecentMoves(1);
  #durable = 0;
  /** By partition number: events with recent changes, and those that are watched. */
  readonly #chains = new Map<number, EventChain>();
  #trimming: Iterator<EventChain> | null = null;
  /** The oldest first; those before `#keptHead` were dropped. */
  #kept: Droppable[] = [];
  #keptHead = 0;
  #keptBytes = 0;
  /** Reads what the last record has changed, once it is applied. */
  #complete: (() => void) | null = null;
  /** Watched events with changes that are not on disk yet, or that nobody was told of. */
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
    return this.#moves.bytes + this.#keptBytes;
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
    this.#completeNow();
    const chain = this.#chains.get(partition);
    if (chain === undefined) {
      return since >= (this.#state!.sequences.get(partition) ?? 0) ? undefined : null;
    }
    chain.trim(this.#moves.first);
    return since < chain.before ? null : chain;
  }

  /** @returns The changes of consecutive records, unless they are of too many seats. */
  #changesOf({ id, partition }: EventRow, since: number, sequences: readonly number[]) {
    const changes: EventChange[] = [];
    if (sequences.length === 0) return changes;
    const chain = this.#chains.get(partition)!;
    let previous = chain.lastUpTo(since);
    let places = 0;
    for (const sequence of sequences) {
      if (places >= PLACES_PER_PAGE_MAX) break;
      const change = { sequence, previous, ...this.#factsOf(chain, id, sequence) };
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
    const chain = this.#chainOf(partition);
    chain.watchers.add(onChanged);
    // Changes that were decided before this call may not be on disk yet.
    if (chain.last > this.#durable) this.#touch(chain);
    return () => void chain.watchers.delete(onChanged);
  }

  beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    this.#completeNow();
    if (record.type === RecordType.CATALOG) return this.#beforeCatalog(sequence, timeMs, record);
    const chain = this.#add(record.partition, sequence);
    if (record.type === RecordType.PRICE) {
      this.#endEra(chain, sequence, null);
      const at = { sequence, timeMs, call: "prices", status: null, bookable: null } as const;
      this.#capturePrices(chain, at, pricedBy(record));
    } else if (record.areas.length > 0) {
      const areas = areasAfter(this.#state!.partitionAt(record.partition), record);
      const read = (eventId: string) => ({ ...this.#movedBy(chain, eventId, sequence), areas });
      this.#capture(chain, sequence, { read, bytes: 0 });
    }
  }

  /** A batch of the log is on disk. @param payload - As in `RecentMoves`. */
  keep(payload: Buffer, first: number, recordCount: number): void {
    this.#moves.keep(payload, first, recordCount);
    while (this.bytes > this.#bytesMax && this.#moves.batchCount > 1) this.#dropBatch();
  }

  durable(sequence: number): void {
    this.#completeNow();
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

  #completeNow(): void {
    const complete = this.#complete;
    this.#complete = null;
    complete?.();
  }

  #chainOf(partition: number): EventChain {
    let chain = this.#chains.get(partition);
    if (chain === undefined) {
      const before = this.#state!.sequences.get(partition) ?? 0;
      this.#chains.set(partition, (chain = new EventChain(partition, before)));
    }
    return chain;
  }

  #add(partition: number, sequence: number): EventChain {
    const chain = this.#chainOf(partition);
    chain.add(sequence);
    if (chain.watchers.size > 0) this.#touch(chain);
    return chain;
  }

  #touch(chain: EventChain): void {
    if (chain.isDirty) return;
    chain.isDirty = true;
    chain.shown = chain.lastUpTo(this.#durable);
    this.#dirty.push(chain);
  }

  #capture(chain: EventChain, sequence: number, { read, bytes }: Kept): void {
    chain.captured.set(sequence, read);
    this.#keepUntilDropped(sequence, bytes, () => void chain.captured.delete(sequence));
  }

  #keepUntilDropped(sequence: number, ownBytes: number, drop: () => void): void {
    const bytes = ownBytes + CAPTURED_BYTES;
    this.#kept.push({ sequence, bytes, drop });
    this.#keptBytes += bytes;
  }

  /**
   * Prices of seats, or the layout, are about to change: keeps what earlier moves refer to.
   *
   * @param priceIds - By slot, when the record removes prices.
   * @param isOver - Whether the present partition stays as it is, and another one takes its place:
   * a hundred events may follow a layout, and copies of all would stop everybody.
   */
  #endEra(chain: EventChain, sequence: number, priceIds: PriceIds | null, isOver = false): void {
    const partition = this.#state!.partitions.peek(chain.partition);
    const hasMoves = chain.lastUpTo(sequence - 1) > chain.eraStart;
    const isReferred = hasMoves || (priceIds !== null && chain.eras.length > 0);
    chain.eraStart = sequence;
    if (!isReferred || partition === undefined) return;
    const { seatIds } = partition.layout;
    const price = isOver ? partition.price : partition.price.slice();
    chain.eras.push({ until: sequence, seatIds, price, priceIds });
    const bytes = 10 * price.length + 50 * (priceIds?.size ?? 0);
    this.#keepUntilDropped(sequence, bytes, () => void chain.eras.shift());
  }

  /** Reads what the record changes when it is applied. */
  #captureLater(chain: EventChain, at: At, read: () => Made): void {
    const earlier = this.#complete;
    this.#complete = () => {
      earlier?.();
      const { places, bytes } = read();
      this.#capture(chain, at.sequence, { read: () => changeOf(at, places()), bytes });
    };
  }

  #capturePrices(chain: EventChain, at: At, priced: Priced): void {
    const state = this.#state!;
    this.#captureLater(chain, at, () =>
      placesAfter(state, eventAt(state, chain.partition), priced),
    );
  }

  #beforeCatalog(sequence: number, timeMs: number, record: CatalogRecord): void {
    const state = this.#state!;
    for (const [partition, call] of changedEvents(state, record)) {
      const chain = this.#add(partition, sequence);
      const versions = versionsOf(state, partition, record);
      const at = { sequence, timeMs, call, ...switchesOf(state, record, versions, call) };
      const { before, after } = versions;
      const from = state.partitions.layoutOf(partition);
      const isMoved = call === "layout" || from !== state.layoutOf(after.schemaId);
      if (call === "deleteprice") {
        const slots = removedSlots(state, before!, record);
        const priced = pricedWith(state.partitionAt(partition), slots);
        this.#endEra(chain, sequence, priceIdsOf(state, after.id));
        this.#capturePrices(chain, at, priced);
      } else if (before !== undefined && (call === "layout" || call === "event") && isMoved) {
        this.#endEra(chain, sequence, null, true);
        const moved = () => layoutChange(from!, state.partitions.layoutOf(partition)!);
        this.#captureLater(chain, at, moved);
      } else {
        if (call === "deleteevent")
          this.#endEra(chain, sequence, priceIdsOf(state, after.id), true);
        this.#capture(chain, sequence, { read: () => changeOf(at, NO_PLACES), bytes: 0 });
      }
    }
  }

  #dropBatch(): void {
    this.#moves.drop();
    const { first } = this.#moves;
    while (this.#keptHead < this.#kept.length && this.#kept[this.#keptHead]!.sequence < first) {
      const { bytes, drop } = this.#kept[this.#keptHead]!;
      drop();
      this.#keptBytes -= bytes;
      this.#keptHead += 1;
    }
    if (this.#keptHead * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#keptHead);
      this.#keptHead = 0;
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
      const isIdle = chain.isEmpty && chain.watchers.size === 0 && chain.eras.length === 0;
      if (isIdle && !chain.isDirty) this.#chains.delete(chain.partition);
    }
  }

  #factsOf(chain: EventChain, eventId: string, sequence: number): Captured {
    const read = chain.captured.get(sequence);
    return read === undefined ? this.#movedBy(chain, eventId, sequence) : read(eventId);
  }

  /** What a move of seats changed. Cost: O(its seats). */
  #movedBy(chain: EventChain, eventId: string, sequence: number): Captured {
    const { timeMs, record } = this.#moves.at(sequence);
    const { move, session, seats } = record;
    const { name: call, to } = MOVES[move];
    const era = chain.eraOf(sequence);
    const present = era === chain.eras.length ? this.#state!.partitionAt(chain.partition) : null;
    const { seatIds } = present?.layout ?? chain.eras[era]!;
    const { price } = present ?? chain.eras[era]!;
    const priceIds = chain.priceIdsFrom(era);
    const prices = this.#state!.catalog.pricesOf(eventId);
    const expiresAtMs = to === SeatState.LOCKED ? record.expiresAtMs || null : null;
    const after = Array.from(seats, (seat) => {
      const slot = price[seat]!;
      const priceId = priceIds === null ? prices.get(slot)?.id : priceIds.get(slot);
      return { id: seatIds[seat]!, state: to, priceId: priceId ?? null, expiresAtMs };
    });
    const holdType = TYPED.has(move) ? record.holdType : "";
    const places = { seats: after.sort(byId), areas: [] };
    return { timeMs, call, session, holdType, ...places, status: null, bookable: null };
  }
}

/** What is shown of a record beside seats and areas. */
type At = Pick<Captured, "timeMs" | "status" | "bookable"> & {
  readonly sequence: number;
  readonly call: CatalogCall;
};

function changeOf({ timeMs, call, status, bookable }: At, places: Places): Captured {
  return { timeMs, call, session: "", holdType: "", ...places, status, bookable };
}

function removedSlots({ catalog }: State, event: EventRow, { removes }: CatalogRecord) {
  const slots = new Set<number>();
  for (const { table, key } of removes) {
    const price = table === "prices" ? catalog.prices.get(Number(key)) : undefined;
    if (price?.eventId === event.id) slots.add(price.slot);
  }
  return slots;
}

// The newest moves on disk, as the log encoded them: a batch costs one copy of its bytes, and a
// record is decoded only when somebody asks for it.

/** Offsets of the fields in the head of a record. */
const TYPE_AT = 4;
const TIME_AT = 8;
/** In place of an offset, for a record that is not a move. */
const NOT_KEPT = 0xffffffff;
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
  /** In the chunk: the offsets of its records, each as four bytes, then the records. */
  readonly offsets: number;
  readonly moves: number;
  readonly bytes: number;
}

export class RecentMoves {
  #batches: Batch[] = [];
  /** Batches before it were dropped. */
  #head = 0;
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
    return this.#batches[this.#head]?.timeMs ?? 0;
  }

  get batchCount(): number {
    return this.#batches.length - this.#head;
  }

  /** Adds a batch. @param payload - Its records as encoded; valid only during this call. */
  keep(payload: Buffer, first: number, recordCount: number): void {
    const offsetBytes = OFFSET_BYTES * recordCount;
    const bytes = offsetBytes + movesIn(payload);
    const chunk = this.#chunkFor(bytes);
    const offsets = chunk.used;
    const moves = offsets + offsetBytes;
    const hasOnlyMoves = bytes - offsetBytes === payload.length;
    if (hasOnlyMoves) payload.copy(chunk.bytes, moves);
    let kept = 0;
    for (let i = 0, at = 0; i < recordCount; i++) {
      const recordBytes = payload.readUInt32LE(at);
      const isMove = payload[at + TYPE_AT] === RecordType.MOVE;
      chunk.bytes.writeUInt32LE(isMove ? kept : NOT_KEPT, offsets + OFFSET_BYTES * i);
      if (isMove) {
        if (!hasOnlyMoves) payload.copy(chunk.bytes, moves + kept, at, at + recordBytes);
        kept += recordBytes;
      }
      at += recordBytes;
    }
    assert(offsetBytes + kept === bytes, "every move of a batch is kept");
    chunk.used += bytes;
    chunk.batches += 1;
    const timeMs = payload.readDoubleLE(TIME_AT);
    this.#batches.push({ first, recordCount, timeMs, chunk, offsets, moves, bytes });
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
    const { bytes, first, recordCount, chunk } = this.#batches[this.#head]!;
    this.bytes -= bytes + BATCH_BYTES;
    this.first = first + recordCount;
    this.#head += 1;
    chunk.batches -= 1;
    if (chunk.batches === 0) this.#free(chunk);
    if (this.#head * 2 < this.#batches.length) return;
    this.#batches = this.#batches.slice(this.#head);
    this.#head = 0;
  }

  /** @param sequence - Of a move that is kept. Cost: O(log batches + seats of the move). */
  at(sequence: number): { readonly timeMs: number; readonly record: MoveRecord } {
    const { first, chunk, offsets, moves } = this.#batchOf(sequence);
    const offset = chunk.bytes.readUInt32LE(offsets + OFFSET_BYTES * (sequence - first));
    assert(offset !== NOT_KEPT, "only moves are read from the recent records");
    const start = moves + offset;
    const end = start + chunk.bytes.readUInt32LE(start);
    let found: { timeMs: number; record: MoveRecord } | null = null;
    decodeRecords(chunk.bytes.subarray(start, end), sequence, 1, (_, timeMs, record) => {
      found = { timeMs, record: record as MoveRecord };
    });
    return found!;
  }

  #batchOf(sequence: number): Batch {
    let [low, high] = [this.#head, this.#batches.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#batches[middle]!.first <= sequence) low = middle;
      else high = middle - 1;
    }
    const batch = this.#batches[low]!;
    assert(sequence >= batch.first, "a recent record is in a batch");
    return batch;
  }
}

function movesIn(payload: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < payload.length;) {
    const recordBytes = payload.readUInt32LE(at);
    if (payload[at + TYPE_AT] === RecordType.MOVE) bytes += recordBytes;
    at += recordBytes;
  }
  return bytes;
}
