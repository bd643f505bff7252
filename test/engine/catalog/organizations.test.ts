/** Organizations: who may become their administrator, and their settings. */
import { expect, test } from "vitest";
import type { AccountRow } from "../../../engine/catalog.ts";
import { LOGINS_PER_ACCOUNT_MAX, NETWORKS_PER_ACCOUNT_MAX } from "../../../engine/constants.ts";
import { emailKey } from "../../../engine/names.ts";
import { accountsByEmail } from "../../../engine/queries/access.ts";
import { Result } from "../../../engine/results.ts";
import { checkState } from "../../../engine/verify.ts";
import { administratorOf, Bench, organizationOf, START_MS, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { expectConsistent } from "../../support/table.ts";

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
  world.change({ heldPerSession: 4, heldPerEvent: 8 });
  world.change({ heldPerSession: 0 });
  expectSettings({ salesControl: false, bookingEnabled: true, heldPerEvent: 8 });
  const { organizationId } = world.caller;
  expect(organizations.get(organizationId)).not.toHaveProperty("heldPerSession");
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

// Organizations: updated, and deleted with everything they own.

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];

const TOKENS = {
  tokenSha256: "a".repeat(64),
  tokenExpiresAtMs: 9e15,
  refreshSha256: "b".repeat(64),
  refreshExpiresAtMs: 9e15,
};

/** The account with this email. */
function accountOf(world: World, email: string) {
  return [...world.engine.state.catalog.accounts.values()].find((row) => row.email === email);
}

test("an update replaces the organization, except its keys and settings", () => {
  const world = new World(HALL, { settings: { orphanPrevention: true } });
  const { tenant, caller } = world;
  const { organizations } = world.engine.state.catalog;
  const before = organizations.get(caller.organizationId)!;
  const body = { id: before.id, name: "New", domain: "new.example", type: "VENUE" } as const;
  const expected = { ...before, name: "New", domain: "new.example", type: "VENUE" };
  const forged = { ...body, publicKey: "x", privateKey: "y", tenantId: 99, keyVersion: 9 };
  expect(world.must("updateOrganization", tenant, { body: forged })).toEqual(expected);
  expect(
    world.must("updateOrganization", tenant, { body: { id: before.id, name: "New" } }),
  ).toEqual({ ...expected, domain: null, type: "DEFAULT" });
  expectConsistent(world);
});

test("a name that another organization of the tenant has is refused", () => {
  const world = new World(HALL);
  const { tenant, caller } = world;
  world.createOrganization(tenant, "Second");
  const elsewhere = world.createTenant("Elsewhere");
  world.createOrganization(elsewhere, "Third");
  const id = caller.organizationId;
  const rename = (name: string) =>
    world.submit("updateOrganization", tenant, { body: { id, name } });
  expect(rename("Second")).toMatchObject({
    refused: Result.DUPLICATE_NAME,
    errors: [{ field: "name", code: "DUPLICATE" }],
  });
  expect(rename("Third").refused).toBe(Result.OK);
  expect(rename("Third").refused).toBe(Result.OK);
});

test("public sessions are off until they are switched on", () => {
  const world = new World(HALL);
  const { tenantId } = world.tenant;
  const caller = { ...world.tenant, tenantId, organizationId: world.caller.organizationId };
  const { organizations } = world.engine.state.catalog;
  const isOn = () => organizations.get(caller.organizationId)!.publicSessionsEnabled;
  expect(isOn()).toBe(false);
  world.must("configureSessions", caller, { body: { publicSessionsEnabled: true } });
  expect(isOn()).toBe(true);
  expectConsistent(world);
});

