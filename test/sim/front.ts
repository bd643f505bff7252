/**
 * Requests and answers as in the server's front: the idempotency key is looked up, the command is
 * decided, its reply is stored in the same turn, and the answer waits until it is on disk. Each
 * answer is compared with the model.
 */
import { createHash } from "node:crypto";
import { NONE } from "../../engine/constants.ts";
import type { Outcome } from "../../engine/engine.ts";
import { Move } from "../../engine/inventory/states.ts";
import { RecordType } from "../../engine/records.ts";
import { Result } from "../../engine/results.ts";
import { checkState } from "../../engine/verify/check.ts";
import { digestPartition } from "../../engine/verify/digest.ts";
import type { Route } from "../../server/routing/route.ts";
import { jsonAnswer } from "../../server/wire/answers.ts";
import type { FirstOfKey, Request } from "../../server/wire/front.ts";
import { REPLIES } from "../../server/wire/replies.ts";
import type { Life } from "./life.ts";
import { sameAnswer } from "./model/compare.ts";
import type { Model } from "./model/model.ts";
import type { Oracle } from "./model/oracle.ts";
import { type Ask, ask, scopeOf } from "./workload/ask.ts";

/** A request, with the idempotency key of its retries. */
export interface Keyed {
  readonly ask: Ask;
  readonly key: string | null;
}

const ROUTE = { isConfidential: false } as Route;
const NOTHING: ReadonlySet<string> = new Set();
const OK_STATUS = 200;
/** A retry may get another answer. */
const CONFLICT_STATUS = 409;
const FAILURE_STATUS = 500;
/**
 * A longer body is kept as its digest. Segments are small here, and a full log has room only for a
 * reply that fits in its reserve, a quarter of a segment: 2 KiB of the smallest.
 */
const BODY_CHARS_MAX = 1024;

export class Front {
  readonly #life: Life;
  readonly #oracle: Oracle;
  readonly #isThorough: boolean;
  /** Requests that wait for the disk. */
  waiting = 0;

  constructor(life: Life, oracle: Oracle, isThorough: boolean) {
    this.#life = life;
    this.#oracle = oracle;
    this.#isThorough = isThorough;
  }

  /** Calls back when the answer has been sent. */
  ask({ ask: asked, key }: Keyed, answered: () => void): void {
    const { idempotency } = this.#life;
    if (key === null) {
      this.#submit(asked);
      return this.#answer(null, answered);
    }
    const begun = idempotency.begin(ROUTE, requestOf(asked), {
      caller: asked.command.caller,
      idempotencyKey: key,
    });
    if ("fingerprint" in begun) {
      const outcome = this.#submit(asked);
      this.#keep(begun, outcome);
      return this.#answer(begun, answered);
    }
    const { tally } = this.#oracle;
    const id = idOf(asked, key);
    if ("status" in begun && "body" in begun) {
      const body = this.#oracle.replyTo(id)?.body;
      tally.holds("I13", begun.body === body, () => `${id}: ${String(begun.body)}, not ${body}`);
      tally.count("a reply was given again");
    } else {
      tally.holds("I13", false, () => `${id}: ${begun.detail}`);
    }
    this.#answer(null, answered);
  }

  /** Reads the seats of an event; the answer waits until what it saw is on disk. */
  read(eventId: string, answered: () => void): void {
    const { engine } = this.#life;
    const event = engine.state.catalog.events.get(eventId);
    if (event !== undefined) {
      const nowMs = engine.nowMs();
      engine.expire(event);
      this.#expire([eventId], nowMs);
      digestPartition(engine.state.partitionOf(event));
    }
    this.#answer(null, answered);
  }

  /** @param sweep - The sweep of the store, which ends expired holds in all events. */
  sweep(sweep: () => void): void {
    const { engine } = this.#life;
    const nowMs = engine.nowMs();
    sweep();
    this.#expire([...this.#oracle.model.events.keys()], nowMs);
    this.#oracle.turnEnded();
  }

