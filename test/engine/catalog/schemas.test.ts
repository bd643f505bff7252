/** Schemas: updated, deleted with everything in them, and cloned. */
import { expect, test } from "vitest";
import type { LayoutBody, SentSeat } from "../../../engine/bodies.ts";
import { THUMBNAIL_BYTES_MAX } from "../../../engine/constants.ts";
import { copyOriginal, prepareLayout } from "../../../engine/layout/change.ts";
import { buildLayout, EMPTY_DOCUMENT } from "../../../engine/layout/layout.ts";
import {
  isCurrentClone,
  isCurrentLayout,
  originalOf,
  type ReadyClone,
  type ReadyLayout,
} from "../../../engine/catalog/schemas.ts";
import { capacitiesOf } from "../../../engine/queries/summary.ts";
import { Result } from "../../../engine/results.ts";
import { digest } from "../../../engine/verify.ts";
import { replayed, World } from "../../support/engine.ts";
import {
  area,
  guidOf,
  labelsOf,
  layoutOf,
  type LayoutPart,
  section,
  table,
} from "../../support/layout.ts";
import { checkMore, expectConsistent, tables } from "../../support/table.ts";

const TABLE_HALL = [section("Stalls", { A: "1 2" }), table("T", "1 2"), area("Pit", 5)];
const CLONE = "00000000-0000-4000-8000-0000000000c1";

/** A world with the zones Gold, on the section and seat A2, and Blue, on the area. */
class Zoned extends World {
  constructor() {
    super(TABLE_HALL);
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
  const world = new World(TABLE_HALL);
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
  const world = new World(TABLE_HALL);
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
  const world = new World(TABLE_HALL);
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
  const world = new World(TABLE_HALL);
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
    const world = new World(TABLE_HALL);
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
  world.putLayout(layoutOf(...TABLE_HALL, section("Late", { Z: "1" })));
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
  const world = new World(TABLE_HALL);
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
  const world = new World(TABLE_HALL);
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
  const world = new World(TABLE_HALL);
  const { caller, schemaId, venueId } = world;
  const name = "🎭".repeat(250);
  world.must("updateSchema", caller, { body: { id: schemaId, name, venueId } });
  const copy = world.engine.state.catalog.schemas.get(clone(world))!;
  expect(copy.name).toBe(`${name} (cop`);
});

test("a schema without a layout can be cloned and deleted", () => {
  const world = new World(TABLE_HALL);
  const { caller, venueId } = world;
  const { id: empty } = world.must("createSchema", caller, { body: { name: "Empty", venueId } });
  const copy = clone(world, empty);
  world.must("deleteSchema", caller, { schemaId: empty });
  world.must("deleteSchema", caller, { schemaId: copy });
  expect(world.engine.state.catalog.clones.size).toBe(0);
  expectConsistent(world);
});

// Putting a layout: atomic, and refused when it would remove inventory in use.

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];
const removed = (name: string): SentSeat => ({
  guid: guidOf(`A${name}`),
  rowGuid: guidOf("row A"),
  name,
  toRemove: true,
});

const reversed = <T extends object>(object: T) =>
  Object.fromEntries(Object.entries(object).toReversed()) as T;

const put = (world: World, body: LayoutBody, forceDelete = false) =>
  world.submit("putLayout", world.caller, { schemaId: world.schemaId, body, forceDelete });

const inHall = tables(HALL);

inHall("seats that are held, sold or blocked in an event are removed only by force")(`
  lock        A  A1         ok
  directsale  -  A2         ok
  block       -  A3         ok
  remove      A1 A2         in_use  A1 INVENTORY_IN_USE  A2 INVENTORY_IN_USE
  remove      A3            in_use  A3 INVENTORY_IN_USE
  force       A1 A2         ok
  seats       A3 BLOCKED
`);

tables(HALL, { unpriced: ["A2"] })(
  "seats on sale or without a price can be removed, but not together with a held one",
)(`
  lock        A  A3         ok
  remove      A1 A2 A3      in_use  A3 INVENTORY_IN_USE
  seats       A1 ACTIVE  A2 NULL  A3 LOCKED
  remove      A1 A2         ok
  seats       A3 LOCKED
`);

inHall("an area cannot be removed while places in it are taken")(`
  block       -  Pit:1      ok
  remove      Pit           in_use  Pit INVENTORY_IN_USE
  unblock     -  Pit:1      ok
  remove      Pit           ok
`);

