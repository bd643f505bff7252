/** The operator's rows, which are there only with a platform token. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { Keys } from "../../../../server/auth/keys.ts";
import { Dispatch } from "../../../../server/dispatch.ts";
import { routeTable } from "../../../../server/routes/table.ts";
import {
  ask,
  actingFor,
  type CallOptions,
  MANAGEMENT,
  type PageBody,
  type ProblemBody,
  type Reply,
  replyOf,
  requestOf,
  TEST_SECRET,
  TestServer,
  V2,
} from "../../../support/server.ts";
import { expectPage, expectProblem } from "../../wire/wire.ts";

const TENANTS = "/api/admin/tenants/";
const TOKEN = "platform-token-of-the-tests";
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };
const ADMIN = { name: "Second", adminEmail: "ada@second.example", adminPassword: "correct horse" };

interface TenantBody {
  readonly id: number;
  readonly name: string;
  readonly tenantToken: string;
}

/** A server of the tests that has an operator. */
class Platform {
  readonly server = new TestServer();
  readonly #dispatch: Dispatch;

  constructor() {
    const { services, engine } = this.server;
    const keys = new Keys(TEST_SECRET, engine.state.catalog, TOKEN);
    const routes = routeTable("0.0.0-test", true);
    this.#dispatch = new Dispatch({ ...services, keys }, routes, pino({ level: "silent" }));
  }

  async call<Body = ProblemBody>(
    method: string,
    target: string,
    options: CallOptions = {},
  ): Promise<Reply<Body>> {
    return replyOf<Body>(await ask(this.#dispatch, requestOf(method, target, options)));
  }

  create(changes: object = {}) {
    const body = { ...ADMIN, ...changes };
    return this.call<TenantBody>("POST", TENANTS, { key: TOKEN, body });
  }
}

test("POST /api/admin/tenants/ creates a tenant whose token and super admin work", async () => {
  const platform = new Platform();
  const reply = await platform.create();
  const { id, tenantToken } = reply.body;
  expect([reply.status, reply.body]).toEqual([201, { id, name: "Second", tenantToken }]);
  const organizations = `${MANAGEMENT}/organizations/`;
  const list = await platform.call<PageBody<object>>("GET", organizations, { key: tenantToken });
  expectPage(list, { total: 0, count: 0 });
  const body = { username: "ADA@second.example", password: "correct horse" };
  const login = await platform.call<TenantBody>("POST", "/api/auth/login", { body });
  expect([login.status, login.body.tenantToken]).toEqual([200, tenantToken]);
});

test("POST /api/admin/tenants/ refuses what is no tenant, and a taken address", async () => {
  const platform = new Platform();
  const before = platform.server.digest;
  for (const [changes, error] of [
    [{ name: "" }, "name SIZE"],
    [{ adminEmail: "ada" }, "adminEmail FORMAT"],
    [{ adminPassword: "short" }, "adminPassword SIZE"],
    [{ adminEmail: undefined }, "adminEmail NOT_NULL"],
  ] as const) {
    const body = { ...ADMIN, ...changes };
    const reply = await platform.call("POST", TENANTS, { key: TOKEN, body });
    const errors = [error];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: TENANTS, errors });
  }
  const body = { ...ADMIN, adminEmail: "Admin@tenant.example" };
  const reply = await platform.call("POST", TENANTS, { key: TOKEN, body });
  expectProblem(reply, { status: 409, errorCode: "ACCOUNT_EMAIL_IN_USE", path: TENANTS });
  expect(platform.server.digest).toBe(before);
});

test("GET /api/admin/tenants/ gives pages of tenants, without their tokens", async () => {
  const platform = new Platform();
  const { id } = (await platform.create()).body;
  const read = (query: string) =>
    platform.call<PageBody<TenantBody>>("GET", `${TENANTS}${query}`, { key: TOKEN });
  const all = await read("");
  expectPage(all, { total: 3, count: 3 });
  expect(all.body.content.map(({ name }) => name)).toEqual(["Tenant", "Other", "Second"]);
  expect((await read("?sort=name,desc&size=1&page=1")).body.content).toEqual([
    { id, name: "Second" },
  ]);
  const bad = await platform.call("GET", `${TENANTS}?sort=tenantToken`, { key: TOKEN });
  const errors = ["sort UNKNOWN"];
  expectProblem(bad, { status: 400, errorCode: "VALIDATION_FAILED", path: TENANTS, errors });
});

test("GET /api/admin/tenants/ takes the platform token, which opens nothing else", async () => {
  const platform = new Platform();
  const { a, tenantToken } = platform.server;
  const strangers = [{}, { key: "x" }, { key: a.key }, { key: tenantToken }];
  for (const options of [...strangers, actingFor(tenantToken, a)]) {
    for (const request of [options, { ...options, body: ADMIN }]) {
      const method = "body" in request ? "POST" : "GET";
      const reply = await platform.call(method, TENANTS, request);
      expectProblem(reply, { ...DENIED, path: TENANTS });
    }
  }
  for (const path of [`${MANAGEMENT}/organizations/`, `${V2}/events/`]) {
    for (const options of [{ key: TOKEN }, actingFor(TOKEN, a)]) {
      expectProblem(await platform.call("GET", path, options), { ...DENIED, path });
    }
  }
});

test("GET /api/admin/tenants/ is no path of a server without a platform token", async () => {
  const server = new TestServer();
  for (const method of ["GET", "POST", "DELETE"]) {
    const reply = await server.call(method, TENANTS, { key: TOKEN, body: ADMIN });
    expectProblem(reply, { status: 404, errorCode: "ENTITY_NOT_FOUND", path: TENANTS });
  }
});
