/** The holds of random events, against those of the model. */
import { expect, test } from "vitest";
import type { EventRow } from "../../../../engine/catalog.ts";
import { listHolds } from "../../../../engine/queries/holds.ts";
import type { State } from "../../../../engine/state.ts";
import type { Hold, ModelEvent } from "../../../sim/model/facts.ts";
import { Workload } from "../../../sim/workload/workload.ts";

const SEEDS = [1, 2, 3, 4];
const STEPS = 4_000;
const COMPARED_ONCE = 5;

/** A row for each hold, as text. */
function holdsOf(event: ModelEvent, session: string | null): string[] {
  const holds = new Set<Hold>();
  for (const { hold } of event.seats.values()) if (hold !== null) holds.add(hold);
  for (const { held } of event.areas.values()) for (const { hold } of held) holds.add(hold);
  const wanted = [...holds].filter((hold) => session === null || hold.session === session);
  return wanted
    .sort((a, b) => a.fence - b.fence)
    .map((hold) => {
      const seats = [...event.seats.values()].filter((seat) => seat.hold === hold);
      const areas = [...event.areas].flatMap(([id, { held }]) =>
        held.filter((of) => of.hold === hold).map(({ places }) => `${id}:${places}`),
      );
      const ids = seats.map(({ id }) => id).sort((a, b) => a - b);
      return [hold.fence, hold.session ?? "", hold.untilMs ?? 0, ...ids, ...areas.sort()].join(" ");
    });
}

function expectHolds(state: State, row: EventRow, event: ModelEvent): number {
  const partition = state.partitionOf(row);
  for (const session of [null, "A"]) {
    const expected = holdsOf(event, session);
    const limit = 3;
    const found: string[] = [];
    for (let offset = 0; offset <= expected.length; offset += limit) {
      const query = { session: session ?? undefined, sort: [], offset, limit };
      const { holds, total } = listHolds(partition, query);
      expect(total).toBe(expected.length);
      for (const { fence, session: by, expiresAtMs, seatIds, areas } of holds) {
        const ids = seatIds.toSorted((a, b) => a - b);
        const places = areas.map((area) => `${area.areaId}:${area.places}`).sort();
        found.push([fence, by, expiresAtMs, ...ids, ...places].join(" "));
      }
    }
    expect(found).toEqual(expected);
  }
  return partition.holds.count;
}

test.each(SEEDS)("seed %i: the holds of every event are those of the model", (seed) => {
  const workload = new Workload(seed);
  let held = 0;
  for (let step = 1; step <= STEPS; step++) {
    workload.step();
    if (step % COMPARED_ONCE > 0) continue;
    const { state } = workload.bench.engine;
    for (const [eventId, event] of workload.model.events) {
      held += expectHolds(state, state.catalog.events.get(eventId)!, event);
    }
  }
  expect(held).toBeGreaterThan(500);
});
