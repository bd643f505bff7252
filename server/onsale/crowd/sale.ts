/**
 * The sale itself: a crowd of constant size at the doors, and a watch that keeps the view honest
 * when it shows nothing left and says when everything is sold.
 */

import { randomUUID } from "node:crypto";
import type { Listing } from "../books/listing.ts";
import { sleep } from "../http/clock.ts";
import type { CrowdOptions } from "../options.ts";
import { Random } from "../random.ts";
import { Buyer, type Habits, type Market } from "./buyer.ts";

const WATCH_INTERVAL_MS = 100;
/**
 * One read in so many, the first included, is of the whole listing: when the view runs dry for the
 * first time nearly all has changed anyway; later, because a price that was taken away is not
 * reported as a change, and a late refusal may have overwritten news that is not told again.
 */
const READS_PER_FULL_READ = 20;
const MS_PER_SECOND = 1_000;

/**
 * Plays until everything is sold or the time is up. Buyers who hold something at that moment
 * still finish, so nothing of this run stays held.
 */
export async function playSale(
  market: Market,
  listing: Listing,
  options: CrowdOptions,
): Promise<void> {
  const { doors } = market;
  const timeLimit = setTimeout(() => doors.close(), options.seconds * MS_PER_SECOND);
  const crowd = new Crowd(market, options);
  const lines = Array.from({ length: options.buyers }, () => crowd.serveLine());
  try {
    await Promise.all([watch(market, listing), ...lines]);
  } finally {
    clearTimeout(timeLimit);
    doors.close();
  }
}

class Crowd {
  readonly #market: Market;
  readonly #options: CrowdOptions;
  /** Sessions of one run share a prefix that no other run has, also with the same seed. */
  readonly #runName = `onsale-${randomUUID().slice(0, 8)}`;
  #buyerCount = 0;

  constructor(market: Market, options: CrowdOptions) {
    this.#market = market;
    this.#options = options;
  }

  /** One after the other, while the doors are open: when a buyer leaves the next one comes. */
  async serveLine(): Promise<void> {
    const { doors, view } = this.#market;
    while (doors.areOpen) {
      if (view.freeCount > 0) await this.#nextBuyer().live();
      else await doors.wait();
    }
  }

  #nextBuyer(): Buyer {
    this.#buyerCount += 1;
    const random = Random.ofBuyer(this.#options.seed, this.#buyerCount);
    const sessionId = `${this.#runName}-${this.#buyerCount}`;
    return new Buyer(sessionId, drawHabits(this.#options, random), random, this.#market);
  }
}

function drawHabits(options: CrowdOptions, random: Random): Habits {
  return {
    count: random.between(options.seatsPerBuyer.min, options.seatsPerBuyer.max),
    prefersPlaces: random.chance(options.gaShare),
    givesUp: random.chance(options.giveUp),
    thinkMs: random.between(0, 2 * options.thinkMs),
  };
}

/** Reads from the server only while the view shows nothing to choose, or is in doubt. */
async function watch({ view, doors }: Market, listing: Listing): Promise<void> {
  let readCount = 0;
  while (doors.areOpen) {
    if (view.needsUpdate) {
      const isFull = readCount % READS_PER_FULL_READ === 0;
      view.updateSeats(await (isFull ? listing.readSeats() : listing.readChanges()));
      readCount += 1;
      view.updateAreas(await listing.readAreas());
      if (view.openCount === 0) doors.close();
    }
    doors.admit(view.freeCount);
    await sleep(WATCH_INTERVAL_MS);
  }
}
