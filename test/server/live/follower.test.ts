/** A follower on a connection of any speed. */
import { expect, test, vi } from "vitest";
import type { EventRow } from "../../../engine/catalog.ts";
import {
  CloseCode,
  type Feed,
  Follower,
  type FollowerParts,
  SILENCE_MS,
  WAITING_BYTES_MAX,
} from "../../../server/live/feed.ts";
import { ChangesMessage, Form } from "../../../server/live/message.ts";
import type { Peer } from "../../../server/http/sockets.ts";

/** Most of the send buffer. */
const MOST = "x".repeat(0.9 * WAITING_BYTES_MAX);
const NO_PLACES = { seats: [], areas: [], status: null, bookable: null } as const;

class SlowPeer implements Peer {
  waitingBytes = 0;
  isSlow = true;
  sent = 0;
  code = 0;
  onSend: (() => void) | null = null;

  send(message: string | Uint8Array): boolean {
    this.sent += 1;
    this.onSend?.();
    if (this.isSlow) this.waitingBytes += message.length;
    return !this.isSlow;
  }

  close(code: number): void {
    this.code = code;
  }

  keep(): boolean {
    return true;
  }

  release(): void {}
}

/** A follower two changes behind its feed. */
async function joined() {
  const feed = {
    event: { id: "event" } as EventRow,
    position: 2,
    join: vi.fn<() => void>(),
    leave: vi.fn<() => void>(),
    wake: vi.fn<() => void>(),
  };
  const parts: Partial<FollowerParts> = {
    feed: feed as Partial<Feed> as Feed,
    since: 0,
    form: Form.JSON,
    isPublic: false,
    isOver: () => false,
    onClosed: vi.fn<() => void>(),
  };
  const follower = new Follower(parts as FollowerParts);
  const peer = new SlowPeer();
  follower.opened(peer);
  await expect.poll(() => feed.join.mock.calls.length).toBe(1);
  return { feed, follower, peer };
}

function change(sequence: number, session = MOST): ChangesMessage {
  const facts = { timeMs: 0, call: "lock", session, holdType: "", ...NO_PLACES };
  return new ChangesMessage([{ sequence, previous: sequence - 1, ...facts }]);
}

test("what a client catches up with does not count, and is given as fast as it reads", async () => {
  const { feed, follower, peer } = await joined();
  follower.deliver(change(1), false);
  expect(follower.isReady).toBe(false);
  peer.waitingBytes = 0;
  follower.drained();
  expect(feed.wake).toHaveBeenCalled();
  expect(follower.isReady).toBe(true);
  follower.deliver(change(2), true);
  // It has been given everything, but has not read it.
  feed.position = 3;
  expect(follower.isReady).toBe(false);
  expect(peer.code).toBe(0);
});

test("a client that has caught up is given each change at once, until too much waits", async () => {
  const { feed, follower, peer } = await joined();
  follower.deliver(change(2), true);
  peer.waitingBytes = 0;
  follower.drained();
  feed.position = 4;
  follower.deliver(change(3), true);
  expect([follower.isReady, peer.code]).toEqual([true, 0]);
  follower.deliver(change(4), true);
  expect([follower.isReady, peer.code]).toEqual([false, CloseCode.SLOW]);
});

test("a client that is ended while a change is sent is given no more", async () => {
  const { feed, follower, peer } = await joined();
  peer.isSlow = false;
  follower.deliver(change(2), true);
  peer.isSlow = true;
  peer.onSend = () => follower.closed();
  feed.position = 3;
  follower.deliver(change(3), true);
  expect([follower.isReady, feed.leave.mock.calls.length]).toEqual([false, 1]);
});

test("a client hears of a silence when it has read what it caught up with", async () => {
  const { follower, peer } = await joined();
  follower.deliver(change(2), true);
  const nowMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(nowMs + SILENCE_MS);
  follower.judged(true);
  expect(peer.sent).toBe(1);
  peer.waitingBytes = 0;
  follower.drained();
  follower.judged(true);
  expect(peer.sent).toBe(2);
  clock.mockRestore();
});
