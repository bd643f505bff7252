/** The thread of the history: its reads of the log, its turns, and its answers. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import {
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type ChangePage,
  type FollowedEvent,
  type SeatAfter,
  type TransitionPage,
  type WaitingClient,
} from "../../../engine/queries/history.ts";
import { RecordType } from "../../../engine/records.ts";
import { realScheduler } from "../../../persistence/disk/clock.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { openSqlWriter } from "../../../persistence/disk/sqlite.ts";
import {
  type FromWorker,
  type StartWorker,
  type ToWorker,
  workerThread,
} from "../../../persistence/disk/worker.ts";
import { AUDIT_FILE, auditedSequence } from "../../../persistence/history/archive.ts";
import { BUILT_MAX } from "../../../persistence/history/answers.ts";
import type { AuditReport } from "../../../persistence/history/keeper.ts";
import {
  asking,
  type HistoryProgram,
  HistoryThread,
  type HistoryThreadOptions,
  receivedPage,
  sentPage,
  serveHistory,
} from "../../../persistence/history/thread.ts";
import type { ChainMark } from "../../../persistence/log/log-reader.ts";
import { markAt } from "../../support/audit.ts";
import { LocalThread } from "../../support/store.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, storeWithTrail } from "../rescue/folder-fixture.ts";

const COMPILED = new URL("../../../dist/persistence/store/history-worker.js", import.meta.url);
const NOWHERE = new URL("none.js", import.meta.url);

/** An event of the history, and its organization. */
const [{ eventId, organizationId }] = history.records.flatMap(({ record }) =>
  record.type === RecordType.CATALOG
    ? record.puts.flatMap(({ table, row }) =>
        table === "events" ? [{ eventId: row.id, organizationId: row.organizationId }] : [],
      )
    : [],
) as [{ eventId: string; organizationId: number }];
const ANN = String(organizationId);
const OWNER = { about: "owner", eventId } as const;
const PAGE = {
  about: "transitions",
  eventId,
  query: { sort: [], offset: 0, limit: 10 },
} as const;
const UNAVAILABLE = { gap: AuditGap.UNAVAILABLE, extent: null };
const BUSY = { gap: AuditGap.BUSY, extent: null };

type Source = Pick<HistoryThreadOptions, "folder" | "mark">;

function threadOf(source: Source, options: Partial<HistoryThreadOptions> = {}) {
  const reports: AuditReport[] = [];
  const thread = new HistoryThread({
    storeId: STORE_ID,
    days: null,
    archived: 0,
    scheduler: realScheduler,
    start: workerThread(COMPILED, "test"),
    whenWritten: (done) => done(),
    onReport: (report) => void reports.push(report),
    ...source,
    ...options,
  });
  onTestFinished(() => thread.close());
  return { thread, reports };
}

/** A thread that never answers. */
const silent: StartWorker<HistoryProgram> = (_, { exit }) => ({
  post: ({ name }) => name === "end" && exit(),
  keepAlive: () => {},
  terminate: () => Promise.resolve(),
});

test("an answer covers all durable records, and after a close there is none", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark });
  const answered = await thread.ask(OWNER, ANN);
  expect(answered).toMatchObject({ gap: null, value: organizationId });
  expect(answered.extent?.lastSequence).toBe(process.durable);
  await process.commit(5, 10);
  const moment = { sequence: process.durable };
  const answers = await Promise.all([
    thread.ask(PAGE, ANN),
    thread.ask({ about: "areas", eventId, moment }, ANN),
    thread.ask({ about: "reply", id: `${ANN}:none` }, ANN),
  ]);
  expect(answers.map(({ extent }) => extent?.lastSequence)).toEqual(
    Array.from(answers, () => process.durable),
  );
  expect(thread.lagRecords).toBe(0);
  await Promise.all([thread.close(), thread.close()]);
  expect(await thread.ask(OWNER, ANN)).toEqual(UNAVAILABLE);
  const files = fs.readdirSync(folder).filter((name) => name.startsWith(AUDIT_FILE));
  expect(files).toEqual([AUDIT_FILE]);
  expect(reports).toEqual([]);
});

