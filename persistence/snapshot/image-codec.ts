/**
 * Encodes the image of a partition into the bytes of a snapshot's row and decodes it. No I/O. A
 * head of 32 bytes is followed by the columns in the order of `columnsOf`, each after its length in
 * bytes. All numbers are little-endian, and a typed array is stored as it is in memory.
 *
 *     0 u32 version    8 f64 touches of the change list    24 u32 oldest seat of the change list
 *     4 u32 columns   16 f64 more than every fence so far  28 u32 zero
 */
import { assert } from "../../engine/assert.ts";
import type { PartitionImage } from "../../engine/inventory/image.ts";
import { Malformed } from "../disk/faults.ts";
import { ensureFormat, FORMATS } from "../disk/formats.ts";
import { ByteReader, ByteWriter } from "../log/bytes.ts";

const HEAD_BYTES = 32;
const COLUMN_COUNT = 19;
const AREA_COUNTERS = 4;
const AREA_HELD = 3;

assert(
  new Uint8Array(new Uint16Array([1]).buffer)[0] === 1,
  "the machine stores numbers as the snapshots do, the low byte first",
);

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;
interface ColumnType<C> {
  new (buffer: ArrayBuffer): C;
  readonly BYTES_PER_ELEMENT: number;
}

/** Cost: O(bytes of the image). */
export function encodeImage(image: PartitionImage): Buffer {
  const columns = columnsOf(image);
  assert(columns.length === COLUMN_COUNT, "an image has its columns");
  const bytes = columns.reduce((sum, column) => sum + 4 + column.byteLength, HEAD_BYTES);
  const out = new ByteWriter(bytes);
  out.u32(FORMATS.image.version);
  out.u32(COLUMN_COUNT);
  out.f64(image.changes.touches);
  out.f64(image.holds.fenceBound);
  out.u32(image.changes.oldest);
  out.u32(0);
  for (const column of columns) {
    out.u32(column.byteLength);
    out.blob(Buffer.from(column.buffer, column.byteOffset, column.byteLength));
  }
  assert(out.length === bytes, "an image fills its bytes");
  return out.bytes;
}

/** @throws Malformed when the bytes are not an image; OtherFormat. */
export function decodeImage(bytes: Buffer): PartitionImage {
  const input = new ByteReader(bytes);
  ensureFormat(FORMATS.image, input.u32());
  const columnCount = input.u32();
  if (columnCount !== COLUMN_COUNT)
    throw new Malformed(`${COLUMN_COUNT} columns`, `${columnCount}`);
  const touches = input.f64();
  const fenceBound = input.f64();
  const oldest = input.u32();
  input.u32();
  // Copied, because a typed array needs the alignment of its type.
  const take = <C extends Column>(type: ColumnType<C>): C => {
    const columnBytes = input.u32();
    if (columnBytes % type.BYTES_PER_ELEMENT !== 0) {
      throw new Malformed("whole entries", `${columnBytes} bytes`);
    }
    const start = input.skip(columnBytes) + bytes.byteOffset;
    return new type(bytes.buffer.slice(start, start + columnBytes) as ArrayBuffer);
  };
  const image: PartitionImage = {
    seats: {
      state: take(Uint8Array),
      price: take(Uint16Array),
      hold: take(Uint32Array),
      changedAtMs: take(Float64Array),
    },
    changes: { later: take(Uint32Array), oldest, touches },
    areas: {
      counts: take(Int32Array),
      price: take(Uint16Array),
      changedAtMs: take(Float64Array),
      held: take(Uint32Array),
    },
    holds: {
      slots: take(Uint32Array),
      sizes: take(Uint32Array),
      fences: take(Float64Array),
      startedAtMs: take(Float64Array),
      expiresAtMs: take(Float64Array),
      seatCounts: take(Uint32Array),
      seats: take(Uint32Array),
      textUnits: take(Uint32Array),
      free: take(Uint32Array),
      texts: Buffer.from(take(Uint8Array).buffer).toString("utf8"),
      fenceBound,
    },
  };
  ensureShape(image);
  if (input.at !== bytes.length) throw new Malformed("the end of the image", "further bytes");
  return image;
}

function columnsOf({ seats, changes, areas, holds }: PartitionImage): Column[] {
  return [
    seats.state,
    seats.price,
    seats.hold,
    seats.changedAtMs,
    changes.later,
    areas.counts,
    areas.price,
    areas.changedAtMs,
    areas.held,
    holds.slots,
    holds.sizes,
    holds.fences,
    holds.startedAtMs,
    holds.expiresAtMs,
    holds.seatCounts,
    holds.seats,
    holds.textUnits,
    holds.free,
    Buffer.from(holds.texts, "utf8"),
  ];
}

/** @throws Malformed when columns that belong together have different numbers of entries. */
function ensureShape({ seats, changes, areas, holds }: PartitionImage): void {
  const seatCount = seats.state.length;
  const seatColumns = [seats.price, seats.hold, seats.changedAtMs, changes.later];
  ensureLengths("seats", seatColumns, seatCount);
  const areaCount = areas.price.length;
  ensureLengths("areas", [areas.changedAtMs], areaCount);
  ensureLengths("counters", [areas.counts], AREA_COUNTERS * areaCount);
  ensureLengths("held places", [areas.held], AREA_HELD * Math.floor(areas.held.length / AREA_HELD));
  const { slots, sizes, fences, startedAtMs, expiresAtMs, seatCounts, textUnits } = holds;
  const perHold = [sizes, fences, startedAtMs, expiresAtMs, seatCounts];
  ensureLengths("holds", perHold, slots.length);
  ensureLengths("texts", [textUnits], 2 * slots.length);
}

function ensureLengths(what: string, columns: readonly Column[], count: number): void {
  for (const { length } of columns) {
    if (length !== count) throw new Malformed(`${count} ${what}`, `${length}`);
  }
}
