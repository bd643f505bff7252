/** The file of the deliveries: the backlog, its order, and its remains. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DeliveryFile, type Lane, openDeliveries } from "../../persistence/deliveries.ts";
import { openSqlWriter } from "../../persistence/disk/sqlite.ts";
import { temporaryFolder } from "../support/server-process.ts";

const STORE_ID = "0e1ecc4e-0000-4000-8000-000000000001";
const LANE: Lane = { webhookId: 7, partition: 1, since: 10 };

function fileIn(folder: string): DeliveryFile {
  const file = new DeliveryFile(path.join(folder, "webhooks.sqlite"), STORE_ID, 0);
  onTestFinished(() => file.close());
  return file;
}

/** Forms a delivery for each sequence. */
function form(file: DeliveryFile, lane: Lane, sequences: readonly number[], nowMs = 0): void {
  const formed = sequences.map((sequence) => {
    const id = `msg_${lane.webhookId}_${sequence}`;
    return { id, type: "change", sequence, body: `{"sequence":${sequence}}` };
  });
  file.addLane(lane, nowMs);
  file.form({ ...lane, since: sequences.at(-1)! }, formed, nowMs);
}

const listed = (file: DeliveryFile) =>
  file.list(LANE.webhookId, 0, 100).rows.map(({ sequence, status }) => [sequence, status]);

test("the deliveries of a lane wait in order, with the same ids and bodies after a restart", () => {
  const folder = temporaryFolder();
  const first = new DeliveryFile(path.join(folder, "webhooks.sqlite"), STORE_ID, 5);
  first.transaction(() => form(first, LANE, [11, 12]));
  const before = first.pending(LANE);
  first.close();
  const file = fileIn(folder);
  expect(file.followed).toBe(5);
  expect(file.pending(LANE)).toEqual(before);
  expect(before).toMatchObject({ id: "msg_7_11", body: '{"sequence":11}', attempts: 0 });
  file.end(before!.number, "DELIVERED", 200);
  expect(file.pending(LANE)).toMatchObject({ id: "msg_7_12" });
  expect(file.dueLanes(7, 0, 10)).toMatchObject([{ ...LANE, since: 12 }]);
});

test("a lane that exists keeps its place when the event changes again", () => {
  const file = fileIn(temporaryFolder());
  file.addLane(LANE, 0);
  file.delay(LANE, 5_000);
  file.addLane({ ...LANE, since: 99 }, 1);
  expect(file.dueLanes(7, 4_999, 10)).toEqual([]);
  expect(file.dueLanes(7, 5_000, 10)).toMatchObject([LANE]);
});

test("a failed transaction leaves nothing, not even the position", () => {
  const file = fileIn(temporaryFolder());
  const fail = () =>
    file.transaction(() => {
      file.follow(20);
      form(file, LANE, [11]);
      throw new Error("no");
    });
  expect(fail).toThrow("no");
  expect([file.followed, file.laneCount, file.isWaiting(LANE)]).toEqual([0, 0, false]);
});

test("a cut log discards what tells of records that are gone, and is followed from there", () => {
  const file = fileIn(temporaryFolder());
  form(file, LANE, [11, 12, 15]);
  file.follow(20);
  file.cut(12);
  expect(file.followed).toBe(12);
  expect(listed(file)).toEqual([
    [15, "DISCARDED"],
    [12, "PENDING"],
    [11, "PENDING"],
  ]);
  expect(file.dueLanes(7, 0, 1)).toMatchObject([{ since: 12 }]);
  file.cut(30);
  expect(file.followed).toBe(12);
});

test("discarding ends what waits for one webhook and leaves the others alone", () => {
  const file = fileIn(temporaryFolder());
  const other = { ...LANE, webhookId: 8 };
  form(file, LANE, [11]);
  form(file, other, [11]);
  file.discard(7);
  expect(listed(file)).toEqual([[11, "DISCARDED"]]);
  expect([file.dueLanes(7, 0, 9).length, file.dueLanes(8, 0, 9).length]).toEqual([0, 1]);
  // A later result does not change the answer.
  file.end(1, "DELIVERED", 200);
  expect(listed(file)).toEqual([[11, "DISCARDED"]]);
  file.remove(8);
  expect(file.webhookIds).toEqual([7]);
});

