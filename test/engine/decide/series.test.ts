/** Series: the start of an event in a series does not move. */
import { expect, test } from "vitest";
import { Result } from "../../../engine/results.ts";
import type { Caller } from "../../../engine/bodies.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { expectConsistent } from "../../support/table.ts";

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
