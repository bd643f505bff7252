/**
 * The sale: a crowd of constant size, and a watcher that updates the view when nothing seems free
 * and decides when the sale is over.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger, SalesRecord } from "./books.ts";
import {
  type BuyerProfile,
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
  ticketsOf,
} from "./contract.ts";
import type { Door, Visitor } from "./door.ts";
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
/** Codes of a lock beyond the quota; others came first. */
const BEYOND = [
  "VISITOR_LIMIT",
  "HELD_LIMIT",
  "INVENTORY_NOT_AVAILABLE",
  "ORPHAN_SEAT",
  "ADMISSION_INVALID",
];

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
    const { door } = this.#context;
    this.#buyerCount += 1;
    const number = this.#buyerCount;
    if (door === null) return await this.#serve(number, null);
    const visitor = await door.admit();
    if (visitor === null) return;
    await this.#serve(number, visitor);
    await door.leave(visitor);
  }

  async #serve(number: number, visitor: Visitor | null): Promise<void> {
    const { bookings, room, statistics, door } = this.#context;
    const random = Random.ofBuyer(this.#options.seed, number);
    const drawn = drawProfile(this.#habits, random, `${this.#runName}-${number}`);
    const profile = { ...drawn, count: Math.min(drawn.count, door?.quota ?? Infinity) };
    const market = marketOf(this.#context, this.#options, visitor);
    if (visitor !== null && door!.probes(visitor)) await this.#probe(profile, visitor);
    statistics.buyers.served += 1;
    const end = await play(
      shop(profile, random, market),
      (step) => bookings.book(step),
      (durationMs) => room.pause(durationMs),
    );
    if (end === "BOUGHT") statistics.buyers.bought += 1;
    else if (end === "GAVE_UP") statistics.buyers.gaveUp += 1;
    else statistics.buyers.emptyHanded += 1;
  }

  /** Locks without a right: without a token, with an altered one, and of more than the quota. */
  async #probe(profile: BuyerProfile, visitor: Visitor): Promise<void> {
    const door = this.#context.door!;
    const random = new Random(visitor.number);
    const choose = (count: number, admission: string) => {
      const holder = { ...visitor, admission };
      const wish = { ...profile, count, orphanRefusals: 0 };
      return marketOf(this.#context, this.#options, holder).choose(wish, random);
    };
    const { admission } = visitor;
    // The last character has unused bits.
    const altered = `${admission.slice(0, -2)}${admission.at(-2) === "A" ? "B" : "A"}${admission.at(-1)!}`;
    const beyond = door.quota + 1;
    const probes = [
      ["without a token", choose(profile.count, ""), ["ADMISSION_REQUIRED"]],
      ["with an altered token", choose(profile.count, altered), ["SIGNATURE"]],
      ["beyond the quota", beyond < Infinity ? choose(beyond, admission) : undefined, BEYOND],
    ] as const;
    for (const [without, booking, codes] of probes) {
      if (booking !== undefined) await door.probe(without, booking, codes);
    }
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
  /** Null for an open event. */
  readonly door: Door | null;
}

/** @param visitor - The buyer inside; null without a door. */
function marketOf(
  context: SaleContext,
  { best: isBest, seatsPerBuyer }: CrowdOptions,
  visitor: Visitor | null,
): Market<Booking> {
  const { view, room, record, statistics, ledger, door } = context;
  const admission = visitor?.admission;
  const choose: Market<Booking>["choose"] = (wish, random) => {
    if (!room.isOpen) return undefined;
    if (isBest === true) {
      const asked = view.wishFor(wish, random);
      return asked && createBestBooking(wish.sessionId, asked, admission);
    }
    const basket = view.choose(wish, random);
    return basket && createBooking(wish.sessionId, basket, admission);
  };
  return {
    choose,
    markHeld: ({ basket }) => {
      view.markHeld(basket);
      const mayTake = statistics.activeBuyers * seatsPerBuyer.max;
      if (view.freeCount <= mayTake) door?.noteScarce();
    },
    markReleased: ({ basket }) => view.markReleased(basket),
    markRefused: ({ basket, best }, { objects, unsuitable }) => {
      if (best === undefined) view.markRefused(basket, objects);
      else if (unsuitable !== undefined) view.markUnsuitable(best, unsuitable);
    },
    markSold: (booking, isProven) => {
      if (isProven) ledger?.write("sale", "answered", booking);
      view.markSold(booking.basket);
      record.add(booking.basket);
      if (visitor !== null) visitor.record.bought += ticketsOf(booking.basket);
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
/** Refusals of buyers; others end the run. */
const REFUSAL_CODES: ReadonlySet<string | undefined> = new Set([
  "ADMISSION_INVALID",
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
      body: step === "lock" ? booking.lockBody : booking.body,
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
    if (!isRefusal(errorCode)) throw unexpectedAnswer(request, answer);
    this.#services.statistics.refusals.increment(errors[0]?.code ?? errorCode);
    const refusal = { kind: "refused", errorCode, objects: errors } as const;
    if (errorCode !== "NOTHING_SUITABLE") return refusal;
    const quantity = Number(errors[0]?.rejectedValue);
    const unsuitable = { quantity, largestTogether: largestTogether!, available: available! };
    return { ...refusal, unsuitable };
  }
}

function isRefusal(errorCode: string | undefined): errorCode is RefusalCode {
  return REFUSAL_CODES.has(errorCode);
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
  readonly #onClose: () => void;
  #isOpen = true;

  /** @param onClose - Ends the sale for those outside this room. */
  constructor(onClose = () => {}) {
    this.#onClose = onClose;
  }

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
    this.#onClose();
    for (const end of this.#pausing) end();
    this.admit(this.#waiting.length);
  }
}
