/** Events: a schema on sale at a time. Creating one creates its partition. */
import type { CommandOf } from "../commands.ts";
import type { EventRow, EventStatus } from "../catalog.ts";
import { normalLocalDateTime } from "../local-time.ts";
import { type Decision, grant, refuse, refuseInvalid, Result } from "../results.ts";
import type { State } from "../state.ts";
import { isRefusal, ownRow } from "./access.ts";
import { catalogRecord } from "./catalog-record.ts";
import { notFound } from "./faults.ts";

/** @returns VALIDATION_FAILED; else the event. Cost: O(seats of the schema). */
export function createEvent(
  state: State,
  { caller, eventId, body }: CommandOf<"createEvent">,
  timeMs: number,
): Decision<EventRow> {
  const schema = state.catalog.schemas.get(body.schemaId);
  if (schema?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("schemaId", body.schemaId, "schema")]);
  }
  const start = normalLocalDateTime(body.start);
  const endDate = normalLocalDateTime(body.endDate);
  if (endDate < start) {
    const message = "must not be before start";
    return refuseInvalid([
      { field: "endDate", code: "RANGE", message, rejectedValue: body.endDate },
    ]);
  }
  const status = schema.draft || body.status === "DRAFT" ? "DRAFT" : "PUBLISHED";
  const partition = state.catalog.nextId;
  const row: EventRow = {
    id: eventId,
    organizationId: caller.organizationId,
    schemaId: body.schemaId,
    partition,
    name: body.name,
    start,
    endDate,
    createdAtMs: timeMs,
    status,
    publishedAtMs: status === "PUBLISHED" ? timeMs : null,
  };
  const puts = [{ table: "events", row }] as const;
  return grant(catalogRecord(caller, { nextId: partition + 1, puts }), row);
}

const NEXT_STATUS: Readonly<Record<EventStatus, EventStatus>> = {
  DRAFT: "PUBLISHED",
  PUBLISHED: "ARCHIVED",
  ARCHIVED: "DRAFT",
};

/** @returns ENTITY_NOT_FOUND, ACCESS_DENIED or INVALID_STATUS_TRANSITION; else the event. */
export function changeEventStatus(
  state: State,
  { caller, eventId, body }: CommandOf<"changeEventStatus">,
  timeMs: number,
): Decision<EventRow> {
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefusal(event)) return event;
  const { status } = body;
  if (NEXT_STATUS[event.status] !== status) {
    return refuse(
      Result.INVALID_STATUS_TRANSITION,
      `An event that is ${event.status} becomes ${NEXT_STATUS[event.status]}, not ${status}.`,
    );
  }
  const publishedAtMs = status === "PUBLISHED" ? timeMs : event.publishedAtMs;
  const row = { ...event, status, publishedAtMs };
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "events", row }] }), row);
}
