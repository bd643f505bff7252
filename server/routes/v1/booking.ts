/** v1 booking: entries by composite key, each tried; no sessions and no hold types. */
import type { Layout } from "../../../engine/layout/layout.ts";
import { ownEvent, refuseEvent } from "../../../engine/queries/access.ts";
import type { SeatChoice } from "../../../engine/shapes/bodies.ts";
import { type Route, route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { EVENT_ID } from "../handling.ts";
import { Attempts, type Entry, nowhere, placeOf, Turn } from "./attempts.ts";
import { LEGACY } from "./legacy.ts";
import { BOOKED, type Selection, SELECTIONS } from "./shapes.ts";

type Kind = "lock" | "sale" | "unlock";

export const LEGACY_BOOKING_ROUTES: readonly Route[] = [
  bookingRoute("lock"),
  bookingRoute("sale"),
  bookingRoute("unlock"),
];

function bookingRoute(kind: Kind): Route {
  return route(LEGACY, `POST /api/private/v1.0/booking/${kind}`, {
    query: { id: EVENT_ID },
    eventParameter: "id",
    body: BOOKED,
    yields: kind === "lock",
    answers: { 200: SELECTIONS },
    problems: [400, 402, 403],
    handle: ({ services, caller, query, body: given }) => {
      const { engine } = services;
      const event = ownEvent(engine.state, caller, query.id);
      if (event === null) return refuseEvent();
      const { layout } = engine.state.partitionOf(event);
      const entries = given.map((selection, position) => entryOf(layout, selection, position));
      const turn = new Turn(engine);
      const attempts = new Attempts<SeatChoice>(turn, (items) =>
        turn.submit({ kind, caller, eventId: event.id, body: items }),
      );
      for (const round of roundsOf(entries)) {
        const refusal = attempts.run(round);
        if (refusal !== null) return refusal;
      }
      return answer(200, attempts.failedOf(given));
    },
  });
}

/** A key that names nothing fails; so does a seat with a capacity, or an area without one. */
function entryOf(
  layout: Layout,
  { compositeKey, capacity }: Selection,
  position: number,
): Entry<SeatChoice> {
  const { member, id } = placeOf(layout, compositeKey, position);
  const places = capacity ?? 0;
  if (member === "seats" && places === 0) return { position, member, item: { id } };
  if (member === "groupOfSeats" && places > 0) {
    return { position, member, item: { id, capacity: places } };
  }
  return { position, member: "seats", item: { id: nowhere(position).id } };
}

/** A command names an object once: an object that a request repeats is tried in a later round. */
function roundsOf(entries: readonly Entry<SeatChoice>[]): readonly Entry<SeatChoice>[][] {
  const rounds: Entry<SeatChoice>[][] = [];
  const roundOf = new Map<number, number>();
  for (const entry of entries) {
    const round = roundOf.get(entry.item.id) ?? 0;
    roundOf.set(entry.item.id, round + 1);
    (rounds[round] ??= []).push(entry);
  }
  return rounds;
}
