/** Zones of many objects in a record of the log. */
import { expect, test } from "vitest";
import { type CatalogRecord, RecordType } from "../../../engine/records.ts";
import { runsOfZones, type ZoneChange } from "../../../engine/layout/zones.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { packCatalog, unpackCatalog } from "../../../persistence/log/codec.ts";

const SEATS = 200_000;

function recordOf(zones: readonly ZoneChange[]): CatalogRecord {
  const actor = { kind: 1, id: 2 } as const;
  const type = RecordType.CATALOG;
  return { type, actor, nextId: 1_000_000, puts: [], removes: [{ table: "zones", key: 9 }], zones };
}

test("zones come back as rows, and the removed ones before other removes", () => {
  const runs = Float64Array.from([10, 2, 7, 20, 1, 0, 30, 1, 8]);
  const { puts, removes } = unpackCatalog(packCatalog(recordOf([{ schemaId: 5, runs }])));
  const row = (id: number, zoneId: number) => ({
    table: "zoneAssignments",
    row: { id, schemaId: 5, zoneId },
  });
  expect(puts).toEqual([row(10, 7), row(11, 7), row(30, 8)]);
  expect(removes).toEqual([
    { table: "zoneAssignments", key: 20 },
    { table: "zones", key: 9 },
  ]);
});

test("a zone of every seat takes a few bytes in the log", () => {
  const zones = new Map(Array.from({ length: SEATS }, (_, i) => [100 + i, 7]));
  const bytes = packCatalog(recordOf([{ schemaId: 5, runs: runsOfZones(zones) }]));
  expect(bytes.length).toBeLessThan(200);
  expect(unpackCatalog(bytes).puts).toHaveLength(SEATS);
});

test.each([
  ["ids that were not given out", [999_999, 2, 7]],
  ["a part of an id", [1.5, 1, 7]],
  ["a negative number of objects", [1, -1, 7]],
])("runs of %s are malformed", (_, runs) => {
  const bytes = () => {
    const packed = packCatalog(recordOf([{ schemaId: 5, runs: Float64Array.from([1, 1, 7]) }]));
    const wrong = Buffer.from(Float64Array.from(runs).buffer);
    const right = Buffer.from(Float64Array.from([1, 1, 7]).buffer);
    wrong.copy(packed, packed.indexOf(right));
    return packed;
  };
  expect(() => unpackCatalog(bytes())).toThrow(Malformed);
});
