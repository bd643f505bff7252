/**
 * The life of one buyer: choose, lock, hesitate, then pay or give up; after a refusal choose
 * again. Nothing is left in doubt: what a lost connection left open is settled with the server
 * before the buyer goes on.
 */

import { type Basket, type Booking, bookingOf } from "../basket.ts";
import type { Book } from "../books/book.ts";
import type { BookingDesk, Refusal } from "../books/desk.ts";
import type { Ledger } from "../books/ledger.ts";
import { ErrorCode, RefusalCode } from "../contract.ts";
import type { Random } from "../random.ts";
import type { BookingCall, Tally } from "../tally.ts";
import type { Doors } from "./doors.ts";
import type { View } from "./view.ts";

/**
 * A neighbour who gives up may leave a single seat beside a basket; the sale of the basket is then
 * refused until somebody takes that seat. So often the buyer waits for it before giving back.
 */
const SALE_RETRIES_MAX = 4;
/**
 * A seat that is free but believed held makes every choice of its only free neighbour an orphan.
 * After so many orphan refusals in a row the buyer has the view updated.
 */
const ORPHAN_REFUSALS_MAX = 8;

/** What all buyers of a run share. */
export interface Market {
  readonly desk: BookingDesk;
  readonly view: View;
  readonly doors: Doors;
  readonly book: Book;
  readonly tally: Tally;
  readonly ledger?: Ledger | undefined;
}

export interface Habits {
  readonly count: number;
  readonly prefersPlaces: boolean;
  readonly givesUp: boolean;
  /** Hesitation between lock and purchase. */
  readonly thinkMs: number;
}

export class Buyer {
  readonly #sessionId: string;
  readonly #habits: Habits;
  readonly #random: Random;
  readonly #market: Market;
  #orphanRefusals = 0;

  constructor(sessionId: string, habits: Habits, random: Random, market: Market) {
    this.#sessionId = sessionId;
    this.#habits = habits;
    this.#random = random;
    this.#market = market;
  }

  /** Resolves when the buyer has bought, has given up, or finds nothing left or the doors shut. */
  async live(): Promise<void> {
    const { view, doors, tally } = this.#market;
    tally.buyers.served += 1;
    while (doors.areOpen) {
      const wish = { ...this.#habits, orphanRefusals: this.#orphanRefusals };
      const basket = view.choose(wish, this.#random);
      if (basket === undefined) break;
      const booking = bookingOf(this.#sessionId, basket);
      if (!(await this.#hold(booking))) continue;
      await doors.linger(this.#habits.thinkMs);
      if (this.#habits.givesUp) {
        await this.#release(booking);
        tally.buyers.gaveUp += 1;
        return;
      }
      if (await this.#pay(booking)) return;
    }
    tally.buyers.emptyHanded += 1;
  }

  /** @returns whether the buyer now holds the basket. */
  async #hold(booking: Booking): Promise<boolean> {
    const { desk, view } = this.#market;
    const outcome = await desk.book("lock", booking);
    if (outcome.kind === "done") {
      this.#orphanRefusals = 0;
      view.held(booking.basket);
      this.#acknowledged("lock", booking);
      return true;
    }
    if (outcome.kind === "unknown") {
      await this.#release(booking);
      return false;
    }
    if (outcome.errorCode === ErrorCode.ORPHAN_SEAT) {
      this.#orphanRefusals += 1;
      if (this.#orphanRefusals > ORPHAN_REFUSALS_MAX) view.doubt();
    } else {
      this.#orphanRefusals = 0;
      view.learn(booking.basket, outcome.objects);
    }
    return false;
  }

  /**
   * Gives back a basket that is held, or may be held: unlock is safe to ask for again, and it is
   * refused only where this session holds nothing, since a lock is all or nothing.
   */
  async #release(booking: Booking): Promise<void> {
    const { desk, view } = this.#market;
    for (let attempt = 0; ; attempt++) {
      const outcome = await desk.book("unlock", booking, attempt);
      if (outcome.kind === "refused") return;
      if (outcome.kind === "done") {
        view.released(booking.basket);
        this.#acknowledged("unlock", booking);
        return;
      }
    }
  }

  /** @returns whether the basket was bought; if not, it is no longer held. */
  async #pay(booking: Booking): Promise<boolean> {
    const { desk, doors, tally } = this.#market;
    let isInDoubt = false;
    for (let attempt = 0; ; attempt++) {
      const outcome = await desk.book("sale", booking, attempt);
      if (outcome.kind === "unknown") {
        isInDoubt = true;
      } else if (outcome.kind === "done" || (isInDoubt && wasSold(outcome, booking.basket))) {
        this.#bought(booking);
        return true;
      } else if (outcome.errorCode === ErrorCode.ORPHAN_SEAT && attempt < SALE_RETRIES_MAX) {
        await doors.linger(this.#habits.thinkMs);
      } else {
        if (outcome.errorCode === ErrorCode.NOT_AVAILABLE) tally.holdsLost += 1;
        await this.#release(booking);
        return false;
      }
    }
  }

  #bought(booking: Booking): void {
    const { view, book, tally } = this.#market;
    view.sold(booking.basket);
    book.enter(booking.basket);
    this.#acknowledged("sale", booking);
    tally.buyers.bought += 1;
  }

  #acknowledged(op: BookingCall, booking: Booking): void {
    this.#market.ledger?.write(op, "answered", booking);
  }
}

/**
 * Whether a refused sale proves that an earlier one of unknown outcome was done. The hold was
 * acknowledged and only its session can buy it; so seats that are SOLD now were sold to it, and
 * places that it holds no longer went the same way (the counters prove it in the final check).
 */
function wasSold(refusal: Refusal, basket: Basket): boolean {
  if (refusal.errorCode !== ErrorCode.NOT_AVAILABLE) return false;
  if (basket.kind === "places") return true;
  const sold = refusal.objects.filter((object) => object.code === RefusalCode.SOLD);
  return sold.length === basket.seatIds.length;
}
