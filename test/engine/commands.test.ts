/** The command table: the promises of its rows, and `decide` bound by them. */
import { expect, test } from "vitest";
import { Broken } from "../../engine/assert.ts";
import type { Caller } from "../../engine/bodies.ts";
import { type CommandKind, COMMANDS, decide, isCommandKind } from "../../engine/commands.ts";
import { findReply } from "../../engine/queries/access.ts";
import { grant, refuse, refuseInvalid, Result } from "../../engine/results.ts";
import { EVENT_SEAT_BYTES, LAYOUT_SEAT_BYTES } from "../../engine/state.ts";
import { BODY_IN_MEMORY_MAX, diskBytesOf, type ReplyBudget } from "../../engine/stored-replies.ts";
import { digest } from "../../engine/verify.ts";
import { Bench, replayed, ROOMY, START_MS, World } from "../support/engine.ts";
import { guidOf, layoutOf, section } from "../support/layout.ts";
import { OPEN_KINDS } from "../support/samples.ts";

const ROWS = Object.entries(COMMANDS);

test.each(ROWS)("the refusals of %s are in the order of their codes, each once", (_, row) => {
  const refusals: readonly number[] = row.refusals;
  expect(refusals).toEqual([...new Set(refusals)].toSorted((a, b) => a - b));
  // The journal gives these three to every command.
  expect(refusals).not.toContain(Result.LOG_UNAVAILABLE);
  expect(refusals).not.toContain(Result.OVERLOADED);
  expect(refusals).not.toContain(Result.PAYLOAD_TOO_LARGE);
});

test("a refusal that the row of its command does not list breaks an assertion", () => {
  const { engine, caller } = new World([section("Stalls", { A: "1" })]);
  const command = { kind: "deleteVenue", caller, venueId: 999 } as const;
  expect(decide(engine.state, command, 0).refused).toBe(Result.ENTITY_NOT_FOUND);
  const row = COMMANDS.deleteVenue as { refusals: readonly Result[] };
  const { refusals } = row;
  row.refusals = refusals.filter((code) => code !== Result.ENTITY_NOT_FOUND);
  try {
    expect(() => decide(engine.state, command, 0)).toThrow(Broken);
  } finally {
    row.refusals = refusals;
  }
});

test("no name but those of the table is a command", () => {
  expect(OPEN_KINDS.length).toBeGreaterThan(40);
  expect((Object.keys(COMMANDS) as CommandKind[]).every(isCommandKind)).toBe(true);
  expect(["toString", "__proto__", "", "Lock", 7, null].some(isCommandKind)).toBe(false);
});

// Result codes.

test("codes are in order of precedence and keep their numbers, which stored answers hold", () => {
  const codes = [
    0, 10, 11, 12, 13, 14, 15, 20, 30, 31, 32, 35, 40, 41, 42, 43, 44, 45, 50, 51, 52, 53, 54, 55,
    60, 61, 62,
  ];
  expect(Object.values(Result)).toEqual(codes);
});

test("a refusal of a bad request counts its fields", () => {
  const fault = { field: "a", code: "X", message: "m", rejectedValue: null };
  expect(refuseInvalid([fault]).detail).toBe("1 field is not valid.");
  expect(refuseInvalid([fault, fault]).detail).toBe("2 fields are not valid.");
  expect(refuse(Result.ORPHAN_SEAT, "why").errors).toEqual([]);
  expect(grant(null, 7)).toEqual({ refused: Result.OK, record: null, value: 7 });
});

// The memory quota for rows created by clients.

const PARTS = [section("Stalls", { A: "1 2 3 4 5 6 7 8 9 10" })];
const MORE = [section("Stalls", { A: "1 2 3 4 5 6 7 8 9 10 11" })];
const SEATS = 10;
const NEW_ID = "0000abcd-0000-4000-8000-0000000000ff";

const stateOf = (world: World) => world.engine.state;

/** Leaves room for so many more bytes. */
function leave(world: World, room: { readonly catalog?: number; readonly events?: number }): void {
  const state = stateOf(world);
  const { catalog = Infinity, events = Infinity } = room;
  state.quota = { catalog: state.used.catalog + catalog, events: state.used.events + events };
}

function createEvent(world: World, schemaId = world.schemaId) {
  const { name, start, endDate } = world.event;
  const body = { name, start, endDate, schemaId };
  return world.submit("createEvent", world.caller, { eventId: NEW_ID, body }).refused;
}

function createVenue(world: World) {
  return world.submit("createVenue", world.caller, { body: { name: "Hall" } });
}

