/** The rows that each kind of record leaves in the audit trail, and their retention. */
import { expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { drain } from "../../../engine/inventory/steps.ts";
import { SeatState, STATE_NAMES } from "../../../engine/inventory/states.ts";
import type { Transition } from "../../../engine/queries/history.ts";
import { ActorKind } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { openSqlReader } from "../../../persistence/disk/sqlite.ts";
import type { Book } from "../../support/audit.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { START_MS, World } from "../../support/engine.ts";
import { area, guidOf, layoutOf, section } from "../../support/layout.ts";
import { ask, mapOf, openBook, pastMapOf, transitionsOf } from "./history-fixture.ts";

const PARTS = [section("Stalls", { A: "1 2 3" }), area("Pit", 10), area("Lawn", 4)];

/** A world that compares the trail with its state after each record. */
class Audited extends World {
  readonly audit = openBook();
  #taken = 0;

  constructor() {
    super(PARTS);
    this.take();
  }

  /** The new rows of an event since the last call. */
  take(eventId = this.eventId): string[] {
    const { kept } = this.journal;
    const before = this.#taken;
    const state = new State();
    for (const { sequence, timeMs, record } of kept) {
      apply(state, record, timeMs, sequence);
      if (sequence <= before) continue;
      this.audit.feed(kept.slice(0, sequence));
      for (const id of state.catalog.events.keys()) this.#compare(state, id, sequence);
    }
    this.#taken = kept.length;
    return transitionsOf(this.audit, eventId)
      .filter(({ sequence }) => sequence > before)
      .map((row) => this.#said(row));
  }

  #compare(state: State, eventId: string, sequence: number): void {
    const { seats, ...rest } = mapOf(state, eventId);
    const listed = seats.filter((seat) => seat.state !== SeatState.WITHDRAWN);
    expect(pastMapOf(this.audit, eventId, sequence)).toEqual({ ...rest, seats: listed });
  }

  #said({ call, placeId, from, to, places, session, isArea, priceId }: Transition): string {
    const name = (state: SeatState | null) =>
      state === null ? "gone" : (STATE_NAMES[state] ?? ["UNPRICED", "WITHDRAWN"][state]);
    const label = this.labels.labelOf(placeId) + (isArea ? `:${places}` : "");
    const price = priceId === this.priceId ? "" : ` at ${priceId}`;
    return `${call} ${label} ${name(from)}>${name(to)} ${session || "-"}${price}`;
  }
}

test("sessions like a UUID, and nearly so → archived to the letter", () => {
  const uuid = "0123abcd-4567-4890-8abc-def012345678";
  const sessions = [
    uuid,
    uuid.toUpperCase(),
    uuid.slice(1),
    `${uuid}0`,
    uuid.replace("-", "0"),
    uuid.replace("0", "-"),
    uuid.replace("0", "g"),
    uuid.replace("0", "é"),
    uuid.replace("8", "€"),
    uuid.replaceAll("-", ""),
    uuid.replace("0", "1"),
  ];
  const world = new World([area("Pit", 20)]);
  for (const session of sessions) world.book("lock", world.selection(session, "Pit:1"));
  const book = openBook();
  book.feed(world.journal.kept);
  book.archiveAll();
  const rows = transitionsOf(book, world.eventId).filter(({ call }) => call === "lock");
  expect(rows.map(({ session }) => session)).toEqual(sessions);
});

test("extensions of large holds → an image after as many transitions as of moves", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)]);
  const body = [{ name: "LONG", ttlSeconds: 60, maxSeconds: 600 }];
  world.must("replaceHoldTypes", world.caller, { body });
  const what = world.selection("ann", "A1", "A2", "A3", "A4", "A5", "Pit:2");
  world.book("lock", { ...what, holdType: "LONG" });
  world.book("lock", { ...world.selection("ann", "A6"), holdType: "LONG" });
  for (let second = 1; second <= 20; second++) {
    world.clock.timeMs += 1_000;
    const extension = { sessionId: "ann", seconds: 60 };
    world.must("extend", world.caller, { eventId: world.eventId, body: extension });
  }
  const imageMovesMin = 20;
  const book = openBook(undefined, { imageMovesMin });
  book.feed(world.journal.kept);
  book.archiveAll();
  const event = book.histories.eventOf(world.eventId)!;
  const places = 7;
  expect(transitionsOf(book, world.eventId)).toHaveLength((1 + 1 + 20) * places);
  const rows = book.histories.spansOf(event).map((span) => {
    return drain(book.histories.block(event, span)).rowCount;
  });
  // The first prices count for less than their rows.
  expect(Math.max(...rows)).toBeLessThan(imageMovesMin + 2 * places);
});

