/** Events: created with their partition, published and archived in turn. */
import { expect, test } from "vitest";
import type { EventStatus } from "../../../engine/catalog.ts";
import type { EventBody } from "../../../engine/shapes/bodies.ts";
import type { Caller } from "../../../engine/shapes/caller.ts";
import { Result } from "../../../engine/results.ts";
import { checkState } from "../../../engine/verify/check.ts";
import { digest } from "../../../engine/verify/digest.ts";
import { replayed, START_MS, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { checkMore } from "../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];
const SECOND = "11111111-1111-4111-8111-111111111111";

const bodyOf = (world: World, more: Partial<EventBody> = {}): EventBody => ({
  name: "Late",
  start: "2026-05-02T20:00",
  endDate: "2026-05-02T23:00",
  schemaId: world.schemaId,
  ...more,
});

test("an event begins with its own inventory, nothing priced", () => {
  const world = new World(HALL);
  const event = world.must("createEvent", world.caller, { eventId: SECOND, body: bodyOf(world) });
  expect(event).toMatchObject({
    id: SECOND,
    status: "PUBLISHED",
    createdAtMs: START_MS,
    publishedAtMs: START_MS,
    organizationId: world.caller.organizationId,
    start: "2026-05-02T20:00:00",
  });
  const partition = world.engine.state.partitionOf(event);
  expect([...partition.state]).toEqual([0, 0]);
  expect(partition.areas.capacity(0)).toBe(0);
  expect(partition.layout).toBe(world.partition.layout);
  expect(partition).not.toBe(world.partition);
});

test("an event is a draft when its schema is one, or when it is asked to be", () => {
  const world = new World(HALL);
  const draft = world.must("createSchema", world.caller, {
    body: { name: "Draft", venueId: world.venueId, draft: true },
  });
  const cases: [number, EventStatus | undefined, EventStatus][] = [
    [world.schemaId, undefined, "PUBLISHED"],
    [world.schemaId, "PUBLISHED", "PUBLISHED"],
    [world.schemaId, "DRAFT", "DRAFT"],
    [draft.id, undefined, "DRAFT"],
    [draft.id, "PUBLISHED", "DRAFT"],
    [draft.id, "DRAFT", "DRAFT"],
  ];
  for (const [i, [schemaId, status, expected]] of cases.entries()) {
    const eventId = SECOND.replace(/1$/, String(i + 2));
    const body = bodyOf(world, { schemaId, status });
    const event = world.must("createEvent", world.caller, { eventId, body });
    expect(event.status, `case ${i}`).toBe(expected);
    expect(event.publishedAtMs).toBe(expected === "PUBLISHED" ? START_MS : null);
  }
});

test("the end may be the start, never before it, by the moment and not by the text", () => {
  const world = new World(HALL);
  const create = (start: string, endDate: string) =>
    world.submit("createEvent", world.caller, {
      eventId: SECOND,
      body: bodyOf(world, { start, endDate }),
    });
  expect(create("2026-05-02T20:00:00.5", "2026-05-02T20:00")).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "endDate", code: "RANGE" }],
  });
  expect(create("2026-05-02T20:00", "2026-05-02T19:59:59.999").refused).toBe(
    Result.VALIDATION_FAILED,
  );
  expect(create("2026-05-02T20:00:00.000", "2026-05-02T20:00").refused).toBe(Result.OK);
});

test("an event needs a schema of its own organization", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  for (const [caller, schemaId] of [
    [world.caller, 999],
    [other, world.schemaId],
  ] as const) {
    const body = bodyOf(world, { schemaId });
    expect(world.submit("createEvent", caller, { eventId: SECOND, body })).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "schemaId", rejectedValue: schemaId }],
    });
  }
});

