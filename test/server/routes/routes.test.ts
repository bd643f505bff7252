/**
 * Every route of the table: its callers, its refused bodies and methods, and no answer with
 * anything of another organization. The tests are generated from the table, so that a new row is
 * tested at once.
 */
import { beforeAll, expect, test } from "vitest";
import { Passwords } from "../../../server/auth/logins.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import type { Route } from "../../../server/api/route.ts";
import { Access } from "../../../server/auth/access.ts";
import { actingFor, type CallOptions } from "../../support/answers/exchange.ts";
import { type House, ROUTES, TestServer, V2 } from "../../support/server.ts";
import { pathFor, targetFor } from "../../support/targets.ts";
import { expectProblem, invalid, NO_ID, NOT_FOUND, NOWHERE } from "../wire/wire.ts";

const PASSWORD = "correct horse";
const server = new TestServer();
const { a, b, c, tenantToken, otherTenantToken } = server;
let loginToken = "";

beforeAll(async () => {
  // An administrator of another organization in the tenant of A.
  const passwordHash = (await new Passwords().hash(PASSWORD))!;
  const { world } = server;
  const administrator = { email: "x@y.example", firstName: "A", lastName: "B", passwordHash };
  const keys = {
    publicKey: "00000000-0000-4000-8000-000000000005",
    privateKey: "00000000-0000-4000-8000-000000000006",
  };
  world.must("createOrganization", world.tenant, { body: { name: "Own" }, administrator, ...keys });
  const body = { username: "x@y.example", password: PASSWORD };
  loginToken = (await server.post<{ token: string }>("/api/auth/login", body, {})).body.token;
});

/** The rows of the operator exist only on a server with a platform token. */
const isPlatform = ({ path }: Route) => path.startsWith("/api/admin/");
const nameOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;
/** For `test.each`: the name of a route, and the route. */
const named = (routes: readonly Route[]) => routes.map((route) => [nameOf(route), route] as const);

/** Ids that nobody has, for changes without a body: they would succeed. */
const NO_HOUSE = { id: NO_ID, eventId: NOWHERE, schemaId: NO_ID, venueId: NO_ID, priceId: NO_ID };

/** A call that changes nothing, whoever makes it: no route accepts its body. */
function call(route: Route, owner: House, options: CallOptions) {
  const body = route.body === undefined ? undefined : 7;
  const isHarmless = route.method === "get" || body !== undefined;
  const house = isHarmless ? owner : { ...owner, ...NO_HOUSE };
  return server.call<unknown>(route.method, targetFor(route, house), { body, ...options });
}

const { PUBLIC, ORGANIZATION, LEGACY, EDITOR, VIEWER, TENANT, TENANT_ORGANIZATION } = Access;
const OWN = [ORGANIZATION, LEGACY, EDITOR, VIEWER];
const ALL = [...OWN, TENANT, TENANT_ORGANIZATION];
const bearer = (token: string, more: object = {}): CallOptions => ({
  headers: { authorization: `Bearer ${token}`, ...more },
});

/** Callers, and the kinds of access that they have besides the public one. */
const CALLERS: readonly (readonly [string, () => CallOptions, readonly Access[]])[] = [
  ["nobody", () => ({}), []],
  ["an unknown key", () => ({ key: `fro_${a.id}_${"x".repeat(43)}` }), []],
  ["the key of A", () => a, OWN],
  ["the key of A as bearer", () => bearer(a.key), OWN],
  ["the key of A naming B", () => actingFor(a.key, b), []],
  ["the tenant token naming A", () => actingFor(tenantToken, a), ALL],
  ["the tenant token naming C", () => actingFor(tenantToken, c), []],
  ["the tenant token naming nobody", () => actingFor(tenantToken, { id: NO_ID }), []],
  ["the other tenant's token naming A", () => actingFor(otherTenantToken, a), []],
  ["the tenant token alone", () => ({ key: tenantToken }), [TENANT]],
  ["a login", () => bearer(loginToken), [EDITOR]],
  ["a login naming A", () => bearer(loginToken, { "x-organization-id": String(a.id) }), []],
];

