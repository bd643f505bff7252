/** The rows that create, read and list organizations, and change their settings and hold types. */
import { expect, test } from "vitest";
import { actingFor, type CallOptions } from "../../support/answers/exchange.ts";
import { type House, MANAGEMENT, type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectPage,
  expectProblem,
  invalid,
  NO_ID,
  NOT_FOUND,
  UUID,
  NOWHERE,
} from "../wire/wire.ts";

const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;
const HOLD_TYPES = `${MANAGEMENT}/hold-types/`;

interface OrganizationBody {
  readonly id: number;
  readonly name: string;
  readonly secretKey: string;
  readonly publicKey: string;
  readonly privateKey: string;
}

const OPERA = {
  name: "Opera",
  email: "ada@opera.example",
  firstName: "Ada",
  lastName: "Byron",
  password: "correct horse",
};

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();

const create = (server: TestServer, changes: object = {}) =>
  server.post<OrganizationBody>(
    ORGANIZATIONS,
    { ...OPERA, ...changes },
    { key: server.tenantToken },
  );

const accountsOf = ({ engine }: TestServer) => [...engine.state.catalog.accounts.values()];

test("a new organization has its own keys and an administrator", async () => {
  const server = new TestServer();
  const before = accountsOf(server).length;
  const reply = await create(server);
  expect([reply.status, reply.body]).toEqual([
    201,
    {
      id: expect.any(Number) as number,
      name: "Opera",
      publicKey: expect.stringMatching(UUID) as string,
      privateKey: expect.stringMatching(UUID) as string,
      domain: null,
      autologinEnabled: false,
      appendDomainToLogin: false,
      type: "DEFAULT",
      tenantId: server.a.caller.tenantId,
      secretKey: expect.stringMatching(/^fro_\d+_[\w-]{43}$/) as string,
    },
  ]);
  const { id, secretKey, privateKey, publicKey } = reply.body;
  expect(accountsOf(server).length).toBe(before + 1);
  const account = accountsOf(server).at(-1)!;
  expect(account).toMatchObject({ email: OPERA.email, organizationIds: [id], superAdminOf: null });
  expect(account.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect((await server.get(`${V2}/events/`, { key: secretKey })).status).toBe(200);
  for (const key of [privateKey, publicKey]) {
    expect((await server.get(`${V2}/events/`, { key })).status).toBe(403);
  }
  expect(JSON.stringify(server.journal.kept)).not.toContain(OPERA.password);
});

test("a new organization keeps its documented members, and others are ignored", async () => {
  const server = new TestServer();
  const given = {
    domain: "opera.example",
    autologinEnabled: true,
    appendDomainToLogin: true,
    type: "VENUE",
  };
  const ignored = {
    id: server.b.id,
    tenantId: server.c.caller.tenantId,
    publicKey: "00000000-0000-4000-8000-000000000001",
    privateKey: "00000000-0000-4000-8000-000000000002",
    keyVersion: 7,
    bookingEnabled: false,
  };
  const { status, body } = await create(server, { ...given, ...ignored });
  expect([status, body]).toMatchObject([201, given]);
  expect(body).toMatchObject({ tenantId: server.a.caller.tenantId });
  expect(body.id).not.toBe(ignored.id);
  expect(body.publicKey).not.toBe(ignored.publicKey);
  expect(body.privateKey).not.toBe(ignored.privateKey);
  const row = server.engine.state.catalog.organizations.get(body.id);
  expect(row).toMatchObject({ keyVersion: 1, bookingEnabled: true });
});

const INVALID: readonly (readonly [string, object, string])[] = [
  ["null for the email", { email: null }, "email NOT_NULL"],
  ["an email without @", { email: "ada.example" }, "email FORMAT"],
  ["no first name", { firstName: undefined }, "firstName NOT_NULL"],
  ["no password", { password: undefined }, "password NOT_NULL"],
  ["a password of 7 characters", { password: "hunter2" }, "password SIZE"],
  ["a password of 129 characters", { password: "x".repeat(129) }, "password SIZE"],
  ["an unknown type", { type: "CLUB" }, "type ENUM"],
];

test.each(INVALID)("a new organization is refused: %s", async (_, changes, error) => {
  const before = unchanged.digest;
  const reply = await create(unchanged, changes);
  expectProblem(reply, invalid(error));
  // A refused password appears neither in the answer nor in the log.
  expect(reply.text + unchanged.logged.join("")).not.toContain("hunter2");
  expect(unchanged.digest).toBe(before);
});

test("wrong fields and a weak password → one answer with all errors", async () => {
  const fields = { email: "ada.example", firstName: "", type: "CLUB", password: "hunter2" };
  const reply = await create(unchanged, fields);
  expectProblem(reply, invalid("type ENUM", "email FORMAT", "firstName SIZE", "password SIZE"));
  expect(reply.text).not.toContain("hunter2");
  const typed = await create(unchanged, { firstName: "", password: 7 });
  expectProblem(typed, invalid("firstName SIZE", "password TYPE"));
  const own = { email: accountsOf(unchanged).at(-1)!.email, firstName: "", password: "short" };
  expectProblem(await create(unchanged, own), invalid("firstName SIZE"));
  const { tenantToken: key } = unchanged;
  for (const body of [[], null, 7]) {
    expect((await unchanged.post(ORGANIZATIONS, body, { key })).status).toBe(400);
  }
});

test("a name that the tenant already has is refused before an account is created", async () => {
  const server = new TestServer();
  const before = server.digest;
  const reply = await create(server, { name: server.b.name });
  const errors = ["name DUPLICATE"];
  expectProblem(reply, { status: 409, errorCode: "DUPLICATE_NAME", errors });
  expect(server.digest).toBe(before);
  expect((await create(server, { name: server.c.name })).status).toBe(201);
});

test("an account of the tenant is reused and keeps its password", async () => {
  const server = new TestServer();
  const first = await create(server);
  const account = accountsOf(server).at(-1)!;
  const organizationIds = [first.body.id];
  for (const [i, password] of ["another secret", "short", "", null, undefined].entries()) {
    const again = { name: `Ballet ${i}`, email: "ADA@Opera.EXAMPLE", password };
    const { status, body } = await create(server, again);
    expect(status).toBe(201);
    organizationIds.push(body.id);
  }
  expect(accountsOf(server).at(-1)).toEqual({ ...account, organizationIds });
});

test("an account is found in any letter case and composition of its email", async () => {
  const server = new TestServer();
  await create(server, { email: "JOS\u00c9x@Opera.example" });
  const accounts = accountsOf(server).length;
  for (const email of [
    "jos\u00e9x@opera.EXAMPLE",
    "jose\u0301x@opera.example",
    "JOSE\u0301X@opera.example",
  ]) {
    expect((await create(server, { name: `for ${email}`, email })).status).toBe(201);
    const login = { username: email, password: OPERA.password };
    expect((await server.post("/api/auth/login", login)).status).toBe(200);
  }
  expect(accountsOf(server).length).toBe(accounts);
  expect(accountsOf(server).at(-1)!.organizationIds.length).toBe(4);
});

test.each([
  ["the super admin of the tenant", "admin@tenant.example"],
  ["the super admin of another tenant", "admin@other.example"],
  ["an administrator in another tenant", "charlie@house.example"],
])("the account of %s is not reused: 409, and nothing is created", async (_, email) => {
  const before = unchanged.digest;
  const reply = await create(unchanged, { email });
  const errors = ["email DUPLICATE"];
  expectProblem(reply, { status: 409, errorCode: "ACCOUNT_EMAIL_IN_USE", errors });
  expect(unchanged.digest).toBe(before);
});

test("of three requests for one name at the same time, only one succeeds", async () => {
  const server = new TestServer();
  const replies = await Promise.all([create(server), create(server), create(server)]);
  const statuses = replies.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201).length).toBe(1);
  expect(statuses.filter((status) => status === 409).length).toBe(2);
});

