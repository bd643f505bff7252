/** Schemas: updated, deleted with everything in them, and cloned. */
import { expect, test } from "vitest";
import { THUMBNAIL_BYTES_MAX } from "../../../../engine/constants.ts";
import { buildLayout } from "../../../../engine/layout/layout.ts";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { area, guidOf, labelsOf, layoutOf, section, table } from "../../../support/layout.ts";
import { checkMore, expectConsistent } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2" }), table("T", "1 2"), area("Pit", 5)];
const CLONE = "00000000-0000-4000-8000-0000000000c1";

/** A world with the zones Gold, on the section and seat A2, and Blue, on the area. */
class Zoned extends World {
  constructor() {
    super(HALL);
    const { caller, schemaId, labels } = this;
    const zones = ["Gold", "Blue"].map((name) => ({ name, schemaId }));
    const [gold, blue] = this.must("createZones", caller, { schemaId, body: zones });
    const item = (label: string, { id }: { id: number }) => ({
      objectId: labels.idOf(label),
      assignmentId: id,
    });
    const groupOfSeats = [item("Stalls", gold!), item("Pit", blue!)];
    const body = { groupOfSeats, seats: [item("A2", gold!)] };
    this.must("assignZones", caller, { schemaId, body });
  }
}

/** @returns The id of the copy. */
function clone(world: World, schemaId = world.schemaId): number {
  return world.must("cloneSchema", world.caller, { schemaId, cloneId: CLONE }).schemaId;
}

test("a thumbnail takes up to 256 KiB as JSON, whoever sends it", () => {
  const world = new World(HALL);
  const { caller, venueId, schemaId: id } = world;
  const body = (bytes: number) => ({ name: "P", venueId, thumbnail: "é".repeat((bytes - 2) / 2) });
  const fits = body(THUMBNAIL_BYTES_MAX);
  const tooLong = body(THUMBNAIL_BYTES_MAX + 2);
  const invalid = {
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "thumbnail", code: "SIZE", rejectedValue: THUMBNAIL_BYTES_MAX + 2 }],
  };
  expect(world.submit("createSchema", caller, { body: tooLong })).toMatchObject(invalid);
  expect(world.submit("updateSchema", caller, { body: { ...tooLong, id } })).toMatchObject(invalid);
  expect(world.submit("createSchema", caller, { body: fits }).refused).toBe(Result.OK);
  expect(world.submit("updateSchema", caller, { body: { ...fits, id } }).refused).toBe(Result.OK);
});

test("a schema needs a venue of its own organization", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  for (const [caller, venueId] of [
    [world.caller, 999],
    [other, world.venueId],
  ] as const) {
    const body = { name: "Plan", venueId };
    const refused = {
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "venueId", code: "NOT_FOUND", rejectedValue: venueId }],
    };
    expect(world.submit("createSchema", caller, { body })).toMatchObject(refused);
    const update = { body: { ...body, id: world.schemaId } };
    expect(world.submit("updateSchema", caller, update)).toMatchObject(refused);
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

test("an update replaces the schema and keeps its layout and its events", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  const { caller, venueId, schemaId, partition } = world;
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
  expect(world.partition).toBe(partition);
  expectConsistent(world);
  for (const id of [undefined, null]) {
    const unnamed = { ...body, id } as { name: string; venueId: number };
    expect(world.submit("updateSchema", caller, { body: unnamed })).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "id" }],
    });
  }
});

test("a new layout counts as an update of its schema", () => {
  const world = new World(HALL);
  world.clock.timeMs += 5;
  world.putLayout({ seats: [{ guid: guidOf("A4"), rowGuid: guidOf("row A"), name: "4" }] });
  const schema = world.engine.state.catalog.schemas.get(world.schemaId)!;
  expect(schema.updatedAtMs).toBe(world.clock.timeMs);
});

test("a deleted schema takes its layout and zones with it; its events stay without seats", () => {
  const world = new Zoned();
  const { caller, schemaId, eventId, priceId } = world;
  const copy = clone(world);
  world.book("block", world.selection(null, "A1", "Pit:1"));
  world.must("deleteSchema", caller, { schemaId });
  const { catalog, layouts } = world.engine.state;
  const { zones, zoneAssignments, clones } = catalog;
  const left = () => [zones.size, zoneAssignments.size, clones.size];
  expect([catalog.schemas.size, catalog.layouts.size, layouts.size]).toEqual([1, 1, 1]);
  expect(left()).toEqual([2, 3, 1]);
  expect(world.partition.layout.seatCount + world.partition.areas.count).toBe(0);
  expect(world.event).toMatchObject({ id: eventId, schemaId });
  expect(catalog.prices.has(priceId)).toBe(true);
  expectConsistent(world);

  // The event can be renamed, and moved to another schema.
  const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
  const body = { name: "Renamed", schemaId, ...times };
  world.must("updateEvent", caller, { eventId, body, force: false });
  const moved = { ...body, schemaId: copy };
  world.must("updateEvent", caller, { eventId, body: moved, force: false });
  expect(world.partition.layout.seatCount).toBe(4);
  world.must("deleteEvent", caller, { eventId });
  world.must("deleteSchema", caller, { schemaId: copy });
  expect(left()).toEqual([0, 0, 0]);
  expectConsistent(world);
});

test.each(["A1", "Pit:1"])("a schema stays while %s is held or sold in an event", (object) => {
  for (const [kind, afterwards] of [
    ["lock", Result.OK],
    ["directsale", Result.INVENTORY_IN_USE],
  ] as const) {
    const world = new World(HALL);
    const { caller, schemaId } = world;
    const remove = () => world.submit("deleteSchema", caller, { schemaId }).refused;
    world.book(kind, world.selection("A", object));
    expect(remove()).toBe(Result.INVENTORY_IN_USE);
    // A hold expires, a sale does not.
    world.clock.timeMs += 900_000;
    expect(remove()).toBe(afterwards);
    expectConsistent(world);
  }
});

