/** Composite keys, by which v1 names the objects of a layout. */
import { expect, test } from "vitest";
import { findKey, joinKey } from "../../../engine/layout/composite-keys.ts";
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
