/** The keeper of the audit trail with a real log: it continues, rebuilds, and loses nothing. */
import { drain } from "../../../engine/inventory/steps.ts";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { crc32 } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { AuditGap } from "../../../engine/queries/history.ts";
import { State } from "../../../engine/state.ts";
import {
  Archive,
  AUDIT_FILE,
  auditedSequence,
  packed,
  checkRows,
  unlessDamaged,
} from "../../../persistence/history/archive.ts";
import {
  type AuditReport,
  HistoryKeeper,
  type OpenHistory,
  readHistory,
} from "../../../persistence/history/keeper.ts";
import { type Disk, realDisk } from "../../../persistence/disk/disk.ts";
import { openSqlWriter, SqlFault, STATEMENTS_MAX } from "../../../persistence/disk/sqlite.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { AUDIT_STORE, Book } from "../../support/audit.ts";
import { ProcessDied } from "../../support/disk/process-disk.ts";
import { SmallDisk } from "../../support/disk/small-disk.ts";
import { describeUnless, missingPrograms, missingRoot } from "../../support/programs.ts";
import { temporaryFolder } from "../../support/server-process.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, snapshotsIn, storeWithTrail } from "../rescue/folder-fixture.ts";
import { folderOf, namesIn, StoreProcess } from "../store/store-fixture.ts";
import { eventIdsIn, mapOf, openBook, pastMapOf, transitionsOf } from "./history-fixture.ts";

const DAY_MS = 86_400_000;
const eventIds = eventIdsIn(history.records);

interface Kept {
  readonly keeper: HistoryKeeper;
  readonly reports: AuditReport[];
}

/** @param tailBytesMax - So few bytes that most batches go to the archive at once, by default. */
function keep(folder: string, disk: Disk = realDisk, tailBytesMax = 2_000): Kept {
  const reports: AuditReport[] = [];
  const onReport = (report: AuditReport) => void reports.push(report);
  const base = { disk, folder, storeId: STORE_ID, days: null, nowMs: () => 0 };
  const options = { ...base, onReport, tailBytesMax, imageMovesMin: 40 };
  return { keeper: new HistoryKeeper(options), reports };
}

/** All rows of the history in the folder. */
function rowsIn(folder: string) {
  const book = readHistory({ disk: realDisk, folder, storeId: STORE_ID });
  const rows = eventIds.flatMap((eventId) => transitionsOf(book, eventId));
  const { row: trail } = book.archive;
  book.close();
  return { rows, trail };
}

/** The rows due after the first records. */
function rowsOf(records: number) {
  const book = openBook();
  book.feed(history.records.slice(0, records));
  return eventIds.flatMap((eventId) => transitionsOf(book, eventId));
}

/** Bytes that this process has read of files, as Linux counts them. */
function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(fs.readFileSync("/proc/self/io", "utf8"))![1]);
}

test("an archive has grown by very many chunks → a start reads none of them", () => {
  const folder = temporaryFolder();
  const book = new Book(folder);
  book.feed(history.records);
  book.archiveAll();
  const random = randomBytes(256 * 1024);
  book.archive.commit(book.archive.row, () => {
    for (let first = 1; first <= 100; first++) {
      const extent = { partition: 1_000_000 + first, first, last: first, lastMs: 0, moves: 1 };
      book.archive.putChunk({ ...extent, image: null, records: random, isPacked: true });
    }
  });
  const { sequence } = book;
  book.close();
  const { size } = fs.statSync(path.join(folder, AUDIT_FILE));
  expect(size).toBeGreaterThan(100 * random.length);
  const before = bytesRead();
  expect(auditedSequence(realDisk, folder, AUDIT_STORE)).toBe(sequence);
  const opened = new Book(folder);
  expect(opened.sequence).toBe(sequence);
  opened.close();
  expect(bytesRead() - before).toBeLessThan(size / 50);
});

