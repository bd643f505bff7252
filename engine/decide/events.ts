/** Events: a schema on sale at a time. Creating one creates its partition. */
import type { EventRow, EventStatus } from "../catalog.ts";
import type { CommandOf, EventBody } from "../commands.ts";
import { normalLocalDateTime } from "../local-time.ts";
import { isRefusal, ownRow } from "../queries/access.ts";
import {
  type Decision,
  grant,
  refuse,
  type Refusal,
  refuseInvalid,
  Result,
  duplicate,
  notFound,
} from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";
import { isHeldOrSold } from "./inventory-in-use.ts";
import { removesOfEvent } from "./removals.ts";

/** @returns VALIDATION_FAILED; else the event. Cost: O(seats of the schema). */
export function createEvent(
  state: State,
  { caller, eventId, body, killAfter }: CommandOf<"createEvent">,
  timeMs: number,
): Decision<EventRow> {
  if (state.catalog.events.has(eventId)) {
    return refuseInvalid([duplicate("id", eventId, "is the id of another event")]);
  }
  const schema = state.catalog.schemas.get(body.schemaId);
  if (schema?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("schemaId", body.schemaId, "schema")]);
  }
  const times = timesOf(body);
  if (isRefusal(times)) return times;
  const status = schema.draft || body.status === "DRAFT" ? "DRAFT" : "PUBLISHED";
  const partition = state.catalog.nextId;
  const row: EventRow = {
    id: eventId,
    organizationId: caller.organizationId,
    schemaId: body.schemaId,
    partition,
    name: body.name,
    ...times,
    killAfter: momentOrNull(killAfter),
    createdAtMs: timeMs,
    status,
    publishedAtMs: status === "PUBLISHED" ? timeMs : null,
    seriesId: null,
  };
  const puts = [{ table: "events", row }] as const;
  return grant(catalogRecord(caller, { nextId: partition + 1, puts }), row);
}

function momentOrNull(text: string | null | undefined): string | null {
  return text ? normalLocalDateTime(text) : null;
}

type Times = Pick<EventRow, "start" | "endDate">;

/** The times of an event as they are stored; or VALIDATION_FAILED. */
function timesOf(body: EventBody): Times | Refusal {
  const start = normalLocalDateTime(body.start);
  const endDate = normalLocalDateTime(body.endDate);
  if (endDate >= start) return { start, endDate };
  const message = "must not be before start";
  return refuseInvalid([{ field: "endDate", code: "RANGE", message, rejectedValue: body.endDate }]);
}

/**
 * With another schema the inventory is laid anew: the event keeps its prices, but they are assigned
 * to nothing, since the seats are others. The status changes by a command of its own.
 *
 * @returns VALIDATION_FAILED, ENTITY_NOT_FOUND, ACCESS_DENIED, EVENT_BOUND_TO_SERIES when the start
 * would move, or INVENTORY_IN_USE when the schema changes while something is LOCKED or SOLD and
 * `force` is false; else the event. Cost: O(seats of both schemas) when the schema changes.
 */
export function updateEvent(
  state: State,
  { caller, eventId, body, force, killAfter }: CommandOf<"updateEvent">,
): Decision<EventRow> {
  const { events, schemas, nextId } = state.catalog;
  const stored = events.get(eventId);
  const { schemaId } = body;
  const isMoved = schemaId !== stored?.schemaId;
  if (isMoved && schemas.get(schemaId)?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("schemaId", schemaId, "schema")]);
  }
  const times = timesOf(body);
  if (isRefusal(times)) return times;
  const event = ownRow(stored, caller, "event");
  if (isRefusal(event)) return event;
  if (event.seriesId !== null && times.start !== event.start) {
    return refuse(Result.EVENT_BOUND_TO_SERIES, "The start of an event in a series does not move.");
  }
  if (isMoved && !force && isHeldOrSold(state.partitionOf(event))) {
    return refuse(Result.INVENTORY_IN_USE, "Seats or places of the event are held or sold.");
  }
  const row: EventRow = {
    ...event,
    ...times,
    schemaId,
    name: body.name,
    killAfter: killAfter === undefined ? event.killAfter : momentOrNull(killAfter),
  };
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "events", row }] }), row);
}

/** Whatever its inventory, with its prices. @returns ENTITY_NOT_FOUND or ACCESS_DENIED. */
export function deleteEvent(
  state: State,
  { caller, eventId }: CommandOf<"deleteEvent">,
): Decision<null> {
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefusal(event)) return event;
  const { nextId } = state.catalog;
  const removes = removesOfEvent(state, event);
  return grant(catalogRecord(caller, { nextId, removes }), null);
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