test("an event whose seats have no room is refused, until another event is deleted", () => {
  const world = new World(PARTS);
  leave(world, { events: SEATS * EVENT_SEAT_BYTES - 1 });
  const { sequence } = world.engine;
  expect(createEvent(world)).toBe(Result.NO_ROOM);
  expect(world.engine.sequence).toBe(sequence);
  expect(world.book("lock", world.selection("s", "A1")).refused).toBe(Result.OK);
  world.must("deleteEvent", world.caller, { eventId: world.eventId });
  const body = { name: "N", start: "2026-05-01T20:00", endDate: "2026-05-01T20:00" };
  const again = { eventId: NEW_ID, body: { ...body, schemaId: world.schemaId } };
  expect(world.submit("createEvent", world.caller, again).refused).toBe(Result.OK);
  expect(stateOf(world).used.events).toBe(SEATS * EVENT_SEAT_BYTES);
});

test("a layout that gives more seats to its events is refused without room for them", () => {
  const world = new World(PARTS);
  world.createEvent();
  const put = { schemaId: world.schemaId, body: layoutOf(...MORE), forceDelete: false };
  leave(world, { events: 2 * EVENT_SEAT_BYTES - 1 });
  expect(world.submit("putLayout", world.caller, put).refused).toBe(Result.NO_ROOM);
  leave(world, { events: 2 * EVENT_SEAT_BYTES });
  expect(world.submit("putLayout", world.caller, put).refused).toBe(Result.OK);
  leave(world, { events: 0 });
  const fewer = { ...put, body: layoutOf(...PARTS), forceDelete: true };
  expect(world.submit("putLayout", world.caller, fewer).refused).toBe(Result.OK);
});

test("an event moves to a schema with more seats only if there is room for them", () => {
  const world = new World(PARTS);
  const { caller, venueId, eventId } = world;
  const other = world.must("createSchema", caller, { body: { name: "Large", venueId } }).id;
  const put = { schemaId: other, body: layoutOf(...MORE), forceDelete: false };
  world.must("putLayout", caller, put);
  const { name, start, endDate } = world.event;
  const move = { eventId, body: { name, start, endDate, schemaId: other }, force: false };
  leave(world, { events: EVENT_SEAT_BYTES - 1 });
  expect(world.submit("updateEvent", caller, move).refused).toBe(Result.NO_ROOM);
  leave(world, { events: EVENT_SEAT_BYTES });
  expect(world.submit("updateEvent", caller, move).refused).toBe(Result.OK);
});

test("a row without room is refused; changes and deletions of rows are not", () => {
  const world = new World(PARTS);
  leave(world, { catalog: 1_024 });
  expect(createVenue(world).refused).toBe(Result.OK);
  expect(createVenue(world).refused).toBe(Result.NO_ROOM);
  const { caller, eventId, priceId, schemaId } = world;
  const renamed = { eventId, body: [{ id: priceId, name: "Reduced", eventId }] };
  expect(world.submit("updatePrices", caller, renamed).refused).toBe(Result.OK);
  const grown = { schemaId, body: layoutOf(...MORE), forceDelete: false };
  expect(world.submit("putLayout", caller, grown).refused).toBe(Result.NO_ROOM);
  world.must("clearPrices", caller, { eventId });
  world.must("deletePrice", caller, { eventId, priceId });
  expect(createVenue(world).refused).toBe(Result.OK);
});

test("the room that is used is the same after a replay, and nothing when all is deleted", () => {
  const world = new World(PARTS);
  const { caller, eventId, schemaId, venueId } = world;
  const body = { ...layoutOf(...MORE), shapes: [{ id: guidOf("shape") }] };
  world.must("putLayout", caller, { schemaId, body, forceDelete: false });
  expect(replayed(world.journal).used).toEqual(stateOf(world).used);
  expect(stateOf(world).used.events).toBe((SEATS + 1) * EVENT_SEAT_BYTES);
  const before = stateOf(world).used.catalog;
  world.must("deleteEvent", caller, { eventId });
  world.must("deleteSchema", caller, { schemaId });
  world.must("deleteVenue", caller, { venueId });
  expect(before - stateOf(world).used.catalog).toBeGreaterThan((SEATS + 1) * LAYOUT_SEAT_BYTES);
  expect(stateOf(world).layouts).toMatchObject({ size: 0, seatCount: 0 });
  expect(stateOf(world).used.events).toBe(0);
});

// Stored replies: the first answer to an idempotency key is kept for a day.

const DAY_MS = 86_400_000;

interface Given {
  readonly body?: string | null;
  readonly budget?: ReplyBudget;
}

test("a reply is found for exactly a day", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  expect(remember(bench, tenant, "7:key")).toMatchObject({ expiresAtMs: START_MS + DAY_MS });
  const { state } = bench.engine;
  expect(findReply(state, "7:key", START_MS + DAY_MS - 1)).toMatchObject({ body: "true" });
  expect(findReply(state, "7:key", START_MS + DAY_MS)).toBeNull();
  expect(findReply(state, "8:key", START_MS)).toBeNull();
});

