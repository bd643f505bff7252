/** Going back in time in the memory of the page shows what the server shows with `asOf`. */
import { expect, test } from "vitest";
import type { GeometryColumns } from "../../../server/layouts/geometry-columns.ts";
import type { HistoryPage } from "../../../server/console/api/calls.ts";
import { decodeGeometry } from "../../../server/console/map/geometry.ts";
import { NO_PRICE, totalsOf } from "../../../server/console/map/seats.ts";
import { History } from "../../../server/console/state/history.ts";
import { START_MS } from "../../support/engine.ts";
import { type PageBody, type SeatBody, TestServer, V2 } from "../../support/server.ts";

const MOMENTS = 100;
const BOOKINGS = 400;
const NAMES = [null, null, "ACTIVE", "LOCKED", "SOLD", "BLOCKED"];

interface AreaBody {
  readonly groupOfSeatsId: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** An event after many random calls, of which some are refused. */
async function played(server: TestServer): Promise<void> {
  const { a, world } = server;
  const random = randomFrom(7);
  const labels = ["A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B3", "B4"];
  const calls = ["lock", "unlock", "sale", "revertsale", "directsale", "block", "unblock"] as const;
  for (let i = 0; i < BOOKINGS; i++) {
    world.clock.timeMs = START_MS + i * 750;
    const seats = [{ id: a.labels.idOf(labels[random(labels.length)]!) }];
    const groupOfSeats = [{ id: a.labels.idOf("Pit"), capacity: 1 + random(4) }];
    const selection = random(4) === 0 ? { groupOfSeats } : { seats };
    await server.post(server.bookingPath(calls[random(calls.length)]!), {
      sessionId: "s",
      ...selection,
    });
  }
}

async function historyOf(server: TestServer): Promise<History> {
  const { a } = server;
  const answer = await server.get<GeometryColumns>(`${V2}/schemas/${a.schemaId}/geometry/`);
  const geometry = decodeGeometry(answer.body);
  const seats = new Map([...geometry.ids].map((id, seat) => [id, seat]));
  const areas = new Map(geometry.areas.map(({ id }, area) => [id, area]));
  const prices: number[] = [];
  const history = new History({
    seatCount: geometry.seatCount,
    areaCount: geometry.areas.length,
    seatOf: (id) => seats.get(id),
    areaOf: (id) => areas.get(id),
    priceIndex: (id) => {
      if (!prices.includes(id)) prices.push(id);
      return prices.indexOf(id);
    },
  });
  const { body } = await server.get<HistoryPage>(`${V2}/events/${a.eventId}/history/`);
  expect(body.more).toBe(false);
  history.add(body);
  return history;
}

test("at 100 random moments seats, prices and areas are those that asOf shows", async () => {
  const server = new TestServer();
  const { a } = server;
  await played(server);
  const history = await historyOf(server);
  const random = randomFrom(11);
  const path = `${V2}/events/${a.eventId}`;
  expect(history.length).toBeGreaterThan(BOOKINGS / 4);
  for (let i = 0; i < MOMENTS; i++) {
    const position = 1 + random(history.length);
    const sequence = history.sequenceAt(position - 1);
    history.seek(position);
    const asOf = `asOf=${sequence}`;
    const { body } = await server.get<PageBody<SeatBody>>(`${path}/seats/?size=100&${asOf}`);
    const shown = body.content.map(({ state, priceId }) => [state, priceId !== undefined]);
    const { states, prices } = history.seats;
    expect(Array.from(states, (state, seat) => [NAMES[state], prices[seat] !== NO_PRICE])).toEqual(
      shown,
    );
    const areas = await server.get<readonly AreaBody[]>(`${path}/areas/?${asOf}`);
    expect(history.seats.areas.map(countsOf)).toEqual(areas.body.map(countsOf));
  }
});

function countsOf({ active, locked, sold, blocked }: Omit<AreaBody, "groupOfSeatsId">) {
  return { active, locked, sold, blocked };
}

test("the buckets of the slider have every change, and end with the present totals", async () => {
  const server = new TestServer();
  await played(server);
  const history = await historyOf(server);
  const buckets = history.buckets(20);
  expect(buckets).toHaveLength(20);
  expect(buckets.reduce((sum, { changes }) => sum + changes, 0)).toBe(history.length);
  expect(history.position).toBe(history.length);
  expect(buckets.at(-1)!.totals).toEqual(totalsOf(history.seats));
  history.seek(history.positionAt(buckets[9]!.timeMs));
  expect(buckets[9]!.totals).toEqual(totalsOf(history.seats));
});

test("later changes are read from the last one on, and a history to come is refused", async () => {
  const server = new TestServer();
  const { a } = server;
  await played(server);
  const history = await historyOf(server);
  const path = `${V2}/events/${a.eventId}/history/?since=`;
  const before = history.length;
  const { body: nothing } = await server.get<HistoryPage>(`${path}${history.sequence}`);
  expect(nothing).toMatchObject({ sequence: history.sequence, more: false, calls: [] });
  const groupOfSeats = [{ id: a.labels.idOf("Pit"), capacity: 1 }];
  await server.post(server.bookingPath("block"), { groupOfSeats });
  const { body } = await server.get<HistoryPage>(`${path}${history.sequence}`);
  history.add(body);
  expect(history.length).toBe(before + 1);
  expect(history.callAt(before)).toBe("block");
  const { status } = await server.get(`${path}999999`);
  expect(status).toBe(400);
});

test("a step over a whole on-sale, 45,000 changes of two seats, takes less than 50 ms", () => {
  const [changes, seatCount] = [45_000, 23_200];
  const history = new History({
    seatCount,
    areaCount: 0,
    seatOf: (id) => id,
    areaOf: () => undefined,
    priceIndex: (id) => id,
  });
  const random = randomFrom(3);
  const each = <T>(length: number, value: () => T) => Array.from({ length }, value);
  const ids = each(2 * changes, () => random(seatCount));
  history.add({
    sequence: changes,
    more: false,
    prices: [1],
    calls: ["lock"],
    changes: {
      sequences: each(changes, () => 1),
      times: each(changes, () => 20),
      calls: each(changes, () => 0),
      seatCounts: each(changes, () => 2),
      areaCounts: each(changes, () => 0),
    },
    seats: {
      ids: ids.map((id, i) => id - (ids[i - 1] ?? 0)),
      states: each(2 * changes, () => "ALS"[random(3)]).join(""),
      priceIndexes: each(2 * changes, () => 0),
    },
    areas: [],
  });
  const last = [...history.seats.states];
  const times = [0, changes, 0, changes].map((position) => {
    const startMs = performance.now();
    history.seek(position);
    return performance.now() - startMs;
  });
  expect(Math.min(...times.slice(2))).toBeLessThan(50);
  expect([...history.seats.states]).toEqual(last);
});
