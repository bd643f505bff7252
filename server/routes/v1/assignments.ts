/** v1 assignments of prices by composite key, each entry on its own. */
import type { Layout } from "../../../engine/layout/layout.ts";
import { ownEvent, refuseEvent } from "../../../engine/queries/access.ts";
import { isRefused } from "../../../engine/results.ts";
import type { AssignmentItem } from "../../../engine/shapes/bodies.ts";
import { BOOLEAN } from "../../../engine/shapes/shape.ts";
import { submit } from "../../routing/command-route.ts";
import { type Route, route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE } from "../../wire/shapes.ts";
import { EVENT_ID } from "../handling.ts";
import { Attempts, type Entry, nowhere, placeOf, Turn } from "./attempts.ts";
import { LEGACY } from "./legacy.ts";
import { PRICE_ASSIGNMENTS, type PriceAssignment, SELECTIONS } from "./shapes.ts";

const CLEAN = {
  shape: BOOLEAN,
  description: "Remove all prices first, except those of sold inventory.",
  default: false,
};

export const LEGACY_ASSIGNMENT_ROUTES: readonly Route[] = [
  route(LEGACY, "POST /api/private/v1.0/assignments/", {
    summary: "Assign prices to seats and areas; give back what failed",
    query: { id: EVENT_ID, clean: CLEAN },
    body: PRICE_ASSIGNMENTS,
    answers: { 200: PRICE_ASSIGNMENTS },
    problems: [400, 403],
    handle: ({ services, caller, query, body: given }) => {
      const { engine } = services;
      const event = ownEvent(engine.state, caller, query.id);
      if (event === null) return refuseEvent();
      const { layout } = engine.state.partitionOf(event);
      const command = { caller, eventId: event.id };
      const turn = new Turn(engine);
      if (query.clean) {
        const cleared = turn.submit({ kind: "clearPrices", ...command });
        if (isRefused(cleared)) return cleared;
      }
      const attempts = new Attempts<AssignmentItem>(turn, (items) =>
        turn.submit({ kind: "assignPrices", ...command, body: items }),
      );
      const entries = given.map((assignment, position) => entryOf(layout, assignment, position));
      return attempts.run(entries) ?? answer(200, attempts.failedOf(given));
    },
  }),
  route(LEGACY, "POST /api/private/v1.0/assignments/clean", {
    summary: "Remove all prices except those of sold inventory; holds end",
    query: { id: EVENT_ID },
    answers: { 200: DONE },
    problems: [400, 403],
    handle: ({ services, caller, query }) =>
      submit(services, { kind: "clearPrices", caller, eventId: query.id }, () => TRUE),
  }),
  route(LEGACY, "DELETE /api/private/v1.0/assignments/", {
    summary: "Take prices away from seats and areas; give back what failed",
    query: { id: EVENT_ID },
    body: SELECTIONS,
    answers: { 200: SELECTIONS },
    problems: [400, 403],
    handle: ({ services, caller, query, body: given }) => {
      const { engine } = services;
      const event = ownEvent(engine.state, caller, query.id);
      if (event === null) return refuseEvent();
      const { layout } = engine.state.partitionOf(event);
      const turn = new Turn(engine);
      const attempts = new Attempts<{ readonly objectId: number }>(turn, (items) =>
        turn.submit({ kind: "unassignPrices", caller, eventId: event.id, body: items }),
      );
      const entries = given.map(({ compositeKey }, position) => {
        const { member, id } = placeOf(layout, compositeKey, position);
        return { position, member, item: { objectId: id } };
      });
      return attempts.run(entries) ?? answer(200, attempts.failedOf(given));
    },
  }),
];

/** A key that names nothing fails, and so does an area without a capacity. */
function entryOf(
  layout: Layout,
  { compositeKey, capacity = null, price }: PriceAssignment,
  position: number,
): Entry<AssignmentItem> {
  const place = placeOf(layout, compositeKey, position);
  const isIncomplete = place.member === "groupOfSeats" && capacity === null;
  const { member, id } = isIncomplete ? nowhere(position) : place;
  return { position, member, item: { objectId: id, assignmentId: price, activeCount: capacity } };
}
