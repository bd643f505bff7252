/** The memory that the operator gives to what clients create. */
import { expect, test } from "vitest";
import { Result } from "../../../engine/results.ts";
import { EVENT_SEAT_BYTES, LAYOUT_SEAT_BYTES, State } from "../../../engine/state.ts";
import { apply } from "../../../engine/apply.ts";
import { World } from "../../support/engine.ts";
import { guidOf, layoutOf, section } from "../../support/layout.ts";

const PARTS = [section("Stalls", { A: "1 2 3 4 5 6 7 8 9 10" })];
const MORE = [section("Stalls", { A: "1 2 3 4 5 6 7 8 9 10 11" })];
const SEATS = 10;
const NEW_ID = "0000abcd-0000-4000-8000-0000000000ff";

const stateOf = (world: World) => world.engine.state;

/** Leaves room for so many more bytes. */
function leave(world: World, room: { readonly catalog?: number; readonly events?: number }): void {
  const state = stateOf(world);
  const { catalog = Infinity, events = Infinity } = room;
  state.room = { catalog: state.used.catalog + catalog, events: state.used.events + events };
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
  const replayed = new State();
  for (const { sequence, record, timeMs } of world.journal.kept)
    apply(replayed, record, timeMs, sequence);
  expect(replayed.used).toEqual(stateOf(world).used);
  expect(stateOf(world).used.events).toBe((SEATS + 1) * EVENT_SEAT_BYTES);
  const before = stateOf(world).used.catalog;
  world.must("deleteEvent", caller, { eventId });
  world.must("deleteSchema", caller, { schemaId });
  world.must("deleteVenue", caller, { venueId });
  expect(before - stateOf(world).used.catalog).toBeGreaterThan((SEATS + 1) * LAYOUT_SEAT_BYTES);
  expect(stateOf(world).layouts).toMatchObject({ size: 0, seatCount: 0 });
  expect(stateOf(world).used.events).toBe(0);
});
