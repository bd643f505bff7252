/** Layouts in their packed form: JSON, deflated. The log stores large ones like this. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { CatalogPut } from "../../engine/catalog.ts";
import type { LayoutDocument } from "../../engine/layout/layout-document.ts";
import { PackedLayout } from "../../engine/layout/packed-layout.ts";

/** The fastest: the text of a layout shrinks to a tenth all the same. */
const LEVEL = 1;

/** @param json - A layout document. Cost: O(bytes), a second for the largest layout. */
export function packLayout(json: string | Uint8Array): PackedLayout {
  return packedLayout(deflateRawSync(json, { level: LEVEL }));
}

/** @param bytes - As `packLayout` made them. */
export function packedLayout(bytes: Uint8Array): PackedLayout {
  return new PackedLayout(
    bytes,
    (packed) => JSON.parse(unpackLayout(packed).toString()) as LayoutDocument,
  );
}

/** @returns The JSON of a packed layout. */
export function unpackLayout(bytes: Uint8Array): Buffer {
  return inflateRawSync(bytes);
}

/** A put as the log, or a message to a thread, stores it. */
export function storedPut(put: CatalogPut): CatalogPut {
  if (put.table !== "layouts") return put;
  const { table, row } = put;
  if (!(row.document instanceof PackedLayout)) return put.made === undefined ? put : { table, row };
  return { table, row: { ...row, document: row.document.bytes as unknown as LayoutDocument } };
}

/** Undoes `storedPut`. */
export function loadedPut(put: CatalogPut): CatalogPut {
  if (put.table !== "layouts" || !(put.row.document instanceof Uint8Array)) return put;
  return { ...put, row: { ...put.row, document: packedLayout(put.row.document) } };
}
