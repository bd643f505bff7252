/**
 * The refusals that the front adds to every operation of a kind. Each request has the body of the
 * operation's first example. Every answer is checked against the document.
 */
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { CART_CALLS } from "../../../engine/bodies.ts";
import { Admission } from "../../../engine/ports.ts";
import { Throttle } from "../../../server/auth/limits.ts";
import { Dispatch } from "../../../server/dispatch.ts";
import { type OperationText, readTexts } from "../../../server/docs/schemas.ts";
import { notLeader } from "../../../server/cluster/host.ts";
import { isOfOrganization, moves } from "../../../server/docs/openapi.ts";
import { routeTable } from "../../../server/routes/table.ts";
import { type Route, takesIdempotencyKey } from "../../../server/api/route.ts";
import { Access } from "../../../server/auth/access.ts";
import { listen } from "../../../server/http/server.ts";
import { actingFor, ask, type CallOptions, requestOf } from "../../support/answers/exchange.ts";
import { STANDBY_STATUS } from "../../support/cluster-status.ts";
import { TestServer } from "../../support/server.ts";
import { targetFor } from "../../support/targets.ts";
import { witness } from "../../support/answers/witness.ts";
import { BODY_BYTES } from "../../../server/http/limits.ts";

const PLATFORM_TOKEN = "a-platform-token-of-the-test";
/** The events that the examples create. */
const EXAMPLE_EVENT = /6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f|5b3e1f7a-92c4-4d60-8a1b-6f0c2d9e7b35/g;

const ROUTES = routeTable("0.0.0-test", true);
const texts = new Map<string, OperationText>(
  readTexts().flatMap(({ operations }) => operations.map((text) => [text.endpoint, text] as const)),
);
const operations = ROUTES.flatMap((route) => {
  const text = texts.get(`${route.method.toUpperCase()} ${route.path}`);
  return text === undefined ? [] : [{ route, text }];
});
type Operation = (typeof operations)[number];

const guarded = operations.filter(({ route }) => route.access !== Access.PUBLIC);
/** Those that need no key, of which the front takes others alone. */
const doors = operations.filter(({ route }) => route.path.startsWith("/door/"));
const answered = [...guarded, ...doors];
const isLogin = ({ route }: Operation) => route.path === "/api/auth/login";
/** Those that write the log: tickets are in memory only, deliveries in a file of their own. */
const UNLOGGED = /\/(stream-tickets|webhooks\/\{id\}\/(retry|test))$/;
const changing = guarded.filter(
  ({ route }) => route.method !== "get" && !UNLOGGED.test(route.path),
);
const keyed = guarded.filter(({ route }) => takesIdempotencyKey(route));
const bodied = guarded.filter(({ route }) => route.body !== undefined);

const newServer = () => new TestServer({ platformToken: PLATFORM_TOKEN });

/** A request that passes the checks of the front. */
function requestTo(server: TestServer, { route, text }: Operation): [string, CallOptions] {
  return [targetFor(route, server.a), { ...callerOf(server, route), body: bodyOf(server, text) }];
}

function callerOf({ a, tenantToken }: TestServer, { access }: Route): CallOptions {
  if (access === Access.PLATFORM) return { key: PLATFORM_TOKEN };
  if (access === Access.TENANT) return { key: tenantToken };
  return actingFor(tenantToken, a);
}

/** The body of the first example, with the event and the price of the house. */
function bodyOf({ a }: TestServer, { examples }: OperationText): unknown {
  const body = examples[0]?.body;
  if (body === undefined) return undefined;
  const text = JSON.stringify(body).replaceAll(EXAMPLE_EVENT, a.eventId);
  return JSON.parse(text.replace(/"id":\d+(?=.*"eventId")/, `"id":${a.priceId}`)) as unknown;
}

/** The error code of each operation's answer, by operation id. */
async function codesOf(of: readonly Operation[], call: (operation: Operation) => Promise<unknown>) {
  const codes: Record<string, unknown> = {};
  for (const operation of of) codes[operation.text.id] = await call(operation);
  return codes;
}

