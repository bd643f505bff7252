/** A request as a value that can be kept, and sent again to another store. */
import type { Value } from "./values.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, Value>>;
  readonly query: Readonly<Record<string, Value>>;
  readonly headers: readonly (readonly [name: string, value: Value])[];
  readonly body: Value | undefined;
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
  readonly kind: "valid" | "nearly valid" | "hostile" | "bytes" | "again" | "socket";
  readonly request: Request;
  /** Of the bytes of the request, or of those that follow a handshake. */
  readonly damages: readonly ByteDamage[];
  /** What follows when the request opens a WebSocket. Only a recipe of kind `socket` has them. */
  readonly frames?: readonly Frame[];
  /** Whether the request goes to a gateway in front of the server. */
  readonly isThroughGateway?: boolean;
}
