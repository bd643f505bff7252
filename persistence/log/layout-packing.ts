/** Layouts in their packed form: JSON, deflated. The log stores large ones like this. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { CatalogPut } from "../../engine/catalog.ts";
import { LAYOUT_BYTES_MAX } from "../../engine/constants.ts";
import type { LayoutDocument } from "../../engine/layout/layout-document.ts";
import { PackedLayout } from "../../engine/layout/packed-layout.ts";

/** The fastest: the text of a layout shrinks to a tenth all the same. */
const LEVEL = 1;
/**
 * Room for the JSON, as a multiple of the packed bytes. The library fills one block after another
 * and then joins them, which takes twice the memory. What it does not fill of a block takes none.
 */
const UNPACKED_TIMES = 32;
const UNPACKED_BYTES_MIN = 64 * 1_024;
const LARGE_BYTES = 128 * 1_024;
/** The C library gives a block above 32 MiB back to the system, and may keep a shorter one. */
const LARGE_ROOM_BYTES = LAYOUT_BYTES_MAX + UNPACKED_BYTES_MIN;

/** @param json - A layout document. Cost: O(bytes), a second for the largest layout. */
export function packLayout(json: string | Uint8Array): PackedLayout {
  return packedLayout(deflateRawSync(json, { level: LEVEL }));
}

/** @param bytes - As `packLayout` made them. */
export function packedLayout(bytes: Uint8Array): PackedLayout {
  return new PackedLayout(bytes, unpackDocument);
}

/** @returns The JSON of a packed layout, which may be the beginning of a longer block of memory. */
export function unpackLayout(bytes: Uint8Array): Buffer {
  const isLarge = bytes.length >= LARGE_BYTES;
  const room = Math.max(bytes.length * UNPACKED_TIMES, UNPACKED_BYTES_MIN);
  return inflateRawSync(bytes, { chunkSize: isLarge ? LARGE_ROOM_BYTES : room });
}

/**
 * Parses the JSON in pieces of its lists. As one text, the largest layouts would take fifty
 * megabytes more.
 *
 * @param bytes - As `packLayout` made them.
 */
export function unpackDocument(bytes: Uint8Array): LayoutDocument {
  const json = unpackLayout(bytes);
  const lists: unknown[][] = [];
  let rest = "";
  let restFrom = 0;
  for (const { from, to, cuts } of listsIn(json)) {
    rest += json.toString("utf8", restFrom, from);
    restFrom = to;
    const ends = [...cuts, to];
    lists.push(
      ends.flatMap((end, i) => {
        const start = i === 0 ? from : ends[i - 1]! + 1;
        return JSON.parse(`[${json.toString("utf8", start, end)}]`) as unknown[];
      }),
    );
  }
  const document = JSON.parse(rest + json.toString("utf8", restFrom)) as Record<string, unknown>;
  for (const [member, value] of Object.entries(document)) {
    if (Array.isArray(value)) document[member] = lists.shift();
  }
  return document as unknown as LayoutDocument;
}

/** A list that is a member of the document: its content, and the commas at which it may be cut. */
interface ListPlace {
  readonly from: number;
  readonly to: number;
  readonly cuts: readonly number[];
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const LIST_DEPTH = 2;
const PIECE_BYTES = 1_024 * 1_024;

/** @param json - An object, as `JSON.stringify` writes it. Cost: O(bytes). */
function* listsIn(json: Uint8Array): Generator<ListPlace, void> {
  let depth = 0;
  let isText = false;
  let [from, pieceFrom] = [0, 0];
  let cuts: number[] = [];
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!;
    if (isText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth === LIST_DEPTH && byte === OPEN_LIST) {
        from = pieceFrom = i + 1;
        cuts = [];
      }
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (depth === LIST_DEPTH && byte === CLOSE_LIST) yield { from, to: i, cuts };
      depth -= 1;
    } else if (byte === COMMA && depth === LIST_DEPTH && i - pieceFrom >= PIECE_BYTES) {
      cuts.push(i);
      pieceFrom = i + 1;
    }
  }
}

/** A put as the log, or a message to a thread, stores it. */
export function storedPut(put: CatalogPut): CatalogPut {
  if (put.table !== "layouts") return put;
  const { table, row } = put;
  if (!(row.document instanceof PackedLayout)) return put.made === undefined ? put : { table, row };
  return { table, row: { ...row, document: row.document.bytes as unknown as LayoutDocument } };
}

/** `JSON.stringify` of a row, which makes no objects of a packed layout. */
export function jsonOfRow({ row }: CatalogPut): string {
  if (!("document" in row) || !(row.document instanceof PackedLayout)) return JSON.stringify(row);
  const document = unpackLayout(row.document.bytes).toString();
  return JSON.stringify({ ...row, document: 0 }).replace('"document":0', () => {
    return `"document":${document}`;
  });
}

/** Undoes `storedPut`. */
export function loadedPut(put: CatalogPut): CatalogPut {
  if (put.table !== "layouts" || !(put.row.document instanceof Uint8Array)) return put;
  return { ...put, row: { ...put.row, document: packedLayout(put.row.document) } };
}