test("an event goes from draft to published to archived to draft, and no other way", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const change = (status: EventStatus) =>
    world.submit("changeEventStatus", caller, { eventId, body: { status } });
  const refused = (status: EventStatus) => {
    expect(change(status).refused).toBe(Result.INVALID_STATUS_TRANSITION);
  };
  refused("PUBLISHED");
  refused("DRAFT");
  expect(change("ARCHIVED")).toMatchObject({ value: { status: "ARCHIVED" } });
  refused("ARCHIVED");
  refused("PUBLISHED");
  expect(change("DRAFT")).toMatchObject({ value: { publishedAtMs: START_MS } });
  refused("DRAFT");
  refused("ARCHIVED");
  world.clock.timeMs += 5;
  expect(change("PUBLISHED")).toMatchObject({ value: { publishedAtMs: START_MS + 5 } });
});

test("a change of status keeps the inventory", () => {
  const world = new World(HALL);
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  const { partition } = world;
  const { caller, eventId } = world;
  world.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
  expect(world.partition).toBe(partition);
});

test("the status of nobody's event is not found, of another's denied", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const body = { status: "ARCHIVED" } as const;
  const { eventId } = world;
  expect(world.submit("changeEventStatus", other, { eventId, body }).refused).toBe(
    Result.ACCESS_DENIED,
  );
  expect(world.submit("changeEventStatus", other, { eventId: SECOND, body }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
});

const update = (world: World, more: Partial<EventBody> & { force?: boolean } = {}) => {
  const { force = false, ...body } = more;
  const { caller, eventId } = world;
  const current = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
  return world.submit("updateEvent", caller, {
    eventId,
    body: bodyOf(world, { ...current, ...body }),
    force,
  });
};

test("an update changes name and times, and nothing that is not its own", () => {
  const world = new World(HALL);
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  const { partition } = world;
  expect(update(world, { name: "Matinee", start: "2026-05-01T15:00" })).toMatchObject({
    value: { name: "Matinee", start: "2026-05-01T15:00:00", status: "PUBLISHED" },
  });
  expect(world.partition).toBe(partition);
  const wrong = update(world, { endDate: "2026-05-01T19:00" });
  expect(wrong).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "endDate" }],
  });
});

test("the moment of v1 stays unless it is sent, and null takes it away", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const body = bodyOf(world);
  const send = (killAfter?: string | null) =>
    world.must("updateEvent", caller, {
      eventId,
      body,
      force: false,
      ...(killAfter === undefined ? {} : { killAfter }),
    }).killAfter;
  expect(send()).toBeNull();
  expect(send("2026-05-02T01:00")).toBe("2026-05-02T01:00:00");
  expect(send()).toBe("2026-05-02T01:00:00");
  expect(send(null)).toBeNull();
});

test("another schema is refused while something is held or sold, unless it is forced", () => {
  for (const taking of ["lock  A  A1", "directsale  -  Pit:1"]) {
    const world = new World(HALL);
    const schemaId = emptySchema(world);
    checkMore(world, `${taking}  ok`);
    expect(update(world, { schemaId }).refused, taking).toBe(Result.INVENTORY_IN_USE);
    expect(world.partition.layout.seatCount).toBe(2);
    expect(update(world, { schemaId, force: true }).refused).toBe(Result.OK);
    expect([world.partition.layout.seatCount, world.partition.holds.count]).toEqual([0, 0]);
    checkState(world.engine.state);
    expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
  }
});

test("another schema needs no force when all is on sale, blocked, or its hold ran out", () => {
  const world = new World(HALL);
  checkMore(
    world,
    `
    block   -  A2 Pit:1       ok
    lock    A  A1             ok
    wait    15m
    `,
  );
  expect(update(world, { schemaId: emptySchema(world) }).refused).toBe(Result.OK);
  checkState(world.engine.state);
});

