/** Series: what is in one keeps its start. */
import { expect, test } from "vitest";
import { Result } from "../../../engine/results.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { expectWhole } from "../../support/whole.ts";

const HALL = [section("Stalls", { A: "1 2" })];
const NOBODY = "00000000-0000-4000-8000-00000000beef";

function bound(): { world: World; seriesId: number } {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const { id: seriesId } = world.must("createSeries", caller, { body: { name: "Ring" } });
  expect(world.must("bindEvent", caller, { eventId, body: { seriesId } }).seriesId).toBe(seriesId);
  return { world, seriesId };
}

function move(world: World, start: string) {
  const body = { name: "Night", start, endDate: "2026-05-01T23:00", schemaId: world.schemaId };
  return world.submit("updateEvent", world.caller, { eventId: world.eventId, body, force: true });
}

test("the start of an event in a series does not move, the same moment is no move", () => {
  const { world } = bound();
  expect(move(world, "2026-05-01T20:00:00.5").refused).toBe(Result.EVENT_BOUND_TO_SERIES);
  expect(move(world, "2026-05-01T20:00:00.000").refused).toBe(Result.OK);
  expectWhole(world);
});

test("an event that is taken out of its series is free to move", () => {
  const { world } = bound();
  const { caller, eventId } = world;
  world.must("bindEvent", caller, { eventId, body: { seriesId: null } });
  expect(move(world, "2026-05-01T19:00").refused).toBe(Result.OK);
});

test("a series that goes leaves its events, which are free again", () => {
  const { world, seriesId } = bound();
  world.must("deleteSeries", world.caller, { seriesId });
  expect(world.event.seriesId).toBeNull();
  expect(move(world, "2026-05-01T19:00").refused).toBe(Result.OK);
  expectWhole(world);
});

test("a series binds only events of its own organization", () => {
  const { world, seriesId } = bound();
  const other = world.createOrganization(world.tenant, "Other");
  const { caller, eventId } = world;
  const bind = (by: typeof caller, to: string, of: number | null) =>
    world.submit("bindEvent", by, { eventId: to, body: { seriesId: of } });
  expect(bind(other, eventId, seriesId)).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "seriesId", code: "NOT_FOUND", rejectedValue: seriesId }],
  });
  expect(bind(caller, eventId, 999).refused).toBe(Result.VALIDATION_FAILED);
  expect(bind(other, eventId, null).refused).toBe(Result.ACCESS_DENIED);
  expect(bind(caller, NOBODY, seriesId).refused).toBe(Result.ENTITY_NOT_FOUND);
  expect(world.submit("deleteSeries", other, { seriesId }).refused).toBe(Result.ACCESS_DENIED);
  expect(world.submit("deleteSeries", caller, { seriesId: 999 }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
});
