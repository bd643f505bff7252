/** The invariants of the catalog: each is seen to fail on a catalog that breaks it. */
import { expect, test } from "vitest";
import type { Catalog } from "../../../engine/catalog.ts";
import { checkCatalog } from "../../../engine/verify/check-catalog.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";

const CLONE = "00000000-0000-4000-8000-0000000000c1";

/** One row in each table. */
function world(): World {
  const made = new World([section("Stalls", { A: "1 2" })]);
  const { caller, schemaId, eventId, labels } = made;
  const { id: seriesId } = made.must("createSeries", caller, { body: { name: "Ring" } });
  made.must("bindEvent", caller, { eventId, body: { seriesId } });
  const body = [{ name: "Gold", schemaId }];
  const [gold] = made.must("createZones", caller, { schemaId, body });
  const seats = [{ objectId: labels.idOf("A1"), assignmentId: gold!.id }];
  made.must("assignZones", caller, { schemaId, body: { seats } });
  made.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  return made;
}

test("the catalog that the corruptions start from is whole", () => {
  expect(() => checkCatalog(world().engine.state)).not.toThrow();
});

/** Takes the first row of a table away without its index. */
function loseFirst(rows: Map<number | string, unknown>): void {
  rows.delete([...rows.keys()][0]!);
}

test.each<[broken: string, corrupt: (catalog: Catalog, made: World) => unknown]>([
  ["an organization belongs to a tenant", ({ tenants }) => loseFirst(tenants)],
  ["what is owned has an owner", ({ organizations }) => loseFirst(organizations)],
  [
    "an account belongs to organizations that exist",
    ({ accounts }) => {
      const account = [...accounts.values()][0]!;
      accounts.set(account.id, { ...account, organizationIds: [999] });
    },
  ],
  [
    "a login belongs to an account",
    ({ accounts }, made) => {
      const [accountId] = accounts.keys();
      const end = { tokenExpiresAtMs: 9e15, refreshExpiresAtMs: 9e15 };
      const tokens = { tokenSha256: "a", refreshSha256: "b", ...end };
      made.must("openLogin", made.caller, { accountId: accountId!, tokens });
      accounts.delete(accountId!);
    },
  ],
  ["a schema has a venue of its owner", ({ venues }) => loseFirst(venues)],
  ["an event is in a series of its owner", ({ series }) => loseFirst(series)],
  ["a price belongs to an event", ({ events }) => loseFirst(events)],
  [
    "a price has its own slot",
    ({ prices }) => {
      const price = [...prices.values()][0]!;
      prices.set(price.id, { ...price, slot: 2 });
    },
  ],
  [
    "a layout belongs to a schema",
    ({ layouts }) => layouts.set(999, { id: 999, document: [...layouts.values()][0]!.document }),
  ],
  [
    "a pricing zone belongs to a schema",
    ({ zones }) => zones.set(999, { id: 999, schemaId: 998, name: "Lost" }),
  ],
  ["what is assigned is a zone of the schema", ({ zones }) => loseFirst(zones)],
  [
    "what has a zone is in the layout",
    ({ zoneAssignments }) => {
      const assignment = [...zoneAssignments.values()][0]!;
      zoneAssignments.set(999, { ...assignment, id: 999 });
    },
  ],
  [
    "a clone operation names the schema that it made",
    ({ clones }) => clones.set(CLONE, { ...clones.get(CLONE)!, schemaId: 999 }),
  ],
])("%s", (broken, corrupt) => {
  const made = world();
  corrupt(made.engine.state.catalog, made);
  expect(() => checkCatalog(made.engine.state)).toThrow(broken);
});
