/**
 * One client that follows an event, over a WebSocket or server-sent events. The feed gives it the
 * changes: as fast as it reads until it has caught up, then at once. What is not in memory it reads
 * itself.
 *
 * Ordering: a change is sent once, after the one before it. `position` is the last one that was
 * given to the socket.
 */
import type { WaitingClient } from "../../engine/queries/audit-trail.ts";
import type { ChangePage } from "../../engine/queries/event-change.ts";
import { isRefused } from "../../engine/results.ts";
import type { Credentials } from "../auth/access.ts";
import type { KeyedConnection } from "../routing/key-rounds.ts";
import type { Problem } from "../wire/answers.ts";
import type { Peer, SocketHandler } from "../wire/sockets.ts";
import type { Feed, FeedFollower } from "./feed.ts";
import { pack } from "./map.ts";
import { ChangesMessage, Form } from "./message.ts";
import type { SharedMessages } from "./shared-messages.ts";

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
 * Bytes that may wait for a client that has caught up. A message that is larger by itself is sent
 * like the pages of a client that catches up.
 */
export const WAITING_BYTES_MAX = 1_024 * 1_024;
/** Of server-sent events: clients ignore it. */
const COMMENT = ":\n\n";
/** After this much silence the client gets a sign of life. */
export const SILENCE_MS = 15_000;

/** What a follower needs from the others. */
export interface FollowerParts {
  readonly feed: Feed;
  /** Null for a snapshot first. */
  readonly since: number | null;
  readonly form: Form;
  readonly isPublic: boolean;
  readonly credentials: Credentials;
  /** Reads changes after a record. */
  readonly page: (
    since: number,
    client: WaitingClient,
  ) => ChangePage | Promise<ChangePage | Problem>;
  /**
   * Calls `send` with a snapshot that is on disk, in the form of the client, and its last record.
   *
   * @returns Whether there is one: the event may have been deleted.
   */
  readonly snapshot: (
    send: (bytes: Buffer, sequence: number) => Promise<void>,
    client: WaitingClient,
  ) => Promise<boolean>;
  /** Messages that others get too. */
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
    // What a client catches up with does not count. It may have gone while it was sent something.
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
    if (!isValid) this.close(CloseCode.KEY_ENDED);
    else if (this.#isCaughtUp && performance.now() - this.#sentMs >= SILENCE_MS) this.#beat();
  }

  #beat(): void {
    const { form } = this.#parts;
    if (form === Form.EVENTS) this.#write(COMMENT);
    else this.#write(heartbeat(form, this.position));
  }

  async #begin(): Promise<void> {
    // A socket is corked while it opens. What is sent then would take memory until it closes.
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
   * Sends some of the changes that the client lacks, as fast as it reads. A large message waits for
   * its turn, and is not held meanwhile.
   *
   * @returns Whether the client is still there.
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

  /** What it lacks is not kept: a stream goes on with a snapshot, other clients come again. */
  #beginAgain(page: ChangePage | Problem): Promise<boolean> {
    const isGone = !isRefused(page) || page.sequence !== undefined;
    if (isGone && this.#parts.form !== Form.EVENTS) return this.#sendSnapshot();
    this.close(CloseCode.UNAVAILABLE);
    return Promise.resolve(false);
  }

  /** @returns Whether the client is still there. */
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

  /** @returns Whether everything has left. */
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
