/** The rows that rotate keys: the old key works for its grace, and not a moment longer. */
import { expect, test } from "vitest";
import { Keys, sha256 } from "../../../server/auth/keys.ts";
import { actingFor, MANAGEMENT, TEST_SECRET, TestServer, V2 } from "../../support/server.ts";
import { expectProblem } from "../wire/wire.ts";

const ROTATE_KEY = `${V2}/keys/rotate`;
const ROTATE_TOKEN = `${MANAGEMENT}/keys/rotate`;
const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };

interface Rotated {
  readonly secretKey: string;
  readonly tenantToken: string;
}

async function rotate(server: TestServer, path: string, key: string, body: object = {}) {
  const reply = await server.call<Rotated>("POST", path, { key, body });
  expect(reply.status).toBe(200);
  return reply.body;
}

/** Statuses of a read with each of the keys. */
async function statuses(server: TestServer, path: string, ...keys: string[]) {
  const replies = await Promise.all(keys.map((key) => server.call("GET", path, { key })));
  return replies.map(({ status }) => status);
}

test("POST /api/private/v2.0/keys/rotate ends the old key at once by default", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const events = `${V2}/events/`;
  expect(await statuses(server, events, key)).toEqual([200]);
  const { secretKey, ...rest } = await rotate(server, ROTATE_KEY, key);
  expect([secretKey.slice(0, 4), rest]).toEqual(["fro_", {}]);
  expect(await statuses(server, events, key, secretKey, server.b.key)).toEqual([403, 200, 200]);
});

test(`POST ${V2}/keys/rotate lets the last key work until its grace is over`, async () => {
  const server = new TestServer();
  const { clock } = server.world;
  const events = `${V2}/events/`;
  const first = server.a.key;
  const { secretKey: second } = await rotate(server, ROTATE_KEY, first, { graceSeconds: 60 });
  clock.timeMs += 59_999;
  expect(await statuses(server, events, first, second)).toEqual([200, 200]);
  clock.timeMs += 1;
  expect(await statuses(server, events, first, second)).toEqual([403, 200]);

  // Only one key before the last is kept, whatever grace it had left.
  const { secretKey: third } = await rotate(server, ROTATE_KEY, second, { graceSeconds: 60 });
  const { secretKey: fourth } = await rotate(server, ROTATE_KEY, second, { graceSeconds: 60 });
  expect(await statuses(server, events, second, third, fourth)).toEqual([403, 200, 200]);
});

test(`POST ${V2}/keys/rotate takes a tenant token that names the organization`, async () => {
  const server = new TestServer();
  const options = { ...actingFor(server.tenantToken, server.a), body: {} };
  const reply = await server.call<Rotated>("POST", ROTATE_KEY, options);
  expect(await statuses(server, `${V2}/events/`, server.a.key, reply.body.secretKey)).toEqual([
    403, 200,
  ]);
});

test.each([
  ["POST /api/private/v2.0/keys/rotate", ROTATE_KEY],
  ["POST /api/private/management/v2.0/keys/rotate", ROTATE_TOKEN],
])("%s refuses a grace that is none, and whoever has no right", async (_, path) => {
  const server = new TestServer();
  const key = path === ROTATE_KEY ? server.a.key : server.tenantToken;
  const before = server.digest;
  for (const [graceSeconds, code] of [
    [-1, "RANGE"],
    [2_592_001, "RANGE"],
    [0.5, "TYPE"],
    ["60", "TYPE"],
  ] as const) {
    const reply = await server.call("POST", path, { key, body: { graceSeconds } });
    expectProblem(reply, { ...INVALID, path, errors: [`graceSeconds ${code}`] });
  }
  const stranger = path === ROTATE_KEY ? server.tenantToken : server.a.key;
  for (const options of [{}, { key: stranger }]) {
    const reply = await server.call("POST", path, { ...options, body: {} });
    expectProblem(reply, { ...DENIED, path });
  }
  expect(server.digest).toBe(before);
});

test("POST /api/private/management/v2.0/keys/rotate replaces the tenant's token", async () => {
  const server = new TestServer();
  const { tenantToken: first, otherTenantToken } = server;
  const organizations = `${MANAGEMENT}/organizations/`;
  const { tenantToken: second } = await rotate(server, ROTATE_TOKEN, first, { graceSeconds: 1 });
  expect(second.slice(0, 4)).toBe("frt_");
  expect(await statuses(server, organizations, first, second)).toEqual([200, 200]);
  server.world.clock.timeMs += 1_000;
  expect(await statuses(server, organizations, first, second, otherTenantToken)).toEqual([
    403, 200, 200,
  ]);
});

test("POST /api/private/management/v2.0/keys/rotate replaces a token that was given", async () => {
  const server = new TestServer();
  const given = "a-token-of-your-own";
  const nobody = { ...server.world.tenant, tenantId: 0 };
  const tenant = { name: "Given", tokenSha256: sha256(given), administrator: null };
  server.world.must("createTenant", nobody, tenant);
  const organizations = `${MANAGEMENT}/organizations/`;
  expect(await statuses(server, organizations, given)).toEqual([200]);
  const { tenantToken } = await rotate(server, ROTATE_TOKEN, given, { graceSeconds: 1 });
  expect(await statuses(server, organizations, given, tenantToken)).toEqual([200, 200]);

  // Whoever has not seen the key before judges it alike.
  const afresh = () => new Keys(TEST_SECRET, server.engine.state.catalog);
  const nowMs = server.engine.nowMs();
  expect(afresh().identify(given, { nowMs: () => nowMs })).toMatchObject({ kind: "tenant" });
  expect(afresh().identify(given, { nowMs: () => nowMs + 1_000 })).toBeNull();
  server.world.clock.timeMs += 1_000;
  expect(await statuses(server, organizations, given, tenantToken)).toEqual([403, 200]);
});
