/**
 * The sale: a crowd of constant size, and a watcher that updates the view when nothing seems free
 * and decides when the sale is over.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger, SalesRecord } from "./books.ts";
import {
  drawProfile,
  type Habits,
  type Market,
  type Outcome,
  play,
  type Refusal,
  shop,
  type Step,
  TAKEN,
} from "./buyer.ts";
import {
  type Answer,
  type HttpRequest,
  type InventoryReader,
  parseProblem,
  type RetryPolicy,
  type Transport,
  unexpectedAnswer,
} from "./client.ts";
import {
  API_PATH,
  type BestAnswer,
  type Booking,
  createBestBooking,
  createBooking,
  type RefusalCode,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_TOO_MANY_REQUESTS,
} from "./contract.ts";
import type { InventoryView } from "./inventory-view.ts";
import type { CrowdOptions } from "./options.ts";
import { Random } from "./random.ts";
import type { BookingCall, Statistics } from "./statistics.ts";

const WATCH_INTERVAL_MS = 100;
/**
 * One in this many reads is a full read of the listing. The first read is one, because nearly every
 * seat has changed by then. Later ones correct what a list of changes cannot: a removed price is
 * not reported as a change, and a late refusal may have overwritten a change in the view. After each,
 * buyers ask the server once more for the best places of what seems free.
 */
const READS_PER_FULL_READ = 20;
const MS_PER_SECOND = 1_000;

/** Why the sale ended. */
export type SaleEnd = "SOLD_OUT" | "HELD_BY_OTHERS" | "TIME_LIMIT";

export interface HoldWait {
  /** Seats and places that other sessions hold. */
  readonly count: number;
  readonly msLeft: number;
}

export class Sale {
  readonly #context: SaleContext;
  readonly #reader: InventoryReader;
  readonly #options: CrowdOptions;
  readonly #market: Market<Booking>;
  readonly #habits: Habits;
  /** Session ids of this run start with this, so two runs with the same seed do not share any. */
  readonly #runName = `onsale-${randomUUID().slice(0, 8)}`;
  #buyerCount = 0;
  /** Seats and places that only other sessions hold while nothing is free, and since when. */
  #heldByOthers = { count: 0, sinceMs: 0 };

  constructor(context: SaleContext, reader: InventoryReader, options: CrowdOptions) {
    this.#context = context;
    this.#reader = reader;
    this.#options = options;
    this.#market = marketOf(context, options);
    this.#habits = habitsOf(options);
  }

