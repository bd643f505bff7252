/** A layout as JSON, in pieces. */
import { expect, test } from "vitest";
import { documentBytes, jsonPieces } from "../../../../engine/layout/change/layout-json.ts";
import type { LayoutDocument } from "../../../../engine/layout/layout-document.ts";
import { EMPTY_DOCUMENT } from "../../../../engine/layout/layout.ts";

const seat = (id: number) => ({ id, guid: `guid-${id}`, rowGuid: "r", name: `Ж${id} \u{1f3ad}\n` });
const withSeats = (count: number): LayoutDocument => ({
  ...EMPTY_DOCUMENT,
  sectors: [{ id: 1, guid: "s", name: "Parkett", ga: false, type: undefined }],
  seats: Array.from({ length: count }, (_, i) => seat(i)),
});

test.each([
  ["without objects", EMPTY_DOCUMENT],
  ["without members", {} as LayoutDocument],
  ["with a drawing member", { ...EMPTY_DOCUMENT, note: "n", left: undefined, clientViewBox: [1] }],
  ["of one piece", withSeats(1_000)],
  ["of several pieces", withSeats(2_001)],
])("the pieces of a layout %s are its JSON", (_, document) => {
  const pieces = [...jsonPieces(document)];
  expect(pieces.join("")).toBe(JSON.stringify(document));
  expect(documentBytes(document)).toBe(Buffer.byteLength(JSON.stringify(document)));
});

test("no piece has more than a thousand objects", () => {
  const lengths = [...jsonPieces(withSeats(5_000))].map((piece) => piece.split("rowGuid").length);
  expect(Math.max(...lengths)).toBe(1_001);
});
