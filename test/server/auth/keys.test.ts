/** Keys and tenant tokens: what they contain, how they are rotated, and when they end. */
import { expect, test } from "vitest";
import { drain } from "../../../engine/inventory/steps.ts";
import { Keys, PRIVATE_KEYS_MIN, REMEMBERED_MAX, sha256 } from "../../../server/auth/keys.ts";
import { actingFor } from "../../support/answers/exchange.ts";
import { START_MS } from "../../support/engine.ts";
import { MANAGEMENT, TEST_SECRET, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem, invalid } from "../wire/wire.ts";

const known = new TestServer();
const CLOCK = { nowMs: () => START_MS };
const { keys: ring, engine } = known.services;
const { catalog } = engine.state;

/** The name of the owner. */
function ownerOf(key: string): string {
  const principal = ring.identify(key, CLOCK);
  if (principal === null) return "nobody";
  if (principal.kind === "organization") return principal.organization.name;
  return principal.kind === "tenant" ? principal.tenant.name : principal.kind;
}

test("a key belongs to one organization or tenant, and contains its id", () => {
  const { a, b, c, tenantToken, otherTenantToken } = known;
  expect([a.key, b.key, c.key].map(ownerOf)).toEqual(["Organization", "Bravo", "Charlie"]);
  expect([tenantToken, otherTenantToken].map(ownerOf)).toEqual(["Tenant", "Other"]);
  expect(a.key).toMatch(new RegExp(`^fro_${a.id}_[\\w-]{43}$`));
  expect(tenantToken).toMatch(new RegExp(`^frt_${a.caller.tenantId}_[\\w-]{43}$`));
  expect(new Set([a.key, b.key, c.key, tenantToken, otherTenantToken]).size).toBe(5);
});

test("a text that is not exactly a key belongs to nobody", () => {
  const { key, id } = known.a;
  const code = key.split("_").slice(2).join("_");
  const forged = [
    "",
    " ",
    ` ${key}`,
    `${key} `,
    key.slice(0, -1),
    `${key}A`,
    key.toUpperCase(),
    key.replace("fro_", "frt_"),
    key.replace(`_${id}_`, `_${known.b.id}_`),
    key.replace(`_${id}_`, `_0${id}_`),
    `fro_${id}_`,
    `fro_999999999_${code}`,
    `fro_${"9".repeat(17)}_${code}`,
    `fro_-1_${code}`,
    `fro__${code}`,
    code,
    "é".repeat(50),
    "x".repeat(1_000_000),
    "\0",
    "__proto__",
    ring.privateKey(catalog.organizations.get(id)!),
    catalog.organizations.get(id)!.publicKey,
  ];
  for (const text of forged) expect([text, ownerOf(text)]).toEqual([text, "nobody"]);
  expect(ownerOf(key)).toBe("Organization");
});

test("a key with one character changed belongs to nobody", () => {
  const { key } = known.b;
  for (let i = 4; i < key.length; i++) {
    const other = key[i] === "A" ? "B" : "A";
    expect(ownerOf(key.slice(0, i) + other + key.slice(i + 1))).toBe("nobody");
  }
});

test("another master secret gives other keys", () => {
  const others = new Keys("00".repeat(32), catalog);
  expect(others.identify(known.a.key, CLOCK)).toBeNull();
  const row = catalog.organizations.get(known.a.id)!;
  expect(others.organizationKey(row)).not.toBe(known.a.key);
  expect(new Keys(TEST_SECRET.toUpperCase(), catalog).organizationKey(row)).toBe(known.a.key);
});

test("a key becomes invalid with its version, even when it was just used", () => {
  const fresh = new TestServer();
  const { a } = fresh;
  const own = fresh.services.keys;
  expect(own.identify(a.key, CLOCK)).not.toBeNull();
  const row = fresh.engine.state.catalog.organizations.get(a.id)!;
  fresh.engine.state.catalog.put({
    table: "organizations",
    row: { ...row, keyVersion: row.keyVersion + 1 },
  });
  expect(own.identify(a.key, CLOCK)).toBeNull();
  const next = own.organizationKey(fresh.engine.state.catalog.organizations.get(a.id)!);
  expect(next).not.toBe(a.key);
  expect(own.identify(next, CLOCK)).not.toBeNull();
});

