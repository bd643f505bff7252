/** The thread that keeps the audit trail: when it follows the log, and what it answers. */
import fs from "node:fs";
import path from "node:path";
import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AuditGap } from "../../../engine/queries/audit-trail.ts";
import { RecordType } from "../../../engine/records.ts";
import { AUDIT_FILE, auditedSequence } from "../../../persistence/audit/file.ts";
import type { AuditReport } from "../../../persistence/audit/keeper.ts";
import { serveAudit } from "../../../persistence/audit/service.ts";
import {
  AuditThread,
  type AuditThreadOptions,
  type FromAuditThread,
  type ToAuditThread,
} from "../../../persistence/audit/thread.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import type { ChainMark } from "../../../persistence/log/scan.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, storeWithTrail } from "../rescue/folder-fixture.ts";
import { markAt } from "./audit-fixture.ts";

const COMPILED = new URL("../../../dist/persistence/audit/worker.js", import.meta.url);

/** An event of the history, and whose it is. */
const [{ eventId, organizationId }] = history.records.flatMap(({ record }) =>
  record.type === RecordType.CATALOG
    ? record.puts.flatMap(({ table, row }) =>
        table === "events" ? [{ eventId: row.id, organizationId: row.organizationId }] : [],
      )
    : [],
) as [{ eventId: string; organizationId: number }];
const OWNER = { about: "owner", eventId } as const;

function threadOf(options: Pick<AuditThreadOptions, "folder" | "mark">, program?: URL) {
  const reports: AuditReport[] = [];
  const onReport = (report: AuditReport) => void reports.push(report);
  const usual = { storeId: STORE_ID, days: null, projected: 0, onReport };
  const thread = new AuditThread({ ...usual, ...options }, program);
  onTestFinished(() => thread.close());
  return { thread, reports };
}

test("a question is answered from all that is on disk, and an end leaves all there", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark }, COMPILED);
  const answered = await thread.ask(OWNER);
  expect(answered).toMatchObject({ gap: null, value: organizationId });
  expect(answered.extent?.lastSequence).toBe(process.durable);
  await process.commit(5, 10);
  await Promise.all([thread.close(), thread.close()]);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  expect(await thread.ask(OWNER)).toEqual({ gap: AuditGap.UNAVAILABLE, extent: null });
  expect(reports).toEqual([]);
});

test("before the first record there is no event", async () => {
  const { folder, process } = await storeWithTrail(0);
  const { thread } = threadOf({ folder, mark: () => process.journal.mark }, COMPILED);
  expect(await thread.ask(OWNER)).toEqual({ gap: AuditGap.NO_EVENT, extent: null });
});

test("of very many questions at once the last are told that it is busy", async () => {
  const { folder, process } = await storeWithTrail(20);
  const { thread } = threadOf({ folder, mark: () => process.journal.mark }, COMPILED);
  const outcomes = await Promise.all(Array.from({ length: 70 }, () => thread.ask(OWNER)));
  const gaps = outcomes.map(({ gap }) => gap);
  expect(gaps.slice(0, 64)).toEqual(Array.from({ length: 64 }, () => null));
  expect(gaps.slice(64)).toEqual(Array.from({ length: 6 }, () => AuditGap.BUSY));
  expect(await thread.ask(OWNER)).toMatchObject({ gap: null });
});

test("a damaged trail is reported by the thread, and answered from when it is anew", async () => {
  const { folder, process } = await storeWithTrail(20);
  fs.writeFileSync(path.join(folder, AUDIT_FILE), "not a database, but long enough to look");
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark }, COMPILED);
  expect(await thread.ask(OWNER)).toMatchObject({ gap: null, value: organizationId });
  expect(reports.map(({ kind }) => kind)).toEqual(["anew"]);
});

test("a thread that cannot begin is reported, and nobody waits for its answers", async () => {
  const { folder, process } = await storeWithTrail(1);
  // The package's own program is compiled: there is none beside the source.
  const { thread, reports } = threadOf({ folder, mark: () => process.journal.mark });
  expect(await thread.ask(OWNER)).toEqual({ gap: AuditGap.UNAVAILABLE, extent: null });
  expect(reports).toMatchObject([
    { kind: "failed", failure: expect.stringMatching(/Cannot find module/) },
  ]);
});

