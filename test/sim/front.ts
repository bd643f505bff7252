/**
 * Requests and answers as in the server's front: the idempotency key is looked up, the command is
 * decided, its reply is stored in the same turn, and the answer waits until it is on disk. Each
 * answer is compared with the model.
 */
import { createHash } from "node:crypto";
import type { StoredLayout } from "../../engine/catalog/schemas.ts";
import { NONE } from "../../engine/constants.ts";
import type { Outcome } from "../../engine/engine.ts";
import { Move } from "../../engine/inventory/states.ts";
import { RecordType } from "../../engine/records.ts";
import { Result } from "../../engine/results.ts";
import type { State } from "../../engine/state.ts";
import { checkState, digestPartition } from "../../engine/verify.ts";
import type { KeyedRequest } from "../../server/commands/decider.ts";
import {
  type Answer,
  FrontResult,
  jsonAnswer,
  layoutPutAnswer,
  type Problem,
  REPLIES,
} from "../../server/http/answers.ts";
import type { FirstOfKey } from "../../server/http/front.ts";
import type { BookingCommand } from "../support/commands/command-lines.ts";
import type { Life } from "./life.ts";
import { sameAnswer } from "./model/compare.ts";
import type { Model } from "./model/model.ts";
import type { Oracle } from "./model/oracle.ts";
import { budgetProblem, mayBeGone, unfairlyDropped } from "./model/replies.ts";
import { CommandSocket, saysSame } from "./socket.ts";
import { type Ask, ask, scopeOf, type Submit } from "./workload/ask.ts";

/** A request, with the idempotency key of its retries. */
export interface Keyed {
  readonly ask: Ask;
  readonly key: string | null;
}

/** Requests before an old one is asked again. */
const OLD_REQUESTS = 4;
const NOTHING: ReadonlySet<string> = new Set();
const OK_STATUS = 200;
/** A retry may get another answer. */
const CONFLICT_STATUS = 409;
const FAILURE_STATUS = 500;
/**
 * A longer body is kept as its digest. Segments are small here, and a full log has room only for a
 * reply fitting in its reserve, a quarter of a segment: 2 KiB of the smallest.
 */
const BODY_CHARS_MAX = 1024;

export class Front {
  readonly #life: Life;
  readonly #oracle: Oracle;
  readonly #isThorough: boolean;
  readonly #socket: CommandSocket;
  /** Requests with a stored reply, the oldest first. */
  readonly #old: { readonly ask: Ask; readonly key: string }[] = [];
  /** Requests waiting for the disk. */
  waiting = 0;

  constructor(life: Life, oracle: Oracle, isThorough: boolean) {
    this.#life = life;
    this.#oracle = oracle;
    this.#isThorough = isThorough;
    this.#socket = new CommandSocket(life.engine);
  }

  /** Calls back when the answer has been sent. */
  ask({ ask: asked, key }: Keyed, answered: () => void): void {
    const { idempotency } = this.#life;
    if (key === null) {
      if (this.#socket.takes(asked.command)) return this.#askOverSocket(asked, answered);
      this.#submit(asked);
      return this.#answer(null, answered);
    }
    const begun = idempotency.begin(keyedOf(asked, key));
    if ("fingerprint" in begun) {
      this.#askOldAgain();
      const outcome = this.#submit(asked);
      this.#keep(begun, asked, outcome);
      return this.#answer(begun, () => {
        if (this.#oracle.replyTo(begun.id) !== undefined) this.#old.push({ ask: asked, key });
        answered();
      });
    }
    this.#checkRepeated(idOf(asked, key), begun);
    this.#answer(null, answered);
  }

