/**
 * Fans the changes of one event out to its followers, round robin: each gets the changes it lacks
 * at that moment, so a change waits for one round at most. Works in time slices.
 */
import type { EventRow } from "../../engine/catalog.ts";
import type { ChangePage, WaitingClient } from "../../engine/queries/history.ts";
import { isRefused } from "../../engine/results.ts";
import { OtherWork } from "../api/overload.ts";
import type { KeyedConnection } from "../api/websockets.ts";
import type { Credentials } from "../http/front.ts";
import type { Problem } from "../http/answers.ts";
import type { Peer, SocketHandler } from "../http/sockets.ts";
import type { RecentSource } from "./changes.ts";
import { pack } from "./map.ts";
import { ChangesMessage, Form, type SharedMessages } from "./message.ts";

/** In a slice the time is read after so many followers. */
const FOLLOWERS_PER_CHECK = 4;
/** Later changes begin to be sent this much later at least: fewer messages are made. */
const ADVANCE_MS = 2;

/** One who gets its changes from the feed. */
export interface FeedFollower {
  /** It has all changes up to here. */
  readonly position: number;
  /** True while it takes more; a change to true wakes the feed. */
  readonly isReady: boolean;
  /** @param isLast - True when no other change is to be sent now. */
  deliver(message: ChangesMessage, isLast: boolean): void;
  /** It has left: memory lacks its next changes, so it must read them itself. */
  fallBehind(): void;
}

interface FeedParts {
  readonly recent: RecentSource;
  readonly shared: SharedMessages;
  readonly slices: Slices;
  /** Called for each message made for the followers. */
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
  /** Followers that have joined, or will. */
  users = 0;
  /** Changes up to here are sent to the followers. */
  position: number;
  /** The followers from the one whose turn is next. */
  #round: Iterator<FeedFollower>;
  /** Visits until each follower has every change. */
  #visitsLeft = 0;
  /** Followers to visit again after the round. */
  readonly #eager = new Set<FeedFollower>();
  #hasMore = false;
  /** Before this moment later changes are not sent. */
  #nextMs = 0;
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

  /** @returns True when each follower has every change. */
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

  /** @returns The next message after a record; null when memory lacks the changes. */
  #after(since: number): ChangesMessage | null {
    const known = this.#shared.after(this.event.id, since);
    // A whole block cannot grow.
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

// The share of the thread for streams. In each turn of the event loop all feeds share one time
// slice, so requests wait for a slice at most; the feed that has waited longest goes first. Under
// other load the feeds rest between slices: bookings get most of the thread then, and streams get
// it otherwise.
//
// Long work (`server/api/overload.ts`) measures other work in the same way, with longer slices and
// longer rests.

/** A slice ends after this much time, in milliseconds. */
const SLICE_MS = 0.25;
/** Other work above this share gets the thread after each slice ... */
const OTHER_SHARE_MAX = 0.25;
/** ... for this long, times the excess of its share ... */
const REST_MS = 20;
/** ... and at most for this long. */
const REST_MS_MAX = 8;

interface Sliced {
  /** Works until a moment of `performance.now`. @returns True when more is left. */
  workUntil(endMs: number): boolean;
}

export class Slices {
  readonly #other: OtherWork;
  /** The one whose turn is next comes first. */
  readonly #queue = new Set<Sliced>();
  #isScheduled = false;
  /** When the last slice ended. */
  #endMs = 0;

  constructor(other = new OtherWork()) {
    this.#other = other;
  }

  /** The work is done when it is its turn, in as many slices as it needs. */
  add(work: Sliced): void {
    this.#queue.add(work);
    this.#schedule();
  }

