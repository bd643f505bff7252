/**
 * Clients book a few seats and read them while hosts of a cluster fail; and the history of their
 * answers. A booking is repeated with the same idempotency key until a host answers it. Each host
 * is read all the time, also a former leader without knowledge of its end.
 */
import { request } from "undici";
import { Random } from "../../../../server/onsale/random.ts";
import type { Booking, SeatCall } from "../../../support/linearizable.ts";
import { sleep } from "../../../support/server-process.ts";
import type { House } from "../serving.ts";

const V2 = "/api/private/v2.0";
const BOOKERS = 4;
const SEATS = 6;
const BOOKINGS: readonly Booking[] = [
  "lock",
  "lock",
  "lock",
  "unlock",
  "unlock",
  "sale",
  "revertsale",
];
const BOOKING_MS_MAX = 1_000;
/** Short, so that a host that stands still has young requests when it goes on. */
const READ_MS_MAX = 250;
const PAUSE_MS = 10;
const OK = 200;
const REFUSED = 400;
const CONFLICT = 409;
const TOO_MANY_REQUESTS = 429;

export interface SeatPlayersOptions {
  readonly urls: readonly string[];
  /** Nobody else books there. */
  readonly house: House;
  readonly seed: number;
}

interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The part of a page of seats that is used. */
interface Page {
  readonly content: readonly { readonly seatId: number; readonly state: string }[];
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

export class SeatPlayers {
  /** All calls that were answered; the times are milliseconds of `performance.now`. */
  readonly history: SeatCall[] = [];
  /** Refusals of bookings for other reasons than the state of the seat. */
  readonly failures: string[] = [];
  readonly #options: SeatPlayersOptions;
  readonly #random: Random;
  readonly #seats: readonly number[];
  #bookings = 0;
  /** The host that was the last to answer a booking. */
  #leader = 0;
  #isEnding = false;
  #players: readonly Promise<void>[] = [];

  constructor(options: SeatPlayersOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#seats = options.house.seatIds.slice(0, SEATS);
  }

  begin(): void {
    this.#isEnding = false;
    const bookers = Array.from({ length: BOOKERS }, (_, player) =>
      this.#bookOn(`player-${player}`),
    );
    this.#players = [...bookers, ...this.#options.urls.map((url) => this.#readOn(url))];
  }

  /** Settles when each booking is answered: a host must lead. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#players);
  }

  async #bookOn(session: string): Promise<void> {
    while (!this.#isEnding) {
      await this.#book(session, this.#drawn(BOOKINGS), this.#drawn(this.#seats));
      await sleep(this.#random.below(PAUSE_MS));
    }
  }

  async #book(session: string, kind: Booking, seat: number): Promise<void> {
    const { house, urls } = this.#options;
    this.#bookings += 1;
    const call = {
      method: "POST" as const,
      path: `${V2}/booking/${kind}?eventId=${house.eventId}`,
      headers: { "Content-Type": "application/json", "Idempotency-Key": `${this.#bookings}` },
      body: JSON.stringify({ sessionId: session, seats: [{ id: seat, capacity: null }] }),
    } satisfies Call;
    const begunAt = performance.now();
    for (let tried = this.#leader; ; tried = (tried + 1) % urls.length) {
      const answer = await this.#ask(urls[tried]!, call, BOOKING_MS_MAX);
      if (answer !== null && isFinal(answer.status)) {
        this.#leader = tried;
        if (answer.status > REFUSED) this.failures.push(`${kind}: ${answer.status} ${answer.body}`);
        const isGranted = answer.status === OK;
        const times = { begunAt, answeredAt: performance.now() };
        this.history.push({ kind, session, seat, isGranted, ...times });
        return;
      }
      await sleep(PAUSE_MS);
    }
  }

  async #readOn(url: string): Promise<void> {
    const { house } = this.#options;
    const path = `${V2}/events/${house.eventId}/seats/?size=${SEATS}`;
    const call: Call = { method: "GET", path };
    while (!this.#isEnding) {
      const begunAt = performance.now();
      const answer = await this.#ask(url, call, READ_MS_MAX);
      const answeredAt = performance.now();
      if (answer?.status === OK) {
        for (const { seatId, state } of (JSON.parse(answer.body) as Page).content) {
          this.history.push({ kind: "read", seat: seatId, state, begunAt, answeredAt });
        }
      }
      await sleep(PAUSE_MS);
    }
  }

  /** @returns Null without an answer in time. */
  async #ask(url: string, call: Call, msMax: number): Promise<Answer | null> {
    const { path, ...rest } = call;
    const headers = { ...call.headers, "X-API-Key": this.#options.house.key };
    const signal = AbortSignal.timeout(msMax);
    try {
      const { statusCode, body } = await request(`${url}${path}`, { ...rest, headers, signal });
      return { status: statusCode, body: await body.text() };
    } catch {
      // The host is down, stands still, or was lost before it answered.
      return null;
    }
  }

  #drawn<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)]!;
  }
}

/** A repeated call gets the same answer. */
function isFinal(status: number): boolean {
  return status < 500 && status !== CONFLICT && status !== TOO_MANY_REQUESTS;
}
