/** Packed layouts. */
import { expect, test } from "vitest";
import type { LayoutDocument } from "../../../engine/layout/document.ts";
import { PackedLayout, plainDocument } from "../../../engine/layout/packed.ts";

const DOCUMENT: LayoutDocument = {
  sectors: [{ id: 1, guid: "s", name: "Stalls", ga: false }],
  rows: [{ id: 2, guid: "r", sectorGuid: "s", rowNumber: "A" }],
  seats: [{ id: 3, guid: "1", rowGuid: "r", name: "1" }],
  shapes: [{ id: "x" }],
  clientViewBox: { width: 1 },
};

test("a packed layout has the members and the JSON of its document", () => {
  const packed = new PackedLayout(new Uint8Array(), () => DOCUMENT);
  const { sectors, rows, seats, shapes, clientViewBox } = packed;
  expect({ sectors, rows, seats, shapes, clientViewBox }).toEqual(DOCUMENT);
  expect(JSON.stringify({ id: 1, document: packed })).toBe(
    JSON.stringify({ id: 1, document: DOCUMENT }),
  );
  expect(plainDocument(packed)).toBe(DOCUMENT);
  expect(plainDocument(DOCUMENT)).toBe(DOCUMENT);
});

test("nothing is unpacked before a member is read", () => {
  let unpacked = 0;
  const packed = new PackedLayout(new Uint8Array(), () => {
    unpacked += 1;
    return DOCUMENT;
  });
  expect(unpacked).toBe(0);
  expect(packed.rows).toBe(DOCUMENT.rows);
  expect(unpacked).toBe(1);
});
