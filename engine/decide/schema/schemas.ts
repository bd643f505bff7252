/** Schemas: the seating plans of a venue. Their layouts have a command of their own. */
import { assert } from "../../assert.ts";
import type { SchemaRow } from "../../catalog.ts";
import { THUMBNAIL_BYTES_MAX } from "../../constants.ts";
import { ownRow } from "../../queries/access.ts";
import {
  type Decision,
  type FieldError,
  isRefused,
  missing,
  notFound,
  refuse,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { SchemaBody } from "../../shapes/bodies.ts";
import type { Caller, CommandWith } from "../../shapes/caller.ts";
import { jsonBytes } from "../../shapes/json-bytes.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { isHeldOrSold } from "../inventory-in-use.ts";
import { removesOfSchema, zonesOfSchema } from "../removals.ts";

export function createSchema(
  state: State,
  { caller, body }: CommandWith<{ body: SchemaBody }>,
  timeMs: number,
): Decision<SchemaRow> {
  const { schemas, nextId: id } = state.catalog;
  const { organizationId } = caller;
  const errors = checkBody(state, caller, body);
  if (errors.length > 0) return refuseInvalid(errors);
  assert(!schemas.has(id), "a new schema has a new id");
  const row = schemaRow({ id, organizationId }, body, timeMs);
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "schemas", row }] }, row);
}

/** Members that are left out get their defaults. The layout and the events stay. */
export function updateSchema(
  state: State,
  { caller, body }: CommandWith<{ body: SchemaBody }>,
  timeMs: number,
): Decision<SchemaRow> {
  if (body.id === null || body.id === undefined) return refuseInvalid([missing("id")]);
  const { schemas, venues } = state.catalog;
  const errors = checkBody(state, caller, body);
  if (errors.length > 0) return refuseInvalid(errors);
  const schema = ownRow(schemas.get(body.id), caller, "schema");
  if (isRefused(schema)) return schema;
  assert(venues.has(schema.venueId), "a schema has a venue");
  const row = schemaRow(schema, body, timeMs);
  return grantChange(state, caller, { puts: [{ table: "schemas", row }] }, row);
}

/**
 * Deletes a schema with its layout, zones and assignments. Its events stay, without a seat; what is
 * BLOCKED in them is lost.
 *
 * @returns INVENTORY_IN_USE while something is LOCKED or SOLD in one of its events.
 * Cost: O(seats of the schema × its events).
 */
export function deleteSchema(
  state: State,
  { caller, schemaId }: CommandWith<{ schemaId: number }>,
): Decision<null> {
  const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId || !isHeldOrSold(state, event)) continue;
    const detail = `Seats or places are held or sold, for example in event ${event.id}.`;
    return refuse(Result.INVENTORY_IN_USE, detail);
  }
  const removes = removesOfSchema(state, schemaId);
  return grantChange(state, caller, { removes, zones: zonesOfSchema(state, schemaId) }, null);
}

function checkBody({ catalog }: State, caller: Caller, body: SchemaBody): FieldError[] {
  const errors: FieldError[] = [];
  const { venueId, thumbnail } = body;
  if (catalog.venues.get(venueId)?.organizationId !== caller.organizationId) {
    errors.push(notFound("venueId", venueId, "venue"));
  }
  const bytes = jsonBytes(thumbnail ?? null);
  if (bytes > THUMBNAIL_BYTES_MAX) {
    const message = `takes at most ${THUMBNAIL_BYTES_MAX} bytes as JSON`;
    errors.push({ field: "thumbnail", code: "SIZE", message, rejectedValue: bytes });
  }
  return errors;
}

function schemaRow(
  { id, organizationId }: Pick<SchemaRow, "id" | "organizationId">,
  body: SchemaBody,
  updatedAtMs: number,
): SchemaRow {
  assert(id > 0, "a schema has an id of its own");
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
    updatedAtMs,
  };
}
