/**
 * Recipes of requests: valid ones from the grammar, the same with damage, and bytes. A recipe names
 * what it needs of the store by pool, so that it can be played again in another store.
 */
import fc, { type Arbitrary } from "fast-check";
import { type Operation, operations } from "./grammar.ts";
import { HOSTILE_HEADERS, HOSTILE_TEXTS, HOSTILE_VALUES, INSERTS } from "./hostile.ts";
import { isLeaf, jsonOf, type Pools, share, textOf, type Value } from "./values.ts";

/** Each hashes a password, which takes a thousand times as long as another request. */
const SLOW = /auth\/login|organizations\/$/;
const SLOW_WEIGHT = 1;
const WEIGHT = 20;
const HEAD_BYTES_ALWAYS = "Host: fuzz\r\n";

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

export function recipes(): Arbitrary<Recipe> {
  const valid = fc.oneof(
    ...operations().map((operation) => ({
      arbitrary: requestOf(operation),
      weight: SLOW.test(operation.path) ? SLOW_WEIGHT : WEIGHT,
    })),
  );
  const plain = (kind: Recipe["kind"], request: Arbitrary<Request>) =>
    fc.record({ kind: fc.constant(kind), request, damages: fc.constant([]) });
  const bytes = fc.record({
    kind: fc.constant<Recipe["kind"]>("bytes"),
    request: valid,
    damages: fc.array(byteDamage(), { minLength: 1, maxLength: 3 }),
  });
  return fc.oneof(
    { arbitrary: plain("valid", valid), weight: 9 },
    {
      arbitrary: plain(
        "nearly valid",
        valid.chain((request) => damaged(request, 1)),
      ),
      weight: 6,
    },
    {
      arbitrary: plain(
        "hostile",
        valid.chain((request) => damaged(request, 4)),
      ),
      weight: 3,
    },
    { arbitrary: bytes, weight: 1 },
    { arbitrary: plain("again", valid), weight: 1 },
  );
}

function requestOf({ method, path, params, query, body }: Operation): Arbitrary<Request> {
  return fc.record({
    method: fc.constant(method),
    path: fc.constant(path),
    params,
    query,
    headers: headersOf(path),
    body: body ?? fc.constant(undefined),
  });
}

function headersOf(path: string): Arbitrary<Request["headers"]> {
  const usual = path.includes("/management/") ? "tenantTokens" : "organizationKeys";
  const at = share();
  const pool = fc.oneof(
    { arbitrary: fc.constant(usual), weight: 12 },
    { arbitrary: fc.constantFrom("allKeys", "allKeys", "badKeys"), weight: 1 },
  );
  const key = fc
    .record({ pool, at, isBearer: fc.boolean() })
    .map(({ pool: $pool, at: share, isBearer }): readonly [string, Value] =>
      isBearer
        ? ["Authorization", { $pool: `Bearer ${$pool}`, at: share }]
        : ["X-API-Key", { $pool, at: share }],
    );
  const organization = at.map((share): readonly [string, Value] => [
    "X-Organization-ID",
    { $pool: "organizations", at: share },
  ]);
  const again = fc
    .integer({ min: 1, max: 40 })
    .map((number): readonly [string, Value] => ["Idempotency-Key", `key-${number}`]);
  const some = <T>(one: Arbitrary<T>, once: number): Arbitrary<readonly T[]> =>
    fc.oneof(
      { arbitrary: fc.constant([] as readonly T[]), weight: once - 1 },
      { arbitrary: one.map((value) => [value]), weight: 1 },
    );
  return fc
    .tuple(key, some(organization, 4), some(again, 3))
    .map(([first, second, third]) => [first, ...second, ...third]);
}

/** Up to `most` parts of the request are replaced, doubled or removed. */
function damaged(request: Request, most: number): Arbitrary<Request> {
  const at = share();
  const one = fc.oneof(
    { arbitrary: fc.tuple(at, hostileValue()).map(([share, by]) => inBody(share, by)), weight: 6 },
    { arbitrary: fc.tuple(at, hostileValue()).map(([share, by]) => inText(share, by)), weight: 3 },
    { arbitrary: fc.constantFrom(...HOSTILE_HEADERS).map(withHeader), weight: 2 },
    { arbitrary: fc.constantFrom(...METHODS).map(withMethod), weight: 1 },
  );
  return fc
    .array(one, { minLength: 1, maxLength: most })
    .map((changes) => changes.reduce((changed, change) => change(changed), request));
}

type Change = (request: Request) => Request;

const METHODS = ["get", "post", "put", "delete", "patch", "head", "options", "PROPFIND", "G=T"];

function withMethod(method: string): Change {
  return (request) => ({ ...request, method });
}

