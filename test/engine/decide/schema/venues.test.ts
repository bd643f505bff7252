/** Venues, and the schemas that are drawn for them. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { section } from "../../../support/layout.ts";

const HALL = [section("Stalls", { A: "1" })];

test("a venue is created with what is not given left empty", () => {
  const world = new World(HALL);
  expect(
    world.must("createVenue", world.caller, { body: { name: "Club", lat: 52.5 } }),
  ).toMatchObject({ name: "Club", address: null, lat: 52.5, lng: null, draft: false });
});

test("an update replaces the whole venue and needs its id", () => {
  const world = new World(HALL);
  const { caller, venueId: id } = world;
  const update = (body: { id?: number | null; name: string }) =>
    world.submit("updateVenue", caller, { body });
  for (const body of [{ name: "Hall" }, { id: null, name: "Hall" }]) {
    expect(update(body)).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "id", code: "NOT_NULL" }],
    });
  }
  expect(update({ id, name: "Hall" })).toMatchObject({ value: { id, name: "Hall" } });
  expect(world.engine.state.catalog.venues.get(id)).toMatchObject({ name: "Hall" });
});

test("a venue of nobody is not found, of another organization denied", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { venueId } = world;
  expect(world.submit("deleteVenue", other, { venueId }).refused).toBe(Result.ACCESS_DENIED);
  expect(world.submit("deleteVenue", other, { venueId: 999 }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
  expect(world.submit("updateVenue", other, { body: { id: venueId, name: "X" } }).refused).toBe(
    Result.ACCESS_DENIED,
  );
  expect(world.submit("updateVenue", other, { body: { id: 999, name: "X" } }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
});

test("a venue that has schemas stays, one without goes", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  expect(world.submit("deleteVenue", caller, { venueId }).refused).toBe(Result.ENTITY_IN_USE);
  const empty = world.must("createVenue", caller, { body: { name: "Club" } }).id;
  world.must("deleteVenue", caller, { venueId: empty });
  expect(world.engine.state.catalog.venues.has(empty)).toBe(false);
  expect(world.submit("deleteVenue", caller, { venueId: empty }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
});

test("a schema needs a venue of its own organization", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  for (const [caller, venueId] of [
    [world.caller, 999],
    [other, world.venueId],
  ] as const) {
    const body = { name: "Plan", venueId };
    expect(world.submit("createSchema", caller, { body })).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "venueId", code: "NOT_FOUND", rejectedValue: venueId }],
    });
  }
  const body = { name: "Plan", venueId: world.venueId, gaCapacity: 7, template: true };
  expect(world.must("createSchema", world.caller, { body })).toMatchObject({
    draft: false,
    template: true,
    archived: false,
    gaCapacity: 7,
    seatsCapacity: null,
    organizationId: world.caller.organizationId,
  });
});
