/** Answers questions from the file of the audit trail, in slices. */
import type { PriceRow } from "../../engine/catalog.ts";
import { Partition, unpricedSeats } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES } from "../../engine/inventory/states.ts";
import { buildLayout, type Layout } from "../../engine/layout/layout.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type Moment,
  type PastSeats,
  type TrailExtent,
} from "../../engine/queries/history.ts";
import {
  areaFacts,
  type ListedEvent,
  listSeats,
  seatFacts,
  type SeatQuery,
} from "../../engine/queries/seats.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";
import { type PlaceTable, tableAt } from "./block-file.ts";
import { readDocument } from "./catalog.ts";
import { changeColumns, changePage, lastChangeOf } from "./changes.ts";
import { lastBefore, replyBody } from "./file.ts";
import { keyOf } from "./rows.ts";
import { SLICE_ROWS, type Slices } from "./slices.ts";
import { transitionPage } from "./transitions.ts";

/** Past maps that are kept in memory, so the next page of one is cheap. */
export const KEPT_MAX = 4;

/** The newest event with the id. */
const OWNER = `SELECT partition, organizationId FROM events WHERE eventId = ?
  ORDER BY partition DESC, sequence DESC LIMIT 1`;

export class AuditAnswering {
  readonly #sql: SqlFile;
  readonly #sliceRows: number;
  readonly #events: PastEvents;
  /** By partition and sequence number; the least recently used first. */
  readonly #kept = new Map<string, PastEvent>();

  constructor(sql: SqlFile, sliceRows = SLICE_ROWS) {
    this.#sql = sql;
    this.#sliceRows = sliceRows;
    this.#events = new PastEvents(sql);
  }

  /** Past maps in memory. */
  get keptCount(): number {
    return this.#kept.size;
  }

