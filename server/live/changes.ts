/**
 * The changes of an event after a record: recent ones from memory, older ones from the audit trail.
 * A client does not see where one ends and the other begins.
 */
import type { MessagePort } from "node:worker_threads";
import type { EventRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type ChangePage,
  type EventChange,
  placesOf,
  type SeatAfter,
  type WaitingClient,
} from "../../engine/queries/history.ts";
import { Result } from "../../engine/results.ts";
import { inSlices } from "../api/overload.ts";
import { type Answer, answer, FrontResult, jsonBytes, type Problem } from "../http/answers.ts";
import { changeView, seatView } from "./change-view.ts";

/** The audit trail, wherever it is kept. */
export interface AuditTrail {
  /**
   * Answers from everything on disk at the time of the call. Never rejects.
   * @param asker - As by `askerOf`.
   * @param client - Its question is dropped when it has gone.
   */
  ask<K extends AuditTopic>(
    question: AuditQuestion<K>,
    asker: string,
    client?: WaitingClient,
  ): Promise<AuditOutcome<AuditAnswers[K]>>;
  /** @returns A port on which another thread asks; absent without a thread of the trail. */
  connect?(): MessagePort;
}

/** Reads of the trail for the followers of one organization; others wait for their turn. */
export const TRAIL_READS_MAX = 16;
/** Of all organizations: other questions to the trail need room too. */
export const ALL_TRAIL_READS_MAX = 256;

/** Recent changes in memory, wherever they are kept. */
export interface RecentSource {
  /** The last record on disk. */
  readonly durableSequence: number;
  /** The last record of an event on disk. */
  lastOf(partition: number): number;
  /** Null when not all changes after `since` are in memory. */
  page(event: EventRow, since: number, limit: number): ChangePage | null;
  /** As `page`, up to a record and the end of a block of changes, for many to share. */
  block(event: EventRow, since: number, until: number): readonly EventChange[] | null;
  /** Calls back when changes of an event have come to disk. @returns Ends it. */
  watch(partition: number, onChanged: () => void): () => void;
  /** Memory of the changes. */
  readonly bytes: number;
  /** Milliseconds since 1970: the time of the oldest change; 0 when there is none. */
  readonly oldestMs: number;
}

export interface Asked {
  readonly eventId: string;
  readonly since: number;
  readonly limit: number;
  /** As by `askerOf`. */
  readonly asker: string;
}

export class EventChanges {
  readonly recent: RecentSource;
  readonly #engine: Engine;
  readonly #audit: AuditTrail;
  readonly #ofAsker = new TenantSemaphore(TRAIL_READS_MAX, null);
  readonly #ofAll = new TenantSemaphore(ALL_TRAIL_READS_MAX, null);

  constructor(engine: Engine, audit: AuditTrail, recent: RecentSource) {
    this.#engine = engine;
    this.#audit = audit;
    this.recent = recent;
  }

  /** @param client - Its question to the trail is dropped when it has gone. */
  page(asked: Asked, client?: WaitingClient): ChangePage | Promise<ChangePage | Problem> {
    return this.#recentPage(asked) ?? this.#trailed(asked, client);
  }

  /**
   * As `page`, for a follower. After a restart very many come at once: they take turns, and none is
   * refused.
   */
  pageInTurn(asked: Asked, client: WaitingClient): ChangePage | Promise<ChangePage | Problem> {
    return this.#recentPage(asked) ?? this.#trailedInTurn(asked, client);
  }

  #recentPage(asked: Asked): ChangePage | null {
    const { eventId, since, limit } = asked;
    const event = this.#engine.state.catalog.events.get(eventId);
    if (event === undefined || since > this.recent.durableSequence) return null;
    return this.recent.page(event, since, limit);
  }

  async #trailedInTurn(asked: Asked, client: WaitingClient): Promise<ChangePage | Problem> {
    const read = () => this.#trailed(asked, client);
    const readAmongAll = () => this.#ofAll.run("all", read, client);
    const page = await this.#ofAsker.run(asked.asker, readAmongAll, client);
    return page ?? refuseGap({ gap: AuditGap.UNAVAILABLE, extent: null }, asked.since);
  }

  async #trailed(asked: Asked, client?: WaitingClient): Promise<ChangePage | Problem> {
    const { eventId, since, limit, asker } = asked;
    const question = { about: "changes", eventId, since, limit } as const;
    const outcome = await this.#audit.ask(question, asker, client);
    return outcome.gap === null ? outcome.value : refuseGap(outcome, since);
  }
}

type Missing = Exclude<AuditOutcome<never>, { readonly gap: null }>;

