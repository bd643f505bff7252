/** The management rows of the interface: organizations, their settings, their hold types. */
import { expect, test } from "vitest";
import {
  actingFor,
  type House,
  MANAGEMENT,
  type PageBody,
  TestServer,
  V2,
} from "../../../support/server.ts";
import { expectPage, expectProblem, UUID } from "../../wire/wire.ts";

const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;
const HOLD_TYPES = `${MANAGEMENT}/hold-types/`;

interface OrganizationBody {
  readonly id: number;
  readonly name: string;
  readonly secretKey: string;
  readonly publicKey: string;
  readonly privateKey: string;
}

/** For what is refused: it never changes. */
const unchanged = new TestServer();

const USER = {
  name: "Opera",
  email: "ada@opera.example",
  firstName: "Ada",
  lastName: "Byron",
  password: "correct horse",
};

function post(server: TestServer, changes: object = {}, key = server.tenantToken) {
  const body = { ...USER, ...changes };
  return server.call<OrganizationBody>("POST", ORGANIZATIONS, { key, body });
}

test("an organization is created with keys of its own and its administrator", async () => {
  const server = new TestServer();
  const before = server.engine.state.catalog.accounts.size;
  const reply = await post(server);
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
  const { accounts } = server.engine.state.catalog;
  expect(accounts.size).toBe(before + 1);
  const account = [...accounts.values()].at(-1)!;
  expect(account).toMatchObject({ email: USER.email, organizationIds: [id], superAdminOf: null });
  expect(account.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  const reachable = await server.call("GET", `${V2}/events/`, { key: secretKey });
  expect(reachable.status).toBe(200);
  for (const key of [privateKey, publicKey]) {
    expect((await server.call("GET", `${V2}/events/`, { key })).status).toBe(403);
  }
  expect(JSON.stringify(server.journal.kept)).not.toContain(USER.password);
});

test("what an organization may say of itself is kept, what it may not is ignored", async () => {
  const server = new TestServer();
  const given = {
    domain: "opera.example",
    autologinEnabled: true,
    appendDomainToLogin: true,
    type: "VENUE",
  };
  const forged = {
    id: server.b.id,
    tenantId: server.c.caller.tenantId,
    publicKey: "00000000-0000-4000-8000-000000000001",
    privateKey: "00000000-0000-4000-8000-000000000002",
    keyVersion: 7,
    bookingEnabled: false,
  };
  const { status, body } = await post(server, { ...given, ...forged });
  expect([status, body]).toMatchObject([201, given]);
  expect(body).toMatchObject({ tenantId: server.a.caller.tenantId });
  expect(body.id).not.toBe(forged.id);
  expect([body.publicKey, body.privateKey]).not.toContain(forged.publicKey);
  const row = server.engine.state.catalog.organizations.get(body.id);
  expect(row).toMatchObject({ keyVersion: 1, bookingEnabled: true });
});

const INVALID: readonly (readonly [string, object, string])[] = [
  ["no name", { name: undefined }, "name NOT_NULL"],
  ["an empty name", { name: "" }, "name SIZE"],
  ["a name of 256", { name: "x".repeat(256) }, "name SIZE"],
  ["no email", { email: null }, "email NOT_NULL"],
  ["an email without @", { email: "ada.example" }, "email FORMAT"],
  ["an email of two lines", { email: "a@b\r\nX: y" }, "email FORMAT"],
  ["no first name", { firstName: undefined }, "firstName NOT_NULL"],
  ["no last name", { lastName: "" }, "lastName SIZE"],
  ["no password", { password: undefined }, "password NOT_NULL"],
  ["a password of 7", { password: "short77" }, "password SIZE"],
  ["a password of 129", { password: "x".repeat(129) }, "password SIZE"],
  ["an unknown type", { type: "CLUB" }, "type ENUM"],
  ["a switch as text", { autologinEnabled: "yes" }, "autologinEnabled TYPE"],
  ["a domain as a number", { domain: 7 }, "domain TYPE"],
];

test.each(INVALID)("an organization with %s is refused", async (_, changes, error) => {
  const before = unchanged.digest;
  const key = unchanged.tenantToken;
  const body = { ...USER, ...changes };
  const reply = await unchanged.call("POST", ORGANIZATIONS, { key, body });
  const expected = { status: 400, errorCode: "VALIDATION_FAILED", path: ORGANIZATIONS };
  expectProblem(reply, { ...expected, errors: [error] });
  expect(unchanged.digest).toBe(before);
});

test("a password is never shown in what was wrong with it", async () => {
  const reply = await unchanged.call("POST", ORGANIZATIONS, {
    key: unchanged.tenantToken,
    body: { ...USER, password: "hunter2" },
  });
  expect(reply.body.errors[0]?.rejectedValue).toBeNull();
  expect(reply.text).not.toContain("hunter2");
  expect(unchanged.logged.join("")).not.toContain("hunter2");
});

test("a name that the tenant has already is refused before any account is made", async () => {
  const server = new TestServer();
  const before = server.digest;
  const { status, body } = await server.call("POST", ORGANIZATIONS, {
    key: server.tenantToken,
    body: { ...USER, name: server.b.name },
  });
  expect([status, body.errorCode, body.errors[0]?.field]).toEqual([409, "DUPLICATE_NAME", "name"]);
  expect(server.digest).toBe(before);
  expect((await post(server, { name: server.c.name })).status).toBe(201);
});

test("an account of the tenant's is used again and keeps its password", async () => {
  const server = new TestServer();
  const first = await post(server);
  const account = [...server.engine.state.catalog.accounts.values()].at(-1)!;
  const again = { name: "Ballet", email: "ADA@Opera.EXAMPLE", password: "another secret" };
  const second = await post(server, again);
  expect(second.status).toBe(201);
  const { accounts } = server.engine.state.catalog;
  expect(accounts.get(account.id)).toEqual({
    ...account,
    organizationIds: [first.body.id, second.body.id],
  });
});

test("any other account is not touched: 409, and nothing is created", async () => {
  const server = new TestServer();
  await post(server);
  const taken: [string, string][] = [
    ["the super admin's", "admin@tenant.example"],
    ["another tenant's super admin's", "admin@other.example"],
    ["another tenant's", "charlie@house.example"],
  ];
  const before = server.digest;
  for (const [whose, email] of taken) {
    const body = { ...USER, name: "New", email };
    const reply = await server.call("POST", ORGANIZATIONS, { key: server.tenantToken, body });
    const found = [whose, reply.status, reply.body.errorCode, reply.body.errors[0]?.field];
    expect(found).toEqual([whose, 409, "ACCOUNT_EMAIL_IN_USE", "email"]);
  }
  expect(server.digest).toBe(before);
});

test("a letter that only looks like another never reaches another's account", async () => {
  const server = new TestServer();
  const { body: first } = await post(server, { email: "kim@x.example" });
  const account = [...server.engine.state.catalog.accounts.values()].at(-1)!;
  for (const email of ["\u212Aim@x.example", "k\u0131m@x.example", "k\u0130m@x.example"]) {
    await post(server, { name: `for ${email}`, email });
  }
  const { organizationIds } = server.engine.state.catalog.accounts.get(account.id)!;
  expect(organizationIds).toEqual([first.id]);
});

test("two requests for one name at the same time make one organization", async () => {
  const server = new TestServer();
  const replies = await Promise.all([post(server), post(server), post(server)]);
  const statuses = replies.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201).length).toBe(1);
  expect(statuses.filter((status) => status === 409).length).toBe(2);
});

