/** Pricing zones of a schema, and their assignment to parts of its layout. */
import { expect, test } from "vitest";
import { Result } from "../../../engine/results.ts";
import type { AssignmentSelection } from "../../../engine/bodies.ts";
import { World } from "../../support/engine.ts";
import { area, layoutOf, section, table } from "../../support/layout.ts";
import { expectConsistent } from "../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2", B: "1" }), table("T", "1"), area("Pit", 5)];

/** A world with the zones Gold and Blue. */
class Zoned extends World {
  readonly gold: number;
  readonly blue: number;

  constructor() {
    super(HALL);
    const [gold, blue] = this.createZones("Gold", "Blue");
    this.gold = gold!;
    this.blue = blue!;
  }

  createZones(...names: string[]): number[] {
    const { schemaId } = this;
    const body = names.map((name) => ({ name, schemaId }));
    return this.must("createZones", this.caller, { schemaId, body }).map(({ id }) => id);
  }

  assign(body: AssignmentSelection) {
    return this.submit("assignZones", this.caller, { schemaId: this.schemaId, body });
  }

  item(label: string, assignmentId: number) {
    return { objectId: this.labels.idOf(label), assignmentId };
  }

  /** The labels of the objects with a zone of their own, by the name of the zone. */
  get zones(): Record<string, string[]> {
    const { zones, zoneAssignments } = this.engine.state.catalog;
    const labels: Record<string, string[]> = {};
    for (const { id, zoneId } of zoneAssignments.values()) {
      (labels[zones.get(zoneId)!.name] ??= []).push(this.labels.labelOf(id));
    }
    for (const zone of Object.values(labels)) zone.sort();
    return labels;
  }
}

test("an update renames several zones and keeps their assignments; names may repeat", () => {
  const world = new Zoned();
  const { caller, schemaId, gold, blue } = world;
  world.assign({ groupOfSeats: [world.item("Pit", gold)] });
  const body = [
    { id: blue, name: "Red", schemaId },
    { id: gold, name: "Red", schemaId },
  ];
  expect(world.must("updateZones", caller, { schemaId, body })).toEqual(body);
  expect(world.zones).toEqual({ Red: ["Pit"] });
  expectConsistent(world);
});

test("a zone can be assigned to a section, a table, a row, an area or a seat", () => {
  const world = new Zoned();
  const { gold, blue } = world;
  const groupOfSeats = [
    world.item("Stalls", gold),
    world.item("T", blue),
    world.item("row B", blue),
    world.item("Pit", gold),
  ];
  const { objectId: seatId, assignmentId } = world.item("A2", blue);
  expect(world.assign({ groupOfSeats, seats: [{ seatId, assignmentId }] })).toMatchObject({
    value: true,
  });
  expect(world.zones).toEqual({ Gold: ["Pit", "Stalls"], Blue: ["A2", "T", "row B"] });
  expectConsistent(world);
});

test("assigning a group replaces the zones in it, except those of the same request", () => {
  const world = new Zoned();
  const { gold, blue } = world;
  world.assign({
    groupOfSeats: [world.item("row A", blue), world.item("T", blue)],
    seats: [world.item("A1", gold), world.item("B1", gold), world.item("T1", gold)],
  });
  world.assign({ groupOfSeats: [world.item("row A", gold)] });
  expect(world.zones).toEqual({ Gold: ["B1", "T1", "row A"], Blue: ["T"] });
  world.assign({
    groupOfSeats: [world.item("row B", gold), world.item("Stalls", blue)],
    seats: [world.item("A2", gold)],
  });
  expect(world.zones).toEqual({ Gold: ["A2", "T1"], Blue: ["Stalls", "T"] });
  expectConsistent(world);
});

