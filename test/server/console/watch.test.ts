/** Sums of the console's panel: series, rates, changes, holds and metrics. */
import { expect, test } from "vitest";
import {
  AreaMoves,
  endingHolds,
  figuresBetween,
  happeningOf,
  Happenings,
  Rates,
  readingOf,
  Series,
} from "../../../server/console/state/figures.ts";

test("a series keeps a bounded number of points, with the first and the last", () => {
  const series = new Series(2, 60);
  for (let second = 0; second < 10_000; second++) {
    series.add(second, [second, 2 * second]);
    expect(series.length).toBeLessThanOrEqual(60);
  }
  const [times, once, twice] = series.columns;
  expect([times![0], times!.at(-1)]).toEqual([0, 9_999]);
  expect(times!.length).toBeGreaterThan(25);
  expect(once).toEqual(times);
  expect(twice).toEqual(times!.map((time) => 2 * time));
  expect(times!.every((time, i) => i === 0 || time > times![i - 1]!)).toBe(true);
});

test("a series replaces a point that is too close, and ignores one of the past", () => {
  const series = new Series(1);
  for (const time of [0, 0.25, 0.5, 1.5, 1.75, 1]) series.add(time, [10 * time]);
  expect(series.columns).toEqual([
    [0, 1.5, 1.75],
    [0, 15, 17.5],
  ]);
});

test("the past of a series goes before what it has, and stays bounded", () => {
  const series = new Series(1, 40);
  for (let second = 1_000; second < 1_010; second++) series.add(second, [second]);
  const past = Array.from({ length: 1_005 }, (_, seconds) => ({ seconds, values: [seconds] }));
  series.prepend(past);
  const [times, values] = series.columns;
  expect([times![0], times!.at(-1)]).toEqual([0, 1_009]);
  expect(values).toEqual(times);
  expect(times!.length).toBeLessThanOrEqual(40);
  expect(times!.length).toBeGreaterThan(18);
});

test("rates are the sum of the last minute, and fall to nothing after it", () => {
  const rates = new Rates();
  for (let second = 100; second < 200; second++) {
    rates.add(second, "sale", 2);
    rates.add(second, "lock", 3);
    rates.add(second, "prices", 50);
  }
  rates.add(199, "directsale", 4);
  expect(rates.perMinute(199, "sold")).toBe(124);
  expect(rates.perMinute(199, "held")).toBe(180);
  expect(rates.history(199, "sold")).toEqual([...Array.from({ length: 59 }, () => 2), 6]);
  expect(rates.history(201, "sold").slice(-3)).toEqual([6, 0, 0]);
  expect(rates.perMinute(229, "sold")).toBe(64);
  rates.add(190, "sale", 7);
  rates.add(150, "sale", 1_000);
  expect(rates.perMinute(229, "sold")).toBe(71);
  expect(rates.perMinute(400, "sold")).toBe(0);
});

const change = (sequence: number, call: string, sessionId = "web-1") => ({
  sequence,
  previous: sequence - 1,
  time: "2026-12-12T20:00:00.000",
  call,
  sessionId,
  seats: [{ id: sequence, state: "LOCKED" as const, priceId: 1 }],
  areas: [],
});

test("a filter by call and session lets the newest through, however many others come", () => {
  const happenings = new Happenings(10);
  happenings.filter = { call: "sale", session: "b-7" };
  happenings.add(happeningOf(change(1, "sale", "web-7"), []));
  for (let i = 2; i < 1_000; i++) happenings.add(happeningOf(change(i, "lock"), []));
  happenings.add(happeningOf(change(1_000, "sale", "web-8"), []));
  expect(happenings.newest(5).map(({ sequence }) => sequence)).toEqual([1]);
  happenings.filter = { call: "", session: "" };
  expect(happenings.newest(3).map(({ sequence }) => sequence)).toEqual([1_000, 999, 998]);
  expect(happenings.newest(500)).toHaveLength(10);
});

test("what happened before comes after what is new", () => {
  const happenings = new Happenings(10);
  happenings.filter = { call: "sale", session: "" };
  happenings.add(happeningOf(change(9, "sale"), []));
  happenings.addPast([1, 2, 3].map((i) => happeningOf(change(i, i === 2 ? "lock" : "sale"), [])));
  expect(happenings.newest(9).map(({ sequence }) => sequence)).toEqual([9, 3, 1]);
});

