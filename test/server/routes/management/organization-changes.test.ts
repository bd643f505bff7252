/** The rows that change and delete organizations, and switch their public sessions. */
import { expect, test } from "vitest";
import { actingFor, MANAGEMENT, TestServer, V2 } from "../../../support/server.ts";
import { Booth } from "../../onsale/booth.ts";
import { expectProblem } from "../../wire/wire.ts";

const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;
const SESSIONS = `${MANAGEMENT}/session-config/`;
const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };
const NOT_FOUND = { status: 404, errorCode: "ENTITY_NOT_FOUND" };
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };

test(`PUT ${MANAGEMENT}/organizations/ changes all but keys and tenant`, async () => {
  const server = new TestServer();
  const { a, tenantToken: key } = server;
  const before = (await server.call<object>("GET", `${ORGANIZATIONS}${a.id}`, { key })).body;
  const changes = { name: "New", domain: "new.example", autologinEnabled: true, type: "VENUE" };
  const forged = { publicKey: a.eventId, privateKey: a.eventId, tenantId: 99, secretKey: "x" };
  const body = { id: a.id, ...changes, ...forged };
  const reply = await server.call("PUT", ORGANIZATIONS, { key, body });
  expect([reply.status, reply.body]).toEqual([200, { ...before, ...changes }]);
  expect((await server.call("GET", `${V2}/events/`, { key: a.key })).status).toBe(200);
});

test("PUT /api/private/management/v2.0/organizations/ refuses what it cannot change", async () => {
  const server = new TestServer();
  const { a, b, c, tenantToken: key } = server;
  const cases: [unknown, object][] = [
    [{ name: "New" }, { ...INVALID, errors: ["id NOT_NULL"] }],
    [{ id: a.id }, { ...INVALID, errors: ["name NOT_NULL"] }],
    [
      { id: a.id, name: "New", type: "CIRCUS" },
      { ...INVALID, errors: ["type ENUM"] },
    ],
    [{ id: 999_999, name: "New" }, NOT_FOUND],
    [{ id: c.id, name: "New" }, DENIED],
    [
      { id: a.id, name: b.name },
      { status: 409, errorCode: "DUPLICATE_NAME", errors: ["name DUPLICATE"] },
    ],
  ];
  const before = server.digest;
  for (const [body, expected] of cases) {
    const reply = await server.call("PUT", ORGANIZATIONS, { key, body });
    expectProblem(reply, { ...(expected as typeof NOT_FOUND), path: ORGANIZATIONS });
  }
  const body = { id: a.id, name: "New" };
  const byKey = await server.call("PUT", ORGANIZATIONS, { key: a.key, body });
  expectProblem(byKey, { ...DENIED, path: ORGANIZATIONS });
  expect(server.digest).toBe(before);
});

test(`DELETE ${MANAGEMENT}/organizations/{id} ends its keys and all it owns`, async () => {
  const server = new TestServer();
  const { a, b, tenantToken: key } = server;
  const path = `${ORGANIZATIONS}${a.id}`;
  expect((await server.call("GET", `${V2}/events/`, { key: a.key })).status).toBe(200);
  const reply = await server.call("DELETE", path, { key });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.call("GET", path, { key }), { ...NOT_FOUND, path });
  const events = `${V2}/events/`;
  expectProblem(await server.call("GET", events, { key: a.key }), { ...DENIED, path: events });
  const acting = await server.call("GET", events, actingFor(key, a));
  expectProblem(acting, { ...DENIED, path: events });
  expect((await server.seats(b)).length).toBe(b.labels.seats.length);
});

test(`DELETE ${MANAGEMENT}/organizations/{id} is 409 while seats are held`, async () => {
  const booth = new Booth();
  const { server } = booth;
  await booth.book("lock", "s", "A1");
  const before = server.digest;
  const path = `${ORGANIZATIONS}${server.a.id}`;
  const reply = await server.call("DELETE", path, { key: server.tenantToken });
  expectProblem(reply, { status: 409, errorCode: "ENTITY_IN_USE", path });
  expect(server.digest).toBe(before);
});

test("DELETE /api/private/management/v2.0/organizations/{id} is 404, 403 and 400", async () => {
  const server = new TestServer();
  const { a, c, tenantToken } = server;
  const before = server.digest;
  for (const [id, key, expected] of [
    [999_999, tenantToken, NOT_FOUND],
    [c.id, tenantToken, DENIED],
    [a.id, a.key, DENIED],
    ["x", tenantToken, { ...INVALID, errors: ["id TYPE"] }],
  ] as const) {
    const path = `${ORGANIZATIONS}${id}`;
    expectProblem(await server.call("DELETE", path, { key }), { ...expected, path });
  }
  expect(server.digest).toBe(before);
});

test("PUT /api/private/management/v2.0/session-config/ switches public sessions", async () => {
  const server = new TestServer();
  const { a, tenantToken } = server;
  const { organizations } = server.engine.state.catalog;
  for (const publicSessionsEnabled of [true, false]) {
    const body = { publicSessionsEnabled };
    const reply = await server.call("PUT", SESSIONS, { ...actingFor(tenantToken, a), body });
    expect([reply.status, reply.body]).toEqual([200, body]);
    expect(organizations.get(a.id)).toMatchObject(body);
  }
});

test(`PUT ${MANAGEMENT}/session-config/ needs the value and an organization`, async () => {
  const server = new TestServer();
  const { a, c, tenantToken } = server;
  const on = { publicSessionsEnabled: true };
  const own = actingFor(tenantToken, a);
  for (const [options, body, expected] of [
    [own, {}, { ...INVALID, errors: ["publicSessionsEnabled NOT_NULL"] }],
    [own, { publicSessionsEnabled: 1 }, { ...INVALID, errors: ["publicSessionsEnabled TYPE"] }],
    [{ key: tenantToken }, on, DENIED],
    [actingFor(tenantToken, c), on, DENIED],
    [{ key: a.key }, on, DENIED],
  ] as const) {
    const reply = await server.call("PUT", SESSIONS, { ...options, body });
    expectProblem(reply, { ...expected, path: SESSIONS });
  }
});
