/** Schemas that change, go, and are cloned. */
import { expect, test } from "vitest";
import { buildLayout } from "../../../../engine/layout/layout.ts";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { area, labelsOf, layoutOf, section, table } from "../../../support/layout.ts";
import { expectWhole } from "../../../support/whole.ts";

const HALL = [section("Stalls", { A: "1 2" }), table("T", "1 2"), area("Pit", 5)];
const CLONE = "00000000-0000-4000-8000-0000000000c1";

test("what is sent replaces the schema, its layout stays", () => {
  const world = new World(HALL);
  const { caller, venueId, schemaId } = world;
  const { layout } = world.partition;
  world.clock.timeMs += 5;
  const body = { id: schemaId, name: "New", venueId, archived: true, thumbnail: { a: 1 } };
  expect(world.must("updateSchema", caller, { body })).toMatchObject({
    id: schemaId,
    name: "New",
    archived: true,
    draft: false,
    gaCapacity: null,
    thumbnail: { a: 1 },
    updatedAtMs: world.clock.timeMs,
  });
  expect(world.partition.layout).toBe(layout);
  expectWhole(world);
});

test("an update of a schema needs an id and a venue of the organization", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const foreign = world.must("createVenue", other, { body: { name: "Foreign" } }).id;
  const { caller, venueId, schemaId } = world;
  const cases = [
    [caller, { name: "N", venueId }, Result.VALIDATION_FAILED],
    [caller, { id: schemaId, name: "N", venueId: foreign }, Result.VALIDATION_FAILED],
    [caller, { id: 999, name: "N", venueId }, Result.ENTITY_NOT_FOUND],
    [other, { id: schemaId, name: "N", venueId: foreign }, Result.ACCESS_DENIED],
  ] as const;
  for (const [by, body, expected] of cases) {
    expect(world.submit("updateSchema", by, { body }).refused).toBe(expected);
  }
});

/** Zones Gold on the section and the seat A2, Blue on the area. */
function zone(world: World): void {
  const { caller, schemaId, labels } = world;
  const body = ["Gold", "Blue"].map((name) => ({ name, schemaId }));
  const [gold, blue] = world.must("createZones", caller, { schemaId, body });
  const item = (label: string, assignmentId: number) => ({
    objectId: labels.idOf(label),
    assignmentId,
  });
  world.must("assignZones", caller, {
    schemaId,
    body: {
      groupOfSeats: [item("Stalls", gold!.id), item("Pit", blue!.id)],
      seats: [item("A2", gold!.id)],
    },
  });
}

test("a schema goes with its layout and zones; its events stay, without a seat", () => {
  const world = new World(HALL);
  zone(world);
  const { caller, schemaId, eventId, priceId } = world;
  world.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  world.book("block", world.selection(null, "A1", "Pit:1"));
  world.must("deleteSchema", caller, { schemaId });
  const { catalog, layouts } = world.engine.state;
  expect([catalog.schemas.size, catalog.layouts.size, layouts.size]).toEqual([1, 1, 1]);
  expect([catalog.zones.size, catalog.zoneAssignments.size, catalog.clones.size]).toEqual([
    2, 3, 1,
  ]);
  expect(world.partition.layout.seatCount + world.partition.areas.count).toBe(0);
  expect(world.event).toMatchObject({ id: eventId, schemaId });
  expect(catalog.prices.has(priceId)).toBe(true);
  expectWhole(world);

  // The event may be renamed, and finds a new schema.
  const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
  const body = { name: "Renamed", schemaId, ...times };
  world.must("updateEvent", caller, { eventId, body, force: false });
  const copy = catalog.clones.get(CLONE)!.schemaId;
  const moved = { ...body, schemaId: copy };
  world.must("updateEvent", caller, { eventId, body: moved, force: false });
  expect(world.partition.layout.seatCount).toBe(4);
  world.must("deleteEvent", caller, { eventId });
  world.must("deleteSchema", caller, { schemaId: copy });
  expect([catalog.zones.size, catalog.zoneAssignments.size, catalog.clones.size]).toEqual([
    0, 0, 0,
  ]);
  expectWhole(world);
});

