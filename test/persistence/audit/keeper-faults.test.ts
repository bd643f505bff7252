/** The keeper of the audit trail when its sources fail, and its retention time. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import { AuditGap } from "../../../engine/queries/history.ts";
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

test("a keeper that has not followed the log has no record", async () => {
  const { folder, process } = await storeWithTrail(3);
  const { keeper } = keep(folder);
  expect(keeper.sequence).toBe(0);
  keeper.follow(process.journal.mark!);
  expect(keeper.sequence).toBe(30);
  keeper.close();
  expect(keeper.sequence).toBe(0);
});

test("rows older than the retention time are removed once an hour and reported", async () => {
  const { folder, process } = await storeWithTrail(60);
  const mark = process.journal.mark!;
  const times = history.records.slice(0, mark.sequence).map(({ timeMs }) => timeMs);
  const { keeper, reports, time } = keep(folder, 30);
  // Every record is younger than thirty days.
  time.nowMs = times[0]! + 30 * DAY_MS;
  keeper.follow(mark);
  expect(reports).toEqual([]);
  time.nowMs = times.at(-1)! + 30 * DAY_MS + HOUR_MS;
  keeper.follow(mark);
  const gone = times.filter((timeMs) => timeMs < time.nowMs - 30 * DAY_MS).length;
  expect(reports).toEqual([{ kind: "expired", firstSequence: gone + 1 }]);
  expect(gone).toBeGreaterThan(0);
  time.nowMs += HOUR_MS - 1;
  keeper.follow(mark);
  expect(reports.length).toBe(1);
});

test("without the log's beginning and a good snapshot, no trail is made", async () => {
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
  // The newer snapshot is used.
  expect(keeper.follow(process.journal.mark!)).toBe(true);
  expect(reports).toMatchObject([{ kind: "incomplete" }]);
  keeper.close();
  fs.rmSync(path.join(folder, AUDIT_FILE));
  fs.truncateSync(newest!, 9_000);
  const last = keep(folder);
  expect(last.keeper.follow(process.journal.mark!)).toBe(false);
  const failure = `${older}: expected a sound snapshot, found database disk image is malformed`;
  expect(last.reports).toMatchObject([
    { kind: "failed", failure: expect.stringContaining(failure) },
  ]);
});

test("a trail that is damaged twice is set aside only once", async () => {
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
  expect(reports.map(({ kind }) => kind)).toEqual(["rebuilt", "failed"]);
  expect(fs.readdirSync(folder).filter((name) => name.includes("damaged"))).toEqual([
    `${AUDIT_FILE}.damaged-1`,
    `${AUDIT_FILE}.damaged-1-wal`,
  ]);
  // The whole log is kept for the new trail.
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(0);
});

test("an event without recent changes keeps its last rows when older ones are removed", () => {
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
  book.removeBefore(world.clock.timeMs);
  const first = book.row.firstSequence;
  const map = pastMapOf(book, quiet, first);
  otherwise();
  book.removeBefore(world.clock.timeMs);
  expect(book.row.firstSequence).toBe(first + 2);
  expect(pastMapOf(book, quiet, first + 2)).toEqual(map);
  expect(map.seats).toMatchObject([{ state: SeatState.LOCKED }, { state: SeatState.ACTIVE }]);
  expect(before.length).toBeGreaterThan(2);
  book.close();
});

test("an event that was deleted before a trail is opened again stays deleted", () => {
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
  const moment = { sequence: again.row.sequence };
  expect(again.answer({ about: "areas", eventId, moment })).toMatchObject({
    gap: AuditGap.NO_EVENT,
  });
  again.close();
});