test("another thread asks → answers from what was asked for so far, and none after the end", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread } = threadOf({ folder, mark: () => process.journal.mark });
  const ask = asking(thread.connect());
  const changed = { about: "changed", since: 0 } as const;
  expect(await ask(changed)).toEqual(UNAVAILABLE);
  const { extent } = await thread.ask(OWNER, ANN);
  const answered = await ask(changed);
  expect(answered).toMatchObject({ gap: null, extent });
  const events = (answered as unknown as { readonly value: readonly FollowedEvent[] }).value;
  const event = events.find((one) => one.eventId === eventId)!;
  expect(event).toMatchObject({ organizationId });
  const [byId, byPartition] = await Promise.all([
    thread.ask({ about: "changes", eventId, since: 0, limit: 100 }, ANN),
    ask({ about: "changes", ...event, eventId: "", since: 0, limit: 100 }),
  ]);
  expect(byPartition).toEqual(byId);
  await thread.close();
  expect(await ask(changed)).toEqual(UNAVAILABLE);
  expect(await asking(thread.connect())(changed)).toEqual(UNAVAILABLE);
});

test("before the first record there is no event", async () => {
  const { folder, process } = await storeWithTrail(0);
  const { thread } = threadOf({ folder, mark: () => process.journal.mark });
  expect(await thread.ask(OWNER, ANN)).toEqual({ gap: AuditGap.NO_EVENT, extent: null });
});

test("an organization may have 64 questions waiting, and all together 1,024", async () => {
  const { thread } = threadOf({ folder: "none", mark: () => markAt(2) }, { start: silent });
  const asked = [];
  for (let asker = 1; asker <= 16; asker++) {
    for (let i = 0; i < 64; i++) asked.push(thread.ask(PAGE, String(asker)));
    expect(thread.waiting).toBe(64 * asker);
    if (asker === 1) expect(await thread.ask(OWNER, "1")).toEqual(BUSY);
  }
  expect(await thread.ask(OWNER, "17")).toEqual(BUSY);
  expect(thread.refused).toBe(2);
  await thread.close();
  expect(await Promise.all(asked)).toEqual(Array.from(asked, () => UNAVAILABLE));
  expect(thread.waiting).toBe(0);
});

test("a question waits until the disk has what is durable; one whose client has gone ends", async () => {
  const { folder, process } = await storeWithTrail(20);
  const writes: (() => void)[] = [];
  const source = { folder, mark: () => process.journal.mark };
  const whenWritten = (done: () => void) => void writes.push(done);
  const { thread } = threadOf(source, { whenWritten });
  const asked = thread.ask(OWNER, ANN);
  const [early, late]: WaitingClient[] = [{ onGone: null }, { onGone: null }];
  const dropped = [thread.ask(OWNER, ANN, early), thread.ask(PAGE, ANN, late)];
  early!.onGone!();
  for (const written of writes) written();
  late!.onGone!();
  expect(await asked).toMatchObject({ gap: null });
  expect(await Promise.all(dropped)).toEqual([UNAVAILABLE, UNAVAILABLE]);
  late!.onGone!();
  expect(thread.waiting).toBe(0);
});

test("a damaged archive is reported, rebuilt, and then answers", async () => {
  const { folder, process } = await storeWithTrail(20);
  fs.writeFileSync(path.join(folder, AUDIT_FILE), "not a database, but long enough to look");
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark });
  expect(await thread.ask(OWNER, ANN)).toMatchObject({ gap: null, value: organizationId });
  expect(reports.map(({ kind }) => kind)).toEqual(["rebuilt"]);
});

