/** Login of people: tokens, their time, their end, and the shape of its errors. */
import { beforeAll, expect, test } from "vitest";
import { ActorKind } from "../../../engine/records.ts";
import { Passwords } from "../../../server/auth/passwords.ts";
import { type House, MANAGEMENT, type Reply, TestServer, V2 } from "../../support/server.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PASSWORD = "correct horse";
const ADMIN = "root@tenant.example";
const CLERK = "clerk@house.example";

interface Login {
  readonly success: boolean;
  readonly token: string;
  readonly refreshToken: string;
  readonly user: { readonly id: number; readonly email: string; readonly name: string };
  readonly organizations: readonly { readonly id: number; readonly secretKey: string }[];
  readonly tenantToken?: string;
}

let passwordHash = "";
beforeAll(async () => {
  passwordHash = await new Passwords().hash(PASSWORD);
});

/** A server with a third tenant, whose super admin and whose clerk can log in. */
class Office extends TestServer {
  readonly #tenantId: number;
  readonly house: House;
  readonly second: House;

  constructor() {
    super();
    const { world } = this;
    const nobody = { actor: { kind: ActorKind.SYSTEM, id: 0 }, tenantId: 0, organizationId: 0 };
    const person = { firstName: "Ada", lastName: "Byron", passwordHash };
    const { id } = world.must("createTenant", nobody, {
      name: "Office",
      tokenSha256: null,
      administrator: { ...person, email: ADMIN },
    });
    this.#tenantId = id;
    const caller = { actor: { kind: ActorKind.TENANT, id }, tenantId: id, organizationId: 0 };
    world.must("createOrganization", caller, {
      body: { name: "Opera" },
      administrator: { ...person, email: CLERK },
      publicKey: "00000000-0000-4000-8000-000000000003",
      privateKey: "00000000-0000-4000-8000-000000000004",
    });
    this.house = this.createHouse(caller, "Delta");
    this.second = this.createHouse(caller, "Echo");
  }

