/** Events: how they are created with their inventory, published, changed and deleted. */
import { expect, test } from "vitest";
import type { Caller, EventBody, EventCopy } from "../../../engine/bodies.ts";
import type { EventStatus } from "../../../engine/catalog.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { Admission } from "../../../engine/ports.ts";
import { RecordType } from "../../../engine/records.ts";
import { Result } from "../../../engine/results.ts";
import { START_MS, World } from "../../support/engine.ts";
import { area, layoutOf, section } from "../../support/layout.ts";
import { checkMore, expectConsistent } from "../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];
const SECOND = "11111111-1111-4111-8111-111111111111";
/** The times of the event of the world. */
const TIMES = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };

const bodyOf = (world: World, more: Partial<EventBody> = {}): EventBody => ({
  name: "Night",
  ...TIMES,
  schemaId: world.schemaId,
  ...more,
});

const create = (world: World, more: Partial<EventBody>, by: Caller = world.caller) =>
  world.submit("createEvent", by, { eventId: SECOND, body: bodyOf(world, more) });

const update = (world: World, more: Partial<EventBody>, force = false) =>
  world.submit("updateEvent", world.caller, {
    eventId: world.eventId,
    body: bodyOf(world, more),
    force,
  });

/** Creates another schema, with one row of three seats. */
function secondSchema(world: World): number {
  const { caller, venueId } = world;
  const { id } = world.must("createSchema", caller, { body: { name: "Two", venueId } });
  const body = layoutOf(section("Circle", { C: "1 2 3" }));
  world.must("putLayout", caller, { schemaId: id, body, forceDelete: false });
  return id;
}

test("a new event has its own inventory, and nothing in it has a price", () => {
  const world = new World(HALL);
  const event = world.must("createEvent", world.caller, { eventId: SECOND, body: bodyOf(world) });
  expect(event).toMatchObject({
    id: SECOND,
    status: "PUBLISHED",
    createdAtMs: START_MS,
    publishedAtMs: START_MS,
    killAfter: null,
    organizationId: world.caller.organizationId,
    start: "2026-05-01T20:00:00",
  });
  const partition = world.engine.state.partitionOf(event);
  expect([...partition.state]).toEqual([0, 0]);
  expect(partition.areas.capacity(0)).toBe(0);
  expect(partition.layout).toBe(world.partition.layout);
  expect(partition).not.toBe(world.partition);
});

test("an event is a draft when its body says so or its schema is a draft", () => {
  const world = new World(HALL);
  const { schemaId } = world;
  const draft = world.must("createSchema", world.caller, {
    body: { name: "Draft", venueId: world.venueId, draft: true },
  }).id;
  const cases: [number, EventStatus | undefined, EventStatus][] = [
    [schemaId, undefined, "PUBLISHED"],
    [schemaId, "PUBLISHED", "PUBLISHED"],
    [schemaId, "DRAFT", "DRAFT"],
    [draft, undefined, "DRAFT"],
    [draft, "PUBLISHED", "DRAFT"],
    [draft, "DRAFT", "DRAFT"],
  ];
  for (const [i, [id, status, expected]] of cases.entries()) {
    const eventId = SECOND.replace(/1$/, String(i + 2));
    const body = bodyOf(world, { schemaId: id, status });
    const event = world.must("createEvent", world.caller, { eventId, body });
    expect(event.status, `case ${i}`).toBe(expected);
    expect(event.publishedAtMs).toBe(expected === "PUBLISHED" ? START_MS : null);
  }
});

test("an event may not end before it starts; times are compared as times, not as text", () => {
  const world = new World(HALL);
  const refused = {
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "endDate", code: "RANGE" }],
  };
  const start = "2026-05-02T20:00";
  expect(create(world, { start: `${start}:00.5`, endDate: start })).toMatchObject(refused);
  expect(create(world, { start, endDate: "2026-05-02T19:59:59.999" })).toMatchObject(refused);
  expect(update(world, { endDate: "2026-05-01T19:00" })).toMatchObject(refused);
  expect(create(world, { start: `${start}:00.000`, endDate: start }).refused).toBe(Result.OK);
});

