/**
 * Sends the changes of one event to all who follow it. A sweep sends one message to each of them,
 * in slices, so that requests wait for a slice only; what changes meanwhile is in the message of
 * the next sweep.
 */
import type { EventRow } from "../../engine/catalog.ts";
import type { RecentSource } from "./event-changes.ts";
import { ChangesMessage } from "./message.ts";

/** Changes of one message, at most. */
const CHANGES_MAX = 1_000;
/** A slice ends after so many followers have their message ... */
const FOLLOWERS_PER_CHECK = 32;
/** ... and this much time, in milliseconds. */
const SLICE_MS = 1;
/** After a sweep the feed rests: as long as the sweep took, and at least this long. */
const REST_MS_MIN = 4;

/** One who has all changes up to `position`, and gets the later ones from the feed. */
export interface FeedFollower {
  readonly position: number;
  deliver(message: ChangesMessage): void;
  /** The changes after its position are not in memory any more: it must read them itself. */
  fallBehind(): void;
}

export class Feed {
  readonly event: EventRow;
  readonly #recent: RecentSource;
  readonly #followers = new Set<FeedFollower>();
  readonly #unwatch: () => void;
  readonly #onSweep: () => void;
  /** Those who have joined, and those who will when they have caught up. */
  users = 0;
  /** Changes up to here have been given to the followers, or are in the sweep under way. */
  position: number;
  #sweep: Iterator<FeedFollower> | null = null;
  #message: ChangesMessage | null = null;
  #isScheduled = false;
  #hasMore = false;
  #sweepMs = 0;

  /** @param onSweep - Called for each message that is given to the followers. */
  constructor(recent: RecentSource, event: EventRow, onSweep: () => void) {
    this.event = event;
    this.#recent = recent;
    this.#onSweep = onSweep;
    this.position = recent.lastOf(event.partition);
    this.#unwatch = recent.watch(event.partition, this.#changed);
  }

  /** @param follower - Its position is at or after that of the feed. */
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
    const page = this.#recent.page(this.event, this.position, CHANGES_MAX);
    if (page === null) {
      this.#fallBehind();
      return;
    }
    if (page.changes.length === 0) {
      this.#isScheduled = false;
      return;
    }
    this.#hasMore ||= page.hasMore;
    this.#message = new ChangesMessage(page.changes);
    this.position = this.#message.last;
    this.#sweep = this.#followers.values();
    this.#sweepMs = 0;
    this.#onSweep();
    this.#step();
  };

  readonly #step = (): void => {
    const startMs = performance.now();
    let isDone = false;
    for (let count = 1; !isDone; count++) {
      const { value: follower, done } = this.#sweep!.next();
      if (done === true) isDone = true;
      else follower.deliver(this.#message!);
      if (count % FOLLOWERS_PER_CHECK === 0 && performance.now() - startMs >= SLICE_MS) break;
    }
    this.#sweepMs += performance.now() - startMs;
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

  #fallBehind(): void {
    this.#isScheduled = false;
    this.position = this.#recent.lastOf(this.event.partition);
    const followers = [...this.#followers];
    this.#followers.clear();
    for (const follower of followers) follower.fallBehind();
  }
}