test("assigning the same zone again writes no record", () => {
  const world = new Zoned();
  const body = { groupOfSeats: [world.item("Stalls", world.gold)] };
  world.assign(body);
  const records = world.journal.kept.length;
  expect(world.assign(body)).toMatchObject({ value: true });
  expect(world.assign({})).toMatchObject({ value: true });
  expect(world.journal.kept.length).toBe(records);
});

test("a refused assignment names every object and zone that the schema does not have", () => {
  const world = new Zoned();
  const { caller, venueId, gold } = world;
  const second = world.must("createSchema", caller, { body: { name: "Two", venueId } }).id;
  const body = [{ name: "Else", schemaId: second }];
  const [elsewhere] = world.must("createZones", caller, { schemaId: second, body });
  expect(
    world.assign({
      groupOfSeats: [world.item("A1", gold), world.item("Pit", elsewhere!.id)],
      seats: [world.item("Pit", gold), world.item("A1", 999)],
    }),
  ).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [
      { field: "groupOfSeats[0].objectId", code: "NOT_FOUND" },
      { field: "groupOfSeats[1].assignmentId", rejectedValue: elsewhere!.id },
      { field: "seats[0].objectId", code: "NOT_FOUND" },
      { field: "seats[1].assignmentId", rejectedValue: 999 },
    ],
  });
  expect(world.assign({ seats: [{}], groupOfSeats: [{}] })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [
      { field: "groupOfSeats[0].objectId" },
      { field: "groupOfSeats[0].assignmentId" },
      { field: "seats[0].seatId" },
      { field: "seats[0].assignmentId" },
    ],
  });
  expect(world.zones).toEqual({});
});

test("a deleted zone takes its assignments with it, and no others", () => {
  const world = new Zoned();
  const { caller, schemaId, gold, blue } = world;
  world.assign({ groupOfSeats: [world.item("Stalls", gold)], seats: [world.item("A1", blue)] });
  world.must("deleteZone", caller, { schemaId, zoneId: gold });
  expect(world.zones).toEqual({ Blue: ["A1"] });
  expect(world.engine.state.catalog.zones.has(gold)).toBe(false);
  expectConsistent(world);
});

test("an object that is removed from the layout loses its zone", () => {
  const world = new Zoned();
  const { gold } = world;
  world.assign({
    groupOfSeats: [world.item("row A", gold), world.item("Pit", gold)],
    seats: [world.item("A1", gold), world.item("B1", gold)],
  });
  const { rows = [], sectors = [] } = layoutOf(...HALL);
  world.putLayout({
    sectors: sectors!.filter(({ name }) => name === "Pit").map(removed),
    rows: rows!.filter(({ rowNumber }) => rowNumber === "A").map(removed),
  });
  expect(world.zones).toEqual({ Gold: ["B1"] });
  expectConsistent(world);
});

function removed<T>(object: T): T & { toRemove: true } {
  return { ...object, toRemove: true };
}

test("a zone of another schema is not found, and an update names a zone only once", () => {
  const world = new Zoned();
  const { caller, venueId, schemaId, gold, blue } = world;
  const second = world.must("createSchema", caller, { body: { name: "Two", venueId } }).id;
  expect(world.submit("deleteZone", caller, { schemaId: second, zoneId: gold }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
  const change = (ids: readonly number[], of: number) => {
    const body = ids.map((id) => ({ id, name: "New", schemaId: of }));
    return world.submit("updateZones", caller, { schemaId, body });
  };
  expect(change([gold, 999], schemaId)).toMatchObject({
    refused: Result.ENTITY_NOT_FOUND,
    errors: [{ field: "[1].id", rejectedValue: 999 }],
  });
  expect(change([gold, blue, gold], schemaId)).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "[2].id", code: "DUPLICATE" }],
  });
  expect(change([gold], second)).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "[0].schemaId", code: "MISMATCH" }],
  });
  const body = [{ name: "New", schemaId: second }];
  expect(world.submit("createZones", caller, { schemaId, body }).refused).toBe(
    Result.VALIDATION_FAILED,
  );
});
