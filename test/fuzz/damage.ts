/** Requests with parts that are replaced, doubled or removed. */
import fc, { type Arbitrary } from "fast-check";
import { HOSTILE_HEADERS, HOSTILE_TEXTS, HOSTILE_VALUES, INSERTS } from "./hostile.ts";
import type { ByteDamage, Request } from "./recipe.ts";
import { anyShare, isLeaf, type Value } from "./values.ts";

/** Up to `most` parts of the request are replaced, doubled or removed. */
export function damaged(request: Request, most: number): Arbitrary<Request> {
  const at = anyShare();
  const one = fc.oneof(
    { arbitrary: fc.tuple(at, hostileValue()).map(([share, by]) => inBody(share, by)), weight: 6 },
    { arbitrary: fc.tuple(at, hostileValue()).map(([share, by]) => inText(share, by)), weight: 3 },
    { arbitrary: fc.constantFrom(...HOSTILE_HEADERS).map(withHeader), weight: 2 },
    { arbitrary: fc.constantFrom(...METHODS).map(withMethod), weight: 1 },
  );
  return fc
    .array(one, { minLength: 1, maxLength: most })
    .map((changes) => changes.reduce((before, change) => change(before), request));
}

type Change = (request: Request) => Request;

const METHODS = ["get", "post", "put", "delete", "patch", "head", "options", "PROPFIND", "G=T"];

export function withMethod(method: string): Change {
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
      const place = index - names.length;
      return { ...request, headers: headers.with(place, [headers[place]![0], by]) };
    }
    if (name in params) return { ...request, params: { ...params, [name]: by } };
    return { ...request, query: { ...query, [name]: by } };
  };
}

export function byteDamage(): Arbitrary<ByteDamage> {
  return fc.record({
    kind: fc.constantFrom("flip", "cut", "remove", "repeat", "insert", "double"),
    at: anyShare(),
    length: fc.integer({ min: 1, max: 40 }),
    text: fc.constantFrom(...INSERTS),
  });
}
