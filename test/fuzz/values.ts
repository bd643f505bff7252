/** Values of requests that are not known before the request is sent, and values outside JSON. */
import fc, { type Arbitrary } from "fast-check";

/** A value of a pool: at this share of its length. */
export interface Pick {
  readonly $pool: string;
  readonly at: number;
}

/** Text that is sent as it is, where a JSON value is expected. */
export interface Raw {
  readonly $raw: string;
}

/** Latin-1 text of a header, control characters included; `{port}` as in a target. */
export interface Bytes {
  readonly $bytes: string;
}

/** A long text. */
export interface Repeated {
  readonly $repeat: string;
  readonly times: number;
}

export type Value =
  | null
  | boolean
  | number
  | string
  | Pick
  | Raw
  | Bytes
  | Repeated
  | readonly Value[]
  | { readonly [name: string]: Value };

/** Values that exist in the store now, by the name of a pool. */
export type Pools = (name: string) => readonly (string | number)[];

const SHARES = 10_000;
const NOBODY = 987_654_321;

/** From 0 up to 1, and never 1. */
export function anyShare(): Arbitrary<number> {
  return fc.noBias(fc.nat(SHARES - 1)).map((part) => part / SHARES);
}

function isPick(value: Value): value is Pick {
  return typeof value === "object" && value !== null && "$pool" in value;
}

function isRaw(value: Value): value is Raw {
  return typeof value === "object" && value !== null && "$raw" in value;
}

function isRepeated(value: Value): value is Repeated {
  return typeof value === "object" && value !== null && "$repeat" in value;
}

export function isBytes(value: Value): value is Bytes {
  return typeof value === "object" && value !== null && "$bytes" in value;
}

/** The value has no part to replace alone. */
export function isLeaf(value: Value): boolean {
  return (
    typeof value !== "object" ||
    value === null ||
    isPick(value) ||
    isRaw(value) ||
    isRepeated(value)
  );
}

function picked({ $pool, at }: Pick, pools: Pools): string | number {
  const all = pools($pool);
  return all[Math.floor(at * all.length)] ?? NOBODY;
}

/** The JSON text of a value. */
export function jsonOf(value: Value, pools: Pools): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isPick(value)) return JSON.stringify(picked(value, pools));
  if (isRaw(value)) return value.$raw;
  if (isRepeated(value)) return JSON.stringify(value.$repeat.repeat(value.times));
  if (Array.isArray(value)) {
    return `[${(value as readonly Value[]).map((item) => jsonOf(item, pools)).join(",")}]`;
  }
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${jsonOf(member, pools)}`,
  );
  return `{${members.join(",")}}`;
}

/** The text of a value in a path, a query or a header. */
export function textOf(value: Value, pools: Pools): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null) {
    if (isPick(value)) return String(picked(value, pools));
    if (isRaw(value)) return value.$raw;
  }
  return jsonOf(value, pools);
}
