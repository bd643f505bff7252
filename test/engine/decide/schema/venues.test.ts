/** Venues. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { section } from "../../../support/layout.ts";

const HALL = [section("Stalls", { A: "1" })];

test("members that are not sent for a new venue are null", () => {
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

test("a venue with schemas cannot be deleted, one without can", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  expect(world.submit("deleteVenue", caller, { venueId }).refused).toBe(Result.ENTITY_IN_USE);
  const empty = world.must("createVenue", caller, { body: { name: "Club" } }).id;
  world.must("deleteVenue", caller, { venueId: empty });
  expect(world.engine.state.catalog.venues.has(empty)).toBe(false);
});
