/** Answers questions about the past from the histories of events, in slices. */
import { keepRecent } from "../../engine/bounds.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type ChangeColumns,
  type ChangePage,
  type EventChange,
  type Moment,
  type OpenCount,
  type PastSeats,
  PLACES_PER_PAGE_MAX,
  placesOf,
  type TrailExtent,
  type Transition,
  type TransitionPage,
  type TransitionQuery,
} from "../../engine/queries/history.ts";
import {
  areaFacts,
  isOnSale,
  listedEvent,
  listSeats,
  seatFacts,
} from "../../engine/queries/seats.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { Archive, ArchivedEvent } from "./archive.ts";
import type { RowFilter } from "./block.ts";
import { type EventHistories, SLICE_MOVES, type Slices, type Span } from "./events.ts";
import { comparing, isInOrder } from "./order.ts";
import type { EventReplay } from "./replay.ts";
import type { Tail } from "./tail.ts";

/** Transitions read by a question, at most. */
export const READ_MAX = 20_000_000;
/** Transitions sorted in memory, about 200 bytes each. */
export const SORTED_MAX = 200_000;
/** Places of an answer in columns. A change is never split. */
export const COLUMN_PLACES_MAX = 50_000;
/** Past events kept in memory for their next page. */
export const KEPT_MAX = 4;
/** Past events built at a time, because each takes memory. */
export const BUILT_MAX = 4;

/** Matching rows of a span. */
interface Found {
  readonly span: Span;
  readonly count: number;
  readonly rowAt: (index: number) => number;
}

export class Answers {
  readonly #archive: Archive;
  readonly #histories: EventHistories;
  readonly #tail: Tail;
  /** By partition and sequence number; the least recently used first. */
  readonly #kept = new Map<string, EventReplay>();
  readonly #readMax: number;
  readonly #sortedMax: number;
  /** Past events under construction. */
  #building = 0;

  constructor(
    archive: Archive,
    histories: EventHistories,
    tail: Tail,
    { readMax = READ_MAX, sortedMax = SORTED_MAX } = {},
  ) {
    this.#readMax = readMax;
    this.#sortedMax = sortedMax;
    this.#archive = archive;
    this.#histories = histories;
    this.#tail = tail;
  }

  /** Past events in memory. */
  get keptCount(): number {
    return this.#kept.size;
  }

