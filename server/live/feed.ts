/**
 * Sends the changes of one event to all who follow it. A sweep sends one message to each of them,
 * in slices, so that requests wait for a slice only; what changes meanwhile is in the message of
 * the next sweep.
 *
 * When changes come faster than they can be sent to all, the feed is overrun: the followers get
 * snapshots in place of changes, until the changes since the last one fit into a message.
 */
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { EventRow } from "../../engine/catalog.ts";
import type { RecentSource } from "./event-changes.ts";
import type { EventMap } from "./map.ts";
import { ChangesMessage } from "./message.ts";

/** Changes of one message, at most. */
export const CHANGES_MAX = 1_000;
/** A slice ends after this time, in milliseconds: a lock waits for two or three slices. */
const SLICE_MS = 0.25;
/** After a sweep the feed rests: as long as the sweep took, and at least this long. */
const REST_MS_MIN = 4;
/** The feed is overrun when more than one message has waited to be sent for this time. */
const LAG_MS_MAX = 1_000;
/** Between two rounds of snapshots the feed rests three times as long as one takes, at least ... */
const ROUND_REST_MS_MIN = 500;
const ROUND_REST_TIMES = 3;

/** One who has all changes up to `position`, and gets the later ones from the feed. */
export interface FeedFollower {
  readonly position: number;
  deliver(message: ChangesMessage): void;
  /** The feed does not have the changes after its position: it must read them itself. */
  fallBehind(): void;
  /**
   * Takes a snapshot in place of the changes after its position. It leaves the feed until the
   * snapshot has been read.
   *
   * @returns Settles when the next one may have its turn.
   */
  takeSnapshot(map: EventMap): Promise<void>;
}

export interface FeedParts {
  readonly event: EventRow;
  readonly recent: RecentSource;
  /** Called for each message that is given to the followers. */
  readonly onSweep: () => void;
  /** Called for each round of snapshots. */
  readonly onRound: () => void;
  /** A new map that is on disk; null when the event has been deleted. */
  readonly map: () => Promise<EventMap | null>;
}

export class Feed {
  readonly #parts: FeedParts;
  readonly #followers = new Set<FeedFollower>();
  readonly #unwatch: () => void;
  /** Those who have joined, and those who will when they have caught up. */
  users = 0;
  /** Changes up to here have been given to the followers, or are in the sweep under way. */
  position: number;
  /** Whether followers get snapshots in place of changes. */
  isOverrun = false;
  #sweep: Iterator<FeedFollower> | null = null;
  #message: ChangesMessage | null = null;
  #isScheduled = false;
  #hasMore = false;
  #sweepMs = 0;
  /** Since when more than one message has waited; null when at most one does. */
  #lagsSinceMs: number | null = null;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    const { recent, event } = parts;
    this.position = recent.lastOf(event.partition);
    this.#unwatch = recent.watch(event.partition, this.#changed);
  }

  get event(): EventRow {
    return this.#parts.event;
  }

  /** @param follower - Its position is at or after that of the feed, unless that is overrun. */
  join(follower: FeedFollower): void {
    this.#followers.add(follower);
  }

  leave(follower: FeedFollower): void {
    this.#followers.delete(follower);
  }

  /** To be called when nobody uses it any more. */
  close(): void {
    this.#unwatch();
  }

  readonly #changed = (): void => {
    this.#hasMore = true;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#begin);
  };

  readonly #begin = (): void => {
    this.#hasMore = false;
    const page = this.#page();
    if (page === null) {
      this.#isScheduled = false;
      this.#jump(this.#last());
      return;
    }
    if (page.changes.length === 0) {
      this.#isScheduled = false;
      return;
    }
    this.#hasMore ||= page.hasMore;
    if (this.#lags(page.hasMore)) {
      void this.#sendSnapshots();
      return;
    }
    this.#message = new ChangesMessage(page.changes);
    this.position = this.#message.last;
    this.#sweep = this.#followers.values();
    this.#sweepMs = 0;
    this.#parts.onSweep();
    this.#step();
  };

  #page() {
    return this.#parts.recent.page(this.event, this.position, CHANGES_MAX);
  }

  #last(): number {
    return this.#parts.recent.lastOf(this.event.partition);
  }

  readonly #step = (): void => {
    const startMs = performance.now();
    let isDone = false;
    let elapsedMs = 0;
    while (!isDone && elapsedMs < SLICE_MS) {
      const { value: follower, done } = this.#sweep!.next();
      if (done === true) isDone = true;
      else follower.deliver(this.#message!);
      elapsedMs = performance.now() - startMs;
    }
    this.#sweepMs += elapsedMs;
    if (!isDone) {
      setImmediate(this.#step);
      return;
    }
    this.#sweep = null;
    this.#message = null;
    setTimeout(this.#rested, Math.max(REST_MS_MIN, this.#sweepMs));
  };

  readonly #rested = (): void => {
    this.#isScheduled = false;
    if (this.#hasMore) this.#changed();
  };

  /** @returns Whether more than one message has waited for too long. */
  #lags(hasMore: boolean): boolean {
    if (!hasMore) this.#lagsSinceMs = null;
    else this.#lagsSinceMs ??= performance.now();
    return this.#lagsSinceMs !== null && performance.now() - this.#lagsSinceMs >= LAG_MS_MAX;
  }

  /** Sends rounds of snapshots, until the changes since the last round fit into a message. */
  async #sendSnapshots(): Promise<void> {
    this.isOverrun = true;
    // oxlint-disable no-await-in-loop -- one round after the other
    do {
      const startMs = performance.now();
      const map = await this.#parts.map();
      if (map === null) break;
      await this.#sendToAll(map);
      const restMs = ROUND_REST_TIMES * (performance.now() - startMs);
      await sleep(Math.max(ROUND_REST_MS_MIN, restMs), null, { ref: false });
    } while (this.users > 0 && this.#page()?.hasMore !== false);
    // oxlint-enable no-await-in-loop
    this.isOverrun = false;
    this.#lagsSinceMs = null;
    this.#jump(this.position);
    this.#rested();
  }

  async #sendToAll(map: EventMap): Promise<void> {
    this.position = map.sequence;
    this.#parts.onRound();
    let sliceMs = performance.now();
    const followers = [...this.#followers];
    for (const follower of followers) {
      if (follower.position >= map.sequence) continue;
      // oxlint-disable-next-line no-await-in-loop -- a few at a time
      await follower.takeSnapshot(map);
      if (performance.now() - sliceMs < SLICE_MS) continue;
      // oxlint-disable-next-line no-await-in-loop -- requests have their turn
      await turn();
      sliceMs = performance.now();
    }
  }

  /** Goes on after a record. Followers that do not have everything up to it catch up. */
  #jump(position: number): void {
    this.position = position;
    for (const follower of this.#followers) {
      if (follower.position >= position) continue;
      this.#followers.delete(follower);
      follower.fallBehind();
    }
  }
}