test("a creation whose token is revoked while it waits is refused", async () => {
  const server = new TestServer();
  const waiting = create(server);
  const key = server.tenantToken;
  expect((await server.post(`${MANAGEMENT}/keys/rotate`, {}, { key })).status).toBe(200);
  const before = server.digest;
  expectProblem(await waiting, DENIED);
  expect(server.digest).toBe(before);
  // In its grace time the old token is still valid.
  const other = new TestServer();
  const admitted = create(other);
  const rotated = { graceSeconds: 60 };
  await other.post(`${MANAGEMENT}/keys/rotate`, rotated, { key: other.tenantToken });
  expect((await admitted).status).toBe(201);
});

test("a creation does not wait for logins, and a creation too many is refused", async () => {
  const server = new TestServer();
  const { checks, hashes } = server.services.passwords;
  let end = () => {};
  const busy = new Promise<void>((resolve) => (end = resolve));
  for (let i = 0; i < 100; i++) void checks.run(() => busy);
  expect((await create(server)).status).toBe(201);
  const all: Promise<unknown>[] = [];
  while (hashes.count < 20) all.push(hashes.run(() => busy));
  const changes = { name: "Second", email: "second@opera.example" };
  const refused = await create(server, changes);
  expectProblem(refused, { status: 429, errorCode: "RATE_LIMITED" });
  expect(refused.headers["Retry-After"]).toBe("1");
  // An account that exists needs no hash.
  expect((await create(server, { name: "Third" })).status).toBe(201);
  end();
  await Promise.all(all);
  expect((await create(server, changes)).status).toBe(201);
});