function refuseGap({ gap, extent }: Missing, since: number): Problem {
  switch (gap) {
    case AuditGap.DAMAGED:
      return {
        refused: FrontResult.HISTORY_GONE,
        detail: "This part of the audit trail is damaged. Read the map, and go on from there.",
      };
    case AuditGap.TOO_EARLY:
    case AuditGap.TOO_LATE:
      return historyGone(since, extent?.firstSequence ?? 1);
    case AuditGap.NO_EVENT:
      return { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such event." };
    case AuditGap.BUSY:
      return { refused: Result.OVERLOADED, detail: "Too many questions wait; try again." };
    case AuditGap.TOO_MANY:
    case AuditGap.TOO_LONG:
    case AuditGap.UNAVAILABLE:
      return {
        refused: Result.LOG_UNAVAILABLE,
        detail: "The audit trail cannot be read just now: try again shortly.",
      };
  }
  return gap satisfies never;
}

/** @param first - The first record whose changes are kept. */
function historyGone(rejectedValue: number, first: number): Problem {
  const sequence = first - 1;
  const message = `must be ${sequence} or greater, and not after the last record`;
  return {
    refused: FrontResult.HISTORY_GONE,
    detail: `Changes after ${rejectedValue} are not kept, or there is no such record yet.`,
    errors: [{ field: "since", code: "RANGE", message, rejectedValue }],
    members: { sequence },
  };
}

// A page of changes as an answer. A change may be of every seat of a large layout.

/** A page of so many seats and areas is written at once, and longer ones in such pieces. */
const PLACES_PER_PIECE = 1_000;

/** @param owner - Of its long work. */
export function changesPage(
  { changes, hasMore: more }: ChangePage,
  since: number,
  owner: number,
): Answer | Promise<Answer> {
  const sequence = changes.at(-1)?.sequence ?? since;
  const places = changes.reduce((total, change) => total + placesOf(change), 0);
  if (places <= PLACES_PER_PIECE) {
    const views = changes.map((change) => changeView(change, false));
    return answer(200, { sequence, more, changes: views });
  }
  return inSlices(longPage({ sequence, more }, changes), owner);
}

function* longPage(facts: object, changes: readonly EventChange[]): Generator<void, Answer> {
  const pieces: Buffer[] = [Buffer.from(`${openEnd(facts)}"changes":[`)];
  let comma = "";
  for (const change of changes) {
    const { seats: _seats, ...rest } = changeView({ ...change, seats: [] }, false);
    pieces.push(Buffer.from(`${comma}${openEnd(rest)}"seats":[`));
    yield* addSeats(pieces, change.seats);
    pieces.push(Buffer.from("]}"));
    comma = ",";
    yield;
  }
  pieces.push(Buffer.from("]}"));
  return jsonBytes(200, Buffer.concat(pieces));
}

function* addSeats(pieces: Buffer[], seats: readonly SeatAfter[]): Generator<void, void> {
  for (let start = 0; start < seats.length; start += PLACES_PER_PIECE) {
    const views = seats.slice(start, start + PLACES_PER_PIECE).map(seatView);
    const comma = start === 0 ? "" : ",";
    pieces.push(Buffer.from(comma + JSON.stringify(views).slice(1, -1)));
    yield;
  }
}

/** @returns The JSON of a non-empty object, open for another member. */
function openEnd(value: object): string {
  return `${JSON.stringify(value).slice(0, -1)},`;
}

// Turns of organizations.

/** Work under way, and work that waits. */
interface Line {
  running: number;
  /** In their order. */
  readonly waiting: Set<() => void>;
}

/**
 * Limits concurrent work of each tenant; more of it waits. Long work loses its turn, but goes on.
 */
export class TenantSemaphore {
  readonly #max: number;
  readonly #turnMs: number | null;
  /** By organization, or by another name of those who share the turns. */
  readonly #lines = new Map<number | string, Line>();

  /** @param turnMs - Null when the work always ends by itself. */
  constructor(max: number, turnMs: number | null) {
    this.#max = max;
    this.#turnMs = turnMs;
  }

  /**
   * @param client - Loses its place in the line when it has gone.
   * @returns The result of `work`; null when the client has gone before its turn.
   */
  async run<Value>(
    name: number | string,
    work: () => Promise<Value>,
    client: WaitingClient = { onGone: null },
  ): Promise<Value | null> {
    const line = this.#lineOf(name);
    if (line.running < this.#max) line.running += 1;
    else if (!(await waitIn(line, client))) return null;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#next(name, line);
    };
    const timer = this.#turnMs === null ? undefined : setTimeout(end, this.#turnMs).unref();
    try {
      return await work();
    } finally {
      end();
    }
  }

  #lineOf(name: number | string): Line {
    let line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, (line = { running: 0, waiting: new Set() }));
    return line;
  }

  #next(name: number | string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
      return;
    }
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(name);
  }
}

/** @returns False when the client has gone. */
function waitIn({ waiting }: Line, client: WaitingClient): Promise<boolean> {
  return new Promise((resolve) => {
    const begin = () => {
      client.onGone = null;
      resolve(true);
    };
    waiting.add(begin);
    client.onGone = () => {
      client.onGone = null;
      waiting.delete(begin);
      resolve(false);
    };
  });
}