test("an organization is read by its own tenant alone, without its secret key", async () => {
  const server = new TestServer();
  const { body: made } = await post(server);
  const { secretKey, ...rest } = made;
  const read = await server.call("GET", ORGANIZATIONS + made.id, { key: server.tenantToken });
  expect([read.status, read.body]).toEqual([200, rest]);
  expect(read.text).not.toContain(secretKey);
  const cases: [string | number, number, string, string[]][] = [
    [999_999, 404, "ENTITY_NOT_FOUND", []],
    [server.a.venueId, 404, "ENTITY_NOT_FOUND", []],
    [server.c.id, 403, "ACCESS_DENIED", []],
    ["0", 400, "VALIDATION_FAILED", ["id RANGE"]],
    ["x", 400, "VALIDATION_FAILED", ["id TYPE"]],
  ];
  for (const [id, status, errorCode, errors] of cases) {
    const key = server.tenantToken;
    const path = ORGANIZATIONS + id;
    expectProblem(await server.call("GET", path, { key }), { status, errorCode, path, errors });
    const settings = `${path}/settings`;
    const changed = await server.call("PUT", settings, { key, body: {} });
    expectProblem(changed, { status, errorCode, path: settings, errors });
  }
});

test("the list gives pages of the tenant's own organizations", async () => {
  const server = new TestServer();
  const list = async (query: string, key = server.tenantToken) => {
    const target = ORGANIZATIONS + query;
    const reply = await server.call<PageBody<OrganizationBody>>("GET", target, { key });
    return { reply, names: reply.body.content.map(({ name }) => name) };
  };
  const all = await list("");
  expectPage(all.reply, { total: 2, count: 2 });
  expect(all.reply.text).not.toMatch(/secretKey|fro_/);
  expect(all.names).toEqual(["Organization", "Bravo"]);
  expect((await list("?sort=name")).names).toEqual(["Bravo", "Organization"]);
  expect((await list("?sort=type&sort=name,desc&size=1")).names).toEqual(["Organization"]);
  expect((await list("?page=5")).names).toEqual([]);
  expect((await list("", server.otherTenantToken)).names).toEqual(["Charlie"]);
  for (const query of ["size=0", "size=101", "size=abc", "page=-1", "sort=privateKey"]) {
    const key = server.tenantToken;
    const refused = await server.call("GET", `${ORGANIZATIONS}?${query}`, { key });
    expect([query, refused.status]).toEqual([query, 400]);
  }
});

