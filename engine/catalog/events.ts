/** Events: a schema on sale at a time. Creating an event creates its partition. */
import { assert } from "../assert.ts";
import type { CommandWith, EventBody, EventChange } from "../bodies.ts";
import type { CatalogPut, EventRow, EventStatus, SeriesRow } from "../catalog.ts";
import { placeInCell } from "../cells.ts";
import { ownRow } from "../queries/access.ts";
import {
  type Decision,
  duplicate,
  isRefused,
  notFound,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "../results.ts";
import { normalLocalDateTime } from "../schema.ts";
import type { State } from "../state.ts";
import { grantChange, isHeldOrSold, removesOfEvent } from "./owned.ts";

type KillAfter = string | null | undefined;

/** Cost: O(seats of the schema). */
export function createEvent(
  state: State,
  command: CommandWith<{ eventId: string; body: EventBody; killAfter?: KillAfter }>,
  timeMs: number,
): Decision<EventRow> {
  const { caller, eventId, body, killAfter } = command;
  const { events, schemas, nextId } = state.catalog;
  if (events.has(eventId)) {
    return refuseInvalid([duplicate("id", eventId, "is the id of another event")]);
  }
  const schema = schemas.get(body.schemaId);
  if (schema?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("schemaId", body.schemaId, "schema")]);
  }
  const times = timesOf(body);
  if (isRefused(times)) return times;
  const partition = placeInCell(nextId);
  assert(!state.partitions.has(partition), "a new event has a new partition");
  const status = schema.draft || body.status === "DRAFT" ? "DRAFT" : "PUBLISHED";
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
    statusChangedAtMs: 0,
    publishedAtMs: status === "PUBLISHED" ? timeMs : null,
    seriesId: null,
  };
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "events", row }] }, row);
}

function momentOrNull(text: KillAfter): string | null {
  return text ? normalLocalDateTime(text) : null;
}

type Times = Pick<EventRow, "start" | "endDate">;

/** The times of an event as they are stored. */
function timesOf(body: Times): Times | Refusal {
  const start = normalLocalDateTime(body.start);
  const endDate = normalLocalDateTime(body.endDate);
  if (endDate >= start) return { start, endDate };
  const message = "must not be before start";
  return refuseInvalid([{ field: "endDate", code: "RANGE", message, rejectedValue: body.endDate }]);
}

type ChangedEvent = CommandWith<{
  eventId: string;
  body: EventChange;
  force: boolean;
  killAfter?: KillAfter;
}>;

/**
 * With another schema the event gets a new inventory. It keeps its prices, but they are assigned to
 * nothing, since the seats are different. The status has a command of its own.
 *
 * @returns EVENT_BOUND_TO_SERIES when the start would move, INVALID_STATUS_TRANSITION when a
 * published event would move to a draft, INVENTORY_IN_USE when the schema would change while
 * something is LOCKED or SOLD and `force` is false.
 * Cost: O(seats of both schemas) when the schema changes.
 */
export function updateEvent(state: State, command: ChangedEvent): Decision<EventRow> {
  const { caller, eventId, body, force, killAfter } = command;
  const { events, schemas } = state.catalog;
  const stored = events.get(eventId);
  const { schemaId } = body;
  const isMoved = schemaId !== stored?.schemaId;
  if (isMoved && schemas.get(schemaId)?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("schemaId", schemaId, "schema")]);
  }
  const times = timesOf(body);
  if (isRefused(times)) return times;
  const event = ownRow(stored, caller, "event");
  if (isRefused(event)) return event;
  if (event.seriesId !== null && times.start !== event.start) {
    return refuse(Result.EVENT_BOUND_TO_SERIES, "The start of an event in a series does not move.");
  }
  if (isMoved && event.status === "PUBLISHED" && isDraft(state, schemaId)) {
    const detail = "A published event does not move to a schema that is a draft.";
    return refuse(Result.INVALID_STATUS_TRANSITION, detail);
  }
  if (isMoved && !force && isHeldOrSold(state, event)) {
    return refuse(Result.INVENTORY_IN_USE, "Seats or places of the event are held or sold.");
  }
  const row: EventRow = {
    ...event,
    ...times,
    schemaId,
    name: body.name,
    killAfter: momentOrNull(killAfter) ?? event.killAfter,
  };
  assert(row.id === eventId, "a change of an event keeps its id");
  return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
}