test("an event needs a schema of its own organization", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const refused = (schemaId: number) => ({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "schemaId", code: "NOT_FOUND", rejectedValue: schemaId }],
  });
  expect(create(world, { schemaId: 999 })).toMatchObject(refused(999));
  expect(create(world, {}, other)).toMatchObject(refused(world.schemaId));
  expect(update(world, { schemaId: 999 })).toMatchObject(refused(999));
});

test("an event id that is in use is refused", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const body = bodyOf(world, { name: "Late" });
  expect(world.submit("createEvent", caller, { eventId, body })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "id", code: "DUPLICATE", rejectedValue: eventId }],
  });
  expect(world.event.name).toBe("Night");
});

test("an event goes from DRAFT to PUBLISHED to ARCHIVED to DRAFT, and no other way", () => {
  const world = new World(HALL);
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  const { caller, eventId, partition } = world;
  const change = (status: EventStatus) =>
    world.submit("changeEventStatus", caller, { eventId, body: { status } });
  const refused = (...statuses: EventStatus[]) => {
    for (const status of statuses) {
      expect(change(status).refused).toBe(Result.INVALID_STATUS_TRANSITION);
    }
  };
  refused("PUBLISHED", "DRAFT");
  expect(change("ARCHIVED")).toMatchObject({ value: { status: "ARCHIVED" } });
  refused("ARCHIVED", "PUBLISHED");
  expect(change("DRAFT")).toMatchObject({ value: { publishedAtMs: START_MS } });
  refused("DRAFT", "ARCHIVED");
  world.clock.timeMs += 5;
  expect(change("PUBLISHED")).toMatchObject({ value: { publishedAtMs: START_MS + 5 } });
  expect(world.partition).toBe(partition);
});

test("an event is published only once its schema is no draft", () => {
  const world = new World(HALL);
  const { caller, eventId, schemaId, venueId } = world;
  const setDraft = (draft: boolean) =>
    world.must("updateSchema", caller, { body: { id: schemaId, name: "Plan", venueId, draft } });
  const publish = () =>
    world.submit("changeEventStatus", caller, { eventId, body: { status: "PUBLISHED" } });
  checkMore(world, "status  ARCHIVED\nstatus  DRAFT");
  setDraft(true);
  expect(publish().refused).toBe(Result.INVALID_STATUS_TRANSITION);
  setDraft(false);
  expect(publish().refused).toBe(Result.OK);
});

test("a published event does not move to a draft schema; a draft event does", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  const { id: schemaId } = world.must("createSchema", caller, {
    body: { name: "Draft", venueId, draft: true },
  });
  expect(update(world, { schemaId }).refused).toBe(Result.INVALID_STATUS_TRANSITION);
  checkMore(world, "status  ARCHIVED\nstatus  DRAFT");
  expect(update(world, { schemaId }).refused).toBe(Result.OK);
});

test("an update changes the name and the times, and nothing else", () => {
  const world = new World(HALL);
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  const { partition, event } = world;
  const more = { name: "Matinee", start: "2026-05-01T14:00", endDate: "2026-05-01T14:00:00.0" };
  expect(update(world, { ...more, status: "DRAFT" }).refused).toBe(Result.OK);
  expect(world.event).toEqual({
    ...event,
    name: "Matinee",
    start: "2026-05-01T14:00:00",
    endDate: "2026-05-01T14:00:00",
  });
  expect(world.partition).toBe(partition);
  expectConsistent(world);
});

test("an update keeps killAfter when it is not sent or null", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const change = (rest: { killAfter?: string | null }) =>
    world.must("updateEvent", caller, { eventId, body: bodyOf(world), force: false, ...rest })
      .killAfter;
  expect(change({})).toBeNull();
  expect(change({ killAfter: "2026-05-02T00:00" })).toBe("2026-05-02T00:00:00");
  expect(change({})).toBe("2026-05-02T00:00:00");
  expect(change({ killAfter: null })).toBe("2026-05-02T00:00:00");
});

test("an event that moves to another schema keeps its prices, but they are not assigned", () => {
  const world = new World(HALL);
  world.book("block", world.selection(null, "A1", "Pit:1"));
  const schemaId = secondSchema(world);
  expect(update(world, { schemaId }, true)).toMatchObject({
    refused: Result.OK,
    value: { schemaId },
  });
  expect([...world.partition.state]).toEqual(Array(3).fill(SeatState.UNPRICED));
  expect(world.partition.areas.count).toBe(0);
  expect([...world.engine.state.catalog.pricesOf(world.eventId).values()]).toMatchObject([
    { id: world.priceId },
  ]);
  expectConsistent(world);
});

