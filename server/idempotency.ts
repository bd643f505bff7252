/**
 * `Idempotency-Key`: the first answer to a key of an organization is stored with the mutation and
 * repeated, byte for byte, for a day.
 *
 * Ordering: the reply is submitted in the same turn as the mutation that it answers. The log puts
 * all records of a turn into one frame, which is recovered whole or not at all. So neither is ever
 * on disk without the other.
 */
import { findReply } from "../engine/queries/lookups.ts";
import { Result } from "../engine/results.ts";
import type { Caller } from "../engine/shapes/caller.ts";
import type { Route } from "./routing/route.ts";
import type { Services } from "./routing/services.ts";
import { type Answer, jsonAnswer, type Problem } from "./wire/answers.ts";
import type { FirstOfKey, Request } from "./wire/front.ts";
import { FrontResult } from "./wire/replies.ts";

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Only a layout is longer, and putting a layout twice has the same effect as once. */
const REPLY_LENGTH_MAX = 16 * 1_024 * 1_024;

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

interface KeyedCaller {
  readonly caller: Caller;
  readonly idempotencyKey: string;
}

/** What a request asks for, besides its body. */
export function headOf({ method, path, query }: Request): string {
  return [method, path, query].join("\n");
}

export class Idempotency {
  readonly #services: Services;
  /** Keys whose first request has not been answered. */
  readonly #inFlight = new Set<string>();

  constructor(services: Services) {
    this.#services = services;
  }

  /** @returns The stored answer, a refusal, or the claim of the first request with the key. */
  begin(
    route: Route,
    request: Request,
    by: KeyedCaller,
    knownFingerprint: string | null = null,
  ): Answer | Problem | FirstOfKey {
    const { caller, idempotencyKey } = by;
    if (!KEY.test(idempotencyKey)) return BAD_KEY;
    const { engine, keys } = this.#services;
    const id = `${caller.organizationId || `tenant-${caller.tenantId}`}:${idempotencyKey}`;
    if (this.#inFlight.has(id)) return IN_PROGRESS;
    const fingerprint = knownFingerprint ?? keys.fingerprint(headOf(request), request.body);
    const isConfidential = route.isConfidential === true;
    const reply = findReply(engine.state, id, engine.nowMs());
    if (reply === null) {
      this.#inFlight.add(id);
      return { id, fingerprint, caller, isConfidential };
    }
    if (reply.fingerprint !== fingerprint) return REUSED;
    return jsonAnswer(reply.status, isConfidential ? keys.unseal(reply.body) : reply.body);
  }

  /**
   * Stores the answer, unless a retry may have a different result. On a nearly full disk the log
   * may have no space for a very long answer. Then the answer is not stored, but the change stands.
   */
  store({ id, fingerprint, caller, isConfidential }: FirstOfKey, answer: Answer): void {
    const { status } = answer;
    if (status === 409 || status === 429 || status >= 500) return;
    if (answer.body.length > REPLY_LENGTH_MAX) return;
    const { body: sent } = answer;
    const text = typeof sent === "string" ? sent : Buffer.from(sent).toString("utf8");
    const body = isConfidential ? this.#services.keys.seal(text) : text;
    const reply = { id, fingerprint, status, body };
    this.#services.engine.submitFollowUp({ kind: "rememberReply", caller, reply });
  }

  /** Call this when the request has been answered. */
  end({ id }: FirstOfKey): void {
    this.#inFlight.delete(id);
  }
}
