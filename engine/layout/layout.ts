/**
 * The immutable seat index of one version of a schema's layout, shared by all events of the schema.
 * A seat index is the position of the seat in ascending order of id. Partitions know seats only by
 * their index.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { LayoutDocument, Seat, Sector } from "./layout-document.ts";
import { orderRow } from "./neighbours.ts";

export const GroupType = { SECTION: "SECTION", TABLE: "TABLE", ROW: "ROW", GA: "GA" } as const;
export type GroupType = (typeof GroupType)[keyof typeof GroupType];

export interface LayoutSection {
  readonly id: number;
  readonly name: string;
  readonly type: "SECTION" | "TABLE";
  /** Row indexes. */
  readonly rows: readonly number[];
}

export interface LayoutRow {
  readonly id: number;
  readonly name: string;
  /** Section index. */
  readonly section: number;
  /** Seat indexes, in order along the row. */
  readonly seats: Uint32Array;
}

export interface LayoutArea {
  readonly id: number;
  readonly name: string;
  /** Places when a price is assigned without a count; null when the area declares none. */
  readonly capacity: number | null;
}

/** What the id of a section, table, row or area stands for. */
export interface GroupPlace {
  readonly type: GroupType;
  /** Into `sections` (SECTION and TABLE), `rows` or `areas`. */
  readonly index: number;
}

export interface Layout {
  readonly seatCount: number;
  /** Index: seat. Value: its id. In ascending order. */
  readonly seatIds: Float64Array;
  /** Index: seat. Value: its label. */
  readonly seatNames: readonly string[];
  /** Index: seat. Value: its row index. */
  readonly rowOfSeat: Uint32Array;
  /** Index: seat. Value: the seat on that side; NONE at a row end, an aisle or a table. */
  readonly previousSeat: Uint32Array;
  readonly nextSeat: Uint32Array;
  readonly sections: readonly LayoutSection[];
  readonly rows: readonly LayoutRow[];
  readonly areas: readonly LayoutArea[];
  /** Seat index by seat id. */
  readonly seatIndexes: ReadonlyMap<number, number>;
  /** Area index by area id. */
  readonly areaIndexes: ReadonlyMap<number, number>;
  /** Sections, tables, rows and areas by id. */
  readonly groups: ReadonlyMap<number, GroupPlace>;
}

export const EMPTY_DOCUMENT: LayoutDocument = {
  sectors: [],
  rows: [],
  seats: [],
  shapes: [],
  clientViewBox: null,
};

/** Cost: O(n log n) in the seats of the layout, once per change of the layout. */
export function buildLayout(document: LayoutDocument): Layout {
  const groups = new Map<number, GroupPlace>();
  const areas = indexAreas(document, groups);
  const sections = document.sectors.filter((sector) => !sector.ga);
  const seats = [...document.seats].sort((a, b) => a.id - b.id);
  const rowOfSeat = new Uint32Array(seats.length).fill(NONE);
  const previousSeat = new Uint32Array(seats.length).fill(NONE);
  const nextSeat = new Uint32Array(seats.length).fill(NONE);
  const seatsOfRow = groupByRow(seats);
  const sectionIndexes = new Map(sections.map((sector, i) => [sector.guid, i]));
  const rowsOfSection: number[][] = sections.map(() => []);
  const rows = document.rows.map((row, index): LayoutRow => {
    const section = sectionIndexes.get(row.sectorGuid);
    assert(section !== undefined, "every row of a stored layout has its section");
    rowsOfSection[section]!.push(index);
    groups.set(row.id, { type: GroupType.ROW, index });
    const members = seatsOfRow.get(row.guid) ?? [];
    const { order, aisleAfter } = orderRow(members.map((seat) => seats[seat]!));
    assert(order.length === members.length, "a row keeps its seats");
    const ordered = Uint32Array.from(order, (position) => members[position]!);
    const isTable = sections[section]!.type === "TABLE";
    for (const [position, seat] of ordered.entries()) {
      rowOfSeat[seat] = index;
      const next = ordered[position + 1];
      if (next === undefined || isTable || aisleAfter[position] === true) continue;
      nextSeat[seat] = next;
      previousSeat[next] = seat;
    }
    return { id: row.id, name: row.rowNumber, section, seats: ordered };
  });
  assert(!rowOfSeat.includes(NONE), "every seat of a stored layout has its row");
  const layout = {
    seatCount: seats.length,
    seatIds: Float64Array.from(seats, (seat) => seat.id),
    seatNames: seats.map((seat) => seat.name),
    rowOfSeat,
    previousSeat,
    nextSeat,
    sections: sections.map((sector, i) => indexSection(sector, i, rowsOfSection[i]!, groups)),
    rows,
    areas,
    seatIndexes: new Map(seats.map((seat, i) => [seat.id, i])),
    areaIndexes: new Map(areas.map((area, i) => [area.id, i])),
    groups,
  };
  assert(layout.seatIndexes.size === seats.length, "every seat of a layout has its own id");
  const groupCount = document.sectors.length + rows.length;
  assert(groups.size === groupCount, "every sector and row of a layout has its own id");
  return layout;
}

function indexAreas(document: LayoutDocument, groups: Map<number, GroupPlace>): LayoutArea[] {
  return document.sectors
    .filter((sector) => sector.ga)
    .map((sector, index) => {
      groups.set(sector.id, { type: GroupType.GA, index });
      return { id: sector.id, name: sector.name, capacity: sector.gaCapacity ?? null };
    });
}

function indexSection(
  sector: Sector,
  index: number,
  rows: readonly number[],
  groups: Map<number, GroupPlace>,
): LayoutSection {
  const type = sector.type ?? GroupType.SECTION;
  groups.set(sector.id, { type, index });
  return { id: sector.id, name: sector.name, type, rows };
}

/** @returns Seat indexes by the guid of their row. */
function groupByRow(seats: readonly Seat[]): Map<string, number[]> {
  const seatsOfRow = new Map<string, number[]>();
  for (const [index, seat] of seats.entries()) {
    const members = seatsOfRow.get(seat.rowGuid);
    if (members === undefined) seatsOfRow.set(seat.rowGuid, [index]);
    else members.push(index);
  }
  return seatsOfRow;
}

/**
 * Seat index by seat id; NONE for an id that the layout does not have. The seats of a layout mostly
 * got consecutive ids. Then the distance to the first id is the index, which saves a map look-up.
 */
export function seatIndexOf({ seatIds, seatIndexes }: Layout, id: number): number {
  const distance = id - seatIds[0]!;
  return seatIds[distance] === id ? distance : (seatIndexes.get(id) ?? NONE);
}

/** The seat indexes of a section, table or row; none for an area. */
export function collectSeats(layout: Layout, group: GroupPlace): readonly number[] {
  if (group.type === GroupType.GA) return [];
  const rows = group.type === GroupType.ROW ? [group.index] : layout.sections[group.index]!.rows;
  return rows.flatMap((row) => [...layout.rows[row]!.seats]);
}
