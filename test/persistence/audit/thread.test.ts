/** The thread that keeps the audit trail: when it follows the log, and what it answers. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { AuditGap, type WaitingClient } from "../../../engine/queries/history.ts";
import { RecordType } from "../../../engine/records.ts";
import { AUDIT_FILE, auditedSequence } from "../../../persistence/audit/file.ts";
import type { AuditReport } from "../../../persistence/audit/keeper.ts";
import type {
  FromReader,
  ReaderData,
  StartReader,
  ToReader,
} from "../../../persistence/audit/reader.ts";
import {
  AuditThread,
  type AuditThreadOptions,
  type FromAuditThread,
  serveAudit,
  type StartAuditThread,
  type ToAuditThread,
} from "../../../persistence/audit/thread.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { realScheduler } from "../../../persistence/disk/clock.ts";
import { workerThread } from "../../../persistence/disk/worker.ts";
import type { ChainMark } from "../../../persistence/log/log-reader.ts";
import { LocalThread } from "../../support/store.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, storeWithTrail } from "../rescue/folder-fixture.ts";
import { markAt } from "./audit-fixture.ts";

const COMPILED = new URL("../../../dist/persistence/store/audit-worker.js", import.meta.url);
const READER = new URL("../../../dist/persistence/store/audit-reader.js", import.meta.url);
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

type Source = Pick<AuditThreadOptions, "folder" | "mark">;

function threadOf(source: Source, options: Partial<AuditThreadOptions> = {}) {
  const reports: AuditReport[] = [];
  const thread = new AuditThread({
    storeId: STORE_ID,
    days: null,
    projected: 0,
    scheduler: realScheduler,
    startThread: workerThread(COMPILED, "test"),
    startReader: workerThread(READER, "test"),
    whenWritten: (done) => done(),
    onReport: (report) => void reports.push(report),
    ...source,
    ...options,
  });
  onTestFinished(() => thread.close());
  return { thread, reports };
}

test("an answer covers all durable records, and after a close the trail has them all", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark });
  const answered = await thread.ask(OWNER, ANN);
  expect(answered).toMatchObject({ gap: null, value: organizationId });
  expect(answered.extent?.lastSequence).toBe(process.durable);
  await process.commit(5, 10);
  await Promise.all([thread.close(), thread.close()]);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  expect(await thread.ask(OWNER, ANN)).toEqual({ gap: AuditGap.UNAVAILABLE, extent: null });
  expect(reports).toEqual([]);
});

test("before the first record there is no event", async () => {
  const { folder, process } = await storeWithTrail(0);
  const { thread } = threadOf({ folder, mark: () => process.journal.mark });
  expect(await thread.ask(OWNER, ANN)).toEqual({ gap: AuditGap.NO_EVENT, extent: null });
});

test("of 70 concurrent questions, the last six are refused as busy", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread } = threadOf({ folder, mark: () => process.journal.mark });
  const outcomes = await Promise.all(Array.from({ length: 70 }, () => thread.ask(OWNER, ANN)));
  const gaps = outcomes.map(({ gap }) => gap);
  expect(gaps.slice(0, 64)).toEqual(Array.from({ length: 64 }, () => null));
  expect(gaps.slice(64)).toEqual(Array.from({ length: 6 }, () => AuditGap.BUSY));
  expect(await thread.ask(OWNER, ANN)).toMatchObject({ gap: null });
});

/** A reading thread that never answers. */
const silent: StartReader = (_, { exit }) => ({
  post: (message) => message.kind === "end" && exit(),
  keepAlive: () => {},
  terminate: () => Promise.resolve(),
});

test("an organization may have 64 questions waiting, and all together 1,024", async () => {
  const { folder, process } = await storeWithTrail(20);
  const source = { folder, mark: () => process.journal.mark };
  const { thread } = threadOf(source, { startReader: silent });
  for (let asker = 1; asker <= 16; asker++) {
    for (let i = 0; i < 64; i++) void thread.ask(PAGE, String(asker));
    expect(thread.waiting).toBe(64 * asker);
    if (asker > 1) continue;
    expect(await thread.ask(OWNER, "1")).toEqual({ gap: AuditGap.BUSY, extent: null });
  }
  expect(await thread.ask(OWNER, "17")).toEqual({ gap: AuditGap.BUSY, extent: null });
  expect(thread.refused).toBe(2);
  const last = thread.ask(PAGE, "1");
  await thread.close();
  expect(await last).toEqual({ gap: AuditGap.BUSY, extent: null });
  expect(thread.waiting).toBe(0);
});

