/** The retention in slices: their size, kills between them, and damage. */
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { openSqlWriter, type SqlFile } from "../../../persistence/disk/sqlite.ts";
import { AUDIT_FILE } from "../../../persistence/history/archive.ts";
import type { Book } from "../../support/audit.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { eventIdsIn, openBook, pastMapOf, transitionsOf } from "./history-fixture.ts";

const STEPS = 1_500;
const SLICE_MOVES = 6;

const { kept } = workload().bench.journal;
const eventIds = eventIdsIn(kept);
/** Records before this time go. */
const { timeMs: beforeMs } = kept[Math.floor((3 * kept.length) / 4)]!;

function workload(): Workload {
  const made = new Workload(3);
  for (let step = 0; step < STEPS; step++) made.step();
  return made;
}

/** Notes the statements of each transaction. */
function counting(transactions: string[][]): (path: string) => SqlFile {
  return (path) => {
    const sql = openSqlWriter(path);
    return {
      ...sql,
      statementCount: 0,
      execute(text) {
        if (text.startsWith("BEGIN")) transactions.push([]);
        sql.execute(text);
      },
      run(text, ...values) {
        transactions.at(-1)!.push(text);
        sql.run(text, ...values);
      },
    };
  };
}

/** An archive with many chunks for each event. */
function archived(open = openSqlWriter): Book {
  const book = openBook(undefined, { openSql: open, ...OPTIONS });
  for (let end = 10; end < kept.length + 10; end += 10) {
    book.feed(kept.slice(0, end));
    book.archiveAll();
  }
  return book;
}

const OPTIONS = { imageMovesMin: 60, continuedMsMax: 0, sliceMoves: SLICE_MOVES };

/** Everything that can still be asked for. */
function pastsOf(book: Book): unknown {
  const { firstSequence } = book.archive.row;
  const last = kept.at(-1)!.sequence;
  return eventIds.map((eventId) => {
    const rows = transitionsOf(book, eventId).filter(({ sequence }) => sequence >= firstSequence);
    const maps = [];
    for (let at = firstSequence - 1; at <= last; at += 50) {
      const areas = book.answer({ about: "areas", eventId, moment: { sequence: at } });
      maps.push(areas.gap ?? pastMapOf(book, eventId, at));
    }
    return { rows, maps };
  });
}

/** The maps at the time of the boundary: an idle event has no record after its image. */
function firstMapsOf(book: Book): unknown {
  return eventIds.map((eventId) => {
    return book.answer({ about: "areas", eventId, moment: { timeMs: beforeMs } });
  });
}

test("the retention removes many chunks → each transaction removes few", () => {
  const transactions: string[][] = [];
  const book = archived(counting(transactions));
  const before = transactions.length;
  book.expire(beforeMs);
  let slices = 0;
  for (; book.isExpiring; slices++) {
    const made = transactions.length;
    book.archiveSlice();
    expect(transactions.length - made).toBeLessThanOrEqual(1);
  }
  const removed = transactions.slice(before).map((texts) => {
    return texts.filter((text) => text.startsWith("DELETE FROM chunks")).length;
  });
  expect(removed.reduce((sum, count) => sum + count)).toBeGreaterThan(5 * SLICE_MOVES);
  // A chunk counts as at least two transitions.
  expect(Math.max(...removed)).toBeLessThanOrEqual(SLICE_MOVES / 2);
  expect(slices).toBeGreaterThan(eventIds.length);
});

test("a kill between any two slices of the retention → nothing is lost, and the next ends it", () => {
  const whole = archived();
  whole.removeBefore(beforeMs);
  const wanted = pastsOf(whole);
  const firstMaps = firstMapsOf(whole);
  const end = rowsIn(whole);
  const book = archived();
  for (let kills = 0; ; kills++) {
    const again = openBook(book.folder, OPTIONS);
    again.expire(beforeMs);
    for (let slices = 0; slices < 12 * kills && again.isExpiring; slices++) {
      again.archiveSlice();
      expect(firstMapsOf(again)).toEqual(firstMaps);
    }
    expect(pastsOf(again)).toEqual(wanted);
    if (again.isExpiring) continue;
    expect(kills).toBeGreaterThan(3);
    expect(rowsIn(again)).toEqual(end);
    return;
  }
});

/** Keys of the rows that are left. */
function rowsIn({ folder }: Book): unknown {
  const sql = openSqlWriter(`${folder}/${AUDIT_FILE}`);
  const rows = [
    sql.list("SELECT partition, first, last FROM chunks"),
    sql.list("SELECT partition FROM events"),
    sql.list("SELECT kind, owner, sequence FROM versions"),
  ];
  sql.close();
  return rows;
}

test("an event loses chunks → only questions about it begin again", () => {
  const book = archived();
  const changes = new Map(eventIds.map((eventId) => [eventId, book.changesOf(eventId)]));
  const chunksOf = (eventId: string) => {
    const event = book.archive.eventOf(eventId);
    return event === undefined ? [] : book.archive.chunksOf(event.partition);
  };
  const before = new Map(eventIds.map((eventId) => [eventId, chunksOf(eventId)]));
  book.removeBefore(beforeMs);
  const isSame = eventIds.map((eventId) => {
    const isKept = isDeepStrictEqual(chunksOf(eventId), before.get(eventId));
    expect(book.changesOf(eventId) === changes.get(eventId)).toBe(isKept);
    return isKept;
  });
  expect(new Set(isSame)).toEqual(new Set([true, false]));
});

test("the time of a chunk is damaged → nothing is removed too early", () => {
  const book = archived();
  const sql = openSqlWriter(`${book.folder}/${AUDIT_FILE}`);
  const chunks = sql.list("SELECT partition, first, lastMs FROM chunks ORDER BY last");
  const due = book.archive.lastBefore(beforeMs);
  expect(due).toBeGreaterThan(100);
  for (const { partition, first, lastMs } of chunks.map((row) => row as Record<string, number>)) {
    const set = (ms: number) => {
      const where = "partition = ? AND first = ?";
      sql.run(`UPDATE chunks SET lastMs = ? WHERE ${where}`, ms, partition!, first!);
    };
    set(0);
    expect(book.archive.lastBefore(beforeMs)).toBeLessThanOrEqual(due);
    set(lastMs!);
  }
  sql.close();
});