  #askOverSocket(asked: Ask, answered: () => void): void {
    const { tally } = this.#oracle;
    this.waiting += 1;
    this.#submit(asked, (command) =>
      this.#socket.submit(command as BookingCommand, (answer, decision) => {
        this.waiting -= 1;
        const isSame = saysSame(answer, decision);
        tally.holds("I9", isSame, () => `${JSON.stringify(answer)} over the command socket`);
        this.#oracle.answered(decision.seen);
        answered();
      }),
    );
    tally.count("a command came over the socket");
    this.#oracle.turnEnded();
  }

  /** A client asks once more for an answer it has had. */
  #askOldAgain(): void {
    if (this.#old.length < OLD_REQUESTS) return;
    const { ask: asked, key } = this.#old.shift()!;
    const { idempotency } = this.#life;
    const begun = idempotency.begin(keyedOf(asked, key));
    if ("fingerprint" in begun) idempotency.end(begun);
    else this.#checkRepeated(idOf(asked, key), begun);
  }

  #checkRepeated(id: string, begun: Answer | Problem | Promise<unknown>): void {
    if (begun instanceof Promise) throw new Error("no body is read from a trail here");
    const { tally } = this.#oracle;
    const reply = this.#oracle.replyTo(id);
    if ("status" in begun && "body" in begun) {
      const body = reply?.body;
      tally.holds("I13", begun.body === body, () => `${id}: ${String(begun.body)}, not ${body}`);
      tally.count("a reply was given again");
      return;
    }
    const { refused, detail } = begun;
    const isGone = refused === FrontResult.IDEMPOTENCY_REPLY_GONE && reply !== undefined;
    const mayBe = isGone && mayBeGone(this.#life.state, id, reply);
    tally.holds("I13", mayBe, () => `${id}: ${detail}`);
    tally.count("a reply was gone");
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

  /** @param sweep - The sweep of the store: ends expired holds in all events. */
  sweep(sweep: () => void): void {
    const { engine } = this.#life;
    const nowMs = engine.nowMs();
    sweep();
    this.#expire([...this.#oracle.model.events.keys()], nowMs);
    this.#oracle.turnEnded();
  }

  #submit(asked: Ask, submit?: Submit): Outcome<unknown> {
    const { engine } = this.#life;
    const { tally, model } = this.#oracle;
    const { command } = asked;
    const before = engine.sequence;
    const { outcome, nowMs, act } = ask(engine, asked, submit);
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

  #keep(first: FirstOfKey, asked: Ask, outcome: Outcome<unknown>): void {
    const { engine, idempotency, replies } = this.#life;
    const { tally } = this.#oracle;
    if (outcome.refused === Result.VALIDATION_FAILED) return;
    const answer = answerTo(asked, outcome, engine.state);
    const { status, layout } = answer;
    const body = String(answer.body);
    const before = engine.sequence;
    idempotency.store(first, answer);
    const isKept = engine.sequence > before;
    const isFinal = status !== CONFLICT_STATUS && status < FAILURE_STATUS;
    tally.holds("I13", isKept === isFinal, () => `${status} to ${first.id}`);
    if (!isKept) return;
    const { sequence } = engine;
    const row = engine.state.catalog.replies.get(first.id)!;
    const { expiresAtMs } = row;
    const lacksBody = row.body === null && row.bodyLength === undefined && layout === undefined;
    if (lacksBody) tally.count("the log had no space for a reply");
    this.#oracle.replied(first.id, { sequence, body, expiresAtMs, layout, lacksBody });
    const problem = budgetProblem(engine.state, replies.budget);
    tally.holds("I13", problem === null, () => problem!);
    const unfair = unfairlyDropped(engine.state, this.#oracle.replies);
    tally.holds("I13", unfair === null, () => `${unfair} was dropped before an older reply`);
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

function answerTo({ command }: Ask, outcome: Outcome<unknown>, { catalog }: State): Answer {
  const { refused } = outcome;
  if (refused !== Result.OK) return jsonAnswer(REPLIES[refused].status, bodyOf(outcome.detail));
  if (command.kind !== "putLayout") return jsonAnswer(OK_STATUS, bodyOf(outcome.value));
  const { inUse } = outcome.value as StoredLayout;
  return layoutPutAnswer(catalog.layouts.get(command.schemaId)!, inUse);
}

function bodyOf(content: unknown): string {
  const body = JSON.stringify(content);
  if (body.length <= BODY_CHARS_MAX) return body;
  return JSON.stringify(createHash("sha256").update(body).digest("hex"));
}

function idOf({ command: { caller } }: Ask, key: string): string {
  return `${caller.organizationId || `tenant-${caller.tenantId}`}:${key}`;
}

/** A fingerprint is the request itself. */
function keyedOf({ command }: Ask, idempotencyKey: string): KeyedRequest {
  const { caller, kind, ...rest } = command;
  return { caller, idempotencyKey, fingerprint: () => `${kind} ${JSON.stringify(rest)}` };
}
