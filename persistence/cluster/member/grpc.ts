/**
 * gRPC over HTTP/2 (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md): a call is a
 * stream, a message has a prefix of five bytes, and the trailers say how the call ended. All calls
 * to a server share one connection, which is opened when a call needs it.
 */
import http2 from "node:http2";
import { Malformed, only } from "../../disk/faults.ts";

const OK = 0;
const PREFIX_BYTES = 5;
/** A frame of the log with all its parts is half as long. */
const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;
/** What a server may send ahead on a stream, and on the connection. */
const WINDOW_BYTES = 16 * 1024 * 1024;
/** The limit of Node, in megabytes, would refuse calls while long messages are sent. */
const SESSION_MEMORY_MB = 256;
/** By default, etcd closes a connection that is probed each 5 s while it has nothing to send. */
const PROBE_EVERY_MS = 6_000;
const PROBE_DEADLINE_MS = 2_000;
/** A connection has numbers for 2^30 streams. */
const CALLS_MAX = 2 ** 29;

/** How a call ended. */
export interface CallEnd {
  /** Null when the server did not say, so the connection was lost, or the answer was malformed. */
  readonly status: number | null;
  readonly reason: string;
}

export interface CallEvents {
  readonly onMessage: (message: Buffer) => void;
  /** Called once; no message follows. */
  readonly onEnd: (end: CallEnd) => void;
}

/** The first message of a call. */
export interface Request {
  readonly path: string;
  readonly message: Uint8Array;
}

export class GrpcChannel {
  readonly #address: string;
  readonly #callsMax: number;
  #connection: Connection | null = null;
  #isClosed = false;

  /** @param address - Host and port. */
  constructor(address: string, callsMax = CALLS_MAX) {
    this.#address = address;
    this.#callsMax = callsMax;
  }

  /** Opens a call whose request goes on. @returns Cancels it; nothing is called afterwards. */
  stream(request: Request, events: CallEvents): () => void {
    if (this.#isClosed) return () => {};
    const { stream, cancel } = this.#open(request, events);
    writeFramed(stream, request.message);
    return cancel;
  }

  /**
   * A call with one request and one response.
   * @param onEnd - The response is null without one, or when the status is not 0.
   */
  call(
    request: Request,
    deadlineMs: number,
    onEnd: (end: CallEnd, response: Buffer | null) => void,
  ): void {
    if (this.#isClosed) return;
    let response: Buffer | null = null;
    const { stream, cancel } = this.#open(request, {
      onMessage: (message) => (response = message),
      onEnd: (end) => {
        clearTimeout(timer);
        onEnd(end, end.status === OK ? response : null);
      },
    });
    const connection = this.#connection!;
    const { heard } = connection;
    const timer = setTimeout(() => {
      cancel();
      if (this.#isClosed) return;
      if (connection.heard === heard) connection.probe();
      onEnd({ status: null, reason: "no answer in time" }, null);
    }, deadlineMs);
    writeFramed(stream, request.message);
    stream.end();
  }

  /** Nothing is called afterwards. */
  close(): void {
    this.#isClosed = true;
    if (this.#connection !== null) afterCallbacks(() => this.#connection!.destroy());
  }

  #open({ path }: Request, { onMessage, onEnd }: CallEvents) {
    const stream = this.#connected().request(path);
    const reader = new MessageReader();
    let end: CallEnd = { status: null, reason: "the call ended without a status" };
    let isOver = false;
    const ifOpen = (report: () => void) => {
      if (!isOver && !this.#isClosed) report();
    };
    stream.on("response", (headers) => (end = endIn(headers) ?? end));
    stream.on("trailers", (headers) => (end = endIn(headers) ?? end));
    stream.on("error", ({ message }) => (end = { status: null, reason: message }));
    stream.on("data", (chunk: Buffer) => {
      try {
        reader.take(chunk, (message) => ifOpen(() => onMessage(message)));
      } catch (error) {
        only(error, Malformed);
        afterCallbacks(() => stream.destroy(error));
      }
    });
    // The call is over, although its request could go on.
    stream.on("end", () => stream.end());
    stream.on("close", () => ifOpen(() => onEnd(end)));
    const cancel = () => {
      isOver = true;
      afterCallbacks(() => stream.close(http2.constants.NGHTTP2_CANCEL));
    };
    return { stream, cancel };
  }

  #connected(): Connection {
    if (this.#connection?.isUsable !== true) {
      this.#connection?.destroy();
      this.#connection = new Connection(this.#address, this.#callsMax);
    }
    return this.#connection;
  }
}

/**
 * Node can abort the process when a stream or its connection is ended within a callback of that
 * connection, because the native code still works on what has arrived.
 */
function afterCallbacks(end: () => void): void {
  setImmediate(end);
}

/** @returns Null when the headers do not say how the call ended. */
function endIn(
  headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader,
): CallEnd | null {
  const { ":status": httpStatus = 200, "grpc-status": status, "grpc-message": message } = headers;
  if (httpStatus !== 200) return { status: null, reason: `HTTP status ${httpStatus}` };
  if (status === undefined) return null;
  return { status: Number(status), reason: unescaped(String(message ?? "no reason")) };
}

function unescaped(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    // It is only shown.
    return message;
  }
}

