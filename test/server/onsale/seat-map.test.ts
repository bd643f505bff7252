/** The player's choice of seats: neighbours, no single seat left behind, and in the end all. */

import fc from "fast-check";
import { expect, test } from "vitest";
import type { ListedSeat } from "../../../server/onsale/contract.ts";
import { Belief, fittingCount, SeatMap } from "../../../server/onsale/crowd/seat-map.ts";
import { View } from "../../../server/onsale/crowd/view.ts";
import { Random } from "../../../server/onsale/random.ts";
import { TinyInventory, type TinyLayout } from "../../support/tiny-server.ts";

const SPACING = 10;
const AISLE_WIDTH = 30;
/** So many refusals mean that the row is stuck. */
const REFUSALS_MAX = 50_000;

/** One row per list; each number is a block of seats, with an aisle between the blocks. */
function layoutOf(rows: readonly (readonly number[])[]): TinyLayout {
  const sectors = [{ guid: "s", name: "Stalls", ga: false }];
  const seats = rows.flatMap((blocks, row) => {
    let ax = 0;
    return blocks.flatMap((count) => {
      ax += AISLE_WIDTH;
      return Array.from({ length: count }, () => {
        ax += SPACING;
        return { guid: `${row}-${ax}`, rowGuid: `r${row}`, name: `${ax}`, ax, ay: 0 };
      });
    });
  });
  const names = rows.map((_, row) => `r${row}`);
  return {
    sectors,
    seats,
    rows: names.map((guid) => ({ guid, sectorGuid: "s", name: "Row", rowNumber: guid })),
  };
}

function inventoryOf(rows: readonly (readonly number[])[]): TinyInventory {
  const inventory = new TinyInventory(layoutOf(rows), true);
  inventory.price();
  return inventory;
}

function listingOf(inventory: TinyInventory): ListedSeat[] {
  return [...inventory.seats.values()].map((one) => ({ ...one, seatId: one.id }));
}

function seat(seatId: number, rowId: number, state: ListedSeat["state"] = "ACTIVE"): ListedSeat {
  return { seatId, rowId, state, updatedAt: null };
}

/** Takes seats until the map shows none, as one buyer after the other would. */
function sellOut(inventory: TinyInventory, listing: ListedSeat[], wishes: Wishes) {
  const map = new SeatMap(listing);
  const random = new Random(wishes.seed);
  let refusals = 0;
  let orphanRefusals = 0;
  for (let turn = 0; map.freeCount > 0 && refusals < REFUSALS_MAX; turn++) {
    const count = wishes.counts[turn % wishes.counts.length]!;
    const { seatIds, indexes } = map.choose({ count, orphanRefusals }, random)!;
    const seats = seatIds.map((id) => ({ id }));
    if (inventory.call("lock", { sessionId: "s", seats, groupOfSeats: [] }) === true) {
      orphanRefusals = 0;
      for (const index of indexes) map.believe(index, Belief.HELD);
    } else {
      orphanRefusals += 1;
      refusals += 1;
    }
  }
  return { freeCount: map.freeCount, refusals };
}

interface Wishes {
  counts: number[];
  seed: number;
}

const wishes: fc.Arbitrary<Wishes> = fc.record({
  counts: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
  seed: fc.integer(),
});

test("a choice leaves nothing or at least two seats of a run", () => {
  for (let runCount = 1; runCount <= 20; runCount++) {
    for (let wanted = 1; wanted <= 6; wanted++) {
      const taken = fittingCount(runCount, wanted);
      expect(taken).toBeGreaterThan(0);
      expect(taken).toBeLessThanOrEqual(Math.max(wanted, 2));
      expect(runCount - taken).not.toBe(1);
    }
  }
});

test("a buyer gets neighbours of one row, also where the listing mixes the rows", () => {
  const listing = [1, 2, 3, 4, 5].flatMap((n) => [seat(n, 10), seat(n + 100, 20)]);
  const map = new SeatMap(listing);
  const random = new Random(1);
  for (let turn = 0; turn < 100; turn++) {
    const { seatIds } = map.choose({ count: 3, orphanRefusals: 0 }, random)!;
    expect(seatIds).toEqual([seatIds[0]!, seatIds[0]! + 1, seatIds[0]! + 2]);
  }
});

