/** Organizations: the five creation rules, settings. */
import { expect, test } from "vitest";
import type { AccountRow } from "../../../engine/catalog.ts";
import type { MembersOf } from "../../../engine/commands.ts";
import type { Caller } from "../../../engine/shapes/caller.ts";
import { Result } from "../../../engine/results.ts";
import { administratorOf, Bench, organizationOf, World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";

const accountsOf = (bench: Bench): AccountRow[] => [
  ...bench.engine.state.catalog.accounts.values(),
];

const create = (bench: Bench, tenant: Caller, command: MembersOf<"createOrganization">) =>
  bench.submit("createOrganization", tenant, command);

test("rule 2: an email that nobody uses makes a new account, the administrator", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const outcome = create(bench, tenant, organizationOf("House", "New@House.example"));
  expect(outcome).toMatchObject({ value: { name: "House", tenantId: tenant.tenantId } });
  const id = "value" in outcome ? outcome.value.id : 0;
  expect(accountsOf(bench).at(-1)).toMatchObject({
    email: "New@House.example",
    superAdminOf: null,
    organizationIds: [id],
  });
});

test("rules 1 and 3: the one account of that email is reused whatever the letter case", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  create(bench, tenant, organizationOf("First", "ada@house.example"));
  const before = accountsOf(bench).length;
  const second = organizationOf("Second", "ADA@House.EXAMPLE");
  const changed = { ...second.administrator!, passwordHash: "other", firstName: "Eve" };
  expect(create(bench, tenant, { ...second, administrator: changed }).refused).toBe(Result.OK);
  expect(accountsOf(bench)).toHaveLength(before);
  const account = accountsOf(bench).at(-1)!;
  expect(account).toMatchObject({ passwordHash: "hash", firstName: "Ada" });
  expect(account.organizationIds).toHaveLength(2);
});

test("rule 4: an account of another tenant is not reused, and nothing is created", () => {
  const bench = new Bench();
  const [first, second] = [bench.createTenant("One"), bench.createTenant("Two")];
  create(bench, first, organizationOf("House", "ada@house.example"));
  expect(create(bench, second, organizationOf("Hall", "Ada@house.example"))).toMatchObject({
    refused: Result.ACCOUNT_EMAIL_IN_USE,
    errors: [{ field: "email", rejectedValue: "Ada@house.example" }],
  });
  expect(bench.engine.state.catalog.organizations.size).toBe(1);
});

test("rule 4: a super admin's account is not reused, its own tenant's neither", () => {
  const bench = new Bench();
  const tenant = bench.createTenant("One");
  const refusal = create(bench, tenant, organizationOf("Hall", "admin@one.example"));
  expect(refusal.refused).toBe(Result.ACCOUNT_EMAIL_IN_USE);
});

test("rule 4: an account of no organization, or one of two of that email, is not reused", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  create(bench, tenant, organizationOf("House", "ada@house.example"));
  const { catalog } = bench.engine.state;
  const account = accountsOf(bench).at(-1)!;
  catalog.put({ table: "accounts", row: { ...account, organizationIds: [] } });
  const hall = organizationOf("Hall", "ada@house.example");
  expect(create(bench, tenant, hall).refused).toBe(Result.ACCOUNT_EMAIL_IN_USE);

  catalog.put({ table: "accounts", row: account });
  catalog.put({ table: "accounts", row: { ...account, id: 9_999, email: "ADA@house.example" } });
  expect(create(bench, tenant, hall).refused).toBe(Result.ACCOUNT_EMAIL_IN_USE);
});

