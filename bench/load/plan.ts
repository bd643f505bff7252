/** What the load generator is told, and what it tells; plain values that cross a process border. */

/** How requests are written and answers read. */
export type Protocol = "http" | "http-get" | "resp";

export const MIXES = ["lock", "direct", "read", "wide", "on-sale", "hot"] as const;
/**
 * `lock`: each connection locks two seats of its own and unlocks them. `direct`: it buys them
 * directly and gives them back. `read`: as `lock`, with nine pages of the listing before each
 * change. `wide`: as `lock`, each time another pair, all over a hall of 50,000 seats. `on-sale`:
 * buyers lock a pair that looks free, hesitate, then buy or give up, until all is sold. `hot`: as
 * `on-sale` with 500 seats, without hesitation and without a look first.
 */
export type Mix = (typeof MIXES)[number];

/** Whether the mix is played until all is sold; the others leave all as it was. */
export function isSoldOut(mix: Mix): boolean {
  return mix === "on-sale" || mix === "hot";
}

export interface Target {
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
}

/** An event on sale. */
export interface Hall {
  readonly key: string;
  readonly eventId: string;
  /** Ascending; neighbours beside each other; an even number. */
  readonly seatIds: readonly number[];
}

export interface Plan {
  readonly target: Target;
  /** Equally large. The mixes that end by themselves are played in the first. */
  readonly halls: readonly Hall[];
  readonly mix: Mix;
  readonly connections: number;
  /** For the mixes that do not end by themselves. */
  readonly durationMs: number;
  readonly seed: number;
}

export interface Measured {
  readonly requestsPerSecond: number;
  /** From the first request to the last answer that counts. */
  readonly seconds: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly p999: number };
  readonly done: number;
  /** Answers that say no: somebody else has the seats. */
  readonly refused: number;
  /** Pairs of seats whose sale was confirmed; one that is here twice was sold twice. */
  readonly soldPairs: readonly number[];
  /** Processor seconds of the generator. */
  readonly cpuSeconds: number;
}