inHall("removing a section removes its rows and seats, unless a seat is in use")(`
  directsale  -  A2         ok
  remove      Stalls        in_use  A2 INVENTORY_IN_USE
  revertsale  -  A2         ok
  remove      Stalls        ok
  lock        A  Pit:1      ok
`);

inHall("new seats have no price in existing events, whose other seats do not change")(`
  lock        A  A1 Pit:2   ok
  add         A4            ok
  seats       A1 LOCKED  A2 ACTIVE  A4 NULL
  lock        A  A4         not_available  A4 NO_PRICE
  sale        A  A1 Pit:2   ok
  price       A4            ok
  lock        A  A4         ok
  wait        15m
  seats       A1 SOLD  A4 ACTIVE
`);

test.each([
  ["the same layout", layoutOf(...HALL)],
  ["an empty one", {}],
  ["one object with its members in another order", { sectors: [reversed(HALL[1]!.sector)] }],
])("%s changes nothing and writes nothing", (_, body) => {
  const world = new World(HALL);
  const { length } = world.journal.kept;
  world.clock.timeMs += 1_000;
  const outcome = put(world, body);
  expect(outcome).toMatchObject({ refused: Result.OK });
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  expect(outcome).toMatchObject({ value: { ...document, inUse: { renamed: 0, moved: 0 } } });
  expect(world.journal.kept).toHaveLength(length);
});

test("an empty layout is stored when there was none", () => {
  const world = new World(HALL);
  const { schemaId } = world;
  const body = { name: "Second", venueId: world.venueId };
  const { id } = world.must("createSchema", world.caller, { body });
  world.must("putLayout", world.caller, { schemaId: id, body: {}, forceDelete: false });
  expect([...world.engine.state.catalog.layouts.keys()]).toEqual([schemaId, id]);
});

test("an area cannot become a section while places in it are taken", () => {
  const world = new World(HALL);
  const section2 = { guid: guidOf("Pit"), name: "Pit", ga: false };
  checkMore(world, `lock  A  Pit:1  ok`);
  expect(put(world, { sectors: [section2] }).refused).toBe(Result.INVENTORY_IN_USE);
  checkMore(world, `unlock  A  Pit:1  ok`);
  expect(put(world, { sectors: [section2] }).refused).toBe(Result.OK);
});

test("a new layout changes only the events of its schema", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  const other = world.must("createSchema", caller, { body: { name: "Other", venueId } }).id;
  const elsewhere = world.createEvent(caller, other);
  const event = world.engine.state.catalog.events.get(elsewhere)!;
  const before = world.engine.state.partitionOf(event);
  world.putLayout({ seats: [removed("3")] });
  expect(world.engine.state.partitionOf(event)).toBe(before);
  expect(before.layout.seatCount).toBe(0);
});

test("a seat is not protected by a hold in an event of another schema", () => {
  const world = new World(HALL);
  const body = { name: "Other", venueId: world.venueId };
  const other = world.must("createSchema", world.caller, { body }).id;
  checkMore(world, `lock  A  A1 Pit:1  ok`);
  const layout = { schemaId: other, body: layoutOf(...HALL), forceDelete: false };
  expect(world.submit("putLayout", world.caller, layout).refused).toBe(Result.OK);
});

test("a layout with one unknown seat is refused as a whole", () => {
  const world = new World(HALL);
  const before = digest(world.engine.state);
  const unknown = { guid: guidOf("B9"), rowGuid: guidOf("row B"), name: "9", id: 424_242 };
  const body = { ...layoutOf(section("Circle", { B: "1" })), seats: [unknown] };
  expect(put(world, body)).toMatchObject({ refused: Result.VALIDATION_FAILED });
  expect(digest(world.engine.state)).toBe(before);
});

// Installing a layout, or a clone with one, prepared outside the engine.

const NEW_ROW = layoutOf(section("Balcony", { B: "1 2" }));
const WITHOUT_A1: LayoutBody = {
  seats: [{ guid: guidOf("A1"), rowGuid: guidOf("row A"), name: "1", toRemove: true }],
};

/** Prepares a layout as another thread would. */
function ready(world: World, body: LayoutBody, gap = 0, schemaId = world.schemaId): ReadyLayout {
  const { catalog } = world.engine.state;
  const base = catalog.layouts.get(schemaId);
  const firstId = catalog.nextId + gap;
  const next = { nextId: firstId, timeMs: world.engine.nowMs() };
  const prepared = prepareLayout(base?.document ?? EMPTY_DOCUMENT, body, next);
  expect(prepared).toMatchObject({ errors: [], isChanged: true });
  return { ...prepared, base, firstId, made: { layout: buildLayout(prepared.document) } };
}

