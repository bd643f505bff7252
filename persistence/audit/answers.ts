/** Answers questions from the file of the audit trail. */
import { type SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type Moment,
  type PastSeats,
  type TrailExtent,
  type Transition,
  type TransitionPage,
  type TransitionQuery,
  type TransitionSort,
} from "../../engine/queries/audit-trail.ts";
import { areaFacts, seatFacts } from "../../engine/queries/place-facts.ts";
import { listSeats, type SeatQuery } from "../../engine/queries/seat-listing.ts";
import type { ActorKind } from "../../engine/records.ts";
import type { SqlFile, SqlRow, SqlValue } from "../disk/sqlite.ts";
import { ACTOR_NAMES, nameOf } from "./file.ts";
import { eventAt, type PastEvent } from "./past.ts";
import { replyBody } from "./replies.ts";

/** Past maps that are kept in memory, so the next page of one is cheap. */
const KEPT_MAX = 4;
/** Transitions that are sorted in memory, about 200 bytes each. */
const SORTED_MAX = 200_000;

type Answer = AuditAnswers[Exclude<AuditTopic, "reply">] | AuditGap;

export class AuditAnswering {
  readonly #sql: SqlFile;
  /** By partition and sequence number; the least recently used first. */
  readonly #kept = new Map<string, PastEvent>();

  constructor(sql: SqlFile) {
    this.#sql = sql;
  }

  /** Cost: O(matching rows) for a page; O(seats and rows of the event), once, for a past map. */
  answer(question: AuditQuestion, extent: TrailExtent): AuditOutcome<AuditAnswers[AuditTopic]> {
    if (question.about === "reply") {
      return { gap: null, value: replyBody(this.#sql, question.id), extent };
    }
    const found = this.#sql.row(OWNER, question.eventId);
    const partition = Number(found?.["partition"]);
    const value =
      found === undefined
        ? AuditGap.NO_EVENT
        : question.about === "owner"
          ? Number(found["organizationId"])
          : this.#answer(question, partition, extent);
    return isGap(value) ? { gap: value, extent } : { gap: null, value, extent };
  }

  #answer(
    question: AuditQuestion<"transitions" | "seats" | "areas">,
    partition: number,
    extent: TrailExtent,
  ): Answer {
    if (question.about === "transitions") {
      return this.#transitions(partition, question.query, extent);
    }
    const event = this.#eventAt(partition, question.moment, extent);
    if (isGap(event)) return event;
    if (question.about === "seats") return pastSeats(event, question.query);
    const { partition: inventory, prices } = event;
    return inventory.layout.areas.map((_, area) => areaFacts(inventory, prices, area));
  }

  #transitions(
    partition: number,
    query: TransitionQuery,
    { firstSequence, firstTimeMs }: TrailExtent,
  ): TransitionPage | AuditGap {
    const { toSequence = Infinity, toMs = Infinity } = query;
    if (toSequence < firstSequence || toMs < firstTimeMs) return AuditGap.TOO_EARLY;
    const { where, values } = this.#conditions(partition, query, firstSequence);
    const count = this.#sql.row(
      `SELECT count(*) AS total FROM transitions WHERE ${where}`,
      ...values,
    );
    const total = Number(count!["total"]);
    if (total > SORTED_MAX && !isInOrder(query)) return AuditGap.TOO_MANY;
    const order = orderOf(query);
    const rows = this.#sql.rows(
      `SELECT t.*, r.call, r.actorKind, r.actorId FROM
       (SELECT * FROM transitions t WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?) t
       JOIN records r ON r.sequence = t.sequence ORDER BY ${order}`,
      ...values,
      query.limit,
      query.offset,
    );
    return { transitions: Array.from(rows, transitionOf), total };
  }

  /** Times rise with sequence numbers, so a range of times becomes a range of sequence numbers. */
  #conditions(partition: number, query: TransitionQuery, firstSequence: number) {
    const { fromMs, toMs, fromSequence = 0, toSequence, seatId, areaId, session } = query;
    let first = Math.max(firstSequence, fromSequence);
    let last = toSequence ?? Number.MAX_SAFE_INTEGER;
    if (fromMs !== undefined) first = Math.max(first, this.#lastBefore(fromMs) + 1);
    if (toMs !== undefined) last = Math.min(last, this.#lastBefore(toMs + 1));
    const conditions: [string, SqlValue][] = [
      ["partition = ?", partition],
      ["sequence >= ?", first],
      ["sequence <= ?", last],
    ];
    if (seatId !== undefined) conditions.push(["placeId = ? AND places IS NULL", seatId]);
    if (areaId !== undefined) conditions.push(["placeId = ? AND places IS NOT NULL", areaId]);
    if (session !== undefined) conditions.push(["session <> '' AND session = ?", session]);
    const where = conditions.map(([condition]) => condition).join(" AND ");
    return { where, values: conditions.map(([, value]) => value) };
  }

  /** @returns The last record before the time, in milliseconds since 1970; 0 when there is none. */
  #lastBefore(timeMs: number): number {
    const last =
      "SELECT sequence FROM records WHERE timeMs < ? ORDER BY timeMs DESC, sequence DESC";
    return Number(this.#sql.row(`${last} LIMIT 1`, timeMs)?.["sequence"] ?? 0);
  }

  #eventAt(partition: number, moment: Moment, extent: TrailExtent): PastEvent | AuditGap {
    const { firstSequence, firstTimeMs, lastSequence } = extent;
    let sequence: number;
    if ("sequence" in moment) {
      ({ sequence } = moment);
      if (sequence > lastSequence) return AuditGap.TOO_LATE;
    } else {
      if (moment.timeMs < firstTimeMs) return AuditGap.TOO_EARLY;
      sequence = Math.max(this.#lastBefore(moment.timeMs + 1), firstSequence - 1);
    }
    if (sequence < firstSequence - 1) return AuditGap.TOO_EARLY;
    const key = `${partition} ${sequence}`;
    const event = this.#kept.get(key) ?? eventAt(this.#sql, partition, sequence);
    if (event === null) return AuditGap.NO_EVENT;
    this.#kept.delete(key);
    this.#kept.set(key, event);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
    return event;
  }
}

