/** The choice of seats: adjacent seats, no single seat left behind, and every seat in the end. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import { Result } from "../../../engine/results.ts";
import type { ListedSeat } from "../../../server/onsale/contract.ts";
import {
  Availability,
  fittingCount,
  InventoryView,
  SeatMap,
} from "../../../server/onsale/inventory-view.ts";
import { Random } from "../../../server/onsale/random.ts";
import { SharingJournal, World } from "../../support/engine.ts";

const SPACING = 10;
const AISLE_WIDTH = 30;
/** More refusals than this mean that the row cannot be sold. */
const REFUSALS_MAX = 50_000;

/** One row per list. Each number is a block of seats; an aisle separates the blocks. */
function worldOf(rows: readonly (readonly number[])[]): World {
  const seats = rows.flatMap((blocks, row) => {
    let ax = 0;
    return blocks.flatMap((count) => {
      ax += AISLE_WIDTH;
      return Array.from({ length: count }, () => {
        ax += SPACING;
        return { guid: `${row}-${ax}`, rowGuid: `r${row}`, name: `-${ax}`, ax, ay: 0 };
      });
    });
  });
  const sector = { guid: "s", name: "Stalls", ga: false };
  const guids = rows.map((_, row) => `r${row}`);
  const sent = guids.map((guid) => ({ guid, sectorGuid: "s", rowNumber: guid }));
  const settings = { orphanPrevention: true };
  return new World([{ sector, rows: sent, seats }], { settings, journal: new SharingJournal() });
}

function listingOf({ engine, schemaId }: World): ListedSeat[] {
  const { rows, seats } = engine.state.catalog.layouts.get(schemaId)!.document;
  const rowIds = new Map(rows.map(({ guid, id }) => [guid, id]));
  return seats.map(({ id, rowGuid }) => seat(id, rowIds.get(rowGuid)!));
}

function seat(seatId: number, rowId: number, state: ListedSeat["state"] = "ACTIVE"): ListedSeat {
  const names = { seatName: "", rowName: "", sectionName: "" };
  return { seatId, rowId, state, updatedAt: null, ...names };
}

/** Locks seats, one buyer after the other, until none seems free. */
function sellOut(world: World, listing: ListedSeat[], wishes: Wishes) {
  const map = new SeatMap(listing);
  const random = new Random(wishes.seed);
  let refusals = 0;
  let orphanRefusals = 0;
  for (let turn = 0; map.freeCount > 0 && refusals < REFUSALS_MAX; turn++) {
    const count = wishes.counts[turn % wishes.counts.length]!;
    const { seatIds } = map.choose({ count, orphanRefusals }, random)!;
    const seats = seatIds.map((id) => ({ id }));
    if (world.book("lock", { sessionId: "s", seats }).refused === Result.OK) {
      orphanRefusals = 0;
      for (const id of seatIds) map.set(id, Availability.HELD);
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

test("a choice leaves none or at least two seats of a run", () => {
  for (let runCount = 1; runCount <= 20; runCount++) {
    for (let wanted = 1; wanted <= 6; wanted++) {
      const taken = fittingCount(runCount, wanted);
      expect(taken).toBeGreaterThan(0);
      expect(taken).toBeLessThanOrEqual(Math.max(wanted, 2));
      expect(runCount - taken).not.toBe(1);
    }
  }
});

test("a choice is adjacent seats of one row, even if the listing mixes the rows", () => {
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

test("without a free seat there is no choice", () => {
  const map = new SeatMap([seat(1, 1, "SOLD")]);
  expect(map.choose({ count: 1, orphanRefusals: 0 }, new Random(1))).toBeUndefined();
});

test("without aisles, the orphan rule refuses no choice and the rows sell out", () => {
  const row = fc.tuple(fc.integer({ min: 1, max: 30 }));
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), wishes, (rows, wished) => {
      const world = worldOf(rows);
      const sold = sellOut(world, listingOf(world), wished);
      expect(sold).toEqual({ freeCount: 0, refusals: 0 });
    }),
  );
});

const blocks = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });

test("rows with aisles, which the listing does not show, sell out", () => {
  fc.assert(
    fc.property(fc.array(blocks, { minLength: 1, maxLength: 3 }), wishes, (rows, wished) => {
      const world = worldOf(rows);
      expect(sellOut(world, listingOf(world), wished).freeCount).toBe(0);
      expect(new Set(world.partition.state)).toEqual(new Set([SeatState.LOCKED]));
    }),
  );
});