test("it follows a log over segments and starts, and takes each record once", async () => {
  const { folder, process } = await storeWithTrail(0);
  let current = process;
  let { keeper, reports } = keep(folder);
  for (let round = 0; round < 80; round++) {
    await current.commit(1 + (round % 4), 1 + (round % 9));
    if (round % 3 > 0) expect(keeper.follow(current.journal.mark!)).toBe(true);
    if (round % 5 === 4) {
      keeper.close();
      ({ keeper } = keep(folder));
    }
    if (round % 8 === 7) {
      await current.close();
      current = await StoreProcess.start({ folder, history });
    }
  }
  await current.commit(20, 10);
  expect(keeper.follow(current.journal.mark!)).toBe(true);
  expect(keeper.read).toBe(current.durable);
  keeper.close();
  const { rows, trail } = rowsIn(folder);
  expect(rows).toEqual(rowsOf(current.durable));
  expect(trail.firstSequence).toBe(1);
  expect(namesIn(folder, "wal").length).toBeGreaterThan(6);
  expect(reports).toEqual([]);
});

/** Dies at a read, like a killed process: rows not yet kept are lost. */
function dyingDisk(lastRead: number): { disk: Disk; reads: () => number } {
  let reads = 0;
  const disk: Disk = {
    ...realDisk,
    openNow(name) {
      const file = realDisk.openNow(name);
      const readNow = file.readNow.bind(file);
      file.readNow = (target, position) => {
        reads += 1;
        if (reads > lastRead) throw new ProcessDied();
        return readNow(target, position);
      };
      return file;
    },
  };
  return { disk, reads: () => reads };
}

test("a keeper that is killed while it catches up loses and repeats nothing", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(60, 10);
  const mark = process.journal.mark!;
  const wanted = rowsOf(process.durable);
  let deaths = 0;
  for (let last = 1; last < 40; last++) {
    const { disk } = dyingDisk(last);
    const { keeper, reports } = keep(folder, disk, 500 * last);
    const isThere = keeper.follow(mark);
    keeper.close();
    if (isThere) break;
    deaths += 1;
    expect(reports).toMatchObject([{ kind: "failed" }]);
    expect(rowsIn(folder).rows).toEqual(wanted);
  }
  expect(deaths).toBeGreaterThan(1);
  expect(rowsIn(folder).rows).toEqual(wanted);
});

/** A store whose log has lost its beginning to snapshots, with a complete trail. */
async function pruned() {
  const made = await storeWithTrail(0);
  const { keeper } = keep(made.folder);
  for (let i = 0; i < 4; i++) {
    await made.process.commit(30);
    keeper.follow(made.process.journal.mark!);
    await made.process.snapshot();
  }
  await made.process.commit(10);
  keeper.close();
  expect(namesIn(made.folder, "wal")[0]).not.toMatch(/^0{15}1-/);
  return made;
}

function expectPastOf(folder: string, from: number, to: number): void {
  const book = readHistory({ disk: realDisk, folder, storeId: STORE_ID });
  const state = new State();
  for (const { sequence, timeMs, record } of history.records.slice(0, to)) {
    apply(state, record, timeMs, sequence);
    if (sequence < from) continue;
    for (const eventId of state.catalog.events.keys()) {
      const { seats, ...rest } = mapOf(state, eventId);
      const listed = seats.filter((seat) => seat.state !== SeatState.WITHDRAWN);
      const found = pastMapOf(book, eventId, sequence);
      expect(found, `record ${sequence}`).toEqual({ ...rest, seats: listed });
    }
  }
  book.close();
}

test("a missing trail is rebuilt from the whole log", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(50);
  const { keeper, reports } = keep(folder);
  keeper.follow(process.journal.mark!);
  keeper.close();
  fs.rmSync(path.join(folder, AUDIT_FILE));
  const again = keep(folder);
  expect(again.keeper.follow(process.journal.mark!)).toBe(true);
  again.keeper.close();
  expect(rowsIn(folder).rows).toEqual(rowsOf(process.durable));
  expect(reports).toEqual([]);
});

test("a log without its beginning gives a trail from a snapshot on, and reports it", async () => {
  const { folder, process } = await pruned();
  fs.rmSync(path.join(folder, AUDIT_FILE));
  const { keeper, reports } = keep(folder);
  const isRead = keeper.follow(process.journal.mark!);
  expect([isRead, reports]).toEqual([
    true,
    [{ kind: "incomplete", firstSequence: expect.any(Number) }],
  ]);
  const eventId = eventIds[0]!;
  const early = { about: "areas", eventId, moment: { sequence: 20 } } as const;
  const outcome = drain(keeper.history!.answers.answer(early));
  expect(outcome).toMatchObject({ gap: AuditGap.TOO_EARLY });
  keeper.close();
  const { rows, trail } = rowsIn(folder);
  expect(reports).toEqual([{ kind: "incomplete", firstSequence: trail.firstSequence }]);
  expect(trail.firstSequence).toBeGreaterThan(100);
  expectPastOf(folder, trail.firstSequence - 1, process.durable);
  const late = rowsOf(process.durable).filter(({ sequence }) => sequence >= trail.firstSequence);
  expect(rows).toEqual(late);
});

