/**
 * Random requests about other things than inventory: zones, series, venues, schemas, organizations,
 * logins and keys. The model does not know them; their results are compared by replay.
 */
import type { Caller } from "../../../engine/bodies.ts";
import { administratorOf, organizationOf } from "../../support/engine.ts";
import { callerFor } from "./ask-booking.ts";
import { anyOf, type Ask, commandOf, eventsOf, type House, type Scene } from "./ask.ts";
import { SCHEMA_GA_CAPACITY, UNKNOWN_ID } from "./houses.ts";

/** Rows of one kind and organization in a run, at most. */
const ROWS_MAX = 3;

type Owned = { readonly id: number; readonly organizationId: number };

export function askZones(scene: Scene, house: House): Ask | null {
  const { random, state } = scene;
  const { schemaId } = house;
  const { caller, isForeign } = callerFor(scene, house, 8);
  const zones = [...state.catalog.zones.values()].filter((zone) => zone.schemaId === schemaId);
  const zone = anyOf(random, zones);
  const choice = random.below(8);
  if (zone === undefined || (choice < 2 && zones.length < ROWS_MAX)) {
    const body = [{ name: scene.nextName(), schemaId }];
    return { command: commandOf("createZones", caller, { schemaId, body }), isForeign };
  }
  if (choice < 3) {
    const body = [{ id: zone.id, name: scene.nextName(), schemaId }];
    return { command: commandOf("updateZones", caller, { schemaId, body }), isForeign };
  }
  if (choice < 4) {
    return { command: commandOf("deleteZone", caller, { schemaId, zoneId: zone.id }), isForeign };
  }
  const document = state.catalog.layouts.get(schemaId)!.document;
  const item = (objects: readonly { readonly id: number }[]) => ({
    objectId: anyOf(random, objects)?.id ?? UNKNOWN_ID,
    assignmentId: zone.id,
  });
  const body = { seats: [item(document.seats)], groupOfSeats: [item(document.sectors)] };
  return { command: commandOf("assignZones", caller, { schemaId, body }), isForeign };
}

export function askSeries(scene: Scene, house: House): Ask | null {
  const { random, state, model } = scene;
  const { caller, isForeign } = callerFor(scene, house, 8);
  const own = ownedBy(state.catalog.series.values(), house);
  const series = anyOf(random, own);
  const choice = random.below(6);
  if (series === undefined || (choice < 1 && own.length < ROWS_MAX)) {
    const body = { name: scene.nextName() };
    return { command: commandOf("createSeries", house.caller, { body }) };
  }
  if (choice < 2) {
    return { command: commandOf("deleteSeries", caller, { seriesId: series.id }), isForeign };
  }
  const eventId = anyOf(random, eventsOf(model, house.caller.organizationId));
  if (eventId === undefined) return null;
  const body = { seriesId: random.once(3) ? null : series.id };
  return { command: commandOf("bindEvent", caller, { eventId, body }), isForeign };
}

export function askCatalog(scene: Scene, house: House): Ask | null {
  const { random, state } = scene;
  const { caller, isForeign } = callerFor(scene, house, 8);
  const { venueId, schemaId } = house;
  const name = scene.nextName();
  const spares = ownedBy(state.catalog.schemas.values(), house).filter(
    ({ id }) => id !== schemaId && ![...scene.model.events.values()].some((e) => e.schema === id),
  );
  const spare = anyOf(random, spares);
  switch (random.below(6)) {
    case 0:
      return {
        command: commandOf("updateVenue", caller, { body: { id: venueId, name } }),
        isForeign,
      };
    case 1: {
      const body = { id: schemaId, venueId, name, gaCapacity: SCHEMA_GA_CAPACITY };
      return { command: commandOf("updateSchema", caller, { body }), isForeign };
    }
    case 2: {
      const venues = ownedBy(state.catalog.venues.values(), house);
      const other = anyOf(
        random,
        venues.filter(({ id }) => id !== venueId),
      );
      if (other === undefined || venues.length < ROWS_MAX) {
        return { command: commandOf("createVenue", house.caller, { body: { name } }) };
      }
      return { command: commandOf("deleteVenue", caller, { venueId: other.id }), isForeign };
    }
    case 3:
      if (spare === undefined) return null;
      return { command: commandOf("deleteSchema", caller, { schemaId: spare.id }), isForeign };
    default:
      if (spares.length >= ROWS_MAX) return null;
      return {
        command: commandOf("cloneSchema", caller, { schemaId, cloneId: uuidOf(name) }),
        isForeign,
      };
  }
}

export function askAccounts(scene: Scene, house: House): Ask | null {
  const { random, state } = scene;
  const { caller, tenant } = house;
  const { catalog } = state;
  const name = scene.nextName();
  const known = new Set(scene.houses.map((one) => one.caller.organizationId));
  const spare = anyOf(
    random,
    [...catalog.organizations.keys()].filter((id) => !known.has(id)),
  );
  const login = anyOf(random, catalog.logins.keys());
  const account = anyOf(random, catalog.accounts.keys());
  switch (random.below(8)) {
    case 0:
      if (catalog.organizations.size > known.size + 1) return null;
      return { command: commandOf("createOrganization", tenant, organizationOf(name)) };
    case 1:
      if (spare === undefined) return null;
      return { command: commandOf("deleteOrganization", tenant, { organizationId: spare }) };
    case 2: {
      const body = { id: caller.organizationId, name };
      return { command: commandOf("updateOrganization", tenant, { body }) };
    }
    case 3:
      return { command: commandOf("rotateOrganizationKey", caller, { body: {} }) };
    case 4:
      return {
        command: commandOf("configureSessions", caller, {
          body: { publicSessionsEnabled: random.once(2) },
        }),
      };
    case 5:
      if (login === undefined) return null;
      return { command: commandOf("closeLogin", NOBODY, { loginId: login }) };
    default: {
      if (account === undefined || catalog.logins.size > ROWS_MAX) return null;
      const tokens = {
        tokenSha256: `access ${name}`,
        tokenExpiresAtMs: 4_000_000_000_000,
        refreshSha256: `refresh ${name}`,
        refreshExpiresAtMs: 4_000_000_000_000,
      };
      const network = `network ${catalog.nextId % 20}`;
      return { command: commandOf("openLogin", NOBODY, { accountId: account, tokens, network }) };
    }
  }
}

export const NOBODY: Caller = {
  actor: { kind: 0, id: 0 },
  tenantId: 0,
  organizationId: 0,
};

export function createTenant(name: string): Ask {
  const administrator = administratorOf(`admin@${name}.example`);
  return {
    command: commandOf("createTenant", NOBODY, { name, tokenSha256: null, administrator }),
  };
}

export function uuidOf(name: string): string {
  return `00000000-0000-4000-9000-${name.padStart(12, "0")}`;
}

function ownedBy<Row extends Owned>(rows: Iterable<Row>, { caller }: House): Row[] {
  return [...rows].filter(({ organizationId }) => organizationId === caller.organizationId);
}
