/** When the row of a seat counts as changed, beside the changes of the seat itself. */
import { expect, test } from "vitest";
import { changeOfSeat, isOnSale, listedEvent, listSeats } from "../../../engine/queries/seats.ts";
import type { LayoutBody } from "../../../engine/bodies.ts";
import { World } from "../../support/engine.ts";
import { area, layoutOf, section, table } from "../../support/layout.ts";
import { checkMore, expectConsistent } from "../../support/table.ts";

const HALL = [section("Stalls", { B: "1 2", A: "1 10 2" }), table("T", "1"), area("Pit", 5)];

test("an event is on sale while it is published and its organization may book", () => {
  const world = new World(HALL);
  const onSale = () => isOnSale(world.engine.state, world.event);
  expect(onSale()).toBe(true);
  world.change({ bookingEnabled: false });
  expect(onSale()).toBe(false);
  world.change({ bookingEnabled: true });
  checkMore(world, "status  ARCHIVED");
  expect(onSale()).toBe(false);
});

/** Runs a change, and lists the seats that have changed since just before it. */
function changedBy(world: World, change: () => void): string {
  world.clock.timeMs += 10;
  change();
  const changedSinceMs = world.clock.timeMs;
  world.clock.timeMs += 10;
  const event = listedEvent(world.engine.state, world.event);
  const { seats } = listSeats(event, { sort: [], offset: 0, limit: 100, changedSinceMs });
  expect(seats.every((seat) => changeOfSeat(event, seat) === changedSinceMs)).toBe(true);
  const { seatIds } = world.partition.layout;
  return seats.map((seat) => world.labels.labelOf(seatIds[seat]!)).join(" ");
}

test("a change of the event's status or of bookingEnabled changes every seat", () => {
  const world = new World(HALL, { unpriced: ["A2"] });
  const all = "B1 B2 A1 A10 A2 T1";
  const { eventId, caller } = world;
  const archive = () =>
    world.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
  expect(changedBy(world, archive)).toBe(all);
  expect(changedBy(world, () => world.change({ bookingEnabled: false }))).toBe(all);
  expect(changedBy(world, () => world.change({ bookingEnabled: false }))).toBe("");
  expect(changedBy(world, () => world.change({ salesControl: false }))).toBe("");
  expect(changedBy(world, () => world.change({ bookingEnabled: true }))).toBe(all);
});

test("the new name of a price changes the seats of that price", () => {
  const world = new World(HALL);
  const half = world.createPrice("Half");
  const { eventId, caller } = world;
  const seats = [{ objectId: world.labels.idOf("A10"), assignmentId: half }];
  world.must("assignPrices", caller, { eventId, body: { seats } });
  const name = (to: string) => () =>
    world.must("updatePrices", caller, { eventId, body: [{ id: half, name: to, eventId }] });
  expect(changedBy(world, name("Third"))).toBe("A10");
  expect(changedBy(world, name("Third"))).toBe("");
});

test("new labels change the seats that they are shown for", () => {
  const world = new World(HALL);
  const { sectors, rows, seats } = layoutOf(...HALL);
  const put = (body: LayoutBody) => () => void world.putLayout(body);
  const [seat, row, sector] = [seats!.at(0)!, rows!.at(1)!, sectors!.at(1)!];
  expect(changedBy(world, put({ seats: [{ ...seat, name: "9" }] }))).toBe("B9");
  expect(changedBy(world, put({ rows: [{ ...row, rowNumber: "C" }] }))).toBe("C1 C10 C2");
  expect(changedBy(world, put({ sectors: [{ ...sector, name: "U" }] }))).toBe("T1");
  expect(changedBy(world, put({ sectors: [{ ...sector, name: "U", x: 9 }] }))).toBe("");
  expectConsistent(world);
});
