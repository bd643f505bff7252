/** Blocks of the audit trail, and the lists by which seats and sessions are found among many. */
import { describe, expect, onTestFinished, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { Move, MOVES, SeatState } from "../../../engine/inventory/states.ts";
import type { Transition, TransitionQuery } from "../../../engine/queries/history.ts";
import { ActorKind, RecordType } from "../../../engine/records.ts";
import { Block, RowBuffer } from "../../../persistence/audit/block.ts";
import { appendBlocks, BLOCK_ROWS } from "../../../persistence/audit/block-file.ts";
import { ColumnReader, ColumnWriter } from "../../../persistence/audit/columns.ts";
import {
  extendRuns,
  findInRun,
  LookupKind,
  sessionKey,
} from "../../../persistence/audit/lookups.ts";
import { keyOf, NO_HOLD, seatMove } from "../../../persistence/audit/rows.ts";
import { openAuditFile } from "../../../persistence/audit/file.ts";
import type { OpenTrail } from "../../../persistence/audit/keeper.ts";
import { openSqlReader, type SqlFile } from "../../../persistence/disk/sqlite.ts";
import { Random } from "../../sim/workload/random.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import {
  ask,
  AUDIT_STORE,
  feed,
  markAt,
  openBook,
  temporaryPath,
  transitionsOf,
} from "./audit-fixture.ts";

const ACTOR = { kind: ActorKind.ORGANIZATION, id: 1 };

const COLUMNS: Readonly<Record<string, readonly number[]>> = {
  "no values": [],
  "equal values": [7, 7, 7],
  zeros: [0, 0],
  "small values": [1, 200, 3],
  "two bytes": [5, 70_000, 5 + 65_535],
  "four bytes": [2 ** 40, 2 ** 40 + 2 ** 32 - 1, 2 ** 40 + 256],
  "seven bytes": [0, Number.MAX_SAFE_INTEGER, 2 ** 40 + 1, 2 ** 32],
  "negative values": [-5, 12, -1],
};

test.each(Object.entries(COLUMNS))("a column of %s is read back", (_, values) => {
  const writer = new ColumnWriter();
  const column = { values: Float64Array.from(values), first: 0, step: 1, count: values.length };
  writer.numbers(column);
  writer.texts([]);
  const read = new ColumnReader(writer.content()).numbers(values.length);
  expect(values.map((__, i) => read.at(i))).toEqual(values);
});

const UUID = "6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f";
const TEXTS = ["x", "", UUID, UUID.toUpperCase(), `${UUID.slice(1)}g`, "é 😀", "xx", `${UUID}-`];

test("texts are read back and found, whether they are UUIDs or not", () => {
  const writer = new ColumnWriter();
  writer.texts(TEXTS);
  const content = writer.content();
  const texts = new ColumnReader(content).texts();
  expect(TEXTS.map((__, i) => texts.at(i))).toEqual(TEXTS);
  const sought = TEXTS.filter((text) => text !== "");
  expect(sought.map((text) => TEXTS[texts.indexOf(text)])).toEqual(sought);
  for (const other of ["y", "xé", UUID.slice(0, 35), "😀"]) expect(texts.indexOf(other)).toBe(-1);
  const plainBytes = Buffer.byteLength(TEXTS.join(""));
  expect(content.length).toBeLessThan(plainBytes);
});

test("a block that was cut off is refused", () => {
  const rows = new RowBuffer();
  rows.addRecord({ sequence: 4, timeMs: 9 }, Move.LOCK, ACTOR);
  rows.addRow(keyOf(3, false), seatMove(SeatState.ACTIVE, SeatState.LOCKED, 7, NO_HOLD));
  const [{ content }] = [...rows.blocks(1)] as unknown as [{ content: Buffer }];
  expect(new Block(content).rowCount).toBe(1);
  expect(() => new Block(content.subarray(0, 20))).toThrow("further bytes");
});

