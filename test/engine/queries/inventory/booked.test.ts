/** What random calls have moved, against the model. */
import { expect, test } from "vitest";
import { Move, STATE_NAMES } from "../../../../engine/inventory/states.ts";
import { findKey } from "../../../../engine/layout/labels.ts";
import { bookedFacts } from "../../../../engine/queries/holds.ts";
import { type MoveRecord, RecordType } from "../../../../engine/records.ts";
import type { State } from "../../../../engine/state.ts";
import { lockedPlaces, type ModelEvent } from "../../../sim/model/facts.ts";
import { Workload } from "../../../sim/workload/workload.ts";

const SEEDS = [1, 2, 3];
const STEPS = 3_000;
const SHOWN: readonly Move[] = [Move.LOCK, Move.SALE, Move.DIRECT_SALE];

function expectBooked(state: State, record: MoveRecord, model: ReadonlyMap<string, ModelEvent>) {
  const event = [...state.catalog.events.values()].find(
    ({ partition }) => partition === record.partition,
  )!;
  const { layout } = state.partitionOf(event);
  const known = model.get(event.id)!;
  const seatIds = Array.from(record.seats, (seat) => layout.seatIds[seat]!);
  const areas = record.areas.filter((_, i) => i % 3 === 0);
  const areaIds = [...new Set(areas)].map((area) => layout.areas[area]!.id);
  const selection = {
    seats: seatIds.toReversed().map((id) => ({ id })),
    groupOfSeats: areaIds.map((id) => ({ id, capacity: 1 })),
  };
  const booked = bookedFacts(state, event, selection);
  expect(booked.sequence).toBe(state.sequenceOf(event));
  expect(booked.seats.map(({ id }) => id)).toEqual(seatIds.toReversed());
  for (const { id, label, state: current, priceId, expiresAtMs, fence } of booked.seats) {
    const seat = known.seats.get(id)!;
    expect(findKey(layout, label)).toEqual({ member: "seats", id });
    expect([STATE_NAMES[current], priceId]).toEqual([seat.state, seat.price]);
    const { hold } = seat;
    expect([fence, expiresAtMs]).toEqual([hold?.fence ?? null, hold?.untilMs ?? null]);
  }
  expect(booked.areas.map(({ areaId }) => areaId)).toEqual(areaIds);
  for (const { areaId, active, locked, sold, blocked, capacity } of booked.areas) {
    const area = known.areas.get(areaId)!;
    const counts = [area.active, lockedPlaces(area), area.sold, area.blocked];
    expect([active, locked, sold, blocked]).toEqual(counts);
    expect(capacity).toBe(counts.reduce((sum, count) => sum + count, 0));
  }
}

test.each(SEEDS)("seed %i: what was booked is as the model has it", (seed) => {
  const workload = new Workload(seed);
  const { kept } = workload.bench.journal;
  const { state } = workload.bench.engine;
  const moves = new Set<Move>();
  for (let step = 0; step < STEPS; step++) {
    const before = kept.length;
    workload.step();
    const last = kept.at(-1)!;
    if (kept.length === before || last.record.type !== RecordType.MOVE) continue;
    const { move } = last.record;
    if (!SHOWN.includes(move)) continue;
    expectBooked(state, last.record, workload.model.events);
    moves.add(move);
  }
  expect(moves).toEqual(new Set(SHOWN));
});
