/**
 * Every route of the table, by every kind of caller: what the table says is what happens, and no
 * body ever holds anything of another organization. All of it is generated from the table, so a new
 * row is tested as soon as it is there.
 */
import { beforeAll, expect, test } from "vitest";
import { Passwords } from "../../../server/auth/passwords.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { Access, type Route } from "../../../server/routing/route.ts";
import {
  actingFor,
  type CallOptions,
  type House,
  ROUTES,
  TestServer,
  V2,
} from "../../support/server.ts";
import { expectProblem } from "../wire/wire.ts";

const PASSWORD = "correct horse";
const server = new TestServer();
let loginToken = "";

beforeAll(async () => {
  // The clerk of the tests' first tenant, who belongs to organization A's sister.
  const passwordHash = await new Passwords().hash(PASSWORD);
  const { world } = server;
  const administrator = { email: "x@y.example", firstName: "A", lastName: "B", passwordHash };
  const keys = {
    publicKey: "00000000-0000-4000-8000-000000000005",
    privateKey: "00000000-0000-4000-8000-000000000006",
  };
  world.must("createOrganization", world.tenant, { body: { name: "Own" }, administrator, ...keys });
  const body = { username: "x@y.example", password: PASSWORD };
  const login = await server.call<{ token: string }>("POST", "/api/auth/login", { body });
  loginToken = login.body.token;
});

/** The operator's routes: they are not there unless the server has a platform token. */
function isPlatform({ path }: Route): boolean {
  return path.startsWith("/api/admin/");
}

function nameOf({ method, path }: Route): string {
  return `${method.toUpperCase()} ${path}`;
}

/** An id that no test gives out, of either kind. */
const NO_LONG = "999999999";
const NO_UUID = "00000000-0000-4000-8000-ffffffffffff";

/** The id of what the house owns at this place of a path; of nothing where it owns none. */
function idFor(path: string, name: string, house: House): string | number {
  const before =
    path
      .slice(0, path.indexOf(`{${name}}`))
      .split("/")
      .at(-2) ?? "";
  if (/^events?$/.test(before)) return house.eventId;
  if (before === "venues") return house.venueId;
  if (before === "organizations") return house.id;
  if (before === "prices") return house.priceId;
  if (before === "schemas" || before === "seatmap") return house.schemaId;
  return NO_LONG;
}

function pathFor({ path, params = {} }: Route, house: House): string {
  const names = Object.keys(params);
  return names.reduce((filled, name) => {
    const isUuid = params[name]!["format"] === "uuid";
    const id = idFor(path, name, house);
    return filled.replace(`{${name}}`, String(isUuid && id === NO_LONG ? NO_UUID : id));
  }, path);
}

/** A change without a body would be made: it is sent to nobody's. */
const NO_HOUSE: Pick<House, "id" | "eventId" | "schemaId" | "venueId" | "priceId"> = {
  id: Number(NO_LONG),
  eventId: NO_UUID,
  schemaId: Number(NO_LONG),
  venueId: Number(NO_LONG),
  priceId: Number(NO_LONG),
};

/** The query parameters that the route cannot do without. */
function queryFor({ query = {} }: Route, house: House): string {
  const required = Object.entries(query).filter(([, parameter]) => parameter.required === true);
  const texts = required.map(([name, { shape }]) => {
    return `${name}=${shape["format"] === "uuid" ? house.eventId : house.priceId}`;
  });
  return texts.length === 0 ? "" : `?${texts.join("&")}`;
}

/** A call that changes nothing whoever makes it: its body has no meaning for any route. */
function call(route: Route, owner: House, options: CallOptions) {
  const body = route.body === undefined ? undefined : 7;
  const isHarmless = route.method === "get" || body !== undefined;
  const house = isHarmless ? owner : { ...owner, ...NO_HOUSE };
  const target = pathFor(route, house) + queryFor(route, house);
  return server.call<unknown>(route.method, target, { body, ...options });
}

type Verdict = "allowed" | "denied";

interface Principal {
  readonly name: string;
  readonly options: () => CallOptions;
  readonly verdicts: Readonly<Record<Access, Verdict>>;
}

function verdicts(...open: readonly Access[]): Readonly<Record<Access, Verdict>> {
  const known = Object.values(Access).map((access) => {
    const isAllowed = access === Access.PUBLIC || open.includes(access);
    return [access, isAllowed ? "allowed" : "denied"] as const;
  });
  return Object.fromEntries(known) as Record<Access, Verdict>;
}

const OF_ORGANIZATION = verdicts(Access.ORGANIZATION, Access.EDITOR);
const OF_TENANT = verdicts(
  Access.ORGANIZATION,
  Access.EDITOR,
  Access.TENANT,
  Access.TENANT_ORGANIZATION,
);
const NOBODY = verdicts();

