/** v1 booking: entries by composite key, each on its own; no sessions and no hold types. */
import type { SeatChoice } from "../../../engine/commands.ts";
import { findKey } from "../../../engine/layout/composite-keys.ts";
import type { Layout } from "../../../engine/layout/layout.ts";
import { ownEvent, refuseEvent } from "../../../engine/queries/access.ts";
import type { Context, Handled, Route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { Attempts, type Entry, nowhere, Turn } from "./attempts.ts";
import { EVENT_ID, LEGACY } from "./legacy.ts";
import { BOOKED, SELECTIONS } from "./shapes.ts";

type Kind = "lock" | "sale" | "unlock";

interface Selection {
  readonly compositeKey: string;
  readonly capacity?: number | null;
}

const SUMMARIES: Readonly<Record<Kind, string>> = {
  lock: "Lock what can be locked; give back the rest",
  sale: "Sell what is locked; give back the rest",
  unlock: "Unlock what can be unlocked; give back the rest",
};

export const LEGACY_BOOKING_ROUTES: readonly Route[] = (Object.keys(SUMMARIES) as Kind[]).map(
  (kind) => ({
    ...LEGACY,
    method: "post",
    path: `/api/private/v1.0/booking/${kind}`,
    summary: SUMMARIES[kind],
    query: { id: EVENT_ID },
    body: BOOKED,
    answers: { 200: SELECTIONS },
    problems: [400, 402, 403],
    handle: (context) => book(kind, context),
  }),
);

function book(kind: Kind, { services, caller, query, body }: Context): Handled {
  const { engine } = services;
  const event = ownEvent(engine.state, caller, String(query["id"]));
  if (event === null) return refuseEvent();
  const { layout } = engine.state.partitionOf(event);
  const given = body as readonly Selection[];
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
}

/** What names nothing fails, and so does a seat with a capacity or an area without one. */
function entryOf(
  layout: Layout,
  { compositeKey, capacity }: Selection,
  position: number,
): Entry<SeatChoice> {
  const { member, id } = findKey(layout, compositeKey) ?? nowhere(position);
  const places = capacity ?? 0;
  if (member === "seats" && places === 0) return { position, member, item: { id } };
  if (member === "groupOfSeats" && places > 0) {
    return { position, member, item: { id, capacity: places } };
  }
  return { position, member: "seats", item: { id: nowhere(position).id } };
}

/** A command names an object once: what a request names again is tried in a round after. */
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