test.each(["A1", "Pit:1"])("a schema stays while %s is held or sold in an event", (object) => {
  for (const kind of ["lock", "directsale"] as const) {
    const world = new World(HALL);
    const { caller, schemaId } = world;
    world.book(kind, world.selection("A", object));
    const refused = world.submit("deleteSchema", caller, { schemaId });
    expect(refused).toMatchObject({ refused: Result.INVENTORY_IN_USE });
    world.clock.timeMs += 900_000;
    expect(world.submit("deleteSchema", caller, { schemaId }).refused).toBe(
      kind === "lock" ? Result.OK : Result.INVENTORY_IN_USE,
    );
    expectWhole(world);
  }
});

test("a schema that is nowhere, or another's, neither goes nor is cloned", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  for (const [by, schemaId, expected] of [
    [world.caller, 999, Result.ENTITY_NOT_FOUND],
    [other, world.schemaId, Result.ACCESS_DENIED],
  ] as const) {
    expect(world.submit("deleteSchema", by, { schemaId }).refused).toBe(expected);
    expect(world.submit("cloneSchema", by, { schemaId, cloneId: CLONE }).refused).toBe(expected);
  }
});

test("a clone has every field, a layout of the same labels and new ids, and its own zones", () => {
  const world = new World(HALL);
  zone(world);
  const { caller, schemaId, venueId } = world;
  const more = { description: "D", template: true, externalId: "x", gaCapacity: 9 };
  world.must("updateSchema", caller, { body: { id: schemaId, name: "Plan", venueId, ...more } });
  const clone = world.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  const { catalog } = world.engine.state;
  const [source, copy] = [catalog.schemas.get(schemaId)!, catalog.schemas.get(clone.schemaId)!];
  expect(copy).toEqual({ ...source, id: clone.schemaId, name: "Plan (copy)" });
  expect(catalog.clones.get(CLONE)).toEqual(clone);

  const documents = [schemaId, copy.id].map((id) => catalog.layouts.get(id)!.document);
  const [old, made] = [labelsOf(documents[0]!), labelsOf(documents[1]!)];
  expect(made.seats).toEqual(old.seats);
  const oldIds = new Set(old.seats.map((label) => old.idOf(label)));
  expect(made.seats.some((label) => oldIds.has(made.idOf(label)))).toBe(false);
  const names = documents.map((document) => buildLayout(document).seatNames);
  expect(names[1]).toEqual(names[0]);

  const zoned = [...catalog.zoneAssignments.values()]
    .filter((row) => row.schemaId === copy.id)
    .map(({ id, zoneId }) => {
      const { name, schemaId: of } = catalog.zones.get(zoneId)!;
      return [made.labelOf(id), `${name} of ${of}`];
    });
  expect(Object.fromEntries(zoned)).toEqual({
    A2: `Gold of ${copy.id}`,
    Pit: `Blue of ${copy.id}`,
    Stalls: `Gold of ${copy.id}`,
  });
  expectWhole(world);
});

test("what happens to a clone does not happen to its source", () => {
  const world = new World(HALL);
  const { caller, schemaId } = world;
  const copy = world.must("cloneSchema", caller, { schemaId, cloneId: CLONE }).schemaId;
  const { rows = [] } = layoutOf(...HALL);
  const body = { rows: rows!.slice(0, 1).map((row) => ({ ...row, toRemove: true })) };
  world.must("putLayout", caller, { schemaId: copy, body, forceDelete: false });
  expect(world.partition.layout.seatCount).toBe(4);
  expect(world.engine.state.layoutOf(copy).seatCount).toBe(2);
  expectWhole(world);
});

test("a schema without a layout is cloned too, and a long name is cut by characters", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  const name = "🎭".repeat(255);
  const { id: schemaId } = world.must("createSchema", caller, { body: { name, venueId } });
  const copy = world.must("cloneSchema", caller, { schemaId, cloneId: CLONE }).schemaId;
  expect(world.engine.state.catalog.schemas.get(copy)!.name).toBe(name);
  expectWhole(world);
});
