/** The invariants of the catalog: each is seen to fail on a catalog that breaks it. */
import { expect, test } from "vitest";
import type { Catalog } from "../../../engine/catalog.ts";
import { checkCatalog } from "../../../engine/verify.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";

const CLONE = "00000000-0000-4000-8000-0000000000c1";
const TOKENS = {
  tokenSha256: "a",
  tokenExpiresAtMs: 9e15,
  refreshSha256: "b",
  refreshExpiresAtMs: 9e15,
};

/** A row in nearly every table. */
function catalogState() {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { caller, schemaId, eventId, labels, engine } = world;
  const { id: seriesId } = world.must("createSeries", caller, { body: { name: "Ring" } });
  world.must("bindEvent", caller, { eventId, body: { seriesId } });
  const body = [{ name: "Gold", schemaId }];
  const [gold] = world.must("createZones", caller, { schemaId, body });
  const seats = [{ objectId: labels.idOf("A1"), assignmentId: gold!.id }];
  world.must("assignZones", caller, { schemaId, body: { seats } });
  world.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  const [accountId] = engine.state.catalog.accounts.keys();
  world.must("openLogin", caller, { accountId: accountId!, tokens: TOKENS });
  return engine.state;
}

/** Removes the first row of a table, but not from the indexes. */
function loseFirst<Key>(rows: Map<Key, unknown>): void {
  rows.delete([...rows.keys()][0]!);
}

/** Replaces members of the first row of a table, but not in the indexes. */
function changeFirst<Key, Row>(rows: Map<Key, Row>, members: Partial<Row>): void {
  const [key, row] = [...rows][0]!;
  rows.set(key, { ...row, ...members });
}

test.each<[invariant: string, corrupt: (catalog: Catalog) => unknown]>([
  ["an organization belongs to a tenant", ({ tenants }) => loseFirst(tenants)],
  ["an owner exists", ({ organizations }) => loseFirst(organizations)],
  [
    "an account belongs to organizations that exist",
    ({ accounts }) => changeFirst(accounts, { organizationIds: [999] }),
  ],
  ["a login belongs to an account", ({ logins }) => changeFirst(logins, { accountId: 999 })],
  ["a schema has a venue of its owner", ({ venues }) => loseFirst(venues)],
  ["an event is in a series of its owner", ({ series }) => loseFirst(series)],
  ["a price belongs to an event", ({ events }) => loseFirst(events)],
  ["a price has its own slot", ({ prices }) => changeFirst(prices, { slot: 2 })],
  [
    "a layout belongs to a schema",
    ({ layouts }) => layouts.set(999, { ...[...layouts.values()][0]!, id: 999 }),
  ],
  ["a pricing zone belongs to a schema", ({ zones }) => changeFirst(zones, { schemaId: 999 })],
  ["an assigned zone is one of the schema", ({ zones }) => loseFirst(zones)],
  [
    "an object with a zone is in the layout",
    ({ zoneAssignments }) => zoneAssignments.put({ ...[...zoneAssignments.values()][0]!, id: 999 }),
  ],
  [
    "a clone operation names the schema that it created",
    ({ clones }) => changeFirst(clones, { schemaId: 999 }),
  ],
  ["the key of a row is its id", ({ replies }) => replies.set("key", { id: "other" } as never)],
  ["an id was given out", (catalog) => (catalog.nextId = 1)],
])("a catalog that breaks it is found: %s", (invariant, corrupt) => {
  const state = catalogState();
  expect(() => checkCatalog(state)).not.toThrow();
  corrupt(state.catalog);
  expect(() => checkCatalog(state)).toThrow(invariant);
});