test("an update of nobody's event, of another's, to another's schema", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { eventId, caller } = world;
  const send = (who: Caller, id: string, schemaId = world.schemaId) =>
    world.submit("updateEvent", who, {
      eventId: id,
      force: true,
      body: bodyOf(world, { schemaId }),
    }).refused;
  expect(send(other, eventId)).toBe(Result.ACCESS_DENIED);
  expect(send(caller, SECOND)).toBe(Result.ENTITY_NOT_FOUND);
  expect(send(caller, eventId, 999)).toBe(Result.VALIDATION_FAILED);
  const remove = (who: Caller, id: string) => world.submit("deleteEvent", who, { eventId: id });
  expect(remove(other, eventId).refused).toBe(Result.ACCESS_DENIED);
  expect(remove(caller, SECOND).refused).toBe(Result.ENTITY_NOT_FOUND);
});

test("an event goes whatever its inventory, with its prices and no others", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  const late = world.createEvent();
  const kept = world.createPrice("Late", late);
  checkMore(
    world,
    `
    lock        A  A1 Pit:1   ok
    directsale  -  A2         ok
    `,
  );
  world.must("deleteEvent", caller, { eventId });
  const { state } = world.engine;
  expect([...state.catalog.events.keys()]).toEqual([late]);
  expect([state.catalog.prices.has(priceId), state.catalog.prices.has(kept)]).toEqual([
    false,
    true,
  ]);
  expect(state.partitions.size).toBe(1);
  checkState(state);
  expect(digest(replayed(world.journal))).toBe(digest(state));
  expect(world.book("lock", { seats: [{ id: 1 }] }).refused).toBe(Result.EVENT_ACCESS_DENIED);
});

test("while an event is in a series its start does not move", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const series = world.must("createSeries", caller, { body: { name: "Ring" } });
  const bind = (seriesId: number | null) =>
    world.submit("bindEvent", caller, { eventId, body: { seriesId } });
  expect(bind(series.id)).toMatchObject({ value: { seriesId: series.id } });
  expect(update(world, { start: "2026-05-01T19:00" }).refused).toBe(Result.EVENT_BOUND_TO_SERIES);
  expect(update(world, { start: "2026-05-01T20:00:00.000", name: "Other" }).refused).toBe(
    Result.OK,
  );
  expect(bind(null)).toMatchObject({ value: { seriesId: null } });
  expect(update(world, { start: "2026-05-01T19:00" }).refused).toBe(Result.OK);
});

test("a series that goes frees its events; one's own events join one's own series only", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { caller, eventId } = world;
  const { id: seriesId } = world.must("createSeries", caller, { body: { name: "Ring" } });
  const { id: anothers } = world.must("createSeries", other, { body: { name: "Ring" } });
  const bind = (who: Caller, event: string, series: number) =>
    world.submit("bindEvent", who, { eventId: event, body: { seriesId: series } }).refused;
  expect(bind(caller, eventId, anothers)).toBe(Result.VALIDATION_FAILED);
  expect(bind(caller, eventId, 999)).toBe(Result.VALIDATION_FAILED);
  expect(bind(other, eventId, anothers)).toBe(Result.ACCESS_DENIED);
  expect(bind(caller, SECOND, seriesId)).toBe(Result.ENTITY_NOT_FOUND);
  expect(bind(caller, eventId, seriesId)).toBe(Result.OK);
  const { partition } = world;
  const remove = (who: Caller, series: number) =>
    world.submit("deleteSeries", who, { seriesId: series }).refused;
  expect(remove(other, seriesId)).toBe(Result.ACCESS_DENIED);
  expect(remove(caller, 999)).toBe(Result.ENTITY_NOT_FOUND);
  expect(remove(caller, seriesId)).toBe(Result.OK);
  expect(world.event.seriesId).toBeNull();
  expect(world.partition).toBe(partition);
  checkState(world.engine.state);
});

function emptySchema(world: World): number {
  const body = { name: "Other", venueId: world.venueId };
  return world.must("createSchema", world.caller, { body }).id;
}

test("the id of an event is given to no other", () => {
  const world = new World(HALL);
  const eventId = world.event.id;
  const outcome = world.submit("createEvent", world.caller, { eventId, body: bodyOf(world) });
  expect(outcome).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "id", code: "DUPLICATE", rejectedValue: eventId }],
  });
  expect(world.event.name).not.toBe("Late");
});
