/** A feed with followers: joining, leaving, reading slowly and coming back. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { EventRow } from "../../../engine/catalog.ts";
import type { EventChange } from "../../../engine/queries/history.ts";
import type { RecentSource } from "../../../server/live/changes.ts";
import { Feed, type FeedFollower, Slices } from "../../../server/live/feed.ts";
import { type ChangesMessage, SharedMessages } from "../../../server/live/message.ts";
import { Random } from "../../../server/onsale/random.ts";

const EVENT = { id: "event", partition: 1 } as EventRow;
const BLOCK = 8;
const NO_PLACES = { seats: [], areas: [], status: null, bookable: null } as const;

/** Consecutive changes, some of them dropped from memory. */
class Changes {
  last = 0;
  dropped = 0;
  /** Reads of changes. */
  reads = 0;
  #onChanged: () => void = () => {};

  add(count: number): void {
    this.last += count;
    this.#onChanged();
  }

  source(): RecentSource {
    return {
      lastOf: () => this.last,
      watch: (_: number, onChanged: () => void) => {
        this.#onChanged = onChanged;
        return () => {};
      },
      block: (_: EventRow, since: number, until: number): EventChange[] | null => {
        this.reads += 1;
        if (since < this.dropped) return null;
        const end = Math.min(until, since + BLOCK - (since % BLOCK));
        return Array.from({ length: end - since }, (__, i) => {
          const sequence = since + i + 1;
          const facts = { timeMs: 0, call: "lock", session: "", holdType: "", ...NO_PLACES };
          return { sequence, previous: sequence - 1, ...facts };
        });
      },
    } as Partial<RecentSource> as RecentSource;
  }
}