/** The refusal of a handler says who owns the object; the refusal before it does not. */
const isByHandler = (text: string) => text.includes("belongs to another organization");

test.each(named(ROUTES))("%s is open to the callers of its kind of access only", async (...row) => {
  const [, route] = row;
  for (const [name, options, open] of CALLERS) {
    const { status, text } = await call(route, a, options());
    const isRefused = status === 403 && text.includes('"ACCESS_DENIED"') && !isByHandler(text);
    const isHidden = isPlatform(route) && status === 404;
    const isOpen = route.access === PUBLIC || open.includes(route.access);
    expect([name, !isRefused && !isHidden]).toEqual([name, isOpen]);
    expect([name, status]).not.toEqual([name, 500]);
  }
});

const GUARDED = ROUTES.filter(({ access }) => access !== PUBLIC);

/** Callers with an organization of another tenant, and with one from nowhere. */
const STRANGERS = [
  "the tenant token naming C",
  "the tenant token naming nobody",
  "the other tenant's token naming A",
];

test.each(named(GUARDED))(
  "%s refuses another tenant's organization in the words for none",
  async (_, route) => {
    const words = new Map<string, string>();
    const codes = new Set<unknown>();
    for (const [name, options, open] of CALLERS) {
      if (open.includes(route.access)) continue;
      const { body } = await call(route, a, options());
      const { errorCode, detail, errors } = body as Record<string, unknown>;
      words.set(name, JSON.stringify([detail, errors]));
      codes.add(errorCode);
    }
    expect(codes.size).toBe(1);
    expect(STRANGERS.every((name) => words.has(name))).toBe(true);
    expect(new Set(STRANGERS.map((name) => words.get(name))).size).toBe(1);
    // Only a hidden route says the same to nobody and to an unknown key.
    expect(words.get("nobody") === words.get("an unknown key")).toBe(isPlatform(route));
  },
);

const READS = GUARDED.filter((route) => route.method === "get" && !isPlatform(route));

/** Strings that occur only in the house's own objects. */
const marksOf = (house: House) => [house.key, house.eventId, `"${house.name}"`, `${house.name} `];

test.each([
  ["A", a, [b, c]],
  ["B", b, [a, c]],
  ["C", c, [a, b]],
] as const)("no answer to %s contains anything of another organization", async (...row) => {
  const [, house, others] = row;
  for (const route of READS) {
    const isManagement = route.access === TENANT;
    const token = house === c ? otherTenantToken : tenantToken;
    const strangers = isManagement
      ? others.filter(({ caller }) => caller.tenantId !== house.caller.tenantId)
      : others;
    for (const owner of [house, ...strangers]) {
      const path = pathFor(route, owner);
      const key = isManagement ? token : house.key;
      const reply = await server.get(targetFor(route, owner), { key });
      // A problem shows the path of the request.
      const text = reply.text.replaceAll(path, "");
      // The organizations of the tests have public keys that look like ids of events.
      const marks = strangers.flatMap(marksOf).filter((mark) => !isManagement || mark[0] !== "0");
      for (const mark of marks) {
        expect([nameOf(route), mark, text.includes(mark)]).toEqual([nameOf(route), mark, false]);
      }
    }
  }
});

test("a key in the query or in the body is ignored", async () => {
  const target = `${V2}/events/?X-API-Key=${a.key}&apiKey=${a.key}&access_token=${a.key}`;
  expect((await server.call("GET", target)).status).toBe(403);
  const body = { name: "x", apiKey: a.key };
  expect((await server.call("POST", `${V2}/venues/`, { body })).status).toBe(403);
});

/** A caller who may call the route. */
function callerOf({ access }: Route): CallOptions {
  if (access === PUBLIC) return {};
  return access === TENANT || access === TENANT_ORGANIZATION ? actingFor(tenantToken, a) : a;
}