  get extent(): TrailExtent {
    return { ...this.#archive.extent, lastSequence: this.#histories.sequence };
  }

  /** Cost: O(transitions of the event, once), then O(those of the question). */
  *answer(question: AuditQuestion): Slices<AuditOutcome<AuditAnswers[AuditTopic]>> {
    const { extent } = this;
    if (question.about === "reply") return { gap: null, value: this.#replyOf(question.id), extent };
    if (question.about === "changed") {
      const value = yield* this.#histories.changedAfter(question.since);
      return { gap: null, value, extent };
    }
    const { eventId, partition } = question;
    const event =
      partition === undefined
        ? this.#histories.eventOf(eventId)
        : this.#histories.eventAt(partition);
    // The retention may have removed a part of a deleted event.
    const isGone = (event?.removed ?? Infinity) < extent.firstSequence;
    if (event === undefined || isGone) return { gap: AuditGap.NO_EVENT, extent };
    switch (question.about) {
      case "event":
        return { gap: null, value: event, extent };
      case "open":
        return { gap: null, value: yield* this.#openAfter(event, question.sequence), extent };
      case "owner":
        return { gap: null, value: event.organizationId, extent };
      case "transitions":
        return outcomeOf(yield* this.#transitions(event, question.query), extent);
      case "changes":
        return outcomeOf(yield* this.#changesAfter(event, question.since, question.limit), extent);
      case "columns": {
        const since = question.since ?? extent.firstSequence - 1;
        return outcomeOf(yield* this.#columns(event, since), extent);
      }
      case "seats":
      case "areas":
        return yield* this.#past(event, question);
    }
    return question satisfies never;
  }

  #replyOf(id: string): string | null {
    const known = this.#tail.replyOf(id);
    return known === undefined ? this.#archive.reply(id) : known;
  }

  *#transitions(event: ArchivedEvent, query: TransitionQuery): Slices<TransitionPage | AuditGap> {
    const { fromMs = 0, toMs = Infinity, fromSequence = 0, toSequence = Infinity } = query;
    const { firstSequence, firstTimeMs } = this.extent;
    if (toSequence < firstSequence || toMs < firstTimeMs) return AuditGap.TOO_EARLY;
    const filter = filterOf(query);
    if (filter === null) return { transitions: [], total: 0 };
    const isAll = filter.placeId === null && filter.session === null;
    const inOrder = isInOrder(query);
    const first = Math.max(fromSequence, firstSequence);
    const found: Found[] = [];
    let [total, read, work] = [0, 0, 0];
    for (const span of this.#histories.spansOf(event)) {
      if (span.end < first || span.after >= toSequence) continue;
      const block = yield* this.#histories.block(event, span);
      const start = Math.max(block.recordFrom(first), block.recordAt(fromMs));
      const end = Math.min(block.recordFrom(toSequence + 1), block.recordAt(toMs + 1));
      if (start >= end) continue;
      const [from, to] = [block.rowsFrom(start), block.rowsFrom(end)];
      const rows = isAll ? null : block.matching(from, to, filter);
      const count = rows?.length ?? to - from;
      found.push({ span, count, rowAt: rows === null ? (i) => from + i : (i) => rows[i]! });
      total += count;
      read += to - from;
      if (!inOrder && total > this.#sortedMax) return AuditGap.TOO_MANY;
      if (read > this.#readMax) return AuditGap.TOO_LONG;
      work += to - from;
      if (work > SLICE_MOVES) yield;
      work %= SLICE_MOVES;
    }
    const page = inOrder ? windowOf(found, query) : found.map((one) => ({ ...one, skipped: 0 }));
    const transitions: Transition[] = [];
    for (const { span, rowAt, count, skipped } of page) {
      const block = yield* this.#histories.block(event, span);
      for (let i = skipped; i < skipped + count; i++) {
        const row = rowAt(i);
        transitions.push(block.transition(block.recordOf(row), row));
      }
    }
    if (inOrder) return { transitions, total };
    transitions.sort(comparing(query));
    return { transitions: transitions.slice(query.offset, query.offset + query.limit), total };
  }

  /** @returns The changes after a record; at most `limit`, and no more places than a page has. */
  *#changesAfter(
    event: ArchivedEvent,
    since: number,
    limit: number,
  ): Slices<ChangePage | AuditGap> {
    const gap = this.#gapBefore(since);
    if (gap !== null) return gap;
    const changes: EventChange[] = [];
    const max = { places: PLACES_PER_PAGE_MAX, changes: limit };
    const hasMore = yield* this.#eachChange(event, since, max, (change) => changes.push(change));
    return { changes, hasMore };
  }

  *#columns(event: ArchivedEvent, since: number): Slices<ChangeColumns | AuditGap> {
    const gap = this.#gapBefore(since);
    if (gap !== null) return gap;
    const columns = emptyColumns();
    const max = { places: COLUMN_PLACES_MAX, changes: Infinity };
    const hasMore = yield* this.#eachChange(event, since, max, (change) => addTo(columns, change));
    return { ...columns, hasMore };
  }

  /** @returns Null when all changes after the record are known. */
  #gapBefore(since: number): AuditGap | null {
    const { firstSequence, lastSequence } = this.extent;
    if (since < firstSequence - 1) return AuditGap.TOO_EARLY;
    return since > lastSequence ? AuditGap.TOO_LATE : null;
  }

  /** Adds the changes after a record, up to a maximum. @returns True when there are more. */
  *#eachChange(
    event: ArchivedEvent,
    since: number,
    max: { readonly places: number; readonly changes: number },
    add: (change: EventChange) => void,
  ): Slices<boolean> {
    let [places, changes] = [0, 0];
    for (const span of this.#histories.spansOf(event)) {
      if (span.end <= since) continue;
      const block = yield* this.#histories.block(event, span);
      for (let i = block.recordFrom(since + 1); i < block.recordCount; i++) {
        if (changes >= max.changes || places >= max.places) return true;
        const change = block.change(i);
        add(change);
        changes += 1;
        places += placesOf(change);
        if (places % SLICE_MOVES < placesOf(change)) yield;
      }
    }
    return false;
  }

  *#past(
    event: ArchivedEvent,
    question: AuditQuestion<"seats" | "areas">,
  ): Slices<AuditOutcome<AuditAnswers["seats" | "areas"]>> {
    const { extent } = this;
    const replay = yield* this.#eventAt(event, question.moment);
    if (typeof replay === "string") return { gap: replay, extent };
    const { state, last } = replay;
    const row = replay.event;
    if (row === undefined) return { gap: AuditGap.NO_EVENT, extent };
    const listed = listedEvent(state, row);
    if (question.about === "areas") {
      const { partition, prices } = listed;
      const value = partition.layout.areas.map((_, area) => areaFacts(partition, prices, area));
      return { gap: null, value, extent, sequence: last };
    }
    const { seats, total } = listSeats(listed, question.query);
    const facts = seats.map((seat) => seatFacts(listed, seat));
    const value: PastSeats = { seats: facts, total, isOnSale: isOnSale(state, row) };
    return { gap: null, value, extent, sequence: last };
  }

  *#eventAt(event: ArchivedEvent, moment: Moment): Slices<EventReplay | AuditGap> {
    const { firstSequence, firstTimeMs, lastSequence } = this.extent;
    let sequence: number;
    if ("sequence" in moment) {
      ({ sequence } = moment);
      if (sequence > lastSequence) return AuditGap.TOO_LATE;
    } else {
      if (moment.timeMs < firstTimeMs) return AuditGap.TOO_EARLY;
      const last = yield* this.#lastAt(event, moment.timeMs);
      sequence = Math.max(last, firstSequence - 1);
    }
    if (sequence < firstSequence - 1) return AuditGap.TOO_EARLY;
    const key = `${event.partition} ${sequence}`;
    const replay = this.#kept.get(key) ?? (yield* this.#build(event, sequence));
    return keepRecent(this.#kept, key, replay, KEPT_MAX);
  }

  /**
   * The event is not kept: webhooks count after ever other records, and would evict the past events
   * that people look at. Cost: O(places, and moves since an image).
   */
  *#openAfter(event: ArchivedEvent, sequence: number): Slices<OpenCount> {
    const { state, event: row } = yield* this.#build(event, sequence);
    const areas = new Map<number, number>();
    if (row === undefined) return { seats: 0, areas };
    const { ACTIVE, LOCKED } = SeatState;
    const { layout, areas: places, seatsIn } = state.partitionOf(row);
    for (const [area, { id }] of layout.areas.entries()) {
      areas.set(id, places.places(area, ACTIVE) + places.places(area, LOCKED));
    }
    return { seats: seatsIn[ACTIVE]! + seatsIn[LOCKED]!, areas };
  }

