/**
 * Rate limits of an organization: requests per second with one key, and booking calls with it for
 * one event. Both are off unless the organization has set them.
 */
import { keepRecent } from "../../engine/bounds.ts";
import type { Caller } from "../../engine/bodies.ts";
import type { OrganizationRow } from "../../engine/catalog.ts";
import { FrontResult, type Problem } from "../http/answers.ts";
import { TokenBuckets } from "../http/limits.ts";

export class RateLimits {
  /** Requests that were refused. */
  refused = 0;
  readonly #buckets = new TokenBuckets();

  /** Buckets in memory. */
  get count(): number {
    return this.#buckets.count;
  }

  /** Counts a request. @returns Why it is refused; null when it is taken, or nothing is limited. */
  request(organization: OrganizationRow, caller: Caller, nowMs: number): Problem | null {
    const { requestsPerSecond } = organization;
    if (requestsPerSecond === undefined) return null;
    return this.#take(nameOf(organization, caller), requestsPerSecond, nowMs);
  }

  /** Like `request`, for a booking call. */
  booking(
    organization: OrganizationRow,
    caller: Caller,
    eventId: string,
    nowMs: number,
  ): Problem | null {
    const { bookingsPerSecond } = organization;
    if (bookingsPerSecond === undefined) return null;
    return this.#take(`${nameOf(organization, caller)}:${eventId}`, bookingsPerSecond, nowMs);
  }

  #take(name: string, perSecond: number, nowMs: number): Problem | null {
    const waitSeconds = this.#buckets.take(name, perSecond, nowMs);
    if (waitSeconds === 0) return null;
    this.refused += 1;
    return refusal(name, perSecond, waitSeconds);
  }
}

function nameOf({ id }: OrganizationRow, { actor }: Caller): string {
  return `${id}:${actor.kind}:${actor.id}`;
}

function refusal(name: string, perSecond: number, waitSeconds: number): Problem {
  const [, , , eventId] = name.split(":");
  const of = eventId === undefined ? "requests" : "booking calls for one event";
  return {
    refused: FrontResult.RATE_LIMITED,
    detail: `The organization takes ${perSecond} ${of} per second with one key.`,
    headers: [["Retry-After", String(Math.max(1, Math.ceil(waitSeconds)))]],
  };
}

// Slows down guessing: too many failures within a minute lead to a minute of refusals.

const WINDOW_MS = 60_000;
/** Names that are remembered. The name whose last failure is oldest is dropped first. */
export const NAMES_MAX = 100_000;

export class Throttle {
  readonly #failuresMax: number;
  /** Times of the latest failures by name; the name whose last failure is oldest comes first. */
  readonly #failures = new Map<string, number[]>();

  /** @param failuresMax - How many failures of one name within a minute are allowed. */
  constructor(failuresMax: number) {
    this.#failuresMax = failuresMax;
  }

  /** Names with failures that are remembered. */
  get count(): number {
    return this.#failures.size;
  }

  admits(name: string, nowMs: number): boolean {
    const times = this.#failures.get(name);
    if (times === undefined || times.length < this.#failuresMax) return true;
    return times.at(-1)! + WINDOW_MS <= nowMs;
  }

  failed(name: string, nowMs: number): void {
    const times = this.#failures.get(name) ?? [];
    times.push(nowMs);
    while (times.length > this.#failuresMax || times[0]! <= nowMs - WINDOW_MS) times.shift();
    keepRecent(this.#failures, name, times, NAMES_MAX);
  }

  /**
   * Counts a call, where calls and not failures are limited.
   *
   * @returns Milliseconds until the name may call again; 0 when it may now.
   */
  take(name: string, nowMs: number): number {
    const times = this.#failures.get(name) ?? [];
    const endMs = times.length < this.#failuresMax ? -Infinity : times[0]! + WINDOW_MS;
    if (endMs > nowMs) return endMs - nowMs;
    this.failed(name, nowMs);
    return 0;
  }

  /** Takes back the latest failure, which turned out to be none. */
  withdraw(name: string): void {
    const times = this.#failures.get(name);
    times?.pop();
    if (times?.length === 0) this.#failures.delete(name);
  }

  /** Forgets the failures of a name that has identified itself. */
  forgive(name: string): void {
    this.#failures.delete(name);
  }
}