test("a question waits until the disk has what is durable, and is answered from that", async () => {
  const { folder, process } = await storeWithTrail(20);
  const marks: (number | undefined)[] = [];
  const listening: StartAuditThread = (data, events) => {
    const thread = workerThread<typeof data, ToAuditThread, FromAuditThread>(COMPILED, "test");
    const started = thread(data, events);
    const post = (message: ToAuditThread) => {
      if (message.kind === "ask") marks.push(message.mark?.sequence);
      started.post(message);
    };
    return { ...started, post };
  };
  const writes: (() => void)[] = [];
  const source = { folder, mark: () => process.journal.mark };
  const whenWritten = (done: () => void) => void writes.push(done);
  const { thread } = threadOf(source, { startThread: listening, whenWritten });
  const asked = thread.ask(OWNER, ANN);
  const gone: WaitingClient = { onGone: null };
  const dropped = thread.ask(OWNER, ANN, gone);
  gone.onGone!();
  expect(marks).toEqual([]);
  for (const written of writes) written();
  expect(await asked).toMatchObject({ gap: null });
  expect(await dropped).toMatchObject({ gap: AuditGap.UNAVAILABLE });
  expect(marks).toEqual([process.journal.mark!.sequence]);
});

test("the question of a client that has gone is dropped, before and after it is read", async () => {
  const { folder, process } = await storeWithTrail(20);
  const heard: ToReader[] = [];
  const listening: StartReader = (data, events) => {
    const thread = silent(data, events);
    const post = (message: ToReader) => {
      heard.push(message);
      thread.post(message);
    };
    return { ...thread, post };
  };
  const source = { folder, mark: () => process.journal.mark };
  const { thread } = threadOf(source, { startReader: listening });
  const [late, early] = [{ onGone: null }, { onGone: null }] as WaitingClient[];
  const first = thread.ask(PAGE, ANN, late);
  while (heard.length === 0) await new Promise(setImmediate);
  late!.onGone!();
  const second = thread.ask(PAGE, ANN, early);
  early!.onGone!();
  const gone = { gap: AuditGap.UNAVAILABLE, extent: null };
  expect([await first, await second, thread.waiting]).toEqual([gone, gone, 0]);
  // An answer from the other thread comes after all that it was sent before.
  await thread.ask(OWNER, ANN);
  expect(heard.map(({ kind }) => kind)).toEqual(["ask", "drop"]);
  late!.onGone!();
  expect(thread.waiting).toBe(0);
});

test("pages and maps come from the reading thread, and cover all durable records", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark });
  const moment = { sequence: process.durable };
  const answers = await Promise.all([
    thread.ask(PAGE, ANN),
    thread.ask({ about: "areas", eventId, moment }, ANN),
  ]);
  expect(answers.map(({ gap }) => gap)).toEqual([null, null]);
  await process.commit(5, 10);
  const { extent } = await thread.ask(PAGE, ANN);
  expect(extent?.lastSequence).toBe(process.durable);
  await thread.close();
  expect(fs.readdirSync(folder).filter((name) => name.startsWith(AUDIT_FILE))).toEqual([
    AUDIT_FILE,
  ]);
  expect(reports).toEqual([]);
});

test("a stored reply is read and the trail follows while the reading thread is busy", async () => {
  const { folder, process } = await storeWithTrail(20);
  const source = { folder, mark: () => process.journal.mark };
  const { thread } = threadOf(source, { startReader: silent });
  const page = thread.ask(PAGE, ANN);
  const reply = { about: "reply", id: `${ANN}:none` } as const;
  expect(await thread.ask(reply, ANN)).toMatchObject({ gap: null, value: null });
  await process.commit(5, 10);
  await thread.ask(reply, ANN);
  expect(thread.lagRecords).toBe(0);
  await thread.close();
  expect(await page).toEqual({ gap: AuditGap.UNAVAILABLE, extent: null });
});

test("a reading thread that ends is reported and started again by the next question", async () => {
  const { folder, process } = await storeWithTrail(20);
  const source = { folder, mark: () => process.journal.mark };
  const programs = [NOWHERE, READER];
  const startReader: StartReader = (data, events) =>
    workerThread<ReaderData, ToReader, FromReader>(programs.shift()!, "test")(data, events);
  const { thread, reports } = threadOf(source, { startReader });
  expect(await thread.ask(PAGE, ANN)).toEqual({ gap: AuditGap.UNAVAILABLE, extent: null });
  expect(thread.isFailing).toBe(true);
  expect(reports).toMatchObject([{ kind: "failed" }]);
  expect(await thread.ask(PAGE, ANN)).toMatchObject({ gap: null });
  expect(thread.isFailing).toBe(false);
});

test("a damaged trail is reported, rebuilt, and then answers", async () => {
  const { folder, process } = await storeWithTrail(20);
  fs.writeFileSync(path.join(folder, AUDIT_FILE), "not a database, but long enough to look");
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark });
  expect(await thread.ask(OWNER, ANN)).toMatchObject({ gap: null, value: organizationId });
  expect(reports.map(({ kind }) => kind)).toEqual(["rebuilt"]);
});

test("a thread that cannot start is reported, and its questions are answered at once", async () => {
  const { folder, process } = await storeWithTrail(1);
  const startThread: StartAuditThread = workerThread(NOWHERE, "test");
  const source = { folder, mark: () => process.journal.mark };
  const { thread, reports } = threadOf(source, { startThread });
  expect(await thread.ask(OWNER, ANN)).toEqual({ gap: AuditGap.UNAVAILABLE, extent: null });
  expect(reports).toMatchObject([
    { kind: "failed", failure: expect.stringMatching(/Cannot find module/) },
  ]);
});