/** The same code for each operation. */
function each(of: readonly Operation[], errorCode: string): Record<string, string> {
  return Object.fromEntries(of.map(({ text }) => [text.id, errorCode]));
}

test("a handler that throws is answered with INTERNAL_ERROR", async () => {
  const server = newServer();
  const handle = () => {
    throw new Error("broken");
  };
  const log = { error: () => {} } as never;
  const broken = ROUTES.map((route) => ({ ...route, handle }));
  const dispatch = new Dispatch(server.services, broken, log);
  const codes = await codesOf(answered, async (operation) => {
    const [target, options] = requestTo(server, operation);
    const answer = await ask(dispatch, requestOf(operation.route.method, target, options));
    return (JSON.parse(String(answer.body)) as { errorCode: string }).errorCode;
  });
  expect(codes).toEqual(each(answered, "INTERNAL_ERROR"));
});

test("too many unknown keys are refused with RATE_LIMITED", async () => {
  const server = newServer();
  Object.assign(server.services, { badKeys: new Throttle(1) });
  await server.get("/api/private/v2.0/venues/", {});
  const codes = await codesOf(guarded, async ({ route }) => {
    const body = route.body === undefined ? undefined : {};
    return (await server.call(route.method, targetFor(route, server.a), { body })).body.errorCode;
  });
  expect(codes).toEqual(each(guarded, "RATE_LIMITED"));
});

test("strict handling with an unknown parameter and member → every path names both", async () => {
  const server = newServer();
  for (const operation of [...guarded, ...operations.filter(isLogin)]) {
    const { route, text } = operation;
    const [target, options] = requestTo(server, operation);
    const { body } = options;
    const isList = Array.isArray(body);
    const more = { nmae: "x" };
    const odd = isList ? [{ ...(body[0] as object), ...more }] : { ...(body as object), ...more };
    const isObject = typeof body === "object";
    const sent = { ...options, headers: { ...options.headers, prefer: "handling=strict" } };
    const path = `${target}${target.includes("?") ? "&" : "?"}clour=red`;
    const reply = await server.call(route.method, path, {
      ...sent,
      ...(isObject ? { body: odd } : {}),
    });
    const why = `${text.id}: ${reply.text}`;
    expect([reply.status, reply.headers["Preference-Applied"]], why).toEqual([
      400,
      "handling=strict",
    ]);
    expect(reply.text, why).toContain("clour");
    const isExact = route.path.endsWith("/layout") || route.path.includes("/seatmap/");
    if (isObject) expect(reply.text, why).toContain(isList ? "[0].nmae" : isExact ? "" : "nmae");
  }
});

test.each([
  ["OVERLOADED", Admission.OVERLOADED],
  ["LOG_UNAVAILABLE", Admission.UNAVAILABLE],
])("changes are refused with %s while the log takes none", async (errorCode, admission) => {
  const server = newServer();
  server.journal.admits = admission;
  const codes = await codesOf(changing, async (operation) => {
    const [target, options] = requestTo(server, operation);
    return (await server.call(operation.route.method, target, options)).body.errorCode;
  });
  expect(codes).toEqual(each(changing, errorCode));
});