test("a deleted organization takes everything with it that it owns, and nothing else", () => {
  const world = new World(HALL);
  const { tenant, caller, schemaId, eventId } = world;
  const other = world.createOrganization(tenant, "Other");
  world.must("createVenue", other, { body: { name: "Kept" } });
  const { id: seriesId } = world.must("createSeries", caller, { body: { name: "Ring" } });
  world.must("bindEvent", caller, { eventId, body: { seriesId } });
  const cloneId = "00000000-0000-4000-8000-0000000000c1";
  world.must("cloneSchema", caller, { schemaId, cloneId });
  const body = [{ name: "Gold", schemaId }];
  const [gold] = world.must("createZones", caller, { schemaId, body });
  const seats = [{ objectId: world.labels.idOf("A1"), assignmentId: gold!.id }];
  world.must("assignZones", caller, { schemaId, body: { seats } });
  const hook = { url: "https://odeon.example/hook", events: ["change" as const] };
  world.must("createWebhook", caller, { body: hook });
  world.book("block", world.selection(null, "A1", "Pit:1"));

  world.must("deleteOrganization", tenant, { organizationId: caller.organizationId });
  const { catalog, partitions, layouts } = world.engine.state;
  expect([...catalog.organizations.keys()]).toEqual([other.organizationId]);
  expect([...catalog.venues.values()].map(({ name }) => name)).toEqual(["Kept"]);
  const { schemas, zones, zoneAssignments, clones, series, events, prices, webhooks } = catalog;
  const ofSchemas = [schemas, zones, zoneAssignments, clones];
  for (const table of [...ofSchemas, series, events, prices, webhooks]) {
    expect(table.size).toBe(0);
  }
  expect([catalog.layouts.size, layouts.size, partitions.size]).toEqual([0, 0, 0]);
  expectConsistent(world);
});

test("an account is deleted with its only organization, and its email is free again", () => {
  const world = new World(HALL);
  const { tenant, caller } = world;
  const email = "organization@house.example";
  const account = accountOf(world, email)!;
  world.must("openLogin", caller, { accountId: account.id, tokens: TOKENS, network: "home" });
  world.must("deleteOrganization", tenant, { organizationId: caller.organizationId });
  expect(accountOf(world, email)).toBeUndefined();
  expect(world.engine.state.catalog.logins.size).toBe(0);
  world.must("createOrganization", tenant, organizationOf("Organization"));
  expectConsistent(world);
});

test("an account with another organization stays, and so does a super admin", () => {
  const world = new World(HALL);
  const { tenant, caller } = world;
  const email = "organization@house.example";
  const second = world.must("createOrganization", tenant, organizationOf("Second", email));
  const row = accountOf(world, "admin@tenant.example")!;
  const organizationIds = [caller.organizationId];
  world.engine.state.catalog.put({ table: "accounts", row: { ...row, organizationIds } });
  world.must("deleteOrganization", tenant, { organizationId: caller.organizationId });
  expect(accountOf(world, email)).toMatchObject({ organizationIds: [second.id] });
  expect(accountOf(world, "admin@tenant.example")).toBeDefined();
  expectConsistent(world);
});

test.each(["A1", "Pit:1"])(
  "an organization cannot be deleted while %s is held or sold",
  (object) => {
    for (const kind of ["lock", "directsale"] as const) {
      const world = new World(HALL);
      const { tenant, caller } = world;
      const { organizationId } = caller;
      world.book(kind, world.selection("A", object));
      expect(world.submit("deleteOrganization", tenant, { organizationId }).refused).toBe(
        Result.ENTITY_IN_USE,
      );
      world.clock.timeMs += 900_000;
      expect(world.submit("deleteOrganization", tenant, { organizationId }).refused).toBe(
        kind === "lock" ? Result.OK : Result.ENTITY_IN_USE,
      );
      expectConsistent(world);
    }
  },
);

// Accounts and their logins.

const tokens = (name: string, endsMs: number) => ({
  tokenSha256: `token ${name}`,
  tokenExpiresAtMs: START_MS,
  refreshSha256: `refresh ${name}`,
  refreshExpiresAtMs: endsMs,
});