test.each([
  "lock  A  A1",
  "lock  A  Pit:1",
  "directsale  -  A1",
  "directsale  -  Pit:1",
  "block  -  A1",
  "block  -  Pit:1",
])("after %s an event moves to another schema only by force", (booking) => {
  const world = new World(HALL);
  const schemaId = secondSchema(world);
  checkMore(world, `${booking}  ok`);
  expect(update(world, { schemaId }).refused).toBe(Result.INVENTORY_IN_USE);
  expect(update(world, { name: "Other" }).refused).toBe(Result.OK);
  expect(update(world, { schemaId }, true).refused).toBe(Result.OK);
  expect([world.partition.layout.seatCount, world.partition.holds.count]).toEqual([3, 0]);
  expectConsistent(world);
});

test("an event whose holds have expired moves without force", () => {
  const world = new World(HALL);
  checkMore(
    world,
    `
    lock    A  A1             ok
    wait    15m
    `,
  );
  expect(update(world, { schemaId: secondSchema(world) }).refused).toBe(Result.OK);
});

test("a deleted event takes its prices with it, even when seats are held or sold", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const kept = world.createEvent();
  world.createPrice("Kept", kept);
  world.createPrice("Deleted");
  checkMore(
    world,
    `
    lock        A  A1 Pit:1   ok
    directsale  -  A2         ok
    `,
  );
  world.must("deleteEvent", caller, { eventId });
  const { catalog, partitions } = world.engine.state;
  expect([...catalog.events.keys()]).toEqual([kept]);
  expect([...catalog.prices.values()].map(({ name }) => name)).toEqual(["Kept"]);
  expect(partitions.size).toBe(1);
  expectConsistent(world);
});

test("sales are protected → an event with held or sold inventory goes only by force", () => {
  const world = new World(HALL);
  const { caller } = world;
  const remove = (eventId: string, force?: boolean) =>
    world.submit("deleteEvent", caller, { eventId, force }).refused;
  world.change({ protectSales: true });
  const empty = world.createEvent();
  expect(remove(empty)).toBe(Result.OK);
  const { eventId } = world;
  checkMore(world, `block  -  A1  ok\nlock  A  Pit:1  ok`);
  expect([remove(eventId), remove(eventId, false)]).toEqual([
    Result.INVENTORY_IN_USE,
    Result.INVENTORY_IN_USE,
  ]);
  checkMore(world, `unlock  A  Pit:1  ok\ndirectsale  -  A2  ok`);
  expect(remove(eventId)).toBe(Result.INVENTORY_IN_USE);
  expect(remove(eventId, true)).toBe(Result.OK);
});

test("sales are protected, a hold has run out → the event goes", () => {
  const world = new World(HALL);
  world.change({ protectSales: true });
  checkMore(world, `lock  A  A1  ok\nwait  15m`);
  world.must("deleteEvent", world.caller, { eventId: world.eventId });
});

// Copies of events.

test("an event is cloned → prices, capacities and blocked inventory; the rest is on sale", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 9), area("Bar", 3)]);
  const { caller, eventId } = world;
  const gold = world.createPrice("Gold");
  const assigned = { objectId: world.labels.idOf("A5"), assignmentId: gold };
  world.must("assignPrices", caller, { eventId, body: { seats: [assigned] } });
  const rest = { seats: [{ objectId: world.labels.idOf("A4") }] };
  world.must("unassignPrices", caller, { eventId, body: rest });
  checkMore(world, `block  -  A1 Pit:4  ok\nlock  A  A2 Pit:1  ok\ndirectsale  -  A3 Bar:3  ok`);
  const before = world.engine.sequence;
  const clone = world.must("cloneEvent", caller, { eventId, cloneId: SECOND, body: {} });
  const { start, endDate, name, schemaId } = world.event;
  expect(clone).toMatchObject({ start, endDate, name, schemaId, status: "DRAFT" });
  expect(world.engine.sequence).toBe(before + 3);
  const { state } = world.engine;
  const copy = state.partitionOf(clone);
  expect([...copy.state]).toEqual([5, 2, 2, 0, 2]);
  expect([...copy.price]).toEqual([...world.partition.price]);
  const states = [2, 3, 4, 5] as const;
  const places = (of: number) => states.map((one) => copy.areas.places(of, one));
  expect([places(0), places(1)]).toEqual([
    [5, 0, 0, 4],
    [3, 0, 0, 0],
  ]);
  const names = [...state.catalog.pricesOf(SECOND).values()].map(({ slot, name: of }) => [
    slot,
    of,
  ]);
  expect(names).toEqual(
    [...state.catalog.pricesOf(eventId).values()].map(({ slot, name: of }) => [slot, of]),
  );
  expectConsistent(world);
});

