/** Pricing zones of a schema. `zone-assignments.ts` has the command that assigns them. */
import { assert } from "../../assert.ts";
import type { ZoneRow } from "../../catalog.ts";
import { ownRow } from "../../queries/access.ts";
import { findZone, zonedSchema } from "../../queries/lookups.ts";
import {
  type Decision,
  isRefused,
  mismatch,
  notFound,
  refuse,
  refuseInvalid,
  repeatedIds,
  Result,
} from "../../results.ts";
import type { ZoneBody, ZoneChange } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { withoutZones } from "../removals.ts";

/** One error for each zone of another schema than the path's. */
function otherSchemas(zones: readonly { readonly schemaId: number }[], schemaId: number) {
  return zones.flatMap((zone, i) =>
    zone.schemaId === schemaId ? [] : [mismatch(`[${i}].schemaId`, zone.schemaId, "schema")],
  );
}

export function createZones(
  state: State,
  { caller, schemaId, body }: CommandWith<{ schemaId: number; body: readonly ZoneBody[] }>,
): Decision<ZoneRow[]> {
  const errors = otherSchemas(body, schemaId);
  if (errors.length > 0) return refuseInvalid(errors);
  const schema = zonedSchema(state, { caller, schemaId });
  if (isRefused(schema)) return schema;
  const { zones, nextId } = state.catalog;
  assert(!zones.has(nextId), "a new zone has a new id");
  const rows = body.map(({ name }, i): ZoneRow => ({ id: nextId + i, schemaId, name }));
  const puts = rows.map((row) => ({ table: "zones", row }) as const);
  return grantChange(state, caller, { newIds: rows.length, puts }, rows);
}

/** All or nothing; assignments stay. Answers the changed zones. */
export function updateZones(
  state: State,
  { caller, schemaId, body }: CommandWith<{ schemaId: number; body: readonly ZoneChange[] }>,
): Decision<ZoneRow[]> {
  const errors = [...otherSchemas(body, schemaId), ...repeatedIds(body)];
  if (errors.length > 0) return refuseInvalid(errors);
  const { schemas, zones } = state.catalog;
  const schema = ownRow(schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  const unknown = body.flatMap(({ id }, i) =>
    zones.get(id)?.schemaId === schemaId ? [] : [notFound(`[${i}].id`, id, "zone on the schema")],
  );
  if (unknown.length > 0) {
    const detail = "There is no such pricing zone on the schema.";
    return refuse(Result.ENTITY_NOT_FOUND, detail, unknown);
  }
  assert(body.length <= zones.size, "a zone changes once");
  const rows = body.map(({ id, name }): ZoneRow => ({ id, schemaId, name }));
  const puts = rows.map((row) => ({ table: "zones", row }) as const);
  return grantChange(state, caller, { puts }, rows);
}

/** Deletes a zone and its assignments. */
export function deleteZone(
  state: State,
  command: CommandWith<{ schemaId: number; zoneId: number }>,
): Decision<null> {
  const zone = findZone(state, command);
  if (isRefused(zone)) return zone;
  assert(state.catalog.schemas.has(zone.schemaId), "a pricing zone belongs to a schema");
  const assigned: number[] = [];
  for (const [id, zoneId] of state.catalog.zoneAssignments.of(zone.schemaId)) {
    if (zoneId === zone.id) assigned.push(id);
  }
  const removes = [{ table: "zones", key: zone.id } as const];
  const zones = withoutZones(zone.schemaId, assigned);
  return grantChange(state, command.caller, { removes, zones }, null);
}