test("a thread that cannot start is reported, and its questions are answered at once", async () => {
  const { folder, process } = await storeWithTrail(1);
  const source = { folder, mark: () => process.journal.mark };
  const { thread, reports } = threadOf(source, { start: workerThread(NOWHERE, "test") });
  expect(await thread.ask(OWNER, ANN)).toEqual(UNAVAILABLE);
  expect(thread.isFailing).toBe(true);
  const failure = expect.stringMatching(/Cannot find module/);
  expect(reports).toMatchObject([{ kind: "failed", failure }]);
});

interface Clocked {
  readonly days: number | null;
  readonly nowMs: () => number;
}

const NO_RETENTION: Clocked = { days: null, nowMs: () => 0 };

/** The program in this thread: a slice for each `run`. */
async function local(sliceMoves?: number, { days, nowMs }: Clocked = NO_RETENTION) {
  const { folder, process } = await storeWithTrail(40);
  const answered: number[] = [];
  const said: FromWorker<HistoryProgram>[] = [];
  const tasks: (() => void)[] = [];
  const state = { hasEnded: false };
  const data = { folder, storeId: STORE_ID, days };
  const service = new LocalThread<ToWorker<HistoryProgram>, FromWorker<HistoryProgram>>({
    serve: (port) =>
      serveHistory(port, {
        ...data,
        disk: realDisk,
        soon: (task) => void tasks.push(task),
        nowMs,
        ...(sliceMoves === undefined ? {} : { sliceMoves }),
      }),
    events: {
      message: (message) => {
        said.push(message);
        if ("id" in message) answered.push(message.id);
      },
      error: () => {},
      exit: () => (state.hasEnded = true),
    },
    later: (task) => task(),
  });
  const mark = process.journal.mark!;
  const ask = (id: number, asker: string, question: AuditQuestion) => {
    const newest = process.journal.mark!;
    service.post({ id, name: "ask", argument: { id, asker, question, mark: newest } });
  };
  const run = () => tasks.splice(0).forEach((task) => task());
  return { folder, process, service, ask, run, answered, said, state, mark, tasks };
}

test("many questions of one organization → another's is answered in its turn", async () => {
  const { ask, run, answered, tasks } = await local();
  for (let id = 1; id <= 5; id++) ask(id, "1", PAGE);
  ask(6, "2", PAGE);
  while (tasks.length > 0) run();
  expect(answered).toEqual([1, 6, 2, 3, 4, 5]);
});

test("a question is dropped, another fails, and the thread goes on until it is told to end", async () => {
  const { folder, service, ask, run, answered, said, state, mark, tasks } = await local();
  ask(1, "1", PAGE);
  service.post({ id: 0, name: "drop", argument: 1 });
  ask(2, "1", PAGE);
  while (tasks.length > 0) run();
  expect(said).toMatchObject([
    { id: 1, result: { outcome: UNAVAILABLE } },
    { id: 2, result: { outcome: { gap: null }, read: mark.sequence, isFailing: false } },
  ]);
  service.post({ id: 5, name: "follow", argument: { mark, mustArchive: true } });
  while (tasks.length > 0) run();
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(mark.sequence);
  // No log is that long: the thread reports it and continues.
  service.post({
    id: 3,
    name: "follow",
    argument: { mark: { ...mark, sequence: 900_000 }, mustArchive: false },
  });
  while (tasks.length > 0) run();
  expect(said.slice(2)).toMatchObject([
    { id: 5, result: { read: mark.sequence, isFailing: false } },
    { event: "report", value: { kind: "failed" } },
    { id: 3, result: { read: mark.sequence, isFailing: true } },
  ]);
  ask(4, "1", PAGE);
  service.post({ id: 0, name: "end", argument: mark });
  run();
  expect([state.hasEnded, answered]).toEqual([true, [1, 2, 5, 3]]);
});

const ALL = { ...PAGE, query: { sort: [], offset: 0, limit: 10_000 } } as const;