const DAMAGES: readonly (readonly [string, (file: string) => void])[] = [
  ["is no database", (file) => fs.writeFileSync(file, "not a database, but long enough to look")],
  ["has lost its pages", (file) => fs.truncateSync(file, 8_192)],
  [
    "is another store's",
    (file) => {
      fs.rmSync(file);
      new Archive(file, "99999999-2222-4333-8444-555555555555").close();
    },
  ],
];

test.each(DAMAGES)("a trail that %s is set aside, reported and rebuilt", async (_, damage) => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(30);
  const mark = process.journal.mark!;
  const first = keep(folder);
  first.keeper.follow(mark);
  first.keeper.close();
  damage(path.join(folder, AUDIT_FILE));
  const { keeper, reports } = keep(folder);
  expect(keeper.follow(mark)).toBe(true);
  keeper.close();
  expect(reports.map(({ kind }) => kind)).toEqual(["rebuilt"]);
  expect(fs.existsSync(path.join(folder, `${AUDIT_FILE}.damaged-1`))).toBe(true);
  expect(rowsIn(folder).rows).toEqual(rowsOf(process.durable));
});

test("a trail that is ahead of the log, as beside an older copy, is rebuilt", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(40);
  const older = process.journal.mark!;
  await process.commit(10);
  const first = keep(folder);
  first.keeper.follow(process.journal.mark!);
  first.keeper.close();
  const { keeper, reports } = keep(folder);
  expect(keeper.follow(older)).toBe(true);
  expect(keeper.read).toBe(older.sequence);
  expect(reports.map(({ kind }) => kind)).toEqual(["rebuilt"]);
  keeper.close();
});

test.each([
  ["as long", 50, "a history of this log|expected chain"],
  ["longer", 60, "expected chain"],
])("a trail beside another log that is %s is rebuilt from that log", async (...given) => {
  const [, batches, reason] = given;
  const { folder, process } = await storeWithTrail(0);
  await process.commit(40);
  const first = keep(folder);
  first.keeper.follow(process.journal.mark!);
  first.keeper.close();
  // As after a repair with a cut end, or beside a restored copy.
  const other = await storeWithTrail(0);
  await other.process.commit(batches, 4);
  fs.copyFileSync(path.join(folder, AUDIT_FILE), path.join(other.folder, AUDIT_FILE));
  const { keeper, reports } = keep(other.folder);
  expect(keeper.follow(other.process.journal.mark!)).toBe(true);
  expect(reports).toMatchObject([{ kind: "rebuilt", reason: expect.stringMatching(reason) }]);
  keeper.close();
  expect(rowsIn(other.folder).rows).toEqual(rowsOf(other.process.durable));
});

test("damage of the log is not taken for damage of the trail", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(40);
  const first = keep(folder);
  expect(first.keeper.follow(process.journal.mark!)).toBe(true);
  const known = auditedSequence(realDisk, folder, STORE_ID)!;
  first.keeper.close();
  // Frames follow the damaged one; else it would look torn.
  await process.commit(44);
  const newest = path.join(folder, "wal", namesIn(folder, "wal").at(-2)!);
  const bytes = fs.readFileSync(newest);
  bytes[5_000]! ^= 1;
  fs.writeFileSync(newest, bytes);
  const { keeper, reports } = keep(folder);
  for (let i = 0; i < 2; i++) expect(keeper.follow(process.journal.mark!)).toBe(false);
  expect(keeper.isFailing).toBe(true);
  expect(reports).toMatchObject([{ kind: "failed", failure: expect.stringContaining("at byte") }]);
  keeper.close();
  expect(fs.readdirSync(folder).filter((name) => name.includes("damaged"))).toEqual([]);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBeGreaterThanOrEqual(known);
  bytes[5_000]! ^= 1;
  fs.writeFileSync(newest, bytes);
  expect(keeper.follow(process.journal.mark!)).toBe(true);
  expect(keeper.isFailing).toBe(false);
  keeper.close();
  expect(rowsIn(folder).rows).toEqual(rowsOf(process.durable));
});