test("a change of a thousand seats is kept in a short form", () => {
  const seats = Array.from({ length: 1_000 }, (_, id) => ({ id, state: null, priceId: null }));
  const { seats: first, seatCount } = happeningOf({ ...change(1, "block"), seats }, []);
  expect([first.length, seatCount]).toEqual([12, 1_000]);
});

test("places that a change moves are the difference to the counts before", () => {
  const counts = { capacity: 100, active: 90, locked: 5, sold: 5, blocked: 0 };
  const moves = new AreaMoves([counts]);
  const areaOf = (id: number) => (id === 7 ? 0 : undefined);
  const after = { ...counts, groupOfSeatsId: 7, active: 86, locked: 9 };
  expect(moves.moved([after], areaOf)).toEqual([{ area: 0, places: 4 }]);
  expect(moves.moved([{ ...after, locked: 0, sold: 14 }], areaOf)).toEqual([
    { area: 0, places: 9 },
  ]);
  expect(moves.moved([{ ...after, groupOfSeatsId: 8 }], areaOf)).toEqual([]);
  expect(new AreaMoves().moved([after], areaOf)).toEqual([{ area: 0, places: 0 }]);
});

test("holds that end soon come first; those that have ended or never end are left out", () => {
  const hold = (fence: number, until: string | null) => {
    const since = "2026-12-12T20:00:00.000";
    return { fence, sessionId: "web", holdType: "CART", since, until, seats: [], areas: [] };
  };
  const holds = [
    hold(1, null),
    hold(2, "2026-12-12T20:02:00.000"),
    hold(3, "2026-12-12T20:00:30.000"),
    hold(4, "2026-12-12T20:01:00.000"),
  ];
  const ending = endingHolds(holds, Date.parse("2026-12-12T20:00:30.500Z"), 5);
  expect(ending.map(({ hold: { fence }, secondsLeft }) => [fence, secondsLeft])).toEqual([
    [4, 30],
    [2, 90],
  ]);
  expect(ending[1]!.shareLeft).toBeCloseTo(0.746, 3);
});

/** Requests by duration: up to 1 ms, up to 5 ms, more. */
function metrics(fast: number, slow: number, refusals: number): string {
  const name = "frontrow_http_request_duration_seconds_bucket";
  return [
    "# HELP frontrow_log_writable Whether.",
    "frontrow_log_writable 1",
    `frontrow_log_bytes_total ${1_000 * fast}`,
    `frontrow_http_requests_total{method="POST",path="/a",status="200"} ${fast}`,
    `frontrow_http_requests_total{method="POST",path="/b",status="200"} ${slow}`,
    `frontrow_refusals_total{code="ORPHAN_SEAT"} ${refusals}`,
    `${name}{le="0.001",method="POST",path="/a"} ${fast}`,
    `${name}{le="0.005",method="POST",path="/a"} ${fast}`,
    `${name}{le="+Inf",method="POST",path="/a"} ${fast}`,
    `${name}{le="0.001",method="POST",path="/b"} 0`,
    `${name}{le="0.005",method="POST",path="/b"} ${slow}`,
    `${name}{le="+Inf",method="POST",path="/b"} ${slow}`,
  ].join("\n");
}

test("figures of the server are those between two readings", () => {
  const before = readingOf(metrics(1_000, 1_000, 5), 100);
  const after = readingOf(metrics(2_000, 1_001, 8), 110);
  expect(figuresBetween(before, after)).toEqual({
    requestsPerSecond: 100.1,
    refusalsPerMinute: 18,
    logBytesPerSecond: 100_000,
    isWritable: true,
    requestMs: 1,
    syncMs: null,
  });
  const slower = readingOf(metrics(2_000, 1_101, 8), 120);
  expect(figuresBetween(after, slower)).toMatchObject({ requestMs: 5, refusalsPerMinute: 0 });
});

test("after a restart of the server, the figures are those since it", () => {
  const before = readingOf(metrics(9_000, 9_000, 90), 100);
  const after = readingOf(metrics(50, 0, 1), 110);
  expect(figuresBetween(before, after)).toMatchObject({ requestsPerSecond: 5, requestMs: 1 });
});
