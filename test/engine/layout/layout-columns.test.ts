/** A seat index as columns. */
import { expect, test } from "vitest";
import { columnsOf, layoutOfColumns } from "../../../engine/layout/packed.ts";
import { buildLayout, EMPTY_DOCUMENT, type Layout } from "../../../engine/layout/layout.ts";
import { World } from "../../support/engine.ts";
import { area, section, table } from "../../support/layout.ts";

const PARTS = [
  section("Stalls", { A: "1 2 3", B: "1", C: "2 10" }),
  table("Round", "1 2"),
  area("Pit", 100),
  area("Lawn", 5),
];

/** Everything but the search for ids, in the order of the maps. */
function insides({ seatIndexes, areaIndexes, groups, ...layout }: Layout) {
  const found = Array.from(layout.seatIds, (id) => seatIndexes.get(id));
  return { ...layout, found, areaIndexes: [...areaIndexes], groups: [...groups] };
}

test("a layout is the same after it was taken apart and copied to another thread", () => {
  const { layout } = new World(PARTS).partition;
  const copy = layoutOfColumns(structuredClone(columnsOf(layout)));
  expect(insides(copy)).toEqual(insides(layout));
  expect(copy.seatIndexes.get(424_242)).toBeUndefined();
});

test("an empty layout has empty columns", () => {
  const empty = buildLayout(EMPTY_DOCUMENT);
  expect(insides(layoutOfColumns(columnsOf(empty)))).toEqual(insides(empty));
});