test("each kind of move of seats and places, with its session and its price", () => {
  const world = new Audited();
  const book = (kind: Parameters<World["book"]>[0], ...what: string[]) => {
    world.book(kind, world.selection(kind === "sale" ? null : "s", ...what));
    return world.take();
  };
  expect(book("lock", "A1", "A2", "Pit:3")).toEqual([
    "lock A1 ACTIVE>LOCKED s",
    "lock A2 ACTIVE>LOCKED s",
    "lock Pit:3 ACTIVE>LOCKED s",
  ]);
  expect(book("unlock", "A2", "Pit:1")).toEqual([
    "unlock A2 LOCKED>ACTIVE s",
    "unlock Pit:1 LOCKED>ACTIVE s",
  ]);
  expect(book("sale", "A1", "Pit:2")).toEqual([
    "sale A1 LOCKED>SOLD s",
    "sale Pit:2 LOCKED>SOLD s",
  ]);
  expect(book("revertsale", "A1", "Pit:1")).toEqual([
    "revertsale A1 SOLD>ACTIVE s",
    "revertsale Pit:1 SOLD>ACTIVE s",
  ]);
  expect(book("directsale", "A3", "Lawn:1")).toEqual([
    "directsale A3 ACTIVE>SOLD s",
    "directsale Lawn:1 ACTIVE>SOLD s",
  ]);
  expect(book("block", "A2", "Lawn:2")).toEqual([
    "block A2 ACTIVE>BLOCKED s",
    "block Lawn:2 ACTIVE>BLOCKED s",
  ]);
  expect(book("unblock", "A2", "Lawn:1")).toEqual([
    "unblock A2 BLOCKED>ACTIVE s",
    "unblock Lawn:1 BLOCKED>ACTIVE s",
  ]);
  expect(book("unlock", "A2")).toEqual([]);
});

test("places of two sessions that are sold together appear per session", () => {
  const world = new Audited();
  world.book("lock", world.selection("one", "Pit:2"));
  world.book("lock", world.selection("two", "A1", "Pit:3"));
  world.take();
  world.book("sale", world.selection(null, "Pit:4"));
  expect(world.take()).toEqual(["sale Pit:2 LOCKED>SOLD one", "sale Pit:2 LOCKED>SOLD two"]);
});

test("an expired hold, and prices removed from held, sold and blocked objects", () => {
  const world = new Audited();
  world.book("lock", world.selection("old", "A1", "Pit:2"));
  world.clock.timeMs = START_MS + 3_600_000;
  world.engine.expireAll();
  expect(world.take().slice(-2)).toEqual([
    "expire A1 LOCKED>ACTIVE old",
    "expire Pit:2 LOCKED>ACTIVE old",
  ]);
  world.book("lock", world.selection("s", "A1", "Pit:2"));
  world.book("directsale", world.selection("d", "A2"));
  world.book("block", world.selection("b", "A3", "Pit:3"));
  world.take();
  world.must("clearPrices", world.caller, { eventId: world.eventId });
  expect(world.take()).toEqual([
    "prices A1 LOCKED>WITHDRAWN s at 0",
    "prices A3 BLOCKED>WITHDRAWN - at 0",
    "prices Pit:2 LOCKED>WITHDRAWN s at 0",
    "prices Pit:3 BLOCKED>WITHDRAWN - at 0",
    "prices Pit:5 ACTIVE>WITHDRAWN - at 0",
    "prices Lawn:4 ACTIVE>WITHDRAWN - at 0",
  ]);
});