  get token(): string {
    const { keys, engine } = this.services;
    return keys.tenantToken(engine.state.catalog.tenants.get(this.#tenantId)!)!;
  }

  auth<Body = Failure>(call: string, body: unknown): Promise<Reply<Body>> {
    return this.call<Body>("POST", `/api/auth/${call}`, { body });
  }

  async logIn(username: string, password = PASSWORD): Promise<Login> {
    const reply = await this.auth<Login>("login", { username, password });
    expect(reply.status).toBe(200);
    return reply.body;
  }

  user(token: string): Promise<Reply<Login["user"] & { organizationId: number | null }>> {
    return this.call("GET", "/api/auth/user/", { headers: { authorization: `Bearer ${token}` } });
  }
}

interface Failure {
  readonly success: boolean;
  readonly error: string;
}

function expectFailure(reply: Reply<unknown>, status: number): void {
  expect(reply.status).toBe(status);
  expect(reply.type).toBe("application/json; charset=utf-8");
  expect(reply.body).toEqual({ success: false, error: expect.stringMatching(/\w/) as string });
}

test("a clerk's login gives tokens and its organizations' keys, no tenant token", async () => {
  const office = new Office();
  const login = await office.logIn(CLERK);
  const [organization] = login.organizations;
  expect(login).toEqual({
    success: true,
    token: expect.stringMatching(/^[\w-]{43}$/) as string,
    refreshToken: expect.stringMatching(/^[\w-]{43}$/) as string,
    user: {
      id: expect.any(Number) as number,
      email: CLERK,
      name: "Ada Byron",
      organizationId: organization!.id,
    },
    organizations: [
      {
        id: expect.any(Number) as number,
        name: "Opera",
        secretKey: expect.stringMatching(/^fro_/) as string,
      },
    ],
  });
  expect(login.token).not.toBe(login.refreshToken);
  const events = await office.call("GET", `${V2}/events/`, { key: organization!.secretKey });
  expect(events.status).toBe(200);
});

test("a super admin's login has all of the tenant's organizations and its token", async () => {
  const office = new Office();
  const login = await office.logIn(ADMIN);
  expect(login.organizations.length).toBe(3);
  expect(login.tenantToken).toBe(office.token);
  const { secretKey } = login.organizations.find(({ id }) => id === office.house.id)!;
  expect(secretKey).toBe(office.house.key);
  const list = await office.call("GET", `${MANAGEMENT}/organizations/`, { key: office.token });
  expect(list.status).toBe(200);
});

test("the case of letters does not matter in the address, but in the password", async () => {
  const office = new Office();
  expect((await office.logIn("CLERK@House.Example")).user.email).toBe(CLERK);
  const wrong = { username: CLERK, password: PASSWORD.toUpperCase() };
  expectFailure(await office.auth("login", wrong), 401);
});

test("a wrong password and an unknown account answer in the same words", async () => {
  const office = new Office();
  const wrong = await office.auth("login", { username: CLERK, password: "wrong" });
  const unknown = await office.auth("login", { username: "x@y.example", password: PASSWORD });
  expectFailure(wrong, 401);
  expectFailure(unknown, 401);
  expect(unknown.text).toBe(wrong.text);
});

test("no token or password is in the log or in the records", async () => {
  const office = new Office();
  const { token, refreshToken } = await office.logIn(CLERK);
  await office.auth("refresh", { refreshToken });
  const everything = JSON.stringify(office.journal.kept) + office.logged.join("");
  for (const secret of [token, refreshToken, PASSWORD, office.token, office.house.key]) {
    expect(everything).not.toContain(secret);
  }
});

test("an access token lives for an hour of the service clock", async () => {
  const office = new Office();
  const { token, user } = await office.logIn(CLERK);
  office.world.clock.timeMs += HOUR_MS - 1;
  const alive = await office.user(token);
  expect([alive.status, alive.body]).toMatchObject([200, { id: user.id, email: CLERK }]);
  office.world.clock.timeMs += 1;
  expectFailure(await office.user(token), 401);
});

test("a refresh token lives for thirty days", async () => {
  const early = new Office();
  const first = await early.logIn(CLERK);
  early.world.clock.timeMs += 30 * DAY_MS - 1;
  const { refreshToken } = first;
  expect((await early.auth("refresh", { refreshToken })).status).toBe(200);
  const late = new Office();
  const second = await late.logIn(CLERK);
  late.world.clock.timeMs += 30 * DAY_MS;
  expectFailure(await late.auth("refresh", { refreshToken: second.refreshToken }), 401);
});

test("a refresh gives a login of the same shape and ends both old tokens", async () => {
  const office = new Office();
  const old = await office.logIn(ADMIN);
  const reply = await office.auth<Login>("refresh", { refreshToken: old.refreshToken });
  expect(reply.status).toBe(200);
  expect(Object.keys(reply.body)).toEqual(Object.keys(old));
  const { token, refreshToken, ...rest } = reply.body;
  expect(old).toMatchObject(rest);
  expect((await office.user(token)).status).toBe(200);
  expectFailure(await office.user(old.token), 401);
  expectFailure(await office.auth("refresh", { refreshToken: old.refreshToken }), 401);
  expect((await office.auth("refresh", { refreshToken })).status).toBe(200);
});

test("an access token refreshes nothing, and a refresh token opens nothing", async () => {
  const office = new Office();
  const { token, refreshToken } = await office.logIn(CLERK);
  expectFailure(await office.auth("refresh", { refreshToken: token }), 401);
  expectFailure(await office.auth("logout", { refreshToken: token }), 401);
  expectFailure(await office.user(refreshToken), 401);
});

test("a logout ends both tokens of this login and of no other", async () => {
  const office = new Office();
  const first = await office.logIn(CLERK);
  const second = await office.logIn(CLERK);
  const reply = await office.auth<string>("logout", { refreshToken: first.refreshToken });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectFailure(await office.user(first.token), 401);
  expectFailure(await office.auth("refresh", { refreshToken: first.refreshToken }), 401);
  expectFailure(await office.auth("logout", { refreshToken: first.refreshToken }), 401);
  expect((await office.user(second.token)).status).toBe(200);
});

test("the user is read with a bearer token only", async () => {
  const office = new Office();
  const { token } = await office.logIn(CLERK);
  for (const authorization of ["", token, `Basic ${token}`, "Bearer ", `Bearer ${office.token}`]) {
    const reply = await office.call("GET", "/api/auth/user/", { headers: { authorization } });
    expectFailure(reply, 401);
  }
  const headers = { authorization: `bearer  ${token}` };
  expect((await office.call("GET", "/api/auth/user", { headers })).status).toBe(200);
});

test("after five wrong passwords within a minute, the account waits for a minute", async () => {
  const office = new Office();
  const attempt = (password: string, username = CLERK) =>
    office.auth("login", { username, password });
  for (let i = 0; i < 5; i++) expectFailure(await attempt("wrong"), 401);
  expectFailure(await attempt("wrong"), 429);
  expectFailure(await attempt(PASSWORD), 429);
  expectFailure(await attempt(PASSWORD, "CLERK@HOUSE.EXAMPLE"), 429);
  expect((await attempt(PASSWORD, ADMIN)).status).toBe(200);
  office.world.clock.timeMs += 59_999;
  expectFailure(await attempt(PASSWORD), 429);
  office.world.clock.timeMs += 1;
  expect((await attempt(PASSWORD)).status).toBe(200);
});

test("wrong passwords at the same time count like those in a row", async () => {
  const office = new Office();
  const attempts = Array.from({ length: 12 }, () =>
    office.auth("login", { username: CLERK, password: "wrong" }),
  );
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401).length).toBe(5);
  expect(statuses.filter((status) => status === 429).length).toBe(7);
});

