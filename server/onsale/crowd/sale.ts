/**
 * The sale: a crowd of constant size, and a watcher that updates the view when nothing seems free
 * and decides when the sale is over.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { InventoryReader } from "../http/inventory-reader.ts";
import type { CrowdOptions } from "../options.ts";
import { Random } from "../random.ts";
import { Buyer, type SaleContext } from "./buyer.ts";

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
