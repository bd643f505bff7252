/**
 * The buyer of every crowd: chooses, locks, hesitates, then buys, gives up or lets the hold expire;
 * after a refusal, chooses again. A buyer is a pure state machine: it yields its next call and
 * continues with the outcome, so the same buyer plays over HTTP, over a command socket, or against
 * an engine in the same process. Players, benchmarks, fault campaigns and the demo differ in
 * habits, market and transport only.
 */
import type { RefusalCode, RefusedObject } from "./contract.ts";
import type { Random } from "./random.ts";
import type { BookingCall } from "./statistics.ts";

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
const UINT32_COUNT = 2 ** 32;

/** The distribution of the buyers of a crowd. Shares are from 0 to 1. */
export interface Habits {
  /** Seats or places wanted; each item is equally likely. */
  readonly partySizes: readonly number[];
  /** Buyers who prefer general admission. */
  readonly placesShare: number;
  readonly giveUpShare: number;
  /** Buyers who lock and never come back. */
  readonly keepShare: number;
  /** Hesitation between lock and purchase: uniform, both ends included. */
  readonly thinkMs: { readonly min: number; readonly max: number };
  /** Baskets that a buyer tries to lock. */
  readonly choicesMax: number;
}

export interface BuyerProfile {
  readonly sessionId: string;
  /** Seats or places wanted. */
  readonly count: number;
  readonly prefersPlaces: boolean;
  readonly intent: "BUY" | "GIVE_UP" | "KEEP";
  readonly thinkMs: number;
  readonly choicesMax: number;
}

/** Draws four numbers, whatever the habits, so that equal seeds give equal wishes. */
export function drawProfile(habits: Habits, random: Random, sessionId: string): BuyerProfile {
  const { partySizes, placesShare, giveUpShare, keepShare, thinkMs, choicesMax } = habits;
  const count = partySizes[random.below(partySizes.length)]!;
  const prefersPlaces = random.chance(placesShare);
  const share = random.next() / UINT32_COUNT;
  const isKept = share < giveUpShare + keepShare;
  const intent = share < giveUpShare ? "GIVE_UP" : isKept ? "KEEP" : "BUY";
  const hesitation = random.between(thinkMs.min, thinkMs.max);
  return { sessionId, count, prefersPlaces, intent, thinkMs: hesitation, choicesMax };
}

/** A profile, and the experience of its buyer so far. */
export interface BuyerWish extends BuyerProfile {
  /** Consecutive refusals for an orphan seat. */
  readonly orphanRefusals: number;
  /** The last answer of `best`, if it found nothing. */
  readonly unsuitable?: Unsuitable | undefined;
}

/** The largest grant of `best` in place of `quantity`. */
export interface Unsuitable {
  readonly quantity: number;
  readonly largestTogether: number;
  readonly available: number;
}

/** The inventory as its buyers see it, and their news of it. It may be out of date. */
export interface Market<Basket> {
  /** @returns undefined when nothing suitable seems free, or the sale is over. */
  choose(wish: BuyerWish, random: Random): Basket | undefined;
  markHeld?(basket: Basket): void;
  markReleased?(basket: Basket): void;
  markRefused?(basket: Basket, refusal: Refusal): void;
  /** @param isProven - By a refusal: the sale itself had no answer. */
  markSold?(basket: Basket, isProven: boolean): void;
  /** An acknowledged hold was gone when its buyer wanted to pay. */
  markLost?(basket: Basket): void;
  /** The view is wrong in a way that no answer to a buyer will correct. */
  markStale?(): void;
  /** Whether a refused sale proves that an earlier one of unknown outcome succeeded. */
  provesSale?(basket: Basket, refusal: Refusal): boolean;
}

/** The outcome of a call; unknown if its answer was lost. */
export type Outcome<Basket = never> =
  /** `basket` is held where the server has chosen it. */
  { readonly kind: "done"; readonly basket?: Basket } | { readonly kind: "unknown" } | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly errorCode: RefusalCode;
  readonly objects: readonly RefusedObject[];
  readonly unsuitable?: Unsuitable;
}

export const DONE: Outcome = { kind: "done" };
/** A refusal without reasons. */
export const TAKEN: Outcome = {
  kind: "refused",
  errorCode: "INVENTORY_NOT_AVAILABLE",
  objects: [],
};

/** A lock may be one of places of the server's choice. */
type BuyerCall = Exclude<BookingCall, "best">;

/** The next call of a buyer. */
export interface Step<Basket> {
  readonly call: BuyerCall;
  readonly basket: Basket;
  /** Before the call. */
  readonly pauseMs: number;
  /** Counts the repetitions of a call of unknown outcome. */
  readonly attempt: number;
}

