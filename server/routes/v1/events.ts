/** v1 events: with `killAfter`, and an end that may be left out. */
import { randomUUID } from "node:crypto";
import type { EventRow } from "../../../engine/catalog.ts";
import { list, type TypeOf } from "../../../engine/shapes/shape.ts";
import { commandRoute, submit } from "../../routing/command-route.ts";
import { type Context, type Handled, type Route, route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE } from "../../wire/shapes.ts";
import { LEGACY, LIST_QUERY, type ListQuery, partOf } from "./legacy.ts";
import { CHANGED_EVENT, EVENT, NEW_EVENT } from "./shapes.ts";

type NewEvent = TypeOf<typeof NEW_EVENT>;
type ChangedEvent = TypeOf<typeof CHANGED_EVENT>;

export const LEGACY_EVENT_ROUTES: readonly Route[] = [
  route({
    ...LEGACY,
    method: "get",
    path: "/api/private/v1.0/events/",
    summary: "List events, the oldest first",
    query: LIST_QUERY,
    answers: { 200: list(EVENT) },
    problems: [400, 403],
    handle: listEvents,
  }),
  route({
    ...LEGACY,
    method: "post",
    path: "/api/private/v1.0/events/",
    summary: "Create an event",
    body: NEW_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: createEvent,
  }),
  route({
    ...LEGACY,
    method: "put",
    path: "/api/private/v1.0/events/",
    summary: "Change an event",
    body: CHANGED_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: updateEvent,
  }),
  commandRoute("deleteEvent", {
    ...LEGACY,
    method: "delete",
    path: "/api/private/v1.0/events/{id}",
    summary: "Delete an event for good",
    answers: { 200: DONE },
    problems: [400, 403],
    show: () => TRUE,
  }),
];

function listEvents({ services, caller, query }: Context<unknown, ListQuery>): Handled {
  const events = [...services.engine.state.catalog.events.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    // Partition numbers rise with each event that is created.
    .sort((a, b) => a.partition - b.partition);
  return answer(200, partOf(events, query).map(eventView));
}

function createEvent({ services, caller, body }: Context<unknown, unknown, NewEvent>): Handled {
  const event = { eventId: randomUUID(), ...membersOf(body) };
  return submit(services, { kind: "createEvent", caller, ...event }, (created) =>
    answer(200, eventView(created)),
  );
}

function updateEvent({ services, caller, body }: Context<unknown, unknown, ChangedEvent>): Handled {
  const event = { eventId: body.id.toLowerCase(), force: false, ...membersOf(body) };
  return submit(services, { kind: "updateEvent", caller, ...event }, (changed) =>
    answer(200, eventView(changed)),
  );
}

/** An event without an end ends at `killAfter`, or else when it starts. */
function membersOf(event: NewEvent | ChangedEvent) {
  const { name, schemaId, start, endDate, killAfter = null } = event;
  return { body: { name, schemaId, start, endDate: endDate ?? killAfter ?? start }, killAfter };
}

function eventView({ id, start, endDate, killAfter, name, schemaId }: EventRow) {
  return { id, start, endDate, killAfter, name, schemaId };
}
