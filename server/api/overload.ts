/**
 * Load shedding: above an in-flight limit, new locks and reads are refused before they are parsed.
 * Releases, sales and other changes have a higher limit: they end what others wait for.
 */
import { FairQueue, TenantQuota } from "../../engine/bounds.ts";
import type { WaitingClient } from "../../engine/queries/history.ts";
import { FrontResult, type Problem } from "../http/answers.ts";

/** A disk that takes 5,000 locks per second answers so many in 0.4 seconds. */
export const LOCKS_AND_READS_MAX = 2_000;
/**
 * Long bodies that wait for their turn, of an organization: at about ten milliseconds for each
 * beside other work, the last one waits for two and a half seconds.
 */
export const LONG_BODIES_MAX = 256;
/** Of all organizations. Those of command sockets, of 64 KiB each, then take 256 MiB. */
export const ALL_LONG_BODIES_MAX = 4_096;
const MS_PER_SECOND = 1_000;
/** Of refusals that pass by themselves. */
const IN_A_SECOND = [["Retry-After", "1"]] as const;

/** The part of a route that sets its in-flight limit. */
interface Priority {
  readonly method: string;
  /** True when its answers wait for the disk. */
  readonly durable: boolean;
  readonly yields?: boolean;
}

/** An organization, or another name for those who share turns. */
export type Owner = number | string;

export class WaitingWork {
  /** Requests in flight. A long body is in flight from its turn on. */
  count = 0;
  /** Requests that were refused. */
  refused = 0;
  /** Wait of the last answered request. */
  lastMs = 0;
  readonly refusals = new DelayedRefusals();
  /** Long bodies that wait for their turn, by owner. */
  readonly longBodies = new TenantQuota<Owner>(LONG_BODIES_MAX, ALL_LONG_BODIES_MAX);
  readonly #firstMax: number;

  /** @param firstMax - From it on, locks and reads are refused; from twice it on, all changes. */
  constructor(firstMax = LOCKS_AND_READS_MAX) {
    this.#firstMax = firstMax;
  }

  /** @returns Why the request is refused; null when it is not. */
  refusalOf(route: Priority | undefined): Problem | null {
    if (this.count < this.#firstMax || route?.durable !== true) return null;
    const isFirst = route.method === "get" || route.yields === true;
    if (!isFirst && this.count < 2 * this.#firstMax) return null;
    this.refused += 1;
    const seconds = Math.max(1, Math.ceil(this.lastMs / MS_PER_SECOND));
    return {
      refused: FrontResult.RATE_LIMITED,
      detail: "Too many requests wait for their answer; try again later.",
      headers: [["Retry-After", String(seconds)]],
      isDelayed: true,
    };
  }
}

export const TOO_MANY_LONG_BODIES: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "Too many long bodies of this organization wait for their turn; try again later.",
  headers: IN_A_SECOND,
  isDelayed: true,
};

// Refusals that a busy server sends after a delay. A client that tries again as soon as it is
// refused would otherwise take the time that the accepted requests need: receiving a request and
// refusing it takes about half as long as a lock.

/** Each connection then has at most four refusals per second. */
const DELAY_MS = 250;
/** Refusals leave a few at a time, so that they do not delay other answers. */
const STEP_MS = 5;

interface Delayed {
  readonly dueMs: number;
  readonly send: () => void;
}

export class DelayedRefusals {
  readonly #nowMs: () => number;
  /** The oldest comes first. Each connection has one at most. */
  #queue: Delayed[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** @param nowMs - A monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#queue.length;
  }

  add(send: () => void): void {
    this.#queue.push({ dueMs: this.#nowMs() + DELAY_MS, send });
    this.#timer ??= setInterval(() => this.sendDue(), STEP_MS);
  }

