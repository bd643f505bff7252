/** The invariants of the catalog: what a row names is there, and is of the same owner. */
import { assert } from "../assert.ts";
import type { State } from "../state.ts";

/** Cost: O(rows). @throws Broken naming the first invariant that does not hold. */
export function checkCatalog(state: State): void {
  checkOwners(state);
  checkPrices(state);
  checkZones(state);
}

function checkOwners({ catalog }: State): void {
  const { organizations, schemas, venues, series } = catalog;
  for (const { tenantId } of organizations.values()) {
    assert(catalog.tenants.has(tenantId), "an organization belongs to a tenant");
  }
  for (const table of [venues, schemas, series, catalog.events]) {
    for (const { organizationId } of table.values()) {
      assert(organizations.has(organizationId), "what is owned has an owner");
    }
  }
  for (const { organizationIds } of catalog.accounts.values()) {
    for (const id of organizationIds) {
      assert(organizations.has(id), "an account belongs to organizations that exist");
    }
  }
  for (const { accountId } of catalog.logins.values()) {
    assert(catalog.accounts.has(accountId), "a login belongs to an account");
  }
  for (const { venueId, organizationId } of schemas.values()) {
    const owner = venues.get(venueId)?.organizationId;
    assert(owner === organizationId, "a schema has a venue of its owner");
  }
  for (const { seriesId, organizationId } of catalog.events.values()) {
    const owner = series.get(seriesId ?? 0)?.organizationId;
    if (seriesId !== null) assert(owner === organizationId, "an event is in a series of its owner");
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
    assert(zones.get(zoneId)?.schemaId === schemaId, "what is assigned is a zone of the schema");
    const { groups, seatIndexes } = state.layoutOf(schemaId);
    assert(groups.has(id) || seatIndexes.has(id), "what has a zone is in the layout");
  }
  for (const { schemaId, organizationId } of clones.values()) {
    const owner = schemas.get(schemaId)?.organizationId;
    assert(owner === organizationId, "a clone operation names the schema that it made");
  }
}
