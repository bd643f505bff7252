/** The answers of the audit trail: filters, orders, pages, and gaps. */
import { drain } from "../../../engine/inventory/steps.ts";
import { afterAll, describe, expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import {
  AuditGap,
  type Moment,
  type Transition,
  type TransitionQuery,
  type TransitionSort,
} from "../../../engine/queries/history.ts";
import { State } from "../../../engine/state.ts";
import { Answers, BUILT_MAX, KEPT_MAX } from "../../../persistence/history/answers.ts";
import { EventHistories, LAYOUTS_MAX } from "../../../persistence/history/events.ts";
import { Book, markAt } from "../../support/audit.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { ask, mapOf, pastMapOf, transitionsOf, eventIdsIn } from "./history-fixture.ts";

const workload = new Workload(3);
for (let step = 0; step < 1_500; step++) workload.step();
const { kept } = workload.bench.journal;
const [eventId] = workload.bench.engine.state.catalog.events.keys() as Iterable<string> as [string];
const book = new Book();
book.feed(kept);
const all = transitionsOf(book, eventId);
const middle = all[all.length >> 1]!;
const held = all.find(({ session, isArea }) => session !== "" && isArea)!;
const seat = all.find(({ isArea }) => !isArea)!;

afterAll(() => book.discard());

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
  const late = new Book();
  const state = new State();
  for (const { sequence, record, timeMs } of kept.slice(0, first))
    apply(state, record, timeMs, sequence);
  late.beginWith(state, markAt(first), middle.timeMs);
  const end = kept.at(-1)!.sequence;
  late.feed(kept);
  afterAll(() => late.discard());

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

test("a trail that begins before seats have prices lists them in its first map", () => {
  const state = new State();
  let unpriced = 0;
  for (const { sequence, timeMs, record } of kept.slice(0, 200)) {
    apply(state, record, timeMs, sequence);
    const late = new Book();
    late.beginWith(state, markAt(sequence), timeMs);
    for (const id of state.catalog.events.keys()) {
      const { seats, ...rest } = mapOf(state, id);
      const listed = seats.filter((one) => one.state !== SeatState.WITHDRAWN);
      unpriced += seats.filter((one) => one.state === SeatState.UNPRICED).length;
      expect(pastMapOf(late, id, sequence)).toEqual({ ...rest, seats: listed });
    }
    late.discard();
  }
  expect(unpriced).toBeGreaterThan(10);
});

test.each(["tail", "archive"])("events with changes after a record → named from the %s", (part) => {
  const own = new Book();
  try {
    own.feed(kept);
    if (part === "archive") own.archiveAll();
    const last = own.sequence;
    const named = (since: number) => ask<"changed">(own, { about: "changed", since });
    for (const since of [0, 1, 2, 3].map((quarter) => Math.floor((quarter * last) / 4))) {
      const changed = own.histories.allEvents().filter((event) => {
        const question = { about: "changes", ...event, since, limit: 1 } as const;
        return ask<"changes">(own, question).changes.length > 0;
      });
      const ids = named(since).map((event) => event.partition);
      expect(ids).toEqual(expect.arrayContaining(changed.map((event) => event.partition)));
      expect(changed.length).toBeGreaterThan(1);
    }
    expect(named(last)).toEqual([]);
  } finally {
    own.discard();
  }
});

test("more transitions than may be read or sorted → the question is refused", () => {
  const { archive, histories, tail } = book;
  const answers = new Answers(archive, histories, tail, { readMax: all.length - 1, sortedMax: 50 });
  const listed = (property: TransitionSort, filter: Partial<TransitionQuery> = {}) => {
    const query = { sort: [{ property, descending: true }], offset: 0, limit: 2, ...filter };
    return drain(answers.answer({ about: "transitions", eventId, query }));
  };
  expect(listed("priceId")).toMatchObject({ gap: AuditGap.TOO_MANY });
  expect(listed("time")).toMatchObject({ gap: AuditGap.TOO_LONG });
  const { sequence } = all[1]!;
  expect(listed("time", { fromSequence: sequence + 1 })).toMatchObject({ gap: null });
  const { sequence: late } = all.at(-20)!;
  expect(listed("priceId", { fromSequence: late })).toMatchObject({ gap: null });
});

test("many past moments → four maps are kept, and four are built at a time", () => {
  const { archive, histories, tail } = book;
  const answers = new Answers(archive, histories, tail);
  const moments = Array.from({ length: 6 }, (_, i) => ({ sequence: middle.sequence + i }));
  for (const moment of moments) drain(answers.answer({ about: "areas", eventId, moment }));
  expect(answers.keptCount).toBe(KEPT_MAX);
  expect([KEPT_MAX, BUILT_MAX]).toEqual([4, 4]);
});

test("counts of open places → no past map is kept, or evicted", () => {
  const { archive, histories, tail } = book;
  const answers = new Answers(archive, histories, tail);
  const { sequence } = middle;
  drain(answers.answer({ about: "areas", eventId, moment: { sequence } }));
  for (let i = 1; i <= KEPT_MAX + 1; i++) {
    const counted = drain(answers.answer({ about: "open", eventId, sequence: sequence + i }));
    expect(counted.gap).toBeNull();
  }
  expect(answers.keptCount).toBe(1);
});

test("transitions beyond their memory → they are dropped, and read again", () => {
  const { archive, tail } = book;
  const max = 20_000;
  const histories = new EventHistories(archive, tail, { blockBytesMax: max });
  const answers = new Answers(archive, histories, tail);
  const query = { sort: [], offset: 0, limit: 100_000 };
  for (let round = 0; round < 2; round++) {
    for (const id of eventIdsIn(kept)) {
      const question = { about: "transitions", eventId: id, query } as const;
      expect(drain(answers.answer(question))).toEqual(book.answer(question));
      const { blockBytes, layouts } = histories.memory;
      expect(blockBytes).toBeLessThan(2 * max);
      expect(layouts).toBeLessThanOrEqual(LAYOUTS_MAX);
    }
  }
  expect(book.histories.memory.blockBytes).toBeGreaterThan(max);
});
