/**
 * The desk where one event is booked: lock, unlock and sale, with patience. What certainly was
 * not done is sent again after a pause; what may have been done is handed to the buyer as unknown,
 * because only the buyer knows how to find out.
 */

import type { Booking } from "../basket.ts";
import {
  API_PATH,
  ErrorCode,
  type RefusedObject,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_TOO_MANY_REQUESTS,
} from "../contract.ts";
import type { Patience } from "../http/patience.ts";
import { haltOf, parseProblem } from "../http/problem.ts";
import type { Answered, Wire, WireRequest } from "../http/wire.ts";
import type { BookingCall, Tally } from "../tally.ts";
import type { Ledger } from "./ledger.ts";

/** First byte of the answer `true`, the only one that the three calls give with 200. */
const TRUE_FIRST_BYTE = "t".charCodeAt(0);

/** What became of a lock, an unlock or a sale. */
export type Outcome = { readonly kind: "done" } | { readonly kind: "unknown" } | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly errorCode: string;
  readonly objects: readonly RefusedObject[];
}

const DONE: Outcome = { kind: "done" };
const UNKNOWN: Outcome = { kind: "unknown" };

/** What the desk works with. */
export interface Line {
  readonly wire: Wire;
  readonly patience: Patience;
  readonly tally: Tally;
  readonly ledger?: Ledger | undefined;
}

export class BookingDesk {
  readonly #line: Line;
  readonly #paths: Readonly<Record<BookingCall, string>>;

  constructor(line: Line, eventId: string) {
    const pathOf = (call: BookingCall) => `${API_PATH}/booking/${call}?eventId=${eventId}`;
    this.#line = line;
    this.#paths = { lock: pathOf("lock"), sale: pathOf("sale"), unlock: pathOf("unlock") };
  }

  /**
   * Sends one booking call and tells what became of it. A caller that asks again after `unknown`
   * counts its attempts up, so that the pauses grow.
   * @throws HaltError for an answer that no other choice can mend (key, event, contract).
   */
  async book(call: BookingCall, booking: Booking, attemptFirst = 0): Promise<Outcome> {
    const { wire, tally, patience, ledger } = this.#line;
    const request = {
      method: "POST",
      path: this.#paths[call],
      body: booking.body,
      onLeave: () => ledger?.write(call, "asked", booking),
    } as const;
    for (let attempt = attemptFirst; ; attempt++) {
      const exchanged = await wire.exchange(request);
      if (exchanged.kind === "lost" || exchanged.status >= STATUS_SERVER_ERROR_MIN) {
        const maybeDone = exchanged.kind === "answered" || exchanged.sent;
        await this.#recover(maybeDone, attempt);
        if (maybeDone) return UNKNOWN;
      } else if (exchanged.status === STATUS_TOO_MANY_REQUESTS) {
        tally.throttled += 1;
        await patience.backOff(attempt);
      } else {
        tally.record(call, exchanged.durationMs);
        const isTrue = exchanged.status === STATUS_OK && exchanged.body[0] === TRUE_FIRST_BYTE;
        if (isTrue) return DONE;
        const refusal = this.#refused(request, exchanged);
        ledger?.write(call, "refused", booking);
        return refusal;
      }
    }
  }

  async #recover(maybeDone: boolean, attempt: number): Promise<void> {
    if (maybeDone) this.#line.tally.unknownOutcomes += 1;
    else this.#line.tally.unsent += 1;
    await this.#line.patience.backOff(attempt);
    await this.#line.patience.afterLoss();
  }

  #refused(request: WireRequest, answered: Answered): Refusal {
    const { errorCode, errors = [] } = parseProblem(answered.body);
    if (errorCode !== ErrorCode.NOT_AVAILABLE && errorCode !== ErrorCode.ORPHAN_SEAT) {
      throw haltOf(request, answered);
    }
    this.#line.tally.addRefusal(errors[0]?.code ?? errorCode);
    return { kind: "refused", errorCode, objects: errors };
  }
}
