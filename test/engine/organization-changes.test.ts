/** Organizations changed and deleted with all that they own; keys rotated; sessions switched on. */
import { expect, test } from "vitest";
import { checkState } from "../../engine/check.ts";
import { digest } from "../../engine/digest.ts";
import { Result } from "../../engine/results.ts";
import { organizationOf, replayed, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkMore } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];

const rowOf = (world: World, id = world.caller.organizationId) =>
  world.engine.state.catalog.organizations.get(id)!;

test("an update replaces what it may and keeps keys, tenant and settings", () => {
  const world = new World(HALL, { settings: { orphanPrevention: true } });
  const { tenant, caller } = world;
  const before = rowOf(world);
  const body = {
    id: caller.organizationId,
    name: "New",
    type: "VENUE",
    domain: "x.example",
  } as const;
  world.must("updateOrganization", tenant, { body });
  expect(rowOf(world)).toEqual({ ...before, name: "New", type: "VENUE", domain: "x.example" });
  world.must("updateOrganization", tenant, { body: { id: body.id, name: "New" } });
  expect(rowOf(world)).toEqual({ ...before, name: "New" });
});

test("an organization cannot take another's name, nor be changed by another tenant", () => {
  const world = new World(HALL);
  const foreign = world.createTenant("Foreign");
  world.createOrganization(world.tenant, "Other");
  const { organizationId: id } = world.caller;
  const update = (tenant = world.tenant, body = { id, name: "Other" }) =>
    world.submit("updateOrganization", tenant, { body }).refused;
  expect(update()).toBe(Result.DUPLICATE_NAME);
  expect(update(world.tenant, { id, name: "Organization" })).toBe(Result.OK);
  expect(update(foreign)).toBe(Result.ACCESS_DENIED);
  expect(update(world.tenant, { id: 999, name: "X" })).toBe(Result.ENTITY_NOT_FOUND);
  const remove = (tenant = world.tenant, organizationId = id) =>
    world.submit("deleteOrganization", tenant, { organizationId }).refused;
  expect(remove(foreign)).toBe(Result.ACCESS_DENIED);
  expect(remove(world.tenant, 999)).toBe(Result.ENTITY_NOT_FOUND);
});

test("an organization goes with all that it owns and nothing of others", () => {
  const world = new World(HALL);
  const { tenant, caller, schemaId, eventId } = world;
  const other = world.createOrganization(tenant, "Other");
  world.must("createVenue", other, { body: { name: "Theirs" } });
  const series = world.must("createSeries", caller, { body: { name: "Ring" } });
  world.must("bindEvent", caller, { eventId, body: { seriesId: series.id } });
  world.must("createZones", caller, { schemaId, body: [{ name: "Gold", schemaId }] });
  const cloneId = "22222222-2222-4222-8222-222222222222";
  world.must("cloneSchema", caller, { schemaId, cloneId });
  checkMore(
    world,
    `
    block   -  A1             ok
    lock    A  A2             ok
    wait    15m
    `,
  );
  world.must("deleteOrganization", tenant, { organizationId: caller.organizationId });
  const { state } = world.engine;
  checkState(state);
  const { catalog } = state;
  expect([...catalog.organizations.keys()]).toEqual([other.organizationId]);
  expect([...catalog.venues.values()].map(({ name }) => name)).toEqual(["Theirs"]);
  const { schemas, layouts, zones, clones, events, prices, series: rings } = catalog;
  for (const table of [schemas, layouts, zones, clones, events, prices, rings]) {
    expect(table.size).toBe(0);
  }
  expect(digest(replayed(world.journal))).toBe(digest(state));
});

test("an organization whose events hold or sold something stays", () => {
  const world = new World(HALL);
  const { tenant, caller } = world;
  const { organizationId } = caller;
  const remove = () => world.submit("deleteOrganization", tenant, { organizationId }).refused;
  checkMore(world, `lock  A  A1  ok`);
  expect(remove()).toBe(Result.ENTITY_IN_USE);
  checkMore(world, `sale  A  A1  ok`);
  expect(remove()).toBe(Result.ENTITY_IN_USE);
  checkMore(world, `revertsale  -  A1  ok`);
  expect(remove()).toBe(Result.OK);
});

test("an account left without an organization goes with its logins, others lose one", () => {
  const world = new World(HALL);
  const { tenant } = world;
  const create = (name: string, email: string) =>
    world.must("createOrganization", tenant, organizationOf(name, email)).id;
  const alone = create("Alone", "ada@house.example");
  const both = create("Both", "bob@house.example");
  const second = create("Second", "bob@house.example");
  const { catalog } = world.engine.state;
  const accountOf = (email: string) =>
    [...catalog.accounts.values()].find((account) => account.email === email);
  const tokens = {
    tokenSha256: "t",
    tokenExpiresAtMs: 9e12,
    refreshSha256: "r",
    refreshExpiresAtMs: 9e12,
  };
  const accountId = accountOf("ada@house.example")!.id;
  world.must("openLogin", tenant, { accountId, tokens });
  expect(catalog.loginOf("t")).toBeDefined();
  for (const organizationId of [alone, both]) {
    world.must("deleteOrganization", tenant, { organizationId });
  }
  expect(accountOf("ada@house.example")).toBeUndefined();
  expect([catalog.loginOf("t"), catalog.loginOf("r")]).toEqual([undefined, undefined]);
  expect(accountOf("bob@house.example")!.organizationIds).toEqual([second]);
  expect(create("Alone", "ADA@house.example")).toBeGreaterThan(second);
  checkState(world.engine.state);
});

test("public sessions stay off until they are switched on", () => {
  const world = new World(HALL);
  expect(rowOf(world).publicSessionsEnabled).toBe(false);
  for (const publicSessionsEnabled of [true, false]) {
    world.must("configureSessions", world.caller, { body: { publicSessionsEnabled } });
    expect(rowOf(world).publicSessionsEnabled).toBe(publicSessionsEnabled);
  }
});

test("a rotated key has a new version; the old one is kept for its grace, or not at all", () => {
  const world = new World(HALL);
  const { caller } = world;
  world.must("rotateOrganizationKey", caller, { body: {} });
  expect(rowOf(world)).toMatchObject({ keyVersion: 2, retiredKey: null });
  const rotated = world.must("rotateOrganizationKey", caller, { body: { graceSeconds: 60 } });
  expect(rotated).toMatchObject({
    keyVersion: 3,
    retiredKey: { keyVersion: 2, validUntilMs: world.clock.timeMs + 60_000 },
  });
});

test("a tenant's token that was given is derived once it is rotated", () => {
  const world = new World(HALL);
  const { catalog } = world.engine.state;
  const given = world.must("createTenant", world.tenant, {
    name: "Given",
    tokenSha256: "abc",
    administrator: null,
  });
  const caller = { ...world.tenant, tenantId: given.id };
  world.must("rotateTenantToken", caller, { body: { graceSeconds: 5 } });
  expect(catalog.tenants.get(given.id)).toMatchObject({
    tokenSha256: null,
    keyVersion: 2,
    retiredKey: {
      tokenSha256: "abc",
      validUntilMs: world.clock.timeMs + 5e3,
    },
  });
  world.must("rotateTenantToken", caller, { body: {} });
  expect(catalog.tenants.get(given.id)).toMatchObject({ keyVersion: 3, retiredKey: null });
});
