/** The audit trail of a random workload against the engine itself, record by record. */
import { expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import type { Transition } from "../../../engine/queries/history.ts";
import { RecordType } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { Workload } from "../../sim/workload/workload.ts";
import {
  eventIdsIn,
  mapOf,
  movedBy,
  openBook,
  pastMapOf,
  transitionsOf,
} from "./history-fixture.ts";

const SEEDS = [1, 2, 3, 4];
const STEPS = 1_500;

function workload(seed: number, steps = STEPS): Workload {
  const made = new Workload(seed, { hasGuards: true });
  for (let step = 0; step < steps; step++) made.step();
  return made;
}

/** The seats on a page of the listing. */
const listed = <Seat extends { state: SeatState }>(seats: readonly Seat[]) =>
  seats.filter(({ state }) => state !== SeatState.WITHDRAWN);

test.each(SEEDS)("the map at any record is the one that replay gives, seed %d", (seed) => {
  const { kept } = workload(seed).bench.journal;
  const book = openBook(undefined, { imageMovesMin: 60 });
  book.feed(kept.slice(0, kept.length >> 1));
  book.archiveAll();
  book.feed(kept);
  const state = new State();
  let compared = 0;
  for (const { sequence, timeMs, record } of kept) {
    apply(state, record, timeMs, sequence);
    if (sequence % 7 !== seed % 7 && record.type !== RecordType.CATALOG) continue;
    for (const eventId of state.catalog.events.keys()) {
      const wanted = mapOf(state, eventId);
      const found = pastMapOf(book, eventId, sequence);
      expect(found, `record ${sequence}`).toEqual({ ...wanted, seats: listed(wanted.seats) });
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(400);
});

test.each(SEEDS)("every move of the engine is in the trail, seed %d", (seed) => {
  const { bench } = workload(seed);
  const { kept } = bench.journal;
  const book = openBook(undefined, { imageMovesMin: 60 });
  book.feed(kept.slice(0, kept.length >> 1));
  book.archiveAll();
  book.feed(kept);
  const rows = eventIdsIn(kept).flatMap((eventId) => transitionsOf(book, eventId));
  const found = new Map<number, Transition[]>();
  for (const row of rows) found.set(row.sequence, [...(found.get(row.sequence) ?? []), row]);
  const state = new State();
  const calls = new Set<string>();
  for (const { sequence, timeMs, record } of kept) {
    if (record.type === RecordType.MOVE) {
      const wanted = movedBy(state, record).map((row) => ({ ...row, sequence, timeMs }));
      expect(found.get(sequence)).toMatchObject(wanted);
      expect(found.get(sequence)).toHaveLength(wanted.length);
    }
    apply(state, record, timeMs, sequence);
  }
  for (const { call } of rows) calls.add(call);
  const moves = "lock unlock sale revertsale directsale block unblock expire";
  for (const call of [...moves.split(" "), "prices", "layout"]) expect(calls).toContain(call);
});

test.each(SEEDS)(
  "each transition of a seat begins in the state in which the last one ended, seed %d",
  (seed) => {
    const { bench } = workload(seed);
    const book = openBook(undefined, { imageMovesMin: 60 });
    book.feed(bench.journal.kept);
    for (const eventId of eventIdsIn(bench.journal.kept)) {
      const states = new Map<number, SeatState | null>();
      for (const { placeId, isArea, from, to } of transitionsOf(book, eventId)) {
        if (isArea) continue;
        expect(from ?? SeatState.UNPRICED).toBe(states.get(placeId) ?? SeatState.UNPRICED);
        states.set(placeId, to);
      }
    }
  },
);
