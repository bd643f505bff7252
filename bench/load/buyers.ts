/** The people of each mix: what a connection asks next, given the answer before. */
import { Random } from "../../server/onsale/random.ts";
import type { Mix, Plan } from "./plan.ts";
import { Outcome, type RequestKind, type Wire } from "./wire.ts";

export interface Buyer {
  /** The next request; null when there is nothing more to ask. */
  next(last: Outcome): Buffer | null;
  /** True when the buyer may be sent home at the end of the time, holding nothing. */
  readonly isIdle: boolean;
  /** Milliseconds to wait before the request that `next` gave. */
  readonly pauseMs: number;
}

/** What the buyers of one plan share. */
export class Crowd {
  readonly soldPairs: number[] = [];
  readonly #plan: Plan;
  readonly #wires: readonly Wire[];
  readonly #random: Random;
  /** Pairs that the seat map shows as not sold. */
  readonly #unsold: number[];

  /** @param wires - One for each hall. */
  constructor(plan: Plan, wires: readonly Wire[]) {
    this.#plan = plan;
    this.#wires = wires;
    this.#random = new Random(plan.seed);
    this.#unsold = Array.from({ length: this.#pairCount }, (_, pair) => pair);
  }

  get #pairCount(): number {
    return this.#plan.halls[0]!.seatIds.length >> 1;
  }

  buyer(connection: number): Buyer {
    const { mix } = this.#plan;
    const kinds = TURNS[mix];
    if (kinds !== null) return new Repeater(this.#turns(kinds, connection));
    const isHot = mix === "hot";
    const pairs = isHot ? [...this.#unsold] : this.#unsold;
    return new Shopper({
      session: `bench-${connection}`,
      wire: this.#wires[0]!,
      pairs,
      isBlind: isHot,
      hesitationMsMax: isHot ? 0 : HESITATION_MS_MAX,
      givesUp: isHot ? 0 : GIVES_UP,
      random: this.#random,
      soldPairs: this.soldPairs,
      isSoldOut: () => this.soldPairs.length >= this.#pairCount,
    });
  }

  /** The connection's own pairs, as many as there are but not too many, from all over the halls. */
  #turns(kinds: readonly (RequestKind | "page")[], connection: number): Turns {
    const { connections } = this.#plan;
    const wires = this.#wires;
    const pairs = this.#pairCount * wires.length;
    const count = Math.max(1, Math.min(PAIRS_MAX, Math.floor(pairs / connections)));
    const stride = Math.floor(pairs / (connections * count));
    const turns = Array.from({ length: count }, (_, turn) => {
      const pair = (turn * connections + connection) * stride;
      const wire = wires[pair % wires.length]!;
      return turnOf(kinds, wire, { pair: Math.floor(pair / wires.length), connection });
    });
    return { requests: turns.flat(), length: kinds.length };
  }
}

/** One request in ten is a change. */
const PAGES_BEFORE_CHANGE = 9;
const HESITATION_MS_MAX = 4;
const GIVES_UP = 0.3;
/** Pairs that a connection goes through, where there are so many. */
const PAIRS_MAX = 64;

/** What is asked again and again in the mixes that leave all as it was. */
const TURNS: Readonly<Record<Mix, readonly (RequestKind | "page")[] | null>> = {
  lock: ["lock", "unlock"],
  direct: ["directsale", "revertsale"],
  wide: ["lock", "unlock"],
  read: [...pages(), "lock", ...pages(), "unlock"],
  "on-sale": null,
  hot: null,
};

function pages(): "page"[] {
  return Array.from({ length: PAGES_BEFORE_CHANGE }, () => "page");
}

function turnOf(
  kinds: readonly (RequestKind | "page")[],
  wire: Wire,
  { pair, connection }: { readonly pair: number; readonly connection: number },
) {
  return kinds.map((kind, turn) =>
    kind === "page" ? wire.page(pair + turn) : wire.request(kind, pair, `bench-${connection}`),
  );
}

interface Turns {
  readonly requests: readonly Buffer[];
  /** Requests of one turn; after each, all is as it was. */
  readonly length: number;
}

/** Sends the same requests in turn; at the end of a turn it has given back what it took. */
class Repeater implements Buyer {
  readonly pauseMs = 0;
  readonly #requests: readonly Buffer[];
  readonly #length: number;
  #turn = -1;

  constructor({ requests, length }: Turns) {
    this.#requests = requests;
    this.#length = length;
  }

  get isIdle(): boolean {
    return (this.#turn + 1) % this.#length === 0;
  }

  next(): Buffer {
    this.#turn = this.#turn + 1 === this.#requests.length ? 0 : this.#turn + 1;
    return this.#requests[this.#turn]!;
  }
}

interface Shopping {
  readonly session: string;
  readonly wire: Wire;
  /** Where the buyer looks; what it knows to be gone is taken out. */
  readonly pairs: number[];
  /** Learns of a sale only by being refused, and has a list of its own. */
  readonly isBlind: boolean;
  readonly hesitationMsMax: number;
  readonly givesUp: number;
  readonly random: Random;
  /** Told of each confirmed sale. */
  readonly soldPairs: number[];
  readonly isSoldOut: () => boolean;
}

/** Locks a pair, hesitates, then buys it or gives it up; goes on until nothing is left. */
class Shopper implements Buyer {
  readonly #shopping: Shopping;
  #asked: RequestKind | null = null;
  #pair = -1;
  pauseMs = 0;
  /** It leaves by itself, when all is sold. */
  readonly isIdle = false;

  constructor(shopping: Shopping) {
    this.#shopping = shopping;
  }

  next(last: Outcome): Buffer | null {
    const { random, pairs, isBlind, soldPairs, isSoldOut } = this.#shopping;
    this.pauseMs = 0;
    const isDone = last === Outcome.DONE;
    if (this.#asked === "lock" && isDone) {
      this.pauseMs = random.between(0, this.#shopping.hesitationMsMax);
      return this.#ask(random.chance(this.#shopping.givesUp) ? "unlock" : "sale");
    }
    if (this.#asked !== null && this.#asked !== "lock" && !isDone) {
      throw new Error(`${this.#asked} of a pair that was locked by this buyer was refused`);
    }
    if (this.#asked === "sale") soldPairs.push(this.#pair);
    if (this.#asked === "sale" || (isBlind && this.#asked === "lock")) remove(pairs, this.#pair);
    if (pairs.length === 0 || isSoldOut()) return null;
    this.#pair = pairs[random.below(pairs.length)]!;
    return this.#ask("lock");
  }

  #ask(kind: RequestKind): Buffer {
    this.#asked = kind;
    return this.#shopping.wire.request(kind, this.#pair, this.#shopping.session);
  }
}

function remove(pairs: number[], pair: number): void {
  const at = pairs.indexOf(pair);
  if (at < 0) return;
  pairs[at] = pairs.at(-1)!;
  pairs.pop();
}