test("emails that differ only in letter case or Unicode composition are equal", () => {
  expect(emailKey("Ada@House.Example")).toBe(emailKey("ada@house.example"));
  expect(emailKey("ame\u0301lie@x.example")).toBe(emailKey("am\u00E9lie@x.example"));
  expect(emailKey("\u00C9@x.example")).toBe(emailKey("\u00E9@x.example"));
  expect(emailKey("e@x.example")).not.toBe(emailKey("\u00E9@x.example"));
});

test("an account is found by its email", () => {
  const bench = new Bench();
  bench.createTenant("One");
  bench.createTenant("Two");
  const found = accountsByEmail(bench.engine.state, "ADMIN@two.example");
  expect(found.map(({ email }) => email)).toEqual(["admin@two.example"]);
  expect(accountsByEmail(bench.engine.state, "nobody@two.example")).toEqual([]);
});

test("a login is opened, renewed in place, and closed only once", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const { logins } = bench.engine.state.catalog;
  const login = bench.must("openLogin", tenant, {
    accountId: 2,
    tokens: tokens("first", START_MS + 10),
    network: "home",
  });
  expect(logins.get(login.id)).toMatchObject({ accountId: 2, tokenSha256: "token first" });
  const renewed = bench.must("renewLogin", tenant, {
    loginId: login.id,
    tokens: tokens("second", START_MS + 20),
    network: "home",
  });
  expect(renewed).toMatchObject({ id: login.id, accountId: 2, refreshSha256: "refresh second" });
  expect(logins.size).toBe(1);
  bench.must("closeLogin", tenant, { loginId: login.id });
  expect(logins.size).toBe(0);
  for (const outcome of [
    bench.submit("closeLogin", tenant, { loginId: login.id }),
    bench.submit("renewLogin", tenant, {
      loginId: login.id,
      tokens: tokens("third", START_MS),
      network: "home",
    }),
  ]) {
    expect(outcome.refused).toBe(Result.ENTITY_NOT_FOUND);
  }
});

test("logins that a caller opens with the same hashes can be closed", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const open = () =>
    bench.must("openLogin", tenant, {
      accountId: 2,
      tokens: tokens("same", START_MS + 10),
      network: "home",
    }).id;
  for (const loginId of [open(), open()]) {
    expect(() => checkState(bench.engine.state)).not.toThrow();
    bench.must("closeLogin", tenant, { loginId });
  }
  expect(bench.engine.state.catalog.logins.size).toBe(0);
});

test("opening a login removes the expired logins of the same account, and no others", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  bench.createTenant("Other");
  const [first, second] = [...bench.engine.state.catalog.accounts.keys()];
  const open = (accountId: number, name: string, endsMs: number) =>
    bench.must("openLogin", tenant, { accountId, tokens: tokens(name, endsMs), network: "home" });
  const nobody = { accountId: 99, tokens: tokens("nobody", START_MS + 10), network: "home" };
  expect(bench.submit("openLogin", tenant, nobody).refused).toBe(Result.ENTITY_NOT_FOUND);
  open(first!, "over", START_MS + 10);
  open(first!, "alive", START_MS + 11);
  open(second!, "other", START_MS + 10);
  bench.clock.timeMs += 10;
  open(first!, "new", START_MS + 50);
  const names = [...bench.engine.state.catalog.logins.values()].map((login) => login.tokenSha256);
  expect(names).toEqual(["token alive", "token other", "token new"]);
});

test("an account has a thousand logins at most: the oldest is closed for the next one", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  bench.createTenant("Other");
  const { accounts, logins } = bench.engine.state.catalog;
  const [first, second] = [...accounts.keys()];
  const open = (accountId: number, name: string) =>
    bench.must("openLogin", tenant, {
      accountId,
      tokens: tokens(name, START_MS + 10),
      network: "home",
    }).id;
  const other = open(second!, "other");
  const ids = Array.from({ length: LOGINS_PER_ACCOUNT_MAX }, (_, i) => open(first!, `login ${i}`));
  expect(logins.size).toBe(LOGINS_PER_ACCOUNT_MAX + 1);
  const newest = open(first!, "newest");
  expect([...logins.keys()]).toEqual([other, ...ids.slice(1), newest]);
});

