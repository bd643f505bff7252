/** Which seats of a row are next to each other. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Seat } from "../../../engine/layout/document.ts";
import { orderRow } from "../../../engine/layout/layout.ts";

type Position = readonly [x: number, y: number];

/** Seats labelled 1, 2, … in the given order. */
function seatsAt(positions: readonly (Position | null)[]): Seat[] {
  return positions.map((position, i) => {
    const seat = { id: i + 1, guid: `s${i}`, rowGuid: "r", name: String(i + 1) };
    return position === null ? seat : { ...seat, x: position[0], y: position[1] };
  });
}

/** Pairs of labels next to each other, whichever end of the row comes first. */
function pairs(seats: readonly Seat[]): string[] {
  const { order, aisleAfter } = orderRow(seats);
  const found: string[] = [];
  for (let i = 0; i + 1 < order.length; i++) {
    if (aisleAfter[i] === true) continue;
    const pair = [order[i]!, order[i + 1]!].map((position) => seats[position]!.name);
    found.push(pair.sort((a, b) => Number(a) - Number(b)).join("-"));
  }
  return found.sort();
}

test("neighbours follow from the coordinates, whatever the order of the seats", () => {
  const row = seatsAt([3, 1, 2, 0].map((x) => [x, 0] as const));
  expect(pairs(row)).toEqual(["1-3", "2-3", "2-4"]);
});

test("vertical and diagonal rows work like horizontal ones", () => {
  const upright = seatsAt([0, 1, 2, 3].map((i) => [5, i] as const));
  const slanted = seatsAt([0, 1, 2, 3].map((i) => [i, -i] as const));
  for (const row of [upright, slanted]) expect(pairs(row)).toEqual(["1-2", "2-3", "3-4"]);
});

test("a curved row is ordered along its curve", () => {
  const curved = seatsAt(
    Array.from({ length: 9 }, (_, i): Position => {
      const angle = (i - 4) / 8;
      return [20 * Math.sin(angle), 20 * Math.cos(angle)];
    }),
  );
  expect(pairs(curved)).toEqual(["1-2", "2-3", "3-4", "4-5", "5-6", "6-7", "7-8", "8-9"]);
});

test("a gap wider than one and a half times the median spacing is an aisle", () => {
  const gapOf = (gap: number) => [0, 1, 2, 2 + gap, 3 + gap].map((x): Position => [x, 0]);
  expect(pairs(seatsAt(gapOf(1.5)))).toEqual(["1-2", "2-3", "3-4", "4-5"]);
  expect(pairs(seatsAt(gapOf(1.501)))).toEqual(["1-2", "2-3", "4-5"]);
});

test("the median of an even number of gaps is the mean of the two in the middle", () => {
  // Gaps 1, 1, 2, 2: the median is 1.5, an aisle is wider than 2.25.
  expect(pairs(seatsAt([0, 1, 2, 4, 6].map((x) => [x, 0] as const)))).toHaveLength(4);
  // Gaps 1, 1, 1.2, 2: the median is 1.1, an aisle is wider than 1.65.
  expect(pairs(seatsAt([0, 1, 2, 3.2, 5.2].map((x) => [x, 0] as const)))).toHaveLength(3);
});

test.each([
  ["10 9 A2 1 A10", "1 9 10 A2 A10"],
  ["f é C b A", "A b C é f"],
  ["e E É é", "e E é É"],
])("without coordinates, %s sit in the order of a sorted list: %s", (labels, ordered) => {
  const names = labels.split(" ");
  const row = seatsAt(names.map(() => null)).map((seat, i) => ({ ...seat, name: names[i]! }));
  const { order, aisleAfter } = orderRow(row);
  expect(order.map((position) => row[position]!.name).join(" ")).toBe(ordered);
  expect(aisleAfter).not.toContain(true);
});

test("one seat without coordinates makes the whole row follow its labels", () => {
  const row = seatsAt([[9, 0], null, [0, 0]]);
  expect(pairs(row)).toEqual(["1-2", "2-3"]);
  const nulls = row.map((seat) => ({ ...seat, x: seat.x ?? null, y: seat.y ?? null }));
  expect(pairs(nulls)).toEqual(["1-2", "2-3"]);
});

test("seats at one point are ordered by label", () => {
  const row = seatsAt([1, 1, 1].map((x) => [x, x] as const));
  expect(orderRow(row).order).toEqual([0, 1, 2]);
});

test("rows of no, one and two seats have no, no and one pair of neighbours", () => {
  expect(orderRow([])).toEqual({ order: [], aisleAfter: [] });
  expect(pairs(seatsAt([[0, 0]]))).toEqual([]);
  expect(pairs(seatsAt([0, 90].map((x) => [x, 0] as const)))).toEqual(["1-2"]);
});

test("rotating, moving and scaling a row keeps its neighbours", () => {
  const gap = fc.constantFrom(1, 1, 1, 1.2, 3.7);
  const angle = fc.double({ min: 0, max: 7, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(gap, { minLength: 1, maxLength: 12 }),
      angle,
      fc.nat(50),
      (gaps, a, by) => {
        const xs = [0];
        for (const width of gaps) xs.push(xs.at(-1)! + width);
        const level = seatsAt(xs.map((x) => [x, 0] as const));
        const scale = by + 1;
        const turned = seatsAt(
          xs.map((x) => [x * scale * Math.cos(a) + by, x * scale * Math.sin(a) - by] as const),
        );
        expect(pairs(turned)).toEqual(pairs(level));
      },
    ),
    { numRuns: 500, seed: 1 },
  );
});

test("seats at the same point are ordered by label, and those with one label by id", () => {
  const names = ["9", "3", "10", "3"];
  const positions = [5, 0, 5, 0].map((x) => [x, 0] as const);
  const row = seatsAt(positions).map((seat, i) => ({ ...seat, name: names[i]! }));
  // Seats 2 and 4 are "3" twice at the one end, seats 1 and 3 are "9" and "10" at the other.
  expect(orderRow(row).order).toEqual([1, 3, 0, 2]);
  expect(orderRow(row.toReversed()).order).toEqual([2, 0, 3, 1]);
});
