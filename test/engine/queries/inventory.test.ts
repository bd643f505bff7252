/** The figures of random events, against those of the model. */
import { expect, test } from "vitest";
import type { EventRow } from "../../../engine/catalog.ts";
import type { BookingKind } from "../../../engine/commands.ts";
import { MOVES, STATE_NAMES } from "../../../engine/inventory/states.ts";
import { findKey } from "../../../engine/layout/labels.ts";
import { bookedFacts, listHolds } from "../../../engine/queries/holds.ts";
import { summarizeEvent } from "../../../engine/queries/summary.ts";
import { type MoveRecord, RecordType } from "../../../engine/records.ts";
import type { State } from "../../../engine/state.ts";
import { type Hold, lockedPlaces, type ModelArea, type ModelEvent } from "../../sim/model/facts.ts";
import { remainder, revenueOf } from "../../sim/model/model.ts";
import { Workload } from "../../sim/workload/workload.ts";

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
  const { total, byPrice, bySection, revenue } = summarizeEvent(state, row);
  expect(total).toEqual(of(() => true));
  const priceIds = [...event.prices.keys()].sort((a, b) => a - b);
  expect(byPrice.map(({ priceId }) => priceId)).toEqual(priceIds);
  for (const { priceId, priceName: _, amount, currency, ...counts } of byPrice) {
    expect(counts).toEqual(of(({ price }) => price === priceId));
    const money = amount === undefined ? null : { amount, currency };
    expect(money).toEqual(event.prices.get(priceId));
  }
  const sums = revenue.map(({ currency, sold }) => [currency, sold] as const);
  expect(sums).toEqual([...revenueOf(event)].sort(([a], [b]) => (a < b ? -1 : 1)));
  const ids = [...new Set([...seats.map(({ section }) => section), ...event.areas.keys()])];
  // A section without seats has zeros.
  expect(bySection.map(({ groupOfSeatsId: id }) => id)).toEqual(
    expect.arrayContaining(ids.sort((a, b) => a - b)),
  );
  for (const { groupOfSeatsId, name: _, ...counts } of bySection) {
    expect(counts).toEqual(of(({ section, id }) => (section ?? id) === groupOfSeatsId));
  }
}

// The holds of random events, against those of the model.

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

// Inventory moved by random calls, against the model.

const SHOWN: ReadonlySet<string> = new Set(["lock", "sale", "directsale"]);
const isShown = ({ move }: MoveRecord) => SHOWN.has(MOVES[move].name);

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
  const kind = MOVES[record.move].name as BookingKind;
  const booked = bookedFacts(state, event, kind === "lock", selection);
  expect(booked.sequence).toBe(state.sequenceOf(event));
  expect(booked.seats.map(({ id }) => id)).toEqual(seatIds.toReversed());
  for (const { id, label, state: current, priceId, expiresAtMs, fence, ...parts } of booked.seats) {
    const seat = known.seats.get(id)!;
    expect(findKey(layout, label)).toEqual({ member: "seats", id });
    expect([parts.section, parts.row, parts.seat].join(";;")).toBe(label);
    expect([STATE_NAMES[current], priceId]).toEqual([seat.state, seat.price]);
    const { hold } = seat;
    expect([fence, expiresAtMs]).toEqual([
      hold?.fence ?? (seat.fence || null),
      hold?.untilMs ?? null,
    ]);
  }
  expect(booked.areas.map(({ areaId }) => areaId)).toEqual(areaIds);
  for (const { areaId, active, locked, sold, blocked, capacity, hold } of booked.areas) {
    const area = known.areas.get(areaId)!;
    const newest = kind === "lock" ? area.held.at(-1)! : null;
    expect(hold).toEqual(
      newest && {
        fence: newest.hold.fence,
        expiresAtMs: newest.hold.untilMs,
        places: newest.places,
      },
    );
    const counts = [area.active, lockedPlaces(area), area.sold, area.blocked];
    expect([active, locked, sold, blocked]).toEqual(counts);
    expect(capacity).toBe(counts.reduce((sum, count) => sum + count, 0));
  }
}

test.each([1, 2, 3, 4])("seed %i: figures, holds and booked inventory are the model's", (seed) => {
  const workload = new Workload(seed, { hasGuards: true });
  const { model } = workload;
  const { kept } = workload.bench.journal;
  const { state } = workload.bench.engine;
  const moves = new Set<string>();
  let held = 0;
  for (let step = 1; step <= STEPS; step++) {
    const before = kept.length;
    workload.step();
    const { record } = kept.at(-1)!;
    if (kept.length > before && record.type === RecordType.MOVE && isShown(record)) {
      expectBooked(state, record, model.events);
      moves.add(MOVES[record.move].name);
    }
    if (step % COMPARED_ONCE > 0) continue;
    for (const [eventId, event] of model.events) {
      const row = state.catalog.events.get(eventId)!;
      expectSummary(state, row, event);
      held += expectHolds(state, row, event);
    }
  }
  expect(held).toBeGreaterThan(500);
  expect(moves).toEqual(SHOWN);
});
