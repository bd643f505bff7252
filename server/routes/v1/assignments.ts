/** v1 assignments of prices by composite key, each entry on its own. */
import type { AssignmentItem } from "../../../engine/commands.ts";
import { findKey } from "../../../engine/layout/composite-keys.ts";
import type { Layout } from "../../../engine/layout/layout.ts";
import { ownEvent, refuseEvent } from "../../../engine/queries/access.ts";
import { Result } from "../../../engine/results.ts";
import type { Context, Handled, Route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE } from "../../wire/shapes.ts";
import { submit } from "../handling.ts";
import { Attempts, type Entry, nowhere, Turn } from "./attempts.ts";
import { EVENT_ID, LEGACY } from "./legacy.ts";
import { PRICE_ASSIGNMENTS, SELECTIONS } from "./shapes.ts";

interface Selection {
  readonly compositeKey: string;
}

interface PriceAssignment extends Selection {
  readonly capacity?: number | null;
  /** Its id. */
  readonly price: number;
}

const CLEAN = {
  shape: { type: "boolean" },
  description: "Take all prices away before assigning.",
  default: false,
};

export const LEGACY_ASSIGNMENT_ROUTES: readonly Route[] = [
  {
    ...LEGACY,
    method: "post",
    path: "/api/private/v1.0/assignments/",
    summary: "Assign prices to seats and areas; give back what failed",
    query: { id: EVENT_ID, clean: CLEAN },
    body: PRICE_ASSIGNMENTS,
    answers: { 200: PRICE_ASSIGNMENTS },
    problems: [400, 403],
    handle: assign,
  },
  {
    ...LEGACY,
    method: "post",
    path: "/api/private/v1.0/assignments/clean",
    summary: "Take all prices away, from what is locked too",
    query: { id: EVENT_ID },
    answers: { 200: DONE },
    problems: [400, 403],
    handle: clean,
  },
  {
    ...LEGACY,
    method: "delete",
    path: "/api/private/v1.0/assignments/",
    summary: "Take prices away from seats and areas; give back what failed",
    query: { id: EVENT_ID },
    body: SELECTIONS,
    answers: { 200: SELECTIONS },
    problems: [400, 403],
    handle: unassign,
  },
];

function assign({ services, caller, query, body }: Context): Handled {
  const { engine } = services;
  const event = ownEvent(engine.state, caller, String(query["id"]));
  if (event === null) return refuseEvent();
  const { layout } = engine.state.partitionOf(event);
  const command = { caller, eventId: event.id };
  const turn = new Turn(engine);
  if (query["clean"] === true) {
    const cleared = turn.submit({ kind: "clearPrices", ...command });
    if (cleared.refused !== Result.OK) return cleared;
  }
  const attempts = new Attempts<AssignmentItem>(turn, (items) =>
    turn.submit({ kind: "assignPrices", ...command, body: items }),
  );
  const given = body as readonly PriceAssignment[];
  const entries = given.map((assignment, position) => entryOf(layout, assignment, position));
  return attempts.run(entries) ?? answer(200, attempts.failedOf(given));
}

/** What names nothing fails, and so does an area without a capacity. */
function entryOf(
  layout: Layout,
  { compositeKey, capacity = null, price }: PriceAssignment,
  position: number,
): Entry<AssignmentItem> {
  const place = findKey(layout, compositeKey) ?? nowhere(position);
  const isIncomplete = place.member === "groupOfSeats" && capacity === null;
  const { member, id } = isIncomplete ? nowhere(position) : place;
  return { position, member, item: { objectId: id, assignmentId: price, activeCount: capacity } };
}

function clean(context: Context): Handled {
  const { caller, query } = context;
  const command = { kind: "clearPrices", caller, eventId: String(query["id"]) } as const;
  return submit(context, command, () => TRUE);
}

function unassign({ services, caller, query, body }: Context): Handled {
  const { engine } = services;
  const event = ownEvent(engine.state, caller, String(query["id"]));
  if (event === null) return refuseEvent();
  const { layout } = engine.state.partitionOf(event);
  const turn = new Turn(engine);
  const attempts = new Attempts<{ readonly objectId: number }>(turn, (items) =>
    turn.submit({ kind: "unassignPrices", caller, eventId: event.id, body: items }),
  );
  const given = body as readonly Selection[];
  const entries = given.map(({ compositeKey }, position) => {
    const { member, id } = findKey(layout, compositeKey) ?? nowhere(position);
    return { position, member, item: { objectId: id } };
  });
  return attempts.run(entries) ?? answer(200, attempts.failedOf(given));
}
