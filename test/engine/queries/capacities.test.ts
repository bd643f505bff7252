/** The seats and places of a schema: declared at first, then drawn. */
import { expect, test } from "vitest";
import { capacitiesOf } from "../../../engine/queries/summary.ts";
import { World } from "../../support/engine.ts";
import { area, type LayoutPart, section } from "../../support/layout.ts";

const STALLS = section("Stalls", { A: "1 2 3" });
const declared = { seatsCapacity: 300, gaCapacity: 50 };

/** The capacities of a schema with that layout, declared with 300 seats and 50 places. */
function capacities(...parts: readonly LayoutPart[]): unknown {
  const world = new World(parts);
  const { caller, venueId, schemaId } = world;
  const body = { id: schemaId, name: "Plan", venueId, ...declared };
  return capacitiesOf(world.engine.state, world.must("updateSchema", caller, { body }));
}

test("the declared capacities count until a layout is stored", () => {
  const world = new World([STALLS]);
  const body = { name: "Empty", venueId: world.venueId, ...declared };
  const schema = world.must("createSchema", world.caller, { body });
  expect(capacitiesOf(world.engine.state, schema)).toEqual(declared);
});

test("a stored layout counts its seats and areas, whatever an update declares", () => {
  expect(capacities(STALLS)).toEqual({ seatsCapacity: 3, gaCapacity: 0 });
  expect(capacities()).toEqual({ seatsCapacity: 0, gaCapacity: 0 });
  expect(capacities(area("Pit", 10), area("Lawn", 8))).toEqual({
    seatsCapacity: 0,
    gaCapacity: 18,
  });
});

test("the declared places count while an area has no capacity of its own", () => {
  expect(capacities(STALLS, area("Pit", 10), area("Lawn", null))).toEqual({
    seatsCapacity: 3,
    gaCapacity: 50,
  });
});