  /** Cost: O(matching rows) for a page; O(seats of the event), once, for a past map. */
  *answer(
    question: AuditQuestion,
    extent: TrailExtent,
  ): Slices<AuditOutcome<AuditAnswers[AuditTopic]>> {
    if (question.about === "reply") {
      return { gap: null, value: replyBody(this.#sql, question.id), extent };
    }
    const found = this.#sql.row(OWNER, question.eventId);
    if (found === undefined) return { gap: AuditGap.NO_EVENT, extent };
    const partition = Number(found["partition"]);
    const organizationId = Number(found["organizationId"]);
    const source = { sql: this.#sql, partition, organizationId, extent };
    switch (question.about) {
      case "owner":
        return { gap: null, value: organizationId, extent };
      case "transitions":
        return outcomeOf(yield* transitionPage(this.#sliced(source), question.query), extent);
      case "changes":
        return outcomeOf(yield* changePage(this.#sliced(source), question), extent);
      case "columns": {
        const since = question.since ?? extent.firstSequence - 1;
        return outcomeOf(yield* changeColumns(this.#sliced(source), since), extent);
      }
      case "seats":
      case "areas":
        return yield* this.#past(question, partition, extent);
    }
    return question satisfies never;
  }

  #sliced<Source extends object>(source: Source): Source & { readonly sliceRows: number } {
    return { ...source, sliceRows: this.#sliceRows };
  }

  *#past(
    question: AuditQuestion<"seats" | "areas">,
    partition: number,
    extent: TrailExtent,
  ): Slices<AuditOutcome<AuditAnswers["seats" | "areas"]>> {
    const event = yield* this.#eventAt(partition, question.moment, extent);
    if (isGap(event)) return { gap: event, extent };
    const { partition: inventory, prices, sequence } = event;
    const value =
      question.about === "seats"
        ? pastSeats(event, question.query)
        : inventory.layout.areas.map((_, area) => areaFacts(inventory, prices, area));
    return { gap: null, value, extent, sequence };
  }

  *#eventAt(partition: number, moment: Moment, extent: TrailExtent): Slices<PastEvent | AuditGap> {
    const { firstSequence, firstTimeMs, lastSequence } = extent;
    let sequence: number;
    if ("sequence" in moment) {
      ({ sequence } = moment);
      if (sequence > lastSequence) return AuditGap.TOO_LATE;
    } else {
      if (moment.timeMs < firstTimeMs) return AuditGap.TOO_EARLY;
      const last = Math.min(lastBefore(this.#sql, moment.timeMs + 1), lastSequence);
      sequence = Math.max(last, firstSequence - 1);
    }
    if (sequence < firstSequence - 1) return AuditGap.TOO_EARLY;
    const key = `${partition} ${sequence}`;
    const event = this.#kept.get(key) ?? (yield* this.#build(partition, sequence));
    if (event === null) return AuditGap.NO_EVENT;
    this.#kept.delete(key);
    this.#kept.set(key, event);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
    return event;
  }

  #build(partition: number, sequence: number): Slices<PastEvent | null> {
    const layoutOf = (id: number) =>
      [...this.#kept.values()].find(({ layoutId }) => layoutId === id)?.partition.layout;
    return this.#events.at(partition, sequence, layoutOf);
  }
}

const GAPS: ReadonlySet<unknown> = new Set(Object.values(AuditGap));

function outcomeOf<Value>(value: Value | AuditGap, extent: TrailExtent): AuditOutcome<Value> {
  return isGap(value) ? { gap: value, extent } : { gap: null, value, extent };
}

function isGap(value: unknown): value is AuditGap {
  return GAPS.has(value);
}

function pastSeats(event: PastEvent, query: SeatQuery): PastSeats {
  const { seats, total } = listSeats(event, query);
  const facts = seats.map((seat) => seatFacts(event, seat));
  return { seats: facts, total, isOnSale: event.isOnSale };
}

// The inventory of an event as it was after a record, built from the audit trail.

/** Seats that one slice places. */
const SLICE_SEATS = 4_000;
/** From this many bytes of its document on, a layout is large: about 20,000 seats. */
const LARGE_BYTES = 2_000_000;
/** Maps that are built at a time, because each takes up memory. */
export const LARGE_MAX = 1;
export const SMALL_MAX = 10;

/** An event as it was, without its holds, which are not part of a map. */
interface PastEvent extends ListedEvent {
  readonly layoutId: number;
  /** The last record that had changed the event. */
  readonly sequence: number;
  /** Whether ACTIVE seats could be booked. */
  readonly isOnSale: boolean;
}

const VERSION = `SELECT * FROM events WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 1`;
const CREATED = "SELECT timeMs FROM events WHERE partition = ? ORDER BY sequence LIMIT 1";
const SWITCHED = `SELECT timeMs, isOn FROM switches
  WHERE owner = ? AND ownerId = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1`;
const PRICES = `SELECT *, max(sequence) FROM prices WHERE partition = ? AND sequence <= ?
  GROUP BY id`;
const LAYOUT_BYTES = "SELECT octet_length(document) AS bytes FROM layouts WHERE id = ?";
/** Builds past maps, so many at a time. */
class PastEvents {
  readonly #sql: SqlFile;
  #large = 0;
  #small = 0;

  constructor(sql: SqlFile) {
    this.#sql = sql;
  }

  /**
   * @param number - Of the partition. Cost: O(seats of the event, and rows since its last map).
   * @param layoutOf - Finds a layout that is in memory already.
   * @returns null when the event did not exist after the record.
   */
  *at(
    number: number,
    sequence: number,
    layoutOf: (id: number) => Layout | undefined,
  ): Slices<PastEvent | null> {
    const version = this.#sql.row(VERSION, number, sequence);
    if (version === undefined || version["status"] === null) return null;
    const layoutId = Number(version["layoutId"]);
    const bytes = Number(this.#sql.row(LAYOUT_BYTES, layoutId)?.["bytes"] ?? 0);
    const isLarge = bytes >= LARGE_BYTES;
    while (isLarge ? this.#large >= LARGE_MAX : this.#small >= SMALL_MAX) yield;
    if (isLarge) this.#large += 1;
    else this.#small += 1;
    try {
      const layout = layoutOf(layoutId) ?? buildLayout(readDocument(this.#sql, layoutId));
      yield;
      return yield* this.#build(layout, version, { number, sequence });
    } finally {
      if (isLarge) this.#large -= 1;
      else this.#small -= 1;
    }
  }

  *#build(
    layout: Layout,
    version: SqlRow,
    { number, sequence }: { readonly number: number; readonly sequence: number },
  ): Slices<PastEvent> {
    const sql = this.#sql;
    const createdAtMs = Number(sql.row(CREATED, number)?.["timeMs"]);
    const prices = new Map<number, PriceRow>();
    const slots = new Map<number, number>([[0, 0]]);
    for (const { id, slot, name } of sql.list(PRICES, number, sequence)) {
      if (name === null) continue;
      const eventId = String(version["eventId"]);
      const row = { id: Number(id), eventId, slot: Number(slot), name: name as string };
      prices.set(row.slot, { ...row, renamedAtMs: 0, externalId: null });
      slots.set(row.id, row.slot);
    }
    const table = yield* tableAt(sql, number, sequence, SLICE_ROWS);
    const columns = unpricedSeats(layout.seatCount, createdAtMs);
    const changed: number[] = [];
    for (const [seat, id] of layout.seatIds.entries()) {
      const slot = table.find(keyOf(id, false));
      if (slot !== undefined) {
        columns.state[seat] = table.state(slot)!;
        columns.price[seat] = slots.get(table.priceId(slot))!;
        columns.changedAtMs[seat] = table.timeMs(slot);
        changed.push(seat);
      }
      if (seat % SLICE_SEATS === SLICE_SEATS - 1) yield;
    }
    const partition = new Partition(layout, createdAtMs, columns);
    for (const [area, { id }] of layout.areas.entries()) {
      const slot = table.find(keyOf(id, true));
      if (slot === undefined) continue;
      partition.areas.price[area] = slots.get(table.priceId(slot))!;
      placeArea(partition, area, table, slot);
    }
    const { changedAtMs } = columns;
    // Seats that changed at the same time may come in any order.
    changed.sort((a, b) => changedAtMs[a]! - changedAtMs[b]!);
    for (const seat of changed) partition.changes.touch(seat);
    const published = sql.row(SWITCHED, "event", number, sequence);
    const enabled = sql.row(SWITCHED, "organization", Number(version["organizationId"]), sequence);
    const timesMs = [published, enabled].map((row) => Number(row?.["timeMs"] ?? 0));
    const isOnSale = version["status"] === "PUBLISHED" && enabled?.["isOn"] !== 0;
    const layoutId = Number(version["layoutId"]);
    const organizationId = Number(version["organizationId"]);
    const last = lastChangeOf({ sql, partition: number, organizationId }, sequence);
    const facts = { sequence: last, changedAtMs: Math.max(...timesMs), isOnSale };
    return { partition, prices, layoutId, ...facts };
  }
}

function placeArea({ areas }: Partition, area: number, table: PlaceTable, slot: number): void {
  areas.changedAtMs[area] = table.timeMs(slot);
  const counts = table.counts(slot);
  for (const [i, state] of BOOKING_STATES.entries()) areas.add(area, state, counts[i]!);
}
