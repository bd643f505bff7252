/** Events that change and go: their times, their schema, their end. */
import { expect, test } from "vitest";
import type { EventBody } from "../../../engine/shapes/bodies.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { Result } from "../../../engine/results.ts";
import { World } from "../../support/engine.ts";
import { area, layoutOf, section } from "../../support/layout.ts";
import { expectWhole } from "../../support/whole.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];
const NOBODY = "00000000-0000-4000-8000-00000000beef";
const TIMES = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };

const update = (world: World, more: Partial<EventBody> = {}, force = false) =>
  world.submit("updateEvent", world.caller, {
    eventId: world.eventId,
    body: { name: "Night", ...TIMES, schemaId: world.schemaId, ...more },
    force,
  });

/** Another schema of the organization, with one row of three seats. */
function secondSchema(world: World): number {
  const { caller, venueId } = world;
  const { id } = world.must("createSchema", caller, { body: { name: "Two", venueId } });
  const body = layoutOf(section("Circle", { C: "1 2 3" }));
  world.must("putLayout", caller, { schemaId: id, body, forceDelete: false });
  return id;
}

test("name and times change, the inventory and the rest stay", () => {
  const world = new World(HALL);
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  const { partition, event } = world;
  const more = { name: "Matinee", start: "2026-05-01T14:00", endDate: "2026-05-01T14:00:00.0" };
  expect(update(world, { ...more, status: "DRAFT" })).toMatchObject({ refused: Result.OK });
  expect(world.event).toEqual({
    ...event,
    name: "Matinee",
    start: "2026-05-01T14:00:00",
    endDate: "2026-05-01T14:00:00",
  });
  expect(world.partition).toBe(partition);
  expectWhole(world);
});

test("without a new moment killAfter stays, with null it goes", () => {
  const world = new World(HALL);
  const { caller, eventId, schemaId } = world;
  const body = { name: "Night", ...TIMES, schemaId };
  const change = (rest: { killAfter?: string | null }) =>
    world.must("updateEvent", caller, { eventId, body, force: false, ...rest }).killAfter;
  expect(change({ killAfter: "2026-05-02T00:00" })).toBe("2026-05-02T00:00:00");
  expect(change({})).toBe("2026-05-02T00:00:00");
  expect(change({ killAfter: null })).toBeNull();
});

test("what is wrong with an update comes before whose event it is", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { eventId, schemaId } = world;
  expect(update(world, { endDate: "2026-05-01T19:00" })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "endDate", code: "RANGE" }],
  });
  expect(update(world, { schemaId: 999 })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "schemaId", code: "NOT_FOUND" }],
  });
  const body = { name: "Night", ...TIMES, schemaId };
  const force = false;
  expect(world.submit("updateEvent", other, { eventId, body, force }).refused).toBe(
    Result.ACCESS_DENIED,
  );
  expect(world.submit("updateEvent", world.caller, { eventId: NOBODY, body, force }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
});

test("another schema lays the inventory anew: prices stay, assigned to nothing", () => {
  const world = new World(HALL);
  world.book("block", world.selection(null, "A1", "Pit:1"));
  const schemaId = secondSchema(world);
  expect(update(world, { schemaId })).toMatchObject({ refused: Result.OK, value: { schemaId } });
  expect([...world.partition.state]).toEqual(Array(3).fill(SeatState.UNPRICED));
  expect(world.partition.areas.count).toBe(0);
  expect([...world.engine.state.catalog.pricesOf(world.eventId).values()]).toMatchObject([
    { id: world.priceId },
  ]);
  expectWhole(world);
});

test.each(["A1", "Pit:1"])("another schema is refused while %s is held or sold", (object) => {
  for (const kind of ["lock", "directsale"] as const) {
    const world = new World(HALL);
    const schemaId = secondSchema(world);
    world.book(kind, world.selection("A", object));
    expect(update(world, { schemaId }).refused).toBe(Result.INVENTORY_IN_USE);
    expect(update(world, { name: "Other" }).refused).toBe(Result.OK);
    expect(update(world, { schemaId }, true).refused).toBe(Result.OK);
    expect(world.partition.holds.count).toBe(0);
    expectWhole(world);
  }
});

test("a hold that has run out is no reason to refuse another schema", () => {
  const world = new World(HALL);
  const schemaId = secondSchema(world);
  world.book("lock", world.selection("A", "A1"));
  world.clock.timeMs += 900_000;
  expect(update(world, { schemaId }).refused).toBe(Result.OK);
});

test("an event goes with its prices, whatever its inventory", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const kept = world.createEvent();
  world.createPrice("Kept", kept);
  world.createPrice("Gone");
  world.book("lock", world.selection("A", "A1"));
  world.book("directsale", world.selection("A", "A2", "Pit:2"));
  world.must("deleteEvent", caller, { eventId });
  const { events, prices } = world.engine.state.catalog;
  expect([...events.keys()]).toEqual([kept]);
  expect([...prices.values()].map(({ name }) => name)).toEqual(["Kept"]);
  expect(world.submit("deleteEvent", caller, { eventId }).refused).toBe(Result.ENTITY_NOT_FOUND);
  expectWhole(world);
});

test("only its owner deletes an event", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { eventId } = world;
  expect(world.submit("deleteEvent", other, { eventId }).refused).toBe(Result.ACCESS_DENIED);
});
