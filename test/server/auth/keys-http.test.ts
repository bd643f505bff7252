/** The rows that rotate keys: the old key works for its grace period, and no longer. */
import { expect, test } from "vitest";
import { Keys, sha256 } from "../../../server/auth/keys.ts";
import { actingFor } from "../../support/answers/exchange.ts";
import { MANAGEMENT, TEST_SECRET, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem, invalid } from "../wire/wire.ts";

const ROTATE_KEY = `${V2}/keys/rotate`;
const ROTATE_TOKEN = `${MANAGEMENT}/keys/rotate`;
const EVENTS = `${V2}/events/`;
const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;

interface Rotated {
  readonly secretKey: string;
  readonly tenantToken: string;
}

async function rotate(server: TestServer, path: string, key: string, body: object = {}) {
  const reply = await server.post<Rotated>(path, body, { key });
  expect(reply.status).toBe(200);
  return reply.body;
}

/** The statuses of a read with each of the keys. */
async function statuses(server: TestServer, path: string, ...keys: string[]) {
  const replies = await Promise.all(keys.map((key) => server.get(path, { key })));
  return replies.map(({ status }) => status);
}

test("a rotation without a grace period ends the old key at once", async () => {
  const server = new TestServer();
  const { key } = server.a;
  expect(await statuses(server, EVENTS, key)).toEqual([200]);
  const { secretKey, ...rest } = await rotate(server, ROTATE_KEY, key);
  expect([secretKey.slice(0, 4), rest]).toEqual(["fro_", {}]);
  expect(await statuses(server, EVENTS, key, secretKey, server.b.key)).toEqual([403, 200, 200]);
});

test("the previous key works until the end of its grace period", async () => {
  const server = new TestServer();
  const { clock } = server.world;
  const first = server.a.key;
  const { secretKey: second } = await rotate(server, ROTATE_KEY, first, { graceSeconds: 60 });
  // The same for a process that sees the key for the first time, as after a restart.
  const keys = new Keys(TEST_SECRET, server.engine.state.catalog);
  const { timeMs } = clock;
  expect(keys.identify(first, { nowMs: () => timeMs })).not.toBeNull();
  expect(keys.identify(first, { nowMs: () => timeMs + 60_000 })).toBeNull();
  clock.timeMs += 59_999;
  expect(await statuses(server, EVENTS, first, second)).toEqual([200, 200]);
  clock.timeMs += 1;
  expect(await statuses(server, EVENTS, first, second)).toEqual([403, 200]);

  // Only one previous key is kept, even if another one has some of its grace period left.
  const { secretKey: third } = await rotate(server, ROTATE_KEY, second, { graceSeconds: 60 });
  const { secretKey: fourth } = await rotate(server, ROTATE_KEY, third, { graceSeconds: 60 });
  expect(await statuses(server, EVENTS, second, third, fourth)).toEqual([403, 200, 200]);
});

test("a tenant token rotates the key of the organization that it names", async () => {
  const server = new TestServer();
  const by = actingFor(server.tenantToken, server.a);
  const { secretKey } = (await server.post<Rotated>(ROTATE_KEY, {}, by)).body;
  expect(await statuses(server, EVENTS, server.a.key, secretKey)).toEqual([403, 200]);
});

test.each([ROTATE_KEY, ROTATE_TOKEN])("POST %s refuses wrong graces and callers", async (path) => {
  const server = new TestServer();
  const tenant = { key: server.tenantToken };
  const [owner, stranger] = path === ROTATE_KEY ? [server.a, tenant] : [tenant, server.a];
  const before = server.digest;
  for (const [graceSeconds, code] of [
    [-1, "RANGE"],
    [2_592_001, "RANGE"],
    [0.5, "TYPE"],
    ["60", "TYPE"],
  ] as const) {
    const reply = await server.post(path, { graceSeconds }, owner);
    expectProblem(reply, invalid(`graceSeconds ${code}`));
  }
  expectProblem(await server.post(path, {}, {}), DENIED);
  expectProblem(await server.post(path, {}, stranger), DENIED);
  expect(server.digest).toBe(before);
});

test("a tenant token is rotated, and works until the end of its grace period", async () => {
  const server = new TestServer();
  const { tenantToken: first, otherTenantToken } = server;
  const { tenantToken: second } = await rotate(server, ROTATE_TOKEN, first, { graceSeconds: 1 });
  expect(second.slice(0, 4)).toBe("frt_");
  expect(await statuses(server, ORGANIZATIONS, first, second)).toEqual([200, 200]);
  server.world.clock.timeMs += 1_000;
  expect(await statuses(server, ORGANIZATIONS, first, second, otherTenantToken)).toEqual([
    403, 200, 200,
  ]);
});

test("an initial tenant token can be rotated, too", async () => {
  const server = new TestServer();
  const given = "a-token-of-your-own";
  const nobody = { ...server.world.tenant, tenantId: 0 };
  const body = { name: "Given", tokenSha256: sha256(given), administrator: null };
  const tenant = server.world.must("createTenant", nobody, body);
  // The token that would be derived is no second key beside the given one.
  const derived = server.services.keys.tenantToken({ ...tenant, tokenSha256: null })!;
  expect(await statuses(server, ORGANIZATIONS, given, derived)).toEqual([200, 403]);
  const { tenantToken } = await rotate(server, ROTATE_TOKEN, given, { graceSeconds: 1 });
  expect(await statuses(server, ORGANIZATIONS, given, tenantToken)).toEqual([200, 200]);

  // The same without the cache of keys that were used before.
  const identify = (nowMs: number) =>
    new Keys(TEST_SECRET, server.engine.state.catalog).identify(given, { nowMs: () => nowMs });
  const nowMs = server.engine.nowMs();
  expect(identify(nowMs)).toMatchObject({ kind: "tenant" });
  expect(identify(nowMs + 1_000)).toBeNull();
  server.world.clock.timeMs += 1_000;
  expect(await statuses(server, ORGANIZATIONS, given, tenantToken)).toEqual([403, 200]);
});

test.each([ROTATE_KEY, ROTATE_TOKEN])("POST %s takes an empty body", async (path) => {
  for (const body of [undefined, ""]) {
    const server = new TestServer();
    const [key, read] =
      path === ROTATE_KEY ? [server.a.key, EVENTS] : [server.tenantToken, ORGANIZATIONS];
    expect((await server.post(path, body, { key })).status).toBe(200);
    expect(await statuses(server, read, key)).toEqual([403]);
  }
});

test.each([ROTATE_KEY, ROTATE_TOKEN])("POST %s refuses a key in its grace time", async (path) => {
  const server = new TestServer();
  const old = path === ROTATE_KEY ? server.a.key : server.tenantToken;
  await rotate(server, path, old, { graceSeconds: 60 });
  const before = server.digest;
  const refused = await server.post(path, {}, { key: old });
  expectProblem(refused, DENIED);
  expect(refused.body.detail).toContain("rotated");
  const bearer = await server.post(path, {}, { headers: { authorization: `Bearer ${old}` } });
  expectProblem(bearer, DENIED);
  expect(server.digest).toBe(before);
});

test("a tenant token in its grace time does not rotate the key of an organization", async () => {
  const server = new TestServer();
  const by = actingFor(server.tenantToken, server.a);
  await rotate(server, ROTATE_TOKEN, server.tenantToken, { graceSeconds: 60 });
  expect((await server.get(EVENTS, by)).status).toBe(200);
  expectProblem(await server.post(ROTATE_KEY, {}, by), DENIED);
});
