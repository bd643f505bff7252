/** What a console shows of an event: its figures and its holds. */
import { SESSION_LENGTH_MAX } from "../../engine/constants.ts";
import { summarizeEvent } from "../../engine/queries/inventory/event-summary.ts";
import { HOLD_SORTS, listHolds } from "../../engine/queries/inventory/hold-listing.ts";
import { isRefused } from "../../engine/results.ts";
import { text } from "../../engine/shapes/shape.ts";
import { PAGE_QUERY, pageAnswer, pageShape, rangeOf } from "../routing/page.ts";
import { Access, type Route, route } from "../routing/route.ts";
import { answer, asOfSequence } from "../wire/answers.ts";
import { EVENT_SUMMARY, HOLD } from "../wire/shapes.ts";
import { holdView } from "../wire/views.ts";
import { readEvent, UUID_ID } from "./handling.ts";

const BASE = { tag: "Events", access: Access.ORGANIZATION, durable: true, hasSequence: true };

const SESSION = {
  shape: text({ minLength: 1, maxLength: SESSION_LENGTH_MAX }),
  description: "Holds of this session.",
};

export const INVENTORY_ROUTES: readonly Route[] = [
  route(BASE, "GET /api/private/v2.0/events/{id}/summary/", {
    params: UUID_ID,
    answers: { 200: EVENT_SUMMARY },
    problems: [400, 403, 404],
    handle: (context) => {
      const { state } = context.services.engine;
      const event = readEvent(context, context.params.id);
      if (isRefused(event)) return event;
      const sequence = state.sequenceOf(event);
      return asOfSequence(answer(200, { sequence, ...summarizeEvent(state, event) }), sequence);
    },
  }),
  route(BASE, "GET /api/private/v2.0/events/{id}/holds/", {
    params: UUID_ID,
    query: { ...PAGE_QUERY, sessionId: SESSION },
    answers: { 200: pageShape(HOLD) },
    problems: [400, 403, 404],
    handle: (context) => {
      const { services, params, query } = context;
      const { state } = services.engine;
      const event = readEvent(context, params.id);
      if (isRefused(event)) return event;
      const range = rangeOf(query, HOLD_SORTS);
      if (isRefused(range)) return range;
      const page = listHolds(state.partitionOf(event), { session: query.sessionId, ...range });
      const shown = pageAnswer(page.holds.map(holdView), page.total, query);
      return asOfSequence(shown, state.sequenceOf(event));
    },
  }),
];
