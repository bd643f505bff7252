/**
 * `Idempotency-Key`: the first answer to a key of an organization is stored with the mutation and
 * repeated, byte for byte, for a day. A long body is repeated from the audit trail, and a layout
 * from the layout itself. Where that is no longer possible, a retry is refused: it never has an
 * effect of its own.
 *
 * Ordering: the reply is submitted in the same turn as the mutation that it answers. The log puts
 * all records of a turn into one frame, which is recovered whole or not at all. So neither is ever
 * on disk without the other.
 */
import { askerOf, AuditGap } from "../engine/queries/audit-trail.ts";
import { findReply } from "../engine/queries/lookups.ts";
import { isRefused, Result } from "../engine/results.ts";
import type { ReplyBody } from "../engine/shapes/bodies.ts";
import type { Caller } from "../engine/shapes/caller.ts";
import { BODY_IN_MEMORY_MAX, ownerOf, type ReplyRow } from "../engine/stored-replies.ts";
import type { KeyedRequest, KeyedRequests, Services } from "./routing/services.ts";
import { type Answer, jsonAnswer, layoutAnswer, type Problem } from "./wire/answers.ts";
import type { FirstOfKey, Request } from "./wire/front.ts";
import { FrontResult } from "./wire/replies.ts";

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Characters. Only a layout is longer, and it is not kept as a text. */
const BODY_LENGTH_MAX = 4 * 1_024 * 1_024;

const BAD_KEY: Problem = {
  refused: Result.VALIDATION_FAILED,
  detail: "The Idempotency-Key is not valid.",
  errors: [
    {
      field: "Idempotency-Key",
      code: "SIZE",
      message: "must have 1 to 255 printable ASCII characters",
      rejectedValue: null,
    },
  ],
};

const IN_PROGRESS: Problem = {
  refused: FrontResult.IDEMPOTENCY_IN_PROGRESS,
  detail: "The first request with this Idempotency-Key has not been answered yet.",
};

const REUSED: Problem = {
  refused: FrontResult.IDEMPOTENCY_KEY_REUSED,
  detail: "This Idempotency-Key came with another request before.",
};

const GONE: Problem = {
  refused: FrontResult.IDEMPOTENCY_REPLY_GONE,
  detail:
    "The request with this Idempotency-Key was carried out before, but its answer is not kept.",
};

const TOO_MANY_KEYS: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "Too many Idempotency-Keys were used in the last day.",
  headers: [["Retry-After", "60"]],
};

const BUSY: Problem = {
  refused: Result.OVERLOADED,
  detail: "The stored answer cannot be read at present; try again.",
};

/** What a request asks for, besides its body. */
export function headOf({ method, path, query }: Request): string {
  return [method, path, query].join("\n");
}

export class Idempotency implements KeyedRequests {
  readonly #services: Services;
  /** Keys whose first request has not been answered. */
  readonly #inFlight = new Set<string>();

  constructor(services: Services) {
    this.#services = services;
  }

  /** @returns The stored answer, a refusal, or the claim of the first request with the key. */
  begin(keyed: KeyedRequest): Answer | Problem | FirstOfKey | Promise<Answer | Problem> {
    const { caller, idempotencyKey, isConfidential = false, waits = false } = keyed;
    if (!KEY.test(idempotencyKey)) return BAD_KEY;
    const { engine } = this.#services;
    const id = `${askerOf(caller)}:${idempotencyKey}`;
    const isInFlight = this.#inFlight.has(id);
    if (isInFlight && !waits) return IN_PROGRESS;
    const fingerprint = keyed.fingerprint();
    const reply = findReply(engine.state, id, engine.nowMs());
    if (reply === null) {
      if (isInFlight) return IN_PROGRESS;
      if (!this.#hasRoom(ownerOf(id), caller)) return TOO_MANY_KEYS;
      this.#inFlight.add(id);
      return { id, fingerprint, caller, isConfidential };
    }
    return reply.fingerprint === fingerprint ? this.#repeat(reply, isConfidential) : REUSED;
  }

  /**
   * Stores the answer, unless a retry may have a different result. One that is too long, or for
   * which a nearly full disk has no space, is stored without its body.
   */
  store({ id, fingerprint, caller, isConfidential }: FirstOfKey, answer: Answer): void {
    const { status, layout, stored } = answer;
    if (status === 409 || status === 429 || status >= 500) return;
    const facts = { id, fingerprint, status };
    if (layout !== undefined) {
      this.#remember(caller, { ...facts, body: null, layout });
      return;
    }
    const text = stored ?? String(answer.body);
    const body = isConfidential ? this.#services.keys.seal(text) : text;
    if (body.length <= BODY_LENGTH_MAX && this.#remember(caller, { ...facts, body })) {
      if (body.length > BODY_IN_MEMORY_MAX) this.#services.replies.add(id, body);
    } else {
      this.#remember(caller, { ...facts, body: null });
    }
  }

  #remember(caller: Caller, reply: ReplyBody): boolean {
    const { engine, replies } = this.#services;
    const { budget } = replies;
    return !isRefused(engine.submitFollowUp({ kind: "rememberReply", caller, reply, budget }));
  }

  /** Whether one more reply may be stored: the mutation must not happen without it. */
  #hasRoom(owner: string, caller: Caller): boolean {
    const { engine, replies } = this.#services;
    const { storedReplies } = engine.state.catalog;
    if (storedReplies.hasRoom(owner, replies.budget)) return true;
    engine.submit({ kind: "forgetReplies", caller });
    const hasRoom = storedReplies.hasRoom(owner, replies.budget);
    if (!hasRoom) replies.refused += 1;
    return hasRoom;
  }

  #repeat(reply: ReplyRow, isConfidential: boolean): Answer | Problem | Promise<Answer | Problem> {
    const { engine, replies } = this.#services;
    const { id, body, bodyLength, layout } = reply;
    if (body !== null) return this.#show(reply, body, isConfidential);
    if (layout !== undefined) {
      const { schemaId, version } = layout;
      const rowNow = () => engine.state.catalog.layouts.get(schemaId);
      const isSame = () => rowNow()?.version === version;
      if (!isSame()) return this.#gone();
      const { layouts } = this.#services;
      if (!layouts.isLarge(schemaId)) return layoutAnswer(schemaId, rowNow());
      // It may have changed while it waited for its turn.
      return layouts.show(schemaId).then((shown) => (isSame() ? shown : this.#gone()));
    }
    if (bodyLength === undefined) return this.#gone();
    const recent = replies.find(id);
    if (recent !== undefined) return this.#show(reply, recent, isConfidential);
    return this.#read(reply, isConfidential);
  }

  async #read(reply: ReplyRow, isConfidential: boolean): Promise<Answer | Problem> {
    const { id } = reply;
    const { audit } = this.#services;
    const { gap, ...found } = await audit.ask({ about: "reply", id }, ownerOf(id));
    if (gap === AuditGap.BUSY || gap === AuditGap.UNAVAILABLE) return BUSY;
    const body = "value" in found ? found.value : null;
    return body === null ? this.#gone() : this.#show(reply, body, isConfidential);
  }

  #show({ status }: ReplyRow, body: string, isConfidential: boolean): Answer {
    return jsonAnswer(status, isConfidential ? this.#services.keys.unseal(body) : body);
  }

  #gone(): Problem {
    this.#services.replies.gone += 1;
    return GONE;
  }

  /** Call this when the request has been answered. */
  end({ id }: FirstOfKey): void {
    this.#inFlight.delete(id);
  }
}