test("an organization is read without its secret key", async () => {
  const server = new TestServer();
  const { secretKey, ...rest } = (await create(server)).body;
  const read = await server.get(ORGANIZATIONS + rest.id, { key: server.tenantToken });
  expect([read.status, read.body]).toEqual([200, rest]);
  expect(read.text).not.toContain(secretKey);
});

test("the list shows the organizations of the tenant, without their secret keys", async () => {
  const list = async (query: string, key = unchanged.tenantToken) => {
    const target = ORGANIZATIONS + query;
    const reply = await unchanged.get<PageBody<OrganizationBody>>(target, { key });
    return { reply, names: reply.body.content.map(({ name }) => name) };
  };
  const all = await list("");
  expectPage(all.reply, { total: 2, count: 2 });
  expect(all.reply.text).not.toMatch(/secretKey|fro_/);
  expect(all.names).toEqual(["Organization", "Bravo"]);
  expect((await list("?sort=name")).names).toEqual(["Bravo", "Organization"]);
  expect((await list("?sort=type&sort=name,desc&size=1")).names).toEqual(["Organization"]);
  expect((await list("", unchanged.otherTenantToken)).names).toEqual(["Charlie"]);
});

test("a change of settings answers with all settings", async () => {
  const server = new TestServer();
  const path = `${ORGANIZATIONS}${server.a.id}/settings`;
  const put = (body: unknown) => server.put(path, body, { key: server.tenantToken });
  const start = {
    salesControl: true,
    bookingEnabled: true,
    orphanPrevention: false,
    orphanMode: "off",
    orphanUntilSold: null,
    protectSales: false,
  };
  expect((await put({})).body).toEqual(start);
  expect((await put({ salesControl: false })).body).toEqual({ ...start, salesControl: false });
  const strict = { orphanPrevention: true, orphanMode: "strict" };
  const off = { ...start, salesControl: false, bookingEnabled: false, ...strict };
  const reply = await put({ bookingEnabled: false, orphanPrevention: true });
  expect([reply.status, reply.body]).toEqual([200, off]);
  expectProblem(await put([]), invalid(" TYPE"));
  expectProblem(await put({ salesControl: "no" }), invalid("salesControl TYPE"));
  expect((await put({ bookingEnabled: null })).body).toEqual(off);
  expectProblem(await put({ orphanPrevention: 1 }), invalid("orphanPrevention TYPE"));
  expectProblem(await put({ orphanMode: "loose" }), invalid("orphanMode ENUM"));
  for (const percent of [0, 101]) {
    expectProblem(await put({ orphanUntilSold: percent }), invalid("orphanUntilSold RANGE"));
  }
  const contradiction = { orphanPrevention: false, orphanMode: "lenient" };
  expectProblem(await put(contradiction), invalid("orphanMode CONFLICT"));
  const lenient = { orphanMode: "lenient", orphanUntilSold: 90 };
  expect((await put(lenient)).body).toEqual({ ...off, ...lenient });
  expect((await put({ orphanUntilSold: null })).body).toEqual({ ...off, orphanMode: "lenient" });
});

