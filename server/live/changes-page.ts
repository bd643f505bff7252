/** A page of changes as an answer. A change may be of every seat of a large layout. */
import {
  type ChangePage,
  type EventChange,
  placesOf,
  type SeatAfter,
} from "../../engine/queries/event-change.ts";
import { inSlices } from "../routing/slices.ts";
import { type Answer, answer, jsonBytes } from "../wire/answers.ts";
import { changeView, seatView } from "./change-view.ts";

/** A page of so many seats and areas is written at once, and longer ones in such pieces. */
const PLACES_PER_PIECE = 1_000;

/** @param owner - Of its long work. */
export function changesPage(
  { changes, hasMore: more }: ChangePage,
  since: number,
  owner: number,
): Answer | Promise<Answer> {
  const sequence = changes.at(-1)?.sequence ?? since;
  const places = changes.reduce((total, change) => total + placesOf(change), 0);
  if (places <= PLACES_PER_PIECE) {
    const views = changes.map((change) => changeView(change, false));
    return answer(200, { sequence, more, changes: views });
  }
  return inSlices(longPage({ sequence, more }, changes), owner);
}

function* longPage(facts: object, changes: readonly EventChange[]): Generator<void, Answer> {
  const pieces: Buffer[] = [Buffer.from(`${openEnd(facts)}"changes":[`)];
  let comma = "";
  for (const change of changes) {
    const { seats: _seats, ...rest } = changeView({ ...change, seats: [] }, false);
    pieces.push(Buffer.from(`${comma}${openEnd(rest)}"seats":[`));
    yield* addSeats(pieces, change.seats);
    pieces.push(Buffer.from("]}"));
    comma = ",";
    yield;
  }
  pieces.push(Buffer.from("]}"));
  return jsonBytes(200, Buffer.concat(pieces));
}

function* addSeats(pieces: Buffer[], seats: readonly SeatAfter[]): Generator<void, void> {
  for (let start = 0; start < seats.length; start += PLACES_PER_PIECE) {
    const views = seats.slice(start, start + PLACES_PER_PIECE).map(seatView);
    const comma = start === 0 ? "" : ",";
    pieces.push(Buffer.from(comma + JSON.stringify(views).slice(1, -1)));
    yield;
  }
}

/** @returns The JSON of an object that is not empty, to which a member is about to be added. */
function openEnd(value: object): string {
  return `${JSON.stringify(value).slice(0, -1)},`;
}
