/** Answers questions from the file of the audit trail, in slices. */
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type Moment,
  type PastSeats,
  type TrailExtent,
} from "../../../engine/queries/audit-trail.ts";
import { areaFacts, seatFacts } from "../../../engine/queries/place-facts.ts";
import { listSeats, type SeatQuery } from "../../../engine/queries/seat-listing.ts";
import type { SqlFile } from "../../disk/sqlite.ts";
import { lastBefore } from "../file.ts";
import { replyBody } from "../replies.ts";
import { changeColumns } from "./change-columns.ts";
import { changePage } from "./changes.ts";
import { type PastEvent, PastEvents } from "./past.ts";
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
