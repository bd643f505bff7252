/** The table of zones, compared with a plain map of rows. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import {
  countOfRuns,
  eachZone,
  runsOfZones,
  type ZoneAssignmentRow,
  ZoneRuns,
  ZoneTable,
  zonesInSlices,
} from "../../../engine/layout/zones.ts";

const SCHEMAS = 3;
const IDS_OF_SCHEMA = 20;
const NONE = 0;

const byId = ([a]: readonly [number, unknown], [b]: readonly [number, unknown]) => a - b;

/** Objects of a schema and their new zones. */
const changes = fc.array(
  fc.record({
    schemaId: fc.integer({ min: 1, max: SCHEMAS }),
    wanted: fc.uniqueArray(fc.tuple(fc.nat(IDS_OF_SCHEMA - 1), fc.nat(2)), {
      selector: ([place]) => place,
    }),
  }),
  { maxLength: 30 },
);

test("changes in runs and rows leave what they leave in a map of rows", () => {
  fc.assert(
    fc.property(changes, fc.boolean(), (steps, byRows) => {
      const table = new ZoneTable();
      const rows = new Map<number, ZoneAssignmentRow>();
      for (const { schemaId, wanted } of steps) {
        const runs = new ZoneRuns();
        for (const [place, zoneId] of wanted) {
          const id = 1_000 * schemaId + place;
          if (zoneId === NONE && !rows.has(id)) continue;
          if (zoneId === NONE) rows.delete(id);
          else rows.set(id, { id, schemaId, zoneId });
          if (!byRows) runs.add(id, zoneId);
          else if (zoneId === NONE) expect(table.remove(id)).toBe(true);
          else table.put({ id, schemaId, zoneId });
        }
        if (!byRows) table.change({ schemaId, runs: runs.runs });
        expect(table.size).toBe(rows.size);
        expect([...table].toSorted(byId)).toEqual([...rows].toSorted(byId));
        for (const [id, row] of rows) expect(table.get(id)).toEqual(row);
      }
    }),
  );
});

test("a run has the objects whose ids follow each other and whose zone is the same", () => {
  const zones = new Map([1, 2, 3, 5, 6, 4].map((id) => [id, id === 6 ? 8 : 7]));
  const runs = runsOfZones(zones);
  expect([...runs]).toEqual([1, 3, 7, 5, 1, 7, 6, 1, 8, 4, 1, 7]);
  expect(countOfRuns(runs)).toBe(6);
  const visited: number[][] = [];
  eachZone(runs, (...object) => visited.push(object));
  expect(visited).toEqual([...zones]);
  const work = zonesInSlices(runs);
  expect(work.next()).toEqual({ done: true, value: zones });
});

test("zones that were made before are taken as they are when the schema has none", () => {
  const table = new ZoneTable();
  const made = new Map([
    [1, 7],
    [2, 7],
  ]);
  table.change({ schemaId: 3, runs: runsOfZones(made), made });
  expect(table.of(3)).toBe(made);
  expect(table.size).toBe(2);
  expect(table.of(4).size).toBe(0);
});

test.each([
  ["one of many", [1, 1, 0]],
  ["as many as there are, but others", [1, 1, 0, 3, 1, 0]],
])("a zone that an object does not have is not removed: %s", (_, runs) => {
  const table = new ZoneTable();
  for (const id of [2, 3]) table.put({ id, schemaId: 1, zoneId: 7 });
  const change = () => table.change({ schemaId: 1, runs: Float64Array.from(runs) });
  expect(change).toThrow(Broken);
  expect(table.remove(4)).toBe(false);
});
