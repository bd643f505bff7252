/**
 * Trails that the last version with format 1 wrote: one of a whole log, and one that began with a
 * snapshot and has lost its first records to the retention. `records.bin.gz` has the log of both,
 * and more records.
 */
import Database from "better-sqlite3";
import fs from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { Transition } from "../../../engine/queries/audit-trail.ts";
import { AUDIT_FILE, auditedSequence } from "../../../persistence/audit/file.ts";
import { AuditKeeper, type AuditReport } from "../../../persistence/audit/keeper.ts";
import { convertRows } from "../../../persistence/audit/row-conversion.ts";
import { OpenTrail } from "../../../persistence/audit/trail.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { openSqlWriter } from "../../../persistence/disk/sqlite.ts";
import { decodeRecords } from "../../../persistence/log/codec.ts";
import type { KeptRecord } from "../../support/engine.ts";
import { folderOf } from "../store/store-fixture.ts";
import {
  AUDIT_STORE,
  eventIdsIn,
  feed,
  markAt,
  pastMapOf,
  transitionsOf,
} from "./audit-fixture.ts";

const FIXTURES = path.join(import.meta.dirname, "fixtures");
const RECORDS = 700;
/** The last record of the trails. */
const LAST = 450;
const NAMES = ["whole", "late"] as const;

const unpacked = (name: string) => gunzipSync(fs.readFileSync(path.join(FIXTURES, `${name}.gz`)));

const kept: KeptRecord[] = [];
decodeRecords(unpacked("records.bin"), 1, RECORDS, (sequence, timeMs, record) => {
  kept.push({ sequence, timeMs, record });
});
const eventIds = eventIdsIn(kept);

/** @returns The path of a copy of the old trail. */
function copyOf(name: (typeof NAMES)[number]): string {
  const file = path.join(folderOf(), AUDIT_FILE);
  fs.writeFileSync(file, unpacked(`${name}.sqlite`));
  return file;
}

function open(file: string): OpenTrail {
  const book = new OpenTrail(file, AUDIT_STORE);
  onTestFinished(() => book.close());
  return book;
}

/** The transitions of an event in a trail of format 1. */
function oldTransitions(file: string, eventId: string): Transition[] {
  const database = new Database(file, { readonly: true });
  const rows = database
    .prepare(
      `SELECT t.*, r.call, r.actorKind, r.actorId FROM transitions t
       JOIN records r ON r.sequence = t.sequence
       WHERE t.partition = (SELECT max(partition) FROM events WHERE eventId = ?)
       AND t.sequence >= (SELECT firstSequence FROM trail) ORDER BY t.sequence, t.ordinal`,
    )
    .all(eventId) as Record<string, never>[];
  database.close();
  return rows.map(({ fromState, toState, actorKind, actorId, ...row }) => ({
    sequence: row["sequence"]!,
    ordinal: row["ordinal"]!,
    timeMs: row["timeMs"]!,
    call: row["call"]!,
    actor: { kind: actorKind!, id: actorId! },
    session: row["session"]!,
    holdType: row["holdType"]!,
    placeId: row["placeId"]!,
    isArea: row["places"] !== null,
    from: fromState!,
    to: toState!,
    places: row["places"]!,
    priceId: row["priceId"]!,
    hold: row["hold"]!,
  }));
}

/** Every map of every event in a range of records. */
function mapsOf(book: OpenTrail, from: number, to: number): unknown[] {
  const maps: unknown[] = [];
  for (let sequence = from; sequence <= to; sequence += 7) {
    for (const eventId of eventIds) {
      const { gap } = book.answer({ about: "areas", eventId, moment: { sequence } });
      maps.push(gap ?? pastMapOf(book, eventId, sequence));
    }
  }
  return maps;
}