test("an event has rules of its own, which are read with those that count", async () => {
  const server = new TestServer();
  const { a, b, engine } = server;
  const path = ({ eventId }: House) => `${V2}/events/${eventId}/rules`;
  const none = { orphanUntilSold: null, heldPerSession: null, heldPerEvent: null };
  const nothing = { orphanMode: null, ...none };
  const start = { ...nothing, effective: { orphanMode: "off", ...none } };
  expect((await server.get(path(a))).body).toEqual(start);
  server.world.change({ orphanPrevention: true, orphanUntilSold: 80, heldPerEvent: 9 });
  const before = engine.state.sequenceOf(server.world.event);
  const reply = await server.put(path(a), { heldPerSession: 4, heldPerEvent: 0 });
  const shown = {
    ...nothing,
    heldPerSession: 4,
    heldPerEvent: 0,
    effective: { orphanMode: "strict", orphanUntilSold: 80, heldPerSession: 4, heldPerEvent: null },
  };
  expect([reply.status, reply.body]).toEqual([200, shown]);
  expect((await server.get(path(a))).body).toEqual(shown);
  expect(engine.state.sequenceOf(server.world.event)).toBe(before);
  const odd = { orphanMode: "none", orphanUntilSold: 0, heldPerSession: -1, heldPerEvent: 1.5 };
  const errors = [
    "orphanMode ENUM",
    "orphanUntilSold RANGE",
    "heldPerSession RANGE",
    "heldPerEvent TYPE",
  ];
  const refused = await server.put<{ errors: { field: string; code: string }[] }>(path(a), odd);
  const found = refused.body.errors.map(({ field, code }) => `${field} ${code}`);
  expect(found.toSorted()).toEqual(errors.toSorted());
  for (const send of [(at: string) => server.get(at), (at: string) => server.put(at, {})]) {
    expectProblem(await send(path(b)), DENIED);
    expectProblem(await send(path({ ...a, eventId: NOWHERE })), NOT_FOUND);
  }
  expect((await server.put(path(a), {})).body).toMatchObject(nothing);
});

test("hold types belong to one organization, and are replaced as a whole", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const put = (house: House, body: unknown) =>
    server.put(HOLD_TYPES, body, actingFor(server.tenantToken, house));
  const types = [
    { name: "VIP", ttlSeconds: 60 },
    { name: "HOUSE", ttlSeconds: null },
  ];
  const reply = await put(a, types);
  const shown = types.map((type) => ({ ...type, maxSeconds: type.ttlSeconds }));
  expect([reply.status, reply.body]).toEqual([200, shown]);
  const lock = (house: House, holdType: string, label: string) => {
    const body = { seats: [{ id: house.labels.idOf(label) }], holdType };
    return server.post(server.bookingPath("lock", house.eventId), body, house);
  };
  expect((await lock(a, "VIP", "A1")).text).toBe("true");
  expectProblem(await lock(b, "VIP", "A1"), invalid("holdType UNKNOWN"));
  server.world.clock.timeMs += 60_000;
  expect((await lock(a, "CART", "A1")).text).toBe("true");
  expect((await put(a, [])).body).toEqual([]);
  expectProblem(await lock(a, "VIP", "A2"), invalid("holdType UNKNOWN"));
});