test("a deleted price leaves its seats, and a new price takes its slot", () => {
  const world = new Audited();
  const { caller, eventId, priceId } = world;
  world.must("deletePrice", caller, { eventId, priceId });
  expect(world.take()).toHaveLength(5);
  const other = world.createPrice("Other");
  const objectId = world.labels.idOf("A1");
  world.must("assignPrices", caller, {
    eventId,
    body: { seats: [{ objectId, assignmentId: other }] },
  });
  expect(world.take()).toEqual([`prices A1 WITHDRAWN>ACTIVE - at ${other}`]);
  const body = [{ id: other, eventId, name: "Renamed" }];
  world.must("updatePrices", caller, { eventId, body });
  expect(world.take()).toEqual([]);
});

test("a changed layout: removed and added objects, and holds in new slots", () => {
  const world = new Audited();
  world.book("lock", world.selection("a", "A1"));
  world.book("lock", world.selection("b", "Pit:2"));
  world.book("lock", world.selection("c", "A2", "Pit:3", "Lawn:1"));
  world.take();
  const parts = layoutOf(section("Stalls", { A: "1 2 3" }), area("Pit", 10), area("Lawn", 4));
  const removed = ["A1", "Lawn"].map((label) => world.labels.idOf(label));
  const body = {
    seats: [
      { ...parts.seats![0]!, id: removed[0]!, toRemove: true },
      { guid: guidOf("new"), rowGuid: guidOf("row A"), name: "9", x: 9, y: 0 },
    ],
    sectors: [
      { ...parts.sectors![2]!, id: removed[1]!, toRemove: true },
      { guid: guidOf("Box"), name: "Box", ga: true, gaCapacity: 3 },
    ],
  };
  const { labels } = world;
  world.putLayout(body, true);
  const rows = world.take.bind(world);
  const added = world.labels;
  world.labels = {
    ...added,
    labelOf: (id) => (removed.includes(id) ? labels.labelOf(id) : added.labelOf(id)),
  };
  expect(rows()).toEqual([
    "layout A1 LOCKED>gone a at 0",
    "layout A9 gone>UNPRICED - at 0",
    "layout Lawn:1 LOCKED>gone c at 0",
    "layout Lawn:3 ACTIVE>gone - at 0",
    "layout Lawn:0 UNPRICED>gone - at 0",
    "layout Box:0 gone>UNPRICED - at 0",
  ]);
  world.book("sale", world.selection(null, "Pit:5", "A2"));
  expect(world.take()).toEqual([
    "sale A2 LOCKED>SOLD c",
    "sale Pit:2 LOCKED>SOLD b",
    "sale Pit:3 LOCKED>SOLD c",
  ]);
});