const { a, b, c, tenantToken, otherTenantToken } = server;
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const PRINCIPALS: readonly Principal[] = [
  { name: "nobody", options: () => ({}), verdicts: NOBODY },
  {
    name: "an unknown key",
    options: () => ({ key: `fro_${a.id}_${"x".repeat(43)}` }),
    verdicts: NOBODY,
  },
  {
    name: "another's code",
    options: () => ({ key: a.key.replace("fro", "frt") }),
    verdicts: NOBODY,
  },
  { name: "a key cut short", options: () => ({ key: a.key.slice(0, -1) }), verdicts: NOBODY },
  { name: "a key of 10,000", options: () => ({ key: "k".repeat(10_000) }), verdicts: NOBODY },
  { name: "key of A", options: () => ({ key: a.key }), verdicts: OF_ORGANIZATION },
  { name: "key of A as bearer", options: () => bearer(a.key), verdicts: OF_ORGANIZATION },
  { name: "key of B", options: () => ({ key: b.key }), verdicts: OF_ORGANIZATION },
  { name: "key of C", options: () => ({ key: c.key }), verdicts: OF_ORGANIZATION },
  { name: "key of A naming A", options: () => actingFor(a.key, a), verdicts: OF_ORGANIZATION },
  { name: "key of A naming B", options: () => actingFor(a.key, b), verdicts: NOBODY },
  { name: "tenant token naming A", options: () => actingFor(tenantToken, a), verdicts: OF_TENANT },
  { name: "tenant token naming C", options: () => actingFor(tenantToken, c), verdicts: NOBODY },
  {
    name: "tenant token naming nobody",
    options: () => actingFor(tenantToken, { id: 999_999 }),
    verdicts: NOBODY,
  },
  {
    name: "other tenant naming A",
    options: () => actingFor(otherTenantToken, a),
    verdicts: NOBODY,
  },
  {
    name: "tenant token alone",
    options: () => ({ key: tenantToken }),
    verdicts: verdicts(Access.TENANT),
  },
  {
    name: "a login's token",
    options: () => bearer(loginToken),
    verdicts: verdicts(Access.EDITOR),
  },
  {
    name: "a login naming A",
    options: () => ({ ...bearer(loginToken), ...naming(a, loginToken) }),
    verdicts: NOBODY,
  },
];

function naming({ id }: House, token: string): CallOptions {
  return { headers: { authorization: `Bearer ${token}`, "x-organization-id": String(id) } };
}

/** Words that are nowhere but in what belongs to the house. */
function marksOf(house: House): readonly string[] {
  return [house.key, house.eventId, `"${house.name}"`, `${house.name} `];
}

const FOREIGN = [
  [a, [b, c]],
  [b, [a, c]],
  [c, [a, b]],
] as const;

test.each(ROUTES.map((route) => [nameOf(route), route] as const))(
  "%s lets in whom the table says",
  async (_, route) => {
    for (const { name, options, verdicts: expected } of PRINCIPALS) {
      const reply = await call(route, a, options());
      // Who is let in to a path of another organization's may be turned away by its handler.
      const isDenied =
        reply.status === 403 && reply.text.includes('"ACCESS_DENIED"') && !isOwnersWord(reply.text);
      const isHidden = isPlatform(route) && reply.status === 404;
      const verdict = isDenied || isHidden ? "denied" : "allowed";
      expect([name, verdict]).toEqual([name, expected[route.access]]);
      expect([name, reply.status]).not.toEqual([name, 500]);
    }
  },
);

/** The handler's own refusal, which says whose it is; the front's does not. */
function isOwnersWord(text: string): boolean {
  return text.includes("belongs to another organization");
}

const GUARDED = ROUTES.filter(({ access }) => access !== Access.PUBLIC);

test("all who are turned away at the door read the same words", async () => {
  for (const route of GUARDED) {
    const details = new Set<string>();
    for (const { options, verdicts: expected } of PRINCIPALS) {
      if (expected[route.access] === "allowed") continue;
      const reply = await call(route, a, options());
      const { errorCode, detail, errors } = reply.body as Record<string, unknown>;
      details.add(JSON.stringify([errorCode, detail, errors]));
    }
    expect([nameOf(route), details.size]).toEqual([nameOf(route), 1]);
  }
});

const READS = GUARDED.filter((route) => route.method === "get" && !isPlatform(route));

