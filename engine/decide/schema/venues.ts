/** Venues: where schemas are drawn for. */
import type { VenueRow } from "../../catalog.ts";
import type { CommandOf, VenueBody } from "../../commands.ts";
import { isRefusal, ownRow } from "../../queries/access.ts";
import { type Decision, grant, refuse, refuseInvalid, Result, missing } from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";

export function createVenue(
  state: State,
  { caller, body }: CommandOf<"createVenue">,
): Decision<VenueRow> {
  const id = state.catalog.nextId;
  const row = venueRow(id, caller.organizationId, body);
  return grant(catalogRecord(caller, { nextId: id + 1, puts: [{ table: "venues", row }] }), row);
}

/** @returns VALIDATION_FAILED, ENTITY_NOT_FOUND or ACCESS_DENIED; else the venue. */
export function updateVenue(
  state: State,
  { caller, body }: CommandOf<"updateVenue">,
): Decision<VenueRow> {
  if (body.id === null || body.id === undefined) return refuseInvalid([missing("id")]);
  const venue = ownRow(state.catalog.venues.get(body.id), caller, "venue");
  if (isRefusal(venue)) return venue;
  const row = venueRow(venue.id, venue.organizationId, body);
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "venues", row }] }), row);
}

/** @returns ENTITY_NOT_FOUND, ACCESS_DENIED, or ENTITY_IN_USE while the venue has schemas. */
export function deleteVenue(
  state: State,
  { caller, venueId }: CommandOf<"deleteVenue">,
): Decision<null> {
  const venue = ownRow(state.catalog.venues.get(venueId), caller, "venue");
  if (isRefusal(venue)) return venue;
  for (const schema of state.catalog.schemas.values()) {
    if (schema.venueId !== venueId) continue;
    return refuse(Result.ENTITY_IN_USE, `The venue has schemas, for example ${schema.id}.`);
  }
  const { nextId } = state.catalog;
  return grant(
    catalogRecord(caller, { nextId, removes: [{ table: "venues", key: venueId }] }),
    null,
  );
}

function venueRow(id: number, organizationId: number, body: VenueBody): VenueRow {
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
