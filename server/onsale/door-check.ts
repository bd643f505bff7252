/**
 * Compares what visitors of a door met with its rules: the order of the draw, the rate, the cap, the
 * quota. Pure, and made of what the door publishes and of what the visitors were told.
 */
import { createHash, createHmac } from "node:crypto";
import { type CheckResult, resultOf } from "./books.ts";
import type { Admission, DoorStatus } from "./contract.ts";

const MS_PER_SECOND = 1_000;
const SECONDS_PER_MINUTE = 60;
/** Between this clock and the server's. */
const SKEW_MS = 100;
/** Without an answer for so long, the server may have been away. */
const AWAY_MS = 500;
/** Invitations come within so much of whole seconds after each other, or one of them came late. */
const LATE_MS = 400;
/** Refusals of a token in the hands of its visitor. */
const WRONG_TOKEN_CODES = ["SIGNATURE", "EVENT", "SESSION"];

/** The answers to a visitor. Times are milliseconds since 1970 by the server's clock, about. */
export interface VisitorRecord {
  /** The public half of its secret. */
  entry: string;
  joinSentMs: number;
  joinedMs: number;
  /** As first shown. */
  place: number | null;
  /** Exact. */
  invitedMs: number | null;
  /** End of the invitation, then of the admission; exact. */
  untilMs: number | null;
  /** The invitation ended before it was seen. */
  isMissed: boolean;
  leaveSentMs: number | null;
  leftMs: number | null;
  /** Seats and places. */
  bought: number;
  /** As shown after the sale. */
  lastPlace: number | null;
  taken: number;
}

/** Both sides of the comparison. */
export interface DoorData {
  readonly settings: Admission;
  /** Rate, cap and times were the same in every sample. */
  readonly areSettingsKept: boolean;
  /** After the sale. */
  readonly last: DoorStatus & { readonly joined: number };
  /** The drawn entries in order of arrival; none without a draw. */
  readonly entries: readonly string[];
  readonly visitors: readonly VisitorRecord[];
  /** Bounds of the opening, exact; null when the door was open before. */
  readonly opened: { readonly fromMs: number; readonly toMs: number } | null;
  /** From then on nothing may have been free now and then. */
  readonly scarceMs: number;
  /** When the server answered. */
  readonly pollTimes: readonly number[];
  readonly inside: { readonly most: number; readonly samples: number };
  /** Locks without a right. */
  readonly probes: { readonly tried: number; readonly granted: readonly string[] };
}

/** @param refusals - Refused bookings by code. */
export function checkDoor(
  data: DoorData,
  refusals: ReadonlyMap<string, number>,
): readonly CheckResult[] {
  const { probes, visitors, settings } = data;
  const wrong = WRONG_TOKEN_CODES.filter((code) => refusals.has(code));
  const refused = wrong.map((code) => `${code} × ${refusals.get(code)}`);
  return [
    checkDraw(data),
    checkArrivals(data),
    checkPlaces(visitors),
    checkRate(data),
    checkCap(data),
    checkQuota(visitors, settings.seatsPerVisitor),
    resultOf("every lock without a right was refused", probes.granted, `${probes.tried} tried`),
    resultOf("every token let its visitor in", refused),
  ];
}

// The order.

/** Places by entry, recomputed. */
function drawnPlaces({ entries, last: { seed } }: DoorData): Map<string, number> {
  const key = Buffer.from(seed ?? "", "hex");
  const ranks = entries.map((entry) => {
    return { entry, rank: createHmac("sha256", key).update(entry).digest("hex") };
  });
  ranks.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return new Map(ranks.map(({ entry }, i) => [entry, i + 1]));
}

function checkDraw(data: DoorData): CheckResult {
  const { entries, visitors, last, settings } = data;
  const name = "the draw is that of the seed and the entries";
  if (!settings.draw) return resultOf(name, [], "no draw");
  if (last.seed === null) return resultOf(name, [], "not open yet");
  const promise = createHash("sha256").update(Buffer.from(last.seed, "hex")).digest("hex");
  const places = drawnPlaces(data);
  const faults: string[] = [];
  if (promise !== settings.commitment) faults.push("the seed is another than the promised one");
  if (entries.length !== last.drawn || places.size !== entries.length) {
    faults.push(`${places.size} entries in ${entries.length} lines for ${last.drawn} drawn`);
  }
  const cutMs = Date.parse(`${settings.opensAt}Z`) - SKEW_MS;
  for (const { entry, lastPlace, joinedMs } of visitors) {
    const place = places.get(entry);
    if (place === undefined ? joinedMs < cutMs : place !== lastPlace) {
      faults.push(`${entry}: place ${lastPlace}, not ${place ?? "drawn"}`);
    }
  }
  return resultOf(name, faults, `${entries.length} drawn`);
}

