/** The buyers of each mix: what a connection requests next, given its last outcome. */
import {
  DONE,
  drawProfile,
  type Habits,
  type Market,
  shop,
  TAKEN,
} from "../../server/onsale/buyer.ts";
import { Random } from "../../server/onsale/random.ts";
import type { Mix, Plan } from "./plan.ts";
import { type BookingKind, Outcome, type Wire } from "./wire.ts";

export interface Step {
  readonly request: Buffer;
  /** Milliseconds to wait before the request. */
  readonly pauseMs: number;
  /** Whether the buyer holds nothing after this step, so that it may stop when the time is over. */
  readonly isLast: boolean;
}

/** Gets the outcome of each step, and ends when the buyer is finished. */
export type Buyer = Generator<Step, void, Outcome>;

/** One request in ten is a change. */
const PAGES = Array.from({ length: 9 }, () => "page" as const);
/** What a buyer repeats in the mixes that leave every seat as it was. */
const TURNS: Readonly<Record<Mix, readonly (BookingKind | "page")[] | null>> = {
  lock: ["lock", "unlock"],
  direct: ["directsale", "revertsale"],
  wide: ["lock", "unlock"],
  read: [...PAGES, "lock", ...PAGES, "unlock"],
  "on-sale": null,
  hot: null,
};
/** How many pairs a connection uses in turn, if there are enough. */
const PAIRS_MAX = 64;
/** A pair at a time. */
const HABITS: Habits = {
  partySizes: [2],
  placesShare: 0,
  giveUpShare: 0.3,
  keepShare: 0,
  thinkMs: { min: 0, max: 4 },
  choicesMax: Infinity,
};
const BLIND_HABITS: Habits = { ...HABITS, giveUpShare: 0, thinkMs: { min: 0, max: 0 } };

/** All buyers of one plan, and what they share. */
export class Crowd {
  readonly soldPairs: number[] = [];
  readonly #plan: Plan;
  readonly #wires: readonly Wire[];
  readonly #random: Random;
  readonly #pairCount: number;
  /** Pairs that the seat map shows as free or locked. */
  readonly #unsold: number[];

  /** @param wires - One for each event. */
  constructor(plan: Plan, wires: readonly Wire[]) {
    this.#plan = plan;
    this.#wires = wires;
    this.#random = new Random(plan.seed);
    this.#pairCount = plan.events[0]!.seatIds.length >> 1;
    this.#unsold = Array.from({ length: this.#pairCount }, (_, pair) => pair);
  }

  buyer(connection: number): Buyer {
    const { mix } = this.#plan;
    if (TURNS[mix] === null) return this.#shop(`bench-${connection}`, mix === "hot");
    return repeat(this.#turns(TURNS[mix], connection));
  }

  /** Requests for pairs that no other connection uses, from all over the events. */
  #turns(turn: (typeof TURNS)[Mix] & object, connection: number): Step[] {
    const { connections } = this.#plan;
    const pairs = this.#pairCount * this.#wires.length;
    const count = Math.max(1, Math.min(PAIRS_MAX, Math.floor(pairs / connections)));
    const stride = Math.floor(pairs / (connections * count));
    return Array.from({ length: count }, (_, i) => {
      const place = (i * connections + connection) * stride;
      const wire = this.#wires[place % this.#wires.length]!;
      const pair = Math.floor(place / this.#wires.length);
      return turn.map((kind, at) => ({
        request:
          kind === "page" ? wire.page(pair + at) : wire.booking(kind, pair, `bench-${connection}`),
        pauseMs: 0,
        isLast: at === turn.length - 1,
      }));
    }).flat();
  }

  /**
   * One buyer after the other, until nothing is left.
   * @param isBlind - Learns of a sale only from a refusal, and neither hesitates nor gives up.
   */
  *#shop(session: string, isBlind: boolean): Buyer {
    const random = this.#random;
    const market = this.#market(isBlind);
    const habits = isBlind ? BLIND_HABITS : HABITS;
    for (let end = ""; end !== "EMPTY_HANDED";) {
      const buyer = shop(drawProfile(habits, random, session), random, market);
      let turn = buyer.next();
      while (turn.done !== true) {
        const { call, basket, pauseMs } = turn.value;
        const request = this.#wires[0]!.booking(call, basket, session);
        const outcome = yield { request, pauseMs, isLast: false };
        turn = buyer.next(outcome === Outcome.DONE ? DONE : TAKEN);
      }
      end = turn.value;
    }
  }

  #market(isBlind: boolean): Market<number> {
    const pairs = isBlind ? [...this.#unsold] : this.#unsold;
    return {
      choose: (_, random) => {
        const isOver = pairs.length === 0 || this.soldPairs.length === this.#pairCount;
        return isOver ? undefined : pairs[random.below(pairs.length)]!;
      },
      markRefused: (pair) => {
        if (isBlind) remove(pairs, pair);
      },
      markSold: (pair) => {
        this.soldPairs.push(pair);
        remove(pairs, pair);
      },
      markLost: () => {
        throw new Error("the sale of a pair that this buyer had locked was refused");
      },
    };
  }
}

/** Each turn returns what it took. */
function* repeat(steps: readonly Step[]): Buyer {
  for (;;) for (const step of steps) yield step;
}

function remove(pairs: number[], pair: number): void {
  const at = pairs.indexOf(pair);
  if (at < 0) return;
  pairs[at] = pairs.at(-1)!;
  pairs.pop();
}
