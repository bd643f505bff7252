/** Prices: updated and deleted. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../../engine/commands.ts";
import { SeatState } from "../../../../engine/inventory/states.ts";
import { Result } from "../../../../engine/results.ts";
import { START_MS, World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { expectConsistent } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];

test("an update changes names and external ids, and keeps slots and assignments", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  const half = world.createPrice("Half");
  const body = [
    { id: half, name: "Full", eventId, externalId: "x" },
    { id: priceId, name: "Full", eventId: eventId.toUpperCase() },
  ];
  expect(world.must("updatePrices", caller, { eventId, body })).toEqual([
    { id: half, eventId, slot: 2, name: "Full", renamedAtMs: START_MS, externalId: "x" },
    { id: priceId, eventId, slot: 1, name: "Full", renamedAtMs: 0, externalId: null },
  ]);
  expect([...world.partition.price]).toEqual([1, 1]);
  expectConsistent(world);
});

test("an update with one wrong price is refused as a whole, with the fields that are wrong", () => {
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

test("a deleted price is taken from its seats and areas", () => {
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
  expectConsistent(world);
});

const { OK, INVENTORY_IN_USE } = Result;

const USES: readonly (readonly [BookingKind, string])[] = [
  ["lock", "A1"],
  ["directsale", "A1"],
  ["block", "A1"],
  ["lock", "Pit:1"],
  ["directsale", "Pit:1"],
  ["block", "Pit:1"],
];

test.each(USES)("after %s of %s the deletion of the price is refused", (kind, object) => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  expect(world.book(kind, world.selection("A", object)).refused).toBe(OK);
  const outcome = world.submit("deletePrice", caller, { eventId, priceId });
  const inUse = object === "A1" ? "1 seat and 0 areas" : "0 seats and 1 area";
  const detail = `Held, sold or blocked inventory at this price: ${inUse}.`;
  expect(outcome).toMatchObject({ refused: INVENTORY_IN_USE, detail });
  expectConsistent(world);
});

test("an expired hold does not keep its price from being deleted", () => {
  const world = new World(HALL);
  const { caller, eventId, priceId } = world;
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  world.clock.timeMs += 900_000;
  expect(world.submit("deletePrice", caller, { eventId, priceId }).refused).toBe(OK);
});

test("a price of another event of the same organization is not found", () => {
  const world = new World(HALL);
  const { caller, priceId } = world;
  const eventId = world.createEvent();
  const body = [{ id: priceId, name: "New", eventId }];
  const { ENTITY_NOT_FOUND } = Result;
  expect(world.submit("deletePrice", caller, { eventId, priceId }).refused).toBe(ENTITY_NOT_FOUND);
  expect(world.submit("updatePrices", caller, { eventId, body }).refused).toBe(ENTITY_NOT_FOUND);
});
