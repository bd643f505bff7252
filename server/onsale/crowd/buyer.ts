/**
 * One buyer: chooses, locks, hesitates, then pays or gives up; after a refusal, chooses again. If a
 * lost connection leaves an outcome unknown, the buyer resolves it with the server before anything
 * else.
 */
import { type Basket, type Booking, createBooking } from "../basket.ts";
import type { SalesRecord } from "../books/sales-record.ts";
import type { Random } from "../random.ts";
import type { BookingClient, Refusal, Services } from "./booking-client.ts";
import type { InventoryView } from "./inventory-view.ts";
import type { WaitingRoom } from "./waiting-room.ts";

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
export interface SaleContext extends Services {
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

export class Buyer {
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
