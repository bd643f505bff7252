/**
 * Books on one event: lock, unlock and sale. A request that the server certainly has not executed
 * is sent again after a pause. If the server may have executed it, the outcome is `unknown`, and
 * the buyer must find out.
 */
import type { Booking } from "../basket.ts";
import type { Ledger } from "../books/ledger.ts";
import {
  API_PATH,
  type RefusalCode,
  type RefusedObject,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_TOO_MANY_REQUESTS,
} from "../contract.ts";
import { parseProblem, unexpectedAnswer } from "../http/errors.ts";
import type { RetryPolicy } from "../http/retry-policy.ts";
import type { Answer, HttpRequest, Transport } from "../http/transport.ts";
import type { BookingCall, Statistics } from "../statistics.ts";

/** First byte of the answer `true`, the only body that the three calls send with status 200. */
const TRUE_FIRST_BYTE = "t".charCodeAt(0);

/** The outcome of a lock, an unlock or a sale. */
export type Outcome = { readonly kind: "done" } | { readonly kind: "unknown" } | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly errorCode: RefusalCode;
  readonly objects: readonly RefusedObject[];
}

const DONE: Outcome = { kind: "done" };

/** What the bookings of a run share. */
export interface Services {
  readonly transport: Pick<Transport, "send">;
  readonly retryPolicy: RetryPolicy;
  readonly statistics: Statistics;
  readonly ledger: Ledger | undefined;
}

export class BookingClient {
  readonly #services: Services;
  readonly #eventId: string;

  constructor(services: Services, eventId: string) {
    this.#services = services;
    this.#eventId = eventId;
  }

  /**
   * Sends one booking call. A caller that repeats a call of unknown outcome increases
   * `firstAttempt`, so that the pauses grow.
   * @throws FatalError for an answer that another choice cannot change (key, event, interface).
   */
  async book(call: BookingCall, booking: Booking, firstAttempt = 0): Promise<Outcome> {
    const { transport, statistics, retryPolicy, ledger } = this.#services;
    const request = {
      method: "POST",
      path: `${API_PATH}/booking/${call}?eventId=${this.#eventId}`,
      body: booking.body,
      onSend: () => ledger?.write(call, "asked", booking),
    } as const;
    for (let attempt = firstAttempt; ; attempt++) {
      const result = await transport.send(request);
      if (result.kind === "lost" || result.status >= STATUS_SERVER_ERROR_MIN) {
        const mayBeDone = result.kind === "answer" || result.wasSent;
        statistics[mayBeDone ? "unknownOutcomes" : "unsent"] += 1;
        await retryPolicy.waitAfter(result, attempt);
        if (mayBeDone) return { kind: "unknown" };
      } else if (result.status === STATUS_TOO_MANY_REQUESTS) {
        statistics.throttled += 1;
        await retryPolicy.waitAfter(result, attempt);
      } else {
        statistics.recordLatency(call, result.durationMs);
        const isTrue = result.status === STATUS_OK && result.body[0] === TRUE_FIRST_BYTE;
        const outcome = isTrue ? DONE : this.#refusalOf(request, result);
        ledger?.write(call, isTrue ? "answered" : "refused", booking);
        return outcome;
      }
    }
  }

  #refusalOf(request: HttpRequest, answer: Answer): Refusal {
    const { errorCode, errors = [] } = parseProblem(answer.body);
    if (errorCode !== "INVENTORY_NOT_AVAILABLE" && errorCode !== "ORPHAN_SEAT") {
      throw unexpectedAnswer(request, answer);
    }
    this.#services.statistics.refusals.increment(errors[0]?.code ?? errorCode);
    return { kind: "refused", errorCode, objects: errors };
  }
}
