/** API keys: derived, never stored, compared whole. */
import { expect, test } from "vitest";
import { Keys } from "../../../server/auth/keys.ts";
import { START_MS } from "../../support/engine.ts";
import { TEST_SECRET, TestServer } from "../../support/server.ts";

const server = new TestServer();
const CLOCK = { nowMs: () => START_MS };
const { keys, engine } = server.services;
const { catalog } = engine.state;

function whose(key: string): string {
  const principal = keys.identify(key, CLOCK);
  if (principal === null) return "nobody's";
  if (principal.kind === "organization") return principal.organization.name;
  return principal.kind === "tenant" ? principal.tenant.name : principal.kind;
}

test("a key says whose it is, and is its organization's or tenant's alone", () => {
  const { a, b, c, tenantToken, otherTenantToken } = server;
  expect([a.key, b.key, c.key].map(whose)).toEqual(["Organization", "Bravo", "Charlie"]);
  expect([tenantToken, otherTenantToken].map(whose)).toEqual(["Tenant", "Other"]);
  expect(a.key).toMatch(new RegExp(`^fro_${a.id}_[\\w-]{43}$`));
  expect(tenantToken).toMatch(new RegExp(`^frt_${a.caller.tenantId}_[\\w-]{43}$`));
  expect(new Set([a.key, b.key, c.key, tenantToken, otherTenantToken]).size).toBe(5);
});

test("what is not exactly a key is nobody's", () => {
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
    catalog.organizations.get(id)!.privateKey,
    catalog.organizations.get(id)!.publicKey,
  ];
  for (const text of forged) expect([text, whose(text)]).toEqual([text, "nobody's"]);
  expect(whose(key)).toBe("Organization");
});

test("each change of one character is noticed", () => {
  const { key } = server.b;
  for (let i = 4; i < key.length; i++) {
    const other = key[i] === "A" ? "B" : "A";
    expect(whose(key.slice(0, i) + other + key.slice(i + 1))).toBe("nobody's");
  }
});

test("another master secret makes other keys", () => {
  const others = new Keys("00".repeat(32), catalog);
  expect(others.identify(server.a.key, CLOCK)).toBeNull();
  const row = catalog.organizations.get(server.a.id)!;
  expect(others.organizationKey(row)).not.toBe(server.a.key);
  expect(new Keys(TEST_SECRET.toUpperCase(), catalog).organizationKey(row)).toBe(server.a.key);
});

test("a key ends with its version, also one that was just used", () => {
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

test("no key is in any record of the log", () => {
  const records = JSON.stringify(server.journal.kept);
  for (const key of [server.a.key, server.b.key, server.tenantToken, TEST_SECRET]) {
    expect(records).not.toContain(key);
    expect(records).not.toContain(key.split("_").at(-1)!);
  }
});