const WRONG_PAGES: readonly (readonly [string, string])[] = [
  ["page=-1", "page RANGE"],
  ["page=abc", "page TYPE"],
  ["page=1.5", "page TYPE"],
  ["page=1&page=2", "page TYPE"],
  ["size=0", "size RANGE"],
  ["size=101", "size RANGE"],
  ["size=abc", "size TYPE"],
  ["size=1e2", "size TYPE"],
  ["size=1000000000", "size RANGE"],
  ["sort=nothing", "sort UNKNOWN"],
  ["sort=id,up", "sort UNKNOWN"],
  ["sort=id,asc,desc", "sort UNKNOWN"],
  ["sort=__proto__", "sort UNKNOWN"],
  // Members that rows have, but answers do not show.
  ["sort=organizationId", "sort UNKNOWN"],
  ["sort=secretKey", "sort UNKNOWN"],
  ["page=9007199254740991&size=2", "page RANGE"],
  ["sort=slot", "sort UNKNOWN"],
];
const LISTS = ROUTES.filter(({ query }) => query?.["size"] !== undefined);

test.each(named(LISTS))("%s refuses wrong pages, sizes and sorts", async (_, route) => {
  for (const [query, error] of WRONG_PAGES) {
    const reply = await server.get(`${pathFor(route, a)}?${query}`, callerOf(route));
    expectProblem(reply, invalid(error));
  }
});

const BODIED = ROUTES.filter((route) => route.body !== undefined && !isPlatform(route));
/** Routes with the empty object as a valid body, and its meaning. */
const EMPTY_IS_VALID: Readonly<Record<string, string>> = {
  "PUT /api/private/v2.0/schemas/{id}/layout": "keeps the stored layout",
  "PUT /api/seatmap/{id}/": "keeps the stored layout",
  "POST /api/private/v2.0/event/{eventId}/prices/assignments/": "assigns nothing",
  "PUT /api/private/management/v2.0/organizations/{id}/settings": "changes nothing",
  "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/": "assigns nothing",
  "POST /api/private/v2.0/keys/rotate": "ends the old key at once",
  "POST /api/private/v2.0/events/{id}/clone": "copies the event as it is",
  "PUT /api/private/v2.0/events/{id}/rules": "follows the organization",
  "POST /api/private/v2.0/events/{id}/admission/visitors": "joins without a customer",
  "POST /api/private/v2.0/webhooks/{id}/rotate": "keeps the old secret for a day",
  "POST /api/private/management/v2.0/keys/rotate": "ends the old token at once",
};

test.each(named(BODIED))("%s refuses wrong bodies and content types", async (name, route) => {
  const before = server.digest;
  const isLogin = route.tag === "Login";
  const send = async (body: unknown, type = "application/json") => {
    const by = callerOf(route);
    const headers = { ...by.headers, "content-type": type };
    const target = targetFor(route, a);
    const reply = await server.call(route.method, target, { ...by, headers, body });
    const path = route.problemPath?.(target.slice(target.indexOf("?") + 1)) ?? reply.path;
    return { ...reply, path };
  };
  const bodies = route.mayBeEmpty === true ? [] : [""];
  for (const body of [...bodies, "{", "nonsense", "{}{}", '{"__proto__":1}', Buffer.from([0xff])]) {
    const reply = await send(body);
    if (isLogin) expect(reply.status).toBe(400);
    else expectProblem(reply, { status: 400, errorCode: "MALFORMED_REQUEST" });
  }
  const isList = route.body!["type"] === "array";
  for (const body of [null, 7, true, '"x"', isList ? {} : []]) {
    const reply = await send(body);
    expect([body, reply.status]).toEqual([body, 400]);
    if (!isLogin) expect(reply.body.errorCode).toBe("VALIDATION_FAILED");
  }
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
    const reply = await send("{}", type);
    if (isLogin) expect(reply.status).toBe(415);
    else expectProblem(reply, { status: 415, errorCode: "UNSUPPORTED_MEDIA_TYPE" });
  }
  if (name in EMPTY_IS_VALID) return;
  expect([name, (await send(isList ? [{}] : {})).status]).toEqual([name, 400]);
  expect(server.digest).toBe(before);
});

