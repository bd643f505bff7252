/**
 * One attempt of a delivery: resolves the name, checks the addresses, connects to a checked one,
 * sends, and reads the status. The rest of the answer is dropped.
 */
import { Resolver } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { isGlobal, literalOf } from "./addresses.ts";

/** A try ends after this time, whatever it waits for. */
const ATTEMPT_MS_MAX = 15_000;
const RESOLVE_MS_MAX = 4_000;
/** Headers of an answer; a longer head is a failure. */
const HEAD_BYTES_MAX = 16 * 1_024;

export interface Attempt {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly allowsPrivate: boolean;
}

export interface AttemptResult {
  /** The status of the answer; null when there was none. */
  readonly status: number | null;
  /** The receiver's `Retry-After`; 0 for none. */
  readonly askedMs: number;
  /** For people; empty for a success. */
  readonly failure: string;
  /** It has taken all of its time. */
  readonly isTimeout?: boolean;
}

interface Address {
  readonly address: string;
  readonly family: number;
}

/** Never rejects. @param timeMsMax - As `ATTEMPT_MS_MAX`. */
export async function attempt(given: Attempt, timeMsMax = ATTEMPT_MS_MAX): Promise<AttemptResult> {
  const ending = new AbortController();
  const reason = new Error(`no answer within ${timeMsMax / 1_000} s`);
  const { signal } = ending;
  const tooLong = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(reason));
  });
  const timer = setTimeout(() => ending.abort(reason), timeMsMax);
  try {
    const url = new URL(given.url);
    const addresses = await Promise.race([addressesOf(url, given.allowsPrivate), tooLong]);
    return await Promise.race([send(url, addresses, given, signal), tooLong]);
  } catch (error) {
    return { status: null, askedMs: 0, failure: textOf(error), isTimeout: signal.aborted };
  } finally {
    clearTimeout(timer);
  }
}

/** @throws Error when one of the addresses must not be used. */
async function addressesOf(url: URL, allowsPrivate: boolean): Promise<readonly Address[]> {
  const literal = literalOf(url);
  const addresses = literal === null ? await resolveName(url.hostname) : [addressOf(literal)];
  if (allowsPrivate || addresses.every(({ address }) => isGlobal(address))) return addresses;
  // Without the address behind a name: it may be known in the operator's network alone.
  const verb = literal === null ? "has" : "is";
  throw new Error(`${url.hostname} ${verb} an address of a private or special network`);
}

/**
 * Asks name servers without the threads behind the system's `lookup`: the log writes with these,
 * and a silent name server would hold them.
 */
async function resolveName(name: string): Promise<readonly Address[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS_MAX, tries: 2 });
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  if (addresses.length > 0) return addresses.map(addressOf);
  throw new Error(`the name ${name} has no address`);
}

function addressOf(address: string): Address {
  return { address, family: address.includes(":") ? 6 : 4 };
}

function send(
  url: URL,
  addresses: readonly Address[],
  { body, headers }: Attempt,
  signal: AbortSignal,
): Promise<AttemptResult> {
  // A checked address, not the name: it may mean something else a moment later.
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [{ address, family }] = addresses as [Address];
    if (all === true) done(null, [...addresses]);
    else done(null, address, family);
  };
  const bytes = Buffer.from(body);
  const options = {
    method: "POST",
    lookup,
    signal,
    agent: false as const,
    maxHeaderSize: HEAD_BYTES_MAX,
    headers: {
      ...headers,
      "Content-Type": "application/json",
      "Content-Length": bytes.length,
      "User-Agent": "Frontrow-Webhooks",
    },
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, options);
    request.on("error", reject);
    request.on("response", (response) => {
      const status = response.statusCode!;
      const askedMs = retryAfterMs(response.headers["retry-after"], Date.now());
      const isSuccess = status >= 200 && status < 300;
      // The body does not matter, and may have no end.
      response.on("error", () => {});
      response.destroy();
      const failure = isSuccess ? "" : `the answer was ${status}`;
      resolve({ status, askedMs, failure });
    });
    request.end(bytes);
  });
}

/** Frequent failures of a connection, by the code of Node. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed without an answer",
  EHOSTUNREACH: "the address cannot be reached",
  ENETUNREACH: "the address cannot be reached",
};

function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return textOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error.message;
  return `${CAUSES[code] ?? "the connection failed"} (${error.message})`;
}

/** @param failure - As in `AttemptResult`. */
export function sentenceOf(failure: string): string {
  return `${failure.charAt(0).toUpperCase()}${failure.slice(1)}.`;
}

// The retry schedule.

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Waits after the first failure, the second, and so on. */
const DELAYS_MS = [
  2 * SECOND_MS,
  5 * SECOND_MS,
  15 * SECOND_MS,
  30 * SECOND_MS,
  MINUTE_MS,
  2 * MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  12 * HOUR_MS,
];
/** For so long a delivery is tried, and a webhook may be without a success. */
export const GIVE_UP_MS = 72 * HOUR_MS;
/** The longest wait a receiver may ask for. */
export const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;
/** Jitter, so that simultaneous failures do not retry together. */
const JITTER = 0.2;

/**
 * @param attempts - Failed ones.
 * @param askedMs - The receiver's `Retry-After`; 0 for none.
 * @param random - From 0 to 1.
 */
export function delayMs(attempts: number, askedMs: number, random: number): number {
  const plannedMs = DELAYS_MS[Math.min(attempts, DELAYS_MS.length) - 1]!;
  const jitteredMs = plannedMs * (1 + JITTER * random);
  return Math.round(Math.max(jitteredMs, Math.min(askedMs, RETRY_AFTER_MS_MAX)));
}

/** @returns The wait of a `Retry-After` header; 0 for an absent or invalid one. */
export function retryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND_MS;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}
