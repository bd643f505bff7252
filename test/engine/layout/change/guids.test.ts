/** Guids of layouts: one letter case, and new ones that differ. */
import { expect, test } from "vitest";
import { lowerGuid, mapGuids, newGuid } from "../../../../engine/layout/change.ts";
import { FORMATS } from "../../../../engine/schema.ts";
import { START_MS, World } from "../../../support/engine.ts";
import { guidOf, layoutOf, section } from "../../../support/layout.ts";
import { expectConsistent } from "../../../support/table.ts";

test("new guids are UUIDs in lower case that differ by time and by id", () => {
  const ids = [1, 2, 255, 2 ** 48, Number.MAX_SAFE_INTEGER];
  const guids = [START_MS, START_MS + 1].flatMap((timeMs) => ids.map((id) => newGuid(timeMs, id)));
  expect(new Set(guids).size).toBe(10);
  for (const guid of guids) expect(FORMATS["lower-case-uuid"]!(guid), guid).toBe(true);
});

test("only UUIDs get lower case", () => {
  expect(lowerGuid("0000000A-0000-4000-8000-00000000000B")).toBe(
    "0000000a-0000-4000-8000-00000000000b",
  );
  expect(lowerGuid("Row A")).toBe("Row A");
});

test("objects whose guids do not change are kept as they are", () => {
  const layout = layoutOf(section("Stalls", { A: "1 2" }));
  const same = mapGuids(layout, (guid) => guid);
  expect(same.seats![0]).toBe(layout.seats![0]);
});

test("a layout in capital letters is the same layout", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const capital = mapGuids(layoutOf(section("Stalls", { A: "1 2" })), (guid) => guid.toUpperCase());
  world.putLayout(capital);
  expect(world.engine.state.catalog.layouts.get(world.schemaId)!.document).toEqual(document);
});

test("a layout from before guids had to be UUIDs can be changed, and is replayed", () => {
  const world = new World([]);
  const old = {
    sectors: [{ guid: "Stalls", name: "Stalls", ga: false }],
    rows: [{ guid: "Row A", sectorGuid: "Stalls", rowNumber: "A" }],
    seats: [{ guid: "A1", rowGuid: "Row A", name: "1" }],
    shapes: [{ id: "stage", groupOfSeatsGuid: "Stalls" }, { id: null }],
  };
  // The shapes of commands are checked outside, so the engine still stores such a layout.
  world.putLayout(old);
  const sector = { guid: guidOf("Circle"), name: "Circle", ga: false };
  world.putLayout({ sectors: [sector] });
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  expect(document.seats).toMatchObject(old.seats);
  expect(document.shapes).toMatchObject([{ id: "stage" }, { id: expect.any(String) as string }]);
  expectConsistent(world);
});