class Connection {
  readonly #session: http2.ClientHttp2Session;
  #callsLeft: number;
  #isProbing = false;
  /** Counts what the server has sent. */
  heard = 0;

  constructor(address: string, callsMax: number) {
    this.#callsLeft = callsMax;
    const session = http2.connect(`http://${address}`, {
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    const timer = setInterval(() => this.probe(), PROBE_EVERY_MS);
    session.on("connect", () => session.setLocalWindowSize(WINDOW_BYTES));
    // Its streams report it.
    session.on("error", () => {});
    session.on("close", () => clearInterval(timer));
    this.#session = session;
  }

  get isUsable(): boolean {
    return this.#callsLeft > 0 && !this.#session.closed && !this.#session.destroyed;
  }

  request(path: string): http2.ClientHttp2Stream {
    this.#callsLeft -= 1;
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const hear = () => (this.heard += 1);
    return stream.on("response", hear).on("data", hear).on("trailers", hear);
  }

  /** Ends the connection unless the server answers soon. */
  probe(): void {
    const session = this.#session;
    if (this.#isProbing || session.destroyed) return;
    this.#isProbing = true;
    const late = () => session.destroy(new Error("the server does not answer probes"));
    const timer = setTimeout(late, PROBE_DEADLINE_MS);
    session.ping((error: Error | null) => {
      clearTimeout(timer);
      this.#isProbing = false;
      if (error !== null && !session.destroyed) session.destroy(error);
    });
  }

  destroy(): void {
    this.#session.destroy();
  }
}

/** The message after its prefix: a zero, which says not compressed, and the length. */
function writeFramed(stream: http2.ClientHttp2Stream, message: Uint8Array): void {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  // Together, without a copy.
  stream.cork();
  stream.write(prefix);
  stream.write(message);
  stream.uncork();
}

/** Divides what arrives into messages. */
class MessageReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Nothing can be done before as many bytes have arrived. */
  #neededBytes = PREFIX_BYTES;

  /** @throws Malformed when a message is compressed, which was not asked for, or too long. */
  take(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#neededBytes) {
      const joined = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      const endBytes = PREFIX_BYTES + lengthIn(joined);
      const isWhole = joined.length >= endBytes;
      if (isWhole) onMessage(joined.subarray(PREFIX_BYTES, endBytes));
      const rest = isWhole ? joined.subarray(endBytes) : joined;
      this.#parts = [rest];
      this.#bytes = rest.length;
      this.#neededBytes = isWhole ? PREFIX_BYTES : endBytes;
    }
  }
}

function lengthIn(prefixed: Buffer): number {
  if (prefixed[0] !== 0) throw new Malformed("a message without compression", `${prefixed[0]}`);
  const length = prefixed.readUInt32BE(1);
  if (length > MESSAGE_BYTES_MAX) throw new Malformed("a shorter message", `${length} bytes`);
  return length;
}