/** Later visitors stand behind the drawn ones, in order of arrival. */
function checkArrivals({ visitors, entries, last }: DoorData): CheckResult {
  const drawn = new Set(entries);
  const later = visitors.filter(({ entry, lastPlace }) => lastPlace !== null && !drawn.has(entry));
  later.sort((a, b) => a.lastPlace! - b.lastPlace!);
  const faults: string[] = [];
  let [sentMs, place] = [-Infinity, last.drawn];
  for (const visitor of later) {
    if (visitor.lastPlace! <= place) faults.push(`place ${visitor.lastPlace} after ${place}`);
    if (visitor.joinedMs < sentMs) faults.push(`place ${visitor.lastPlace} came earlier`);
    place = visitor.lastPlace!;
    sentMs = Math.max(sentMs, visitor.joinSentMs);
  }
  return resultOf("later visitors stand behind, in order of arrival", faults, `${later.length}`);
}

function checkPlaces(visitors: readonly VisitorRecord[]): CheckResult {
  const moved = visitors.filter(({ place, lastPlace }) => place !== null && place !== lastPlace);
  const faults = moved.map(({ place, lastPlace }) => `${place} became ${lastPlace}`);
  return resultOf("nobody's place has changed", faults);
}

// The rate.

interface Batch {
  readonly timeMs: number;
  readonly size: number;
  /** Of this and earlier batches. */
  readonly sum: number;
}

function batchesOf(visitors: readonly VisitorRecord[]): Batch[] {
  const sizes = new Map<number, number>();
  for (const { invitedMs } of visitors) {
    if (invitedMs !== null) sizes.set(invitedMs, (sizes.get(invitedMs) ?? 0) + 1);
  }
  let sum = 0;
  return [...sizes]
    .toSorted(([a], [b]) => a - b)
    .map(([timeMs, size]) => ({ timeMs, size, sum: (sum += size) }));
}

function checkRate(data: DoorData): CheckResult {
  const name = "as many were invited as the rate allows";
  const { settings, visitors, areSettingsKept } = data;
  if (!areSettingsKept) return resultOf(name, [], "not checked: the settings changed");
  const batches = batchesOf(visitors);
  const faults = [...tooMany(data, batches)];
  const { exact, missing } = exactSeconds(data, batches);
  faults.push(...missing);
  const invited = batches.at(-1)?.sum ?? 0;
  const rate = `${invited} at ${settings.perMinute} a minute, ${exact} seconds exactly`;
  return resultOf(name, faults, rate);
}

/** In k consecutive seconds, at most ceil(perMinute · k / 60) are invited. */
function* tooMany({ settings, opened }: DoorData, batches: readonly Batch[]): Generator<string> {
  const upTo = upToOf(settings);
  for (const [i, { timeMs, sum, size }] of batches.entries()) {
    for (let j = i; j < batches.length; j++) {
      const last = batches[j]!;
      // The seconds of the door begin at any moment between the two.
      const seconds = Math.ceil((last.timeMs - timeMs) / MS_PER_SECOND) + 1;
      const count = last.sum - sum + size;
      if (count > upTo(seconds)) yield `${count} in ${seconds} s`;
    }
    if (opened === null) continue;
    const seconds = secondOf(timeMs, opened.fromMs);
    if (sum > upTo(seconds)) yield `${sum} up to second ${seconds}`;
  }
}

/**
 * Seconds with a certain backlog, with room inside, and with a server at work. Each has exactly the
 * invitations of its number.
 */
function exactSeconds(data: DoorData, batches: readonly Batch[]) {
  const { visitors, last, settings } = data;
  const missing: string[] = [];
  let exact = 0;
  // Some invitations are not known: those of others, or missed ones.
  const isWhole = visitors.length === last.joined && !visitors.some(({ isMissed }) => isMissed);
  if (!isWhole) return { exact, missing };
  const crowd = new Counts(visitors);
  const least = leastOf(data);
  // One second before the first one; unknown at an open door.
  const firstMs = data.opened === null ? batches[0]?.timeMs : data.opened.toMs - MS_PER_SECOND;
  const expect = (timeMs: number, size: number) => {
    if (timeMs >= data.scarceMs || !crowd.isBacklog(timeMs, settings.maxInside)) return;
    const wanted = least(timeMs);
    if (size >= wanted) exact += 1;
    else missing.push(`${size} of ${wanted} at ${new Date(timeMs).toISOString().slice(11, 23)}`);
  };
  for (const [i, { timeMs, size }] of batches.entries()) {
    const beforeMs = batches[i - 1]?.timeMs ?? firstMs!;
    const seconds = Math.round((timeMs - beforeMs) / MS_PER_SECOND);
    const isOnTime = Math.abs(timeMs - beforeMs - seconds * MS_PER_SECOND) <= LATE_MS;
    if (!isOnTime || seconds === 0) continue;
    expect(timeMs, size);
    for (let second = 1; second < seconds; second++) {
      const emptyMs = beforeMs + second * MS_PER_SECOND;
      if (isThere(data, emptyMs)) expect(emptyMs, 0);
    }
  }
  return { exact, missing };
}