function busy(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

class Follower implements FeedFollower {
  isReady = true;
  readonly feed: Feed;
  position: number;
  deliveries = 0;
  deliveryMs = 0;
  /** Deliveries marked as the last. */
  ends = 0;
  /** Times memory lacked its changes. */
  falls = 0;

  constructor(feed: Feed, position = feed.position) {
    this.feed = feed;
    this.position = position;
    feed.join(this);
  }

  deliver(message: ChangesMessage, isLast: boolean): void {
    busy(this.deliveryMs);
    if (!this.isReady) throw new Error("it was not ready");
    if (message.changes[0]!.previous !== this.position) throw new Error("a change is missing");
    this.position = message.last;
    this.deliveries += 1;
    if (isLast) this.ends += 1;
  }

  fallBehind(): void {
    this.falls += 1;
  }
}

/** It reads dropped changes itself, and joins again. */
class Reader extends Follower {
  readonly changes: Changes;
  isGone = false;

  constructor(feed: Feed, changes: Changes) {
    super(feed);
    this.changes = changes;
  }

  override fallBehind(): void {
    super.fallBehind();
    this.position = this.changes.dropped;
    setImmediate(() => {
      if (!this.isGone) this.feed.join(this);
    });
  }
}

function start() {
  const changes = new Changes();
  const shared = new SharedMessages();
  const slices = new Slices();
  const parts = { recent: changes.source(), shared, slices, onMessage: () => {} };
  const feed = new Feed(EVENT, parts);
  const follow = (count: number) => Array.from({ length: count }, () => new Follower(feed));
  return { changes, feed, follow };
}

test("a change on the way of a round reaches those who come later in that round", async () => {
  const { changes, follow } = start();
  const followers = follow(300);
  // A delivery takes time, so the round takes many slices.
  for (const follower of followers) follower.deliveryMs = 0.1;
  changes.add(1);
  while (followers[50]!.position < 1) await nextTurn();
  changes.add(1);
  await expect.poll(() => followers.every(({ position }) => position === 2)).toBe(true);
  expect(followers[0]!.deliveries).toBe(2);
  // One message has both changes.
  expect(followers.at(-1)!.deliveries).toBe(1);
});

test("changes are read once for all who lack the same, also when they began apart", async () => {
  const { changes, feed, follow } = start();
  const followers = follow(20);
  for (const follower of followers) follower.isReady = false;
  changes.add(10 * BLOCK);
  await expect.poll(() => feed.position).toBe(10 * BLOCK);
  for (const [i, follower] of followers.entries()) {
    follower.position = i % 4;
    follower.isReady = true;
    feed.wake(follower);
  }
  await expect.poll(() => followers.every(({ position }) => position === 10 * BLOCK)).toBe(true);
  // Four beginnings of blocks with a common end.
  expect(changes.reads).toBe(4 + 9);
});

test("a follower that is not ready is given nothing, and all when it wakes the feed", async () => {
  const { changes, feed, follow } = start();
  const [slow, other] = follow(2) as [Follower, Follower];
  slow.isReady = false;
  changes.add(3 * BLOCK);
  await expect.poll(() => other.position).toBe(3 * BLOCK);
  expect(slow.deliveries).toBe(0);
  slow.isReady = true;
  feed.wake(slow);
  await expect.poll(() => slow.position).toBe(3 * BLOCK);
  expect([slow.deliveries, slow.ends]).toEqual([3, 1]);
});

test("a follower whose changes are not in memory leaves, and comes back further on", async () => {
  const { changes, feed, follow } = start();
  const [follower] = follow(1) as [Follower];
  follower.isReady = false;
  changes.add(2);
  await expect.poll(() => feed.position).toBe(2);
  changes.dropped = 1;
  follower.isReady = true;
  feed.wake(follower);
  await expect.poll(() => follower.falls).toBe(1);
  changes.add(1);
  await expect.poll(() => feed.position).toBe(3);
  feed.wake(follower);
  follower.position = 2;
  feed.join(follower);
  await expect.poll(() => follower.position).toBe(3);
  expect([follower.falls, follower.deliveries]).toEqual([1, 1]);
});

test("a feed that was closed in a round does nothing more", async () => {
  const { changes, feed, follow } = start();
  const followers = follow(100);
  for (const follower of followers) follower.deliveryMs = 0.1;
  changes.add(1);
  while (followers[0]!.position < 1) await nextTurn();
  feed.close();
  const deliveries = () => followers.reduce((total, follower) => total + follower.deliveries, 0);
  const before = deliveries();
  await nextTurn();
  await nextTurn();
  expect(before).toBeLessThan(100);
  expect(deliveries()).toBe(before);
});

test.each([1, 2, 3])(
  "each follower has each change once, whatever happens, seed %d",
  async (seed) => {
    const random = new Random(seed);
    const { changes, feed } = start();
    const followers: Reader[] = [];
    for (let step = 0; step < 300; step++) {
      if (random.chance(0.5)) changes.add(random.between(1, 20));
      if (random.chance(0.05)) changes.dropped = random.between(changes.dropped, changes.last);
      if (followers.length === 0 || random.chance(0.3)) followers.push(new Reader(feed, changes));
      disturb(followers[random.below(followers.length)]!, random);
      if (random.chance(0.3)) await nextTurn();
    }
    for (const follower of followers) {
      if (follower.isGone) disturb(follower, null);
      follower.isReady = true;
      feed.wake(follower);
    }
    const isDone = () => followers.every(({ position }) => position === changes.last);
    await expect.poll(isDone, { timeout: 20_000 }).toBe(true);
    expect(followers.some(({ falls }) => falls > 0)).toBe(true);
  },
);

/** It pauses, reads on, goes or comes back. @param random - Null to go or to come back. */
function disturb(follower: Reader, random: Random | null): void {
  const { feed } = follower;
  if (random?.chance(0.5) === true) {
    follower.isReady = !follower.isReady;
    if (follower.isReady) feed.wake(follower);
  } else if (random === null || random.chance(0.2)) {
    follower.isGone = !follower.isGone;
    if (follower.isGone) feed.leave(follower);
    else feed.join(follower);
  }
}
