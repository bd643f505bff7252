/**
 * The sale: a crowd of constant size, and a watcher that updates the view when nothing seems free
 * and decides when the sale is over.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger, SalesRecord } from "./books.ts";
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
  type Basket,
  type Booking,
  createBooking,
  type RefusalCode,
  type RefusedObject,
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
 * not reported as a change, and a late refusal may have overwritten a change in the view.
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
  /** Session ids of this run start with this, so two runs with the same seed do not share any. */
  readonly #runName = `onsale-${randomUUID().slice(0, 8)}`;
  #buyerCount = 0;
  /** Seats and places that only other sessions hold while nothing is free, and since when. */
  #heldByOthers = { count: 0, sinceMs: 0 };

  constructor(context: SaleContext, reader: InventoryReader, options: CrowdOptions) {
    this.#context = context;
    this.#reader = reader;
    this.#options = options;
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
      if (view.freeCount > 0) await this.#nextBuyer().run();
      else await room.wait();
    }
  }

  #nextBuyer(): Buyer {
    const { seed, seatsPerBuyer, gaShare, giveUp, thinkMs } = this.#options;
    this.#buyerCount += 1;
    const random = Random.ofBuyer(seed, this.#buyerCount);
    const profile = {
      sessionId: `${this.#runName}-${this.#buyerCount}`,
      count: random.between(seatsPerBuyer.min, seatsPerBuyer.max),
      prefersPlaces: random.chance(gaShare),
      givesUp: random.chance(giveUp),
      thinkMs: random.between(0, 2 * thinkMs),
    };
    return new Buyer(profile, random, this.#context);
  }

  async #watch(): Promise<SaleEnd> {
    const { view, room } = this.#context;
    for (let readCount = 0; room.isOpen; await sleep(WATCH_INTERVAL_MS)) {
      if (view.needsUpdate) {
        const end = await this.#updateView(readCount);
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

// One buyer: chooses, locks, hesitates, then pays or gives up; after a refusal, chooses again. If a
// lost connection leaves an outcome unknown, the buyer resolves it with the server before anything
// else.

/**
 * Another buyer who gives up may leave a single seat beside this basket. The server then refuses
 * the sale of the basket until that seat is taken. The buyer waits this often before giving up.
 */
const SALE_RETRIES_MAX = 4;
/**
 * If a free seat seems held, every choice of its only free neighbour leaves an orphan. After more
 * consecutive refusals than this, the buyer asks for an update of the view.
 */
const ORPHAN_REFUSALS_MAX = 8;

/** What all buyers of a run share. */
interface SaleContext extends Services {
  readonly bookings: BookingClient;
  readonly view: InventoryView;
  readonly room: WaitingRoom;
  readonly record: SalesRecord;
}

export interface BuyerProfile {
  readonly sessionId: string;
  /** Seats or places wanted. */
  readonly count: number;
  readonly prefersPlaces: boolean;
  readonly givesUp: boolean;
  /** Hesitation between lock and purchase. */
  readonly thinkMs: number;
}

class Buyer {
  readonly #profile: BuyerProfile;
  readonly #random: Random;
  readonly #context: SaleContext;
  #orphanRefusals = 0;

  constructor(profile: BuyerProfile, random: Random, context: SaleContext) {
    this.#profile = profile;
    this.#random = random;
    this.#context = context;
  }

  /** Resolves when the buyer has bought or given up, nothing is left, or the sale ends. */
  async run(): Promise<void> {
    const { view, room, statistics } = this.#context;
    const { sessionId, givesUp, thinkMs } = this.#profile;
    statistics.buyers.served += 1;
    while (room.isOpen) {
      const wish = { ...this.#profile, orphanRefusals: this.#orphanRefusals };
      const basket = view.choose(wish, this.#random);
      if (basket === undefined) break;
      const booking = createBooking(sessionId, basket);
      if (!(await this.#lock(booking))) continue;
      await room.pause(thinkMs);
      if (givesUp) {
        await this.#unlock(booking);
        statistics.buyers.gaveUp += 1;
        return;
      }
      if (await this.#buy(booking)) return;
    }
    statistics.buyers.emptyHanded += 1;
  }

  /** @returns Whether the buyer now holds the basket. */
  async #lock(booking: Booking): Promise<boolean> {
    const { bookings, view } = this.#context;
    const outcome = await bookings.book("lock", booking);
    if (outcome.kind === "done") {
      this.#orphanRefusals = 0;
      view.markHeld(booking.basket);
      return true;
    }
    if (outcome.kind === "unknown") {
      await this.#unlock(booking);
      return false;
    }
    if (outcome.errorCode === "ORPHAN_SEAT") {
      this.#orphanRefusals += 1;
      if (this.#orphanRefusals > ORPHAN_REFUSALS_MAX) view.markStale();
    } else {
      this.#orphanRefusals = 0;
      view.markRefused(booking.basket, outcome.objects);
    }
    return false;
  }

  /**
   * Releases a basket that is held or may be held. An unlock can be repeated safely, and the server
   * refuses it only if this session holds nothing, because a lock is all or nothing.
   */
  async #unlock(booking: Booking): Promise<void> {
    const { bookings, view } = this.#context;
    for (let attempt = 0; ; attempt++) {
      const outcome = await bookings.book("unlock", booking, attempt);
      if (outcome.kind === "refused") return;
      if (outcome.kind === "done") {
        view.markReleased(booking.basket);
        return;
      }
    }
  }

  /** @returns Whether the basket was bought. Otherwise it is no longer held. */
  async #buy(booking: Booking): Promise<boolean> {
    const { bookings, room, statistics, ledger } = this.#context;
    let mayBeSold = false;
    for (let attempt = 0; ; attempt++) {
      const outcome = await bookings.book("sale", booking, attempt);
      if (outcome.kind === "unknown") {
        mayBeSold = true;
      } else if (outcome.kind === "done" || (mayBeSold && provesSale(outcome, booking.basket))) {
        if (outcome.kind === "refused") ledger?.write("sale", "answered", booking);
        this.#noteSale(booking.basket);
        return true;
      } else if (outcome.errorCode === "ORPHAN_SEAT" && attempt < SALE_RETRIES_MAX) {
        await room.pause(this.#profile.thinkMs);
      } else {
        if (outcome.errorCode === "INVENTORY_NOT_AVAILABLE") statistics.holdsLost += 1;
        await this.#unlock(booking);
        return false;
      }
    }
  }

  #noteSale(basket: Basket): void {
    const { view, record, statistics } = this.#context;
    view.markSold(basket);
    record.add(basket);
    statistics.buyers.bought += 1;
  }
}

/**
 * Whether a refused sale proves that an earlier one of unknown outcome succeeded. The hold was
 * acknowledged and only its session can buy it. Seats that are SOLD now were therefore sold to this
 * session, and so were places that it no longer holds (the final check proves it by the counters).
 */
function provesSale(refusal: Refusal, basket: Basket): boolean {
  const sold = refusal.objects.filter(({ code }) => code === "SOLD");
  return refusal.errorCode !== "ORPHAN_SEAT" && sold.length === basket.seatIds.length;
}

// Books on one event: lock, unlock and sale. A request that the server certainly has not executed
// is sent again after a pause. If the server may have executed it, the outcome is `unknown`, and
// the buyer must find out.

/** First byte of the answer `true`, the only body that the three calls send with status 200. */
const TRUE_FIRST_BYTE = "t".charCodeAt(0);

/** The outcome of a lock, an unlock or a sale. */
export type Outcome = { readonly kind: "done" } | { readonly kind: "unknown" } | Refusal;

interface Refusal {
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
