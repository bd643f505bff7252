/** Prices that change their name and prices that go. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../../engine/commands.ts";
import { SeatState } from "../../../../engine/inventory/states.ts";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { expectWhole } from "../../../support/whole.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];
const NOBODY = "00000000-0000-4000-8000-00000000beef";

test("names and external ids change together, slots and assignments stay", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  const half = world.createPrice("Half");
  const body = [
    { id: half, name: "Full", eventId, externalId: "x" },
    { id: priceId, name: "Full", eventId: eventId.toUpperCase() },
  ];
  expect(world.must("updatePrices", caller, { eventId, body })).toEqual([
    { id: half, eventId, slot: 2, name: "Full", externalId: "x" },
    { id: priceId, eventId, slot: 1, name: "Full", externalId: null },
  ]);
  expect([...world.partition.price]).toEqual([1, 1]);
  expectWhole(world);
});

test("an update of prices is all or nothing, and says what is wrong", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  const otherEvent = world.createEvent();
  const elsewhere = world.createPrice("Elsewhere", otherEvent);
  const records = world.journal.kept.length;
  const item = (id: number, of = eventId) => ({ id, name: "New", eventId: of });
  const change = (...body: ReturnType<typeof item>[]) =>
    world.submit("updatePrices", caller, { eventId, body });
  expect(change(item(priceId), item(priceId), item(priceId, otherEvent))).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [
      { field: "[2].eventId", code: "MISMATCH" },
      { field: "[1].id", code: "DUPLICATE" },
      { field: "[2].id", code: "DUPLICATE" },
    ],
  });
  expect(change(item(priceId), item(elsewhere))).toMatchObject({
    refused: Result.ENTITY_NOT_FOUND,
    errors: [{ field: "[1].id", code: "NOT_FOUND", rejectedValue: elsewhere }],
  });
  expect(world.journal.kept.length).toBe(records);
});

test("a price that goes leaves its seats and areas", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  const half = world.createPrice("Half");
  const seats = [{ objectId: world.labels.idOf("A2"), assignmentId: half }];
  world.must("assignPrices", caller, { eventId, body: { seats } });
  world.book("directsale", world.selection(null, "A2"));
  world.must("deletePrice", caller, { eventId, priceId });
  expect([...world.partition.state]).toEqual([SeatState.WITHDRAWN, SeatState.SOLD]);
  expect(world.partition.areas.price[0]).toBe(0);
  expect(world.partition.areas.capacity(0)).toBe(0);
  expectWhole(world);
});

test.each<[BookingKind, string, boolean]>([
  ["lock", "A1", true],
  ["directsale", "A1", true],
  ["block", "A1", true],
  ["lock", "Pit:1", true],
  ["directsale", "Pit:1", true],
  ["block", "Pit:1", false],
])("%s of %s keeps the price: %s", (kind, object, isKept) => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  expect(world.book(kind, world.selection("A", object)).refused).toBe(Result.OK);
  expect(world.submit("deletePrice", caller, { eventId, priceId }).refused).toBe(
    isKept ? Result.INVENTORY_IN_USE : Result.OK,
  );
  expectWhole(world);
});

test("a hold that has run out does not keep a price", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  world.clock.timeMs += 900_000;
  expect(world.submit("deletePrice", caller, { eventId, priceId }).refused).toBe(Result.OK);
});

test("a price is found on its own event only, and by its owner", () => {
  const world = new World(HALL);
  const other = world.createOrganization(world.tenant, "Other");
  const { caller, eventId, priceId } = world;
  const otherEvent = world.createEvent();
  const body = [{ id: priceId, name: "New", eventId }];
  for (const [by, of, expected] of [
    [caller, otherEvent, Result.ENTITY_NOT_FOUND],
    [caller, NOBODY, Result.ENTITY_NOT_FOUND],
    [other, eventId, Result.ACCESS_DENIED],
  ] as const) {
    expect(world.submit("deletePrice", by, { eventId: of, priceId }).refused).toBe(expected);
    const renamed = body.map((price) => ({ ...price, eventId: of }));
    const change = { eventId: of, body: renamed };
    expect(world.submit("updatePrices", by, change).refused).toBe(expected);
  }
});
