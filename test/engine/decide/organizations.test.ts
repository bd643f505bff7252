/** Organizations: who may become their administrator, and their settings. */
import { expect, test } from "vitest";
import type { AccountRow } from "../../../engine/catalog.ts";
import { Result } from "../../../engine/results.ts";
import { administratorOf, Bench, organizationOf, World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";

const { ACCOUNT_EMAIL_IN_USE, DUPLICATE_NAME, OK } = Result;

/** A platform with the tenants One and Two. */
class Tenants extends Bench {
  readonly one = this.createTenant("One");
  readonly two = this.createTenant("Two");

  create(name: string, email: string, tenant = this.one) {
    return this.submit("createOrganization", tenant, organizationOf(name, email));
  }

  get accounts(): AccountRow[] {
    return [...this.engine.state.catalog.accounts.values()];
  }
}

test("an organization with an unknown email gets a new account", () => {
  const bench = new Tenants();
  const outcome = bench.create("House", "New@House.example");
  expect(outcome).toMatchObject({ value: { name: "House", tenantId: bench.one.tenantId } });
  const id = outcome.refused === OK ? outcome.value.id : 0;
  expect(bench.accounts.at(-1)).toMatchObject({
    email: "New@House.example",
    superAdminOf: null,
    organizationIds: [id],
  });
});

test("the account with that email in the tenant is reused, whatever the letter case", () => {
  const bench = new Tenants();
  bench.create("First", "ada@house.example");
  const before = bench.accounts.length;
  const second = organizationOf("Second", "ADA@House.EXAMPLE");
  const administrator = { ...second.administrator!, passwordHash: "other", firstName: "Eve" };
  bench.must("createOrganization", bench.one, { ...second, administrator });
  expect(bench.accounts).toHaveLength(before);
  const account = bench.accounts.at(-1)!;
  expect(account).toMatchObject({ passwordHash: "hash", firstName: "Ada" });
  expect(account.organizationIds).toHaveLength(2);
});

test("an account of another tenant is not reused, and nothing is created", () => {
  const bench = new Tenants();
  bench.create("House", "ada@house.example");
  expect(bench.create("Hall", "Ada@house.example", bench.two)).toMatchObject({
    refused: ACCOUNT_EMAIL_IN_USE,
    errors: [{ field: "email", rejectedValue: "Ada@house.example" }],
  });
  expect(bench.engine.state.catalog.organizations.size).toBe(1);
});

test("the account of a super admin is not reused, not even in its own tenant", () => {
  const bench = new Tenants();
  expect(bench.create("Hall", "admin@one.example").refused).toBe(ACCOUNT_EMAIL_IN_USE);
});

test("an account that is not certain to belong to the tenant is not reused", () => {
  const bench = new Tenants();
  const email = "ada@house.example";
  bench.create("House", email);
  const { catalog } = bench.engine.state;
  const account = bench.accounts.at(-1)!;
  const { organizationId: foreign } = bench.createOrganization(bench.two, "Foreign");
  const refused = () => expect(bench.create("Hall", email).refused).toBe(ACCOUNT_EMAIL_IN_USE);
  catalog.put({ table: "accounts", row: { ...account, organizationIds: [] } });
  refused();
  const superAdminOf = bench.one.tenantId;
  catalog.put({ table: "accounts", row: { ...account, superAdminOf } });
  refused();
  const organizationIds = [...account.organizationIds, foreign];
  catalog.put({ table: "accounts", row: { ...account, organizationIds } });
  refused();
  catalog.put({ table: "accounts", row: account });
  catalog.put({ table: "accounts", row: { ...account, id: 9_999, email: "ADA@house.example" } });
  refused();
});

test("an email with a look-alike letter outside ASCII belongs to another account", () => {
  const bench = new Tenants();
  bench.create("House", "kai@house.example");
  // The Kelvin sign folds to k in Unicode.
  expect(bench.create("Hall", "\u212Aai@house.example").refused).toBe(OK);
  const emails = bench.accounts.map(({ email }) => email.normalize("NFC"));
  expect(new Set(emails).size).toBe(emails.length);
});

test("an organization can be created without an administrator", () => {
  const bench = new Tenants();
  const before = bench.accounts.length;
  const command = { ...organizationOf("House"), administrator: null };
  bench.must("createOrganization", bench.one, command);
  expect(bench.accounts).toHaveLength(before);
});

test("a name that is in use in the tenant is refused before the email is checked", () => {
  const bench = new Tenants();
  bench.create("House", "ada@house.example");
  expect(bench.create("House", "admin@one.example")).toMatchObject({
    refused: DUPLICATE_NAME,
    errors: [{ field: "name", code: "DUPLICATE", rejectedValue: "House" }],
  });
  expect(bench.create("House", "bob@house.example", bench.two).refused).toBe(OK);
});

test("organizations and new accounts never share an id", () => {
  const bench = new Tenants();
  const ids = ["A", "B", "C"].map(
    (name) => bench.createOrganization(bench.one, name).organizationId,
  );
  const accountIds = bench.accounts.map(({ id }) => id);
  const all = [...ids, ...accountIds, bench.one.tenantId, bench.two.tenantId];
  expect(new Set(all).size).toBe(all.length);
  expect(bench.engine.state.catalog.nextId).toBeGreaterThan(Math.max(...all));
});

test("a change of settings keeps the settings that are not sent", () => {
  const world = new World([section("Stalls", { A: "1" })]);
  const { organizations } = world.engine.state.catalog;
  const expectSettings = (settings: object) =>
    expect(organizations.get(world.caller.organizationId)).toMatchObject(settings);
  const settings = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
  expectSettings(settings);
  world.change({ orphanPrevention: true });
  expectSettings({ ...settings, orphanPrevention: true });
  world.change({ salesControl: false });
  expectSettings({ salesControl: false, bookingEnabled: true, orphanPrevention: true });
  world.change({});
  expectSettings({ salesControl: false, bookingEnabled: true, orphanPrevention: true });
});

test("a tenant cannot be created with an email that two accounts have", () => {
  const bench = new Tenants();
  const [account] = bench.accounts;
  bench.engine.state.catalog.put({ table: "accounts", row: { ...account!, id: 9_999 } });
  const administrator = administratorOf(account!.email);
  const tenant = { name: "Three", tokenSha256: null, administrator };
  expect(bench.submit("createTenant", bench.one, tenant).refused).toBe(ACCOUNT_EMAIL_IN_USE);
});

test("a tenant cannot be created with the super admin of another tenant", () => {
  const bench = new Tenants();
  const administrator = administratorOf("ADMIN@one.example");
  const tenant = { name: "Three", tokenSha256: "ab", administrator };
  expect(bench.submit("createTenant", bench.one, tenant).refused).toBe(ACCOUNT_EMAIL_IN_USE);
  const alone = bench.must("createTenant", bench.one, { ...tenant, administrator: null });
  expect(alone).toMatchObject({ name: "Three", tokenSha256: "ab", keyVersion: 1 });
});
