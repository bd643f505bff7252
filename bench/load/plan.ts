/** Plans and measurements of the load generator: plain values that cross a process boundary. */

/** Form of requests and answers: HTTP, the two subprotocols of the command socket, or Redis. */
export type Protocol = "http" | "http-get" | "binary" | "json" | "resp";

export const MIXES = ["lock", "direct", "read", "wide", "on-sale", "hot"] as const;
/**
 * - `lock`: each connection locks two seats of its own and unlocks them.
 * - `direct`: each connection sells two seats directly and reverts the sale.
 * - `read`: as `lock`, with nine pages of the seats listing before each change.
 * - `wide`: as `lock`, each time with another pair, across all 50,000 seats of an event.
 * - `on-sale`: buyers lock a pair that looks free, hesitate, then buy it or give it up, until every
 *   seat is sold.
 * - `hot`: as `on-sale` with 500 seats, no hesitation, and no look at the map first.
 */
export type Mix = (typeof MIXES)[number];

/** The mix ends when every seat is sold; the other mixes leave every seat free. */
export function sellsOut(mix: Mix): boolean {
  return mix === "on-sale" || mix === "hot";
}

export interface Target {
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
}

export function targetAt({ hostname, port }: URL, protocol: Protocol = "http"): Target {
  return { protocol, host: hostname, port: Number(port) };
}

export interface EventOnSale {
  /** The API key. */
  readonly key: string;
  readonly eventId: string;
  /** Ascending, in the order of the seats; an even number. */
  readonly seatIds: readonly number[];
}

export interface Plan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly mix: Mix;
  readonly connections: number;
  /** For the mixes that do not end by themselves. */
  readonly durationMs: number;
  readonly seed: number;
  /** Locks or unlocks without an answer on each connection, in batches of 64; 1 without it. */
  readonly inFlight?: number;
  /**
   * Open loop: requests of all connections per second, sent whether or not earlier ones have been
   * answered. Without it, the next request of a connection follows the answer to the last one.
   */
  readonly ratePerSecond?: number;
}

export interface Measurement {
  readonly requestsPerSecond: number;
  /** From the first request to the last answer before the end. */
  readonly seconds: number;
  /** In the open loop, of granted requests only, from the moment when each was due. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly p999: number };
  readonly done: number;
  /** Requests that were refused because somebody else has the seats. */
  readonly refused: number;
  /** Of the open loop. */
  readonly missed: Missed;
  /** Pairs of seats whose sale was confirmed; a pair that occurs twice was sold twice. */
  readonly soldPairs: readonly number[];
  /** Processor time of the generator. */
  readonly cpuSeconds: number;
}

export interface Missed {
  /** Requests refused with 429. */
  readonly shed: number;
  /** Requests that were due while no connection was free. */
  readonly lost: number;
  /** All other answers, by their first line. */
  readonly failures: Readonly<Record<string, number>>;
}
