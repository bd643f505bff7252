/** The drawing of a layout as typed arrays, with the measures that painting needs. */

import type { Drawing } from "../../layouts/geometry-columns.ts";
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Row {
  readonly id: number;
  readonly name: string;
  readonly section: number;
  /** Seat indexes, in the order of the layout. */
  readonly seats: Uint32Array;
  /** Distance between neighbours along the row, and to the next row. */
  readonly pitch: number;
  readonly depth: number;
}

export interface Section {
  readonly id: number;
  readonly name: string;
  readonly isTable: boolean;
  readonly rows: readonly number[];
  readonly seatCount: number;
  readonly box: Box;
  /** Points around its seats: x and y in turns. */
  readonly outline: Float32Array;
}

export interface Area {
  readonly id: number;
  readonly name: string;
  readonly box: Box;
  readonly outline: Float32Array;
}

export interface Geometry {
  readonly seatCount: number;
  readonly ids: Float64Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** Index: seat. The direction of its row, of length 1. */
  readonly alongX: Float32Array;
  readonly alongY: Float32Array;
  readonly rowOfSeat: Uint32Array;
  readonly labelOfSeat: Uint32Array;
  readonly labels: readonly string[];
  readonly accessible: ReadonlySet<number>;
  readonly rows: readonly Row[];
  readonly sections: readonly Section[];
  readonly areas: readonly Area[];
  /** Neither seats nor areas. */
  readonly shapes: readonly Drawing[];
  readonly box: Box;
  /** The median over all rows. */
  readonly pitch: number;
}