test("without a thread: what is told is followed, asked, and ended", async () => {
  const { folder, process } = await storeWithTrail(10);
  const { port1, port2 } = new MessageChannel();
  serveAudit(port1, { folder, storeId: STORE_ID, days: null });
  const said: FromAuditThread[] = [];
  port2.on("message", (message: FromAuditThread) => said.push(message));
  const closed = new Promise((resolve) => port2.once("close", resolve));
  const tell = (message: ToAuditThread) => port2.postMessage(message);
  const mark = process.journal.mark!;
  tell({ kind: "ask", id: 3, question: OWNER, mark: null });
  tell({ kind: "follow", mark });
  await vi.waitFor(() => expect(said.length).toBe(2));
  expect(said[0]).toMatchObject({ kind: "answer", id: 3, outcome: { gap: AuditGap.NO_EVENT } });
  const followed = { sequence: process.durable, isFailing: false };
  expect(said[1]).toEqual({ kind: "followed", ...followed });
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  tell({ kind: "ask", id: 4, question: OWNER, mark });
  // No log is that long: the thread says so, and goes on.
  tell({ kind: "follow", mark: { ...mark, sequence: 900_000 } });
  tell({ kind: "end" });
  await closed;
  expect(said.slice(2)).toMatchObject([
    { kind: "answer", id: 4, outcome: { gap: null, value: organizationId } },
    { kind: "report", report: { kind: "failed" } },
    { kind: "followed", isFailing: true },
  ]);
});

describe("when it follows without a question", () => {
  /** A program that only says which marks it was told; it fails at odd ones. */
  const ECHO = `
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", ({ kind, mark }) => {
      if (kind === "end") return parentPort.close();
      const { sequence } = mark;
      const isFailing = sequence % 2 === 1;
      const report = { kind: "forgot", firstSequence: sequence };
      parentPort.postMessage({ kind: "followed", sequence, isFailing });
      parentPort.postMessage({ kind: "report", report });
    });`;
  const PROGRAM = new URL(`data:text/javascript,${encodeURIComponent(ECHO)}`);
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function echo() {
    let mark: ChainMark | null = null;
    const { reports } = threadOf({ folder: "none", mark: () => mark }, PROGRAM);
    const steps = (count: number) => vi.advanceTimersByTime(1_000 * count);
    return {
      /** The log has grown to this record at the next step. */
      grow: (sequence: number) => {
        mark = markAt(sequence);
        steps(1);
      },
      steps,
      /** Waits until so many marks were told. @returns The records that they end with. */
      told: async (count: number) => {
        await until(() => reports.length >= count);
        return reports.map((report) => "firstSequence" in report && report.firstSequence);
      },
    };
  }

  test("not while the log grows, but in the first second of rest, and in each hour", async () => {
    const { grow, steps, told } = echo();
    steps(3);
    for (const sequence of [2, 4, 6]) grow(sequence);
    steps(1);
    expect(await told(1)).toEqual([6]);
    steps(3_599);
    grow(8);
    steps(1);
    expect(await told(2)).toEqual([6, 8]);
    steps(3_600);
    expect(await told(3)).toEqual([6, 8, 8]);
  });

  test("while the log grows, when it lacks 250,000 records", async () => {
    const { grow, told } = echo();
    for (const sequence of [100_000, 249_998, 250_000]) grow(sequence);
    expect(await told(1)).toEqual([250_000]);
    for (const sequence of [300_000, 499_998, 500_002]) grow(sequence);
    expect(await told(2)).toEqual([250_000, 500_002]);
  });

  test("a failure makes it lack everything again", async () => {
    const { grow, told } = echo();
    grow(250_001);
    expect(await told(1)).toEqual([250_001]);
    grow(250_003);
    expect(await told(2)).toEqual([250_001, 250_003]);
  });

  test("what failed is tried again in the next second, also when it is not told anew", async () => {
    const { grow, steps, told } = echo();
    grow(1);
    steps(1);
    expect(await told(1)).toEqual([1]);
    for (let count = 2; count <= 4; count++) {
      steps(1);
      expect((await told(count)).length).toBe(count);
    }
  });

  test("no second time before the first was followed", async () => {
    const { grow, told } = echo();
    grow(300_000);
    grow(900_000);
    expect(await told(1)).toEqual([300_000]);
    await until(() => false, 20);
    grow(900_000);
    grow(1_200_000);
    expect((await told(2)).length).toBe(2);
  });
});

async function until(isDone: () => boolean, turns = 1_000): Promise<void> {
  for (let turn = 0; turn < turns && !isDone(); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
