/** Recipes of WebSockets: a handshake, then commands in both subprotocols, whole and damaged. */
import fc, { type Arbitrary } from "fast-check";
import { CALLS, COMMANDS_FRAME } from "../../../server/commands/command.ts";
import { LINK_PROTOCOL } from "../../../server/gateway/link-layout.ts";
import { byteDamage, damaged } from "../damage.ts";
import { operations, type Schema, valueOf } from "../grammar.ts";
import type { Frame, Recipe, Request } from "../recipe.ts";
import { anyShare, type Value } from "../values.ts";

export const BINARY_PROTOCOL = "frontrow.commands.v1+binary";
const HANDSHAKE: Request["headers"] = [
  ["Upgrade", "websocket"],
  ["Connection", "Upgrade"],
  ["Sec-WebSocket-Version", "13"],
  ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
];
const FRAMES_MAX = 4;
const HANDLES_MAX = 4;
const ENTRIES_MAX = 6;
const NUMBER_MAX = 1_000;

type Headers = Arbitrary<Request["headers"]>;

/** @param headersOf - The usual headers of a request to a path. */
export function socketRecipes(headersOf: (path: string) => Headers): Arbitrary<Recipe> {
  const opened = (path: string, protocol: string, rest: Partial<Request> = {}) =>
    headersOf(path).map((headers) => ({
      ...requestTo(path),
      ...rest,
      headers: [...headers, ...HANDSHAKE, ["Sec-WebSocket-Protocol", protocol] as const],
    }));
  const commands = "/api/private/v2.0/booking/socket";
  const streams = operations().find(({ path }) => path.endsWith("/stream"))!;
  const stream = (protocol: string) =>
    fc
      .tuple(streams.params, streams.query)
      .chain(([params, query]) => opened(streams.path, protocol, { params, query }));
  const json = opened(commands, "frontrow.commands.v1+json");
  const binary = opened(commands, BINARY_PROTOCOL);
  return fc.oneof(
    { arbitrary: recipeOf(json, jsonFrame()), weight: 6 },
    { arbitrary: recipeOf(binary, binaryFrame()), weight: 6 },
    { arbitrary: recipeOf(json, binaryFrame()), weight: 1 },
    { arbitrary: recipeOf(stream("frontrow.stream.v1+json"), jsonFrame()), weight: 2 },
    { arbitrary: recipeOf(stream("frontrow.stream.v1+msgpack"), binaryFrame()), weight: 1 },
    {
      arbitrary: recipeOf(opened("/api/internal/gateway", LINK_PROTOCOL), binaryFrame()),
      weight: 1,
    },
  );
}

function requestTo(path: string): Request {
  return { method: "get", path, params: {}, query: {}, headers: [], body: undefined };
}

function recipeOf(handshake: Arbitrary<Request>, frame: Arbitrary<Frame>): Arbitrary<Recipe> {
  const request = fc.oneof(
    { arbitrary: handshake, weight: 9 },
    { arbitrary: handshake.chain((valid) => damaged(valid, 1)), weight: 1 },
  );
  return fc.record({
    kind: fc.constant<Recipe["kind"]>("socket"),
    request,
    damages: sometimes(9),
    frames: fc.array(frame, { minLength: 1, maxLength: FRAMES_MAX }),
  });
}

function sometimes(once: number) {
  return fc.oneof(
    { arbitrary: fc.constant([]), weight: once - 1 },
    { arbitrary: fc.array(byteDamage(), { minLength: 1, maxLength: 2 }), weight: 1 },
  );
}

function jsonFrame(): Arbitrary<Frame> {
  const valid = valueOf(COMMANDS_FRAME as Schema, { name: "", owner: "Selection" });
  const broken = valid
    .chain((body) => damaged({ ...requestTo(""), body }, 2))
    .map(({ body }) => body ?? null);
  const value = fc.oneof({ arbitrary: valid, weight: 3 }, { arbitrary: broken, weight: 1 });
  return fc.record({ form: fc.constant("json" as const), value, damages: sometimes(6) });
}

/** The first entries open handles, so that the commands have something to name. */
function binaryFrame(): Arbitrary<Frame> {
  const value = fc
    .tuple(
      opening("event", 1),
      opening("session", 1),
      opening("hold type", 1),
      fc.array(fc.oneof(fc.nat(HANDLES_MAX).chain(anyOpening), command()), {
        maxLength: ENTRIES_MAX,
      }),
    )
    .map(([event, session, holdType, entries]): Value => [event, session, holdType, ...entries]);
  return fc.record({ form: fc.constant("binary" as const), value, damages: sometimes(4) });
}

const POOLS = { event: "events", session: "sessions", "hold type": "holdTypes" } as const;

function anyOpening(handle: number): Arbitrary<Value> {
  return fc.constantFrom("event", "session", "hold type").chain((kind) => opening(kind, handle));
}

function opening(kind: keyof typeof POOLS, handle: number): Arbitrary<Value> {
  return anyShare().map((at) => ({ opens: kind, handle, text: { $pool: POOLS[kind], at } }));
}

function command(): Arbitrary<Value> {
  const object = anyShare().map((at): Value => ({ $pool: "objects", at }));
  const handle = fc.nat(HANDLES_MAX);
  return fc.record({
    n: fc.nat(NUMBER_MAX),
    call: fc.constantFrom(...CALLS),
    event: fc.oneof({ arbitrary: fc.constant(1), weight: 4 }, { arbitrary: handle, weight: 1 }),
    session: handle,
    holdType: handle,
    seats: fc.array(object, { maxLength: ENTRIES_MAX }),
    areas: fc.array(fc.tuple(object, fc.nat(NUMBER_MAX)), { maxLength: 2 }),
    key: fc.constantFrom("", "key-1", "key-2"),
    isLong: fc.boolean(),
  }) as Arbitrary<Value>;
}
