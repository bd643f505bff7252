/** The invariants of the catalog: the objects that a row names exist and have the same owner. */
import { assert } from "../assert.ts";
import { TABLES } from "../catalog.ts";
import { cellOf } from "../cells/ranges.ts";
import type { State } from "../state.ts";

/** Cost: O(rows). @throws Broken naming the first invariant that does not hold. */
export function checkCatalog(state: State): void {
  checkOwners(state);
  checkLogins(state);
  checkPrices(state);
  checkZones(state);
  checkIds(state);
}

function checkOwners({ catalog }: State): void {
  const { organizations, schemas, venues, series } = catalog;
  for (const { tenantId } of organizations.values()) {
    assert(catalog.tenants.has(tenantId), "an organization belongs to a tenant");
  }
  for (const table of [venues, schemas, series, catalog.events, catalog.webhooks]) {
    for (const { organizationId } of table.values()) {
      assert(organizations.has(organizationId), "an owner exists");
    }
  }
  for (const { venueId, organizationId } of schemas.values()) {
    const owner = venues.get(venueId)?.organizationId;
    assert(owner === organizationId, "a schema has a venue of its owner");
  }
  for (const { seriesId, organizationId } of catalog.events.values()) {
    const owner = seriesId === null ? organizationId : series.get(seriesId)?.organizationId;
    assert(owner === organizationId, "an event is in a series of its owner");
  }
}

function checkLogins({ catalog }: State): void {
  const { accounts, organizations, logins } = catalog;
  for (const { organizationIds } of accounts.values()) {
    const doExist = organizationIds.every((id) => organizations.has(id));
    assert(doExist, "an account belongs to organizations that exist");
  }
  for (const { accountId } of logins.values()) {
    assert(accounts.has(accountId), "a login belongs to an account");
  }
}

function checkPrices({ catalog }: State): void {
  for (const price of catalog.prices.values()) {
    assert(catalog.events.has(price.eventId), "a price belongs to an event");
    assert(catalog.pricesOf(price.eventId).get(price.slot) === price, "a price has its own slot");
  }
}

function checkZones(state: State): void {
  const { layouts, schemas, zones, zoneAssignments, clones } = state.catalog;
  for (const layout of layouts.values()) {
    assert(schemas.has(layout.id), "a layout belongs to a schema");
  }
  for (const zone of zones.values()) {
    assert(schemas.has(zone.schemaId), "a pricing zone belongs to a schema");
  }
  for (const { id, schemaId, zoneId } of zoneAssignments.values()) {
    assert(zones.get(zoneId)?.schemaId === schemaId, "an assigned zone is one of the schema");
    const { groups, seatIndexes } = state.layoutOf(schemaId);
    assert(groups.has(id) || seatIndexes.has(id), "an object with a zone is in the layout");
  }
  for (const { schemaId, organizationId } of clones.values()) {
    const owner = schemas.get(schemaId)?.organizationId;
    assert(owner === organizationId, "a clone operation names the schema that it created");
  }
}

function checkIds({ catalog }: State): void {
  const cell = cellOf(catalog.nextId);
  for (const name of TABLES) {
    const table: ReadonlyMap<unknown, { readonly id: number | string }> = catalog[name];
    for (const [key, { id }] of table) {
      assert(key === id, "the key of a row is its id");
      const isGivenOut = typeof id === "string" || id < catalog.nextId || cellOf(id) !== cell;
      assert(isGivenOut, "an id was given out");
    }
  }
}
