/** Layouts in their packed form: JSON, deflated. The log and snapshots store large ones so. */
import { MessageChannel } from "node:worker_threads";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { CatalogPut, TableName } from "../../engine/catalog.ts";
import { LAYOUT_BYTES_MAX } from "../../engine/constants.ts";
import { type LayoutDocument, parseInPieces } from "../../engine/layout/document.ts";
import { PackedLayout } from "../../engine/layout/packed.ts";

/** The fastest: the text of a layout shrinks to a tenth all the same. */
const LEVEL = 1;
/**
 * Room for the JSON, as a multiple of the packed bytes. The library fills one block after another
 * and then joins them, in twice the memory. The unfilled rest of a block takes none.
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

/** @param use - Reads the JSON of a packed layout, whose memory is given back when this returns. */
export function withLayoutJson<Value>(bytes: Uint8Array, use: (json: Buffer) => Value): Value {
  const isLarge = bytes.length >= LARGE_BYTES;
  const room = Math.max(bytes.length * UNPACKED_TIMES, UNPACKED_BYTES_MIN);
  const json = inflateRawSync(bytes, { chunkSize: isLarge ? LARGE_ROOM_BYTES : room });
  try {
    return use(json);
  } finally {
    giveBack(json);
  }
}

/** Frees memory sent to it. */
const { port1: closedPort } = new MessageChannel();
closedPort.close();

/** The garbage collector would free the memory much later, when there are several such blocks. */
function giveBack({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) closedPort.postMessage(null, [buffer]);
}

/** @param bytes - As `packLayout` made them. @param itemOf - As in `parseInPieces`. */
export function unpackDocument(
  bytes: Uint8Array,
  itemOf?: (item: unknown) => unknown,
): LayoutDocument {
  return withLayoutJson(bytes, (json) => {
    const textOf = (from: number, to: number) => json.toString("utf8", from, to);
    const options = itemOf === undefined ? {} : { itemOf };
    return parseInPieces(json, textOf, options) as unknown as LayoutDocument;
  });
}

/** A put as the log, or a message to a thread, stores it. */
export function storedPut(put: CatalogPut): CatalogPut {
  if (put.table !== "layouts") return put;
  const { table, row } = put;
  if (!(row.document instanceof PackedLayout)) return put.made === undefined ? put : { table, row };
  return { table, row: { ...row, document: row.document.bytes as unknown as LayoutDocument } };
}

/**
 * A row as a snapshot stores it: JSON, in which a packed layout is its bytes in Base64. As JSON,
 * the largest layouts would be in memory five times while SQLite writes them.
 */
export function storedRow({ table, row }: CatalogPut): string {
  if (table !== "layouts" || !(row.document instanceof PackedLayout)) return JSON.stringify(row);
  const { buffer, byteOffset, byteLength } = row.document.bytes;
  const document = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
  return JSON.stringify({ ...row, document });
}

/** Undoes `storedRow`. @throws SyntaxError when the text is not JSON. */
export function loadedRow(table: TableName, text: string): CatalogPut {
  const row = JSON.parse(text) as Record<string, unknown>;
  const { document } = row;
  const isPacked = table === "layouts" && typeof document === "string";
  const whole = isPacked
    ? { ...row, document: packedLayout(Buffer.from(document, "base64")) }
    : row;
  return { table, row: whole } as unknown as CatalogPut;
}

/** Undoes `storedPut`. */
export function loadedPut(put: CatalogPut): CatalogPut {
  if (put.table !== "layouts" || !(put.row.document instanceof Uint8Array)) return put;
  return { ...put, row: { ...put.row, document: packedLayout(put.row.document) } };
}