test("a clone has all fields, the same layout under new ids and guids, and its own zones", () => {
  const world = new Zoned();
  const { caller, schemaId, venueId } = world;
  const more = { description: "D", template: true, externalId: "x", gaCapacity: 9 };
  world.must("updateSchema", caller, { body: { id: schemaId, name: "Plan", venueId, ...more } });
  world.clock.timeMs += 5;
  const { catalog } = world.engine.state;
  const copyId = clone(world);
  const { organizationId } = caller;
  expect(catalog.clones.get(CLONE)).toEqual({ id: CLONE, organizationId, schemaId: copyId });
  expect(catalog.schemas.get(copyId)).toEqual({
    ...catalog.schemas.get(schemaId),
    id: copyId,
    name: "Plan (copy)",
    updatedAtMs: world.clock.timeMs,
  });

  const [source, copy] = [schemaId, copyId].map((id) => catalog.layouts.get(id)!.document);
  const objects = ({ sectors, rows, seats }: NonNullable<typeof copy>) => [
    ...sectors,
    ...rows,
    ...seats,
  ];
  const anonymous = (object: object) => ({
    ...object,
    id: 0,
    guid: "",
    sectorGuid: "",
    rowGuid: "",
  });
  expect(objects(copy!).map(anonymous)).toEqual(objects(source!).map(anonymous));
  const all = [source!, copy!].flatMap(objects);
  const names = all.flatMap(({ id, guid }): unknown[] => [id, guid]);
  expect(new Set(names).size).toBe(2 * all.length);
  const [ofCopy, ofSource] = [buildLayout(copy!), buildLayout(source!)];
  expect([ofCopy.labels, ofCopy.labelOfSeat]).toEqual([ofSource.labels, ofSource.labelOfSeat]);

  const zoned = [...catalog.zoneAssignments.values()]
    .filter((row) => row.schemaId === copyId)
    .map(({ id, zoneId }) => [labelsOf(copy!).labelOf(id), catalog.zones.get(zoneId)!]);
  expect(Object.fromEntries(zoned)).toMatchObject({
    A2: { name: "Gold", schemaId: copyId },
    Pit: { name: "Blue", schemaId: copyId },
    Stalls: { name: "Gold", schemaId: copyId },
  });
  expect(zoned).toHaveLength(3);
  expectConsistent(world);
});

test("the ids of the copies are in the order of the originals", () => {
  const world = new Zoned();
  world.putLayout(layoutOf(...HALL, section("Late", { Z: "1" })));
  const { catalog } = world.engine.state;
  const copyId = clone(world);
  const namesOf = (schemaId: number) => {
    const { sectors, rows, seats } = catalog.layouts.get(schemaId)!.document;
    const zones = [...catalog.zones.values()].filter((zone) => zone.schemaId === schemaId);
    return [
      { id: schemaId, name: "schema" },
      ...sectors,
      ...zones,
      ...seats,
      ...rows.map(({ id, rowNumber }) => ({ id, name: `row ${rowNumber}` })),
    ]
      .sort((a, b) => a.id - b.id)
      .map(({ name }) => name);
  };
  expect(namesOf(copyId)).toEqual(namesOf(world.schemaId));
});

test("the shapes of a clone have new ids and belong to its own sections", () => {
  const world = new World(HALL);
  const groupOfSeatsGuid = guidOf("Pit");
  const [pit, stage] = [guidOf("shape"), guidOf("stage")];
  world.putLayout({ shapes: [{ id: pit, groupOfSeatsGuid }, { id: stage }, { fill: "red" }] });
  const { layouts } = world.engine.state.catalog;
  const { shapes: originals } = layouts.get(world.schemaId)!.document;
  const { shapes, sectors } = layouts.get(clone(world))!.document;
  const { guid } = sectors.find(({ name }) => name === "Pit")!;
  expect(shapes).toMatchObject([{ groupOfSeatsGuid: guid }, {}, { fill: "red" }]);
  const ids = [...originals, ...shapes].map(({ id }) => id);
  expect(new Set(ids).size).toBe(6);
  expectConsistent(world);
});

test("a change of a clone does not change its source", () => {
  const world = new World(HALL);
  const schemaId = clone(world);
  const { rows: copies } = world.engine.state.catalog.layouts.get(schemaId)!.document;
  const rows = copies.slice(0, 1);
  const body = { rows: rows.map((row) => ({ ...row, toRemove: true })) };
  world.must("putLayout", world.caller, { schemaId, body, forceDelete: false });
  expect(world.partition.layout.seatCount).toBe(4);
  expect(world.engine.state.layoutOf(schemaId).seatCount).toBe(2);
  expectConsistent(world);
});

test("the name of a clone is cut at the limit, between whole characters", () => {
  const world = new World(HALL);
  const { caller, schemaId, venueId } = world;
  const name = "🎭".repeat(250);
  world.must("updateSchema", caller, { body: { id: schemaId, name, venueId } });
  const copy = world.engine.state.catalog.schemas.get(clone(world))!;
  expect(copy.name).toBe(`${name} (cop`);
});

test("a schema without a layout can be cloned and deleted", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  const { id: empty } = world.must("createSchema", caller, { body: { name: "Empty", venueId } });
  const copy = clone(world, empty);
  world.must("deleteSchema", caller, { schemaId: empty });
  world.must("deleteSchema", caller, { schemaId: copy });
  expect(world.engine.state.catalog.clones.size).toBe(0);
  expectConsistent(world);
});
