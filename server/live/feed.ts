/**
 * Sends the changes of one event to all who follow it. It goes round the followers, and gives each
 * what it lacks at that moment, so that a change waits for one round at most. A slice of a round
 * comes in each turn of the event loop, so that requests wait for a slice only.
 */
import type { EventRow } from "../../engine/catalog.ts";
import type { RecentSource } from "./event-changes.ts";
import type { SharedMessages } from "./shared-messages.ts";
import { ChangesMessage } from "./message.ts";

/** A slice ends after this much time, in milliseconds ... */
const SLICE_MS = 0.25;
/** ... which is read after so many followers. */
const FOLLOWERS_PER_CHECK = 4;
/** When other work has taken more than this since the last slice, it is likely that more waits. */
const OTHER_WORK_MS = 0.2;
/** It has the thread for this long then. */
const REST_MS = 1;
/** Later changes begin to be sent this much later at least: fewer messages are made. */
const ADVANCE_MS = 2;

/** One who gets its changes from the feed. */
export interface FeedFollower {
  /** It has all changes up to here. */
  readonly position: number;
  /** Whether it may be given more now; when that changes, it wakes the feed. */
  readonly isReady: boolean;
  /** @param isLast - Whether no other change is to be sent now. */
  deliver(message: ChangesMessage, isLast: boolean): void;
  /** It has left: what it lacks is not in memory, and it must read that itself. */
  fallBehind(): void;
}

interface FeedParts {
  readonly recent: RecentSource;
  readonly shared: SharedMessages;
  /** Called for each message that is made for the followers. */
  readonly onMessage: () => void;
}

export class Feed {
  readonly event: EventRow;
  readonly #recent: RecentSource;
  readonly #shared: SharedMessages;
  readonly #followers = new Set<FeedFollower>();
  readonly #unwatch: () => void;
  readonly #onMessage: () => void;
  /** Those who have joined, and those who will. */
  users = 0;
  /** Changes up to here are sent to the followers. */
  position: number;
  /** The followers from the one whose turn is next. */
  #round: Iterator<FeedFollower>;
  /** How many followers must be looked at until each has what it lacks. */
  #visitsLeft = 0;
  /** Followers that lack something, and are looked at after the round. */
  readonly #eager = new Set<FeedFollower>();
  #isScheduled = false;
  #hasMore = false;
  /** Before this moment later changes are not sent. */
  #nextMs = 0;
  /** When the slice ended that was in the turn before; 0 for none. */
  #sliceEndMs = 0;

  constructor(event: EventRow, { recent, shared, onMessage }: FeedParts) {
    this.event = event;
    this.#onMessage = onMessage;
    this.#recent = recent;
    this.#shared = shared;
    this.position = recent.lastOf(event.partition);
    this.#round = this.#followers.values();
    this.#unwatch = recent.watch(event.partition, () => {
      this.#hasMore = true;
      this.#schedule();
    });
  }

  join(follower: FeedFollower): void {
    this.#followers.add(follower);
    // It is at the end, and comes before those at the beginning.
    if (this.#visitsLeft > 0) this.#visitsLeft += 1;
    this.wake(follower);
  }

  leave(follower: FeedFollower): void {
    this.#followers.delete(follower);
    this.#eager.delete(follower);
  }

  /** A follower may be ready for more. */
  wake(follower: FeedFollower): void {
    if (!this.#lacks(follower) || !this.#followers.has(follower)) return;
    this.#eager.add(follower);
    this.#schedule();
  }

  /** To be called when nobody uses it any more. */
  close(): void {
    this.#unwatch();
  }

  #lacks({ position, isReady }: FeedFollower): boolean {
    return isReady && position < this.position;
  }

  #schedule(restMs = 0): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (restMs > 0) setTimeout(this.#step, restMs);
    else setImmediate(this.#step);
  }

  readonly #step = (): void => {
    this.#isScheduled = false;
    const startMs = performance.now();
    const lastEndMs = this.#sliceEndMs;
    if (this.#hasMore && startMs >= this.#nextMs) this.#advance(startMs);
    const hasVisitedAll = this.#visitUntil(startMs + SLICE_MS);
    const nowMs = performance.now();
    this.#sliceEndMs = 0;
    if (hasVisitedAll) {
      if (this.#hasMore) this.#schedule(this.#nextMs - nowMs);
    } else if (lastEndMs > 0 && startMs - lastEndMs > OTHER_WORK_MS) {
      this.#schedule(REST_MS);
    } else {
      this.#sliceEndMs = nowMs;
      this.#schedule();
    }
  };

  /** @returns Whether each follower has what it lacks. */
  #visitUntil(endMs: number): boolean {
    for (let count = 1; ; count++) {
      const follower = this.#next();
      if (follower === undefined) return true;
      this.#visit(follower);
      if (count % FOLLOWERS_PER_CHECK === 0 && performance.now() >= endMs) return false;
    }
  }

  #advance(nowMs: number): void {
    this.#hasMore = false;
    this.#nextMs = nowMs + ADVANCE_MS;
    this.position = this.#recent.lastOf(this.event.partition);
    this.#visitsLeft = this.#followers.size;
  }

  /** @returns The follower whose turn it is. */
  #next(): FeedFollower | undefined {
    if (this.#followers.size === 0) this.#visitsLeft = 0;
    while (this.#visitsLeft > 0) {
      const { value: follower, done } = this.#round.next();
      if (done === true) {
        this.#round = this.#followers.values();
        continue;
      }
      this.#visitsLeft -= 1;
      return follower;
    }
    const [follower] = this.#eager;
    return follower;
  }

  #visit(follower: FeedFollower): void {
    this.#eager.delete(follower);
    if (!this.#lacks(follower)) return;
    const message = this.#after(follower.position);
    if (message === null) {
      this.leave(follower);
      follower.fallBehind();
      return;
    }
    follower.deliver(message, message.last >= this.position);
    if (this.#lacks(follower) && this.#followers.has(follower)) this.#eager.add(follower);
  }

  /** @returns The changes that are sent after a record; null when they are not in memory. */
  #after(since: number): ChangesMessage | null {
    const known = this.#shared.after(this.event.id, since);
    // One that ended with its block is as long as it can be.
    if (known !== undefined && (known.isWhole || known.last === this.position)) return known;
    const changes = this.#recent.block(this.event, since, this.position);
    if (changes === null || changes.length === 0) return null;
    const isWhole = changes.at(-1)!.sequence < this.position;
    const message = new ChangesMessage(changes, isWhole);
    this.#shared.keep(this.event.id, since, message);
    this.#onMessage();
    return message;
  }
}