test("a success makes a lane due at the end of its Retry-After, `hasten` at once", () => {
  const file = fileIn(temporaryFolder());
  const free = { ...LANE, partition: 2 };
  for (const [lane, notBeforeMs] of [
    [LANE, 60_000],
    [free, 0],
  ] as const) {
    form(file, lane, [11, 12]);
    const { number } = file.pending(lane)!;
    file.retry(number, { lastStatus: 503, nowMs: 0, nextAtMs: 90_000 });
    file.delay(lane, 90_000, notBeforeMs);
  }
  const dueAt = (nowMs: number) => file.dueLanes(7, nowMs, 9).map(({ partition }) => partition);
  const shown = () => file.list(7, 0, 9).rows.map(({ nextAtMs }) => nextAtMs);
  file.failingSince(7, 0);
  file.succeeded(7, 10_000);
  expect([dueAt(10_000), dueAt(59_999), dueAt(60_000)]).toEqual([[2], [2], [2, 1]]);
  expect(shown()).toEqual([0, 10_000, 0, 60_000]);
  file.hasten(7, 20_000);
  expect(dueAt(20_000)).toEqual([2, 1]);
  expect(shown()).toEqual([0, 10_000, 0, 20_000]);
  expect(file.pendingCount(7, [file.pending(LANE)!.number])).toBe(3);
  expect(file.pendingCount(8, [])).toBe(0);
});

test("a file of an earlier build → what waits in it is kept, and a Retry-After remembered", () => {
  const folder = temporaryFolder();
  const first = fileIn(folder);
  form(first, LANE, [11]);
  first.close();
  const old = openSqlWriter(path.join(folder, "webhooks.sqlite"));
  old.execute("ALTER TABLE lanes DROP COLUMN notBeforeMs");
  old.close();
  const file = fileIn(folder);
  expect(file.dueLanes(7, 0, 9)).toMatchObject([{ ...LANE, since: 11 }]);
  file.delay(LANE, 90_000, 60_000);
  file.failingSince(7, 0);
  file.succeeded(7, 10_000);
  expect([file.dueLanes(7, 59_999, 9).length, file.dueLanes(7, 60_000, 9).length]).toEqual([0, 1]);
});

test("old deliveries and those beyond a number are removed, but none that waits", () => {
  const file = fileIn(temporaryFolder());
  const otherLane = { ...LANE, partition: 2 };
  form(file, otherLane, [1], 0);
  form(file, LANE, [2, 3, 4, 5, 6], 1_000);
  for (const number of [2, 3, 4, 5]) file.end(number, "DELIVERED", 200);
  file.prune(500, 3);
  expect(listed(file)).toEqual([
    [6, "PENDING"],
    [5, "DELIVERED"],
    [4, "DELIVERED"],
    [1, "PENDING"],
  ]);
  file.prune(2_000, 3);
  expect(listed(file)).toEqual([
    [6, "PENDING"],
    [1, "PENDING"],
  ]);
});

test("a damaged file is renamed, reported, and begun anew at the end of the log", () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "webhooks.sqlite");
  fs.writeFileSync(file, "not a database, but longer than its header would be".repeat(20));
  const reports: string[] = [];
  const report = (message: string) => void reports.push(message);
  const opened = openDeliveries({ folder, storeId: STORE_ID, sequence: 42, report });
  onTestFinished(() => opened.close());
  expect(opened.followed).toBe(42);
  expect(reports).toEqual([expect.stringContaining("webhooks.sqlite.damaged-1")]);
  expect(fs.readFileSync(`${file}.damaged-1`, "utf8")).toMatch(/^not a database/);
  expect(fs.statSync(file).mode & 0o077).toBe(0);
});

test("the deliveries of another store are not sent", () => {
  const folder = temporaryFolder();
  const other = { folder, storeId: STORE_ID.replace("1", "2"), sequence: 3, report: () => {} };
  openDeliveries(other).close();
  const reports: string[] = [];
  const report = (message: string) => void reports.push(message);
  openDeliveries({ ...other, storeId: STORE_ID, report }).close();
  expect(reports).toEqual([expect.stringContaining(STORE_ID)]);
});
