/** The figures of random events, against those of the model. */
import { expect, test } from "vitest";
import type { EventRow } from "../../../../engine/catalog.ts";
import { summarizeEvent } from "../../../../engine/queries/summary.ts";
import type { State } from "../../../../engine/state.ts";
import { lockedPlaces, type ModelArea, type ModelEvent } from "../../../sim/model/facts.ts";
import { remainder } from "../../../sim/model/model.ts";
import { Workload } from "../../../sim/workload/workload.ts";

const SEEDS = [1, 2, 3, 4];
const STEPS = 4_000;
const COMPARED_ONCE = 5;

type Counts = Record<"active" | "locked" | "sold" | "blocked" | "unpriced", number>;

function sumOf(seats: readonly { state: string | null }[], areas: readonly Counts[]): Counts {
  const total = { active: 0, locked: 0, sold: 0, blocked: 0, unpriced: 0 };
  for (const { state } of seats) total[(state ?? "unpriced").toLowerCase() as "active"] += 1;
  for (const area of areas) {
    for (const name of Object.keys(total)) total[name as "active"] += area[name as "active"];
  }
  return total;
}

function placesOf(event: ModelEvent, area: ModelArea): Counts {
  const { active, sold, blocked, price, gaCapacity } = area;
  const offered = gaCapacity ?? remainder(event) ?? 0;
  const unpriced = price === 0 ? Math.max(0, offered - sold) : 0;
  return { active, locked: lockedPlaces(area), sold, blocked, unpriced };
}

function expectSummary(state: State, row: EventRow, event: ModelEvent): void {
  const seats = [...event.seats.values()];
  const areas = [...event.areas.values()];
  const of = (has: (object: { section?: number; id: number; price: number }) => boolean) =>
    sumOf(
      seats.filter(has),
      areas.filter(has).map((area) => placesOf(event, area)),
    );
  const { total, byPrice, bySection } = summarizeEvent(state, row);
  expect(total).toEqual(of(() => true));
  expect(byPrice.map(({ priceId }) => priceId)).toEqual([...event.prices].sort((a, b) => a - b));
  for (const { priceId, priceName: _, ...counts } of byPrice) {
    expect(counts).toEqual(of(({ price }) => price === priceId));
  }
  const ids = [...new Set([...seats.map(({ section }) => section), ...event.areas.keys()])];
  // A section without seats has zeros.
  expect(bySection.map(({ groupOfSeatsId: id }) => id)).toEqual(
    expect.arrayContaining(ids.sort((a, b) => a - b)),
  );
  for (const { groupOfSeatsId, name: _, ...counts } of bySection) {
    expect(counts).toEqual(of(({ section, id }) => (section ?? id) === groupOfSeatsId));
  }
}

test.each(SEEDS)("seed %i: the figures of every event are those of the model", (seed) => {
  const workload = new Workload(seed);
  for (let step = 1; step <= STEPS; step++) {
    workload.step();
    if (step % COMPARED_ONCE > 0) continue;
    const { state } = workload.bench.engine;
    for (const [eventId, event] of workload.model.events) {
      expectSummary(state, state.catalog.events.get(eventId)!, event);
    }
  }
});