/** Adds locks of a seat each by the named session. */
function addLocks(rows: RowBuffer, session: string, from: number, to: number): RowBuffer {
  const held = { hold: from, session, holdType: session };
  for (let sequence = from; sequence <= to; sequence++) {
    rows.addRecord({ sequence, timeMs: sequence }, Move.LOCK, ACTOR);
    rows.addRow(keyOf(3, false), seatMove(SeatState.ACTIVE, SeatState.LOCKED, 7, held));
    rows.setCall(Move.LOCK, { endsAtMs: 2 * sequence, isNamed: true });
  }
  return rows;
}

test("a buffer that is used again or joined with another keeps nothing from before", () => {
  const contents = (rows: RowBuffer) =>
    Array.from(rows.blocks(2), ({ content }) => content.toString("hex"));
  const used = addLocks(new RowBuffer(), "earlier", 1, 9);
  used.clear();
  addLocks(used, "first", 1, 3);
  const fresh = addLocks(new RowBuffer(), "first", 1, 3);
  expect(contents(used)).toEqual(contents(fresh));
  const second = addLocks(new RowBuffer(), "earlier", 1, 9);
  second.clear();
  addLocks(second, "second", 4, 5);
  used.addBuffer(second);
  expect(contents(used)).toEqual(contents(addLocks(fresh, "second", 4, 5)));
});

test("an event with many small transactions has few blocks", () => {
  const sql = openAuditFile(":memory:", AUDIT_STORE);
  onTestFinished(() => sql.close());
  let blocksMax = 0;
  for (let sequence = 1; sequence <= 3_000; sequence++) {
    const rows = new RowBuffer();
    rows.addRecord({ sequence, timeMs: sequence }, Move.LOCK, ACTOR);
    for (let seat = 0; seat <= sequence % 3; seat++) {
      rows.addRow(keyOf(seat, false), seatMove(SeatState.ACTIVE, SeatState.LOCKED, 7, NO_HOLD));
    }
    appendBlocks(sql, 1, rows);
    const count = Number(sql.row("SELECT count(*) AS count FROM blocks")!["count"]);
    blocksMax = Math.max(blocksMax, count);
  }
  const { rows, first, last } = sql.row(
    "SELECT sum(rows) AS rows, min(first) AS first, max(last) AS last FROM blocks",
  ) as Record<string, number>;
  expect({ rows, first, last }).toEqual({ rows: 6_000, first: 1, last: 3_000 });
  expect(blocksMax).toBeLessThan(2 + 6_000 / BLOCK_ROWS + Math.log2(BLOCK_ROWS));
});

/** Two sessions with the same hash. */
function collision(): readonly [string, string] {
  const seen = new Map<number, string>();
  for (let i = 0; ; i++) {
    const session = `session ${i}`;
    const key = sessionKey(session);
    const other = seen.get(key);
    if (other !== undefined) return [other, session];
    seen.set(key, session);
  }
}

/** Transitions of one seat or two, of an event nobody else books. */
class LongHistory {
  readonly world = new World([
    section("Stalls", { A: Array.from({ length: 60 }, (_, i) => i).join(" ") }),
  ]);
  readonly file = temporaryPath("audit.sqlite");
  readonly book: OpenTrail = openBook(this.file);
  readonly rows: Transition[];
  readonly sessions: readonly string[];
  readonly #random = new Random(5);
  readonly #locked = new Map<number, { readonly hold: number; readonly session: string }>();
  readonly #seatIds: Float64Array;
  readonly #partition: number;

  constructor() {
    const { world } = this;
    feed(this.book, world.journal.kept);
    this.rows = [...transitionsOf(this.book, world.eventId)];
    const event = world.engine.state.catalog.events.get(world.eventId)!;
    this.#partition = event.partition;
    this.#seatIds = world.engine.state.partitionOf(event).layout.seatIds;
    this.sessions = [
      ...collision(),
      "box office",
      ...Array.from({ length: 300 }, (_, i) => `s${i}`),
    ];
    onTestFinished(() => this.book.close());
  }