function readyClone(world: World, gap = 0): ReadyClone {
  const { state } = world.engine;
  const original = originalOf(state, world.schemaId);
  const firstId = state.catalog.nextId + gap;
  const copy = copyOriginal(original, { nextId: firstId, timeMs: world.engine.nowMs() });
  const made = { layout: buildLayout(copy.document!) };
  return { original, copy, firstId, newIds: copy.newIds, made };
}

const install = (world: World, layout: ReadyLayout, forceDelete = false, caller = world.caller) =>
  world.submit("installLayout", caller, {
    schemaId: world.schemaId,
    ready: layout,
    forceDelete,
  });

const installClone = (world: World, copy: ReadyClone, caller = world.caller) =>
  world.submit("installClone", caller, {
    schemaId: world.schemaId,
    cloneId: CLONE,
    ready: copy,
  });

function zoneSeat(world: World): void {
  const { caller, schemaId, labels } = world;
  const body = [{ name: "Gold", schemaId }];
  const [gold] = world.must("createZones", caller, { schemaId, body });
  const seats = [{ objectId: labels.idOf("A2"), assignmentId: gold!.id }];
  world.must("assignZones", caller, { schemaId, body: { seats, groupOfSeats: [] } });
}

test.each([
  ["objects added", NEW_ROW],
  ["a seat removed", WITHOUT_A1],
])("an installed layout with %s leaves the state that putting it leaves", (_, body) => {
  const [installed, stored] = [new World(HALL), new World(HALL)];
  expect(install(installed, ready(installed, body)).refused).toBe(Result.OK);
  stored.putLayout(body);
  expect(digest(installed.engine.state)).toBe(digest(stored.engine.state));
  expect(digest(replayed(installed.journal))).toBe(digest(stored.engine.state));
  expectConsistent(installed);
});

const ROWS = [section("Stalls", { A: "1 2 3 4", B: "1" }), area("Pit", 5)];
const row = (label: string, rowNumber: string, sector = "Stalls") => {
  return { guid: guidOf(`row ${label}`), sectorGuid: guidOf(sector), rowNumber };
};
const seat = (label: string, name: string, rowLabel: string) => {
  return { guid: guidOf(label), rowGuid: guidOf(`row ${rowLabel}`), name };
};

/** A1 is LOCKED and A2 SOLD in one event; A1 and A3 are BLOCKED in another. */
function sold(): World {
  const world = new World(ROWS);
  world.book("lock", world.selection("A", "A1"));
  world.book("directsale", world.selection(null, "A2"));
  const eventId = world.createEvent();
  const priced = ["A1", "A3"].map((label) => ({
    objectId: world.labels.idOf(label),
    assignmentId: world.createPrice("Full", eventId),
  }));
  world.must("assignPrices", world.caller, { eventId, body: { seats: priced } });
  const body = world.selection(null, "A1", "A3");
  world.must("block", world.caller, { eventId, body });
  return world;
}

test.each<[string, LayoutBody, [renamed: number, moved: number]]>([
  ["a section renamed", { sectors: [{ guid: guidOf("Stalls"), name: "S", ga: false }] }, [4, 0]],
  ["a row renamed", { rows: [row("A", "AA")] }, [4, 0]],
  [
    "a row in another section",
    {
      sectors: [{ guid: guidOf("Circle"), name: "Circle", ga: false }],
      rows: [row("A", "A", "Circle")],
    },
    [4, 0],
  ],
  ["a seat renamed", { seats: [seat("A2", "two", "A")] }, [1, 0]],
  ["seats in another row", { seats: [seat("A1", "9", "B"), seat("A4", "10", "B")] }, [0, 2]],
  ["labels exchanged", { seats: [seat("A2", "3", "A"), seat("A3", "2", "A")] }, [2, 0]],
  ["a free seat renamed", { seats: [seat("A4", "four", "A")] }, [0, 0]],
  ["only an area renamed", { sectors: [{ guid: guidOf("Pit"), name: "P", ga: true }] }, [0, 0]],
  ["a seat more", { seats: [seat("A5", "5", "A")] }, [0, 0]],
])("a layout with %s → counts the relabelled seats in use", (_, body, [renamed, moved]) => {
  const inUse = { renamed, moved };
  const [stored, installed] = [sold(), sold()];
  expect(put(stored, body)).toMatchObject({ value: { inUse } });
  expect(install(installed, ready(installed, body))).toMatchObject({ value: inUse });
  expectConsistent(stored);
});

