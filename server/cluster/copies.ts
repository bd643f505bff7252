/** Sends the store to a host that joins: over a WebSocket, as fast as that host takes it. */
import { Result } from "../../engine/results.ts";
import { startCopy } from "../../persistence/rescue/copy-thread.ts";
import { bearerOf } from "../auth/access.ts";
import { isSame } from "../auth/keys.ts";
import { type Answer, type Problem, upgrade } from "../http/answers.ts";
import type { RequestHead } from "../http/front.ts";
import type { Peer, SocketHandler } from "../http/sockets.ts";

/** One at a time: each reads the whole store. */
export const COPIES_MAX = 1;

const [NORMAL, STOPPING, FAILED] = [1_000, 1_001, 1_011];
/** A close frame has 125 bytes, of which the code takes two. */
const REASON_BYTES_MAX = 123;

const NOT_HERE: Problem = { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such path." };
const DENIED: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "A copy of the store needs the platform token.",
};
const TOO_MANY: Problem = {
  refused: Result.OVERLOADED,
  detail: "Another host receives a copy at the moment; try again later.",
};

/** The copies that are being sent. */
export class Copies {
  readonly #folder: string;
  readonly #token: string | undefined;
  /** Called when a copy begins or ends, on a host of a cluster. */
  onCopy: () => void = () => {};
  #count = 0;

  /** @param token - Of the platform; without one, no copy is sent. */
  constructor(folder: string, token: string | undefined) {
    this.#folder = folder;
    this.#token = token;
  }

  /** @returns The answer to a handshake. */
  open({ protocols, authorization }: RequestHead): Answer | Problem {
    if (typeof protocols !== "string" || this.#token === undefined) return NOT_HERE;
    if (!isSame(bearerOf(authorization), this.#token)) return DENIED;
    if (this.#count === COPIES_MAX) return TOO_MANY;
    this.#count += 1;
    this.onCopy();
    const handler = new SentCopy(this.#folder, () => {
      this.#count -= 1;
      this.onCopy();
    });
    const sender = { name: "copy", hasKey: true };
    return upgrade({ protocol: COPY_PROTOCOL, sender, handler });
  }
}

class SentCopy implements SocketHandler {
  readonly #folder: string;
  readonly #onClosed: () => void;
  #peer: Peer | null = null;
  #source: ReturnType<typeof startCopy> | null = null;

  constructor(folder: string, onClosed: () => void) {
    this.#folder = folder;
    this.#onClosed = onClosed;
  }

  opened(peer: Peer): void {
    this.#peer = peer;
    this.#source = startCopy(this.#folder, {
      message: (message) => {
        if (peer.send(message, typeof message !== "string")) this.#source?.next();
      },
      ended: (failure) => {
        if (failure === null) peer.close(NORMAL, "");
        else peer.close(FAILED, Buffer.from(failure).toString("latin1", 0, REASON_BYTES_MAX));
      },
    });
    this.#source.next();
  }

  drained(): void {
    this.#source?.next();
  }

  closed(): void {
    this.#source?.stop();
    this.#source = null;
    this.#onClosed();
  }

  stop(): void {
    this.#source?.stop();
    this.#peer?.close(STOPPING, "the server stops");
  }

  /** The other host has nothing to say. */
  message(): void {}
}

/** Where a host that joins gets the store of a peer. */
export const COPY_PATH = "/api/internal/copy";
export const COPY_PROTOCOL = "frontrow.copy.v1";
