/** The rows of the platform operator, which exist only with a platform token. */
import { expect, test } from "vitest";
import { actingFor } from "../../../support/answers/exchange.ts";
import { MANAGEMENT, type PageBody, TestServer, V2 } from "../../../support/server.ts";
import {
  DENIED,
  expectPage,
  expectProblem,
  invalid,
  NOT_FOUND,
  type ExpectedProblem,
} from "../../wire/wire.ts";

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
