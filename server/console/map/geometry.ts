/** The drawing of a layout as typed arrays, with the measures that painting needs. */

/** As the server sends it. Numbers in columns are differences to the one before. */
export interface GeometryAnswer {
  readonly schemaId: number;
  readonly version: number;
  readonly step: number;
  readonly sections: readonly { id: number; name: string; type: "SECTION" | "TABLE" }[];
  readonly areas: readonly { id: number; name: string; capacity: number | null }[];
  readonly rows: { ids: readonly number[]; names: readonly string[]; sections: readonly number[] };
  readonly labels: readonly string[];
  readonly seats: {
    readonly ids: readonly number[];
    readonly rows: readonly number[];
    readonly labels: readonly number[];
    readonly x: readonly number[];
    readonly y: readonly number[];
    readonly accessible: readonly number[];
  };
  readonly shapes: readonly Drawing[];
}

/** A shape of the layout: the stage, an area, decoration. */
export interface Drawing {
  readonly groupOfSeatsId: number | null;
  readonly shapeType?: string;
  readonly purpose?: string;
  readonly left?: number;
  readonly top?: number;
  readonly width?: number;
  readonly height?: number;
  readonly angle?: number;
  readonly text?: string;
  readonly points?: unknown;
}

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
