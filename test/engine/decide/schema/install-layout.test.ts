/** Installing a layout, or a clone with one, that was prepared outside the engine. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import type { LayoutBody } from "../../../../engine/bodies.ts";
import { copyOriginal, prepareLayout } from "../../../../engine/layout/change.ts";
import { buildLayout, EMPTY_DOCUMENT } from "../../../../engine/layout/layout.ts";
import {
  isCurrentClone,
  isCurrentLayout,
  originalOf,
  type ReadyClone,
  type ReadyLayout,
} from "../../../../engine/queries/layouts.ts";
import { digest } from "../../../../engine/verify.ts";
import { replayed, World } from "../../../support/engine.ts";
import { area, guidOf, layoutOf, section } from "../../../support/layout.ts";
import { checkMore, expectConsistent } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];
const CLONE = "00000000-0000-4000-8000-0000000000c1";
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

const clone = (world: World, copy: ReadyClone, caller = world.caller) =>
  world.submit("installClone", caller, {
    schemaId: world.schemaId,
    cloneId: CLONE,
    ready: copy,
  });

function zone(world: World): void {
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
  const [installed, put] = [new World(HALL), new World(HALL)];
  expect(install(installed, ready(installed, body)).refused).toBe(Result.OK);
  put.putLayout(body);
  expect(digest(installed.engine.state)).toBe(digest(put.engine.state));
  expect(digest(replayed(installed.journal))).toBe(digest(put.engine.state));
  expectConsistent(installed);
});

test("an installed clone leaves the state that cloning leaves", () => {
  const [installed, cloned] = [new World(HALL), new World(HALL)];
  for (const world of [installed, cloned]) zone(world);
  expect(clone(installed, readyClone(installed)).refused).toBe(Result.OK);
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
  expect(clone(world, copy).refused).toBe(Result.OK);
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
  expect(clone(world, readyClone(world), other)).toMatchObject(denied);
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
    zone,
  ]) {
    const world = new World(HALL);
    zone(world);
    const copy = readyClone(world, 100);
    expect(isCurrentClone(world.engine.state, copy)).toBe(true);
    change(world);
    expect(isCurrentClone(world.engine.state, copy)).toBe(false);
    expect(() => clone(world, copy)).toThrow("an installed clone is current");
  }
});
