/**
 * Requests that no client library sends: targets that name other addresses or climb, handshakes in
 * wrong forms, header bytes beyond ASCII. And disconnecting clients, and failing engines.
 */
import fc, { type Arbitrary } from "fast-check";
import { withMethod } from "./damage.ts";
import {
  ODD_CONNECTIONS,
  ODD_HEADER_NAMES,
  ODD_HEADER_VALUES,
  ODD_METHODS,
  ODD_TARGETS,
  ODD_PREFIXES,
  ODD_PROTOCOLS,
  ODD_SOCKET_KEYS,
  ODD_SOCKET_VERSIONS,
  ODD_UPGRADES,
  ODD_VERSIONS,
} from "./hostile.ts";
import type { Departure, Disturbance, Recipe, Request } from "./recipe.ts";
import { anyShare, type Value } from "./values.ts";

type Header = readonly [name: string, value: Value];
type Headers = Request["headers"];
type Change = (request: Request) => Request;

/** uWS waits in vain: for the rest of a header with one of these, or for a body in chunks. */
// oxlint-disable-next-line no-control-regex
const NEVER_ENDS = /[\x00-\x08\x0a-\x1f]|^chunked$/;
const LEAVES_AT_ONCE: Departure = { sent: 1, read: 0, afterMs: 5, by: "close" };
/** One that is passed on in pieces, and fills the buffers of sockets. */
const LONG_BODY: Value = { $repeat: "seat ", times: 200_000 };
const READ_BYTES_MAX = 100_000;

export function oddRecipes(valid: Arbitrary<Request>): Arbitrary<Recipe> {
  const change = fc.oneof(
    { arbitrary: target(), weight: 4 },
    { arbitrary: handshake(), weight: 4 },
    { arbitrary: header(), weight: 4 },
    { arbitrary: fc.constantFrom(...ODD_METHODS).map(withMethod), weight: 1 },
    { arbitrary: fc.constantFrom(...ODD_VERSIONS).map(withVersion), weight: 1 },
    { arbitrary: fc.constant(withLongBody), weight: 1 },
  );
  return fc
    .tuple(valid, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([request, changes]) => changes.reduce((before, one) => one(before), request))
    .map((request) => ({
      kind: "odd",
      request,
      damages: [],
      ...(neverEnds(request) && { departure: LEAVES_AT_ONCE }),
    }));
}

function neverEnds({ headers }: Request): boolean {
  return headers.some(([, value]) => NEVER_ENDS.test((value as { $bytes?: string })?.$bytes ?? ""));
}

/** One that replaces the target, or stands before it. */
function target(): Arbitrary<Change> {
  return fc.oneof(
    fc
      .constantFrom(...ODD_TARGETS)
      .map((odd) => (request: Request) => ({ ...request, target: odd })),
    fc
      .constantFrom(...ODD_PREFIXES)
      .map((odd) => (request: Request) => ({ ...request, path: `${odd}${request.path}` })),
  );
}

function handshake(): Arbitrary<Change> {
  const usually = <T>(usual: T, odd: readonly T[]) =>
    fc.oneof(
      { arbitrary: fc.constant(usual), weight: 3 },
      { arbitrary: fc.constantFrom(...odd), weight: 1 },
    );
  return fc
    .record({
      upgrade: usually("websocket", ODD_UPGRADES),
      connection: usually("Upgrade", ODD_CONNECTIONS),
      version: usually("13", ODD_SOCKET_VERSIONS),
      key: usually("dGhlIHNhbXBsZSBub25jZQ==", ODD_SOCKET_KEYS),
      protocol: fc.constantFrom(...ODD_PROTOCOLS),
      isGet: usually(true, [false]),
    })
    .map(({ upgrade, connection, version, key, protocol, isGet }) => {
      const added: readonly Header[] = [
        ["Upgrade", { $bytes: upgrade }],
        ["Connection", { $bytes: connection }],
        ["Sec-WebSocket-Version", { $bytes: version }],
        ["Sec-WebSocket-Key", { $bytes: key }],
        ["Sec-WebSocket-Protocol", { $bytes: protocol }],
      ];
      return (request) => ({
        ...withHeaders(request, added),
        ...(isGet && { method: "get", body: undefined }),
      });
    });
}

/** Added, doubled, or in place of one that was there. */
function header(): Arbitrary<Change> {
  const one = fc.tuple(fc.constantFrom(...ODD_HEADER_NAMES), fc.constantFrom(...ODD_HEADER_VALUES));
  return fc.tuple(one, fc.constantFrom("add", "double", "replace")).map(([[name, odd], how]) => {
    const added: Header = [name, { $bytes: odd }];
    return (request) => {
      const { headers } = request;
      const others = how === "replace" ? headers.filter(([other]) => other !== name) : headers;
      return { ...request, headers: [...others, added, ...(how === "double" ? [added] : [])] };
    };
  });
}

function withHeaders(request: Request, added: Headers): Request {
  return { ...request, headers: [...request.headers, ...added] };
}

function withVersion(version: string): Change {
  return (request) => ({ ...request, version });
}

function withLongBody(request: Request): Request {
  return {
    ...request,
    method: request.method === "get" ? "post" : request.method,
    body: LONG_BODY,
  };
}

/** At every moment: in the head, in the body, before the answer, during it, during a stream. */
export function departures(): Arbitrary<Departure> {
  const by = fc.constantFrom("close" as const, "reset" as const);
  const soon = fc.nat(5);
  const late = fc.oneof({ arbitrary: soon, weight: 3 }, { arbitrary: fc.nat(1_500), weight: 1 });
  return fc.oneof(
    fc.record({ sent: anyShare(), read: fc.constant(0), afterMs: soon, by }),
    fc.record({ sent: fc.constant(1), read: fc.constant(0), afterMs: late, by }),
    fc.record({
      sent: fc.constant(1),
      read: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.nat(READ_BYTES_MAX)),
      afterMs: soon,
      by,
    }),
  );
}

/** A gateway gives up a link that is silent for 3 seconds. */
const [LINK_KEPT_MS, LINK_LOST_MS] = [1_000, 3_200];
/** Longer than a client of the fuzzer waits for an answer. */
const FOR_GOOD_MS = 25_000;

const short = fc.integer({ min: 20, max: LINK_KEPT_MS });
const lost = fc.integer({ min: LINK_LOST_MS, max: LINK_LOST_MS + 1_000 });

/** In turn, so that a short run has the worst of each. */
const DISTURBANCES: readonly (readonly [Disturbance["kind"], Arbitrary<number>])[] = [
  ["silent", lost],
  ["reset", short],
  ["endless", short],
  ["torn", short],
  ["silent", short],
  ["trickle", short],
  ["silent", lost],
  ["close", short],
  ["unframed", short],
  ["silent", lost],
  ["torn", short],
  ["silent", short],
  ["close", lost],
  ["silent", lost],
  ["endless", lost],
  ["silent", short],
  ["reset", short],
  ["trickle", short],
  ["silent", lost],
  ["silent", fc.constant(FOR_GOOD_MS)],
];

export function disturbanceOf(number: number): Arbitrary<Disturbance> {
  const [kind, ms] = DISTURBANCES[number % DISTURBANCES.length]!;
  return fc.record({ kind: fc.constant(kind), ms });
}
