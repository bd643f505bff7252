/** Venues: the places that schemas are drawn for. */
import { assert } from "../../assert.ts";
import type { VenueRow } from "../../catalog.ts";
import { ownRow } from "../../queries/access.ts";
import { type Decision, isRefused, missing, refuse, refuseInvalid, Result } from "../../results.ts";
import type { VenueBody } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";

export function createVenue(
  state: State,
  { caller, body }: CommandWith<{ body: VenueBody }>,
): Decision<VenueRow> {
  const { venues, nextId: id } = state.catalog;
  assert(!venues.has(id), "a new venue has a new id");
  const row = venueRow(id, caller.organizationId, body);
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "venues", row }] }, row);
}

/** Members that are left out get their defaults. */
export function updateVenue(
  state: State,
  { caller, body }: CommandWith<{ body: VenueBody }>,
): Decision<VenueRow> {
  if (body.id === null || body.id === undefined) return refuseInvalid([missing("id")]);
  const venue = ownRow(state.catalog.venues.get(body.id), caller, "venue");
  if (isRefused(venue)) return venue;
  const row = venueRow(venue.id, venue.organizationId, body);
  return grantChange(state, caller, { puts: [{ table: "venues", row }] }, row);
}

export function deleteVenue(
  state: State,
  { caller, venueId }: CommandWith<{ venueId: number }>,
): Decision<null> {
  const venue = ownRow(state.catalog.venues.get(venueId), caller, "venue");
  if (isRefused(venue)) return venue;
  for (const schema of state.catalog.schemas.values()) {
    if (schema.venueId !== venueId) continue;
    return refuse(Result.ENTITY_IN_USE, `The venue has schemas, for example ${schema.id}.`);
  }
  return grantChange(state, caller, { removes: [{ table: "venues", key: venueId }] }, null);
}

function venueRow(id: number, organizationId: number, body: VenueBody): VenueRow {
  assert(id > 0, "a venue has an id of its own");
  return {
    id,
    organizationId,
    name: body.name,
    address: body.address ?? null,
    lat: body.lat ?? null,
    lng: body.lng ?? null,
    draft: body.draft ?? false,
  };
}