test("settings are switched one by one and answer whole", async () => {
  const server = new TestServer();
  const put = (body: unknown) =>
    server.call("PUT", `${ORGANIZATIONS}${server.a.id}/settings`, {
      key: server.tenantToken,
      body,
    });
  const start = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
  expect((await put({})).body).toEqual(start);
  expect((await put({ salesControl: false })).body).toEqual({ ...start, salesControl: false });
  const off = { salesControl: false, bookingEnabled: false, orphanPrevention: true };
  const reply = await put({ bookingEnabled: false, orphanPrevention: true });
  expect([reply.status, reply.body]).toEqual([200, off]);
  for (const [body, error] of [
    [[], " TYPE"],
    [{ salesControl: "no" }, "salesControl TYPE"],
    [{ bookingEnabled: null }, "bookingEnabled NOT_NULL"],
    [{ orphanPrevention: 1 }, "orphanPrevention TYPE"],
  ] as const) {
    const refused = await put(body);
    const path = `${ORGANIZATIONS}${server.a.id}/settings`;
    const errors = [error];
    expectProblem(refused, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  }
});

test("hold types are the organization's own and are replaced whole", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const put = (house: House, body: unknown) =>
    server.call("PUT", HOLD_TYPES, { ...actingFor(server.tenantToken, house), body });
  const vip = [
    { name: "VIP", ttlSeconds: 60 },
    { name: "HOUSE", ttlSeconds: null },
  ];
  const reply = await put(a, vip);
  expect([reply.status, reply.body]).toEqual([200, vip]);
  const lock = (house: House, holdType: string, seat: string) =>
    server.call("POST", `${V2}/booking/lock?eventId=${house.eventId}`, {
      key: house.key,
      body: { seats: [{ id: house.labels.idOf(seat) }], holdType },
    });
  expect((await lock(a, "VIP", "A1")).text).toBe("true");
  expect((await lock(b, "VIP", "A1")).status).toBe(400);
  server.world.clock.timeMs += 60_000;
  expect((await lock(a, "CART", "A1")).text).toBe("true");
  expect((await put(a, [])).body).toEqual([]);
  expect((await lock(a, "VIP", "A2")).status).toBe(400);
});

const BAD_HOLD_TYPES: readonly (readonly [string, unknown, string])[] = [
  ["an object", {}, " TYPE"],
  ["nothing of a type", [{}], "[0].name NOT_NULL"],
  ["an empty name", [{ name: "", ttlSeconds: 1 }], "[0].name SIZE"],
  ["a name of 65", [{ name: "x".repeat(65) }], "[0].name SIZE"],
  ["no time at all", [{ name: "x", ttlSeconds: 0 }], "[0].ttlSeconds RANGE"],
  ["half a second", [{ name: "x", ttlSeconds: 0.5 }], "[0].ttlSeconds TYPE"],
  ["a time as text", [{ name: "x", ttlSeconds: "60" }], "[0].ttlSeconds TYPE"],
  ["eleven years", [{ name: "x", ttlSeconds: 346_896_000 }], "[0].ttlSeconds RANGE"],
  ["a name twice", [{ name: "x" }, { name: "x" }], "[1].name DUPLICATE"],
  ["101 types", Array.from({ length: 101 }, (_, i) => ({ name: `t${i}` })), " SIZE"],
];

test.each(BAD_HOLD_TYPES)("hold types with %s are refused", async (_, body, error) => {
  const before = unchanged.digest;
  const options = { ...actingFor(unchanged.tenantToken, unchanged.a), body };
  const reply = await unchanged.call("PUT", HOLD_TYPES, options);
  const expected = { status: 400, errorCode: "VALIDATION_FAILED", path: HOLD_TYPES };
  expectProblem(reply, { ...expected, errors: [error] });
  expect(unchanged.digest).toBe(before);
});
