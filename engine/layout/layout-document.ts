/**
 * The layout of a schema in its wire form, as a layout tool sends and receives it. Known members
 * are typed. Drawing members, which the engine does not interpret, are stored and returned
 * unchanged.
 */

export interface Sector {
  readonly id: number;
  readonly guid: string;
  readonly name: string;
  readonly ga: boolean;
  readonly type?: "SECTION" | "TABLE" | undefined;
  readonly gaCapacity?: number | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface Row {
  readonly id: number;
  readonly guid: string;
  readonly sectorGuid: string;
  /** The label, such as "A". `name` is the noun, such as "Row". */
  readonly rowNumber: string;
  readonly name?: string | undefined;
  readonly seatName?: string | undefined;
  readonly [drawing: string]: unknown;
}

export interface Seat {
  readonly id: number;
  readonly guid: string;
  readonly rowGuid: string;
  /** The label, such as "12". */
  readonly name: string;
  /** Coordinates relative to the sector. */
  readonly x?: number | null | undefined;
  readonly y?: number | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface Shape {
  readonly id?: string | undefined;
  readonly groupOfSeatsGuid?: string | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface LayoutDocument {
  readonly sectors: readonly Sector[];
  readonly rows: readonly Row[];
  readonly seats: readonly Seat[];
  readonly shapes: readonly Shape[];
  readonly clientViewBox: unknown;
}

/** Ids of the sectors, rows and seats. */
export function objectIds({ sectors, rows, seats }: LayoutDocument): number[] {
  return [...sectors, ...rows, ...seats].map(({ id }) => id);
}
