/** The answers of the audit trail: filters, orders, pages, and gaps. */
import { afterAll, describe, expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { Move, SeatState } from "../../../engine/inventory/states.ts";
import {
  AuditGap,
  type Moment,
  type Transition,
  type TransitionQuery,
  type TransitionSort,
} from "../../../engine/queries/history.ts";
import { State } from "../../../engine/state.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { AuditAnswering } from "../../../persistence/audit/answers.ts";
import { finish } from "../../../persistence/audit/slices.ts";
import { appendBlocks } from "../../../persistence/audit/block-file.ts";
import { extendRuns } from "../../../persistence/audit/lookups.ts";
import { RowBuffer } from "../../../persistence/audit/block.ts";
import { keyOf, NO_HOLD, seatMove } from "../../../persistence/audit/rows.ts";
import { openAuditFile } from "../../../persistence/audit/file.ts";
import {
  ask,
  AUDIT_STORE,
  feed,
  mapOf,
  markAt,
  openBook,
  pastMapOf,
  transitionsOf,
} from "./audit-fixture.ts";

const workload = new Workload(3);
for (let step = 0; step < 1_500; step++) workload.step();
const { kept } = workload.bench.journal;
const [eventId] = workload.bench.engine.state.catalog.events.keys() as Iterable<string> as [string];
const book = openBook(":memory:");
feed(book, kept);
const all = transitionsOf(book, eventId);
const middle = all[all.length >> 1]!;
const held = all.find(({ session, isArea }) => session !== "" && isArea)!;
const seat = all.find(({ isArea }) => !isArea)!;

afterAll(() => book.close());

const FILTERS: Readonly<Record<string, Partial<TransitionQuery>>> = {
  nothing: {},
  "a seat": { seatId: seat.placeId },
  "an area": { areaId: held.placeId },
  "the id of an area as a seat id": { seatId: held.placeId },
  "a session": { session: held.session },
  "the empty session": { session: "" },
  "from a time": { fromMs: middle.timeMs },
  "to a time": { toMs: middle.timeMs },
  "from a time after all": { fromMs: all.at(-1)!.timeMs + 1 },
  "to a time before all": { toMs: all[0]!.timeMs - 1 },
  "from a record": { fromSequence: middle.sequence },
  "to a record": { toSequence: middle.sequence },
  "one record": { fromSequence: middle.sequence, toSequence: middle.sequence },
  "a time and a record": { fromMs: middle.timeMs, toSequence: middle.sequence + 40 },
  "a session in an area up to a time": {
    areaId: held.placeId,
    session: held.session,
    toMs: held.timeMs,
  },
};

function isAskedFor(row: Transition, query: Partial<TransitionQuery>): boolean {
  const { seatId, areaId, session, fromMs, toMs, fromSequence, toSequence } = query;
  return (
    (seatId === undefined || (!row.isArea && row.placeId === seatId)) &&
    (areaId === undefined || (row.isArea && row.placeId === areaId)) &&
    (session === undefined || (session !== "" && row.session === session)) &&
    row.timeMs >= (fromMs ?? 0) &&
    row.timeMs <= (toMs ?? Infinity) &&
    row.sequence >= (fromSequence ?? 0) &&
    row.sequence <= (toSequence ?? Infinity)
  );
}

describe.each([false, true])("transitions with newest first %s", (newestFirst) => {
  test.each(Object.entries(FILTERS))("%s", (_, filter) => {
    const found = all.filter((row) => isAskedFor(row, filter));
    const wanted = newestFirst ? found.toReversed() : found;
    const sort = newestFirst ? [{ property: "sequence", descending: true } as const] : [];
    const page = (offset: number, limit: number) =>
      ask(book, {
        about: "transitions",
        eventId,
        query: { ...filter, sort, offset, limit },
      });
    expect(page(0, 100_000)).toEqual({ transitions: wanted, total: wanted.length });
    expect(page(2, 3)).toEqual({ transitions: wanted.slice(2, 5), total: wanted.length });
  });
});

test("most filters of the table match some transitions, but not all", () => {
  const counts = Object.values(FILTERS).map(
    (filter) => all.filter((row) => isAskedFor(row, filter)).length,
  );
  expect(counts.filter((count) => count > 0 && count < all.length).length).toBe(10);
});

test("the map at a time is that of the last record up to it", () => {
  const state = new State();
  for (const [i, { sequence, timeMs, record }] of kept.entries()) {
    apply(state, record, timeMs, sequence);
    const next = kept[i + 1];
    if (i % 50 > 0 || next === undefined || next.timeMs === timeMs) continue;
    if (!state.catalog.events.has(eventId)) continue;
    const moment = { timeMs: next.timeMs - 1 };
    const areas = ask(book, { about: "areas", eventId, moment });
    expect(areas).toEqual(mapOf(state, eventId).areas);
  }
});

describe("a trail that begins late", () => {
  const first = middle.sequence;
  const late = openBook(":memory:");
  const state = new State();
  for (const { sequence, record, timeMs } of kept.slice(0, first))
    apply(state, record, timeMs, sequence);
  late.beginWith(state, markAt(first), middle.timeMs);
  const end = kept.at(-1)!.sequence;
  for (const { sequence, timeMs, record } of kept.slice(first)) {
    late.add(sequence, timeMs, record, markAt(end));
  }
  late.commit(markAt(end));
  afterAll(() => late.close());

  const MOMENTS: readonly (readonly [string, Moment, AuditGap | null])[] = [
    ["the record before its first one", { sequence: first }, null],
    ["a record before that", { sequence: first - 1 }, AuditGap.TOO_EARLY],
    ["its last record", { sequence: end }, null],
    ["a later record", { sequence: end + 1 }, AuditGap.TOO_LATE],
    ["the time it begins", { timeMs: middle.timeMs }, null],
    ["a time before that", { timeMs: middle.timeMs - 1 }, AuditGap.TOO_EARLY],
    ["a later time", { timeMs: kept.at(-1)!.timeMs + 1 }, null],
  ];
  test.each(MOMENTS)("the map at %s", (_, moment, gap) => {
    expect(late.answer({ about: "areas", eventId, moment })).toMatchObject({ gap });
  });

  const RANGES: readonly (readonly [string, Partial<TransitionQuery>, AuditGap | null])[] = [
    ["up to a record before it", { toSequence: first }, AuditGap.TOO_EARLY],
    ["up to its first record", { toSequence: first + 1 }, null],
    ["up to a time before it", { toMs: middle.timeMs - 1 }, AuditGap.TOO_EARLY],
    ["up to the time it begins", { toMs: middle.timeMs }, null],
    ["from before it", { fromSequence: 1 }, null],
  ];
  test.each(RANGES)("transitions %s", (_, range, gap) => {
    const query = { ...range, sort: [], offset: 0, limit: 10 };
    expect(late.answer({ about: "transitions", eventId, query })).toMatchObject({ gap });
  });
});

test("more than 200,000 transitions are sorted by their time only, up to 20 million", () => {
  const sql = openAuditFile(":memory:", AUDIT_STORE);
  sql.run("INSERT INTO events VALUES (1, 1, 1, ?, 1, 1, 0, 'Opening', 'PUBLISHED')", eventId);
  const rows = new RowBuffer();
  for (let i = 2; i <= 200_002; i++) {
    rows.addRecord({ sequence: i, timeMs: i }, Move.LOCK, { kind: 1, id: 1 });
    rows.addRow(keyOf(i % 100, false), seatMove(SeatState.ACTIVE, SeatState.LOCKED, 7, NO_HOLD));
  }
  appendBlocks(sql, 1, rows);
  extendRuns(sql, 1);
  let trail = new AuditAnswering(sql);
  const extent = { firstSequence: 1, firstTimeMs: 0, lastSequence: 200_002 };
  const listed = (property: TransitionSort, filter: Partial<TransitionQuery> = {}) => {
    const sort = [{ property, descending: true }];
    const query = { sort, offset: 0, limit: 2, ...filter };
    return finish(trail.answer({ about: "transitions", eventId, query }, extent));
  };
  const first = { value: { transitions: [{ sequence: 200_002 }, {}], total: 200_001 } };
  for (const property of ["time", "sequence"] as const) {
    expect(listed(property)).toMatchObject(first);
  }
  expect(listed("priceId")).toMatchObject({ gap: AuditGap.TOO_MANY });
  expect(listed("priceId", { seatId: 5 })).toMatchObject({ gap: null, value: { total: 2_000 } });
  // A page reads a thousand slices at most, and fifty when it is sorted in memory.
  trail = new AuditAnswering(sql, 100);
  expect(listed("time")).toMatchObject({ gap: AuditGap.TOO_LONG });
  expect(listed("time", { fromSequence: 100_100 })).toMatchObject({ gap: null });
  expect(listed("priceId", { fromSequence: 190_000 })).toMatchObject({ gap: AuditGap.TOO_MANY });
  expect(listed("priceId", { fromSequence: 197_000 })).toMatchObject({ gap: null });
  sql.close();
});

test("a trail that begins before seats have prices lists them in its first map", () => {
  const state = new State();
  let unpriced = 0;
  for (const { sequence, timeMs, record } of kept.slice(0, 200)) {
    apply(state, record, timeMs, sequence);
    const late = openBook(":memory:");
    late.beginWith(state, markAt(sequence), timeMs);
    for (const id of state.catalog.events.keys()) {
      const { seats, ...rest } = mapOf(state, id);
      const listed = seats.filter((one) => one.state !== SeatState.WITHDRAWN);
      unpriced += seats.filter((one) => one.state === SeatState.UNPRICED).length;
      expect(pastMapOf(late, id, sequence)).toEqual({ ...rest, seats: listed });
    }
    late.close();
  }
  expect(unpriced).toBeGreaterThan(10);
});
