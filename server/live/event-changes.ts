/**
 * The changes of an event after a record: recent ones from memory, older ones from the audit trail.
 * A client does not see where one ends and the other begins.
 */
import type { EventRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import {
  AuditGap,
  type AuditOutcome,
  type WaitingClient,
} from "../../engine/queries/audit-trail.ts";
import type { ChangePage, EventChange } from "../../engine/queries/event-change.ts";
import { Result } from "../../engine/results.ts";
import type { AuditTrail } from "../routing/services.ts";
import type { Problem } from "../wire/answers.ts";
import { FrontResult } from "../wire/replies.ts";
import { Turns } from "./quota.ts";

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
  /** As `page`, up to a record and to the end of a block of changes, so that many can share it. */
  block(event: EventRow, since: number, until: number): readonly EventChange[] | null;
  /** Calls back when changes of an event have come to disk. @returns Ends it. */
  watch(partition: number, onChanged: () => void): () => void;
  /** Memory that the changes take. */
  readonly bytes: number;
  /** Milliseconds since 1970: the time of the oldest change; 0 when there is none. */
  readonly oldestMs: number;
}

/** Who asks, and for what. */
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
  readonly #turns = new Turns(TRAIL_READS_MAX, null);
  readonly #turnsOfAll = new Turns(ALL_TRAIL_READS_MAX, null);

  constructor(engine: Engine, audit: AuditTrail, recent: RecentSource) {
    this.#engine = engine;
    this.#audit = audit;
    this.recent = recent;
  }

  /** @param client - Whose question to the trail is dropped when it has gone. */
  page(asked: Asked, client?: WaitingClient): ChangePage | Promise<ChangePage | Problem> {
    return this.#recentPage(asked) ?? this.#trailed(asked, client);
  }

  /**
   * As `page`, for a client that follows the event. After a restart very many of them come at once:
   * they take turns, so that none is refused.
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
    const readAmongAll = () => this.#turnsOfAll.run("all", read, client);
    const page = await this.#turns.run(asked.asker, readAmongAll, client);
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
        detail: "The audit trail cannot be read just now.",
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
    sequence,
  };
}