test.each(FOREIGN)("nothing of another organization is in any body", async (house, others) => {
  for (const route of READS) {
    const isManagement = route.access === Access.TENANT;
    const token = house === c ? otherTenantToken : tenantToken;
    const strangers = isManagement
      ? others.filter(({ caller }) => caller.tenantId !== house.caller.tenantId)
      : others;
    for (const owner of [house, ...strangers]) {
      const path = pathFor(route, owner);
      const target = path + queryFor(route, owner);
      const key = isManagement ? token : house.key;
      const reply = await server.call(route.method, target, { key });
      // A problem says which path was asked for.
      const text = reply.text.replaceAll(path, "");
      // The tests' organizations have public keys that look like ids of events.
      const marks = strangers.flatMap(marksOf).filter((mark) => !isManagement || mark[0] !== "0");
      for (const mark of marks) {
        expect([nameOf(route), mark, text.includes(mark)]).toEqual([nameOf(route), mark, false]);
      }
      if (owner === house || path === route.path || path.endsWith(NO_LONG)) continue;
      if (path.endsWith(NO_UUID)) continue;
      expect([nameOf(route), reply.status]).toEqual([nameOf(route), 403]);
    }
  }
});

/** Bodies that their routes would take from the owner, by a part of the route's name. */
const SOUND_BODIES: Readonly<Record<string, unknown>> = {
  "/layout": {},
  "/api/seatmap/": {},
  "/status": { status: "ARCHIVED" },
  "/events/{id}/series": { seriesId: null },
  "/prices/assignments/": {},
  "/pricing_zones/assignments/": {},
  "/v2.0/booking/": { seats: [{ id: b.labels.idOf("A1") }] },
  "POST /api/private/v2.0/event/{eventId}/prices/": [{ name: "x", eventId: b.eventId }],
  "PUT /api/private/v2.0/event/{eventId}/prices/": [
    { id: b.priceId, name: "x", eventId: b.eventId },
  ],
  "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/": [{ name: "x", schemaId: b.schemaId }],
  "PUT /api/private/v2.0/venues/": { id: b.venueId, name: "x" },
  "PUT /api/private/v2.0/schemas/": { id: b.schemaId, name: "x", venueId: a.venueId },
  "PUT /api/private/v2.0/events/": {
    id: b.eventId,
    name: "x",
    start: "2026-01-01T10:00",
    endDate: "2026-01-01T11:00",
    schemaId: a.schemaId,
  },
};

test("a change of what is another organization's is refused, and nothing has changed", async () => {
  const before = server.digest;
  let tried = 0;
  for (const route of GUARDED) {
    if (route.method === "get" || route.access === Access.TENANT) continue;
    const [, body] =
      Object.entries(SOUND_BODIES).find(([part]) =>
        part.startsWith("/") ? route.path.includes(part) : part === nameOf(route),
      ) ?? [];
    const target = pathFor(route, b) + queryFor(route, b);
    const isOwned = target !== route.path || body !== undefined;
    if ((route.body !== undefined && body === undefined) || !isOwned) continue;
    if (target.includes(NO_LONG) || target.includes(NO_UUID)) continue;
    const reply = await server.call(route.method, target, { key: a.key, body });
    expect([nameOf(route), reply.status]).toEqual([nameOf(route), 403]);
    tried += 1;
  }
  expect(tried).toBeGreaterThan(14);
  expect(server.digest).toBe(before);
});

test("a key in the query or in the body is no key", async () => {
  const target = `${V2}/events/?X-API-Key=${a.key}&apiKey=${a.key}&access_token=${a.key}`;
  expect((await server.call("GET", target)).status).toBe(403);
  const body = { name: "x", apiKey: a.key };
  expect((await server.call("POST", `${V2}/venues/`, { body })).status).toBe(403);
});

const BODIED = ROUTES.filter((route) => route.body !== undefined && !isPlatform(route));
/** Routes to which an object without members is a request, and what it asks for. */
const EMPTY_IS_FINE: Readonly<Record<string, string>> = {
  "PUT /api/private/v2.0/schemas/{id}/layout": "a layout lays over what is stored",
  "PUT /api/seatmap/{id}/": "the same",
  "POST /api/private/v2.0/event/{eventId}/prices/assignments/": "assigns nothing",
  "PUT /api/private/management/v2.0/organizations/{id}/settings": "switches nothing",
  "POST /api/private/v2.0/schemas/{id}/pricing_zones/assignments/": "assigns nothing",
  "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/": "assigns nothing",
  "POST /api/private/v2.0/keys/rotate": "the old key ends at once",
  "POST /api/private/management/v2.0/keys/rotate": "the old token ends at once",
};

/** Whoever may call it. */
function callerOf({ access }: Route): CallOptions {
  const { TENANT, TENANT_ORGANIZATION, PUBLIC } = Access;
  if (access === PUBLIC) return {};
  return access === TENANT || access === TENANT_ORGANIZATION
    ? actingFor(tenantToken, a)
    : { key: a.key };
}

