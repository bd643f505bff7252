/**
 * A large layout in a compact form. As objects it would take a hundred megabytes of
 * garbage-collected memory; readers of its members unpack it, at a cost.
 */
import { assert } from "../assert.ts";
import type { LayoutDocument } from "./document.ts";
import { type Layout, type LayoutArea, type LayoutSection, withIndexes } from "./layout.ts";
import type { Seating } from "./seating.ts";

/** From this many objects on, a layout is prepared in another thread. */
export const LARGE_LAYOUT_OBJECTS = 1_000;

export class PackedLayout implements LayoutDocument {
  readonly bytes: Uint8Array;
  readonly #unpack: (bytes: Uint8Array) => LayoutDocument;

  /** @param unpack - Gives the document of the bytes. */
  constructor(bytes: Uint8Array, unpack: (bytes: Uint8Array) => LayoutDocument) {
    this.bytes = bytes;
    this.#unpack = unpack;
  }

  get sectors() {
    return this.unpack().sectors;
  }

  get rows() {
    return this.unpack().rows;
  }

  get seats() {
    return this.unpack().seats;
  }

  get shapes() {
    return this.unpack().shapes;
  }

  get clientViewBox() {
    return this.unpack().clientViewBox;
  }

  get focalPoint() {
    return this.unpack().focalPoint;
  }

  /** Cost: O(bytes), each time. */
  unpack(): LayoutDocument {
    return this.#unpack(this.bytes);
  }

  /** The same as JSON, packed or not. */
  toJSON(): LayoutDocument {
    return this.unpack();
  }
}

/** The document with members of its own. */
export function plainDocument(document: LayoutDocument): LayoutDocument {
  return document instanceof PackedLayout ? document.unpack() : document;
}

// A seat index as arrays of numbers and texts, to be built in one thread and used in another:
// arrays of numbers move between threads without a copy.

export interface LayoutColumns extends Seating {
  readonly seatIds: Float64Array;
  readonly rowOfSeat: Uint32Array;
  readonly previousSeat: Uint32Array;
  readonly nextSeat: Uint32Array;
  /** As in `Layout`. */
  readonly labels: readonly string[];
  readonly labelOfSeat: Uint32Array;
  readonly sections: readonly LayoutSection[];
  readonly areas: readonly LayoutArea[];
  readonly rowIds: Float64Array;
  readonly rowNames: readonly string[];
  /** Index: row. Value: its section. */
  readonly sectionOfRow: Uint32Array;
  /** Index: row. Value: its number of seats. */
  readonly seatCounts: Uint32Array;
  /** The seats of all rows, one row after the other. */
  readonly seatsOfRows: Uint32Array;
}

/** Cost: O(seats and rows). */
export function columnsOf(layout: Layout): LayoutColumns {
  const { seatIds, rowOfSeat, previousSeat, nextSeat, labels, labelOfSeat } = layout;
  const { sections, areas, rows, scores, x, y, marks } = layout;
  const seatsOfRows = new Uint32Array(seatIds.length);
  let at = 0;
  for (const { seats } of rows) {
    seatsOfRows.set(seats, at);
    at += seats.length;
  }
  assert(at === seatIds.length, "every seat is in one row");
  return {
    seatIds,
    rowOfSeat,
    previousSeat,
    nextSeat,
    labels,
    labelOfSeat,
    scores,
    x,
    y,
    marks,
    sections,
    areas,
    rowIds: Float64Array.from(rows, ({ id }) => id),
    rowNames: rows.map(({ name }) => name),
    sectionOfRow: Uint32Array.from(rows, ({ section }) => section),
    seatCounts: Uint32Array.from(rows, ({ seats }) => seats.length),
    seatsOfRows,
  };
}

/** The same layout. Cost: O(seats and rows), a few milliseconds for 200,000 seats. */
export function layoutOfColumns(columns: LayoutColumns): Layout {
  const { seatIds, rowOfSeat, previousSeat, nextSeat, labels, sections, areas } = columns;
  let at = 0;
  const rows = columns.rowNames.map((name, row) => ({
    id: columns.rowIds[row]!,
    name,
    section: columns.sectionOfRow[row]!,
    seats: columns.seatsOfRows.subarray(at, (at += columns.seatCounts[row]!)),
  }));
  const { labelOfSeat, scores, x, y, marks } = columns;
  const seats = { seatIds, labels, labelOfSeat, rowOfSeat, previousSeat, nextSeat };
  return withIndexes({ ...seats, scores, x, y, marks, sections, rows, areas });
}
