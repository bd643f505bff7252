/** The keeper of the audit trail when its sources fail it, and how long it keeps what it has. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import { AuditGap } from "../../../engine/queries/audit-trail.ts";
import { AUDIT_FILE, auditedSequence } from "../../../persistence/audit/file.ts";
import { AuditKeeper, type AuditReport } from "../../../persistence/audit/keeper.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, snapshotsIn, storeWithTrail } from "../rescue/folder-fixture.ts";
import { feed, openBook, pastMapOf, temporaryPath, transitionsOf } from "./audit-fixture.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

function keep(folder: string, days: number | null = null) {
  const reports: AuditReport[] = [];
  const time = { nowMs: 0 };
  const keeper = new AuditKeeper({
    disk: realDisk,
    folder,
    storeId: STORE_ID,
    days,
    nowMs: () => time.nowMs,
    onReport: (report) => void reports.push(report),
  });
  onTestFinished(() => keeper.close());
  return { keeper, reports, time };
}

test("before it followed anything it has no record", async () => {
  const { folder, process } = await storeWithTrail(3);
  const { keeper } = keep(folder);
  expect(keeper.sequence).toBe(0);
  keeper.follow(process.journal.mark!);
  expect(keeper.sequence).toBe(30);
  keeper.close();
  expect(keeper.sequence).toBe(0);
});

test("what is older than so many days goes, looked at once in an hour, and is told", async () => {
  const { folder, process } = await storeWithTrail(60);
  const mark = process.journal.mark!;
  const times = history.records.slice(0, mark.sequence).map(({ timeMs }) => timeMs);
  const { keeper, reports, time } = keep(folder, 30);
  // All is younger than thirty days.
  time.nowMs = times[0]! + 30 * DAY_MS;
  keeper.follow(mark);
  expect(reports).toEqual([]);
  time.nowMs = times.at(-1)! + 30 * DAY_MS + HOUR_MS;
  keeper.follow(mark);
  const gone = times.filter((timeMs) => timeMs < time.nowMs - 30 * DAY_MS).length;
  expect(reports).toEqual([{ kind: "forgot", firstSequence: gone + 1 }]);
  expect(gone).toBeGreaterThan(0);
  time.nowMs += HOUR_MS - 1;
  keeper.follow(mark);
  expect(reports.length).toBe(1);
});

test("with the log's beginning gone and no good snapshot there is no trail, and why", async () => {
  const { folder, process } = await storeWithTrail(0);
  const first = keep(folder);
  for (let i = 0; i < 3; i++) {
    await process.commit(30);
    first.keeper.follow(process.journal.mark!);
    await process.snapshot();
  }
  first.keeper.close();
  fs.rmSync(path.join(folder, AUDIT_FILE));
  const [older, newest] = snapshotsIn(folder);
  fs.truncateSync(older!, 9_000);
  const { keeper, reports } = keep(folder);
  // The newer one will do.
  expect(keeper.follow(process.journal.mark!)).toBe(true);
  expect(reports).toMatchObject([{ kind: "late" }]);
  keeper.close();
  fs.rmSync(path.join(folder, AUDIT_FILE));
  fs.truncateSync(newest!, 9_000);
  const last = keep(folder);
  expect(last.keeper.follow(process.journal.mark!)).toBe(false);
  const failure = `${older}: expected a sound snapshot, got database disk image is malformed`;
  expect(last.reports).toMatchObject([
    { kind: "failed", failure: expect.stringContaining(failure) },
  ]);
});

test("a trail that does not fit a second time is not set aside a second time", async () => {
  const { folder, process } = await storeWithTrail(20);
  const file = path.join(folder, AUDIT_FILE);
  const damage = () => fs.writeFileSync(file, "not a database, but long enough to look");
  damage();
  fs.writeFileSync(`${file}-wal`, "what was committed last");
  const { keeper, reports } = keep(folder);
  const mark = process.journal.mark!;
  expect(keeper.follow(mark)).toBe(true);
  keeper.close();
  for (const suffix of ["-wal", "-shm"]) fs.rmSync(file + suffix, { force: true });
  damage();
  expect(keeper.follow(mark)).toBe(false);
  expect(keeper.follow(mark)).toBe(false);
  expect(reports.map(({ kind }) => kind)).toEqual(["anew", "failed"]);
  expect(fs.readdirSync(folder).filter((name) => name.includes("damaged"))).toEqual([
    `${AUDIT_FILE}.damaged-1`,
    `${AUDIT_FILE}.damaged-1-wal`,
  ]);
  // The log keeps all of itself for the trail that is to be made.
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(0);
});

test("a trail of another log of the same length is made anew", async () => {
  const { folder, process } = await storeWithTrail(3);
  const mark = process.journal.mark!;
  const { keeper, reports } = keep(folder);
  expect(keeper.follow(mark)).toBe(true);
  keeper.close();
  // As after a repair that cut the end, behind which as many other records came.
  const twin = await storeWithTrail(0);
  await twin.process.commit(6, 5);
  fs.copyFileSync(path.join(folder, AUDIT_FILE), path.join(twin.folder, AUDIT_FILE));
  const other = keep(twin.folder);
  const theirs = twin.process.journal.mark!;
  expect(theirs.sequence).toBe(mark.sequence);
  expect(Buffer.compare(theirs.chain, mark.chain)).not.toBe(0);
  expect(other.keeper.follow(theirs)).toBe(true);
  expect(other.reports).toMatchObject([
    { kind: "anew", reason: expect.stringMatching("a trail of this log") },
  ]);
  expect(reports).toEqual([]);
});

test("an event in which nothing happened since keeps its last rows, whatever else goes", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const quiet = world.eventId;
  world.book("lock", world.selection("ann", "A1"));
  const other = world.createEvent();
  const assignmentId = world.createPrice("Late", other);
  const seats = [{ objectId: world.labels.idOf("A2"), assignmentId }];
  world.must("assignPrices", world.caller, { eventId: other, body: { seats, groupOfSeats: [] } });
  const book = openBook();
  const otherwise = () => {
    world.clock.timeMs += DAY_MS;
    const body = world.selection(null, "A2");
    world.must("block", world.caller, { eventId: other, body });
    world.must("unblock", world.caller, { eventId: other, body });
    feed(book, world.journal.kept);
  };
  otherwise();
  const before = transitionsOf(book, quiet);
  book.forget(world.clock.timeMs);
  const first = book.trail.firstSequence;
  const map = pastMapOf(book, quiet, first);
  otherwise();
  book.forget(world.clock.timeMs);
  expect(book.trail.firstSequence).toBe(first + 2);
  expect(pastMapOf(book, quiet, first + 2)).toEqual(map);
  expect(map.seats).toMatchObject([{ state: SeatState.LOCKED }, { state: SeatState.ACTIVE }]);
  expect(before.length).toBeGreaterThan(2);
  book.close();
});

test("what was deleted before a trail is opened again stays so", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { caller, eventId, schemaId, journal } = world;
  world.book("lock", world.selection("ann", "A1"));
  world.must("deleteEvent", caller, { eventId });
  world.must("deleteSchema", caller, { schemaId });
  const file = temporaryPath("audit.sqlite");
  const first = openBook(file);
  feed(first, journal.kept);
  const rows = transitionsOf(first, eventId);
  first.close();
  const again = openBook(file);
  world.must("createVenue", caller, { body: { name: "Elsewhere" } });
  feed(again, journal.kept);
  expect(transitionsOf(again, eventId)).toEqual(rows);
  expect(rows.length).toBeGreaterThan(2);
  const moment = { sequence: again.trail.sequence };
  expect(again.answer({ about: "areas", eventId, moment })).toMatchObject({
    gap: AuditGap.NO_EVENT,
  });
  again.close();
});

test("a trail that is opened again and again is the one that never was", () => {
  const file = temporaryPath("audit.sqlite");
  const { records } = history;
  for (let end = 100; end < records.length + 100; end += 100) {
    const book = openBook(file);
    feed(book, records.slice(0, end));
    book.close();
  }
  const again = openBook(file);
  const whole = openBook();
  feed(whole, records);
  const eventIds = records.flatMap(({ record }) =>
    "puts" in record
      ? record.puts.flatMap((put) => (put.table === "events" ? [put.row.id] : []))
      : [],
  );
  expect(eventIds.length).toBeGreaterThan(2);
  for (const id of new Set(eventIds)) {
    expect(transitionsOf(again, id)).toEqual(transitionsOf(whole, id));
  }
  again.close();
  whole.close();
});