  /** @returns The event after a record. */
  *#build(event: ArchivedEvent, sequence: number): Slices<EventReplay> {
    const spans = this.#histories.spansOf(event);
    const span = spans.findLast(({ after }) => after <= sequence) ?? spans[0]!;
    while (this.#building >= BUILT_MAX) yield;
    this.#building += 1;
    try {
      return yield* this.#histories.at(event, span, sequence);
    } finally {
      this.#building -= 1;
    }
  }

  /** @returns The event's last record up to a time; the one before its first for none. */
  *#lastAt(event: ArchivedEvent, timeMs: number): Slices<number> {
    for (const span of this.#histories.spansOf(event).toReversed()) {
      const block = yield* this.#histories.block(event, span);
      const record = block.recordAt(timeMs + 1);
      if (record > 0) return block.sequenceOf(record - 1);
    }
    return event.created - 1;
  }
}

function outcomeOf<Value>(value: Value | AuditGap, extent: TrailExtent): AuditOutcome<Value> {
  if (typeof value === "string") return { gap: value as AuditGap, extent };
  return { gap: null, value, extent };
}

/** @returns null when nothing can match. */
function filterOf({ seatId, areaId, session }: TransitionQuery): RowFilter | null {
  if (session === "" || (seatId !== undefined && areaId !== undefined)) return null;
  const placeId = seatId ?? areaId ?? null;
  return { placeId, isArea: areaId !== undefined, session: session ?? null };
}

/** @returns The rows of the page, in the order of the records or its reverse. */
function windowOf(found: readonly Found[], { offset, limit, sort }: TransitionQuery) {
  const isReversed = sort[0]?.descending === true;
  const page: (Found & { readonly skipped: number })[] = [];
  let [skip, left] = [offset, limit];
  for (const { span, count, rowAt } of isReversed ? found.toReversed() : found) {
    const skipped = Math.min(skip, count);
    const taken = Math.min(left, count - skipped);
    skip -= skipped;
    left -= taken;
    const inOrder = isReversed ? (i: number) => rowAt(count - 1 - i) : rowAt;
    if (taken > 0) page.push({ span, count: taken, rowAt: inOrder, skipped });
  }
  return page;
}

type Lists = { [Name in keyof Omit<ChangeColumns, "hasMore">]: ChangeColumns[Name][number][] };

function emptyColumns(): Lists {
  const ofChanges = { sequences: [], timesMs: [], calls: [], seatCounts: [], areaCounts: [] };
  return { ...ofChanges, seatIds: [], states: [], priceIds: [], areas: [] };
}

function addTo(columns: Lists, { sequence, timeMs, call, seats, areas }: EventChange): void {
  columns.sequences.push(sequence);
  columns.timesMs.push(timeMs);
  columns.calls.push(call);
  columns.seatCounts.push(seats.length);
  columns.areaCounts.push(areas.length);
  for (const { id, state, priceId } of seats) {
    columns.seatIds.push(id);
    columns.states.push(state ?? 0);
    columns.priceIds.push(priceId ?? 0);
  }
  for (const area of areas) columns.areas.push(area);
}
