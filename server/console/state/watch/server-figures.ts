/** What the metrics of the server say about the seconds between two readings. */

/** Counters of one reading. */
export interface Reading {
  readonly seconds: number;
  readonly requests: number;
  readonly refusals: number;
  readonly logBytes: number;
  readonly isWritable: boolean;
  /** Requests by the upper end of their duration, in seconds. */
  readonly requestTimes: ReadonlyMap<number, number>;
  /** Writes of the log, in the same way. */
  readonly syncTimes: ReadonlyMap<number, number>;
}

export interface ServerFigures {
  readonly requestsPerSecond: number;
  readonly refusalsPerMinute: number;
  readonly logBytesPerSecond: number;
  readonly isWritable: boolean;
  /** The duration that 99 of 100 do not exceed, in milliseconds; null when there was none. */
  readonly requestMs: number | null;
  readonly syncMs: number | null;
}

const SAMPLE = /^frontrow_(\w+?)(?:\{([^}]*)\})? (\S+)$/gm;
const PERCENTILE = 0.99;

/** @param text - Prometheus text. */
export function readingOf(text: string, seconds: number): Reading {
  const sums = new Map<string, number>();
  const times = { requests: new Map<number, number>(), syncs: new Map<number, number>() };
  for (const [, name = "", labels = "", value = ""] of text.matchAll(SAMPLE)) {
    const [, end] = /(?:^|,)le="([^"]+)"/.exec(labels) ?? [];
    const number = Number(value);
    if (end === undefined) sums.set(name, (sums.get(name) ?? 0) + number);
    else if (name === "http_request_duration_seconds_bucket") add(times.requests, end, number);
    else if (name === "log_sync_duration_seconds_bucket") add(times.syncs, end, number);
  }
  const sum = (name: string) => sums.get(name) ?? 0;
  return {
    seconds,
    requests: sum("http_requests_total"),
    refusals: sum("refusals_total"),
    logBytes: sum("log_bytes_total"),
    isWritable: sum("log_writable") === 1,
    requestTimes: times.requests,
    syncTimes: times.syncs,
  };
}

/** A restart of the server sets its counters back: then the figures are those since it. */
export function figuresBetween(before: Reading, after: Reading): ServerFigures {
  const seconds = Math.max(1, after.seconds - before.seconds);
  const from = after.requests < before.requests ? null : before;
  const rate = (name: "requests" | "refusals" | "logBytes") =>
    (after[name] - (from?.[name] ?? 0)) / seconds;
  return {
    requestsPerSecond: rate("requests"),
    refusalsPerMinute: 60 * rate("refusals"),
    logBytesPerSecond: rate("logBytes"),
    isWritable: after.isWritable,
    requestMs: percentileMs(from?.requestTimes, after.requestTimes),
    syncMs: percentileMs(from?.syncTimes, after.syncTimes),
  };
}

function add(times: Map<number, number>, end: string, count: number): void {
  const seconds = end === "+Inf" ? Infinity : Number(end);
  times.set(seconds, (times.get(seconds) ?? 0) + count);
}

/** The upper end of the interval in which it lies. Counts include those of shorter durations. */
function percentileMs(
  before: Reading["requestTimes"] | undefined,
  after: Reading["requestTimes"],
): number | null {
  const ends = [...after.keys()].sort((a, b) => a - b);
  const count = (end: number) => after.get(end)! - (before?.get(end) ?? 0);
  const all = ends.length === 0 ? 0 : count(ends.at(-1)!);
  const found = ends.find((end) => count(end) >= PERCENTILE * all);
  return all === 0 || found === undefined ? null : found * 1_000;
}
