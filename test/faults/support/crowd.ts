/**
 * Clients of a server under faults: each line sends one request at a time, and enters it in the
 * ledger before it is sent and after it is answered.
 */
import { Client } from "undici";
import type { LedgerLine } from "../../../server/onsale/books.ts";
import { Random } from "../../../server/onsale/random.ts";
import type { LedgerFold } from "../../support/ledger-check.ts";
import { sleep } from "../../support/server-process.ts";
import type { House } from "./serving.ts";

type Op = LedgerLine["op"];
type Basket = Pick<LedgerLine, "session" | "seats" | "areas">;

const COUNT_MAX = 4;
const AREA_SHARE = 0.2;
const SALE_SHARE = 0.15;
const KEEP_SHARE = 0.02;
/** The pause before a request that was refused for lack of space is sent again. */
const PAUSE_MS = 20;
const TIMEOUT_MS = 300_000;
const OK = 200;
const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;

export interface CrowdOptions {
  readonly url: string;
  readonly house: House;
  readonly fold: LedgerFold;
  readonly seed: number;
  readonly lines: number;
}

export class Crowd {
  /** The number of answers per status. */
  readonly statuses = new Map<number, number>();
  /** Errors that ended a line, other than a lost connection: an unexpected answer, for example. */
  readonly failures: string[] = [];
  /** Settles when every line has ended: the server has ended, or `stop` was called. */
  readonly ended: Promise<void>;
  readonly #options: CrowdOptions;
  /** The prefix of the sessions of this crowd. */
  readonly #name: string;
  #basketCount = 0;
  #answerCount = 0;
  readonly #waiting: { readonly count: number; readonly tell: () => void }[] = [];
  #isStopping = false;

  constructor(options: CrowdOptions) {
    this.#options = options;
    this.#name = `crowd-${options.seed}`;
    this.ended = this.#run();
  }

  /** Lets each line finish its basket. */
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
    return this.statuses.get(status) ?? 0;
  }

  async #run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.lines }, (_, i) => this.#line(i)));
  }

  async #line(number: number): Promise<void> {
    const { url, house, seed } = this.#options;
    const random = Random.ofBuyer(seed, number + 1);
    const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
    const client = new Client(url, { pipelining: 1, ...timeouts });
    try {
      while (!this.#isStopping) await this.#serve(client, this.#draw(random, house), random);
    } catch (error) {
      // A lost connection has a code: the outcome of the request is unknown.
      if (!(error instanceof Error && "code" in error)) this.failures.push(String(error));
    } finally {
      await client.destroy();
    }
  }

  async #serve(client: Client, basket: Basket, random: Random): Promise<void> {
    if (!(await this.#ask(client, "lock", basket))) return;
    if (random.chance(KEEP_SHARE)) return;
    await this.#ask(client, random.chance(SALE_SHARE) ? "sale" : "unlock", basket);
  }

  #acknowledged(): void {
    this.#answerCount += 1;
    for (const { count, tell } of this.#waiting) if (count === this.#answerCount) tell();
  }

  #draw(random: Random, { seatIds, areaIds }: House): Basket {
    this.#basketCount += 1;
    const session = `${this.#name}-${this.#basketCount}`;
    const count = random.between(1, COUNT_MAX);
    if (random.chance(AREA_SHARE)) {
      const id = areaIds[random.below(areaIds.length)]!;
      return { session, seats: [], areas: [{ id, capacity: count }] };
    }
    const start = random.below(seatIds.length - count);
    return { session, seats: seatIds.slice(start, start + count), areas: [] };
  }

  /** @returns Whether it was granted. @throws the error of a lost connection. */
  async #ask(client: Client, op: Op, basket: Basket): Promise<boolean> {
    const { house, fold } = this.#options;
    fold.take({ op, step: "asked", ...basket });
    for (;;) {
      const { statusCode, body } = await client.request({
        method: "POST",
        path: `/api/private/v2.0/booking/${op}?eventId=${house.eventId}`,
        headers: { "X-API-Key": house.key, "Content-Type": "application/json" },
        body: JSON.stringify(bodyOf(basket)),
      });
      const text = await body.text();
      this.statuses.set(statusCode, this.answersOf(statusCode) + 1);
      if (statusCode === OK && text === "true") {
        fold.take({ op, step: "answered", ...basket });
        this.#acknowledged();
        return true;
      }
      const isLater = statusCode === UNAVAILABLE || statusCode === TOO_MANY_REQUESTS;
      if (!isLater && statusCode >= 500) throw new Error(`${op}: ${statusCode} ${text}`);
      if (!isLater || op === "lock") {
        fold.take({ op, step: "refused", ...basket });
        if (isLater) await sleep(PAUSE_MS);
        return false;
      }
      // It was not done, and is sent again until it is granted or the connection is lost.
      await sleep(PAUSE_MS);
    }
  }
}

function bodyOf({ session, seats, areas }: Basket): object {
  return {
    sessionId: session,
    seats: seats.map((id) => ({ id, capacity: null })),
    groupOfSeats: areas,
  };
}
