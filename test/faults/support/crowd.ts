/**
 * Buyers of a server under faults, who know nothing of the others. A request enters the ledger
 * before it is sent and after it is answered. A buyer whose connection is lost is not replaced.
 */
import type { LedgerStep } from "../../../server/onsale/books.ts";
import {
  DONE,
  drawProfile,
  type Market,
  type Outcome,
  play,
  shop,
  type Step,
  TAKEN,
} from "../../../server/onsale/buyer.ts";
import { Transport } from "../../../server/onsale/client.ts";
import {
  API_PATH,
  type Booking,
  createBooking,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_SERVICE_UNAVAILABLE,
  STATUS_TOO_MANY_REQUESTS,
} from "../../../server/onsale/contract.ts";
import { Random } from "../../../server/onsale/random.ts";
import { Statistics } from "../../../server/onsale/statistics.ts";
import type { LedgerFold } from "../../support/ledger-check.ts";
import { sleep } from "../../support/server-process.ts";
import type { House } from "./serving.ts";

/** Few seats are sold, so that long runs do not end for lack of them. */
const HABITS = {
  partySizes: [1, 2, 3, 4],
  placesShare: 0.2,
  giveUpShare: 0.83,
  keepShare: 0.02,
  thinkMs: { min: 0, max: 0 },
  choicesMax: 1,
};
/** The pause before a request that was refused for lack of space is sent again. */
const PAUSE_MS = 20;
/** Longer than any fault stops the server. */
const ANSWER_MS = 300_000;

export interface CrowdOptions {
  readonly url: string;
  readonly house: House;
  readonly fold: LedgerFold;
  readonly seed: number;
  readonly lines: number;
}

/** The outcome of the request is unknown. */
class ConnectionLost extends Error {}

export class Crowd {
  /** Errors that ended a line, other than a lost connection: an unexpected answer, for example. */
  readonly failures: string[] = [];
  /** Settles when every line has ended: the server has ended, or `stop` was called. */
  readonly ended: Promise<void>;
  readonly #options: CrowdOptions;
  readonly #transport: Transport;
  readonly #market: Market<Booking>;
  /** The number of answers per status. */
  readonly #statuses = new Map<number, number>();
  #buyerCount = 0;
  #answerCount = 0;
  readonly #waiting: { readonly count: number; readonly tell: () => void }[] = [];
  #isStopping = false;

  constructor(options: CrowdOptions) {
    const { url, house, lines: connections } = options;
    this.#options = options;
    const server = { url: [new URL(url)], key: house.key, connections, answerMs: ANSWER_MS };
    this.#transport = new Transport(server, new Statistics());
    this.#market = blindMarket(house);
    this.ended = this.#run();
  }

  /** Lets each buyer finish. */
  stop(): Promise<void> {
    this.#isStopping = true;
    return this.ended;
  }

  /** Settles when so many changes have been acknowledged. */
  answered(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#answerCount >= count) resolve();
      else this.#waiting.push({ count, tell: resolve });
    });
  }

  answersOf(status: number): number {
    return this.#statuses.get(status) ?? 0;
  }

  async #run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.lines }, (_, i) => this.#line(i)));
    await this.#transport.destroy();
  }

  /** One buyer after the other. */
  async #line(number: number): Promise<void> {
    const { seed } = this.#options;
    const random = Random.ofBuyer(seed, number + 1);
    const book = (step: Step<Booking>) => this.#book(step);
    try {
      while (!this.#isStopping) {
        this.#buyerCount += 1;
        const profile = drawProfile(HABITS, random, `crowd-${seed}-${this.#buyerCount}`);
        await play(shop(profile, random, this.#market), book, sleep);
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) this.failures.push(String(error));
    }
  }

  #acknowledged(): void {
    this.#answerCount += 1;
    for (const { count, tell } of this.#waiting) if (count === this.#answerCount) tell();
  }

  /** @throws ConnectionLost */
  async #book({ call: op, basket: booking }: Step<Booking>): Promise<Outcome> {
    const { house, fold } = this.#options;
    const { sessionId: session, basket, body } = booking;
    const enter = (step: LedgerStep) =>
      fold.take({ op, step, session, seats: basket.seatIds, areas: basket.areas });
    const path = `${API_PATH}/booking/${op}?eventId=${house.eventId}`;
    enter("asked");
    for (;;) {
      const result = await this.#transport.send({ method: "POST", path, body });
      if (result.kind === "lost") throw new ConnectionLost(result.reason);
      const { status } = result;
      const text = result.body.toString();
      this.#statuses.set(status, this.answersOf(status) + 1);
      if (status === STATUS_OK && text === "true") {
        enter("answered");
        this.#acknowledged();
        return DONE;
      }
      const isLater = status === STATUS_SERVICE_UNAVAILABLE || status === STATUS_TOO_MANY_REQUESTS;
      if (!isLater && status >= STATUS_SERVER_ERROR_MIN)
        throw new Error(`${op}: ${status} ${text}`);
      if (!isLater || op === "lock") {
        enter("refused");
        if (isLater) await sleep(PAUSE_MS);
        return TAKEN;
      }
      // It was not done, and is sent again until it is granted or the connection is lost.
      await sleep(PAUSE_MS);
    }
  }
}

/** Seats that follow each other, whether free or not. */
function blindMarket({ seatIds, areaIds }: House): Market<Booking> {
  return {
    choose: ({ sessionId, count, prefersPlaces }, random) => {
      if (prefersPlaces) {
        const id = areaIds[random.below(areaIds.length)]!;
        return createBooking(sessionId, { seatIds: [], areas: [{ id, capacity: count }] });
      }
      const start = random.below(seatIds.length - count);
      const seats = seatIds.slice(start, start + count);
      return createBooking(sessionId, { seatIds: seats, areas: [] });
    },
    markLost: ({ sessionId }) => {
      throw new Error(`the hold of session ${sessionId} is lost`);
    },
  };
}