/** The outcome of an answer. */
function outcomeIn(said: readonly FromWorker<HistoryProgram>[], id: number) {
  const answer = said.find((one) => "id" in one && one.id === id) as unknown as {
    readonly result: { readonly outcome: AuditOutcome<TransitionPage> };
  };
  return answer.result.outcome;
}

test("the log is archived between two slices of a question → it begins again, and is whole", async () => {
  const alone = await local(3);
  alone.service.post({ id: 2, name: "follow", argument: { mark: alone.mark, mustArchive: true } });
  let slices = 0;
  for (; alone.tasks.length > 0; slices++) alone.run();
  const { service, ask, run, answered, said, mark, tasks } = await local(3);
  service.post({ id: 2, name: "follow", argument: { mark, mustArchive: true } });
  for (let i = 0; i < slices - 4; i++) run();
  ask(1, "1", ALL);
  while (tasks.length > 0) run();
  expect(answered).toEqual([2, 1]);
  ask(3, "1", ALL);
  while (tasks.length > 0) run();
  expect(outcomeIn(said, 1)).toEqual(outcomeIn(said, 3));
  expect(outcomeIn(said, 1)).toMatchObject({ gap: null, extent: { lastSequence: mark.sequence } });
});

test("the log is archived while past maps are built → they begin again, and so may others", async () => {
  const alone = await local(3);
  alone.service.post({ id: 2, name: "follow", argument: { mark: alone.mark, mustArchive: true } });
  let slices = 0;
  for (; alone.tasks.length > 0; slices++) alone.run();
  const { service, ask, run, said, mark, tasks } = await local(3);
  const first = mark.sequence - BUILT_MAX;
  const areas = (n: number) =>
    ({ about: "areas", eventId, moment: { sequence: first + n } }) as const;
  service.post({ id: 2, name: "follow", argument: { mark, mustArchive: true } });
  for (let i = 0; i < slices - 4; i++) run();
  for (let n = 0; n < BUILT_MAX; n++) ask(10 + n, String(n), areas(n));
  for (let turns = 0; tasks.length > 0 && turns < 10_000; turns++) run();
  ask(20, "1", areas(BUILT_MAX));
  for (let turns = 0; tasks.length > 0 && turns < 10_000; turns++) run();
  expect(outcomeIn(said, 20).gap).toBeNull();
});

test("a question during archiving → it is answered between two slices", async () => {
  const { service, ask, run, answered, mark, tasks } = await local(3);
  service.post({ id: 1, name: "follow", argument: { mark, mustArchive: true } });
  for (let i = 0; i < 3; i++) run();
  ask(2, "1", OWNER);
  while (tasks.length > 0) run();
  expect(answered).toEqual([2, 1]);
});

/** The event that the retention comes to last. */
function lastEventOf(folder: string): string {
  const sql = openSqlWriter(path.join(folder, AUDIT_FILE));
  const row = sql.row("SELECT eventId FROM events WHERE removed IS NULL ORDER BY partition DESC");
  sql.close();
  return String(row!["eventId"]);
}

test("a question during the retention → it is answered between two slices", async () => {
  let nowMs = history.records[0]!.timeMs;
  const { folder, service, ask, run, answered, said, mark, tasks } = await local(3, {
    days: 1,
    nowMs: () => nowMs,
  });
  service.post({ id: 1, name: "follow", argument: { mark, mustArchive: true } });
  while (tasks.length > 0) run();
  nowMs = history.records[mark.sequence - 20]!.timeMs + 86_400_000;
  service.post({ id: 2, name: "follow", argument: { mark, mustArchive: true } });
  const hasExpired = () => said.some((one) => "event" in one);
  while (!hasExpired()) run();
  const last = lastEventOf(folder);
  ask(3, "1", { ...ALL, eventId: last });
  while (tasks.length > 0) run();
  expect(answered).toEqual([1, 3, 2]);
  ask(4, "1", { ...ALL, eventId: last });
  while (tasks.length > 0) run();
  expect(outcomeIn(said, 3)).toEqual(outcomeIn(said, 4));
});

