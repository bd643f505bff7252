/** When a delivery that failed is tried again. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** How long the server waits after the first failure, the second one, and so on. */
const DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  12 * HOUR_MS,
];
/** For so long a delivery is tried, and a webhook may be without a success. */
export const GIVE_UP_MS = 72 * HOUR_MS;
/** The longest wait that a receiver may ask for. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;
/** So many deliveries that fail at the same time are not tried again at the same time. */
const JITTER = 0.2;

/**
 * @param attempts - How many have failed.
 * @param askedMs - What the receiver asked for; 0 for nothing.
 * @param random - From 0 to 1.
 */
export function delayMs(attempts: number, askedMs: number, random: number): number {
  const plannedMs = DELAYS_MS[Math.min(attempts, DELAYS_MS.length) - 1]!;
  const jitteredMs = plannedMs * (1 + JITTER * random);
  return Math.round(Math.max(jitteredMs, Math.min(askedMs, RETRY_AFTER_MS_MAX)));
}

/** @returns The wait that a `Retry-After` header asks for; 0 when it is absent or not valid. */
export function retryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND_MS;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}