/** A schema without a layout, and the move of the event to a schema. */
function otherSchema(world: Audited) {
  const { caller, eventId, venueId } = world;
  const body = { name: "Other", venueId };
  const { id: otherId } = world.must("createSchema", caller, { body });
  const times = { name: "Night", start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
  const move = (schemaId: number) =>
    world.must("updateEvent", caller, { eventId, body: { ...times, schemaId }, force: true });
  return { otherId, move };
}

test("an event that moves to another schema and back, and a deleted schema", () => {
  const world = new Audited();
  const { caller, schemaId } = world;
  const { otherId, move } = otherSchema(world);
  world.book("lock", world.selection("s", "A1", "Pit:1"));
  world.take();
  world.clock.timeMs += 5_000;
  move(otherId);
  const gone = world.take();
  expect(gone.slice(0, 3)).toEqual([
    "event A1 LOCKED>gone s at 0",
    "event A2 ACTIVE>gone - at 0",
    "event A3 ACTIVE>gone - at 0",
  ]);
  expect(gone).toContain("event Pit:1 LOCKED>gone s at 0");
  world.clock.timeMs += 5_000;
  move(schemaId);
  expect(world.take()).toContain("event A1 gone>UNPRICED - at 0");
  world.must("deleteSchema", caller, { schemaId });
  expect(world.take()).toContain("layout A1 UNPRICED>gone - at 0");
});

test("an event that comes back to a schema with another layout → its seats are the present ones", () => {
  const world = new Audited();
  const { caller, eventId, schemaId } = world;
  const { otherId, move } = otherSchema(world);
  const parts = layoutOf(...PARTS);
  const removed = { ...parts.seats![0]!, id: world.labels.idOf("A1"), toRemove: true };
  move(otherId);
  world.take();
  const seat = { guid: guidOf("new"), rowGuid: guidOf("row A"), name: "9", x: 9, y: 0 };
  world.putLayout({ seats: [removed, seat] }, true);
  move(schemaId);
  const back = world.take();
  expect(back).toContain("event A9 gone>UNPRICED - at 0");
  expect(back.some((row) => row.includes("A1"))).toBe(false);
  world.must("assignPrices", caller, {
    eventId,
    body: { seats: [{ objectId: world.labels.idOf("A9"), assignmentId: world.priceId }] },
  });
  expect(world.take()).toEqual(["prices A9 UNPRICED>ACTIVE -"]);
});

test("a deleted event keeps its rows, and has no map from then on", () => {
  const world = new Audited();
  const { caller, eventId } = world;
  world.book("lock", world.selection("s", "A1", "Pit:1"));
  world.take();
  const rows = transitionsOf(world.audit, eventId);
  const map = pastMapOf(world.audit, eventId, world.engine.sequence);
  const last = world.engine.sequence;
  world.must("deleteEvent", caller, { eventId });
  world.must("createVenue", caller, { body: { name: "Later" } });
  world.take();
  expect(transitionsOf(world.audit, eventId)).toEqual(rows);
  expect(pastMapOf(world.audit, eventId, last)).toEqual(map);
  expect(() => pastMapOf(world.audit, eventId, last + 1)).toThrow("no event");
  expect(ask(world.audit, { about: "owner", eventId })).toBe(caller.organizationId);

  // Another event may get the id. The trail of the id is that of the new event.
  const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
  const body = { name: "Again", schemaId: world.schemaId, ...times };
  world.must("createEvent", caller, { eventId, body });
  world.take();
  expect(transitionsOf(world.audit, eventId)).toEqual([]);
});

test("each row has its actor: an account, a tenant or the system", () => {
  const world = new Audited();
  const actors = [
    { kind: ActorKind.ACCOUNT, id: 77 },
    { kind: ActorKind.TENANT, id: 1 },
  ];
  for (const [i, actor] of actors.entries()) {
    const body = world.selection("s", `A${i + 1}`);
    world.must("lock", { ...world.caller, actor }, { eventId: world.eventId, body });
  }
  world.clock.timeMs += 3_600_000;
  world.engine.expireAll();
  world.take();
  const system = { kind: ActorKind.SYSTEM, id: 0 };
  const found = transitionsOf(world.audit, world.eventId).slice(-4);
  expect(found.map(({ actor }) => actor)).toEqual([...actors, system, system]);
});

test("a cart over two events → its parts in each trail, and one change of each", () => {
  const world = new Audited();
  const second = world.createEvent();
  const assignmentId = world.createPrice("Late", second);
  const seats = ["A1", "A2"].map((label) => ({ objectId: world.labels.idOf(label), assignmentId }));
  const { caller, eventId } = world;
  world.must("assignPrices", caller, { eventId: second, body: { seats, groupOfSeats: [] } });
  world.book("lock", world.selection("ann", "A1", "Pit:2"));
  world.take();
  world.take(second);
  const before = world.engine.sequence;
  const on = (of: string, call: "lock" | "sale" | "unlock", ...labels: string[]) => {
    const { seats: chosen, groupOfSeats } = world.selection(null, ...labels);
    return { eventId: of, call, seats: chosen, groupOfSeats };
  };
  world.clock.timeMs += 1_000;
  const items = [
    { ...on(eventId, "unlock", "A1", "Pit:2"), sessionId: "ann" },
    { ...on(eventId, "lock", "A1", "A2", "Pit:3"), sessionId: "bob" },
    { ...on(second, "lock", "A2"), holdType: "RESERVED" },
    { eventId, call: "extend" as const, sessionId: "bob", seconds: 60 },
    { ...on(eventId, "sale", "A2", "Pit:1"), sessionId: "bob" },
  ];
  world.must("cart", caller, { body: { sessionId: "eve", items } });
  expect(world.take()).toEqual([
    "cart A1 LOCKED>ACTIVE ann",
    "cart Pit:2 LOCKED>ACTIVE ann",
    "cart A1 ACTIVE>LOCKED bob",
    "cart A2 ACTIVE>LOCKED bob",
    "cart Pit:3 ACTIVE>LOCKED bob",
    "cart A2 LOCKED>SOLD bob",
    "cart Pit:1 LOCKED>SOLD bob",
  ]);
  world.audit.feed(world.journal.kept);
  const later = ({ sequence }: Transition) => sequence > before;
  const there = transitionsOf(world.audit, second).filter(later);
  const hold = { sequence: before + 1, session: "eve", holdType: "RESERVED", hold: before + 1 };
  expect(there).toMatchObject([{ ...hold, call: "cart", to: SeatState.LOCKED }]);
  const here = transitionsOf(world.audit, eventId).filter(later);
  expect(here.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(new Set(here.slice(2).map((row) => row.hold))).toEqual(new Set([before + 1]));
  const changesOf = (of: string) =>
    ask(world.audit, { about: "changes", eventId: of, since: before, limit: 9 }).changes;
  const { state } = world.engine;
  const id = (label: string) => world.labels.idOf(label);
  expect(changesOf(eventId)).toMatchObject([
    {
      sequence: before + 1,
      call: "cart",
      session: "eve",
      holdType: "",
      seats: [
        { id: id("A1"), state: SeatState.LOCKED, expiresAtMs: world.clock.timeMs + 900_000 },
        { id: id("A2"), state: SeatState.SOLD, expiresAtMs: null },
      ],
      areas: [{ id: id("Pit"), active: 7, locked: 2, sold: 1, blocked: 0 }],
    },
  ]);
  expect(changesOf(second)).toMatchObject([
    { sequence: before + 1, call: "cart", seats: [{ id: id("A2"), state: SeatState.LOCKED }] },
  ]);
  const numbers = [eventId, second].map((of) => state.catalog.events.get(of)!.partition);
  expect(numbers.map((number) => state.sequences.get(number))).toEqual([before + 1, before + 1]);
  world.audit.archiveAll();
  expect(transitionsOf(world.audit, eventId).filter(later)).toEqual(here);
});

/** A random history over many days. */
function longPast(seed: number): Workload {
  const workload = new Workload(seed, { hasGuards: true });
  for (let step = 0; step < 1_200; step++) workload.step();
  return workload;
}

test.each([5, 6])(
  "old rows are removed, and everything after them stays exact, seed %d",
  (seed) => {
    const { bench } = longPast(seed);
    const { kept } = bench.journal;
    const book = openBook(undefined, { continuedMsMax: 0 });
    let cut = 1;
    for (const share of [0.3, 0.3001, 0.6, 1]) {
      const end = Math.floor(kept.length * share);
      book.feed(kept.slice(0, end));
      book.archiveAll();
      book.removeBefore(kept[Math.floor(end / 2)]!.timeMs);
      expect(book.archive.row.firstSequence).toBeGreaterThanOrEqual(cut);
      cut = book.archive.row.firstSequence;
    }
    expect(cut).toBeGreaterThan(kept.length / 4);
    expectPast(book, bench.engine.state, kept, cut);
  },
);

function expectPast(book: Book, end: State, kept: World["journal"]["kept"], from: number) {
  const whole = openBook();
  whole.feed(kept);
  const state = new State();
  for (const { sequence, timeMs, record } of kept) {
    apply(state, record, timeMs, sequence);
    if (sequence < from - 1 || sequence % 5 > 0) continue;
    for (const eventId of state.catalog.events.keys()) {
      const found = pastMapOf(book, eventId, sequence);
      expect(found).toEqual(pastMapOf(whole, eventId, sequence));
    }
  }
  for (const eventId of end.catalog.events.keys()) {
    const late = transitionsOf(whole, eventId).filter(({ sequence }) => sequence >= from);
    expect(transitionsOf(book, eventId)).toEqual(late);
  }
}

test("a deleted event past its retention → nothing is left of it", () => {
  const world = new World(PARTS);
  const book = openBook(undefined, { continuedMsMax: 0 });
  const { caller, eventId } = world;
  world.clock.timeMs += 1;
  world.must("deleteEvent", caller, { eventId });
  const deletedMs = world.clock.timeMs;
  world.clock.timeMs += 86_400_000;
  book.feed(world.journal.kept.slice(0, -1));
  book.archiveAll();
  world.must("createVenue", caller, { body: { name: "Later" } });
  book.feed(world.journal.kept);
  book.archiveAll();
  // The record of the deletion is the first one that stays.
  book.removeBefore(deletedMs);
  const moment = { timeMs: deletedMs - 1 };
  expect(book.answer({ about: "areas", eventId, moment })).toMatchObject({ gap: "too early" });
  expect(ask(book, { about: "owner", eventId })).toBe(caller.organizationId);
  book.removeBefore(world.clock.timeMs);
  expect(book.answer({ about: "owner", eventId })).toMatchObject({ gap: "no event" });
  const sql = openSqlReader(`${book.folder}/audit.sqlite`);
  for (const table of ["chunks", "events"]) {
    expect(sql.row(`SELECT count(*) AS rows FROM ${table}`)).toEqual({ rows: 0 });
  }
  sql.close();
});

test("an event without recent changes → it stays as it was when older records are removed", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const quiet = world.eventId;
  world.book("lock", world.selection("ann", "A1"));
  const other = world.createEvent();
  const assignmentId = world.createPrice("Late", other);
  const seats = [{ objectId: world.labels.idOf("A2"), assignmentId }];
  world.must("assignPrices", world.caller, { eventId: other, body: { seats, groupOfSeats: [] } });
  const book = openBook();
  const otherwise = () => {
    world.clock.timeMs += 86_400_000;
    const body = world.selection(null, "A2");
    world.must("block", world.caller, { eventId: other, body });
    world.must("unblock", world.caller, { eventId: other, body });
    book.feed(world.journal.kept);
    book.archiveAll();
  };
  book.feed(world.journal.kept);
  book.archiveAll();
  otherwise();
  expect(transitionsOf(book, quiet).length).toBeGreaterThan(2);
  book.removeBefore(world.clock.timeMs);
  const first = book.archive.row.firstSequence;
  const map = pastMapOf(book, quiet, first);
  expect(transitionsOf(book, quiet)).toEqual([]);
  otherwise();
  book.removeBefore(world.clock.timeMs);
  expect(book.archive.row.firstSequence).toBe(first + 2);
  expect(pastMapOf(book, quiet, first + 2)).toEqual(map);
  expect(map.seats).toMatchObject([{ state: SeatState.LOCKED }, { state: SeatState.ACTIVE }]);
  world.engine.expireAll(10);
  book.feed(world.journal.kept);
  expect(transitionsOf(book, quiet)).toMatchObject([{ call: "expire", session: "ann" }]);
});

test("an event that was deleted before the archive is opened again → it stays deleted", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { caller, eventId, schemaId, journal } = world;
  world.book("lock", world.selection("ann", "A1"));
  world.must("deleteEvent", caller, { eventId });
  world.must("deleteSchema", caller, { schemaId });
  const first = openBook();
  first.feed(journal.kept);
  first.archiveAll();
  const rows = transitionsOf(first, eventId);
  const again = openBook(first.folder);
  world.must("createVenue", caller, { body: { name: "Elsewhere" } });
  again.feed(journal.kept);
  expect(transitionsOf(again, eventId)).toEqual(rows);
  expect(rows.length).toBeGreaterThan(2);
  const moment = { sequence: again.sequence };
  expect(again.answer({ about: "areas", eventId, moment })).toMatchObject({ gap: "no event" });
});

test("a record out of order → it is refused", () => {
  const { kept } = new World(PARTS).journal;
  const book = openBook();
  const [first, , third] = kept;
  book.feed([first!]);
  expect(() => book.feed([third!])).toThrow("one record after the other");
});
