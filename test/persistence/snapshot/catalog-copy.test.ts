/** A copy of the catalog is handed over in parts, and has the rows of one moment. */
import { expect, test } from "vitest";
import { State } from "../../../engine/state.ts";
import { copyCatalog } from "../../../persistence/snapshot/file.ts";
import { Workload } from "../../sim/workload/workload.ts";

test("the parts are all rows in order, whatever changes meanwhile", () => {
  const workload = new Workload(5);
  for (let step = 0; step < 500; step++) workload.step();
  const { catalog } = workload.bench.engine.state;
  const [venue] = catalog.venues.values();
  for (let id = 1_000_000; id < 1_001_200; id++) {
    catalog.put({ table: "venues", row: { ...venue!, id } });
  }
  const copy = copyCatalog(catalog);
  const wanted = { venues: [...catalog.venues.values()], events: [...catalog.events.values()] };
  expect(wanted.events.length).toBeGreaterThan(0);
  const parts = [copy.parts.next().value!];
  catalog.put({ table: "venues", row: { ...venue!, id: 2_000_000 } });
  catalog.events.clear();
  parts.push(...copy.parts);
  const twin = new State().catalog;
  for (const part of parts) for (const put of part) twin.put(put);
  expect([...twin.venues.values()]).toEqual(wanted.venues);
  expect([...twin.events.values()]).toEqual(wanted.events);
  expect(Math.max(...parts.map((part) => part.length))).toBe(500);
});