const BAD_BODIES: readonly (readonly [string, unknown, number])[] = [
  ["login", {}, 400],
  ["login", { username: CLERK }, 400],
  ["login", { username: "", password: PASSWORD }, 400],
  ["login", { username: 7, password: PASSWORD }, 400],
  ["login", { username: CLERK, password: ["x"] }, 400],
  ["login", { username: CLERK, password: "x".repeat(513) }, 400],
  ["login", "{", 400],
  ["login", "[]", 400],
  ["refresh", {}, 400],
  ["refresh", { refreshToken: 7 }, 400],
  ["refresh", { refreshToken: "unknown" }, 401],
  ["logout", {}, 400],
  ["logout", { refreshToken: null }, 400],
  ["logout", { refreshToken: "unknown" }, 401],
];

test("errors under /api/auth have their own shape, whatever is wrong", async () => {
  const office = new Office();
  const before = office.digest;
  for (const [call, body, status] of BAD_BODIES) {
    const reply = await office.auth(call, body);
    expect([call, body, reply.status]).toEqual([call, body, status]);
    expectFailure(reply, status);
    expect(reply.text).not.toContain(PASSWORD);
  }
  expectFailure(await office.call("GET", "/api/auth/nothing"), 404);
  expectFailure(await office.call("GET", "/api/auth/login"), 405);
  const headers = { "content-type": "text/plain" };
  expectFailure(await office.call("POST", "/api/auth/login", { body: "{}", headers }), 415);
  expect(office.digest).toBe(before);
});

test("a layout tool works with its login's token, for the organization that it names", async () => {
  const office = new Office();
  const { house, second } = office;
  const { token } = await office.logIn(ADMIN);
  const headers = { authorization: `Bearer ${token}` };
  const read = (target: string, more: object = {}) =>
    office.call("GET", target, { headers: { ...headers, ...more } });
  const path = `/api/seatmap/${house.schemaId}/`;
  expect((await read(`${path}?orgId=${house.id}`)).status).toBe(200);
  expect((await read(path, { "x-organization-id": String(house.id) })).status).toBe(200);
  expect((await read(`${path}?orgId=${second.id}`)).status).toBe(403);
  expect((await read(`${path}?orgId=${office.a.id}`)).status).toBe(403);
  expect((await read(`${V2}/schemas/${house.schemaId}/layout`)).status).toBe(403);
  expect((await read(`${V2}/events/`)).status).toBe(403);
  expect((await read(`${MANAGEMENT}/organizations/`)).status).toBe(403);
});

test("a login is refused with 503 while the log takes no changes", async () => {
  const office = new Office();
  office.journal.admits = 2;
  const reply = await office.auth("login", { username: CLERK, password: PASSWORD });
  expectFailure(reply, 503);
});
