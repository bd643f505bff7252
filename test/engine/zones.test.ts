/** Pricing zones of a schema, and what is in which. */
import { expect, test } from "vitest";
import { checkState } from "../../engine/check.ts";
import type { AssignmentSelection } from "../../engine/commands.ts";
import { Result } from "../../engine/results.ts";
import { World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";

const HALL = [section("Stalls", { A: "1 2", B: "1" }), area("Pit", 5)];

const createZones = (world: World, ...names: string[]): number[] => {
  const { caller, schemaId } = world;
  const body = names.map((name) => ({ name, schemaId }));
  return world.must("createZones", caller, { schemaId, body }).map(({ id }) => id);
};

const assign = (world: World, body: AssignmentSelection) =>
  world.submit("assignZones", world.caller, { schemaId: world.schemaId, body });

/** Zone ids by label of what has one. */
const assigned = (world: World): Record<string, number> =>
  Object.fromEntries(
    [...world.engine.state.catalog.zoneAssignments.values()].map(({ id, zoneId }) => [
      world.labels.labelOf(id),
      zoneId,
    ]),
  );

test("zones belong to the schema of the path, and are renamed all or none", () => {
  const world = new World(HALL);
  const { caller, schemaId } = world;
  const [gold, tin] = createZones(world, "Gold", "Tin");
  const update = (...body: { id: number; name: string; schemaId: number }[]) =>
    world.submit("updateZones", caller, { schemaId, body });
  expect(
    update({ id: gold!, name: "X", schemaId }, { id: 999, name: "Y", schemaId }),
  ).toMatchObject({ refused: Result.ENTITY_NOT_FOUND, errors: [{ field: "[1].id" }] });
  expect(update({ id: gold!, name: "X", schemaId: 999 })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "[0].schemaId" }],
  });
  const same = { id: tin!, name: "Y", schemaId };
  expect(update(same, same).refused).toBe(Result.VALIDATION_FAILED);
  expect(update({ id: tin!, name: "Silver", schemaId }).refused).toBe(Result.OK);
  const names = [...world.engine.state.catalog.zones.values()].map(({ name }) => name);
  expect(names).toEqual(["Gold", "Silver"]);
  const wrong = [{ name: "Z", schemaId: 999 }];
  expect(world.submit("createZones", caller, { schemaId, body: wrong }).refused).toBe(
    Result.VALIDATION_FAILED,
  );
});

test("a group that is assigned takes what is in it along; groups go first, then seats", () => {
  const world = new World(HALL);
  const [gold, tin] = createZones(world, "Gold", "Tin");
  const item = (label: string, assignmentId: number) => ({
    objectId: world.labels.idOf(label),
    assignmentId,
  });
  assign(world, { seats: [item("A1", tin!)], groupOfSeats: [item("row A", gold!)] });
  expect(assigned(world)).toEqual({ "row A": gold, A1: tin });
  assign(world, { groupOfSeats: [item("Stalls", tin!), item("Pit", gold!)] });
  expect(assigned(world)).toEqual({ Stalls: tin, Pit: gold });
  const { length } = world.journal.kept;
  expect(assign(world, { groupOfSeats: [item("Pit", gold!)] })).toMatchObject({ value: true });
  expect(world.journal.kept.length).toBe(length);
  checkState(world.engine.state);
});

test("an assignment that cannot be is refused with the fields that are wrong", () => {
  const world = new World(HALL);
  const [assignmentId] = createZones(world, "Gold");
  const objectId = world.labels.idOf("A1");
  const cases: [AssignmentSelection, string[]][] = [
    [{ seats: [{}] }, ["seats[0].seatId", "seats[0].assignmentId"]],
    [{ seats: [{ objectId, assignmentId: 999 }] }, ["seats[0].assignmentId"]],
    [{ seats: [{ objectId: 999, assignmentId }] }, ["seats[0].objectId"]],
    [{ groupOfSeats: [{ objectId, assignmentId }] }, ["groupOfSeats[0].objectId"]],
  ];
  for (const [body, fields] of cases) {
    const outcome = assign(world, body);
    expect(outcome.refused).toBe(Result.VALIDATION_FAILED);
    expect("errors" in outcome && outcome.errors.map(({ field }) => field)).toEqual(fields);
  }
  expect(assigned(world)).toEqual({});
});

test("a zone goes with its assignments, an object that goes leaves its zone", () => {
  const world = new World(HALL);
  const { caller, schemaId } = world;
  const [gold, tin] = createZones(world, "Gold", "Tin");
  const seats = [
    { objectId: world.labels.idOf("A1"), assignmentId: gold },
    { objectId: world.labels.idOf("A2"), assignmentId: tin },
    { objectId: world.labels.idOf("B1"), assignmentId: gold },
  ];
  assign(world, { seats });
  world.putLayout({ seats: [{ guid: "B1", rowGuid: "row B", name: "1", toRemove: true }] });
  expect(assigned(world)).toEqual({ A1: gold, A2: tin });
  world.must("deleteZone", caller, { schemaId, zoneId: gold! });
  expect(assigned(world)).toEqual({ A2: tin });
  expect(world.submit("deleteZone", caller, { schemaId, zoneId: gold! }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
  checkState(world.engine.state);
});

test("zones of another organization's schema cannot be touched", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { schemaId } = world;
  const [zoneId] = createZones(world, "Gold");
  const named = [{ id: zoneId!, name: "X", schemaId }];
  const refusals = [
    world.submit("createZones", other, { schemaId, body: named }),
    world.submit("updateZones", other, { schemaId, body: named }),
    world.submit("deleteZone", other, { schemaId, zoneId: zoneId! }),
    world.submit("assignZones", other, { schemaId, body: {} }),
  ];
  expect(refusals.map(({ refused }) => refused)).toEqual(refusals.map(() => Result.ACCESS_DENIED));
});
