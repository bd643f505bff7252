/** v1 events: with `killAfter`, and an end that may be left out. */
import { randomUUID } from "node:crypto";
import type { EventRow } from "../../../engine/catalog.ts";
import { list, type TypeOf } from "../../../engine/shapes/shape.ts";
import { commandRoute, submit } from "../../routing/command-route.ts";
import { type Route, route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE } from "../../wire/shapes.ts";
import { ownRows } from "../handling.ts";
import { LEGACY, LIST_QUERY, partOf } from "./legacy.ts";
import { CHANGED_EVENT, EVENT, NEW_EVENT } from "./shapes.ts";

export const LEGACY_EVENT_ROUTES: readonly Route[] = [
  route(LEGACY, "GET /api/private/v1.0/events/", {
    summary: "List published events, the oldest first",
    query: LIST_QUERY,
    answers: { 200: list(EVENT) },
    problems: [400, 403],
    handle: ({ services, caller, query }) => {
      const events = ownRows(services.engine.state.catalog.events, caller)
        .filter(({ status }) => status === "PUBLISHED")
        // Partition numbers rise with each event that is created.
        .sort((a, b) => a.partition - b.partition);
      return answer(200, partOf(events, query).map(eventView));
    },
  }),
  route(LEGACY, "POST /api/private/v1.0/events/", {
    summary: "Create an event",
    body: NEW_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: ({ services, caller, body }) => {
      const event = { eventId: randomUUID(), ...membersOf(body) };
      return submit(services, { kind: "createEvent", caller, ...event }, (created) =>
        answer(200, eventView(created)),
      );
    },
  }),
  route(LEGACY, "PUT /api/private/v1.0/events/", {
    summary: "Change an event",
    body: CHANGED_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: ({ services, caller, body }) => {
      const event = { eventId: body.id.toLowerCase(), force: false, ...membersOf(body) };
      return submit(services, { kind: "updateEvent", caller, ...event }, (changed) =>
        answer(200, eventView(changed)),
      );
    },
  }),
  commandRoute(LEGACY, "DELETE /api/private/v1.0/events/{id}", "deleteEvent", {
    summary: "Delete an event for good",
    answers: { 200: DONE },
    problems: [400, 403],
    show: () => TRUE,
  }),
];

/** An event without an end ends at `killAfter`, or else when it starts. */
function membersOf(event: TypeOf<typeof NEW_EVENT> | TypeOf<typeof CHANGED_EVENT>) {
  const { name, schemaId, start, endDate, killAfter = null } = event;
  return { body: { name, schemaId, start, endDate: endDate ?? killAfter ?? start }, killAfter };
}

function eventView({ id, start, endDate, killAfter, name, schemaId }: EventRow) {
  return { id, start, endDate, killAfter, name, schemaId };
}
