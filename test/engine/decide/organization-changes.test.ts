/** Organizations: updated, and deleted with everything that they own. */
import { expect, test } from "vitest";
import { Result } from "../../../engine/results.ts";
import { organizationOf, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { expectConsistent } from "../../support/table.ts";

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
  world.must("openLogin", caller, { accountId: account.id, tokens: TOKENS });
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
