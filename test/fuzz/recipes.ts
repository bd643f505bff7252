/**
 * Recipes of requests: valid ones from the grammar, the same with damage, and bytes. A recipe names
 * what it needs of the store by pool, so that it can be played again in another store.
 */
import fc, { type Arbitrary } from "fast-check";
import { byteDamage, damaged } from "./damage.ts";
import { departures, oddRecipes } from "./odd.ts";
import { type Operation, operations, pagePaths } from "./grammar.ts";
import type { Recipe, Request } from "./recipe.ts";
import { socketRecipes } from "./sockets/frames.ts";
import { anyShare, type Value } from "./values.ts";

/** Weights for drawn requests. */
export interface Profile {
  readonly throughGateway: number;
  readonly leaving: number;
  /** Weight of odd requests; all others have 22. */
  readonly odd: number;
}

export const USUAL: Profile = { throughGateway: 0.25, leaving: 0.04, odd: 2 };
export const GATEWAY: Profile = { throughGateway: 1, leaving: 0.2, odd: 14 };

/** Each hashes a password, which takes a thousand times as long as another request. */
const SLOW = /auth\/login|(organizations|tenants)\/$/;
const SLOW_WEIGHT = 1;
const WEIGHT = 20;
/** Headers that change an answer. */
const EXTRAS: readonly (readonly [string, string])[] = [
  ["Prefer", "return=representation"],
  ["Accept", "text/event-stream"],
  ["Accept", "application/vnd.msgpack"],
  ["Accept-Encoding", "gzip"],
  ["Origin", "https://shop.example"],
  ["Last-Event-ID", "3"],
  ["X-Request-ID", "fuzz-1"],
];

export function recipes(profile: Profile): Arbitrary<Recipe> {
  const valid = fc.oneof(
    ...operations().map((operation) => ({
      arbitrary: requestOf(operation),
      weight: SLOW.test(operation.path) ? SLOW_WEIGHT : WEIGHT,
    })),
    { arbitrary: pages(), weight: WEIGHT },
  );
  const plain = (kind: Recipe["kind"], request: Arbitrary<Request>) =>
    fc.record({ kind: fc.constant(kind), request, damages: fc.constant([]) });
  const bytes = fc.record({
    kind: fc.constant<Recipe["kind"]>("bytes"),
    request: valid,
    damages: fc.array(byteDamage(), { minLength: 1, maxLength: 3 }),
  });
  const any = fc.oneof(
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
    { arbitrary: socketRecipes(headersOf), weight: 2 },
    { arbitrary: oddRecipes(valid), weight: profile.odd },
  );
  return fc
    .tuple(any, anyShare(), anyShare(), departures())
    .map(([recipe, way, stay, departure]) => ({
      ...(stay < profile.leaving && { departure }),
      ...recipe,
      isThroughGateway: way < profile.throughGateway,
    }));
}

/** The pages that the API reference does not describe. */
function pages(): Arbitrary<Request> {
  const request = { method: "get", params: {}, query: {}, body: undefined };
  return fc
    .constantFrom(...pagePaths())
    .chain((path) => headersOf(path).map((headers) => ({ ...request, path, headers })));
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
  const isManagement = path.includes("/management/");
  const isPlatform = path.includes("/admin/");
  const usual = isPlatform ? "platformTokens" : isManagement ? "tenantTokens" : "organizationKeys";
  const at = anyShare();
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
    .tuple(key, some(organization, 4), some(again, 3), some(fc.constantFrom(...EXTRAS), 4))
    .map(([first, ...others]) => [first, ...others.flat()]);
}