/** True if the server answered all the time around a moment. */
function isThere({ pollTimes }: DoorData, timeMs: number): boolean {
  const [from, to] = [timeMs - MS_PER_SECOND, timeMs + MS_PER_SECOND];
  const around = pollTimes.filter((at) => at > from && at < to);
  return [from, ...around].every((at, i) => (around[i] ?? to) - at < AWAY_MS);
}

/** Invitations of the second at a moment; the fewest where it may be one of two. */
function leastOf({ settings, opened }: DoorData): (timeMs: number) => number {
  const upTo = upToOf(settings);
  const inSecond = (second: number) => upTo(second) - upTo(second - 1);
  return (timeMs) => {
    if (opened === null) return Math.floor(settings.perMinute / SECONDS_PER_MINUTE);
    const [first, last] = [secondOf(timeMs, opened.toMs), secondOf(timeMs, opened.fromMs)];
    return Math.min(inSecond(Math.max(1, first)), inSecond(last));
  };
}

function upToOf({ perMinute }: Admission): (seconds: number) => number {
  return (seconds) => Math.ceil((perMinute * seconds) / SECONDS_PER_MINUTE);
}

/** From 1. */
function secondOf(timeMs: number, fromMs: number): number {
  return Math.floor((timeMs - fromMs) / MS_PER_SECOND) + 1;
}

/** Numbers of visitors joined, invited and gone, at any moment. */
class Counts {
  readonly #joined: readonly number[];
  readonly #invited: readonly number[];
  readonly #left: readonly number[];
  /** The earliest possible ends of stays. */
  readonly #away: readonly number[];

  constructor(visitors: readonly VisitorRecord[]) {
    const sorted = (timeOf: (visitor: VisitorRecord) => number | null) =>
      visitors.flatMap((visitor) => timeOf(visitor) ?? []).toSorted((a, b) => a - b);
    this.#joined = sorted(({ joinedMs }) => joinedMs);
    this.#invited = sorted(({ invitedMs }) => invitedMs);
    this.#left = sorted(({ leftMs }) => leftMs);
    this.#away = sorted(({ untilMs, leaveSentMs }) => {
      return Math.min(untilMs ?? Infinity, leaveSentMs ?? Infinity);
    });
  }

  /** Certainly somebody waits after the invitations of a moment, and there is room for one more. */
  isBacklog(timeMs: number, maxInside: number | null): boolean {
    const invited = countUpTo(this.#invited, timeMs);
    const waiting = countUpTo(this.#joined, timeMs - SKEW_MS) - invited;
    const inside = invited - countUpTo(this.#left, timeMs - SKEW_MS);
    return waiting > 0 && inside < (maxInside ?? Infinity);
  }

  /** Visitors, certainly invited or inside. */
  inside(timeMs: number): number {
    return countUpTo(this.#invited, timeMs) - countUpTo(this.#away, timeMs + SKEW_MS);
  }
}

/** Cost: logarithmic. */
function countUpTo(times: readonly number[], timeMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Cap and quota.

function checkCap({ settings, areSettingsKept, visitors, inside }: DoorData): CheckResult {
  const name = "never more inside than maxInside";
  const { maxInside } = settings;
  const crowd = new Counts(visitors);
  const most = Math.max(inside.most, ...batchesOf(visitors).map((at) => crowd.inside(at.timeMs)));
  const detail = `${most} at most in ${inside.samples} samples`;
  if (maxInside === null) return resultOf(name, [], `no cap, ${detail}`);
  if (!areSettingsKept) return resultOf(name, [], "not checked: the settings changed");
  return resultOf(name, most > maxInside ? [`${most} of ${maxInside}`] : [], detail);
}

/** The door counts for each visitor what it bought: it holds nothing any more. */
function checkQuota(visitors: readonly VisitorRecord[], quota: number | null): CheckResult {
  const wrong = visitors.filter(({ bought, taken }) => {
    return taken !== bought || taken > (quota ?? Infinity);
  });
  const faults = wrong.map(({ lastPlace, taken, bought }) => {
    return `place ${lastPlace}: ${taken} taken, ${bought} bought`;
  });
  const most = visitors.reduce((max, { taken }) => Math.max(max, taken), 0);
  const detail = `${most} at most${quota === null ? ", no quota" : ""}`;
  return resultOf("every visitor kept to seatsPerVisitor", faults, detail);
}

// Figures for the report.

export type DoorFigures = ReturnType<typeof doorFigures>;

export function doorFigures({ visitors, last, settings, inside, probes }: DoorData) {
  const { perMinute, maxInside, seatsPerVisitor } = settings;
  return {
    perMinute,
    maxInside,
    seatsPerVisitor,
    /** Of this run. */
    visitors: visitors.length,
    invited: visitors.filter(({ invitedMs }) => invitedMs !== null).length,
    missed: visitors.filter(({ isMissed }) => isMissed).length,
    /** Of all. */
    drawn: last.drawn,
    insideMost: inside.most,
    /** Locks without a right. */
    probes: probes.tried,
  };
}