  remove(work: Sliced): void {
    this.#queue.delete(work);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queue.size === 0) return;
    this.#isScheduled = true;
    const restMs = Math.min(REST_MS_MAX, REST_MS * (this.#other.share - OTHER_SHARE_MAX));
    const leftMs = restMs > 0 ? this.#endMs + restMs - performance.now() : 0;
    if (leftMs > 0) setTimeout(this.#step, leftMs);
    else setImmediate(this.#step);
  }

  readonly #step = (): void => {
    this.#isScheduled = false;
    const startMs = this.#other.begin();
    let endMs = startMs;
    // Re-added work comes again.
    for (const work of this.#queue) {
      this.#queue.delete(work);
      if (work.workUntil(startMs + SLICE_MS)) this.#queue.add(work);
      endMs = performance.now();
      if (endMs >= startMs + SLICE_MS) break;
    }
    this.#other.end(endMs);
    this.#endMs = endMs;
    this.#schedule();
  };
}

// A follower: one client over a WebSocket or server-sent events. The feed gives it changes as fast
// as it reads until it has caught up, then at once. It reads older changes from the trail itself.
//
// Ordering: a change is sent once, after the one before it. `position` is the last one given to the
// socket.

/** Why a stream is closed; the number is the code of the close frame. */
export const CloseCode = {
  STOPPING: 1012,
  UNAVAILABLE: 1013,
  KEY_ENDED: 4001,
  DELETED: 4004,
  SLOW: 4008,
} as const;
export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];

const REASONS: Readonly<Record<CloseCode, string>> = {
  [CloseCode.STOPPING]: "the server is stopping",
  [CloseCode.UNAVAILABLE]: "the changes cannot be read; try again later",
  [CloseCode.KEY_ENDED]: "the key is no longer valid",
  [CloseCode.DELETED]: "the event is deleted",
  [CloseCode.SLOW]: "too much waits to be read",
};

/**
 * Send buffer of a client that has caught up. A message larger than this is sent like the pages of
 * a catch-up.
 */
export const WAITING_BYTES_MAX = 1_024 * 1_024;
/** Of server-sent events: clients ignore it. */
const COMMENT = ":\n\n";
/** After this much silence the client gets a sign of life. */
export const SILENCE_MS = 15_000;

export interface FollowerParts {
  readonly feed: Feed;
  /** Null for a snapshot first. */
  readonly since: number | null;
  readonly form: Form;
  readonly isPublic: boolean;
  readonly credentials: Credentials;
  /** True after the end of its ticket; false without one. */
  readonly isOver: () => boolean;
  /** Reads changes after a record. */
  readonly page: (
    since: number,
    client: WaitingClient,
  ) => ChangePage | Promise<ChangePage | Problem>;
  /**
   * Calls `send` with a durable snapshot, in the form of the client, and its last record.
   *
   * @returns False when the event has been deleted.
   */
  readonly snapshot: (
    send: (bytes: Buffer, sequence: number) => Promise<void>,
    client: WaitingClient,
  ) => Promise<boolean>;
  /** Messages shared with other followers. */
  readonly shared: SharedMessages;
  /** Sends a large message when it is the client's turn. @returns Null when it has gone before. */
  readonly inTurn: (send: () => Promise<boolean>, client: WaitingClient) => Promise<boolean | null>;
  readonly onClosed: (code: CloseCode | 0) => void;
}

export class Follower implements SocketHandler, KeyedConnection, FeedFollower, WaitingClient {
  position: number;
  onGone: (() => void) | null = null;
  readonly credentials: Credentials;
  readonly #parts: FollowerParts;
  #peer: Peer | null = null;
  /** When something was last sent. */
  #sentMs = performance.now();
  #onDrained: (() => void) | null = null;
  #code: CloseCode | 0 = 0;
  #isCaughtUp = false;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.position = parts.since ?? 0;
    this.credentials = parts.credentials;
  }

  get eventId(): string {
    return this.#parts.feed.event.id;
  }

  opened(peer: Peer): void {
    this.#peer = peer;
    void this.#begin();
  }

  /** Nothing is expected from the client. */
  message(): void {}

  drained(): void {
    const onDrained = this.#onDrained;
    this.#onDrained = null;
    if (onDrained !== null) {
      onDrained();
      return;
    }
    const { feed } = this.#parts;
    if (this.position >= feed.position) this.#isCaughtUp = true;
    feed.wake(this);
  }

  closed(): void {
    this.#peer = null;
    this.onGone?.();
    this.drained();
    this.#parts.feed.leave(this);
    this.#parts.onClosed(this.#code);
  }

  stop(): void {
    this.close(CloseCode.STOPPING);
  }

  close(code: CloseCode): void {
    if (this.#peer === null || this.#code !== 0) return;
    this.#code = code;
    this.#peer.close(code, REASONS[code]);
  }

  /** While it catches up, it is given more when everything has left. */
  get isReady(): boolean {
    if (this.#peer === null || this.#code !== 0) return false;
    return this.#isCaughtUp || this.#peer.waitingBytes === 0;
  }

  deliver(message: ChangesMessage, isLast: boolean): void {
    if (this.#isLarge(message)) {
      this.#parts.feed.leave(this);
      this.fallBehind();
      return;
    }
    const hasLeft = this.#send(message);
    if (hasLeft) this.#isCaughtUp = isLast;
    // Catch-up does not count. The client may have gone while it was sent something.
    else if (this.#isCaughtUp && (this.#peer?.waitingBytes ?? 0) > WAITING_BYTES_MAX) {
      this.close(CloseCode.SLOW);
    }
  }

  fallBehind(): void {
    this.#isCaughtUp = false;
    void this.#readItself();
  }

  /** Sends a sign of life, if the client has heard nothing for a while. */
  judged(isValid: boolean): void {
    if (!isValid || this.#parts.isOver()) this.close(CloseCode.KEY_ENDED);
    else if (this.#isCaughtUp && performance.now() - this.#sentMs >= SILENCE_MS) this.#beat();
  }

  #beat(): void {
    const { form } = this.#parts;
    if (form === Form.EVENTS) this.#write(COMMENT);
    else this.#write(heartbeat(form, this.position));
  }

  async #begin(): Promise<void> {
    // A socket is corked while it opens: anything sent then would take memory until it closes.
    await nextTurn();
    if (this.#peer === null) return;
    if (this.#parts.since !== null || (await this.#sendSnapshot())) this.#join();
  }

  #join(): void {
    const { feed } = this.#parts;
    if (this.#peer === null) return;
    this.#isCaughtUp = this.position >= feed.position;
    feed.join(this);
  }

  async #readItself(): Promise<void> {
    if (await this.#sendNext(false)) this.#join();
  }

  /**
   * Sends the next changes, as fast as the client reads. A large message waits for its turn, and is
   * not held meanwhile.
   *
   * @returns False when the client has gone.
   */
  async #sendNext(hasTurn: boolean): Promise<boolean> {
    const { shared, inTurn } = this.#parts;
    const message = shared.after(this.eventId, this.position) ?? (await this.#read());
    if (this.#peer === null) return false;
    if (!(message instanceof ChangesMessage)) return this.#beginAgain(message);
    if (!hasTurn && this.#isLarge(message)) {
      shared.keep(this.eventId, this.position, message);
      // Not awaited here, where the message would stay in memory.
      return inTurn(() => this.#sendNext(true), this).then((isThere) => isThere === true);
    }
    if (!this.#send(message)) await this.#whenDrained();
    return true;
  }

  /** @returns A page without changes, or a problem, when they cannot be read. */
  async #read(): Promise<ChangesMessage | ChangePage | Problem> {
    const page = await this.#parts.page(this.position, this);
    const hasNone = isRefused(page) || page.changes.length === 0;
    return hasNone ? page : new ChangesMessage(page.changes);
  }

  #isLarge(message: ChangesMessage): boolean {
    const { form, isPublic } = this.#parts;
    return message.bytes(form, isPublic).length > WAITING_BYTES_MAX;
  }

  /** Cursor older than retention: streams restart from a snapshot, other clients are closed. */
  #beginAgain(page: ChangePage | Problem): Promise<boolean> {
    const isGone = !isRefused(page) || page.members?.["sequence"] !== undefined;
    if (isGone && this.#parts.form !== Form.EVENTS) return this.#sendSnapshot();
    this.close(CloseCode.UNAVAILABLE);
    return Promise.resolve(false);
  }

  /** @returns False when the client has gone. */
  async #sendSnapshot(): Promise<boolean> {
    const isThere = await this.#parts.snapshot(async (bytes, sequence) => {
      this.position = sequence;
      if (!this.#write(bytes)) await this.#whenDrained();
    }, this);
    if (!isThere) this.close(CloseCode.DELETED);
    return isThere && this.#peer !== null;
  }

  #whenDrained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#peer === null) resolve();
      else this.#onDrained = resolve;
    });
  }

  /** @returns True when everything has left. */
  #send(message: ChangesMessage): boolean {
    const { form, isPublic } = this.#parts;
    const hasLeft = this.#write(message.bytes(form, isPublic));
    this.position = message.last;
    if (message.isEnd) this.close(CloseCode.DELETED);
    return hasLeft;
  }

  #write(bytes: Buffer | string): boolean {
    this.#sentMs = performance.now();
    return this.#peer?.send(bytes, this.#parts.form === Form.MSGPACK) ?? true;
  }
}

/** Others have their turn between two pages. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function heartbeat(form: Form, sequence: number): Buffer | string {
  const beat = { type: "heartbeat", sequence };
  return form === Form.MSGPACK ? pack(beat) : JSON.stringify(beat);
}