test("a failure is reported once, and the next call tries again", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(20);
  const mark = process.journal.mark!;
  let isBroken = true;
  const disk: Disk = {
    ...realDisk,
    openNow: (name) => {
      if (isBroken) throw new Error("the disk is away");
      return realDisk.openNow(name);
    },
  };
  const { keeper, reports } = keep(folder, disk);
  for (let i = 0; i < 2; i++) expect(keeper.follow(mark)).toBe(false);
  expect(keeper.history).toBeNull();
  expect(reports).toEqual([{ kind: "failed", failure: "the disk is away" }]);
  isBroken = false;
  expect(keeper.follow(mark)).toBe(true);
  expect([keeper.isFailing, keeper.read]).toEqual([false, mark.sequence]);
  keeper.close();
});

test("segments that the trail lacks are kept until the trail has followed", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(20);
  const { keeper } = keep(folder);
  keeper.follow(process.journal.mark!);
  const behind = auditedSequence(realDisk, folder, STORE_ID)!;
  for (let i = 0; i < 4; i++) {
    await process.commit(30);
    await process.snapshot();
  }
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(behind);
  const held = namesIn(folder, "wal").length;
  expect(keeper.follow(process.journal.mark!)).toBe(true);
  keeper.close();
  expect(rowsIn(folder).rows).toEqual(rowsOf(process.durable));
  await process.commit(1);
  await process.snapshot();
  expect(namesIn(folder, "wal").length).toBeLessThan(held - 2);
});

test("while the trail cannot be read, the whole log is kept", async () => {
  const { folder, process } = await storeWithTrail(0);
  for (let i = 0; i < 4; i++) {
    await process.commit(30);
    await process.snapshot();
  }
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(0);
  expect(namesIn(folder, "wal")[0]).toMatch(/^0{15}1-/);
});