  /** Adds so many transitions at least, and commits now and then. */
  grow(count: number): void {
    const end = this.rows.length + count;
    while (this.rows.length < end) {
      this.#record();
      if (this.#random.below(2_000) === 0) this.#commit();
    }
    this.#commit();
  }

  #commit(): void {
    this.book.commit(markAt(this.#sequence));
  }

  get #sequence(): number {
    return Math.max(this.rows.at(-1)!.sequence, this.book.row.sequence);
  }

  #record(): void {
    const first = this.#random.below(59);
    const isLocked = this.#locked.has(first);
    const seats = [first, first + 1].filter((seat) => this.#locked.has(seat) === isLocked);
    const move = isLocked ? Move.UNLOCK : Move.LOCK;
    const sequence = this.#sequence + 1;
    const timeMs = 1_900_000_000_000 + Math.floor(sequence / 3);
    const session = this.sessions[this.#random.below(this.sessions.length)]!;
    for (const [ordinal, seat] of seats.entries()) {
      const held = this.#locked.get(seat) ?? { hold: sequence, session };
      if (isLocked) this.#locked.delete(seat);
      else this.#locked.set(seat, held);
      const { from, to, name: call } = MOVES[move];
      const at = { sequence, ordinal, timeMs, call, actor: ACTOR };
      const place = { placeId: this.#seatIds[seat]!, isArea: false, places: null };
      const { priceId } = this.world;
      this.rows.push({ ...at, ...held, holdType: "", ...place, from, to, priceId });
    }
    const fixed = { type: RecordType.MOVE, actor: ACTOR, partition: this.#partition, move };
    const held = { hold: NONE, expiresAtMs: 0, session, holdType: "" };
    const places = { seats: Uint32Array.from(seats), areas: new Uint32Array() };
    this.book.add(sequence, timeMs, { ...fixed, ...held, ...places }, markAt(sequence));
  }

  /** Compares pages of the trail with the rows. @param first - The first record of the trail. */
  compare(first: number): void {
    const { rows } = this;
    const seat = rows[3]!.placeId;
    const middle = rows.at(-12_000)!.sequence;
    const found = rows.filter(({ sequence }) => sequence >= first);
    this.#expect(
      found.filter((row) => row.placeId === seat),
      { seatId: seat },
    );
    for (const session of this.sessions.slice(0, 3)) {
      const own = found.filter((row) => row.session === session);
      this.#expect(own, { session });
      this.#expect(
        own.filter((row) => row.placeId === seat),
        { seatId: seat, session },
      );
    }
    const range = { fromSequence: middle + 1, toSequence: middle + 5_000 };
    const within = found.filter(({ sequence }) => sequence > middle && sequence <= middle + 5_000);
    this.#expect(within, range);
    this.#expect(
      within.filter((row) => row.placeId === seat),
      { seatId: seat, ...range },
    );
    expect(within.length).toBeGreaterThan(1_000);
    this.#expect(
      found.filter(({ timeMs }) => timeMs >= rows.at(-99)!.timeMs),
      {
        fromMs: rows.at(-99)!.timeMs,
      },
    );
    for (const at of [middle, middle + 777, rows.at(-1)!.sequence]) this.#compareMap(at);
  }

  #expect(wanted: readonly Transition[], filter: Partial<TransitionQuery>): void {
    const { eventId } = this.world;
    for (const [offset, descending] of [
      [0, false],
      [wanted.length >> 1, true],
    ] as const) {
      const sort = [{ property: "sequence", descending } as const];
      const query = { ...filter, sort, offset, limit: 50 };
      const page = ask(this.book, { about: "transitions", eventId, query });
      const ordered = descending ? wanted.toReversed() : wanted;
      expect(page).toEqual({
        transitions: ordered.slice(offset, offset + 50),
        total: wanted.length,
      });
    }
  }

  #compareMap(sequence: number): void {
    const last = new Map<number, Transition>();
    for (const row of this.rows) if (row.sequence <= sequence) last.set(row.placeId, row);
    const query = { sort: [], offset: 0, limit: 100 };
    const { seats } = ask(this.book, {
      about: "seats",
      eventId: this.world.eventId,
      moment: { sequence },
      query,
    });
    const found = seats.map(({ seatId, state, changedAtMs }) => [seatId, state, changedAtMs]);
    const wanted = [...last].map(([seatId, { to, timeMs }]) => [seatId, to, timeMs]);
    expect(found.sort((a, b) => a[0]! - b[0]!)).toEqual(wanted.sort((a, b) => a[0]! - b[0]!));
    expect(found).toHaveLength(60);
  }
}

