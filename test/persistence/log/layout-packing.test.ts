/** Large layouts in the log. */
import { expect, test } from "vitest";
import type { CatalogPut } from "../../../engine/catalog.ts";
import type { LayoutDocument } from "../../../engine/layout/document.ts";
import { buildLayout } from "../../../engine/layout/layout.ts";
import { PackedLayout } from "../../../engine/layout/packed.ts";
import { RecordType } from "../../../engine/records.ts";
import { packCatalog, unpackCatalog } from "../../../persistence/log/codec.ts";
import {
  loadedRow,
  packLayout,
  storedPut,
  storedRow,
  withLayoutJson,
} from "../../../persistence/log/layout-packing.ts";

const DOCUMENT: LayoutDocument = {
  sectors: [{ id: 1, guid: "s", name: "Parkett ü 🎭", ga: false }],
  rows: [{ id: 2, guid: "r", sectorGuid: "s", rowNumber: "A" }],
  seats: Array.from({ length: 500 }, (_, i) => {
    return { id: 3 + i, guid: `${i}`, rowGuid: "r", name: `${i}`, x: i / 3, note: null };
  }),
  shapes: [],
  clientViewBox: null,
};
const schema: CatalogPut = { table: "clones", row: { id: "c", organizationId: 1, schemaId: 9 } };
const recordOf = (document: LayoutDocument) => ({
  type: RecordType.CATALOG,
  actor: { kind: 1, id: 1 } as const,
  nextId: 1_000,
  removes: [],
  puts: [
    schema,
    {
      table: "layouts",
      row: { id: 9, document, version: 2 },
      made: { layout: buildLayout(DOCUMENT) },
    } as const,
  ],
});

test("a packed layout in a record is read back packed, with the same document", () => {
  const bytes = packCatalog(recordOf(packLayout(JSON.stringify(DOCUMENT))));
  expect(bytes.length).toBeLessThan(JSON.stringify(DOCUMENT).length / 2);
  const [first, second] = unpackCatalog(bytes).puts;
  expect(first).toEqual(schema);
  const row = second!.table === "layouts" ? second.row : undefined;
  expect(row!.document).toBeInstanceOf(PackedLayout);
  expect(JSON.parse(JSON.stringify(row))).toEqual({
    id: 9,
    document: DOCUMENT,
    version: 2,
  });
});

test("a layout that is not packed is stored as before, without what was built of it", () => {
  const { puts } = unpackCatalog(packCatalog(recordOf(DOCUMENT)));
  const row = { id: 9, document: DOCUMENT, version: 2 };
  expect(puts).toEqual([schema, { table: "layouts", row }]);
  expect(storedPut(schema)).toBe(schema);
});

test("a packed layout of several pieces is read back, whatever its texts look like", () => {
  const name = `[{"a":[1,2]},{"b":"\\"}] \\\\ , ü 🎭`;
  const seats = Array.from({ length: 30_000 }, (_, i) => {
    return { id: 3 + i, guid: `${i}`, rowGuid: "r", name, tags: [i, [name], { "],": "}" }] };
  });
  for (const document of [
    { ...DOCUMENT, seats, clientViewBox: [[1, 2], "3,"] },
    { ...DOCUMENT, seats, shapes: [[], {}], clientViewBox: { a: [1, { b: "," }], c: "]" } },
    { ...DOCUMENT, sectors: [], rows: [], seats: [] },
  ]) {
    const json = JSON.stringify(document);
    const packed = packLayout(json);
    expect(JSON.stringify(packed)).toBe(json);
  }
});

test("a packed layout in a snapshot is a short text, and is read back packed", () => {
  const put = recordOf(packLayout(JSON.stringify(DOCUMENT))).puts[1]!;
  const text = storedRow(put);
  expect(text.length).toBeLessThan(JSON.stringify(DOCUMENT).length / 2);
  const loaded = loadedRow("layouts", text);
  const row = loaded.table === "layouts" ? loaded.row : undefined;
  expect(row!.document).toBeInstanceOf(PackedLayout);
  expect(JSON.parse(JSON.stringify(row))).toEqual({
    id: 9,
    document: DOCUMENT,
    version: 2,
  });
});

test("any other row in a snapshot is its JSON", () => {
  const { puts } = recordOf(DOCUMENT);
  for (const put of [schema, { table: puts[1]!.table, row: puts[1]!.row }] as CatalogPut[]) {
    expect(storedRow(put)).toBe(JSON.stringify(put.row));
    expect(loadedRow(put.table, storedRow(put))).toEqual(put);
  }
});

test("the JSON of a packed layout is freed after its use", () => {
  const { bytes } = packLayout(JSON.stringify(DOCUMENT));
  const json = withLayoutJson(bytes, (given) => {
    expect(JSON.parse(given.toString())).toEqual(DOCUMENT);
    return given;
  });
  expect(json).toHaveLength(0);
  expect(() => withLayoutJson(bytes, () => JSON.parse("no"))).toThrow(SyntaxError);
});