test("a clone says what is different; a bad end or an unknown event is refused", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const clone = (body: EventCopy, from = eventId) =>
    world.submit("cloneEvent", caller, { eventId: from, cloneId: SECOND, body });
  expect(clone({ start: "2031-01-01T00:00" })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "endDate", code: "RANGE" }],
  });
  expect(clone({}, SECOND).refused).toBe(Result.ENTITY_NOT_FOUND);
  const times = { start: "2031-01-01T20:00", endDate: "2031-01-01T21:00" };
  const made = clone({ name: "Next", ...times, status: "PUBLISHED" });
  expect(made).toMatchObject({ value: { name: "Next", status: "PUBLISHED", seriesId: null } });
});

test("the log has no room for all of a clone → nothing of it is there", () => {
  const world = new World(HALL);
  const { caller, eventId, journal } = world;
  checkMore(world, `block  -  A1  ok`);
  const { sequence } = world.engine;
  journal.takes = (record) =>
    record.type === RecordType.MOVE ? Admission.UNAVAILABLE : Admission.OPEN;
  const refused = world.submit("cloneEvent", caller, { eventId, cloneId: SECOND, body: {} });
  expect(refused.refused).toBe(Result.LOG_UNAVAILABLE);
  expect([world.engine.sequence, world.engine.state.catalog.events.size]).toEqual([sequence, 1]);
  expectConsistent(world);
});

// Series: the start of an event in a series does not move.

/** A world whose event is in a series. */
class Ring extends World {
  readonly seriesId = this.must("createSeries", this.caller, { body: { name: "Ring" } }).id;

  constructor() {
    super([section("Stalls", { A: "1 2" })]);
    expect(this.bind(this.seriesId)).toMatchObject({ value: { seriesId: this.seriesId } });
  }

  bind(seriesId: number | null, by: Caller = this.caller) {
    return this.submit("bindEvent", by, { eventId: this.eventId, body: { seriesId } });
  }

  /** Moves the start of the event. */
  move(start: string): Result {
    const { eventId, schemaId } = this;
    const body = { name: "Night", start, endDate: "2026-05-01T23:00", schemaId };
    return this.submit("updateEvent", this.caller, { eventId, body, force: true }).refused;
  }
}

test("an event in a series may not move, but may be sent with the same start", () => {
  const world = new Ring();
  expect(world.move("2026-05-01T20:00:00.5")).toBe(Result.EVENT_BOUND_TO_SERIES);
  expect(world.move("2026-05-01T20:00:00.000")).toBe(Result.OK);
  expectConsistent(world);
});

test("an event that left its series may move", () => {
  const world = new Ring();
  expect(world.bind(null)).toMatchObject({ value: { seriesId: null } });
  expect(world.move("2026-05-01T19:00")).toBe(Result.OK);
});

test("a deleted series leaves its events, which may move again", () => {
  const world = new Ring();
  const { partition, seriesId } = world;
  world.must("deleteSeries", world.caller, { seriesId });
  expect(world.event.seriesId).toBeNull();
  expect(world.partition).toBe(partition);
  expect(world.move("2026-05-01T19:00")).toBe(Result.OK);
  expectConsistent(world);
});

test("an event joins only a series of its own organization", () => {
  const world = new Ring();
  const other = world.createOrganization(world.tenant, "Other");
  const { id: others } = world.must("createSeries", other, { body: { name: "Ring" } });
  const { seriesId } = world;
  expect(world.bind(seriesId, other)).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "seriesId", code: "NOT_FOUND", rejectedValue: seriesId }],
  });
  expect(world.bind(others).refused).toBe(Result.VALIDATION_FAILED);
  expect(world.bind(999).refused).toBe(Result.VALIDATION_FAILED);
  expect(world.bind(others, other).refused).toBe(Result.ACCESS_DENIED);
});
