/** Schemas: the seating plans of a venue. Their layout is put apart (`layouts.ts`). */
import type { SchemaRow } from "../../catalog.ts";
import type { CommandOf, SchemaBody } from "../../commands.ts";
import { isRefusal, ownRow } from "../../queries/access.ts";
import {
  type Decision,
  grant,
  refuse,
  refuseInvalid,
  Result,
  missing,
  notFound,
} from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";
import { isHeldOrSold } from "../inventory-in-use.ts";
import { removesOfSchema } from "../removals.ts";

/** @returns VALIDATION_FAILED when the venue is not the organization's; else the schema. */
export function createSchema(
  state: State,
  { caller, body }: CommandOf<"createSchema">,
  timeMs: number,
): Decision<SchemaRow> {
  const venue = state.catalog.venues.get(body.venueId);
  if (venue?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("venueId", body.venueId, "venue")]);
  }
  const id = state.catalog.nextId;
  const row = { ...schemaRow(id, caller.organizationId, body), updatedAtMs: timeMs };
  return grant(catalogRecord(caller, { nextId: id + 1, puts: [{ table: "schemas", row }] }), row);
}

/**
 * What is not sent becomes as in a new schema. The layout stays, and so do its events.
 *
 * @returns VALIDATION_FAILED, ENTITY_NOT_FOUND or ACCESS_DENIED; else the schema.
 */
export function updateSchema(
  state: State,
  { caller, body }: CommandOf<"updateSchema">,
  timeMs: number,
): Decision<SchemaRow> {
  if (body.id === null || body.id === undefined) return refuseInvalid([missing("id")]);
  const { schemas, venues, nextId } = state.catalog;
  if (venues.get(body.venueId)?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("venueId", body.venueId, "venue")]);
  }
  const schema = ownRow(schemas.get(body.id), caller, "schema");
  if (isRefusal(schema)) return schema;
  const row = { ...schemaRow(schema.id, schema.organizationId, body), updatedAtMs: timeMs };
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "schemas", row }] }), row);
}

/**
 * With its layout, zones and assignments. Its events stay, without a seat; what is BLOCKED in them
 * is lost.
 *
 * @returns ENTITY_NOT_FOUND, ACCESS_DENIED, or INVENTORY_IN_USE while something is LOCKED or SOLD
 * in one of its events. Cost: O(seats of the schema × its events).
 */
export function deleteSchema(
  state: State,
  { caller, schemaId }: CommandOf<"deleteSchema">,
): Decision<null> {
  const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
  if (isRefusal(schema)) return schema;
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId || !isHeldOrSold(state.partitionOf(event))) continue;
    const detail = `Seats or places are held or sold, for example in event ${event.id}.`;
    return refuse(Result.INVENTORY_IN_USE, detail);
  }
  const { nextId } = state.catalog;
  const removes = removesOfSchema(state, schemaId);
  return grant(catalogRecord(caller, { nextId, removes }), null);
}

function schemaRow(
  id: number,
  organizationId: number,
  body: SchemaBody,
): Omit<SchemaRow, "updatedAtMs"> {
  return {
    id,
    organizationId,
    venueId: body.venueId,
    name: body.name,
    description: body.description ?? null,
    draft: body.draft ?? false,
    template: body.template ?? false,
    archived: body.archived ?? false,
    externalId: body.externalId ?? null,
    gaCapacity: body.gaCapacity ?? null,
    seatsCapacity: body.seatsCapacity ?? null,
    preview: body.preview ?? null,
    thumbnail: body.thumbnail ?? null,
  };
}