test("the service follows, answers, reports and ends on request", async () => {
  const { folder, process } = await storeWithTrail(10);
  const said: FromAuditThread[] = [];
  let hasEnded = false;
  const service = new LocalThread<ToAuditThread, FromAuditThread>({
    serve: (port) => serveAudit(port, { disk: realDisk, folder, storeId: STORE_ID, days: null }),
    events: {
      message: (message) => said.push(message),
      error: () => {},
      exit: () => (hasEnded = true),
    },
    later: (task) => task(),
  });
  const mark = process.journal.mark!;
  service.post({ kind: "ask", id: 3, question: OWNER, mark: null });
  service.post({ kind: "follow", mark });
  expect(said).toMatchObject([
    { kind: "answer", id: 3, outcome: { gap: AuditGap.NO_EVENT } },
    { kind: "followed", sequence: process.durable, isFailing: false },
  ]);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  service.post({ kind: "ask", id: 4, question: OWNER, mark });
  // No log is that long: the thread reports it and continues.
  service.post({ kind: "follow", mark: { ...mark, sequence: 900_000 } });
  expect(hasEnded).toBe(false);
  service.post({ kind: "end" });
  expect(said.slice(2)).toMatchObject([
    { kind: "answer", id: 4, outcome: { gap: null, value: organizationId } },
    { kind: "report", report: { kind: "failed" } },
    { kind: "followed", isFailing: true },
  ]);
  expect(hasEnded).toBe(true);
});

describe("following without a question", () => {
  /** A thread that only notes the marks it gets, and answers when the test decides. */
  function echo() {
    let mark: ChainMark | null = null;
    let step = () => {};
    const marks: number[] = [];
    const unanswered: number[] = [];
    let answer: (message: FromAuditThread) => void = () => {};
    let exit = () => {};
    const startThread: StartAuditThread = (_, events) => {
      answer = events.message;
      exit = events.exit;
      const post = (message: ToAuditThread) => {
        if (message.kind === "end") return exit();
        if (message.kind !== "follow") throw new Error("nobody asks");
        marks.push(message.mark.sequence);
        unanswered.push(message.mark.sequence);
      };
      return { post, keepAlive: () => {}, terminate: () => Promise.resolve() };
    };
    const every = (periodMs: number, task: () => void) => {
      expect(periodMs).toBe(1_000);
      step = task;
      return () => {};
    };
    const scheduler = { ...realScheduler, every };
    threadOf({ folder: "none", mark: () => mark }, { startThread, scheduler });
    const steps = (count: number) => {
      for (let i = 0; i < count; i++) step();
    };
    return {
      marks,
      steps,
      /** The log has grown to this record at the next step. */
      grow: (sequence: number) => {
        mark = markAt(sequence);
        step();
      },
      /** The thread has followed; it fails at odd marks. */
      followed: () => {
        for (const sequence of unanswered.splice(0)) {
          answer({ kind: "followed", sequence, isFailing: sequence % 2 === 1 });
        }
      },
    };
  }

  test("it waits while the log grows, follows in the first idle second, and then hourly", () => {
    const { grow, steps, followed, marks } = echo();
    steps(3);
    for (const sequence of [2, 4]) grow(sequence);
    expect(marks).toEqual([]);
    steps(1);
    expect(marks).toEqual([4]);
    followed();
    steps(3_599);
    grow(6);
    steps(1);
    expect(marks).toEqual([4, 6]);
    followed();
    steps(3_599);
    expect(marks).toEqual([4, 6]);
    steps(1);
    expect(marks).toEqual([4, 6, 6]);
  });

  test("it follows a log that never rests every three seconds", () => {
    const { grow, followed, marks } = echo();
    for (const sequence of [2, 4, 6]) grow(sequence);
    expect(marks).toEqual([6]);
    followed();
    for (const sequence of [8, 10, 12]) grow(sequence);
    expect(marks).toEqual([6, 12]);
  });

  test("after a failure it follows again in the next second, though the log grows", () => {
    const { grow, followed, marks } = echo();
    for (const sequence of [2, 4, 5]) grow(sequence);
    followed();
    grow(6);
    expect(marks).toEqual([5, 6]);
  });

  test("after a failure it tries again every second", () => {
    const { grow, steps, followed, marks } = echo();
    grow(1);
    for (let i = 0; i < 4; i++) {
      steps(1);
      followed();
    }
    expect(marks).toEqual([1, 1, 1, 1]);
  });

  test("it does not follow again before the thread has answered", () => {
    const { grow, followed, marks } = echo();
    for (const sequence of [2, 4, 6, 8, 10, 12]) grow(sequence);
    expect(marks).toEqual([6]);
    followed();
    grow(14);
    expect(marks).toEqual([6, 14]);
  });
});
