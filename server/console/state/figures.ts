/** Figures of the panel: changes, series, rates, holds, metrics. Pure, in bounded memory. */
import type { AreaState, Change } from "../../client/changes.ts";
import { type Hold, timeMs } from "../api/calls.ts";
import type { AreaCounts } from "../map/seats.ts";

/** Seats kept of a change, to name them. */
const SEATS_MAX = 12;
const SAMPLE = /^frontrow_(\w+?)(?:\{([^}]*)\})? (\S+)$/gm;
const PERCENTILE = 0.99;

/** Places of an area moved by a change. */
export interface MovedPlaces {
  readonly area: number;
  /** 0 when it is not known. */
  readonly places: number;
}

/** A change in a form whose size is bounded. */
export interface Happening {
  readonly sequence: number;
  readonly time: string;
  readonly call: string;
  readonly sessionId: string;
  /** Ids of its first seats, and how many there are. */
  readonly seats: readonly number[];
  readonly seatCount: number;
  readonly areas: readonly MovedPlaces[];
}

export interface HappeningFilter {
  /** Empty for every call. */
  readonly call: string;
  /** A part of the session; empty for every session. */
  readonly session: string;
}

export function happeningOf(change: Change, areas: readonly MovedPlaces[]): Happening {
  const { sequence, time, call, sessionId = "", seats } = change;
  const first = seats.slice(0, SEATS_MAX).map(({ id }) => id);
  return { sequence, time, call, sessionId, seats: first, seatCount: seats.length, areas };
}

export class Happenings {
  readonly #max: number;
  #filter: HappeningFilter = { call: "", session: "" };
  /** The oldest first; up to twice the limit, so copies are rare. */
  #all: Happening[] = [];
  #passed: Happening[] = [];

  /** @param max - Limit, for all and for those that pass the filter. */
  constructor(max = 500) {
    this.#max = max;
  }

  set filter(filter: HappeningFilter) {
    this.#filter = filter;
    this.#passed = this.#all.filter((one) => this.#passes(one));
  }

