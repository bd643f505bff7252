/** What one run counts: requests, refusals, faults, buyers, and a histogram of times per call. */

import { build, type Histogram } from "hdr-histogram-js";

/** The calls whose times are reported. */
export const BOOKING_CALLS = ["lock", "sale", "unlock"] as const;
export type BookingCall = (typeof BOOKING_CALLS)[number];

const LATENCY_US_MAX = 60_000_000;
const US_PER_MS = 1_000;

/** Times of one call, in ms. */
export interface Latency {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

export class Tally {
  /** Every answered request, whatever the answer. */
  requests = 0;
  /** Answers 429: the server asked to slow down. */
  throttled = 0;
  /** Requests whose connection was lost before they were sent; they were sent again. */
  unsent = 0;
  /** Requests that were sent and never answered, or answered 5xx: they may have been done. */
  unknownOutcomes = 0;
  /** Acknowledged holds that were gone when their buyer came to pay. */
  holdsLost = 0;
  readonly buyers = { served: 0, bought: 0, gaveUp: 0, emptyHanded: 0 };
  /** Answers 5xx by status. */
  readonly serverErrors = new Map<number, number>();
  /** Refused requests, by the code of the first refused object. */
  readonly refusals = new Map<string, number>();
  readonly #latenciesUs: Record<BookingCall, Histogram> = {
    lock: newHistogram(),
    sale: newHistogram(),
    unlock: newHistogram(),
  };

  record(call: BookingCall, durationMs: number): void {
    const durationUs = Math.min(Math.ceil(durationMs * US_PER_MS), LATENCY_US_MAX);
    this.#latenciesUs[call].recordValue(durationUs);
  }

  addServerError(status: number): void {
    this.serverErrors.set(status, (this.serverErrors.get(status) ?? 0) + 1);
  }

  addRefusal(code: string): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
  }

  latency(call: BookingCall): Latency {
    const histogram = this.#latenciesUs[call];
    const quantileMs = (percentile: number) =>
      histogram.getValueAtPercentile(percentile) / US_PER_MS;
    return {
      count: histogram.totalCount,
      p50Ms: quantileMs(50),
      p99Ms: quantileMs(99),
      p999Ms: quantileMs(99.9),
      maxMs: histogram.maxValue / US_PER_MS,
    };
  }
}

function newHistogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LATENCY_US_MAX,
    numberOfSignificantValueDigits: 3,
  });
}