test("the log lost its beginning, and so did every snapshot → there is no history", async () => {
  const { folder, process } = await pruned();
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

test("an archive that is damaged twice → it is set aside only once", async () => {
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
  for (let i = 0; i < 2; i++) expect(keeper.follow(mark)).toBe(false);
  expect(reports.map(({ kind }) => kind)).toEqual(["rebuilt", "failed"]);
  expect(fs.readdirSync(folder).filter((name) => name.includes("damaged"))).toEqual([
    `${AUDIT_FILE}.damaged-1`,
    `${AUDIT_FILE}.damaged-1-wal`,
  ]);
  // The whole log is kept for the new archive.
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(0);
});

test("records past their retention → they go once an hour, also those not archived yet", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(40);
  const mark = process.journal.mark!;
  const times = history.records.slice(0, mark.sequence).map(({ timeMs }) => timeMs);
  const reports: AuditReport[] = [];
  let nowMs = times[0]! + 30 * DAY_MS;
  const keeper = new HistoryKeeper({
    disk: realDisk,
    folder,
    storeId: STORE_ID,
    days: 30,
    nowMs: () => nowMs,
    onReport: (report) => void reports.push(report),
  });
  onTestFinished(() => keeper.close());
  keeper.follow(mark);
  expect(reports).toEqual([]);
  nowMs = times.at(-1)! + 30 * DAY_MS + DAY_MS;
  keeper.follow(mark);
  // Records of the catalog alone are in no chunk, so they do not count.
  const { firstSequence } = reports[0] as { firstSequence: number };
  expect(reports).toEqual([{ kind: "expired", firstSequence }]);
  expect(firstSequence).toBeGreaterThan(mark.sequence - 10);
  nowMs += DAY_MS / 24 - 1;
  keeper.follow(mark);
  expect(reports).toHaveLength(1);
});

test("a damaged chunk → its digest tells, and the others are read", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(60, 10);
  const { keeper } = keep(folder);
  expect(keeper.follow(process.journal.mark!)).toBe(true);
  keeper.close();
  const sql = openSqlWriter(path.join(folder, AUDIT_FILE));
  const { partition, first } = sql.row(
    "SELECT partition, max(first) AS first FROM chunks WHERE length(records) > 60",
  )!;
  sql.run(
    `UPDATE chunks SET records = CAST(substr(records, 1, 40) || x'00' || substr(records, 42) AS BLOB)
     WHERE partition = ? AND first = ?`,
    Number(partition),
    Number(first),
  );
  expect(() => checkRows(sql)).toThrow(`row ${String(partition)}, ${String(first)} of chunks`);
  sql.close();
  const again = keep(folder);
  expect(again.keeper.follow(process.journal.mark!)).toBe(true);
  const { answers } = again.keeper.history!;
  const query = { sort: [], offset: 0, limit: 1_000 };
  const ask = (id: string) => () =>
    drain(answers.answer({ about: "transitions", eventId: id, query }));
  const outcomes = eventIds.map((id) => {
    try {
      return String(ask(id)().gap);
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(outcomes.filter((one) => one.includes("another digest"))).toHaveLength(1);
  expect(outcomes).toContain("null");
  // Later records are archived, so the log does not wait for ever.
  await process.commit(30, 10);
  again.keeper.archive(process.journal.mark!);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  again.keeper.close();
});

/** Transitions of an event, and its areas after a record; "damaged" where the archive is. */
function pastOf(book: OpenHistory, eventId: string, sequence: number): unknown {
  const question = { about: "areas", eventId, moment: { sequence } } as const;
  const past = unlessDamaged(() => {
    return [transitionsOf(book, eventId), drain(book.answers.answer(question))];
  });
  return past ?? "damaged";
}

/** An archive of 600 records with many images, in a closed folder; and the process that goes on. */
async function archivedStore() {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(60, 10);
  const { keeper } = keep(folder);
  keeper.archive(process.journal.mark!);
  keeper.close();
  const change = (sql: string, ...values: readonly (string | number)[]) => {
    const file = openSqlWriter(path.join(folder, AUDIT_FILE));
    file.run(sql, ...values);
    file.close();
  };
  return { folder, process, change };
}

test.each(["created = created + 1", "prices = prices || ' 9'", "removed = 7", "partition = 9999"])(
  "a row of an event is damaged (%s) → its past is gone, and the rest goes on",
  async (damage) => {
    const { folder, process, change } = await archivedStore();
    const [damaged, ...others] = eventIdsIn(history.records.slice(0, process.durable));
    change(`UPDATE events SET ${damage} WHERE eventId = ?`, damaged!);
    const { keeper, reports } = keep(folder);
    const whole = openBook();
    for (let round = 0; round < 3; round++) {
      expect(keeper.follow(process.journal.mark!)).toBe(true);
      whole.feed(history.records.slice(0, process.durable));
      const sequence = process.durable;
      for (const eventId of others) {
        expect(pastOf(keeper.history!, eventId, sequence)).toEqual(
          pastOf(whole, eventId, sequence),
        );
      }
      expect(pastOf(keeper.history!, damaged!, sequence)).toBe("damaged");
      keeper.archive(process.journal.mark!);
      expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
      await process.commit(25, 10);
    }
    keeper.close();
    expect(reports).toEqual([]);
    const { findings } = verifyFolder({ disk: realDisk, folder });
    expect(findings).toMatchObject([{ found: expect.stringContaining("of events") }]);
  },
);

test("the last change of an organization is damaged → the archive goes on", async () => {
  const { folder, process, change } = await archivedStore();
  change("UPDATE versions SET digest = digest + 1 WHERE kind = 'switch'");
  const { keeper, reports } = keep(folder);
  await process.commit(30, 10);
  keeper.archive(process.journal.mark!);
  expect([keeper.read, reports]).toEqual([process.durable, []]);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  keeper.close();
});

test("the retention meets a damaged chunk → it is reported and stays, and others go", async () => {
  const { folder, process, change } = await archivedStore();
  const mark = process.journal.mark!;
  const damaged = "(SELECT partition FROM events WHERE removed IS NULL LIMIT 1)";
  change(`UPDATE chunks SET digest = digest + 1 WHERE partition = ${damaged}`);
  const reports: AuditReport[] = [];
  const keeper = new HistoryKeeper({
    disk: realDisk,
    folder,
    storeId: STORE_ID,
    days: 1,
    nowMs: () => history.records[process.durable - 1]!.timeMs + DAY_MS + 1,
    onReport: (report) => void reports.push(report),
  });
  expect(keeper.follow(mark)).toBe(true);
  keeper.close();
  const firstSequence = mark.sequence + 1;
  expect(reports).toEqual([
    { kind: "expired", firstSequence },
    { kind: "damaged", part: expect.stringContaining("of chunks") },
  ]);
  const file = openSqlWriter(path.join(folder, AUDIT_FILE));
  const counts = file.list("SELECT sum(moves) AS moves FROM chunks GROUP BY partition");
  file.close();
  expect(counts.filter(({ moves }) => moves !== 0)).toHaveLength(1);
  expect(counts.length).toBeGreaterThan(1);
});

test("SQLite finds the file damaged only while archiving → it is set aside and rebuilt", async () => {
  const { folder, process } = await archivedStore();
  const name = path.join(folder, AUDIT_FILE);
  const file = openSqlWriter(name);
  const root = file.row("SELECT rootpage FROM sqlite_schema WHERE name = 'chunksByLast'")!;
  file.close();
  const bytes = fs.readFileSync(name);
  const page = 8_192 * (Number(root["rootpage"]) - 1);
  fs.writeFileSync(name, bytes.fill(0xff, page, page + 8_192));
  await process.commit(20, 10);
  const { keeper, reports } = keep(folder);
  keeper.archive(process.journal.mark!);
  keeper.close();
  expect(reports).toMatchObject([
    { kind: "rebuilt", reason: expect.stringContaining("malformed") },
  ]);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  expect(rowsIn(folder).rows).toEqual(rowsOf(process.durable));
});

test("the disk is full when the retention is due → it fails once, and questions go on", async () => {
  const { folder, process } = await archivedStore();
  await process.commit(5, 10);
  const full = new SqlFault("database or disk is full", "SQLITE_FULL", null);
  const reports: AuditReport[] = [];
  const keeper = new HistoryKeeper({
    disk: realDisk,
    folder,
    storeId: STORE_ID,
    days: 1,
    nowMs: () => history.records[process.durable - 1]!.timeMs + DAY_MS,
    onReport: (report) => void reports.push(report),
    openSql: (name) => {
      const sql = openSqlWriter(name);
      const execute = (text: string) => {
        if (text === "BEGIN IMMEDIATE") throw full;
        sql.execute(text);
      };
      return { ...sql, statementCount: 0, execute };
    },
  });
  expect(keeper.follow(process.journal.mark!)).toBe(false);
  for (let i = 0; i < 2; i++) expect(keeper.follow(process.journal.mark!)).toBe(true);
  expect(reports).toEqual([{ kind: "failed", failure: full.message }]);
  keeper.close();
});

describeUnless(missingRoot() ?? missingPrograms("mount"), "a small disk", () => {
  test("no room to archive → the cause is reported once, nothing is set aside, and it goes on with room", async () => {
    const { folder, process } = await archivedStore();
    await process.commit(60, 10);
    const disk = new SmallDisk(folderOf(), "64m");
    onTestFinished(() => disk.unmount());
    const place = path.join(disk.path, "data");
    fs.cpSync(folder, place, { recursive: true });
    const filler = path.join(disk.path, "filler");
    const { keeper, reports } = keep(place, realDisk, Infinity);
    onTestFinished(() => keeper.close());
    for (let round = 0; round < 3; round++) {
      expect(keeper.follow(process.journal.mark!)).toBe(true);
      fillUp(filler);
      expect([keeper.archiveSlice(), keeper.isFailing]).toEqual([false, true]);
      // To open an archive takes room, too.
      fs.rmSync(filler);
    }
    expect(reports).toEqual([{ kind: "failed", failure: "database or disk is full" }]);

    keeper.archive(process.journal.mark!);
    expect([reports.length, keeper.isFailing]).toEqual([1, false]);
    keeper.close();
    expect(fs.readdirSync(place).filter((name) => name.includes("damaged"))).toEqual([]);
    expect(rowsIn(place).rows).toEqual(rowsOf(process.durable));
  });
});

/** Takes what is left of a disk. */
function fillUp(name: string): void {
  const file = fs.openSync(name, "a");
  try {
    for (let bytes = 65_536; bytes >= 1;) {
      try {
        fs.writeSync(file, Buffer.alloc(bytes));
      } catch {
        bytes = Math.floor(bytes / 2);
      }
    }
  } finally {
    fs.closeSync(file);
  }
}

test("an archive of a newer format with other tables → it is refused, and stays as it is", async () => {
  const { folder, process, change } = await archivedStore();
  change("UPDATE history SET format = 3");
  change("CREATE TABLE later (column TEXT)");
  const name = path.join(folder, AUDIT_FILE);
  const bytes = fs.readFileSync(name);
  const refusal = "the audit trail format of this data folder is version 3";
  expect(() => auditedSequence(realDisk, folder, STORE_ID)).toThrow(refusal);
  expect(() => verifyFolder({ disk: realDisk, folder })).toThrow(refusal);
  const { keeper, reports } = keep(folder);
  expect(keeper.follow(process.journal.mark!)).toBe(false);
  expect(reports).toMatchObject([{ kind: "failed", failure: expect.stringContaining(refusal) }]);
  expect(fs.readFileSync(name).equals(bytes)).toBe(true);
  expect(fs.readdirSync(folder).filter((one) => one.startsWith(AUDIT_FILE))).toEqual([AUDIT_FILE]);
});

test("an archive of version 1, with an index of its own → it is read, and upgraded by archiving", async () => {
  const { folder, process, change } = await archivedStore();
  change("CREATE INDEX eventsOfOrganization ON events (organizationId)");
  asVersion1(folder);
  const name = path.join(folder, AUDIT_FILE);
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(process.durable);
  expect(verifyFolder({ disk: realDisk, folder }).findings).toEqual([]);
  await process.commit(5, 10);
  const { keeper, reports } = keep(folder);
  keeper.archive(process.journal.mark!);
  keeper.close();
  expect(reports).toEqual([]);
  expect(rowsIn(folder).rows).toEqual(rowsOf(process.durable));
  const file = openSqlWriter(name);
  const indexes = file.list("SELECT name FROM sqlite_schema WHERE name = 'eventsOfOrganization'");
  expect([file.row("SELECT format FROM history"), indexes]).toEqual([{ format: 2 }, []]);
  file.close();
});

/** Writes the row of a history as a build of version 1 did. */
function asVersion1(folder: string): void {
  const file = openSqlWriter(path.join(folder, AUDIT_FILE));
  const [, ...values] = Object.values(file.row("SELECT * FROM history")!);
  const digest = crc32([1, ...values.slice(0, -1)].map((value) => `${String(value)}\n`).join(""));
  file.run("UPDATE history SET format = 1, digest = ?", digest);
  file.close();
}

test("the version of an archive is damaged → it is rebuilt", async () => {
  const { folder, process, change } = await archivedStore();
  change("UPDATE history SET format = 3");
  expect(auditedSequence(realDisk, folder, STORE_ID)).toBe(0);
  const { keeper, reports } = keep(folder);
  expect(keeper.follow(process.journal.mark!)).toBe(true);
  expect(reports).toMatchObject([{ kind: "rebuilt" }]);
  keeper.close();
});

test("a packed chunk → it keeps no more memory than its content took", () => {
  const ids = { partition: 1, first: 1, last: 9, lastMs: 0, moves: 9 };
  for (const bytes of [1_000, 10_000]) {
    const content = randomBytes(bytes).fill(7, bytes >> 1);
    const { image, records } = packed({ ...ids, image: content, records: content });
    for (const kept of [image!, records]) {
      // Small buffers share one of the pool.
      expect(kept.buffer.byteLength).toBeLessThanOrEqual(Math.max(bytes, Buffer.poolSize));
    }
  }
});

test("statements with ever new texts stay within a bound", () => {
  const sql = openSqlWriter(":memory:");
  for (let i = 0; i < 2 * STATEMENTS_MAX; i++) {
    expect(sql.row(`SELECT ${i} AS found`)).toEqual({ found: i });
    expect(sql.statementCount).toBeLessThanOrEqual(STATEMENTS_MAX);
  }
  sql.close();
});

test("a mark before those that were followed → nothing is read again, and nothing is damaged", async () => {
  const { folder, process } = await storeWithTrail(0);
  await process.commit(10);
  const early = process.journal.mark!;
  await process.commit(30, 10);
  const { keeper, reports } = keep(folder);
  keeper.archive(process.journal.mark!);
  const archived = auditedSequence(realDisk, folder, STORE_ID);
  expect(archived).toBe(process.durable);
  expect(keeper.follow(early)).toBe(true);
  keeper.archive(early);
  expect([keeper.read, auditedSequence(realDisk, folder, STORE_ID)]).toEqual([archived, archived]);
  // As after a failure.
  keeper.close();
  expect(keeper.follow(early)).toBe(true);
  expect(reports).toEqual([]);
  keeper.close();
});