test("a row that is listed in another order sells out", () => {
  fc.assert(
    fc.property(blocks, wishes, fc.func(fc.integer()), (row, wished, place) => {
      const world = worldOf([row]);
      const listing = listingOf(world).toSorted((a, b) => place(a.seatId) - place(b.seatId));
      expect(sellOut(world, listing, wished).freeCount).toBe(0);
    }),
  );
});

test("after a refusal, a SOLD seat is unavailable and a LOCKED seat is held", () => {
  const view = new InventoryView({ seats: [1, 2, 3, 4].map((id) => seat(id, 1)), areas: [] });
  const wish = { count: 4, orphanRefusals: 0, prefersPlaces: false };
  const basket = view.choose(wish, new Random(1))!;
  view.markRefused(basket, [
    { field: "seats[0].id", code: "LOCKED" },
    { field: "seats[2].id", code: "SOLD" },
  ]);
  expect(view.freeCount).toBe(2);
  expect(view.openCount).toBe(3);
});

test("a late refusal does not make a sold seat held again", () => {
  const view = new InventoryView({ seats: [seat(1, 1)], areas: [] });
  const wish = { count: 1, orphanRefusals: 0, prefersPlaces: false };
  const basket = view.choose(wish, new Random(1))!;
  view.markSold(basket);
  view.markRefused(basket, [{ field: "seats[0].id", code: "LOCKED" }]);
  expect(view.openCount).toBe(0);
});

test("after INSUFFICIENT_CAPACITY, the next choice is a smaller one", () => {
  const counters = { capacity: 9, active: 9, locked: 0, sold: 0, blocked: 0 };
  const area = { groupOfSeatsId: 7, name: "Pit", priceId: 1, ...counters };
  const view = new InventoryView({ seats: [], areas: [area] });
  const wish = { count: 6, orphanRefusals: 0, prefersPlaces: true };
  const basket = view.choose(wish, new Random(1))!;
  expect(basket.areas).toEqual([{ id: 7, capacity: 6 }]);
  view.markRefused(basket, [{ field: "groupOfSeats[0].capacity", code: "INSUFFICIENT_CAPACITY" }]);
  expect(view.choose(wish, new Random(1))!.areas).toEqual([{ id: 7, capacity: 5 }]);
});

test("best finds nothing among what seems free → nothing seems free until that changes", () => {
  const counters = { capacity: 9, active: 9, locked: 0, sold: 0, blocked: 0 };
  const area = { groupOfSeatsId: 7, name: "Pit", priceId: 1, ...counters };
  const view = new InventoryView({ seats: [1, 2, 3].map((id) => seat(id, 1)), areas: [area] });
  const wish = { count: 2, orphanRefusals: 0, prefersPlaces: false };
  const asked = view.wishFor(wish, new Random(1))!;
  expect(asked).toEqual({ quantity: 2, areaIds: [] });
  const refuse = (largestTogether: number, available: number, quantity = 2) => {
    const unsuitable = { quantity, largestTogether, available };
    view.markUnsuitable(asked, unsuitable);
    return view.wishFor({ ...wish, unsuitable }, new Random(1));
  };
  expect(refuse(1, 3)).toEqual({ quantity: 1, areaIds: [] });
  expect(refuse(0, 3, 1)).toEqual({ quantity: 2, areaIds: [] });
  expect([view.freeCount, view.needsUpdate]).toEqual([12, false]);
  expect(refuse(0, 0)).toEqual({ quantity: 2, areaIds: [7] });
  expect(view.freeCount).toBe(9);
  view.markUnsuitable(
    { quantity: 2, areaIds: [7] },
    { quantity: 2, largestTogether: 0, available: 1 },
  );
  expect(view.wishFor(wish, new Random(1))).toBeUndefined();
  expect([view.freeCount, view.openCount, view.needsUpdate]).toEqual([0, 12, true]);
  view.update({ seats: [seat(1, 1)], areas: [area] });
  expect(view.freeCount).toBe(0);
  view.markSold({ seatIds: [1], areas: [] });
  expect(view.wishFor(wish, new Random(1))).toEqual({ quantity: 2, areaIds: [] });
});

test("a buyer who prefers places chooses a seat if no place is free", () => {
  const view = new InventoryView({ seats: [seat(1, 1)], areas: [] });
  const wish = { count: 1, orphanRefusals: 0, prefersPlaces: true };
  expect(view.choose(wish, new Random(1))!.seatIds).toEqual([1]);
});
