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
  /** One request, or a batch. */
  readonly request: Buffer;
  readonly size: number;
  /** Milliseconds to wait before the request. */
  readonly pauseMs: number;
  /** The buyer holds nothing after this step, so that it may stop when the time is over. */
  readonly isLast: boolean;
}

/** Gets the outcome of each step, and ends when the buyer is finished. */
export type Buyer = Generator<Step, void, Outcome>;

/** One request in ten is a change. */
const PAGES = Array.from({ length: 9 }, () => "page" as const);
/** Repeated steps of a buyer in the mixes without a lasting change; null in the others. */
const TURNS: Readonly<Record<Mix, readonly (BookingKind | "page")[] | null>> = {
  lock: ["lock", "unlock"],
  direct: ["directsale", "revertsale"],
  wide: ["lock", "unlock"],
  read: [...PAGES, "lock", ...PAGES, "unlock"],
  "on-sale": null,
  hot: null,
};
/** Pairs of seats of a connection, used in turn, if there are enough. */
const PAIRS_MAX = 64;
/** Of pipelined requests. */
const BATCH_MAX = 64;
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
  readonly #random: Random;
  readonly #pairCount: number;
  /** Pairs that the seat map shows as free or locked. */
  readonly #unsold: number[];

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#random = new Random(plan.seed);
    this.#pairCount = plan.event.seatIds.length >> 1;
    this.#unsold = Array.from({ length: this.#pairCount }, (_, pair) => pair);
  }

  /** One buyer, or one for each batch in flight. */
  buyers(connection: number, wire: Wire): Buyer[] {
    const { mix, inFlight } = this.#plan;
    if (inFlight !== undefined) return this.#batches(connection, wire, inFlight);
    const turn = TURNS[mix];
    if (turn === null) return [this.#shop(connection, wire)];
    return [repeat(this.#turns(turn, connection, wire))];
  }

  /** Pairs in order, which other connections use only where the event has too few. */
  #batches(connection: number, wire: Wire, inFlight: number): Buyer[] {
    return Array.from({ length: Math.ceil(inFlight / BATCH_MAX) }, (_, i) => {
      const size = Math.min(BATCH_MAX, inFlight - i * BATCH_MAX);
      const first = connection * inFlight + i * BATCH_MAX;
      const pairs = Array.from({ length: size }, (__, k) => (first + k) % this.#pairCount);
      return repeat([
        { request: wire.booking("lock", pairs), size, pauseMs: 0, isLast: false },
        { request: wire.booking("unlock", pairs), size, pauseMs: 0, isLast: true },
      ]);
    });
  }

  /** Requests for pairs that no other connection uses, from all over the event. */
  #turns(turn: (typeof TURNS)[Mix] & object, connection: number, wire: Wire): Step[] {
    const { connections } = this.#plan;
    const pairs = this.#pairCount;
    const count = Math.max(1, Math.min(PAIRS_MAX, Math.floor(pairs / connections)));
    const stride = Math.floor(pairs / (connections * count));
    return Array.from({ length: count }, (_, i) => {
      const pair = (i * connections + connection) * stride;
      return turn.map((kind, at) => ({
        request: kind === "page" ? wire.page(pair + at) : wire.booking(kind, [pair]),
        size: 1,
        pauseMs: 0,
        isLast: at === turn.length - 1,
      }));
    }).flat();
  }

  /**
   * One buyer after the other, until nothing is left. Those of a hot event are blind: they learn of
   * a sale only from a refusal, and neither hesitate nor give up.
   */
  *#shop(connection: number, wire: Wire): Buyer {
    const random = this.#random;
    const isBlind = this.#plan.mix === "hot";
    const market = this.#market(isBlind);
    const habits = isBlind ? BLIND_HABITS : HABITS;
    for (let end = ""; end !== "EMPTY_HANDED";) {
      const buyer = shop(drawProfile(habits, random, `bench-${connection}`), random, market);
      let turn = buyer.next();
      while (turn.done !== true) {
        const { call, basket, pauseMs } = turn.value;
        const request = wire.booking(call, [basket]);
        const outcome = yield* insist({ request, size: 1, pauseMs, isLast: false });
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
  for (;;) for (const step of steps) yield* insist(step);
}

/** Sends a request again until it is decided. */
function* insist(step: Step): Generator<Step, Outcome, Outcome> {
  let outcome: Outcome;
  do outcome = yield step;
  while (outcome === Outcome.SHED || outcome === Outcome.FAILED);
  return outcome;
}

function remove(pairs: number[], pair: number): void {
  const at = pairs.indexOf(pair);
  if (at < 0) return;
  pairs[at] = pairs.at(-1)!;
  pairs.pop();
}