test.each(BODIED.map((route) => [nameOf(route), route] as const))(
  "%s refuses what is no body of its",
  async (name, route) => {
    const before = server.digest;
    const target = pathFor(route, a) + queryFor(route, a);
    const isLogin = route.tag === "Login";
    const path = target.split("?")[0]!;
    const send = (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
      const options = callerOf(route);
      return server.call(route.method, target, {
        ...options,
        headers: { ...options.headers, ...headers },
        body,
      });
    };
    for (const body of ["", "{", "nonsense", "{}{}", '{"__proto__":1}', Buffer.from([0xff])]) {
      const reply = await send(body);
      if (isLogin) expect(reply.status).toBe(400);
      else expectProblem(reply, { status: 400, errorCode: "MALFORMED_REQUEST", path });
    }
    const isList = route.body!["type"] === "array";
    for (const body of [null, 7, true, '"x"', isList ? {} : []]) {
      const reply = await send(body);
      expect([body, reply.status]).toEqual([body, 400]);
      if (!isLogin) expect(reply.body.errorCode).toBe("VALIDATION_FAILED");
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
      const reply = await send("{}", { "content-type": type });
      if (isLogin) expect(reply.status).toBe(415);
      else expectProblem(reply, { status: 415, errorCode: "UNSUPPORTED_MEDIA_TYPE", path });
    }
    if (name in EMPTY_IS_FINE) return;
    expect([name, (await send(isList ? [{}] : {})).status]).toEqual([name, 400]);
    expect(server.digest).toBe(before);
  },
);

test("an object without members is a request to these routes alone", async () => {
  for (const [name, asks] of Object.entries(EMPTY_IS_FINE)) {
    const route = ROUTES.find((known) => nameOf(known) === name);
    if (route === undefined) continue;
    const fresh = new TestServer();
    const target = pathFor(route, fresh.a) + queryFor(route, fresh.a);
    const reply = await fresh.call(route.method, target, { ...callerOf(route), body: {} });
    expect([name, asks, reply.status]).toEqual([name, asks, 200]);
  }
});

const PATHS = [...new Set(ROUTES.map(({ path }) => path))];

test.each(PATHS)("%s names its methods to whoever uses another", async (template) => {
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
      expectProblem(reply, { status: 405, errorCode: "METHOD_NOT_ALLOWED", path });
    }
  }
});

test.each(PATHS.filter((path) => path !== "/"))(
  "%s may be written with or without a slash at its end",
  async (template) => {
    const route = ROUTES.find(({ path }) => path === template)!;
    const path = pathFor(route, a);
    const other = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    const methods = await Promise.all([path, other].map((target) => server.call("BREW", target)));
    expect(methods.map(({ status }) => status)).toEqual([405, 405]);
    expect(methods[1]!.headers).toEqual(methods[0]!.headers);
  },
);

test("what no route has is 404, in the shape of its part of the interface", async () => {
  for (const path of [
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
  ]) {
    expectProblem(await server.call("GET", path, { key: a.key }), {
      status: 404,
      errorCode: "ENTITY_NOT_FOUND",
      path,
    });
  }
});

test("every route waits for the disk, unless it is about the service itself", () => {
  for (const route of API_ROUTES) {
    expect([nameOf(route), route.durable]).toEqual([nameOf(route), route.tag !== "Service"]);
  }
});

test("every route but the service's own is refused while it is not ready", async () => {
  const closed = new TestServer();
  closed.isReady = false;
  for (const route of API_ROUTES) {
    const target = pathFor(route, closed.a) + queryFor(route, closed.a);
    const reply = await closed.call(route.method, target, { key: closed.a.key });
    const isOpen = route.tag === "Service" && route.path !== "/readyz";
    expect([nameOf(route), reply.status]).toEqual([nameOf(route), isOpen ? 200 : 503]);
    if (!isOpen)
      expect([nameOf(route), reply.headers["Retry-After"]]).toEqual([nameOf(route), "1"]);
  }
});

test("the organization that acts is said to be an id, or it is refused", async () => {
  for (const id of ["abc", "-1", "0", "1.5", "1e3", "01", `${a.id} `, "9".repeat(17), "null"]) {
    for (const key of [a.key, tenantToken]) {
      const path = `${V2}/events/`;
      const headers = { "x-organization-id": id };
      const reply = await server.call("GET", path, { key, headers });
      const errors = ["X-Organization-ID TYPE"];
      expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
    }
  }
});

test("orgId in the query speaks for the header on layout paths alone", async () => {
  const layout = `/api/seatmap/${a.schemaId}/?orgId=${a.id}`;
  expect((await server.call("GET", layout, { key: tenantToken })).status).toBe(200);
  const events = await server.call("GET", `${V2}/events/?orgId=${a.id}`, { key: tenantToken });
  expect(events.status).toBe(403);
});
