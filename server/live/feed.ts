/**
 * Sends the changes of one event to all who follow it. It goes round the followers, and gives each
 * what it lacks at that moment, so that a change waits for one round at most. It does so in slices.
 */
import type { EventRow } from "../../engine/catalog.ts";
import type { RecentSource } from "./event-changes.ts";
import type { SharedMessages } from "./shared-messages.ts";
import { ChangesMessage } from "./message.ts";
import type { Sliced, Slices } from "./slices.ts";

/** In a slice the time is read after so many followers. */
const FOLLOWERS_PER_CHECK = 4;
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
  readonly slices: Slices;
  /** Called for each message that is made for the followers. */
  readonly onMessage: () => void;
}

export class Feed implements Sliced {
  readonly event: EventRow;
  readonly #recent: RecentSource;
  readonly #shared: SharedMessages;
  readonly #slices: Slices;
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
  #hasMore = false;
  /** Before this moment later changes are not sent. */
  #nextMs = 0;
  /** Waits for that moment. */
  #timer: NodeJS.Timeout | null = null;

  constructor(event: EventRow, { recent, shared, slices, onMessage }: FeedParts) {
    this.event = event;
    this.#onMessage = onMessage;
    this.#recent = recent;
    this.#shared = shared;
    this.#slices = slices;
    this.position = recent.lastOf(event.partition);
    this.#round = this.#followers.values();
    this.#unwatch = recent.watch(event.partition, () => {
      this.#hasMore = true;
      slices.add(this);
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
    this.#slices.add(this);
  }

  /** To be called when nobody uses it any more. */
  close(): void {
    this.#unwatch();
    clearTimeout(this.#timer ?? undefined);
    this.#slices.remove(this);
  }

  #lacks({ position, isReady }: FeedFollower): boolean {
    return isReady && position < this.position;
  }

  workUntil(endMs: number): boolean {
    const nowMs = performance.now();
    if (this.#hasMore && nowMs >= this.#nextMs) this.#advance(nowMs);
    if (!this.#visitUntil(endMs)) return true;
    if (this.#hasMore) this.#timer ??= setTimeout(this.#goOn, this.#nextMs - nowMs);
    return false;
  }

  readonly #goOn = (): void => {
    this.#timer = null;
    this.#slices.add(this);
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
    if (this.#eager.size > 0) this.#eager.delete(follower);
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