test.each(NAMES)("the %s trail of format 1 keeps all its transitions and maps", (name) => {
  const file = copyOf(name);
  const wanted = eventIds.map((eventId) => oldTransitions(file, eventId));
  const book = open(file);
  expect(book.row.sequence).toBe(LAST);
  expect(book.converted).toBeGreaterThan(100);
  expect(eventIds.map((eventId) => transitionsOf(book, eventId))).toEqual(wanted);
  const whole = new OpenTrail(":memory:", AUDIT_STORE);
  onTestFinished(() => whole.close());
  feed(whole, kept.slice(0, LAST));
  const { firstSequence } = book.row;
  expect(firstSequence > 1).toBe(name === "late");
  const from = Math.max(1, firstSequence - 1);
  expect(mapsOf(book, from, LAST)).toEqual(mapsOf(whole, from, LAST));
  const moment = { timeMs: kept[300]!.timeMs };
  for (const eventId of eventIds) {
    const question = { about: "areas", eventId, moment } as const;
    const { gap, ...found } = book.answer(question);
    expect({ gap, ...found, extent: null }).toEqual({ ...whole.answer(question), extent: null });
  }
});

test.each(NAMES)("the %s trail of format 1 continues with the next record", (name) => {
  const book = open(copyOf(name));
  feed(book, kept);
  const whole = open(path.join(folderOf(), AUDIT_FILE));
  feed(whole, kept);
  expect(mapsOf(book, LAST, RECORDS)).toEqual(mapsOf(whole, LAST, RECORDS));
  // A trail that begins with a snapshot does not know the record numbers of earlier locks.
  const later = (trail: OpenTrail) =>
    eventIds.flatMap((eventId) =>
      transitionsOf(trail, eventId)
        .filter(({ sequence }) => sequence > LAST)
        .map((row) => ({ ...row, hold: Math.max(row.hold, 100) })),
    );
  expect(later(book)).toEqual(later(whole));
  expect(later(book).length).toBeGreaterThan(100);
});

test("a trail of format 1 is converted once, is reported, and keeps bodies of replies", () => {
  const file = copyOf("whole");
  const folder = path.dirname(file);
  const old = new Database(file);
  old.exec("INSERT INTO replies VALUES ('7:long', 'a long body')");
  old.close();
  // Before the conversion, the log keeps what the trail lacks, and nothing else.
  expect(auditedSequence(realDisk, folder, AUDIT_STORE)).toBe(LAST);
  const reports: AuditReport[] = [];
  for (let start = 0; start < 2; start++) {
    const keeper = new AuditKeeper({
      disk: realDisk,
      folder,
      storeId: AUDIT_STORE,
      days: null,
      nowMs: () => 0,
      onReport: (report) => void reports.push(report),
    });
    expect(keeper.follow(markAt(LAST))).toBe(true);
    const reply = { about: "reply", id: "7:long" } as const;
    expect(keeper.answer(reply, markAt(LAST))).toMatchObject({ value: "a long body" });
    keeper.close();
  }
  expect(reports).toEqual([{ kind: "converted", transitions: 721 }]);
});

test("a conversion that does not finish leaves the old trail", () => {
  const file = copyOf("late");
  const sql = openSqlWriter(file);
  sql.run("UPDATE records SET call = 'unheard of' WHERE sequence = 440");
  const trail = { storeId: AUDIT_STORE, sequence: LAST, mark: markAt(LAST), firstTimeMs: 0 };
  expect(() => convertRows(sql, { ...trail, firstSequence: 219 })).toThrow("expected a known call");
  sql.close();
  const transitions = eventIds.flatMap((eventId) => oldTransitions(file, eventId));
  expect(transitions.length).toBeGreaterThan(100);
  const mended = new Database(file);
  mended.exec("UPDATE records SET call = 'lock' WHERE sequence = 440");
  mended.close();
  const book = open(file);
  expect(eventIds.flatMap((eventId) => transitionsOf(book, eventId))).toHaveLength(
    transitions.length,
  );
});