test("each new reply removes several expired ones", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 6; i++) remember(bench, tenant, `7:${i}`);
  bench.clock.timeMs += 1;
  remember(bench, tenant, "7:alive");
  bench.clock.timeMs += DAY_MS - 1;
  remember(bench, tenant, "7:new");
  const { replies } = bench.engine.state.catalog;
  expect([...replies.keys()]).toEqual(["7:4", "7:5", "7:alive", "7:new"]);
  remember(bench, tenant, "7:newer");
  expect([...replies.keys()]).toEqual(["7:alive", "7:new", "7:newer"]);
});

test("a key that is used again after its day counts as new", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 9; i++) remember(bench, tenant, `7:${i}`);
  bench.clock.timeMs += DAY_MS;
  remember(bench, tenant, "7:6", { body: "again" });
  remember(bench, tenant, "7:new");
  const { replies } = bench.engine.state.catalog;
  expect([...replies.keys()]).toEqual(["7:6", "7:new"]);
});

test("expired replies are forgotten on demand, a thousand at a time", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 1_100; i++) remember(bench, tenant, `7:${i}`);
  expect(bench.must("forgetReplies", tenant, {})).toBe(0);
  bench.clock.timeMs += DAY_MS;
  expect(bench.must("forgetReplies", tenant, {})).toBe(1_000);
  expect(bench.must("forgetReplies", tenant, {})).toBe(100);
  const { replies, storedReplies } = bench.engine.state.catalog;
  expect([replies.size, storedReplies.memory]).toEqual([0, 0]);
});

// Stored replies within their budget: dropped bodies, and owners with room for more.

const remember = (bench: Bench, caller: Caller, id: string, given: Given = {}) => {
  const { body = "true", budget = ROOMY } = given;
  const reply = { id, fingerprint: "f", status: 200, body };
  return bench.must("rememberReply", caller, { reply, budget });
};

/** Room for three bodies of this length for an owner, and for four in all. */
const LENGTH = 1_000;
const TIGHT: ReplyBudget = {
  ...ROOMY,
  diskOfOwner: 3 * diskBytesOf(LENGTH),
  disk: 4 * diskBytesOf(LENGTH),
};
const LONG = { body: "x".repeat(LENGTH), budget: TIGHT };

/** The ids of the replies whose body is kept. */
const kept = ({ engine }: Bench) =>
  [...engine.state.catalog.replies.values()]
    .filter(({ bodyLength }) => bodyLength !== undefined)
    .map(({ id }) => id);

test("the oldest long bodies of an owner make room for a new one, and their rows stay", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  remember(bench, tenant, "7:short", { body: "x".repeat(BODY_IN_MEMORY_MAX), budget: TIGHT });
  for (let i = 0; i < 5; i++) remember(bench, tenant, `7:${i}`, LONG);
  expect(kept(bench)).toEqual(["7:2", "7:3", "7:4"]);
  const { replies, storedReplies } = bench.engine.state.catalog;
  expect([...replies.keys()]).toEqual(["7:short", "7:0", "7:1", "7:2", "7:3", "7:4"]);
  expect(replies.get("7:0")).toMatchObject({ body: null, fingerprint: "f", status: 200 });
  expect(replies.get("7:short")!.body).toHaveLength(BODY_IN_MEMORY_MAX);
  expect([storedReplies.disk, storedReplies.dropped]).toEqual([3 * diskBytesOf(LENGTH), 2]);
  expect(digest(replayed(bench.journal))).toBe(digest(bench.engine.state));
  expect(replayed(bench.journal).catalog.storedReplies).toEqual(storedReplies);
});

test("when all owners together have too much, the one with most gives up its oldest bodies", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  remember(bench, tenant, "9:a", LONG);
  for (let i = 0; i < 3; i++) remember(bench, tenant, `7:${i}`, LONG);
  remember(bench, tenant, "8:a", LONG);
  remember(bench, tenant, "8:b", LONG);
  expect(kept(bench)).toEqual(["9:a", "7:2", "8:a", "8:b"]);
  remember(bench, tenant, "8:c", LONG);
  expect(kept(bench)).toEqual(["9:a", "7:2", "8:b", "8:c"]);
});

test("a body that the budget cannot hold is not kept, and drops no other", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  remember(bench, tenant, "7:a", LONG);
  remember(bench, tenant, "7:b", { body: "x".repeat(TIGHT.diskOfOwner), budget: TIGHT });
  expect(kept(bench)).toEqual(["7:a"]);
  expect(bench.engine.state.catalog.replies.get("7:b")).toMatchObject({ body: null });
});

test("an owner has room up to its limit, and up to an equal share when all memory is used", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 10; i++) remember(bench, tenant, `7:${i}`);
  const { storedReplies } = bench.engine.state.catalog;
  const { memory } = storedReplies;
  const has = (owner: string, limits: Partial<ReplyBudget>) =>
    storedReplies.hasRoom(owner, { ...ROOMY, ...limits });
  expect([has("7", { memoryOfOwner: memory }), has("7", { memoryOfOwner: memory + 1 })]).toEqual([
    false,
    true,
  ]);
  expect([has("7", { memory }), has("8", { memory })]).toEqual([false, true]);
});
