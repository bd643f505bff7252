/** v1 events: with `killAfter`, an end that may be left out, and updates of some members. */
import { randomUUID } from "node:crypto";
import type { EventRow } from "../../../engine/catalog.ts";
import { ownRow } from "../../../engine/queries/access.ts";
import { isRefused } from "../../../engine/results.ts";
import { list } from "../../../engine/shapes/shape.ts";
import { commandRoute, submit } from "../../routing/command-route.ts";
import { type Route, route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { momentOf } from "../../wire/moments.ts";
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
      const { name, schemaId, start, killAfter } = body;
      // An event without an end ends at `killAfter`, or else when it starts.
      const event = { name, schemaId, start, endDate: body.endDate ?? killAfter ?? start };
      const command = { caller, eventId: randomUUID(), body: event, killAfter };
      return submit(services, { kind: "createEvent", ...command }, (created) =>
        answer(200, eventView(created)),
      );
    },
  }),
  route(LEGACY, "PUT /api/private/v1.0/events/", {
    summary: "Change an event; what is left out stays",
    body: CHANGED_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: ({ services, caller, body }) => {
      const eventId = body.id.toLowerCase();
      const stored = ownRow(services.engine.state.catalog.events.get(eventId), caller, "event");
      if (isRefused(stored)) return stored;
      const start = momentOf(body.start ?? stored.start);
      const event = {
        name: body.name ?? stored.name,
        schemaId: body.schemaId ?? stored.schemaId,
        start,
        // An event without an end of its own may move to a later start.
        endDate: body.endDate ?? (stored.endDate < start ? start : stored.endDate),
      };
      const change = { eventId, body: event, force: false, killAfter: body.killAfter };
      return submit(services, { kind: "updateEvent", caller, ...change }, (changed) =>
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

function eventView({ id, start, endDate, killAfter, name, schemaId }: EventRow) {
  return { id, start, endDate, killAfter, name, schemaId };
}