const BAD_HOLD_TYPES: readonly (readonly [string, unknown, string])[] = [
  ["an empty type", [{}], "[0].name NOT_NULL"],
  ["a name of 65 characters", [{ name: "x".repeat(65) }], "[0].name SIZE"],
  ["a time of 0", [{ name: "x", ttlSeconds: 0 }], "[0].ttlSeconds RANGE"],
  ["a time of eleven years", [{ name: "x", ttlSeconds: 346_896_000 }], "[0].ttlSeconds RANGE"],
  [
    "less time with extensions than without",
    [{ name: "x", ttlSeconds: 60, maxSeconds: 59 }],
    "[0].maxSeconds RANGE",
  ],
  ["extensions of what does not end", [{ name: "x", maxSeconds: 59 }], "[0].maxSeconds NULL"],
  ["a name twice", [{ name: "x" }, { name: "x" }], "[1].name DUPLICATE"],
  ["101 types", Array.from({ length: 101 }, (_, i) => ({ name: `t${i}` })), " SIZE"],
];

test.each(BAD_HOLD_TYPES)("hold types are refused: %s", async (_, body, error) => {
  const before = unchanged.digest;
  const by = actingFor(unchanged.tenantToken, unchanged.a);
  expectProblem(await unchanged.put(HOLD_TYPES, body, by), invalid(error));
  expect(unchanged.digest).toBe(before);
});

test("hold types are read with the built-in ones, which the organization may replace", async () => {
  const server = new TestServer();
  const by = actingFor(server.tenantToken, server.a);
  const reserved = { name: "RESERVED", ttlSeconds: null, maxSeconds: null };
  expect((await server.get(HOLD_TYPES, by)).body).toEqual([
    { name: "CART", ttlSeconds: 900, maxSeconds: 900 },
    reserved,
  ]);
  const own = [
    { name: "CART", ttlSeconds: 60, maxSeconds: 60 },
    { name: "VIP", ttlSeconds: 5, maxSeconds: 300 },
  ];
  await server.put(HOLD_TYPES, own, by);
  expect((await server.get(HOLD_TYPES, by)).body).toEqual([reserved, ...own]);
  expect((await server.get(HOLD_TYPES, actingFor(server.tenantToken, server.b))).body).toHaveLength(
    2,
  );
});

test("settings and the session configuration are read as they were written", async () => {
  const server = new TestServer();
  const { tenantToken: key, a, c } = server;
  const settings = (id: number | string) => `${ORGANIZATIONS}${id}/settings`;
  const off = { salesControl: false, bookingEnabled: false, orphanPrevention: true };
  await server.put(settings(a.id), off, { key });
  expect(await server.get(settings(a.id), { key })).toMatchObject({ status: 200, body: off });
  expectProblem(await server.get(settings(c.id), { key }), DENIED);
  expectProblem(await server.get(settings(NO_ID), { key }), NOT_FOUND);
  expectProblem(await server.get(settings("x"), { key }), invalid("id TYPE"));
  const sessions = `${MANAGEMENT}/session-config/`;
  const by = actingFor(key, a);
  expect((await server.get(sessions, by)).body).toEqual({ publicSessionsEnabled: false });
  await server.put(sessions, { publicSessionsEnabled: true }, by);
  expect((await server.get(sessions, by)).body).toEqual({ publicSessionsEnabled: true });
  const word = { key, headers: { "x-organization-id": "word" } };
  for (const path of [sessions, HOLD_TYPES]) {
    expectProblem(await server.get(path, word), invalid("X-Organization-ID TYPE"));
    expectProblem(await server.get(path, { key }), DENIED);
  }
});
const SESSIONS = `${MANAGEMENT}/session-config/`;
const EVENTS = `${V2}/events/`;
const { a: own, b: sister, c: ofOtherTenant, tenantToken: token } = unchanged;
const TENANT = { key: token };

test(`PUT ${MANAGEMENT}/organizations/ changes everything except keys and tenant`, async () => {
  const server = new TestServer();
  const { id, eventId } = server.a;
  const by = { key: server.tenantToken };
  const before = (await server.get<object>(`${ORGANIZATIONS}${id}`, by)).body;
  const changes = { name: "New", domain: "new.example", autologinEnabled: true, type: "VENUE" };
  const ignored = { publicKey: eventId, privateKey: eventId, tenantId: 99, secretKey: "x" };
  const reply = await server.put(ORGANIZATIONS, { id, ...changes, ...ignored }, by);
  expect([reply.status, reply.body]).toEqual([200, { ...before, ...changes }]);
  expect((await server.get(EVENTS)).status).toBe(200);
});