test("an installed clone leaves the state that cloning leaves", () => {
  const [installed, cloned] = [new World(HALL), new World(HALL)];
  for (const world of [installed, cloned]) zoneSeat(world);
  expect(installClone(installed, readyClone(installed)).refused).toBe(Result.OK);
  const { schemaId } = cloned;
  cloned.must("cloneSchema", cloned.caller, { schemaId, cloneId: CLONE });
  expect(digest(installed.engine.state)).toBe(digest(cloned.engine.state));
  expect(digest(replayed(installed.journal))).toBe(digest(cloned.engine.state));
});

test("ids between the last one given out and the first one prepared are never given out", () => {
  const world = new World(HALL);
  const { catalog } = world.engine.state;
  const layout = ready(world, NEW_ROW, 100);
  expect(layout.newIds).toBe(4);
  expect(install(world, layout).refused).toBe(Result.OK);
  expect(catalog.nextId).toBe(layout.firstId + 4);

  const copy = readyClone(world, 100);
  expect(installClone(world, copy).refused).toBe(Result.OK);
  expect(catalog.nextId).toBe(copy.firstId + copy.newIds);
  expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
});

test("seats that are held are removed by an installed layout only by force", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  const before = digest(world.engine.state);
  expect(install(world, ready(world, WITHOUT_A1))).toMatchObject({
    refused: Result.INVENTORY_IN_USE,
    errors: [{ rejectedValue: world.labels.idOf("A1") }],
  });
  expect(digest(world.engine.state)).toBe(before);
  expect(install(world, ready(world, WITHOUT_A1), true).refused).toBe(Result.OK);
  expect(world.partition.layout.seatCount).toBe(2);
});

test("nothing is installed in a schema of another organization", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const before = digest(world.engine.state);
  const denied = { refused: Result.ACCESS_DENIED };
  expect(install(world, ready(world, NEW_ROW), false, other)).toMatchObject(denied);
  expect(installClone(world, readyClone(world), other)).toMatchObject(denied);
  expect(digest(world.engine.state)).toBe(before);
});

test("a layout is no longer current when the stored one changes or its ids are given out", () => {
  const world = new World(HALL);
  const { state } = world.engine;
  const isCurrent = (layout: ReadyLayout) => isCurrentLayout(state, world.schemaId, layout);
  const close = ready(world, NEW_ROW);
  const distant = ready(world, NEW_ROW, 100);
  expect([close, distant].map(isCurrent)).toEqual([true, true]);
  world.createPrice("Half");
  expect([close, distant].map(isCurrent)).toEqual([false, true]);
  world.putLayout(WITHOUT_A1);
  expect(isCurrent(distant)).toBe(false);
  expect(() => install(world, distant)).toThrow("an installed layout is current");
});

test("a clone is no longer current when its layout, a zone or an assignment changes", () => {
  for (const change of [
    (world: World) => world.putLayout(WITHOUT_A1),
    (world: World) => {
      const { caller, schemaId } = world;
      const body = [{ name: "Blue", schemaId }];
      world.must("createZones", caller, { schemaId, body });
    },
    zoneSeat,
  ]) {
    const world = new World(HALL);
    zoneSeat(world);
    const copy = readyClone(world, 100);
    expect(isCurrentClone(world.engine.state, copy)).toBe(true);
    change(world);
    expect(isCurrentClone(world.engine.state, copy)).toBe(false);
    expect(() => installClone(world, copy)).toThrow("an installed clone is current");
  }
});

// Venues.

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

// The seats and places of a schema: declared at first, then drawn.

const STALLS = section("Stalls", { A: "1 2 3" });
const declared = { seatsCapacity: 300, gaCapacity: 50 };

/** The capacities of a schema with the layout, declared with 300 seats and 50 places. */
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

test("a layout that renames the seat of a hold that ran out → it is not in use", () => {
  const [stored, installed] = [sold(), sold()];
  const body = { seats: [seat("A1", "one", "A")] };
  const replacement = ready(installed, body);
  for (const world of [stored, installed]) world.clock.timeMs += 15 * 60_000;
  // The one in use is blocked in the other event.
  const inUse = { renamed: 1, moved: 0 };
  expect(put(stored, body)).toMatchObject({ value: { inUse } });
  expect(install(installed, replacement)).toMatchObject({ value: inUse });
});