test("a 17th network of an account → the one of longest ago is forgotten", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const { catalog } = bench.engine.state;
  const [accountId] = catalog.accounts.keys();
  const open = (network: string, endsMs = START_MS + 10) =>
    bench.must("openLogin", tenant, { accountId: accountId!, tokens: tokens("", endsMs), network });
  const networks = () => catalog.accounts.get(accountId!)!.networks!.map(({ hash }) => hash);
  for (let i = 0; i < NETWORKS_PER_ACCOUNT_MAX; i++) open(`network ${i}`);
  expect([networks().length, catalog.knownNetworks]).toEqual([16, 16]);
  open("network 0");
  open("new");
  expect(networks()).not.toContain("network 1");
  expect(networks().slice(-2)).toEqual(["network 0", "new"]);
  expect(catalog.knownNetworks).toBe(16);
  checkState(bench.engine.state);
  // Those that have ended go with the next login.
  bench.clock.timeMs += 10;
  open("later", START_MS + 20);
  expect([networks(), catalog.knownNetworks]).toEqual([["later"], 1]);
  bench.must("closeLogin", tenant, { loginId: [...catalog.logins.keys()][0]! });
  expect(networks()).toEqual(["later"]);
});

test("a renewed login → its network is known until the new refresh token ends", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const { catalog } = bench.engine.state;
  const first = { accountId: 2, tokens: tokens("a", START_MS + 10), network: "home" };
  const { id: loginId } = bench.must("openLogin", tenant, first);
  bench.must("renewLogin", tenant, {
    loginId,
    tokens: tokens("b", START_MS + 20),
    network: "office",
  });
  expect(catalog.accounts.get(2)?.networks).toEqual([
    { hash: "home", untilMs: START_MS + 10 },
    { hash: "office", untilMs: START_MS + 20 },
  ]);
});

// Key rotation: the version increases, and the previous key stays valid for its grace period.

test("a rotation increases the version and retires the previous key for its grace period", () => {
  const world = new World(HALL);
  const rotate = (graceSeconds?: number) =>
    world.must("rotateOrganizationKey", world.caller, { body: { graceSeconds } });
  expect(rotate()).toMatchObject({ keyVersion: 2, retiredKey: null });
  expect(rotate(60)).toMatchObject({
    keyVersion: 3,
    retiredKey: { keyVersion: 2, tokenSha256: null, validUntilMs: START_MS + 60_000 },
  });
  expect(rotate(0)).toMatchObject({ keyVersion: 4, retiredKey: null });
  expectConsistent(world);
});

test("rotating an initial token retires its hash, and the new token is derived", () => {
  const world = new World(HALL);
  const { actor } = world.tenant;
  const nobody = { actor, tenantId: 0, organizationId: 0 };
  const tokenSha256 = "a".repeat(64);
  const given = { name: "Given", tokenSha256, administrator: null };
  const { id: tenantId } = world.must("createTenant", nobody, given);
  const caller = { actor, tenantId, organizationId: 0 };
  const body = { graceSeconds: 1 };
  expect(world.must("rotateTenantToken", caller, { body })).toEqual({
    id: tenantId,
    name: "Given",
    tokenSha256: null,
    keyVersion: 2,
    retiredKey: { keyVersion: 1, tokenSha256, validUntilMs: START_MS + 1_000 },
  });
  expect(world.must("rotateTenantToken", caller, { body })).toMatchObject({
    retiredKey: { keyVersion: 2, tokenSha256: null },
  });
  expectConsistent(world);
});
