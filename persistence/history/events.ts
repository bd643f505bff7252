/**
 * The history of single events: what the archive and the tail have of one, in order, and its
 * transitions in blocks of which the last used stay in memory.
 */
import { inflateSync } from "node:zlib";
import { keepRecent } from "../../engine/bounds.ts";
import type { LayoutDocument } from "../../engine/layout/document.ts";
import { buildLayout, type Layout } from "../../engine/layout/layout.ts";
import type { TimedRecord } from "../../engine/queries/effect.ts";
import {
  type Archive,
  type ArchivedEvent,
  type ChunkHead,
  unlessDamaged,
  type Version,
  type VersionKind,
} from "./archive.ts";
import { Block } from "./block.ts";
import { movesIn, recordsIn } from "./columns.ts";
import { type EffectReport, EventReplay, type Versions } from "./replay.ts";
import type { Tail } from "./tail.ts";

/** Records and transitions of one slice: a few milliseconds. */
export const SLICE_MOVES = 20_000;
/** Event rows of a slice. */
const EVENTS_PER_SLICE = 1_000;
/** Memory of the kept blocks. */
export const BLOCK_BYTES_MAX = 96 * 1024 * 1024;
/** Kept layouts. */
export const LAYOUTS_MAX = 8;

/** Work in slices, one for each `yield`. */
export type Slices<Value> = Generator<void, Value, void>;

/** Records of an event from an image on, or from its creation on. */
export interface Span {
  /** Its first record comes after this one. */
  readonly after: number;
  /** Its last record is at or before this one. Infinity for the open span, with the tail. */
  readonly end: number;
  readonly chunks: readonly ChunkHead[];
}

interface KeptBlock {
  readonly block: Block;
  /** Continues an open span; null for any other. */
  readonly replay: EventReplay | null;
  /** As counted. */
  readonly bytes: number;
}

export class EventHistories implements Versions {
  readonly #archive: Archive;
  readonly #tail: Tail;
  /** By partition and span; the least recently used first. */
  readonly #blocks = new Map<string, KeptBlock>();
  #blockBytes = 0;
  /** By schema and version; the least recently used first. */
  readonly #layouts = new Map<string, Layout>();
  readonly #blockBytesMax: number;
  readonly #sliceMoves: number;

  constructor(
    archive: Archive,
    tail: Tail,
    { blockBytesMax = BLOCK_BYTES_MAX, sliceMoves = SLICE_MOVES } = {},
  ) {
    this.#blockBytesMax = blockBytesMax;
    this.#sliceMoves = sliceMoves;
    this.#archive = archive;
    this.#tail = tail;
  }

