/**
 * Requests that were taken and not answered, because they wait for the disk or a thread. Above a
 * bound, new locks and reads are refused before they are parsed. Releases, sales and other changes
 * have a higher bound: they end what others wait for.
 */
import type { Problem } from "../wire/answers.ts";
import { FrontResult } from "../wire/replies.ts";
import { DelayedRefusals } from "./delayed-refusals.ts";

/** A disk that takes 5,000 locks per second answers so many in 0.4 seconds. */
export const LOCKS_AND_READS_MAX = 2_000;
const MS_PER_SECOND = 1_000;

/** What decides when the requests of a route are refused. */
interface Priority {
  readonly method: string;
  /** Whether its answers wait for the disk. */
  readonly durable: boolean;
  readonly yields?: boolean;
}

export class WaitingWork {
  count = 0;
  /** Requests that were refused. */
  refused = 0;
  /** How long the request that was answered last had waited. */
  lastMs = 0;
  readonly refusals = new DelayedRefusals();
  readonly #firstMax: number;

  /** @param firstMax - From it on, locks and reads are refused; from twice it on, all changes. */
  constructor(firstMax = LOCKS_AND_READS_MAX) {
    this.#firstMax = firstMax;
  }

  /** @returns Why the request is refused; null when it is not. */
  refusalOf(route: Priority | undefined): Problem | null {
    if (this.count < this.#firstMax || route?.durable !== true) return null;
    const isFirst = route.method === "get" || route.yields === true;
    if (!isFirst && this.count < 2 * this.#firstMax) return null;
    this.refused += 1;
    const seconds = Math.max(1, Math.ceil(this.lastMs / MS_PER_SECOND));
    return {
      refused: FrontResult.RATE_LIMITED,
      detail: "Too many requests wait for their answer; try again later.",
      headers: [["Retry-After", String(seconds)]],
    };
  }
}
