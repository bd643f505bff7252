/** The memory of the audit trail's threads, at its bounds. */
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Move, SeatState } from "../../../engine/inventory/states.ts";
import { ActorKind } from "../../../engine/records.ts";
import { AuditCatalog } from "../../../persistence/audit/catalog.ts";
import { AUDIT_FILE, openAuditFile } from "../../../persistence/audit/file.ts";
import { tableAt } from "../../../persistence/audit/block-file.ts";
import { Call, keyOf, NO_HOLD, seatMove } from "../../../persistence/audit/rows.ts";
import { AuditPlaces } from "../../../persistence/audit/places.ts";
import { AuditAnswering, KEPT_MAX } from "../../../persistence/audit/answers.ts";
import { finish } from "../../../persistence/audit/slices.ts";
import { type SqlFile, STATEMENTS_MAX } from "../../../persistence/disk/sqlite.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { folderOf } from "../store/store-fixture.ts";
import { AUDIT_STORE, feed, openBook } from "./audit-fixture.ts";

function emptyTrail(): SqlFile {
  const sql = openAuditFile(":memory:", AUDIT_STORE);
  onTestFinished(() => sql.close());
  return sql;
}

test("four past maps are kept, however many are asked for", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5 6 7 8 9" })]);
  const first = world.engine.sequence;
  for (let i = 1; i < 9; i++) world.book("lock", world.selection("s", `A${i}`));
  const file = path.join(folderOf(), AUDIT_FILE);
  const book = openBook(file);
  feed(book, world.journal.kept);
  const sql = openAuditFile(file, AUDIT_STORE);
  onTestFinished(() => {
    sql.close();
    book.close();
  });
  const answering = new AuditAnswering(sql);
  const { firstSequence, firstTimeMs } = book.row;
  const extent = { firstSequence, firstTimeMs, lastSequence: world.engine.sequence };
  for (let sequence = first; sequence <= first + 8; sequence++) {
    const query = { sort: [], offset: 0, limit: 9 };
    const { eventId } = world;
    const asked = { about: "seats", eventId, moment: { sequence }, query } as const;
    expect(finish(answering.answer(asked, extent))).toMatchObject({ value: { total: 9 } });
    expect(answering.keptCount).toBe(Math.min(sequence - first + 1, KEPT_MAX));
  }
});

test("places beyond the bound are forgotten after a transaction, and read again", () => {
  const places = new AuditPlaces(emptyTrail(), 100);
  const sold = seatMove(SeatState.ACTIVE, SeatState.SOLD, 7, NO_HOLD);
  const counts: number[] = [];
  for (let id = 1; id <= 250; id++) {
    const event = places.event(1 + (id % 5));
    places.begin({ sequence: id, timeMs: id }, { kind: ActorKind.SYSTEM, id: 0 });
    places.write(event, event.seat(id), sold);
    places.end(Move.SALE);
    if (id % 25 > 0) continue;
    places.flush();
    counts.push(places.count);
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(100);
  expect(counts).toContain(0);
  const { table } = places.event(2);
  expect(table.state(table.slotOf(keyOf(1, false)))).toBe(SeatState.SOLD);
});

test("places beyond the bound are forgotten during a record that changes many events", () => {
  const sql = emptyTrail();
  const places = new AuditPlaces(sql, 100);
  const [events, seats] = [20, 60];
  const added = seatMove(null, SeatState.UNPRICED, 0, NO_HOLD);
  places.begin({ sequence: 1, timeMs: 1 }, { kind: ActorKind.SYSTEM, id: 0 });
  let countMax = 0;
  for (let partition = 1; partition <= events; partition++) {
    const event = places.event(partition);
    for (let id = 1; id <= seats; id++) places.write(event, event.seat(id), added);
    countMax = Math.max(countMax, places.count);
    places.makeRoom(Call.LAYOUT);
  }
  places.end(Call.LAYOUT);
  places.flush();
  expect(countMax).toBeLessThanOrEqual(100 + seats);
  for (let partition = 1; partition <= events; partition++) {
    const { table } = places.event(partition);
    expect(table.size).toBe(seats);
    expect(table.state(table.slotOf(keyOf(seats, false)))).toBe(SeatState.UNPRICED);
  }
});

test("a map that is stored in the middle of a record hides no later row of it", () => {
  const sql = emptyTrail();
  const places = new AuditPlaces(sql, 100);
  const actor = { kind: ActorKind.SYSTEM, id: 0 } as const;
  const added = seatMove(null, SeatState.UNPRICED, 0, NO_HOLD);
  const [large, small] = [places.event(1), places.event(2)];
  places.begin({ sequence: 1, timeMs: 1 }, actor);
  // Enough rows of a few seats to make a map of the event due.
  for (let row = 0; row < 20_000; row++) places.write(small, small.seat(1 + (row % 10)), added);
  places.end(Call.LAYOUT);
  places.begin({ sequence: 2, timeMs: 2 }, actor);
  for (let id = 1; id <= 100; id++) places.write(large, large.seat(id), added);
  places.makeRoom(Call.LAYOUT);
  const again = places.event(2);
  const priced = seatMove(SeatState.UNPRICED, SeatState.ACTIVE, 7, NO_HOLD);
  places.write(again, again.seat(1), priced);
  places.end(Call.LAYOUT);
  places.flush();
  const table = finish(tableAt(sql, 2, 2, Infinity));
  expect(table.state(table.slotOf(keyOf(1, false)))).toBe(SeatState.ACTIVE);
});

test("the ids of layouts are forgotten when there are too many, and read again", () => {
  const sql = emptyTrail();
  const sectors = [{ id: 1, guid: "sector", name: "Hall", ga: false, type: "SECTION" }];
  const rows = [{ id: 2, guid: "row", sectorGuid: "sector", rowNumber: "1" }];
  const seats = Array.from({ length: 60 }, (_, i) => ({
    id: i + 10,
    guid: `${i}`,
    rowGuid: "row",
  }));
  const document = JSON.stringify({ sectors, rows, seats });
  for (let id = 1; id <= 5; id++) {
    sql.run("INSERT INTO layouts VALUES (?, ?, 1, ?)", id, id, document);
  }
  const catalog = new AuditCatalog(sql, 100);
  const counts = [1, 2, 3, 4, 5, 5].map((id) => {
    expect(catalog.placesOf(id).seats).toHaveLength(60);
    return catalog.idCount;
  });
  expect(counts).toEqual([60, 120, 60, 120, 60, 60]);
  catalog.forgetPlaces(5);
  catalog.forgetPlaces(5);
  expect(catalog.idCount).toBe(0);
});

test("statements with ever new texts stay within a bound", () => {
  const sql = emptyTrail();
  for (let i = 0; i < 2 * STATEMENTS_MAX; i++) {
    expect(sql.row(`SELECT ${i} AS found`)).toEqual({ found: i });
    expect(sql.statementCount).toBeLessThanOrEqual(STATEMENTS_MAX);
  }
});
