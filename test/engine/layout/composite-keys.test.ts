/** Composite keys, by which v1 names the objects of a layout. */
import { expect, test } from "vitest";
import { findKey, joinKey } from "../../../engine/layout/labels.ts";
import { buildLayout, EMPTY_DOCUMENT, seatName } from "../../../engine/layout/layout.ts";
import { World } from "../../support/engine.ts";
import { area, guidOf, section, table } from "../../support/layout.ts";

test("three labels find a seat, a name finds an area, any other key finds nothing", () => {
  const world = new World([section("Stalls", { A: "1 2" }), table("T", "1"), area("Pit", 5)]);
  const { layout } = world.partition;
  const idOf = (label: string) => world.labels.idOf(label);
  const cases: [string, string, string][] = [
    ["Stalls;;A;;2", "seats", "A2"],
    ["T;;T;;1", "seats", "T1"],
    ["Pit", "groupOfSeats", "Pit"],
  ];
  for (const [key, member, label] of cases) {
    expect(findKey(layout, key), key).toEqual({ member, id: idOf(label) });
  }
  for (const key of ["", "Stalls", "Stalls;;A", "stalls;;A;;2", "Stalls;;A;;3", "Pit;;", "A;;2"]) {
    expect(findKey(layout, key), key).toBeUndefined();
  }
  expect(joinKey("Stalls", "A", "2")).toBe("Stalls;;A;;2");
});

test("labels that begin or end in one separator character are found", () => {
  const world = new World([
    section("VIP;", { ";A": "1;" }),
    section("VIP", { "B;": "1 ;2", C: ";1" }),
    area(";Pit;", 5),
  ]);
  const { layout } = world.partition;
  const keys = ["VIP;;;;A;;1;", "VIP;;B;;;1", "VIP;;B;;;;2", "VIP;;C;;;1"];
  const found = keys.map((key) => layout.seatIndexes.get(findKey(layout, key)?.id ?? 0)!);
  expect(found.map((seat) => seatName(layout, seat))).toEqual(["1;", "1", ";2", ";1"]);
  expect(new Set(found).size).toBe(keys.length);
  expect(findKey(layout, ";Pit;")?.member).toBe("groupOfSeats");
});

test("a key that two seats have names neither", () => {
  const sectors = ["S", "S;"].map((name, i) => ({ id: i + 1, guid: name, name, ga: false }));
  const rows = [
    { id: 10, guid: "1", sectorGuid: "S", rowNumber: ";A" },
    { id: 11, guid: "2", sectorGuid: "S;", rowNumber: "A" },
    { id: 12, guid: "3", sectorGuid: "S", rowNumber: "B;" },
    { id: 13, guid: "4", sectorGuid: "S", rowNumber: "B" },
  ];
  const names = ["1", "1", "2", ";2"];
  const seats = rows.map(({ guid }, i) => ({ id: 20 + i, guid, rowGuid: guid, name: names[i]! }));
  const layout = buildLayout({ ...EMPTY_DOCUMENT, sectors, rows, seats });
  for (const key of ["S;;;A;;1", "S;;B;;;2"]) expect(findKey(layout, key), key).toBeUndefined();
  const other = buildLayout({ ...EMPTY_DOCUMENT, sectors, rows, seats: seats.slice(1, 3) });
  expect(findKey(other, "S;;;A;;1")?.id).toBe(21);
  expect(findKey(other, "S;;B;;;2")?.id).toBe(22);
});

test("after a change of the layout, keys find its new seats and no removed ones", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  expect(findKey(world.partition.layout, "Stalls;;A;;2")).toBeDefined();
  world.putLayout({
    seats: [
      { guid: guidOf("A2"), rowGuid: guidOf("row A"), name: "2", toRemove: true },
      { guid: guidOf("A3"), rowGuid: guidOf("row A"), name: "3" },
    ],
  });
  expect(findKey(world.partition.layout, "Stalls;;A;;2")).toBeUndefined();
  expect(findKey(world.partition.layout, "Stalls;;A;;3")?.id).toBe(world.labels.idOf("A3"));
});