const DUPLICATE = { status: 409, errorCode: "DUPLICATE_NAME", errors: ["name DUPLICATE"] };
const REFUSED: readonly (readonly [string, object, ExpectedProblem, CallOptions])[] = [
  ["no id", { name: "New" }, invalid("id NOT_NULL"), TENANT],
  ["no name", { id: own.id }, invalid("name NOT_NULL"), TENANT],
  ["an unknown type", { id: own.id, name: "New", type: "CIRCUS" }, invalid("type ENUM"), TENANT],
  ["an unknown organization", { id: NO_ID, name: "New" }, NOT_FOUND, TENANT],
  ["an organization of another tenant", { id: ofOtherTenant.id, name: "New" }, DENIED, TENANT],
  ["the name of another organization", { id: own.id, name: sister.name }, DUPLICATE, TENANT],
  ["the key of the organization", { id: own.id, name: "New" }, DENIED, own],
];

test.each(REFUSED)("PUT /api/private/management/v2.0/organizations/ refuses %s", async (...row) => {
  const [, body, expected, by] = row;
  const before = unchanged.digest;
  expectProblem(await unchanged.put(ORGANIZATIONS, body, by), expected);
  expect(unchanged.digest).toBe(before);
});

test(`DELETE ${MANAGEMENT}/organizations/{id} ends its keys and all that it owns`, async () => {
  const server = new TestServer();
  const by = { key: server.tenantToken };
  const path = `${ORGANIZATIONS}${server.a.id}`;
  expect((await server.get(EVENTS)).status).toBe(200);
  const reply = await server.delete(path, by);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.get(path, by), NOT_FOUND);
  expectProblem(await server.get(EVENTS), DENIED);
  expectProblem(await server.get(EVENTS, actingFor(server.tenantToken, server.a)), DENIED);
  expect((await server.seats(server.b)).length).toBe(server.b.labels.seats.length);
});

test(`DELETE ${MANAGEMENT}/organizations/{id} is 409 while seats are held`, async () => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  const before = server.digest;
  const reply = await server.delete(`${ORGANIZATIONS}${server.a.id}`, { key: server.tenantToken });
  expectProblem(reply, { status: 409, errorCode: "ENTITY_IN_USE" });
  expect(server.digest).toBe(before);
});

test(`PUT ${MANAGEMENT}/session-config/ switches public sessions on and off`, async () => {
  const server = new TestServer();
  const by = actingFor(server.tenantToken, server.a);
  const { organizations } = server.engine.state.catalog;
  for (const publicSessionsEnabled of [true, false]) {
    const body = { publicSessionsEnabled };
    const reply = await server.put(SESSIONS, body, by);
    expect([reply.status, reply.body]).toEqual([200, body]);
    expect(organizations.get(server.a.id)).toMatchObject(body);
  }
});

const ON = { publicSessionsEnabled: true };
const OWN = actingFor(token, own);
const SESSIONS_REFUSED: readonly (readonly [string, object, ExpectedProblem, CallOptions])[] = [
  ["no value", {}, invalid("publicSessionsEnabled NOT_NULL"), OWN],
  ["a number", { publicSessionsEnabled: 1 }, invalid("publicSessionsEnabled TYPE"), OWN],
  ["a token that names no organization", ON, DENIED, TENANT],
  [
    "a token that names an organization of another tenant",
    ON,
    DENIED,
    actingFor(token, ofOtherTenant),
  ],
  ["the key of the organization", ON, DENIED, own],
];

test.each(SESSIONS_REFUSED)(`PUT ${MANAGEMENT}/session-config/ refuses %s`, async (...row) => {
  const [, body, expected, by] = row;
  expectProblem(await unchanged.put(SESSIONS, body, by), expected);
});

const TENANTS = "/api/admin/tenants/";
const TOKEN = "platform-token-of-the-tests";
const OPERATOR = { key: TOKEN };
const ADMIN = { name: "Second", adminEmail: "ada@second.example", adminPassword: "correct horse" };

interface TenantBody {
  readonly id: number;
  readonly name: string;
  readonly tenantToken: string;
}