export type BuyerEnd = "BOUGHT" | "GAVE_UP" | "KEPT" | "EMPTY_HANDED";
export type Buyer<Basket> = Generator<Step<Basket>, BuyerEnd, Outcome<Basket>>;
type Part<Basket, Result> = Generator<Step<Basket>, Result, Outcome<Basket>>;

/** Starts a buyer. A buyer who holds something pays or gives up, even after the end of the sale. */
export function* shop<Basket>(
  profile: BuyerProfile,
  random: Random,
  market: Market<Basket>,
): Buyer<Basket> {
  const { intent, thinkMs, choicesMax } = profile;
  let { count } = profile;
  let orphanRefusals = 0;
  let unsuitable: Unsuitable | undefined;
  for (let choices = 0; choices < choicesMax; choices++) {
    const wished = market.choose({ ...profile, count, orphanRefusals, unsuitable }, random);
    if (wished === undefined) break;
    const outcome = yield { call: "lock", basket: wished, pauseMs: 0, attempt: 0 };
    if (outcome.kind === "unknown") {
      yield* release(wished, 0, market);
    } else if (outcome.kind === "done") {
      const basket = outcome.basket ?? wished;
      orphanRefusals = 0;
      market.markHeld?.(basket);
      if (intent === "KEEP") return "KEPT";
      if (intent === "GIVE_UP") {
        yield* release(basket, thinkMs, market);
        return "GAVE_UP";
      }
      if (yield* pay(basket, thinkMs, market)) return "BOUGHT";
    } else if (outcome.errorCode === "ADMISSION_INVALID") {
      // The time inside is over.
      break;
    } else if (outcome.errorCode === "ORPHAN_SEAT") {
      orphanRefusals += 1;
      if (orphanRefusals > ORPHAN_REFUSALS_MAX) market.markStale?.();
    } else {
      orphanRefusals = 0;
      ({ unsuitable } = outcome);
      market.markRefused?.(wished, outcome);
      if (isBeyondLimit(outcome)) count -= 1;
      if (count === 0) break;
    }
  }
  return "EMPTY_HANDED";
}

/** Fewer seats may be granted. */
function isBeyondLimit({ objects }: Refusal): boolean {
  return objects.some(({ code }) => code === "HELD_LIMIT" || code === "VISITOR_LIMIT");
}

/**
 * Releases a basket that is held or may be held. An unlock can be repeated safely, and the server
 * refuses it only if this session holds nothing, because a lock is all or nothing.
 */
function* release<Basket>(
  basket: Basket,
  thinkMs: number,
  market: Market<Basket>,
): Part<Basket, void> {
  for (let attempt = 0; ; attempt++) {
    const pauseMs = attempt === 0 ? thinkMs : 0;
    const { kind } = yield { call: "unlock", basket, pauseMs, attempt };
    if (kind === "done") market.markReleased?.(basket);
    if (kind !== "unknown") return;
  }
}

/** @returns Whether the basket was bought. Otherwise it is no longer held. */
function* pay<Basket>(
  basket: Basket,
  thinkMs: number,
  market: Market<Basket>,
): Part<Basket, boolean> {
  let mayBeSold = false;
  let pauseMs = thinkMs;
  for (let attempt = 0; ; attempt++) {
    const outcome = yield { call: "sale", basket, pauseMs, attempt };
    pauseMs = 0;
    if (outcome.kind === "unknown") {
      mayBeSold = true;
    } else if (outcome.kind === "done") {
      market.markSold?.(basket, false);
      return true;
    } else if (mayBeSold && market.provesSale?.(basket, outcome) === true) {
      market.markSold?.(basket, true);
      return true;
    } else if (outcome.errorCode === "ORPHAN_SEAT" && attempt < SALE_RETRIES_MAX) {
      pauseMs = thinkMs;
    } else {
      if (outcome.errorCode === "INVENTORY_NOT_AVAILABLE") market.markLost?.(basket);
      yield* release(basket, 0, market);
      return false;
    }
  }
}

/** Plays a buyer over an asynchronous transport. */
export async function play<Basket>(
  buyer: Buyer<Basket>,
  book: (step: Step<Basket>) => Promise<Outcome<Basket>>,
  pause: (durationMs: number) => Promise<unknown>,
): Promise<BuyerEnd> {
  let turn = buyer.next();
  while (turn.done !== true) {
    if (turn.value.pauseMs > 0) await pause(turn.value.pauseMs);
    turn = buyer.next(await book(turn.value));
  }
  return turn.value;
}