test("seats that are held, sold, blocked or without a price are not chosen", () => {
  const states = ["LOCKED", "SOLD", "ACTIVE", "ACTIVE", "BLOCKED", null] as const;
  const map = new SeatMap(states.map((state, index) => seat(index, 1, state)));
  expect(map.freeCount).toBe(2);
  expect(map.openCount).toBe(3);
  expect(map.choose({ count: 6, orphanRefusals: 0 }, new Random(1))?.seatIds).toEqual([2, 3]);
});

test("a map with nothing free has nothing to choose", () => {
  const map = new SeatMap([seat(1, 1, "SOLD")]);
  expect(map.choose({ count: 1, orphanRefusals: 0 }, new Random(1))).toBeUndefined();
});

test("without aisles the orphan rule never refuses a choice, and the rows sell out", () => {
  const row = fc.tuple(fc.integer({ min: 1, max: 30 }));
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), wishes, (rows, wished) => {
      const inventory = inventoryOf(rows);
      const sold = sellOut(inventory, listingOf(inventory), wished);
      expect(sold).toEqual({ freeCount: 0, refusals: 0 });
    }),
  );
});

const blocks = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });

test("rows with aisles that the listing does not show sell out all the same", () => {
  fc.assert(
    fc.property(fc.array(blocks, { minLength: 1, maxLength: 3 }), wishes, (rows, wished) => {
      const inventory = inventoryOf(rows);
      expect(sellOut(inventory, listingOf(inventory), wished).freeCount).toBe(0);
      const states = [...inventory.seats.values()].map(({ state }) => state);
      expect(new Set(states)).toEqual(new Set(["LOCKED"]));
    }),
  );
});

test("a row that stands in another order than it is listed in sells out all the same", () => {
  fc.assert(
    fc.property(blocks, wishes, fc.func(fc.integer()), (row, wished, place) => {
      const inventory = inventoryOf([row]);
      const listing = listingOf(inventory).toSorted((a, b) => place(a.seatId) - place(b.seatId));
      expect(sellOut(inventory, listing, wished).freeCount).toBe(0);
    }),
  );
});

test("a refusal teaches which seats are gone and which may come back", () => {
  const view = new View(
    [1, 2, 3, 4].map((id) => seat(id, 1)),
    [],
  );
  const wish = { count: 4, orphanRefusals: 0, prefersPlaces: false };
  const basket = view.choose(wish, new Random(1))!;
  view.learn(basket, [
    { field: "seats[0].id", code: "LOCKED" },
    { field: "seats[2].id", code: "SOLD" },
  ]);
  expect(view.freeCount).toBe(2);
  expect(view.openCount).toBe(3);
});

test("a late refusal does not undo the news that a seat was sold", () => {
  const view = new View([seat(1, 1)], []);
  const wish = { count: 1, orphanRefusals: 0, prefersPlaces: false };
  const basket = view.choose(wish, new Random(1))!;
  view.sold(basket);
  view.learn(basket, [{ field: "seats[0].id", code: "LOCKED" }]);
  expect(view.openCount).toBe(0);
});

test("an area that is short of places is asked for fewer next time", () => {
  const area = { groupOfSeatsId: 7, priceId: 1, capacity: 9, active: 9, locked: 0 };
  const view = new View([], [{ ...area, sold: 0, blocked: 0 }]);
  const wish = { count: 6, orphanRefusals: 0, prefersPlaces: true };
  const basket = view.choose(wish, new Random(1))!;
  expect(basket).toEqual({ kind: "places", areaId: 7, count: 6 });
  view.learn(basket, [{ field: "groupOfSeats[0].capacity", code: "INSUFFICIENT_CAPACITY" }]);
  expect(view.choose(wish, new Random(1))).toEqual({ kind: "places", areaId: 7, count: 5 });
});

test("a buyer takes the other kind when nothing of the preferred one is left", () => {
  const view = new View([seat(1, 1)], []);
  const wish = { count: 1, orphanRefusals: 0, prefersPlaces: true };
  expect(view.choose(wish, new Random(1))?.kind).toBe("seats");
});
