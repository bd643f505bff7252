/** Putting a layout: it is atomic, and refused when it would remove inventory that is in use. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import type { LayoutBody, SentSeat } from "../../../../engine/bodies.ts";
import { digest } from "../../../../engine/verify.ts";
import { World } from "../../../support/engine.ts";
import { area, guidOf, layoutOf, section } from "../../../support/layout.ts";
import { checkMore } from "../../../support/table.ts";

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

test("seats that are held, sold or blocked in an event are removed only by force", () => {
  const world = new World(HALL);
  checkMore(
    world,
    `
    lock        A  A1         ok
    directsale  -  A2         ok
    block       -  A3         ok
    `,
  );
  const before = digest(world.engine.state);
  const body = { seats: ["1", "2", "3"].map(removed) };
  const outcome = put(world, body);
  expect(outcome).toMatchObject({ refused: Result.INVENTORY_IN_USE });
  const errors = "errors" in outcome ? outcome.errors : [];
  expect(errors.map(({ rejectedValue }) => rejectedValue)).toEqual(
    ["A1", "A2", "A3"].map((label) => world.labels.idOf(label)),
  );
  expect(digest(world.engine.state)).toBe(before);
  world.createEvent();
  expect(put(world, body, true).refused).toBe(Result.OK);
  expect(world.partition.layout.seatCount).toBe(0);
});

test("seats on sale or without a price can be removed, but not together with a held one", () => {
  const world = new World(HALL, { unpriced: ["A2"] });
  checkMore(world, `lock  A  A3  ok`);
  expect(put(world, { seats: [removed("1"), removed("2"), removed("3")] }).refused).toBe(
    Result.INVENTORY_IN_USE,
  );
  expect(world.partition.layout.seatCount).toBe(3);
  expect(put(world, { seats: [removed("1"), removed("2")] }).refused).toBe(Result.OK);
  expect(world.partition.layout.seatCount).toBe(1);
});

test("an area cannot be removed while places in it are taken", () => {
  const world = new World(HALL);
  const body = { sectors: [{ ...area("Pit", 5).sector, toRemove: true }] };
  checkMore(world, `block  -  Pit:1  ok`);
  expect(put(world, body)).toMatchObject({
    refused: Result.INVENTORY_IN_USE,
    errors: [{ field: "sectors", rejectedValue: world.labels.idOf("Pit") }],
  });
  checkMore(world, `unblock  -  Pit:1  ok`);
  expect(put(world, body).refused).toBe(Result.OK);
  expect(world.partition.areas.count).toBe(0);
});

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
  expect("value" in outcome && outcome.value).toBe(document);
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

test("removing a section removes its rows and seats, unless a seat is in use", () => {
  const world = new World(HALL);
  const body = { sectors: [{ guid: guidOf("Stalls"), name: "Stalls", ga: false, toRemove: true }] };
  checkMore(world, `directsale  -  A2  ok`);
  expect(put(world, body).refused).toBe(Result.INVENTORY_IN_USE);
  checkMore(world, `revertsale  -  A2  ok`);
  const outcome = put(world, body);
  expect(outcome).toMatchObject({ value: { rows: [], seats: [] } });
});

test("new seats have no price in existing events, whose other seats do not change", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1 Pit:2  ok`);
  world.putLayout({
    seats: [{ guid: guidOf("A4"), rowGuid: guidOf("row A"), name: "4", x: 3, y: 0 }],
  });
  checkMore(
    world,
    `
    seats   A1 LOCKED  A2 ACTIVE  A4 NULL
    lock    A  A4             not_available  A4 NO_PRICE
    sale    A  A1 Pit:2       ok
    price   A4                ok
    lock    A  A4             ok
    wait    15m
    seats   A1 SOLD  A4 ACTIVE
    `,
  );
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
