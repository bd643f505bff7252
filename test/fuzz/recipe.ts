/** A request as a value that can be kept, and sent again to another store. */
import type { Value } from "./values.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, Value>>;
  readonly query: Readonly<Record<string, Value>>;
  readonly headers: readonly (readonly [name: string, value: Value])[];
  readonly body: Value | undefined;
  /** Replaces path and query, byte for byte; `{port}` is the port of the forbidden address. */
  readonly target?: string;
  /** `HTTP/1.1` by default. */
  readonly version?: string;
}

/** A client that disconnects early. */
export interface Departure {
  /** Share of the request sent before; 1 for all of it. */
  readonly sent: number;
  /** Bytes of the answer read before. */
  readonly read: number;
  /** Pause before the disconnect. */
  readonly afterMs: number;
  readonly by: "close" | "reset";
}

/** A failure of the engine behind the gateway, which starts with the request. */
export interface Disturbance {
  /**
   * `silent`: connections stay open, as of a stopped process. `close`, `reset` and `torn` (half of
   * the next answer): all connections end, new ones are refused. `trickle`: answers come in single
   * bytes. `endless` and `unframed`: the body of an answer does not end, with and without chunks.
   */
  readonly kind: "silent" | "close" | "reset" | "torn" | "trickle" | "endless" | "unframed";
  readonly ms: number;
}

/** A change of the bytes of a request at a share of their length. */
export interface ByteDamage {
  readonly kind: "flip" | "cut" | "remove" | "repeat" | "insert" | "double";
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

/** A message that a client sends on a WebSocket. */
export interface Frame {
  readonly form: "json" | "binary";
  /** JSON, or a list of entries of the binary layout. */
  readonly value: Value;
  readonly damages: readonly ByteDamage[];
}

export interface Recipe {
  readonly kind: "valid" | "nearly valid" | "hostile" | "bytes" | "again" | "socket" | "odd";
  readonly request: Request;
  /** Of the bytes of the request, or of those that follow a handshake. */
  readonly damages: readonly ByteDamage[];
  /** Frames after the handshake of a WebSocket; only of a recipe of kind `socket`. */
  readonly frames?: readonly Frame[];
  /** The request goes to a gateway in front of the server. */
  readonly isThroughGateway?: boolean;
  readonly departure?: Departure;
  readonly disturbance?: Disturbance;
}