/** The newest event with the id. */
const OWNER = `SELECT partition, organizationId FROM events WHERE eventId = ?
  ORDER BY partition DESC, sequence DESC LIMIT 1`;

const ofRecord = (column: string) =>
  `(SELECT ${column} FROM records WHERE records.sequence = t.sequence)`;

/** What each property compares, as SQL. A missing value is NULL or empty, and comes first. */
const SORT_KEYS: Readonly<Record<TransitionSort, string>> = {
  sequence: "t.sequence",
  ordinal: "t.ordinal",
  time: "t.sequence",
  call: ofRecord("call"),
  actorType: nameOf(ACTOR_NAMES, ofRecord("actorKind")),
  actorId: ofRecord("actorId"),
  sessionId: "t.session",
  holdType: "t.holdType",
  holdSequence: "max(t.hold, 0)",
  seatId: "iif(t.places IS NULL, t.placeId, NULL)",
  groupOfSeatsId: "iif(t.places IS NULL, NULL, t.placeId)",
  capacity: "t.places",
  fromState: nameOf(STATE_NAMES, "t.fromState"),
  toState: nameOf(STATE_NAMES, "t.toState"),
  priceId: "t.priceId",
};

/** Times rise with sequence numbers. */
const IN_ORDER: ReadonlySet<TransitionSort> = new Set<TransitionSort>(["sequence", "time"]);

function isInOrder({ sort }: TransitionQuery): boolean {
  return sort.length === 0 || IN_ORDER.has(sort[0]!.property);
}

function orderOf({ sort }: TransitionQuery): string {
  const terms: string[] = [];
  for (const { property, descending } of sort) {
    const direction = descending ? " DESC" : "";
    if (IN_ORDER.has(property)) {
      return [...terms, `t.sequence${direction}`, `t.ordinal${direction}`].join(", ");
    }
    terms.push(SORT_KEYS[property] + direction);
  }
  return [...terms, "t.sequence", "t.ordinal"].join(", ");
}

const GAPS: ReadonlySet<unknown> = new Set(Object.values(AuditGap));

function isGap(value: unknown): value is AuditGap {
  return GAPS.has(value);
}

function pastSeats(event: PastEvent, query: SeatQuery): PastSeats {
  const { seats, total } = listSeats(event, query);
  const facts = seats.map((seat) => seatFacts(event, seat));
  return { seats: facts, total, isOnSale: event.isOnSale };
}

function transitionOf(row: SqlRow): Transition {
  const places = row["places"] as number | null;
  return {
    sequence: Number(row["sequence"]),
    ordinal: Number(row["ordinal"]),
    timeMs: Number(row["timeMs"]),
    call: String(row["call"]),
    actor: { kind: row["actorKind"] as ActorKind, id: Number(row["actorId"]) },
    session: String(row["session"]),
    holdType: String(row["holdType"]),
    placeId: Number(row["placeId"]),
    isArea: places !== null,
    from: row["fromState"] as SeatState | null,
    to: row["toState"] as SeatState | null,
    places,
    priceId: Number(row["priceId"]),
    hold: Number(row["hold"]),
  };
}
