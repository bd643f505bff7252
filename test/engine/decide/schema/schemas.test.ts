/** Schemas updated, deleted with what hangs on them, and cloned. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { checkState } from "../../../../engine/verify/check.ts";
import { digest } from "../../../../engine/verify/digest.ts";
import { replayed, World } from "../../../support/engine.ts";
import { area, section, table } from "../../../support/layout.ts";
import { checkMore } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), table("T", "1"), area("Pit", 5)];
const CLONE = "22222222-2222-4222-8222-222222222222";

test("an update replaces the schema and keeps its layout and its events", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  const { caller, schemaId: id, venueId, partition } = world;
  world.clock.timeMs += 5;
  const row = world.must("updateSchema", caller, { body: { id, name: "New", venueId } });
  expect(row).toMatchObject({ name: "New", gaCapacity: null, updatedAtMs: world.clock.timeMs });
  expect(world.partition).toBe(partition);
  for (const [body, field] of [
    [{ name: "New", venueId }, "id"],
    [{ id: null, name: "New", venueId }, "id"],
    [{ id, name: "New", venueId: 999 }, "venueId"],
  ] as const) {
    expect(world.submit("updateSchema", caller, { body })).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field }],
    });
  }
});

test("a new layout counts as an update of its schema", () => {
  const world = new World(HALL);
  world.clock.timeMs += 5;
  world.putLayout({ seats: [{ guid: "A4", rowGuid: "row A", name: "4" }] });
  const schema = world.engine.state.catalog.schemas.get(world.schemaId)!;
  expect(schema.updatedAtMs).toBe(world.clock.timeMs);
});

test("a schema whose events hold something stays; blocked and priced seats do not keep it", () => {
  const world = new World(HALL);
  const { caller, schemaId, eventId } = world;
  const remove = () => world.submit("deleteSchema", caller, { schemaId }).refused;
  checkMore(world, `lock  A  Pit:1  ok`);
  expect(remove()).toBe(Result.INVENTORY_IN_USE);
  checkMore(
    world,
    `
    unlock      A  Pit:1      ok
    directsale  -  A1         ok
    `,
  );
  expect(remove()).toBe(Result.INVENTORY_IN_USE);
  checkMore(
    world,
    `
    revertsale  -  A1         ok
    block       -  A2         ok
    lock        A  A1         ok
    wait        15m
    `,
  );
  expect(remove()).toBe(Result.OK);
  const { state } = world.engine;
  checkState(state);
  expect(state.catalog.events.has(eventId)).toBe(true);
  expect(world.partition.layout.seatCount).toBe(0);
  expect([state.catalog.schemas.size, state.catalog.layouts.size]).toEqual([0, 0]);
  expect(digest(replayed(world.journal))).toBe(digest(state));
  expect(remove()).toBe(Result.ENTITY_NOT_FOUND);
});

test("a clone has everything under new ids: layout, zones and what is in them", () => {
  const world = new World(HALL);
  const { caller, schemaId } = world;
  const { catalog } = world.engine.state;
  const [zone] = world.must("createZones", caller, {
    schemaId,
    body: [{ name: "Gold", schemaId }],
  });
  const assigned = { objectId: world.labels.idOf("A2"), assignmentId: zone!.id };
  world.must("assignZones", caller, { schemaId, body: { seats: [assigned] } });
  const clone = world.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  expect(catalog.clones.get(CLONE)).toEqual(clone);
  expect(catalog.schemas.get(clone.schemaId)).toMatchObject({ name: "Plan (copy)", gaCapacity: 7 });
  const [source, copy] = [schemaId, clone.schemaId].map((id) => catalog.layouts.get(id)!.document);
  const without = ({ sectors, rows, seats }: typeof copy & object) =>
    [...sectors, ...rows, ...seats].map((object) => ({ ...object, id: 0 }));
  expect(without(copy!)).toEqual(without(source!));
  const ids = [source!, copy!].flatMap(({ sectors, rows, seats }) =>
    [...sectors, ...rows, ...seats].map(({ id }) => id),
  );
  expect(new Set(ids).size).toBe(ids.length);
  const zones = [...catalog.zones.values()];
  expect(zones.map(({ name }) => name)).toEqual(["Gold", "Gold"]);
  const a2 = copy!.seats.find(({ guid }) => guid === "A2")!.id;
  expect(catalog.zoneAssignments.get(a2)).toEqual({
    id: a2,
    schemaId: clone.schemaId,
    zoneId: zones[1]!.id,
  });
  checkState(world.engine.state);
  expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
});

test("a clone's name is cut, in characters and not in halves of them", () => {
  const world = new World(HALL);
  const { caller, schemaId, venueId } = world;
  const name = "\u{1F3AD}".repeat(250);
  world.must("updateSchema", caller, { body: { id: schemaId, name, venueId } });
  const clone = world.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  const copied = world.engine.state.catalog.schemas.get(clone.schemaId)!.name;
  expect(copied).toMatch(/^\u{1F3AD}{250} \(cop$/u);
});

test("a schema without a layout can be cloned and deleted, its clone goes with its row", () => {
  const world = new World(HALL);
  const { caller, venueId } = world;
  const empty = world.must("createSchema", caller, { body: { name: "Empty", venueId } }).id;
  const clone = world.must("cloneSchema", caller, { schemaId: empty, cloneId: CLONE });
  world.must("deleteSchema", caller, { schemaId: empty });
  world.must("deleteSchema", caller, { schemaId: clone.schemaId });
  expect(world.engine.state.catalog.clones.size).toBe(0);
  checkState(world.engine.state);
});

test("a schema of nobody is not found, of another organization denied", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const venueId = world.must("createVenue", other, { body: { name: "Theirs" } }).id;
  const refusals = (schemaId: number) =>
    [
      world.submit("deleteSchema", other, { schemaId }),
      world.submit("cloneSchema", other, { schemaId, cloneId: CLONE }),
      world.submit("updateSchema", other, { body: { id: schemaId, name: "X", venueId } }),
    ].map(({ refused }) => refused);
  expect(new Set(refusals(world.schemaId))).toEqual(new Set([Result.ACCESS_DENIED]));
  expect(new Set(refusals(999))).toEqual(new Set([Result.ENTITY_NOT_FOUND]));
});