  /** Runs until the sale is over. Buyers who hold something then still pay or give up. */
  async run(): Promise<SaleEnd> {
    const { room } = this.#context;
    const { buyers, seconds } = this.#options;
    const timeLimit = setTimeout(() => room.close(), seconds * MS_PER_SECOND);
    const crowd = Array.from({ length: buyers }, () => this.#serveBuyers());
    try {
      const [end] = await Promise.all([this.#watch(), ...crowd]);
      return end;
    } finally {
      clearTimeout(timeLimit);
      room.close();
    }
  }

  /** Set while the sale waits for other sessions to release or buy what they hold. */
  get holdWait(): HoldWait | undefined {
    const { count, sinceMs } = this.#heldByOthers;
    if (count === 0) return undefined;
    return { count, msLeft: sinceMs + this.#options.holdWait * MS_PER_SECOND - performance.now() };
  }

  /** One place in the crowd: each buyer who leaves is replaced by a new one. */
  async #serveBuyers(): Promise<void> {
    const { room, view } = this.#context;
    while (room.isOpen) {
      if (view.freeCount > 0) await this.#serveNext();
      else await room.wait();
    }
  }

  async #serveNext(): Promise<void> {
    const { bookings, room, statistics } = this.#context;
    this.#buyerCount += 1;
    const random = Random.ofBuyer(this.#options.seed, this.#buyerCount);
    const profile = drawProfile(this.#habits, random, `${this.#runName}-${this.#buyerCount}`);
    statistics.buyers.served += 1;
    const end = await play(
      shop(profile, random, this.#market),
      (step) => bookings.book(step),
      (durationMs) => room.pause(durationMs),
    );
    if (end === "BOUGHT") statistics.buyers.bought += 1;
    else if (end === "GAVE_UP") statistics.buyers.gaveUp += 1;
    else statistics.buyers.emptyHanded += 1;
  }

  async #watch(): Promise<SaleEnd> {
    const { view, room } = this.#context;
    for (let readCount = 0; room.isOpen; await sleep(WATCH_INTERVAL_MS)) {
      if (view.needsUpdate) {
        const end = await this.#updateView(readCount);
        if (readCount % READS_PER_FULL_READ === 0) view.forgetUnsuitable();
        readCount += 1;
        if (end !== undefined) {
          room.close();
          return end;
        }
      }
      room.admit(view.freeCount);
    }
    return "TIME_LIMIT";
  }

  /** @returns Why the sale is over, or undefined while it goes on. */
  async #updateView(readCount: number): Promise<SaleEnd | undefined> {
    const { view, statistics } = this.#context;
    const noBuyerHolds = statistics.activeBuyers === 0;
    const wasHoldWaitOver = this.#isHoldWaitOver();
    const isFull = wasHoldWaitOver || readCount % READS_PER_FULL_READ === 0;
    const areas = await this.#reader.readAreas();
    const seats = await (isFull ? this.#reader.readSeats() : this.#reader.readChanges());
    view.update({ areas, seats });
    if (view.openCount === 0) return "SOLD_OUT";
    const count = noBuyerHolds && view.freeCount === 0 ? view.openCount : 0;
    // Any change starts the wait again.
    if (count !== this.#heldByOthers.count) {
      this.#heldByOthers = { count, sinceMs: performance.now() };
    }
    return wasHoldWaitOver && this.#isHoldWaitOver() ? "HELD_BY_OTHERS" : undefined;
  }

  #isHoldWaitOver(): boolean {
    const wait = this.holdWait;
    return wait !== undefined && wait.msLeft <= 0;
  }
}

function habitsOf({ seatsPerBuyer, gaShare, giveUp, thinkMs }: CrowdOptions): Habits {
  const { min, max } = seatsPerBuyer;
  return {
    partySizes: Array.from({ length: max - min + 1 }, (_, more) => min + more),
    placesShare: gaShare,
    giveUpShare: giveUp,
    keepShare: 0,
    thinkMs: { min: 0, max: 2 * thinkMs },
    choicesMax: Infinity,
  };
}

// The market of the sale: the shared view, the record and the ledger.

/** What all buyers of a run share. */
interface SaleContext extends Services {
  readonly bookings: BookingClient;
  readonly view: InventoryView;
  readonly room: WaitingRoom;
  readonly record: SalesRecord;
}

function marketOf(context: SaleContext, { best: isBest }: CrowdOptions): Market<Booking> {
  const { view, room, record, statistics, ledger } = context;
  const choose: Market<Booking>["choose"] = (wish, random) => {
    if (!room.isOpen) return undefined;
    if (isBest === true) {
      const asked = view.wishFor(wish, random);
      return asked && createBestBooking(wish.sessionId, asked);
    }
    const basket = view.choose(wish, random);
    return basket && createBooking(wish.sessionId, basket);
  };
  return {
    choose,
    markHeld: ({ basket }) => view.markHeld(basket),
    markReleased: ({ basket }) => view.markReleased(basket),
    markRefused: ({ basket, best }, { objects, unsuitable }) => {
      if (best === undefined) view.markRefused(basket, objects);
      else if (unsuitable !== undefined) view.markUnsuitable(best.wish, unsuitable);
    },
    markSold: (booking, isProven) => {
      if (isProven) ledger?.write("sale", "answered", booking);
      view.markSold(booking.basket);
      record.add(booking.basket);
    },
    markLost: () => {
      statistics.holdsLost += 1;
    },
    markStale: () => view.markStale(),
    provesSale,
  };
}

/**
 * The hold was acknowledged and only its session can buy it. Seats that are SOLD now were therefore
 * sold to this session, and so were places that it no longer holds (the final check proves it by
 * the counters).
 */
function provesSale({ basket }: Booking, { errorCode, objects }: Refusal): boolean {
  const sold = objects.filter(({ code }) => code === "SOLD");
  return errorCode !== "ORPHAN_SEAT" && sold.length === basket.seatIds.length;
}

// Books on one event: lock or best, unlock and sale. A request that the server certainly has not executed
// is sent again after a pause. If the server may have executed it, the outcome is `unknown`, and
// the buyer must find out.

/** First byte of the answer `true`, the only body of lock, unlock and sale with status 200. */
const TRUE_FIRST_BYTE = "t".charCodeAt(0);
/** Refusals after which a buyer can make another choice. */
const CHOOSE_AGAIN: ReadonlySet<string | undefined> = new Set([
  "INVENTORY_NOT_AVAILABLE",
  "NOTHING_SUITABLE",
  "ORPHAN_SEAT",
] satisfies RefusalCode[]);

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
  readonly #view: Pick<InventoryView, "freeCount">;

  /** @param view - A lock is not sent if nothing is free when it reaches a connection. */
  constructor(services: Services, eventId: string, view: Pick<InventoryView, "freeCount">) {
    this.#services = services;
    this.#eventId = eventId;
    this.#view = view;
  }

  /**
   * Sends one booking call. A buyer who repeats a call of unknown outcome increases `attempt`, so
   * that the pauses grow.
   * @throws FatalError for an answer that another choice cannot change (key, event, interface).
   */
  async book({
    call: step,
    basket: booking,
    attempt: firstAttempt,
  }: Step<Booking>): Promise<Outcome<Booking>> {
    const { transport, statistics, retryPolicy, ledger } = this.#services;
    const { best } = booking;
    const call = step === "lock" && best !== undefined ? "best" : step;
    let isMoot = false;
    const request = {
      method: "POST",
      path: `${API_PATH}/booking/${call}?eventId=${this.#eventId}`,
      body: call === "best" ? best!.body : booking.body,
      onSend: () => ledger?.write(call, "asked", booking),
      isMoot: () => (isMoot = step === "lock" && this.#view.freeCount === 0),
    } as const;
    for (let attempt = firstAttempt; ; attempt++) {
      const result = await transport.send(request);
      if (isMoot) return TAKEN;
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
        const granted = grantedOf(call, booking, result);
        const outcome =
          granted === null
            ? this.#refusalOf(request, result)
            : ({ kind: "done", basket: granted } as const);
        ledger?.write(call, granted === null ? "refused" : "answered", granted ?? booking);
        return outcome;
      }
    }
  }

  #refusalOf(request: HttpRequest, answer: Answer): Refusal {
    const { errorCode, errors = [], largestTogether, available } = parseProblem(answer.body);
    if (!isChooseAgain(errorCode)) throw unexpectedAnswer(request, answer);
    this.#services.statistics.refusals.increment(errors[0]?.code ?? errorCode);
    const refusal = { kind: "refused", errorCode, objects: errors } as const;
    if (errorCode !== "NOTHING_SUITABLE") return refusal;
    const quantity = Number(errors[0]?.rejectedValue);
    const unsuitable = { quantity, largestTogether: largestTogether!, available: available! };
    return { ...refusal, unsuitable };
  }
}

function isChooseAgain(errorCode: string | undefined): errorCode is RefusalCode {
  return CHOOSE_AGAIN.has(errorCode);
}

/** @returns The booking as it is now; null for a refusal. */
function grantedOf(call: BookingCall, booking: Booking, { status, body }: Answer): Booking | null {
  if (status !== STATUS_OK) return null;
  if (call !== "best") return body[0] === TRUE_FIRST_BYTE ? booking : null;
  const { seats, groupOfSeats } = JSON.parse(body.toString()) as BestAnswer;
  const basket = { seatIds: seats.map(({ id }) => id), areas: groupOfSeats };
  return createBooking(booking.sessionId, basket);
}

// Where buyers wait until something is free, and the switch that ends the sale for all of them.

export class WaitingRoom {
  readonly #waiting: (() => void)[] = [];
  readonly #pausing = new Set<() => void>();
  #isOpen = true;

  /** Whether the sale is going on. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves when `admit` reaches this buyer in the queue, or when the sale ends. */
  wait(): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Admits up to `count` waiting buyers. */
  admit(count: number): void {
    for (const enter of this.#waiting.splice(0, count)) enter();
  }

  /** The pause of an admitted buyer: resolves after this time, or when the sale ends. */
  pause(durationMs: number): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#pausing.delete(end);
        resolve();
      };
      const timer = setTimeout(end, durationMs);
      this.#pausing.add(end);
    });
  }

  /** Ends the sale: every wait and pause resolves. Further calls have no effect. */
  close(): void {
    this.#isOpen = false;
    for (const end of this.#pausing) end();
    this.admit(this.#waiting.length);
  }
}