  /** Memory of the kept blocks, and the number of kept layouts. */
  get memory(): { readonly blockBytes: number; readonly layouts: number } {
    return { blockBytes: this.#blockBytes, layouts: this.#layouts.size };
  }

  get sequence(): number {
    return this.#tail.sequence;
  }

  /** The newest event with the id. */
  eventOf(eventId: string): ArchivedEvent | undefined {
    return this.#tail.eventOf(eventId) ?? this.#archive.eventOf(eventId);
  }

  /** @throws Malformed when its row is damaged. */
  eventAt(partition: number): ArchivedEvent | undefined {
    return this.#tail.eventAt(partition) ?? this.#archive.eventAt(partition);
  }

  /** Every event, in the order of creation, also deleted ones. @throws As `eventAt`. */
  allEvents(): ArchivedEvent[] {
    const archived = Array.from(
      this.#archive.allEvents(),
      (event) => [event.partition, event] as const,
    );
    const events = new Map([...archived, ...this.#tail.changedEvents]);
    return [...events.values()].sort((a, b) => a.partition - b.partition);
  }

  /** @returns Events with changes after a record. Cost: O(their number; events, after a layout). */
  *changedAfter(since: number): Slices<ArchivedEvent[]> {
    const partitions = new Set(this.#archive.changedAfter(since));
    for (const partition of this.#tail.changedAfter(since)) partitions.add(partition);
    for (const kind of ["layout", "switch"] as const) {
      const owners = new Set(this.#archive.ownersAfter(kind, since));
      for (const owner of this.#tail.ownersAfter(kind, since)) owners.add(owner);
      if (owners.size === 0) continue;
      for (const event of this.#tail.events) {
        const owner = kind === "layout" ? event.schemaId : event.organizationId;
        if (owners.has(owner)) partitions.add(event.partition);
      }
    }
    const changed: ArchivedEvent[] = [];
    for (const partition of partitions) {
      const event = unlessDamaged(() => this.eventAt(partition));
      if (event !== null && event !== undefined) changed.push(event);
      if (changed.length % EVENTS_PER_SLICE === 0) yield;
    }
    return changed;
  }

  versionAt(kind: VersionKind, owner: number, sequence: number): Version | undefined {
    const found = this.#tail.versions(kind, owner).findLast((one) => one.sequence <= sequence);
    return found ?? this.#archive.versionAt(kind, owner, sequence);
  }

  versionAfter(kind: VersionKind, owner: number, sequence: number): Version | undefined {
    const found = this.#archive.versionAfter(kind, owner, sequence);
    return found ?? this.#tail.versions(kind, owner).find((one) => one.sequence > sequence);
  }

  layoutAt(schemaId: number, sequence: number): Layout | undefined {
    const version = this.versionAt("layout", schemaId, sequence);
    if (version === undefined || version.body === null) return undefined;
    const key = `${schemaId} ${version.sequence}`;
    const layout = this.#layouts.get(key) ?? buildLayout(documentOf(version.body));
    return keepRecent(this.#layouts, key, layout, LAYOUTS_MAX);
  }

  /** The spans of an event, in order; the last one is open. */
  spansOf({ partition, created }: ArchivedEvent): readonly Span[] {
    const spans: Span[] = [];
    let after = created - 1;
    let chunks: ChunkHead[] = [];
    for (const chunk of this.#archive.chunksOf(partition)) {
      if (chunk.hasImage && chunks.length > 0) {
        const end = chunks.at(-1)!.last;
        spans.push({ after, end, chunks });
        chunks = [];
        after = end;
      }
      chunks.push(chunk);
    }
    spans.push({ after, end: Infinity, chunks });
    return spans;
  }

  /** @returns The transitions of a span. Cost: O(its transitions) unless they are in memory. */
  *block(event: ArchivedEvent, span: Span): Slices<Block> {
    const key = `${event.partition} ${span.after}`;
    const kept = this.#blocks.get(key);
    const isWhole = kept !== undefined && (kept.replay?.sequence ?? Infinity) >= this.sequence;
    this.#forget(key);
    if (isWhole) {
      this.#keep(key, kept);
      return kept.block;
    }
    const replay = kept?.replay ?? this.#begin(event, span);
    const block = kept?.block ?? new Block(replay.last);
    let start = block.rowCount;
    let work = 0;
    const report: EffectReport = {
      onMove: block.addMove.bind(block),
      onEffect: (record, effect) => {
        block.add(record, start, effect);
        work += 1 + block.rowCount - start;
        start = block.rowCount;
      },
    };
    for (const record of this.recordsOf(event.partition, span, replay.sequence)) {
      replay.apply(record, report);
      if (work < this.#sliceMoves) continue;
      work = 0;
      yield;
    }
    replay.advance(Math.min(span.end, this.sequence), report);
    this.#keep(key, { block, replay: span.end === Infinity ? replay : null, bytes: block.bytes });
    return block;
  }

  /** @returns The event after a record of the span. Cost: O(seats, and transitions before it). */
  *at(event: ArchivedEvent, span: Span, sequence: number): Slices<EventReplay> {
    const replay = this.#begin(event, span);
    let work = 0;
    for (const record of this.recordsOf(event.partition, span, replay.sequence)) {
      if (record.sequence > sequence) break;
      replay.apply(record);
      work += movesIn(record);
      if (work < this.#sliceMoves) continue;
      work = 0;
      yield;
    }
    replay.advance(sequence);
    return replay;
  }

  /** @returns The event at the beginning of a span. */
  #begin(event: ArchivedEvent, { chunks: [first] }: Span): EventReplay {
    if (first?.hasImage !== true) return EventReplay.before(event, this);
    const { image } = this.#archive.chunk(event.partition, first.first);
    return EventReplay.from(image!, event, this);
  }

  /** @returns The records of a span after `after`. Cost: O(bytes of the chunks that have any). */
  *recordsOf(partition: number, { chunks, end }: Span, after: number): Generator<TimedRecord> {
    let reached = after;
    for (const { first, last } of chunks) {
      if (last <= reached) continue;
      const { records } = this.#archive.chunk(partition, first);
      for (const record of recordsIn(records, partition)) {
        if (record.sequence <= reached) continue;
        reached = record.sequence;
        yield record;
      }
    }
    if (end === Infinity) yield* this.#tail.recordsOf(partition, reached);
  }

  /** To be called when the chunks of an event have changed. */
  forget(partition: number): void {
    for (const key of this.#blocks.keys()) {
      if (key.startsWith(`${partition} `)) this.#forget(key);
    }
  }

  #keep(key: string, kept: KeptBlock): void {
    this.#forget(key);
    this.#blocks.set(key, kept);
    this.#blockBytes += kept.bytes;
    for (const oldest of this.#blocks.keys()) {
      if (this.#blockBytes <= this.#blockBytesMax || this.#blocks.size === 1) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const kept = this.#blocks.get(key);
    if (kept === undefined) return;
    this.#blocks.delete(key);
    this.#blockBytes -= kept.bytes;
  }
}

function documentOf(body: Buffer): LayoutDocument {
  return JSON.parse(inflateSync(body).toString()) as LayoutDocument;
}