test("a change that is too long for the log is refused with PAYLOAD_TOO_LARGE", async () => {
  const server = newServer();
  server.journal.takes = () => ({ recordBytes: 2_000, recordBytesMax: 1_000 });
  const { a } = server;
  const before = server.digest;
  for (const path of [`schemas/clone/${a.schemaId}`, "venues/"]) {
    const reply = await server.post(`/api/private/v2.0/${path}`, { name: "Odeon" });
    expect([reply.status, reply.body.errorCode]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    expect(reply.body.detail).toMatch(/2000 bytes .* at most 1000/);
  }
  expect(server.digest).toBe(before);
});

test("reads are refused with LOG_UNAVAILABLE while the server starts", async () => {
  const server = newServer();
  server.isReady = false;
  const codes = await codesOf(guarded, async ({ route }) => {
    return (await server.call(route.method, targetFor(route, server.a))).body.errorCode;
  });
  expect(codes).toEqual(each(guarded, "LOG_UNAVAILABLE"));
});

test("requests are refused with NOT_LEADER while another host of the cluster leads", async () => {
  const server = newServer();
  server.isReady = false;
  Object.assign(server.services, { notReady: () => notLeader(STANDBY_STATUS) });
  const codes = await codesOf(answered, async ({ route }) => {
    return (await server.call(route.method, targetFor(route, server.a))).body.errorCode;
  });
  expect(codes).toEqual(each(answered, "NOT_LEADER"));
});

test.each([
  ["ORGANIZATION_MOVED", "LEFT", moves],
  ["ORGANIZATION_MOVING", "ARRIVING", isOfOrganization],
] as const)("%s is the answer for an organization that is %s", async (code, phase, isMoved) => {
  const server = newServer();
  const { catalog } = server.engine.state;
  const move = { id: 1, phase, toCell: 7, address: "https://b.example" };
  catalog.away.set(server.a.caller.organizationId, move);
  const owned = guarded.filter(({ route }) => isMoved(route));
  const codes = await codesOf(owned, async (operation) => {
    const [target, options] = requestTo(server, operation);
    return (await server.call(operation.route.method, target, options)).body.errorCode;
  });
  expect(codes).toEqual(each(owned, code));
});

/** A first request with an `Idempotency-Key`, and the access of those that share its keys. */
const FIRST: readonly (readonly [string, readonly Access[]])[] = [
  ["createVenue", [Access.ORGANIZATION, Access.LEGACY, Access.EDITOR, Access.TENANT_ORGANIZATION]],
  ["changeSettings", [Access.TENANT]],
  ["createTenant", [Access.PLATFORM]],
];

test.each(FIRST)("the key of %s is refused with other requests", async (name, accesses) => {
  const server = newServer();
  const first = keyed.find(({ text }) => text.id === name)!;
  const alike = keyed.filter(({ route }) => accesses.includes(route.access));
  const call = (operation: Operation, key: string, query = "") => {
    const [target, options] = requestTo(server, operation);
    const headers = { ...options.headers, "idempotency-key": key };
    const path = query === "" ? target : `${target}${target.includes("?") ? "&" : "?"}${query}`;
    return server.call(operation.route.method, path, { ...options, headers });
  };
  server.journal.withholds = true;
  const opened = call(first, "open");
  const waiting = alike.map((operation) => call(operation, "open", "other=1"));
  await new Promise(setImmediate);
  server.journal.withholds = false;
  server.journal.sync();
  expect((await opened).status).toBeLessThan(300);
  const inProgress = (await Promise.all(waiting)).map(({ body }) => body.errorCode);
  expect(new Set(inProgress)).toEqual(new Set(["IDEMPOTENCY_IN_PROGRESS"]));
  const reused = await codesOf(alike, async (operation) => {
    return (await call(operation, "open", "other=1")).body.errorCode;
  });
  expect(reused).toEqual(each(alike, "IDEMPOTENCY_KEY_REUSED"));
});

test("a retry whose reply is gone is refused with IDEMPOTENCY_REPLY_GONE", async () => {
  const server = newServer();
  const { a, engine, services } = server;
  const codes = await codesOf(keyed, async (operation) => {
    const { route } = operation;
    const { method, access } = route;
    const [target, options] = requestTo(server, operation);
    const headers = { ...options.headers, "idempotency-key": "gone" };
    const { path, query, body } = requestOf(method, target, options);
    const tenantId = access === Access.PLATFORM ? 0 : a.caller.tenantId;
    const isOfTenant = access === Access.PLATFORM || access === Access.TENANT;
    const id = `${isOfTenant ? `tenant-${tenantId}` : a.id}:gone`;
    const values = Object.fromEntries(new URLSearchParams(query));
    const meaning = route.meaning?.(values, body.length > 0 ? JSON.parse(body.toString()) : null);
    const fingerprint =
      meaning === undefined
        ? services.keys.fingerprint([method, path, query].join("\n"), body)
        : services.keys.fingerprint(`${method} ${route.path}`, Buffer.from(meaning));
    const reply = { id, fingerprint, status: 200, body: null };
    const { budget } = services.replies;
    engine.submitFollowUp({ kind: "rememberReply", caller: a.caller, reply, budget });
    return (await server.call(method, target, { ...options, headers })).body.errorCode;
  });
  expect(codes).toEqual(each(keyed, "IDEMPOTENCY_REPLY_GONE"));
});

test("bodies that are not JSON, or are not said to be, are refused", async () => {
  const server = newServer();
  const call = (type: string) =>
    codesOf(bodied, async (operation) => {
      const [target, options] = requestTo(server, operation);
      const headers = { ...options.headers, "content-type": type };
      const { method } = operation.route;
      return (await server.call(method, target, { ...options, headers, body: "{" })).body.errorCode;
    });
  expect(await call("application/json")).toEqual(each(bodied, "MALFORMED_REQUEST"));
  expect(await call("text/plain")).toEqual(each(bodied, "UNSUPPORTED_MEDIA_TYPE"));
});

test("a repeated header is refused with MALFORMED_REQUEST", async () => {
  const server = newServer();
  const codes = await codesOf(guarded, async ({ route }) => {
    const request = requestOf(route.method, targetFor(route, server.a), {});
    const answer = await server.send({ ...request, repeatedHeader: "x-api-key" });
    return (JSON.parse(String(answer.body)) as { errorCode: string }).errorCode;
  });
  expect(codes).toEqual(each(guarded, "MALFORMED_REQUEST"));
});

test.each([
  ["MALFORMED_REQUEST", () => "Transfer-Encoding: gzip"],
  ["PAYLOAD_TOO_LARGE", (bytesMax: number) => `Content-Length: ${bytesMax + 1}`],
])("a body is refused with %s before it is read", async (expected, header) => {
  const server = newServer();
  const options = { host: "127.0.0.1", port: 0, onBroken: () => {} };
  const http = await listen(server.dispatch, options);
  onTestFinished(() => http.close());
  const codes = await codesOf(bodied, async (operation) => {
    const { route } = operation;
    const [target, { key = "", headers = {} }] = requestTo(server, operation);
    const text = await untilClosed(http.port, [
      `${route.method.toUpperCase()} ${target} HTTP/1.1`,
      "Host: x",
      header(route.bodyBytesMax ?? BODY_BYTES.usual),
      "Content-Type: application/json",
      `X-API-Key: ${key}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ]);
    const [head = "", body = ""] = text.split("\r\n\r\n");
    const named = head.split("\r\n").slice(1);
    const sent = named.map((line) => line.split(": ") as [string, string]);
    const { errorCode, status } = JSON.parse(body) as { errorCode: string; status: number };
    const type = "application/problem+json";
    witness(route, { path: route.path }, { status, type, body, headers: sent });
    return errorCode;
  });
  expect(codes).toEqual(each(bodied, expected));
});

/** Sends the head of a request. @returns All that comes back until the server closes. */
function untilClosed(port: number, head: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8").on("error", () => {});
    socket.on("data", (part: string) => (text += part));
    socket.on("close", () => resolve(text));
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
  });
}

test("metrics are refused with ACCESS_DENIED without their token", async () => {
  const server = newServer();
  Object.assign(server.services, { metricsToken: "a-token" });
  expect((await server.call("GET", "/metrics")).body.errorCode).toBe("ACCESS_DENIED");
});

const booking = guarded.filter(
  ({ route }) => route.eventsOf !== undefined && route.isLegacy !== true,
);
const booked = booking.map((operation) => [operation.text.id, operation] as const);
/** Calls with a guard on the prices shown to the buyer. */
const isGuarded = new Set(["lock", "sale", "directsale"]);
/** A seat in the state that a call compares the fence of. */
const FENCED: Readonly<Record<string, string>> = { revertsale: "A3", unblock: "A4" };

interface Refused {
  readonly errorCode?: string;
  readonly errors?: readonly { readonly code: string }[];
}
/** Makes a call, alone or as the item of a cart. */
type Send = (body: object) => Promise<Refused>;

test.each(booked)("%s refuses with the codes of errors[] that it documents", async (_, call) => {
  const { route, text } = call;
  const name = route.path.split("/").at(-1)!;
  const calls = name === "cart" ? CART_CALLS : [name];
  const found: Refused[] = [];
  for (const own of calls) {
    const server = newServer();
    const path = targetFor(route, server.a);
    const { eventId } = server.a;
    const send: Send = async (body) => {
      const item = { items: [{ eventId, call: own, ...body }] };
      return (await server.post<Refused>(path, name === "cart" ? item : body)).body;
    };
    found.push(...(await (own === "best" ? refusedWishes : refusedSelections)(server, own, send)));
  }
  for (const { errorCode, fieldCodes } of text.refusals) {
    if (!OF_INVENTORY.has(errorCode)) continue;
    const alike = found.filter((refused) => refused.errorCode === errorCode);
    const codes = alike.flatMap(({ errors = [] }) => errors.map(({ code }) => code));
    expect([errorCode, ...new Set(codes)].sort()).toEqual([errorCode, ...fieldCodes].sort());
  }
});

/** Refusals of the inventory; `door.test.ts` and `cart.test.ts` have those before. */
const OF_INVENTORY = new Set(["INVENTORY_NOT_AVAILABLE", "NOTHING_SUITABLE"]);

/** Seats in every state, the guards of the call, and the limits. */
async function refusedSelections(server: TestServer, call: string, send: Send) {
  const { a, world } = server;
  await server.book("lock", "bob", "A2");
  await server.book("directsale", null, "A3");
  await server.book("block", null, "A4");
  const unpriced = { seats: [{ objectId: a.labels.idOf("B1") }] };
  world.must("unassignPrices", a.caller, { eventId: a.eventId, body: unpriced });
  await server.book("lock", "ann", "B2");
  const channel = { name: "Agency", seats: [a.labels.idOf("B3")] };
  world.must("putChannel", a.caller, { eventId: a.eventId, key: "agency", body: channel });
  const labels = ["A1", "A2", "A3", "A4", "B1", "B2", "B3"];
  const selection = server.selection("ann", ...labels, "Pit:101");
  // An extension names places by their hold.
  const more = call === "extend" ? { groupOfSeats: null, seconds: 60 } : {};
  const found = [
    await send({ ...selection, seats: [...selection.seats!, { id: 999_999 }], ...more }),
  ];
  expect(found[0]!.errorCode).toBe("INVENTORY_NOT_AVAILABLE");
  if (isGuarded.has(call)) {
    const { seats, ...priced } = server.selection("ann", call === "sale" ? "B2" : "A5");
    found.push(await send({ ...priced, seats, priceIds: { [seats![0]!.id]: 1 } }));
  }
  const fenced = FENCED[call];
  if (fenced !== undefined) {
    found.push(await send({ ...server.selection(null, fenced), fence: 1 }));
  }
  world.change({ heldPerEvent: 1 });
  // Of calls that it does not concern, it names nothing.
  found.push(await send({ seats: [{ id: a.labels.idOf("A6") }], sessionId: "ann", ...more }));
  if (call !== "lock") return found;
  const seats = ["A5", "A6"].map((label) => ({ id: a.labels.idOf(label) }));
  return [...found, await send({ seats, admission: await oneSeat(server) })];
}

/** More places than there are, than may be held, and than a visitor may take. */
async function refusedWishes(server: TestServer, _: string, send: Send): Promise<Refused[]> {
  const nothing = await send({ quantity: 50 });
  server.world.change({ heldPerEvent: 1 });
  const held = await send({ quantity: 2 });
  return [nothing, held, await send({ quantity: 2, admission: await oneSeat(server) })];
}

/** @returns The token of a visitor who may take one seat, where holds have no limit. */
async function oneSeat(server: TestServer): Promise<string> {
  server.world.change({ heldPerEvent: 0 });
  const admission = `/api/private/v2.0/events/${server.a.eventId}/admission`;
  const body = { opensAt: "2020-01-01T00:00", perMinute: 60, draw: false, seatsPerVisitor: 1 };
  await server.call("PUT", admission, { ...actingFor(server.tenantToken, server.a), body });
  const joined = await server.post<{ visitor: string }>(`${admission}/visitors`, {});
  const enter = `${admission}/visitors/${joined.body.visitor}/enter`;
  return (await server.post<{ admission: string }>(enter, undefined)).body.admission;
}
