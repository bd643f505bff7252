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

export interface Recipe {
  readonly kind: "valid" | "nearly valid" | "hostile" | "bytes" | "again";
  readonly request: Request;
  /** Empty unless the kind is `bytes`. */
  readonly damages: readonly ByteDamage[];
}
