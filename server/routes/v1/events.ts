/** v1 events: with `killAfter`, and an end that may be left out. */
import { randomUUID } from "node:crypto";
import type { EventRow } from "../../../engine/catalog.ts";
import { list } from "../../../engine/shapes.ts";
import type { Context, Handled, Route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE } from "../../wire/shapes.ts";
import { submit, UUID_ID } from "../handling.ts";
import { LEGACY, LIST_QUERY, partOf } from "./legacy.ts";
import { CHANGED_EVENT, EVENT, NEW_EVENT } from "./shapes.ts";

interface LegacyEvent {
  readonly start: string;
  readonly endDate?: string | null;
  readonly killAfter?: string | null;
  readonly name: string;
  readonly schemaId: number;
}

export const LEGACY_EVENT_ROUTES: readonly Route[] = [
  {
    ...LEGACY,
    method: "get",
    path: "/api/private/v1.0/events/",
    summary: "List events, the oldest first",
    query: LIST_QUERY,
    answers: { 200: list(EVENT) },
    problems: [400, 403],
    handle: listEvents,
  },
  {
    ...LEGACY,
    method: "post",
    path: "/api/private/v1.0/events/",
    summary: "Create an event",
    body: NEW_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: createEvent,
  },
  {
    ...LEGACY,
    method: "put",
    path: "/api/private/v1.0/events/",
    summary: "Change an event",
    body: CHANGED_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: updateEvent,
  },
  {
    ...LEGACY,
    method: "delete",
    path: "/api/private/v1.0/events/{id}",
    summary: "Delete an event for good",
    params: UUID_ID,
    answers: { 200: DONE },
    problems: [400, 403],
    handle: deleteEvent,
  },
];

function listEvents({ services, caller, query }: Context): Handled {
  const events = [...services.engine.state.catalog.events.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    // Partition numbers rise with each event that is created.
    .sort((a, b) => a.partition - b.partition);
  return answer(200, partOf(events, query).map(eventView));
}

function createEvent(context: Context): Handled {
  const { caller } = context;
  const event = context.body as LegacyEvent;
  const command = {
    kind: "createEvent",
    caller,
    eventId: randomUUID(),
    ...fieldsOf(event),
  } as const;
  return submit(context, command, (created) => answer(200, eventView(created)));
}

function updateEvent(context: Context): Handled {
  const { caller } = context;
  const { id, ...event } = context.body as LegacyEvent & { readonly id: string };
  const eventId = id.toLowerCase();
  const command = {
    kind: "updateEvent",
    caller,
    eventId,
    force: false,
    ...fieldsOf(event),
  } as const;
  return submit(context, command, (changed) => answer(200, eventView(changed)));
}

function deleteEvent(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deleteEvent", caller, eventId: String(params["id"]) } as const;
  return submit(context, command, () => TRUE);
}

/** Without an end an event ends when it is killed, else when it starts. */
function fieldsOf({ name, schemaId, start, endDate, killAfter = null }: LegacyEvent) {
  const body = { name, schemaId, start, endDate: endDate ?? killAfter ?? start };
  return { body, killAfter };
}

function eventView({ id, start, endDate, killAfter, name, schemaId }: EventRow) {
  return { id, start, endDate, killAfter, name, schemaId };
}