  add(happening: Happening): void {
    this.#all.push(happening);
    if (this.#passes(happening)) this.#passed.push(happening);
    if (this.#all.length >= 2 * this.#max) this.#all = this.#all.slice(-this.#max);
    if (this.#passed.length >= 2 * this.#max) this.#passed = this.#passed.slice(-this.#max);
  }

  /** Adds earlier ones, the oldest first. */
  addPast(past: readonly Happening[]): void {
    this.#all = [...past, ...this.#all].slice(-this.#max);
    this.#passed = this.#all.filter((one) => this.#passes(one));
  }

  /** @returns Those that pass the filter, the newest first. */
  newest(count: number): Happening[] {
    return this.#passed.slice(-Math.min(count, this.#max)).toReversed();
  }

  #passes({ call, sessionId }: Happening): boolean {
    const { call: wanted, session } = this.#filter;
    return (wanted === "" || call === wanted) && sessionId.includes(session);
  }
}

/** Places of each area moved by a change: changes name only the counts after them. */
export class AreaMoves {
  readonly #before: (AreaCounts | undefined)[];

  /** @param areas - The counts before the first change, if they are known. Index: area. */
  constructor(areas: readonly AreaCounts[] = []) {
    this.#before = [...areas];
  }

  /** @param areaOf - The index of an area by its id. */
  moved(after: readonly AreaState[], areaOf: (id: number) => number | undefined): MovedPlaces[] {
    return after.flatMap((counts) => {
      const area = areaOf(counts.groupOfSeatsId);
      if (area === undefined) return [];
      const before = this.#before[area];
      this.#before[area] = counts;
      if (before === undefined) return [{ area, places: 0 }];
      const places = difference(before, counts);
      return places === 0 ? [] : [{ area, places }];
    });
  }
}

/** Places that leave one state enter another, so the largest difference is the move. */
function difference(before: AreaCounts, after: AreaCounts): number {
  const states = ["active", "locked", "sold", "blocked"] as const;
  return Math.max(...states.map((state) => Math.abs(after[state] - before[state])));
}

/** Numbers over time in bounded memory: when it is full, every second point is dropped. */
export class Series {
  /** First the times, in seconds since 1970; then each number. */
  readonly columns: number[][];
  readonly #pointsMax: number;
  /** Least seconds between two points. */
  #spacing = 1;

  constructor(width: number, pointsMax = 480) {
    this.#pointsMax = pointsMax;
    this.columns = Array.from({ length: width + 1 }, () => []);
  }

  get length(): number {
    return this.columns[0]!.length;
  }

  /** The last point moves along until it is far enough from the one before. */
  add(seconds: number, values: readonly number[]): void {
    const times = this.columns[0]!;
    if (times.length > 0 && seconds < times.at(-1)!) return;
    const point = [seconds, ...values];
    const before = times.at(-2);
    const isClose = before !== undefined && times.at(-1)! - before < this.#spacing;
    for (const [i, column] of this.columns.entries()) {
      if (isClose) column.pop();
      column.push(point[i]!);
    }
    if (times.length > this.#pointsMax) this.#thinOut();
  }

  /** Adds earlier points, in order. */
  prepend(points: readonly { readonly seconds: number; readonly values: readonly number[] }[]) {
    const later = this.columns.map((column) => [...column]);
    const [times = []] = later;
    const first = times[0] ?? Infinity;
    for (const column of this.columns) column.length = 0;
    for (const { seconds, values } of points) if (seconds < first) this.add(seconds, values);
    for (const [at, seconds] of times.entries()) {
      this.add(
        seconds,
        later.slice(1).map((column) => column[at]!),
      );
    }
  }

  /** Keeps the first and the last point. */
  #thinOut(): void {
    this.#spacing *= 2;
    for (const [i, column] of this.columns.entries()) {
      const last = column.length - 1;
      this.columns[i] = column.filter((_, at) => at % 2 === 0 || at === last);
    }
  }
}

export type Kind = "sold" | "held" | "released" | "expired";

const KIND_OF_CALL: Readonly<Record<string, Kind>> = {
  sale: "sold",
  directsale: "sold",
  lock: "held",
  best: "held",
  unlock: "released",
  expire: "expired",
};
const SECONDS = 60;

/** Seats and places moved by each kind of call, second by second, over a minute. */
export class Rates {
  /** Index: the second, modulo 60. */
  readonly #counts: Readonly<Record<Kind, Float64Array>> = {
    sold: new Float64Array(SECONDS),
    held: new Float64Array(SECONDS),
    released: new Float64Array(SECONDS),
    expired: new Float64Array(SECONDS),
  };
  /** The second written last. */
  #second = 0;

  /** @param places - Seats and places moved by the call. */
  add(seconds: number, call: string, places: number): void {
    const kind = KIND_OF_CALL[call];
    const second = Math.floor(seconds);
    this.#advance(second);
    const isInMinute = second > this.#second - SECONDS;
    if (kind !== undefined && isInMinute) this.#counts[kind][second % SECONDS]! += places;
  }

  /** @returns The sum of the minute before. */
  perMinute(seconds: number, kind: Kind): number {
    this.#advance(seconds);
    return this.#counts[kind].reduce((sum, count) => sum + count, 0);
  }

  /** @returns One number a second, the oldest first. */
  history(seconds: number, kind: Kind): number[] {
    this.#advance(seconds);
    const next = this.#second + 1;
    return Array.from({ length: SECONDS }, (_, i) => this.#counts[kind][(next + i) % SECONDS]!);
  }

  /** Empties past seconds. Time does not go back. */
  #advance(seconds: number): void {
    const second = Math.max(this.#second, Math.floor(seconds));
    const from = Math.max(this.#second + 1, second - SECONDS + 1);
    for (let at = from; at <= second; at++) {
      for (const counts of Object.values(this.#counts)) counts[at % SECONDS] = 0;
    }
    this.#second = second;
  }
}

export interface EndingHold {
  readonly hold: Hold;
  readonly secondsLeft: number;
  /** Of its whole time: 1 at the beginning, 0 at the end. */
  readonly shareLeft: number;
}

/** @returns Live holds, the next to end first. */
export function endingHolds(holds: readonly Hold[], nowMs: number, count: number): EndingHold[] {
  return holds
    .flatMap((hold): EndingHold[] => {
      if (hold.until === null) return [];
      const [since, until] = [timeMs(hold.since), timeMs(hold.until)];
      const leftMs = until - nowMs;
      if (leftMs <= 0) return [];
      const shareLeft = Math.min(1, leftMs / Math.max(1, until - since));
      return [{ hold, secondsLeft: Math.ceil(leftMs / 1_000), shareLeft }];
    })
    .sort((a, b) => a.secondsLeft - b.secondsLeft)
    .slice(0, count);
}

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
  /** 99th percentile in milliseconds; null without requests. */
  readonly requestMs: number | null;
  readonly syncMs: number | null;
}

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

/** The upper end of its bucket. Counts include those of shorter durations. */
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
