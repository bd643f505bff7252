/** A client: sends any bytes, and reads HTTP answers. */
import net from "node:net";
import { sleep } from "../support/server-process.ts";
import type { Departure } from "./recipe.ts";

/** Longer than a hash of a password takes on a busy machine. */
const ANSWER_MS_MAX = 20_000;
/** Longer than a client that leaves waits for an answer. */
const READ_MS_MAX = 2_000;
const HEAD_END = "\r\n\r\n";
/** Comes before an answer. */
const CONTINUE = 100;
const SWITCHED = 101;
const EVENT_STREAM = "text/event-stream";
const BODILESS = new Set([204, 304]);

export interface Reply {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface Heard {
  readonly replies: readonly Reply[];
  /** Bytes that are no whole answer. */
  readonly rest: string;
  /** Nothing came in time, though the connection stayed open. */
  readonly hangs: boolean;
  /** Commands without an answer may have been carried out. */
  readonly isCut?: boolean;
}

export class Client {
  readonly #port: number;
  #socket: net.Socket | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends one request, and waits for its answer, or for the end of the connection. */
  async ask(bytes: Buffer, isHead: boolean): Promise<Heard> {
    const kept = this.#socket;
    const heard = await this.#askOn((this.#socket ??= await this.#connect()), bytes, isHead);
    // The server may close a connection after any answer, just when the next request is sent.
    const wasClosed = kept !== null && heard.replies.length === 0 && !heard.hangs;
    return wasClosed ? this.ask(bytes, isHead) : heard;
  }

  async #askOn(socket: net.Socket, bytes: Buffer, isHead: boolean): Promise<Heard> {
    const isEnough = (text: string) => readReplies(text, isHead, false).replies.length > 0;
    const { text, hangs, isClosed } = await exchange(socket, bytes, isEnough);
    const heard = { ...readReplies(text, isHead, isClosed), hangs };
    const hasOpenEnd = heard.replies.some(isOpenEnd);
    if (isClosed || hangs || hasOpenEnd) this.close();
    return hasOpenEnd ? { ...heard, rest: "" } : heard;
  }

  /**
   * Sends a handshake on a connection of its own and, once it is accepted, what follows.
   *
   * @param following - If it is the last, the client ends the connection.
   * @param isEnough - True once the bytes after the handshake are complete.
   * @returns The answer to the handshake, and the rest as Latin-1.
   */
  async converse(
    handshake: { readonly bytes: Buffer; readonly isHead: boolean },
    following: { readonly bytes: Buffer; readonly isLast: boolean },
    isEnough: (text: string) => boolean,
  ): Promise<Heard> {
    const socket = await this.#connect();
    const { isHead } = handshake;
    const isAnswer = (text: string) => readReplies(text, isHead, false).replies.length > 0;
    const first = await exchange(socket, handshake.bytes, isAnswer);
    const { replies, rest } = readReplies(first.text, isHead, first.isClosed);
    const isOpen = replies[0]?.status === SWITCHED && !first.isClosed;
    if (isOpen && following.isLast) setTimeout(() => socket.end(), 1);
    const said = isOpen
      ? await exchange(socket, following.bytes, (text) => isEnough(rest + text))
      : { text: "", hangs: first.hangs };
    socket.destroy();
    return { replies, rest: rest + said.text, hangs: said.hangs };
  }

  /** Sends bytes on a connection of their own, then ends it, and reads up to its end. */
  async throwIn(bytes: Buffer): Promise<Heard> {
    const socket = await this.#connect();
    socket.write(bytes);
    setTimeout(() => socket.end(), 1);
    const { text, hangs } = await exchange(socket, null, () => false);
    socket.destroy();
    return { ...readReplies(text, false, true), hangs };
  }

  /** Disconnects on the way, on a connection of its own. */
  async leave(bytes: Buffer, { sent, read, afterMs, by }: Departure): Promise<void> {
    const socket = await this.#connect();
    socket.on("error", () => {});
    const hasRead = new Promise<void>((resolve) => {
      let length = 0;
      socket.once("close", resolve).on("data", (part: string) => {
        length += part.length;
        if (length >= read) resolve();
      });
    });
    socket.write(bytes.subarray(0, Math.ceil(sent * bytes.length)));
    if (read > 0) await Promise.race([hasRead, sleep(READ_MS_MAX)]);
    await sleep(afterMs);
    if (by === "reset") socket.resetAndDestroy();
    else socket.destroy();
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #connect(): Promise<net.Socket> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.#port, "127.0.0.1", () => resolve(socket.setNoDelay(true)));
      socket.setEncoding("latin1").once("error", reject);
    });
  }
}

interface Came {
  readonly text: string;
  readonly hangs: boolean;
  readonly isClosed: boolean;
}

/** Settles once enough has come, the connection has ended, or the time is up. */
function exchange(
  socket: net.Socket,
  bytes: Buffer | null,
  isEnough: (text: string) => boolean,
): Promise<Came> {
  return new Promise((resolve) => {
    let text = "";
    const settle = (came: Omit<Came, "text">) => {
      clearTimeout(timer);
      socket.removeAllListeners("data").removeAllListeners("close").removeAllListeners("error");
      socket.on("error", () => {});
      resolve({ text, ...came });
    };
    const timer = setTimeout(() => settle({ hangs: true, isClosed: false }), ANSWER_MS_MAX);
    socket.on("data", (part: string) => {
      text += part;
      if (isEnough(text)) settle({ hangs: false, isClosed: false });
    });
    socket.on("close", () => settle({ hangs: false, isClosed: true }));
    socket.on("error", () => {});
    if (bytes === null) return;
    if (socket.destroyed) settle({ hangs: false, isClosed: true });
    else socket.write(bytes);
  });
}

/**
 * @param isHead - Whether answers have no body.
 * @param isClosed - Whether the connection has ended: an answer without a length goes up to there.
 */
function readReplies(text: string, isHead: boolean, isClosed: boolean): Omit<Heard, "hangs"> {
  const replies: Reply[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf(HEAD_END);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1] ?? 0);
    if (end < 0 || status === 0) return { replies, rest };
    const lines = rest.slice(0, end).split("\r\n").slice(1);
    const headers = new Map(lines.map((line) => fieldOf(line)));
    if (status === CONTINUE) {
      rest = rest.slice(end + HEAD_END.length);
      continue;
    }
    const isBodiless = isHead || BODILESS.has(status);
    const bodyAt = end + HEAD_END.length;
    const upToEnd = isClosed ? rest.length - bodyAt : Infinity;
    if (isOpenEnd({ status, headers })) {
      return { replies: [...replies, { status, headers, body: "" }], rest: rest.slice(bodyAt) };
    }
    const length = isBodiless ? 0 : Number(headers.get("content-length") ?? upToEnd);
    if (rest.length < bodyAt + length) return { replies, rest };
    replies.push({ status, headers, body: rest.slice(bodyAt, bodyAt + length) });
    rest = rest.slice(bodyAt + length);
  }
}

/** No other answer follows on the connection. */
function isOpenEnd({ status, headers }: Pick<Reply, "status" | "headers">): boolean {
  return status === SWITCHED || headers.get("content-type") === EVENT_STREAM;
}

function fieldOf(line: string): [string, string] {
  const [name = "", value = ""] = line.split(/: ?(.*)/s);
  return [name.toLowerCase(), value];
}
