/** The buyers of each mix: what a connection requests next, given its last outcome. */
import { Random } from "../../server/onsale/random.ts";
import type { Mix, Plan } from "./plan.ts";
import { type BookingKind, Outcome, type Wire } from "./wire.ts";

export interface Buyer {
  /** The next request; null when the buyer is finished. */
  next(last: Outcome): Buffer | null;
  /** Whether the buyer holds nothing, so that it may stop when the time is over. */
  readonly isIdle: boolean;
  /** Milliseconds to wait before the request that `next` returned. */
  readonly pauseMs: number;
}

type Step = BookingKind | "page";

/** One request in ten is a change. */
const PAGES: readonly Step[] = Array.from({ length: 9 }, () => "page");
/** What a buyer repeats in the mixes that leave every seat as it was. */
const TURNS: Readonly<Record<Mix, readonly Step[] | null>> = {
  lock: ["lock", "unlock"],
  direct: ["directsale", "revertsale"],
  wide: ["lock", "unlock"],
  read: [...PAGES, "lock", ...PAGES, "unlock"],
  "on-sale": null,
  hot: null,
};
/** How many pairs a connection uses in turn, if there are enough. */
const PAIRS_MAX = 64;
const HESITATION_MS_MAX = 4;
const GIVE_UP_SHARE = 0.3;

/** All buyers of one plan, and what they share. */
export class Crowd {
  readonly soldPairs: number[] = [];
  readonly random: Random;
  readonly wires: readonly Wire[];
  readonly pairCount: number;
  /** Pairs that the seat map shows as free or locked. */
  readonly #unsold: number[];
  readonly #plan: Plan;

  /** @param wires - One for each event. */
  constructor(plan: Plan, wires: readonly Wire[]) {
    this.#plan = plan;
    this.wires = wires;
    this.random = new Random(plan.seed);
    this.pairCount = plan.events[0]!.seatIds.length >> 1;
    this.#unsold = Array.from({ length: this.pairCount }, (_, pair) => pair);
  }

  buyer(connection: number): Buyer {
    const { mix } = this.#plan;
    const turn = TURNS[mix];
    if (turn !== null) return new Repeater(this.#turns(turn, connection), turn.length);
    const isBlind = mix === "hot";
    const pairs = isBlind ? [...this.#unsold] : this.#unsold;
    return new Shopper(this, { session: `bench-${connection}`, pairs, isBlind });
  }

  /** Requests for pairs that no other connection uses, from all over the events. */
  #turns(turn: readonly Step[], connection: number): Buffer[] {
    const { connections } = this.#plan;
    const pairs = this.pairCount * this.wires.length;
    const count = Math.max(1, Math.min(PAIRS_MAX, Math.floor(pairs / connections)));
    const stride = Math.floor(pairs / (connections * count));
    return Array.from({ length: count }, (_, i) => {
      const place = (i * connections + connection) * stride;
      const wire = this.wires[place % this.wires.length]!;
      const pair = Math.floor(place / this.wires.length);
      const session = `bench-${connection}`;
      return turn.map((step, at) =>
        step === "page" ? wire.page(pair + at) : wire.booking(step, pair, session),
      );
    }).flat();
  }
}

/** Sends the same requests over and over; at the end of a turn it has returned what it took. */
class Repeater implements Buyer {
  readonly pauseMs = 0;
  readonly #requests: readonly Buffer[];
  readonly #turnLength: number;
  #at = -1;

  constructor(requests: readonly Buffer[], turnLength: number) {
    this.#requests = requests;
    this.#turnLength = turnLength;
  }

  get isIdle(): boolean {
    return (this.#at + 1) % this.#turnLength === 0;
  }

  next(): Buffer {
    this.#at = this.#at + 1 === this.#requests.length ? 0 : this.#at + 1;
    return this.#requests[this.#at]!;
  }
}

interface Shopping {
  readonly session: string;
  /** Pairs that the buyer may try; it removes those that it cannot get. */
  readonly pairs: number[];
  /** Learns of a sale only from a refusal, and neither hesitates nor gives up. */
  readonly isBlind: boolean;
}

/** Locks a pair, hesitates, then buys it or gives it up; continues until nothing is left. */
class Shopper implements Buyer {
  readonly #crowd: Crowd;
  readonly #shopping: Shopping;
  #asked: BookingKind | null = null;
  #pair = -1;
  pauseMs = 0;
  /** It stops by itself, when every seat is sold. */
  readonly isIdle = false;

  constructor(crowd: Crowd, shopping: Shopping) {
    this.#crowd = crowd;
    this.#shopping = shopping;
  }

  next(last: Outcome): Buffer | null {
    const { random, soldPairs, pairCount } = this.#crowd;
    const { pairs, isBlind } = this.#shopping;
    this.pauseMs = 0;
    const isDone = last === Outcome.DONE;
    if (this.#asked === "lock" && isDone) {
      this.pauseMs = random.between(0, isBlind ? 0 : HESITATION_MS_MAX);
      return this.#ask(random.chance(isBlind ? 0 : GIVE_UP_SHARE) ? "unlock" : "sale");
    }
    if (this.#asked !== null && this.#asked !== "lock" && !isDone) {
      throw new Error(`the ${this.#asked} of a pair that this buyer had locked was refused`);
    }
    if (this.#asked === "sale") soldPairs.push(this.#pair);
    if (this.#asked === "sale" || (isBlind && this.#asked === "lock")) remove(pairs, this.#pair);
    if (pairs.length === 0 || soldPairs.length >= pairCount) return null;
    this.#pair = pairs[random.below(pairs.length)]!;
    return this.#ask("lock");
  }

  #ask(kind: BookingKind): Buffer {
    this.#asked = kind;
    return this.#crowd.wires[0]!.booking(kind, this.#pair, this.#shopping.session);
  }
}

function remove(pairs: number[], pair: number): void {
  const at = pairs.indexOf(pair);
  if (at < 0) return;
  pairs[at] = pairs.at(-1)!;
  pairs.pop();
}