function withHeader(header: readonly [string, string]): Change {
  return (request) => ({ ...request, headers: [...request.headers, header] });
}

function hostileValue(): Arbitrary<Value> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...HOSTILE_VALUES), weight: 3 },
    { arbitrary: fc.constantFrom(...HOSTILE_TEXTS), weight: 2 },
    { arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => value as Value), weight: 1 },
  );
}

/** Replaces the value at a share of all values of the body. */
function inBody(share: number, by: Value): Change {
  return (request) => {
    const { body } = request;
    if (body === undefined) return { ...request, body: by };
    const count = countOf(body);
    const target = { left: Math.floor(share * count) };
    return { ...request, body: replacedAt(body, target, by) };
  };
}

function countOf(value: Value): number {
  if (isLeaf(value)) return 1;
  return (
    1 +
    Object.values(value as object).reduce((sum: number, item) => sum + countOf(item as Value), 0)
  );
}

function replacedAt(value: Value, target: { left: number }, by: Value): Value {
  target.left -= 1;
  if (target.left === -1) return by;
  if (isLeaf(value) || target.left < -1) return value;
  if (Array.isArray(value)) {
    return (value as readonly Value[]).map((item) => replacedAt(item, target, by));
  }
  const members = Object.entries(value as object).map(([name, item]) => [
    name,
    replacedAt(item as Value, target, by),
  ]);
  return Object.fromEntries(members) as Value;
}

/** Replaces a parameter or a header, or adds a parameter that is not known. */
function inText(share: number, by: Value): Change {
  return (request) => {
    const { params, query, headers } = request;
    const names = [...Object.keys(params), ...Object.keys(query), "unknown"];
    const index = Math.floor(share * (names.length + headers.length));
    const name = names[index];
    if (name === undefined) {
      const changed = headers.with(index - names.length, [headers[index - names.length]![0], by]);
      return { ...request, headers: changed };
    }
    if (name in params) return { ...request, params: { ...params, [name]: by } };
    return { ...request, query: { ...query, [name]: by } };
  };
}

function byteDamage(): Arbitrary<ByteDamage> {
  return fc.record({
    kind: fc.constantFrom("flip", "cut", "remove", "repeat", "insert", "double"),
    at: share(),
    length: fc.integer({ min: 1, max: 40 }),
    text: fc.constantFrom(...INSERTS),
  });
}

/** The bytes that are sent. */
export function bytesOf({ request, damages }: Recipe, pools: Pools): Buffer {
  let bytes = wireOf(request, pools);
  for (const damage of damages) bytes = changed(bytes, damage);
  return bytes;
}

function wireOf({ method, path, params, query, headers, body }: Request, pools: Pools): Buffer {
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encoded(textOf(params[name] ?? "", pools)),
  );
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly Value[]) : [value]).map(
      (item) => `${name}=${encoded(textOf(item, pools))}`,
    ),
  );
  const text = body === undefined ? Buffer.alloc(0) : Buffer.from(jsonOf(body, pools));
  const lines = headers.map(([name, value]) => `${name}: ${lineOf(textOf(value, pools))}\r\n`);
  const type = body === undefined ? "" : "Content-Type: application/json\r\n";
  const length = body === undefined ? "" : `Content-Length: ${text.length}\r\n`;
  const search = pairs.length === 0 ? "" : `?${pairs.join("&")}`;
  const start = `${method.toUpperCase()} ${target}${search} HTTP/1.1\r\n`;
  const head = [start, HEAD_BYTES_ALWAYS, ...lines, type, length, "\r\n"].join("");
  return Buffer.concat([Buffer.from(head, "utf8"), text]);
}

/** As a client encodes it, but text that begins like an encoding is sent as it is. */
function encoded(text: string): string {
  return text.startsWith("%") ? text : encodeURIComponent(Buffer.from(text).toString());
}

/** A header keeps one line: other lines are a matter of `bytes`. */
function lineOf(text: string): string {
  return text.replaceAll(/[\r\n]/g, " ");
}

function changed(bytes: Buffer, { kind, at, length, text }: ByteDamage): Buffer {
  const from = Math.floor(at * bytes.length);
  const to = Math.min(bytes.length, from + length);
  const [before, part, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, to),
    bytes.subarray(to),
  ];
  switch (kind) {
    case "flip": {
      const copy = Buffer.from(bytes);
      copy[from] = copy[from]! ^ (1 << (length % 8));
      return copy;
    }
    case "cut":
      return before;
    case "remove":
      return Buffer.concat([before, after]);
    case "repeat":
      return Buffer.concat([before, part, part, after]);
    case "insert":
      return Buffer.concat([before, Buffer.from(text, "latin1"), bytes.subarray(from)]);
    case "double":
      return Buffer.concat([bytes, bytes]);
  }
}
