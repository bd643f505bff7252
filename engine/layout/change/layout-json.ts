/**
 * A layout as JSON, in pieces: as one text, the largest layouts would take a hundred megabytes on
 * top of their bytes.
 */
import { utf8Bytes } from "../../shapes/json-bytes.ts";
import type { LayoutDocument } from "../layout-document.ts";

const OBJECTS_PER_PIECE = 1_000;

/** The pieces of `JSON.stringify(document)`. Cost: O(bytes of the layout). */
export function* jsonPieces(document: LayoutDocument): Generator<string, void> {
  let before = "{";
  for (const [name, value] of Object.entries(document) as [string, unknown][]) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ",";
    if (Array.isArray(value)) yield* listPieces(value);
    else yield JSON.stringify(value);
  }
  yield before === "{" ? "{}" : "}";
}

function* listPieces(list: readonly unknown[]): Generator<string, void> {
  let before = "[";
  for (let i = 0; i < list.length; i += OBJECTS_PER_PIECE) {
    const piece = JSON.stringify(list.slice(i, i + OBJECTS_PER_PIECE));
    yield before + piece.slice(1, -1);
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/** Bytes of the layout as JSON in UTF-8. Cost: O(bytes of the layout). */
export function documentBytes(document: LayoutDocument): number {
  let bytes = 0;
  for (const piece of jsonPieces(document)) bytes += utf8Bytes(piece);
  return bytes;
}