  #submit(asked: Ask): Outcome<unknown> {
    const { engine } = this.#life;
    const { tally, model } = this.#oracle;
    const { command } = asked;
    const before = engine.sequence;
    const { outcome, nowMs, act } = ask(engine, asked);
    const { refused } = outcome;
    tally.count(`asked: ${command.kind}`);
    if (refused === Result.OVERLOADED || refused === Result.LOG_UNAVAILABLE) {
      tally.count(
        refused === Result.OVERLOADED ? "refused: overloaded" : "refused: log unavailable",
      );
      this.#expectOnlyEnds(before, command.kind);
      this.#expire(scopeOf(model, command), nowMs);
      return outcome;
    }
    const isRefused = refused !== Result.OK;
    if (isRefused) this.#expectOnlyEnds(before, command.kind);
    if (asked.isForeign === true) {
      tally.holds("I14", isRefused, () => `${command.kind} ${JSON.stringify(command)}`);
    }
    const { expected } = act(model);
    if (expected !== undefined) {
      const problem = sameAnswer(outcome, expected);
      tally.holds("I9", problem === null, () => `${problem} after ${JSON.stringify(command)}`);
    }
    this.#oracle.acted(act);
    if (this.#isThorough) this.#compare();
    return outcome;
  }

  #compare(): void {
    this.#oracle.compare();
    checkState(this.#life.engine.state);
    this.#oracle.tally.count("I17");
  }

  /** Ends holds in the models, except those for whose end the log had no space. */
  #expire(eventIds: readonly string[], nowMs: number): void {
    const ends = eventIds.map((eventId) => ({ eventId, left: this.#dueHolds(eventId, nowMs) }));
    const act = (model: Model) => {
      for (const { eventId, left } of ends) model.expire(eventId, nowMs, left);
    };
    act(this.#oracle.model);
    this.#oracle.acted(act);
  }

  #dueHolds(eventId: string, nowMs: number): ReadonlySet<string> {
    const { state } = this.#life.engine;
    const { holds } = state.partitionOf(state.catalog.events.get(eventId)!);
    if (holds.due(nowMs) === NONE) return NOTHING;
    this.#oracle.tally.count("the end of a hold found no room");
    const all = holds.slots().map((slot) => holds.get(slot));
    const due = all.filter(({ expiresAtMs: at }) => at !== 0 && at <= nowMs);
    return new Set(due.map(({ session, expiresAtMs }) => `${session} ${expiresAtMs}`));
  }

  #expectOnlyEnds(before: number, what: string): void {
    const { tally } = this.#oracle;
    const ends = this.#oracle
      .recordsSince(before)
      .every((record) => record.type === RecordType.MOVE && record.move === Move.EXPIRE);
    tally.holds("I8", ends, () => `a refused ${what} wrote something`);
  }

  #keep(first: FirstOfKey, outcome: Outcome<unknown>): void {
    const { engine, idempotency } = this.#life;
    const { refused } = outcome;
    if (refused === Result.VALIDATION_FAILED) return;
    const status = refused === Result.OK ? OK_STATUS : REPLIES[refused].status;
    const body = bodyOf(refused === Result.OK ? outcome.value : outcome.detail);
    const before = engine.sequence;
    idempotency.store(first, jsonAnswer(status, body));
    const isKept = engine.sequence > before;
    const isFinal = status !== CONFLICT_STATUS && status < FAILURE_STATUS;
    this.#oracle.tally.holds("I13", isKept === isFinal, () => `${status} to ${first.id}`);
    if (!isKept) return;
    const reply = engine.state.catalog.replies.get(first.id)!;
    const { expiresAtMs } = reply;
    this.#oracle.replied(first.id, { sequence: engine.sequence, body, expiresAtMs });
  }

  #answer(first: FirstOfKey | null, answered: () => void): void {
    const { engine, idempotency } = this.#life;
    this.#oracle.turnEnded();
    const seen = engine.sequence;
    this.waiting += 1;
    engine.afterDurable(() => {
      this.waiting -= 1;
      if (first !== null) idempotency.end(first);
      this.#oracle.answered(seen);
      answered();
    });
  }
}

function bodyOf(content: unknown): string {
  const body = JSON.stringify(content);
  if (body.length <= BODY_CHARS_MAX) return body;
  return JSON.stringify(createHash("sha256").update(body).digest("hex"));
}

function idOf({ command: { caller } }: Ask, key: string): string {
  return `${caller.organizationId || `tenant-${caller.tenantId}`}:${key}`;
}

function requestOf({ command }: Ask): Request {
  const { caller: _, kind, ...rest } = command;
  return {
    method: "post",
    path: `/${kind}`,
    query: "",
    body: Buffer.from(JSON.stringify(rest)),
  } as unknown as Request;
}