test("an account with a foot in another tenant is not reused", () => {
  const bench = new Bench();
  const [first, second] = [bench.createTenant("One"), bench.createTenant("Two")];
  create(bench, first, organizationOf("House", "ada@house.example"));
  const outcome = create(bench, second, organizationOf("Hall", "bob@hall.example"));
  const foreign = "value" in outcome ? outcome.value.id : 0;
  const account = accountsOf(bench).find(({ email }) => email === "ada@house.example")!;
  const organizationIds = [...account.organizationIds, foreign];
  bench.engine.state.catalog.put({ table: "accounts", row: { ...account, organizationIds } });
  const third = create(bench, first, organizationOf("Third", "ada@house.example"));
  expect(third.refused).toBe(Result.ACCOUNT_EMAIL_IN_USE);
});

test("a look-alike letter outside ASCII is another address", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  create(bench, tenant, organizationOf("House", "kai@house.example"));
  // The Kelvin sign folds to k in Unicode; it must not take the account over.
  const outcome = create(bench, tenant, organizationOf("Hall", "\u212Aai@house.example"));
  expect(outcome.refused).toBe(Result.OK);
  const emails = accountsOf(bench).map(({ email }) => email.normalize("NFC"));
  expect(new Set(emails).size).toBe(emails.length);
});

test("an organization may be created without an administrator", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const before = accountsOf(bench).length;
  const command = { ...organizationOf("House"), administrator: null };
  expect(create(bench, tenant, command).refused).toBe(Result.OK);
  expect(accountsOf(bench)).toHaveLength(before);
});

test("a name is taken within the tenant only, and comes before the email", () => {
  const bench = new Bench();
  const [first, second] = [bench.createTenant("One"), bench.createTenant("Two")];
  create(bench, first, organizationOf("House", "ada@house.example"));
  expect(create(bench, first, organizationOf("House", "admin@one.example"))).toMatchObject({
    refused: Result.DUPLICATE_NAME,
    errors: [{ field: "name", code: "DUPLICATE", rejectedValue: "House" }],
  });
  expect(create(bench, second, organizationOf("House", "bob@house.example")).refused).toBe(
    Result.OK,
  );
});

test("ids of an organization and its new administrator are never given out again", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const ids = ["A", "B", "C"].map((name) => bench.createOrganization(tenant, name).organizationId);
  const all = [...ids, ...accountsOf(bench).map(({ id }) => id), tenant.tenantId];
  expect(new Set(all).size).toBe(all.length);
  expect(bench.engine.state.catalog.nextId).toBeGreaterThan(Math.max(...all));
});

test("settings change one by one and keep the rest", () => {
  const world = new World([section("Stalls", { A: "1" })]);
  const organization = () =>
    world.engine.state.catalog.organizations.get(world.caller.organizationId)!;
  const settings = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
  expect(organization()).toMatchObject(settings);
  world.change({ orphanPrevention: true });
  expect(organization()).toMatchObject({ ...settings, orphanPrevention: true });
  world.change({ salesControl: false });
  expect(organization()).toMatchObject({
    salesControl: false,
    bookingEnabled: true,
    orphanPrevention: true,
  });
  world.change({});
  expect(organization()).toMatchObject({ salesControl: false, orphanPrevention: true });
});

test("settings of nobody's organization are not found, of another tenant's denied", () => {
  const bench = new Bench();
  const [first, second] = [bench.createTenant("One"), bench.createTenant("Two")];
  const { organizationId } = bench.createOrganization(first);
  const body = { bookingEnabled: false };
  expect(bench.submit("changeSettings", second, { organizationId, body }).refused).toBe(
    Result.ACCESS_DENIED,
  );
  expect(bench.submit("changeSettings", second, { organizationId: 999, body }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
});

test("a second tenant cannot have the super admin of the first", () => {
  const bench = new Bench();
  const tenant = bench.createTenant("One");
  const again = {
    name: "Two",
    tokenSha256: "ab",
    administrator: administratorOf("ADMIN@one.example"),
  };
  expect(bench.submit("createTenant", tenant, again).refused).toBe(Result.ACCOUNT_EMAIL_IN_USE);
  const alone = bench.must("createTenant", tenant, { ...again, administrator: null });
  expect(alone).toMatchObject({ name: "Two", tokenSha256: "ab", keyVersion: 1 });
});
