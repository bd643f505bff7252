/** The ranges of ids of cells. */
import { expect, test } from "vitest";
import { baseOfCell, CELL_IDS, CELL_MAX, cellOf, placeInCell } from "../../../engine/cells.ts";

test.each([0, 1, 7, CELL_MAX])("the first and the last id of cell %d show it", (cell) => {
  const [first, last] = [baseOfCell(cell) + 1, baseOfCell(cell) + CELL_IDS - 1];
  expect([cellOf(first), cellOf(last)]).toEqual([cell, cell]);
  expect([placeInCell(first), placeInCell(last)]).toEqual([1, CELL_IDS - 1]);
  expect(Number.isSafeInteger(last)).toBe(true);
});

test("the ids of a server without cells are those of cell 0", () => {
  expect([baseOfCell(0), cellOf(1), placeInCell(48)]).toEqual([0, 0, 48]);
});