const platformServer = () => new TestServer({ platformToken: TOKEN });

test("POST /api/admin/tenants/ creates a tenant whose token and super admin work", async () => {
  const server = platformServer();
  const reply = await server.post<TenantBody>(TENANTS, ADMIN, OPERATOR);
  const { id, tenantToken } = reply.body;
  expect([reply.status, reply.body]).toEqual([201, { id, name: "Second", tenantToken }]);
  const list = await server.get<PageBody<object>>(`${MANAGEMENT}/organizations/`, {
    key: tenantToken,
  });
  expectPage(list, { total: 0, count: 0 });
  const body = { username: "ADA@second.example", password: "correct horse" };
  const login = await server.post<TenantBody>("/api/auth/login", body, {});
  expect([login.status, login.body.tenantToken]).toEqual([200, tenantToken]);
  expect(login.body).toMatchObject({ user: { name: "" } });
});

test("a retry gets the same tenant token, which is not stored in clear", async () => {
  const server = platformServer();
  const by = { ...OPERATOR, headers: { "idempotency-key": "k" } };
  const first = await server.post<TenantBody>(TENANTS, ADMIN, by);
  expect((await server.post(TENANTS, ADMIN, by)).text).toBe(first.text);
  const kept = JSON.stringify(server.journal.kept.map(({ record }) => record));
  expect(kept).not.toContain(first.body.tenantToken);
});

const TAKEN = { status: 409, errorCode: "ACCOUNT_EMAIL_IN_USE" };
const WRONG: readonly (readonly [object, ExpectedProblem])[] = [
  [{ name: "" }, invalid("name SIZE")],
  [{ adminEmail: "ada" }, invalid("adminEmail FORMAT")],
  [{ adminPassword: "short" }, invalid("adminPassword SIZE")],
  [{ adminEmail: undefined }, invalid("adminEmail NOT_NULL")],
  [{ adminEmail: "Admin@tenant.example" }, TAKEN],
];

test.each(WRONG)("POST /api/admin/tenants/ with %j is refused", async (changes, expected) => {
  const server = platformServer();
  const before = server.digest;
  expectProblem(await server.post(TENANTS, { ...ADMIN, ...changes }, OPERATOR), expected);
  expect(server.digest).toBe(before);
});

test("GET /api/admin/tenants/ lists the tenants without their tokens", async () => {
  const server = platformServer();
  const { id } = (await server.post<TenantBody>(TENANTS, ADMIN, OPERATOR)).body;
  const read = (query: string) => server.get<PageBody<TenantBody>>(`${TENANTS}${query}`, OPERATOR);
  const all = await read("");
  expectPage(all, { total: 3, count: 3 });
  expect(all.body.content.map(({ name }) => name)).toEqual(["Tenant", "Other", "Second"]);
  expect((await read("?sort=name,desc&size=1&page=1")).body.content).toEqual([
    { id, name: "Second" },
  ]);
  expectProblem(await read("?sort=tenantToken"), invalid("sort UNKNOWN"));
});

test("/api/admin/tenants/ takes only the platform token, which opens nothing else", async () => {
  const server = platformServer();
  const { a, tenantToken } = server;
  const strangers = [{}, { key: "x" }, a, { key: tenantToken }, actingFor(tenantToken, a)];
  for (const stranger of strangers) {
    expectProblem(await server.get(TENANTS, stranger), DENIED);
    expectProblem(await server.post(TENANTS, ADMIN, stranger), DENIED);
  }
  for (const path of [`${MANAGEMENT}/organizations/`, `${V2}/events/`]) {
    expectProblem(await server.get(path, OPERATOR), DENIED);
    expectProblem(await server.get(path, actingFor(TOKEN, a)), DENIED);
  }
});

test("/api/admin/tenants/ does not exist on a server without a platform token", async () => {
  const server = new TestServer();
  for (const method of ["GET", "POST", "DELETE"]) {
    const reply = await server.call(method, TENANTS, { key: TOKEN, body: ADMIN });
    expectProblem(reply, NOT_FOUND);
  }
});