test("a damaged chunk → its past is gone, an operator hears, and others are answered", async () => {
  const { folder, service, ask, run, said, mark, tasks } = await local();
  service.post({ id: 1, name: "follow", argument: { mark, mustArchive: true } });
  while (tasks.length > 0) run();
  const sql = openSqlWriter(path.join(folder, AUDIT_FILE));
  sql.run(
    `UPDATE chunks SET digest = digest + 1
     WHERE partition = (SELECT partition FROM events WHERE eventId = ?)`,
    eventId,
  );
  sql.close();
  ask(2, "1", ALL);
  while (tasks.length > 0) run();
  expect(outcomeIn(said, 2)).toMatchObject({ gap: AuditGap.DAMAGED });
  const part = expect.stringContaining("another digest");
  expect(said).toContainEqual({ event: "report", value: { kind: "damaged", part } });
  ask(3, "1", OWNER);
  while (tasks.length > 0) run();
  expect(outcomeIn(said, 3)).toMatchObject({ gap: null, value: organizationId });
});

test("a damaged event is asked for again and again → others are answered, and the log archived", async () => {
  const { folder, process, service, ask, run, said, mark, tasks } = await local(3);
  service.post({ id: 1, name: "follow", argument: { mark, mustArchive: true } });
  while (tasks.length > 0) run();
  const sql = openSqlWriter(path.join(folder, AUDIT_FILE));
  const damaged = sql.row("SELECT eventId FROM events WHERE eventId <> ?", eventId)!["eventId"];
  sql.run(
    `UPDATE chunks SET digest = digest + 1
     WHERE partition = (SELECT partition FROM events WHERE eventId = ?)`,
    String(damaged),
  );
  sql.close();
  await process.commit(20, 10);
  const newest = process.journal.mark!;
  service.post({ id: 2, name: "follow", argument: { mark: newest, mustArchive: true } });
  ask(3, "1", ALL);
  let id = 10;
  const isAnswered = (asked: number) => said.some((one) => "id" in one && one.id === asked);
  ask(id, "2", { ...ALL, eventId: String(damaged) });
  for (let turns = 0; turns < 3_000 && !(isAnswered(2) && isAnswered(3)); turns++) {
    run();
    if (isAnswered(id)) ask((id += 1), "2", { ...ALL, eventId: String(damaged) });
  }
  expect(id).toBeGreaterThan(20);
  expect(outcomeIn(said, id - 1)).toMatchObject({ gap: AuditGap.DAMAGED });
  expect(outcomeIn(said, 3)).toMatchObject({ gap: null });
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(newest.sequence);
  const reports = said.filter((one) => "event" in one);
  expect(reports).toMatchObject([{ value: { kind: "damaged" } }]);
});

