/** API keys: they are derived, never stored, and compared as a whole. */
import { expect, test } from "vitest";
import { lastValue } from "../../../engine/inventory/steps.ts";
import { Keys, PRIVATE_KEYS_MIN, REMEMBERED_MAX } from "../../../server/auth/keys.ts";
import { START_MS } from "../../support/engine.ts";
import { TEST_SECRET, TestServer } from "../../support/server.ts";

const server = new TestServer();
const CLOCK = { nowMs: () => START_MS };
const { keys, engine } = server.services;
const { catalog } = engine.state;

/** The name of the owner. */
function ownerOf(key: string): string {
  const principal = keys.identify(key, CLOCK);
  if (principal === null) return "nobody";
  if (principal.kind === "organization") return principal.organization.name;
  return principal.kind === "tenant" ? principal.tenant.name : principal.kind;
}

test("a key belongs to one organization or tenant, and contains its id", () => {
  const { a, b, c, tenantToken, otherTenantToken } = server;
  expect([a.key, b.key, c.key].map(ownerOf)).toEqual(["Organization", "Bravo", "Charlie"]);
  expect([tenantToken, otherTenantToken].map(ownerOf)).toEqual(["Tenant", "Other"]);
  expect(a.key).toMatch(new RegExp(`^fro_${a.id}_[\\w-]{43}$`));
  expect(tenantToken).toMatch(new RegExp(`^frt_${a.caller.tenantId}_[\\w-]{43}$`));
  expect(new Set([a.key, b.key, c.key, tenantToken, otherTenantToken]).size).toBe(5);
});

test("a text that is not exactly a key belongs to nobody", () => {
  const { key, id } = server.a;
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
    key.replace(`_${id}_`, `_${server.b.id}_`),
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
    keys.privateKey(catalog.organizations.get(id)!),
    catalog.organizations.get(id)!.publicKey,
  ];
  for (const text of forged) expect([text, ownerOf(text)]).toEqual([text, "nobody"]);
  expect(ownerOf(key)).toBe("Organization");
});

test("a key with one character changed belongs to nobody", () => {
  const { key } = server.b;
  for (let i = 4; i < key.length; i++) {
    const other = key[i] === "A" ? "B" : "A";
    expect(ownerOf(key.slice(0, i) + other + key.slice(i + 1))).toBe("nobody");
  }
});

test("another master secret gives other keys", () => {
  const others = new Keys("00".repeat(32), catalog);
  expect(others.identify(server.a.key, CLOCK)).toBeNull();
  const row = catalog.organizations.get(server.a.id)!;
  expect(others.organizationKey(row)).not.toBe(server.a.key);
  expect(new Keys(TEST_SECRET.toUpperCase(), catalog).organizationKey(row)).toBe(server.a.key);
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
  const sealed = Buffer.from(keys.seal("a reply"), "base64url");
  expect(keys.unseal(sealed.toString("base64url"))).toBe("a reply");
  sealed[sealed.length - 1]! ^= 1;
  expect(() => keys.unseal(sealed.toString("base64url"))).toThrow(/authenticate/);
});

test("the fingerprint of a long body takes several steps, and is the same in any pieces", () => {
  const body = Buffer.alloc(3_000_000, "abc");
  const steps = [...keys.fingerprintInSteps("head", [body])];
  expect(steps.length).toBeGreaterThan(10);
  const parts = [body.subarray(0, 1_000), body.subarray(1_000)];
  for (const each of [[body], parts]) {
    expect(lastValue(keys.fingerprintInSteps("head", each))).toBe(keys.fingerprint("head", body));
  }
});

test("a fingerprint tells where the head of a request ends", () => {
  const [shorter, longer] = [
    keys.fingerprint("a", Buffer.from("bc")),
    keys.fingerprint("ab", Buffer.from("c")),
  ];
  expect(shorter).not.toBe(longer);
});

test("no key is in any record of the log", () => {
  const records = JSON.stringify(server.journal.kept);
  for (const key of [server.a.key, server.b.key, server.tenantToken, TEST_SECRET]) {
    expect(records).not.toContain(key);
    expect(records).not.toContain(key.split("_").at(-1)!);
  }
});

test("a private key is derived from the secret and the organization, and not stored", () => {
  const rows = [server.a, server.b].map(({ id }) => catalog.organizations.get(id)!);
  const others = new Keys("00".repeat(32), catalog);
  const all = [...rows.map((row) => keys.privateKey(row)), others.privateKey(rows[0]!)];
  expect(new Set(all).size).toBe(3);
  for (const key of all)
    expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  const stored = JSON.stringify(server.journal.kept.map(({ record }) => record));
  expect(all.filter((key) => stored.includes(key))).toEqual([]);
  expect(keys.privateKeyOwner(all[0]!)).toEqual({ kind: "organization", organization: rows[0] });
  expect(keys.privateKeyOwner(all[2]!)).toBeNull();
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