  /** Sends the refusals whose delay is over. */
  sendDue(): void {
    const nowMs = this.#nowMs();
    const firstLater = this.#queue.findIndex(({ dueMs }) => dueMs > nowMs);
    const dueCount = firstLater === -1 ? this.#queue.length : firstLater;
    for (const { send } of this.#queue.splice(0, dueCount)) send();
    if (this.#queue.length > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

// Cooperative scheduling: long work runs in slices, and yields between them. All long work together
// has one slice per turn of the event loop, and about a tenth of the time while there is other work:
// then the thread sleeps between other work and the next slice, and the system prefers threads after
// a sleep. The first slice of a work comes at once, and most works need no other. Works of one owner
// come one after the other: each takes memory from its first slice on.

/** A slice takes no longer, as far as its work lets it: milliseconds. */
const SLICE_MS = 2;
/** Beside other work, long work rests so many times as long as its slice took. */
const REST_TIMES = 9;
/** And at most for this long, when a step cannot be cut or the machine stood still. */
const REST_MS_MAX = 50;
/** Other work that takes less of the time than this share is none: a turn always takes a little. */
const OTHER_SHARE_MIN = 0.1;
/** The share is that of about so much time. */
const MEMORY_MS = 10;

/** The load of a thread lately, without its slices. */
export class OtherWork {
  /** Of the time, 0 to 1. */
  share = 0;
  readonly #activeMs: () => number;
  /** Start of the last slice, and by its end the active time of the thread without it. */
  #last = { startMs: 0, activeMs: 0 };

  /** @param activeMs - How long the thread has worked. */
  constructor(activeMs = () => performance.eventLoopUtilization().active) {
    this.#activeMs = activeMs;
  }

  /** A slice begins. @returns When, as by `performance.now`. */
  begin(): number {
    const startMs = performance.now();
    const activeMs = this.#activeMs();
    const passedMs = Math.max(startMs - this.#last.startMs, 0.001);
    const share = (activeMs - this.#last.activeMs) / passedMs;
    this.share += (share - this.share) * Math.min(1, passedMs / MEMORY_MS);
    this.#last = { startMs, activeMs };
    return startMs;
  }

  /** The slice that began last has ended. */
  end(endMs: number): void {
    this.#last.activeMs += endMs - this.#last.startMs;
  }
}

/** One slice of a work. @returns True when more of it is left. */
type Slice = () => boolean;

/** By owner. */
const waiting = new FairQueue<unknown, Slice>();

/**
 * Runs a generator, which yields wherever it may be interrupted.
 *
 * @param owner - By default, no other work has the same owner.
 * @returns The result, at once when no other work waits and the first slice is enough.
 */
export function inSlices<Value>(
  work: Generator<void, Value>,
  owner: unknown = work,
): Value | Promise<Value> {
  if (waiting.isEmpty) {
    const first = nextSlice(work);
    if (first.done === true) return first.value;
  }
  return new Promise<Value>((resolve, reject) => push(owner, sliceOf(work, resolve, reject)));
}

/**
 * Runs work that cannot be cut in a later turn of the event loop, as a slice of its own.
 *
 * @param owner - As of `inSlices`.
 * @param client - The work is dropped when it has gone before.
 * @returns False when the work was dropped.
 */
export function inOwnSlice(
  work: () => void,
  owner: unknown,
  client: WaitingClient = { onGone: null },
): Promise<boolean> {
  // oxlint-disable-next-line require-yield -- its only step
  function* step(): Generator<void, boolean> {
    client.onGone = null;
    work();
    return true;
  }
  return new Promise((resolve, reject) => {
    const slice = sliceOf(step(), resolve, reject);
    client.onGone = () => {
      client.onGone = null;
      waiting.delete(owner, slice);
      resolve(false);
    };
    push(owner, slice);
  });
}

function sliceOf<Value>(
  work: Generator<void, Value>,
  resolve: (value: Value) => void,
  reject: (error: unknown) => void,
): Slice {
  return () => {
    try {
      const slice = nextSlice(work);
      if (slice.done === true) resolve(slice.value);
      return slice.done !== true;
    } catch (error) {
      reject(error);
      return false;
    }
  };
}

function push(owner: unknown, slice: Slice): void {
  waiting.push(owner, slice);
  if (!isScheduled) schedule();
}

const other = new OtherWork();
let isScheduled = false;
/** End of the rest after the last slice. */
let restedMs = 0;

function schedule(): void {
  isScheduled = true;
  const restMs = other.share > OTHER_SHARE_MIN ? restedMs - performance.now() : 0;
  if (restMs > 0) setTimeout(runOne, restMs);
  else setImmediate(runOne);
}

function runOne(): void {
  waiting.turn((slice) => slice());
  isScheduled = !waiting.isEmpty;
  if (isScheduled) schedule();
}

function nextSlice<Value>(work: Generator<void, Value>): IteratorResult<void, Value> {
  const startMs = other.begin();
  let endMs = startMs;
  let step: IteratorResult<void, Value>;
  do {
    step = work.next();
    endMs = performance.now();
  } while (step.done !== true && endMs - startMs < SLICE_MS);
  other.end(endMs);
  restedMs = endMs + Math.min(REST_MS_MAX, (endMs - startMs) * REST_TIMES);
  return step;
}