describe("140,000 transitions of an event", () => {
  test("are found by seat, session, time and record, also after the retention", () => {
    const history = new LongHistory();
    history.grow(140_000);
    history.compare(1);
    const sql = openSqlReader(history.file);
    onTestFinished(() => sql.close());
    expect(sql.row("SELECT max(level) AS level FROM runs")).toEqual({ level: 1 });
    expect(sql.list("SELECT sequence FROM maps").length).toBeGreaterThan(3);
    history.book.removeBefore(history.rows[40_000]!.timeMs);
    const { firstSequence } = history.book.row;
    expect(firstSequence).toBeGreaterThan(20_000);
    history.compare(firstSequence);
    history.grow(20_000);
    history.book.removeBefore(history.rows[135_000]!.timeMs);
    history.compare(history.book.row.firstSequence);
    const first = "SELECT min(first) AS first FROM";
    expect(sql.row(`${first} blocks`)).toEqual({ first: history.book.row.firstSequence });
    expect(Number(sql.row(`${first} runs`)!["first"])).toBeGreaterThan(firstSequence);
  });
});

/** Adds a transition of one new place for each record. */
function appendPlaces(sql: SqlFile, from: number, to: number): void {
  const rows = new RowBuffer();
  for (let sequence = from; sequence <= to; sequence++) {
    rows.addRecord({ sequence, timeMs: sequence }, Move.LOCK, ACTOR);
    rows.addRow(keyOf(sequence, false), seatMove(SeatState.ACTIVE, SeatState.LOCKED, 7, NO_HOLD));
  }
  appendBlocks(sql, 1, rows);
}

const RUNS = "SELECT first, last, rows, level FROM runs ORDER BY last";

test("rows are found while their blocks have no list yet, and after they have", () => {
  const sql = openAuditFile(":memory:", AUDIT_STORE);
  onTestFinished(() => sql.close());
  const last = 17 * BLOCK_ROWS;
  appendPlaces(sql, 1, last);
  expect(sql.list(RUNS)).toEqual([]);
  extendRuns(sql, 1);
  extendRuns(sql, 1);
  expect(sql.list(RUNS)).toEqual([{ first: 1, last, rows: last, level: 0 }]);
});

test("blocks and shorter runs become one run of the next level when they suffice for it", () => {
  const sql = openAuditFile(":memory:", AUDIT_STORE);
  onTestFinished(() => sql.close());
  const run = (from: number, to: number, level: number) => {
    const [first, last] = [from * BLOCK_ROWS + 1, to * BLOCK_ROWS];
    return { first, last, rows: last - first + 1, level };
  };
  const grow = (from: number, to: number) => {
    appendPlaces(sql, from * BLOCK_ROWS + 1, to * BLOCK_ROWS);
    extendRuns(sql, 1);
    return sql.list(RUNS);
  };
  expect(grow(0, 20)).toEqual([run(0, 20, 0)]);
  expect(grow(20, 70)).toEqual([run(0, 20, 0), run(20, 70, 0)]);
  expect(grow(70, 100)).toEqual([run(0, 100, 1)]);
  expect(grow(100, 120)).toEqual([run(0, 100, 1), run(100, 120, 0)]);
  // Enough for the second level without the others.
  expect(grow(120, 220)).toEqual([run(0, 100, 1), run(100, 220, 1)]);
  for (const found of [run(0, 100, 1), run(100, 220, 1)]) {
    for (const sequence of [found.first, found.first + 50_000, found.last]) {
      const key = keyOf(sequence, false);
      expect(findInRun(sql, 1, found, { kind: LookupKind.PLACE, key })).toEqual([sequence]);
    }
  }
});
