/** The catalog: rows by key, and the prices of an event by slot. */
import { expect, test } from "vitest";
import { Catalog, type PriceRow } from "../../../engine/catalog.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";

const price = (id: number, slot: number, eventId = "e"): PriceRow => ({
  id,
  eventId,
  slot,
  name: `P${id}`,
  renamedAtMs: 0,
  externalId: null,
});

test("a price is found by its event and slot until it is removed", () => {
  const catalog = new Catalog();
  for (const row of [price(1, 1), price(2, 2), price(3, 1, "f")]) {
    catalog.put({ table: "prices", row });
  }
  expect([...catalog.pricesOf("e").keys()]).toEqual([1, 2]);
  catalog.put({ table: "prices", row: { ...price(1, 1), name: "renamed" } });
  expect(catalog.pricesOf("e").get(1)!.name).toBe("renamed");
  catalog.remove({ table: "prices", key: 1 });
  expect([...catalog.pricesOf("e").keys()]).toEqual([2]);
  catalog.remove({ table: "prices", key: 2 });
  expect(catalog.pricesOf("e").size).toBe(0);
  expect(catalog.pricesOf("f").size).toBe(1);
  expect(catalog.pricesOf("nowhere").size).toBe(0);
});

test("a new price takes the lowest slot that is free", () => {
  const world = new World([section("Stalls", { A: "1" })], { unpriced: true });
  const { catalog } = world.engine.state;
  const half = world.createPrice("Half");
  catalog.remove({ table: "prices", key: world.priceId });
  expect(catalog.prices.get(world.createPrice("New"))!.slot).toBe(1);
  expect(catalog.prices.get(half)!.slot).toBe(2);
  expect(catalog.prices.get(world.createPrice("Newer"))!.slot).toBe(3);
});
