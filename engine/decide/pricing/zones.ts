/** Pricing zones of a schema. What is in which zone is assigned apart (`zone-assignments.ts`). */
import type { ZoneRow } from "../../catalog.ts";
import type { CommandOf, ZoneBody } from "../../commands.ts";
import { isRefusal, ownRow } from "../../queries/access.ts";
import { zonedSchema, findZone } from "../../queries/lookups.ts";
import {
  type Decision,
  grant,
  refuse,
  refuseInvalid,
  Result,
  mismatch,
  notFound,
  repeatedIds,
} from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";
import { assignmentsOf, removesOfAssignments } from "../removals.ts";

function otherSchemas(zones: readonly ZoneBody[], schemaId: number) {
  return zones.flatMap((zone, i) =>
    zone.schemaId === schemaId ? [] : [mismatch(`[${i}].schemaId`, zone.schemaId, "schema")],
  );
}

/** @returns VALIDATION_FAILED or ACCESS_DENIED; else the new zones. */
export function createZones(
  state: State,
  { caller, schemaId, body }: CommandOf<"createZones">,
): Decision<ZoneRow[]> {
  const faults = otherSchemas(body, schemaId);
  if (faults.length > 0) return refuseInvalid(faults);
  const schema = zonedSchema(state, { caller, schemaId });
  if (isRefusal(schema)) return schema;
  const { nextId: first } = state.catalog;
  const rows = body.map(({ name }, i): ZoneRow => ({ id: first + i, schemaId, name }));
  const puts = rows.map((row) => ({ table: "zones", row }) as const);
  return grant(catalogRecord(caller, { nextId: first + rows.length, puts }), rows);
}

/**
 * All or nothing; assignments stay.
 *
 * @returns VALIDATION_FAILED, ENTITY_NOT_FOUND or ACCESS_DENIED; else the zones as they are now.
 */
export function updateZones(
  state: State,
  { caller, schemaId, body }: CommandOf<"updateZones">,
): Decision<ZoneRow[]> {
  const faults = [...otherSchemas(body, schemaId), ...repeatedIds(body)];
  if (faults.length > 0) return refuseInvalid(faults);
  const { schemas, zones, nextId } = state.catalog;
  const schema = ownRow(schemas.get(schemaId), caller, "schema");
  if (isRefusal(schema)) return schema;
  const unknown = body.flatMap(({ id }, i) =>
    zones.get(id)?.schemaId === schemaId ? [] : [notFound(`[${i}].id`, id, "zone on the schema")],
  );
  if (unknown.length > 0) {
    const detail = "There is no such pricing zone on the schema.";
    return refuse(Result.ENTITY_NOT_FOUND, detail, unknown);
  }
  const rows = body.map(({ id, name }): ZoneRow => ({ id, schemaId, name }));
  const puts = rows.map((row) => ({ table: "zones", row }) as const);
  return grant(catalogRecord(caller, { nextId, puts }), rows);
}

/** With its assignments. @returns ENTITY_NOT_FOUND or ACCESS_DENIED. */
export function deleteZone(state: State, command: CommandOf<"deleteZone">): Decision<null> {
  const zone = findZone(state, command);
  if (isRefusal(zone)) return zone;
  const { nextId } = state.catalog;
  const assigned = assignmentsOf(state, zone.schemaId).filter(({ zoneId }) => zoneId === zone.id);
  const removes = [...removesOfAssignments(assigned), { table: "zones", key: zone.id } as const];
  return grant(catalogRecord(command.caller, { nextId, removes }), null);
}