test("a sealed text that was changed is not opened", () => {
  const sealed = Buffer.from(ring.seal("a reply"), "base64url");
  expect(ring.unseal(sealed.toString("base64url"))).toBe("a reply");
  sealed[sealed.length - 1]! ^= 1;
  expect(() => ring.unseal(sealed.toString("base64url"))).toThrow(/authenticate/);
});

test("the fingerprint of a long body takes several steps, and is the same in any pieces", () => {
  const body = Buffer.alloc(3_000_000, "abc");
  const steps = [...ring.fingerprintInSteps("head", [body])];
  expect(steps.length).toBeGreaterThan(10);
  const parts = [body.subarray(0, 1_000), body.subarray(1_000)];
  for (const each of [[body], parts]) {
    expect(drain(ring.fingerprintInSteps("head", each))).toBe(ring.fingerprint("head", body));
  }
});

test("a fingerprint tells where the head of a request ends", () => {
  const [shorter, longer] = [
    ring.fingerprint("a", Buffer.from("bc")),
    ring.fingerprint("ab", Buffer.from("c")),
  ];
  expect(shorter).not.toBe(longer);
});

test("no key is in any record of the log", () => {
  const records = JSON.stringify(known.journal.kept);
  for (const key of [known.a.key, known.b.key, known.tenantToken, TEST_SECRET]) {
    expect(records).not.toContain(key);
    expect(records).not.toContain(key.split("_").at(-1)!);
  }
});

test("a private key is derived from the secret and the organization, and not stored", () => {
  const rows = [known.a, known.b].map(({ id }) => catalog.organizations.get(id)!);
  const others = new Keys("00".repeat(32), catalog);
  const all = [...rows.map((row) => ring.privateKey(row)), others.privateKey(rows[0]!)];
  expect(new Set(all).size).toBe(3);
  for (const key of all)
    expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  const stored = JSON.stringify(known.journal.kept.map(({ record }) => record));
  expect(all.filter((key) => stored.includes(key))).toEqual([]);
  expect(ring.privateKeyOwner(all[0]!)).toEqual({ kind: "organization", organization: rows[0] });
  expect(ring.privateKeyOwner(all[2]!)).toBeNull();
});

test("ten thousand keys are remembered, and then all are forgotten", () => {
  const { world, services } = new TestServer();
  const own = services.keys;
  const { organizations } = world.engine.state.catalog;
  const { organizationId } = world.caller;
  const use = () => own.identify(own.organizationKey(organizations.get(organizationId)!), CLOCK);
  for (let i = 0; i < REMEMBERED_MAX; i++) {
    expect(use()).not.toBeNull();
    world.must("rotateOrganizationKey", world.caller, { body: { graceSeconds: 0 } });
  }
  expect(own.counts.remembered).toBe(REMEMBERED_MAX);
  expect(use()).not.toBeNull();
  expect(own.counts.remembered).toBe(1);
});

test("the private keys of deleted organizations are forgotten when there are many", () => {
  const { world, services } = new TestServer();
  const own = services.keys;
  const { organizations } = world.engine.state.catalog;
  const ownerOfPrivate = (id: number) =>
    own.privateKeyOwner(own.privateKey(organizations.get(id)!));
  for (let i = 0; own.counts.privateKeys < PRIVATE_KEYS_MIN; i++) {
    const { organizationId } = world.createOrganization(world.tenant, `Guest ${i}`);
    expect(ownerOfPrivate(organizationId)).not.toBeNull();
    world.must("deleteOrganization", world.tenant, { organizationId });
  }
  const { organizationId } = world.createOrganization(world.tenant, "Last");
  expect(ownerOfPrivate(organizationId)).not.toBeNull();
  expect(own.counts.privateKeys).toBe(organizations.size);
});

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
