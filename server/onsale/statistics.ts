/** The figures of one run: requests, refusals, errors, buyers, and latency histograms. */
import { build, type Histogram } from "hdr-histogram-js";

/** The calls whose latency is reported. */
export const BOOKING_CALLS = ["lock", "best", "sale", "unlock"] as const;
export type BookingCall = (typeof BOOKING_CALLS)[number];

const LATENCY_US_MAX = 60_000_000;
const US_PER_MS = 1_000;

export type Latency = ReturnType<Statistics["latency"]>;

class Counts<Key> extends Map<Key, number> {
  increment(key: Key): void {
    this.set(key, (this.get(key) ?? 0) + 1);
  }
}

export class Statistics {
  /** Answered requests, successful or not. */
  requests = 0;
  /** Answers with status 429. */
  throttled = 0;
  /** Requests whose connection was lost before they were sent. They were sent again. */
  unsent = 0;
  /** Requests that the server may have executed: sent and never answered, or answered 5xx. */
  unknownOutcomes = 0;
  /** Acknowledged holds that no longer existed when their buyer wanted to pay. */
  holdsLost = 0;
  readonly buyers = { served: 0, bought: 0, gaveUp: 0, emptyHanded: 0 };
  /** Answers 5xx by status. */
  readonly serverErrors = new Counts<number>();
  /** Refused requests by the code of the first refused object. */
  readonly refusals = new Counts<string>();
  readonly #latenciesUs: Record<BookingCall, Histogram> = {
    lock: newHistogram(),
    best: newHistogram(),
    sale: newHistogram(),
    unlock: newHistogram(),
  };
  /** All booking calls since `takeRecentP99Ms` was last called. */
  readonly #recentUs = newHistogram();

  /** Buyers who have begun to choose and have not left. Only they can hold anything in this run. */
  get activeBuyers(): number {
    const { served, bought, gaveUp, emptyHanded } = this.buyers;
    return served - bought - gaveUp - emptyHanded;
  }

  recordLatency(call: BookingCall, durationMs: number): void {
    const durationUs = Math.min(Math.ceil(durationMs * US_PER_MS), LATENCY_US_MAX);
    this.#latenciesUs[call].recordValue(durationUs);
    this.#recentUs.recordValue(durationUs);
  }

  latency(call: BookingCall) {
    const histogram = this.#latenciesUs[call];
    return {
      count: histogram.totalCount,
      p50Ms: percentileMs(histogram, 50),
      p99Ms: percentileMs(histogram, 99),
      p999Ms: percentileMs(histogram, 99.9),
      maxMs: histogram.maxValue / US_PER_MS,
    };
  }

  /** @returns p99 of the calls since the previous `takeRecentP99Ms`; undefined without calls. */
  takeRecentP99Ms(): number | undefined {
    if (this.#recentUs.totalCount === 0) return undefined;
    const p99Ms = percentileMs(this.#recentUs, 99);
    this.#recentUs.reset();
    return p99Ms;
  }
}

/** The library rounds a percentile up to its bucket, which may end above the largest value. */
function percentileMs(histogram: Histogram, percentile: number): number {
  return Math.min(histogram.getValueAtPercentile(percentile), histogram.maxValue) / US_PER_MS;
}

function newHistogram(): Histogram {
  return build({ highestTrackableValue: LATENCY_US_MAX });
}
