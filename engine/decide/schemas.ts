/** Schemas: the seating plans of a venue. Their layout is put apart (`layouts.ts`). */
import type { CommandOf, SchemaBody } from "../commands.ts";
import type { SchemaRow } from "../catalog.ts";
import { type Decision, grant, refuseInvalid } from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";
import { notFound } from "./faults.ts";

/** @returns VALIDATION_FAILED when the venue is not the organization's; else the schema. */
export function createSchema(
  state: State,
  { caller, body }: CommandOf<"createSchema">,
): Decision<SchemaRow> {
  const venue = state.catalog.venues.get(body.venueId);
  if (venue?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("venueId", body.venueId, "venue")]);
  }
  const id = state.catalog.nextId;
  const row = schemaRow(id, caller.organizationId, body);
  return grant(catalogRecord(caller, { nextId: id + 1, puts: [{ table: "schemas", row }] }), row);
}

function schemaRow(id: number, organizationId: number, body: SchemaBody): SchemaRow {
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