test.each(Object.entries(EMPTY_IS_VALID))("an empty object sent to %s %s", async (name) => {
  const route = ROUTES.find((known) => nameOf(known) === name)!;
  const fresh = new TestServer();
  const options = { ...callerOf(route), body: {} };
  const webhook = { url: "https://odeon.example/", events: ["change"] };
  const { body } = await fresh.post<{ id: number }>("/api/private/v2.0/webhooks/", webhook);
  if (route.path.endsWith("/visitors")) {
    const door = { opensAt: "2020-01-01T00:00", perMinute: 1, draw: false };
    await fresh.call("PUT", pathFor(route, fresh.a).replace("/visitors", ""), {
      ...callerOf(route),
      body: door,
    });
  }
  const target = targetFor(route, fresh.a).replace(String(NO_ID), String(body.id));
  const reply = await fresh.call(route.method, target, options);
  expect([name, reply.status]).toEqual([name, /\/(clone|visitors)$/.test(name) ? 201 : 200]);
});

const PATHS = [...new Set(ROUTES.map(({ path }) => path))];

test.each(PATHS)("%s answers 405 with its methods to any other method", async (template) => {
  const routes = ROUTES.filter(({ path }) => path === template);
  const path = pathFor(routes[0]!, a);
  const methods = routes.map(({ method }) => method.toUpperCase());
  if (methods.includes("GET")) methods.push("HEAD");
  for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "HEAD", "BREW"]) {
    if (methods.includes(method)) continue;
    const reply = await server.call(method, path);
    expect([method, reply.status]).toEqual([method, 405]);
    expect(reply.headers["Allow"]?.split(", ").sort()).toEqual([...methods].sort());
    if (!path.startsWith("/api/auth/")) {
      expectProblem(reply, { status: 405, errorCode: "METHOD_NOT_ALLOWED" });
    }
  }
});

test.each(PATHS.filter((path) => path !== "/"))(
  "%s can be called with or without a slash at the end",
  async (template) => {
    const path = pathFor(
      ROUTES.find((route) => route.path === template)!,
      a,
    );
    const other = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    const replies = await Promise.all([path, other].map((target) => server.call("BREW", target)));
    expect(replies.map(({ status }) => status)).toEqual([405, 405]);
    expect(replies[1]!.headers).toEqual(replies[0]!.headers);
  },
);

test.each([
  "/api",
  "/api/private/v2.0/nothing/",
  "/api/private/v3.0/events/",
  "/API/PRIVATE/V2.0/EVENTS/",
  "/docs/../package.json",
  "/docs/%2e%2e/package.json",
  "/docs/style.css%00",
  "/docs\\reference.js",
  "/openapi.json/x",
  "/__proto__",
  "/constructor/",
])("%s does not exist: 404", async (path) => {
  expectProblem(await server.get(path), NOT_FOUND);
});

test("every answer waits for the disk, except those about the service itself", () => {
  for (const route of API_ROUTES) {
    expect([nameOf(route), route.durable]).toEqual([nameOf(route), route.tag !== "Service"]);
  }
});

test("a server that is not ready answers 503, except about the service itself", async () => {
  const closed = new TestServer();
  closed.isReady = false;
  for (const route of API_ROUTES) {
    const reply = await closed.call(route.method, targetFor(route, closed.a), closed.a);
    const isOpen = route.tag === "Service" && route.path !== "/readyz";
    const { status, headers } = reply;
    const expected = isOpen ? [200, undefined] : [503, "1"];
    expect([nameOf(route), status, headers["Retry-After"]]).toEqual([nameOf(route), ...expected]);
  }
});

test("an X-Organization-ID that is not an id is refused", async () => {
  for (const id of ["abc", "-1", "0", "1.5", "1e3", "01", `${a.id} `, "9".repeat(17), "null"]) {
    for (const key of [a.key, tenantToken]) {
      const headers = { "x-organization-id": id };
      const reply = await server.get(`${V2}/events/`, { key, headers });
      expectProblem(reply, invalid("X-Organization-ID TYPE"));
    }
  }
});

test("orgId in the query replaces the header on the paths of layout tools only", async () => {
  const by = { key: tenantToken };
  const layout = await server.get(`/api/seatmap/${a.schemaId}/?orgId=${a.id}`, by);
  expect(layout.status).toBe(200);
  expect((await server.get(`${V2}/events/?orgId=${a.id}`, by)).status).toBe(403);
});