/** Deletes an event and its prices, whatever its inventory. */
export function deleteEvent(
  state: State,
  { caller, eventId }: CommandWith<{ eventId: string }>,
): Decision<null> {
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  return grantChange(state, caller, { removes: removesOfEvent(state, event) }, null);
}

const NEXT_STATUS: Readonly<Record<EventStatus, EventStatus>> = {
  DRAFT: "PUBLISHED",
  PUBLISHED: "ARCHIVED",
  ARCHIVED: "DRAFT",
};

function isDraft({ catalog }: State, schemaId: number): boolean {
  return catalog.schemas.get(schemaId)?.draft === true;
}

export function changeEventStatus(
  state: State,
  command: CommandWith<{ eventId: string; body: { readonly status: EventStatus } }>,
  timeMs: number,
): Decision<EventRow> {
  const { caller, eventId, body } = command;
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  const { status } = body;
  if (NEXT_STATUS[event.status] !== status) {
    return refuse(
      Result.INVALID_STATUS_TRANSITION,
      `An event that is ${event.status} becomes ${NEXT_STATUS[event.status]}, not ${status}.`,
    );
  }
  if (status === "PUBLISHED" && isDraft(state, event.schemaId)) {
    return refuse(
      Result.INVALID_STATUS_TRANSITION,
      "The schema of the event is a draft, so the event cannot be published.",
    );
  }
  const publishedAtMs = status === "PUBLISHED" ? timeMs : event.publishedAtMs;
  if (status !== "DRAFT") assert(publishedAtMs !== null, "an event that left DRAFT was published");
  const row = { ...event, status, statusChangedAtMs: timeMs, publishedAtMs };
  return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
}

// Series: events that belong together. While an event is in a series, its start does not move.

export function createSeries(
  state: State,
  { caller, body }: CommandWith<{ body: { readonly name: string } }>,
): Decision<SeriesRow> {
  const { series, nextId: id } = state.catalog;
  assert(!series.has(id), "a new series has a new id");
  const row: SeriesRow = { id, organizationId: caller.organizationId, name: body.name };
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "series", row }] }, row);
}

/** Deletes a series. Its events stay, and belong to no series. */
export function deleteSeries(
  state: State,
  { caller, seriesId }: CommandWith<{ seriesId: number }>,
): Decision<null> {
  const { series, events } = state.catalog;
  const own = ownRow(series.get(seriesId), caller, "series");
  if (isRefused(own)) return own;
  const members = [...events.values()].filter((event) => event.seriesId === seriesId);
  const puts = members.map((event): CatalogPut => {
    assert(event.organizationId === own.organizationId, "a series has events of its owner");
    return { table: "events", row: { ...event, seriesId: null } };
  });
  return grantChange(state, caller, { puts, removes: [{ table: "series", key: seriesId }] }, null);
}

/** Puts an event into a series, or with null takes it out of its series. */
export function bindEvent(
  state: State,
  command: CommandWith<{ eventId: string; body: { readonly seriesId: number | null } }>,
): Decision<EventRow> {
  const { caller, eventId, body } = command;
  const { seriesId } = body;
  const series = state.catalog.series.get(seriesId ?? 0);
  if (seriesId !== null && series?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("seriesId", seriesId, "series")]);
  }
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  if (series !== undefined) {
    assert(series.organizationId === event.organizationId, "a series has events of its owner");
  }
  const row: EventRow = { ...event, seriesId };
  return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
}