describe("reading without a question", () => {
  /** A thread that only notes the marks it gets, and answers when the test decides. */
  function echo() {
    let mark: ChainMark | null = null;
    let step = () => {};
    const marks: number[] = [];
    const archiving: boolean[] = [];
    const unanswered: ToWorker<HistoryProgram>[] = [];
    let answer: (message: FromWorker<HistoryProgram>) => void = () => {};
    const start: StartWorker<HistoryProgram> = (_, events) => {
      answer = events.message;
      const post = (message: ToWorker<HistoryProgram>) => {
        if (message.name === "end") return events.exit();
        if (message.name !== "follow") throw new Error("nobody asks");
        marks.push(message.argument.mark.sequence);
        archiving.push(message.argument.mustArchive);
        unanswered.push(message);
      };
      return { post, keepAlive: () => {}, terminate: () => Promise.resolve() };
    };
    const every = (periodMs: number, task: () => void) => {
      expect(periodMs).toBe(1_000);
      step = task;
      return () => {};
    };
    const scheduler = { ...realScheduler, every };
    const { thread } = threadOf({ folder: "none", mark: () => mark }, { start, scheduler });
    const steps = (count: number) => {
      for (let i = 0; i < count; i++) step();
    };
    return {
      thread,
      marks,
      archiving,
      steps,
      /** The log has grown to this record at the next step. */
      grow: (sequence: number) => {
        mark = markAt(sequence);
        step();
      },
      /** The thread has read; it fails at odd marks. */
      followed: () => {
        for (const message of unanswered.splice(0)) {
          const { sequence } = (message.argument as { readonly mark: ChainMark }).mark;
          const result = { read: sequence, isFailing: sequence % 2 === 1 };
          answer({ id: message.id, result });
        }
      },
    };
  }

  test("a log that grows → not before the first idle second, and then hourly", () => {
    const { grow, steps, followed, marks } = echo();
    steps(3);
    for (const sequence of [2, 4]) grow(sequence);
    expect(marks).toEqual([]);
    steps(1);
    expect(marks).toEqual([4]);
    followed();
    steps(3_597);
    expect(marks).toEqual([4]);
    steps(1);
    expect(marks).toEqual([4, 4]);
  });

  test("a log that never rests → after a million records", () => {
    const { grow, followed, marks } = echo();
    for (const sequence of [2, 500_000, 999_998]) grow(sequence);
    expect(marks).toEqual([]);
    grow(1_000_002);
    expect(marks).toEqual([1_000_002]);
    followed();
    grow(1_900_000);
    expect(marks).toEqual([1_000_002]);
  });

  test("a failure → the next step tries again", () => {
    const { grow, steps, followed, marks } = echo();
    grow(5);
    steps(1);
    followed();
    steps(1);
    expect(marks).toEqual([5, 5]);
    steps(3);
    expect(marks).toEqual([5, 5]);
  });

  test("a failure while the log grows → each step archives until it is over, then none", () => {
    const { thread, grow, steps, followed, marks, archiving } = echo();
    grow(5);
    steps(1);
    followed();
    for (const sequence of [7, 8]) {
      expect(thread.isFailing).toBe(true);
      grow(sequence);
      followed();
    }
    expect([marks, archiving]).toEqual([
      [5, 7, 8],
      [true, true, true],
    ]);
    expect([thread.isFailing, thread.lagRecords]).toEqual([false, 0]);
    grow(10);
    expect(marks).toEqual([5, 7, 8]);
  });
});

// Changes on their way between the threads.

const FACTS = { timeMs: 1_800_000_000_000, call: "lock", session: "ann", holdType: "vip" };
const REST = { areas: [{ id: 7, active: 1, locked: 2, sold: 3, blocked: 4 }], bookable: true };

function pageOf(...lists: readonly (readonly SeatAfter[])[]): ChangePage {
  const changes = lists.map((seats, i) => {
    return { sequence: i + 1, previous: i, ...FACTS, ...REST, status: null, seats };
  });
  return { changes, hasMore: true };
}

const { ACTIVE, LOCKED, SOLD } = SeatState;
const SEATS: readonly SeatAfter[] = [
  { id: 1, state: null, priceId: null, expiresAtMs: null },
  { id: 2, state: ACTIVE, priceId: 2 ** 40, expiresAtMs: null },
  { id: 2 ** 50, state: LOCKED, priceId: 3, expiresAtMs: 1_800_000_000_001 },
  { id: 2 ** 50 + 1, state: SOLD, priceId: null, expiresAtMs: null },
];

test("changes arrive as they were sent, without an object for each seat on the way", () => {
  const page = pageOf(SEATS, [], SEATS.slice(1));
  const sent = sentPage(page);
  expect(sent.changes[0]!.seats).toBeInstanceOf(Float64Array);
  expect(receivedPage(structuredClone(sent))).toEqual(page);
});
