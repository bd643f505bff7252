/**
 * The immutable seat index of one version of a schema's layout, shared by all events of the schema.
 * A seat index is the position of the seat in ascending order of id. Partitions know seats only by
 * their index.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { LayoutDocument, Seat } from "./document.ts";
import { type Seating, seatingOf } from "./seating.ts";

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

/** The meaning of the id of a section, table, row or area. */
export interface GroupPlace {
  readonly type: GroupType;
  /** Into `sections` (SECTION and TABLE), `rows` or `areas`. */
  readonly index: number;
}

export interface Layout extends Seating {
  readonly seatCount: number;
  /** Index: seat. Value: its id. In ascending order. */
  readonly seatIds: Float64Array;
  /** The labels of seats, each once. */
  readonly labels: readonly string[];
  /** Index: seat. Value: the index of its label. */
  readonly labelOfSeat: Uint32Array;
  /** Index: seat. Value: its row index. */
  readonly rowOfSeat: Uint32Array;
  /** Index: seat. Value: its neighbour on one side; NONE at a row end, an aisle or a table. */
  readonly previousSeat: Uint32Array;
  readonly nextSeat: Uint32Array;
  readonly sections: readonly LayoutSection[];
  readonly rows: readonly LayoutRow[];
  readonly areas: readonly LayoutArea[];
  readonly seatIndexes: SeatIndexes;
  /** Area index by area id. */
  readonly areaIndexes: ReadonlyMap<number, number>;
  /** Sections, tables, rows and areas by id. */
  readonly groups: ReadonlyMap<number, GroupPlace>;
}

/** Seat indexes by seat id: a search in the sorted ids, without memory of its own. */
export class SeatIndexes {
  readonly #ids: Float64Array;

  constructor(seatIds: Float64Array) {
    this.#ids = seatIds;
  }

  /** Cost: O(log n); constant while the ids are consecutive, as they mostly are. */
  get(id: number): number | undefined {
    const ids = this.#ids;
    const distance = id - ids[0]!;
    if (ids[distance] === id) return distance;
    let [low, high] = [0, ids.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = ids[middle]!;
      if (found === id) return middle;
      if (found < id) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }
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
  const areas = document.sectors.filter((sector) => sector.ga);
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
  const seatIds = Float64Array.from(seats, (seat) => seat.id);
  const rises = seatIds.every((id, seat) => seat === 0 || seatIds[seat - 1]! < id);
  assert(rises, "every seat of a layout has its own id");
  const layout = withIndexes({
    seatIds,
    ...labelSeats(seats),
    rowOfSeat,
    previousSeat,
    nextSeat,
    ...seatingOf(document, seats, rows),
    sections: sections.map(({ id, name, type = GroupType.SECTION }, i) => {
      return { id, name, type, rows: rowsOfSection[i]! };
    }),
    rows,
    areas: areas.map(({ id, name, gaCapacity = null }) => ({ id, name, capacity: gaCapacity })),
  });
  const groupCount = document.sectors.length + rows.length;
  assert(layout.groups.size === groupCount, "every sector and row of a layout has its own id");
  return layout;
}

type Indexes = "seatCount" | "seatIndexes" | "areaIndexes" | "groups";

/** Cost: O(sections, rows and areas). */
export function withIndexes(parts: Omit<Layout, Indexes>): Layout {
  const { seatIds, areas, rows, sections } = parts;
  const groups = new Map<number, GroupPlace>();
  for (const [index, { id }] of areas.entries()) groups.set(id, { type: GroupType.GA, index });
  for (const [index, { id }] of rows.entries()) groups.set(id, { type: GroupType.ROW, index });
  for (const [index, { id, type }] of sections.entries()) groups.set(id, { type, index });
  return {
    ...parts,
    seatCount: seatIds.length,
    seatIndexes: new SeatIndexes(seatIds),
    areaIndexes: new Map(areas.map(({ id }, area) => [id, area])),
    groups,
  };
}

function labelSeats(seats: readonly Seat[]): Pick<Layout, "labels" | "labelOfSeat"> {
  const indexOf = new Map<string, number>();
  const labelOfSeat = new Uint32Array(seats.length);
  for (const [seat, { name }] of seats.entries()) {
    const index = indexOf.get(name) ?? indexOf.size;
    indexOf.set(name, index);
    labelOfSeat[seat] = index;
  }
  return { labels: [...indexOf.keys()], labelOfSeat };
}

/** The label of a seat. */
export function seatName({ labels, labelOfSeat }: Layout, seat: number): string {
  return labels[labelOfSeat[seat]!]!;
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

/** Seat index by seat id; NONE for an id outside the layout. */
export function seatIndexOf({ seatIndexes }: Layout, id: number): number {
  return seatIndexes.get(id) ?? NONE;
}

/** The seat indexes of a section, table or row; none for an area. */
export function collectSeats(layout: Layout, group: GroupPlace): Uint32Array {
  if (group.type === GroupType.ROW) return layout.rows[group.index]!.seats;
  const rows = group.type === GroupType.GA ? [] : layout.sections[group.index]!.rows;
  let count = 0;
  for (const row of rows) count += layout.rows[row]!.seats.length;
  const seats = new Uint32Array(count);
  let at = 0;
  for (const row of rows) {
    seats.set(layout.rows[row]!.seats, at);
    at += layout.rows[row]!.seats.length;
  }
  return seats;
}

/** The last item of each group: later ones replace the assignments of earlier ones. */
export function lastOfGroup<T extends { readonly id: number }>(items: readonly T[]): readonly T[] {
  const last = new Map(items.map((item) => [item.id, item]));
  return last.size === items.length ? items : items.filter((item) => last.get(item.id) === item);
}

// Neighbours in a row. Seats are ordered along the row's direction of largest spread, so curved and
// vertical rows work too; without coordinates, by natural order of their labels. A gap wider than
// one and a half times the row's median spacing is an aisle. Only `sqrt` and basic arithmetic are
// used: their results are the same on every machine, so replay builds the same neighbours.

const AISLE_SPACINGS = 1.5;

export interface RowOrder {
  /** Indexes into the given array, ordered along the row. */
  readonly order: readonly number[];
  /** Index: position in `order`. True for an aisle between the seat and the next. */
  readonly aisleAfter: readonly boolean[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Cost: O(n log n) in the seats of the row, usually 20. */
export function orderRow(seats: readonly Seat[]): RowOrder {
  // Most rows have coordinates, and few of their seats need a key.
  const keys: string[] = [];
  const keyOf = (i: number) => (keys[i] ??= nameKey(seats[i]!.name));
  const labels = (a: number, b: number) => {
    const [first, second] = [keyOf(a), keyOf(b)];
    if (first !== second) return first < second ? -1 : 1;
    return seats[a]!.id - seats[b]!.id;
  };
  const positions = seats.map((_, i) => i);
  const points = pointsOf(seats);
  const axis = points === null ? null : principalAxis(points);
  if (points === null || axis === null) {
    return { order: positions.sort(labels), aisleAfter: seats.map(() => false) };
  }
  const along = points.map((point) => point.x * axis.x + point.y * axis.y);
  const order = positions.sort((a, b) => along[a]! - along[b]! || labels(a, b));
  return { order, aisleAfter: findAisles(order.map((position) => points[position]!)) };
}

/** @returns Null when any seat has no coordinates. */
function pointsOf(seats: readonly Seat[]): Point[] | null {
  const points: Point[] = [];
  for (const { x, y } of seats) {
    if (typeof x !== "number" || typeof y !== "number") return null;
    points.push({ x, y });
  }
  return points;
}

/** The eigenvector of the larger eigenvalue of the covariance; null when all points are equal. */
function principalAxis(points: readonly Point[]): Point | null {
  const meanX = points.reduce((sum, point) => sum + point.x, 0) / points.length;
  const meanY = points.reduce((sum, point) => sum + point.y, 0) / points.length;
  let xx = 0;
  let xy = 0;
  let yy = 0;
  for (const { x, y } of points) {
    xx += (x - meanX) * (x - meanX);
    xy += (x - meanX) * (y - meanY);
    yy += (y - meanY) * (y - meanY);
  }
  if (xx + yy === 0) return null;
  const spread = Math.sqrt((xx - yy) * (xx - yy) + 4 * xy * xy);
  // The same vector has two forms; in this one no subtraction cancels to zero.
  return xx >= yy ? { x: xx - yy + spread, y: 2 * xy } : { x: 2 * xy, y: yy - xx + spread };
}

/** @param points - In order along the row. @returns As `RowOrder.aisleAfter`. */
function findAisles(points: readonly Point[]): boolean[] {
  const gaps: number[] = [];
  for (let i = 0; i + 1 < points.length; i++) {
    const dx = points[i + 1]!.x - points[i]!.x;
    const dy = points[i + 1]!.y - points[i]!.y;
    gaps.push(Math.sqrt(dx * dx + dy * dy));
  }
  const widest = median(gaps) * AISLE_SPACINGS;
  return points.map((_, i) => i < gaps.length && gaps[i]! > widest);
}

function median(values: readonly number[]): number {
  assert(values.length > 0, "a median is of at least one value");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

// Natural order of names and labels, in lists and among neighbours: "2" comes before "10"; letters
// count first, then accents, then case. It uses no locale, so the order is the same on every
// machine.

const MARKS = /[\u0300-\u036f]/g;
const NO_MARK = /[^\u0300-\u036f]/g;
const DIGITS = /\d+/g;
const LEADING_ZEROS = /^0+(?=\d)/;
/** Letters without a decomposition into a plain letter and a mark. */
const PLAIN = new Map(Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l" }));
const SPECIAL = new RegExp(`[${[...PLAIN.keys()].join("")}]`, "g");
/** Comes before every character of a name. */
const END = "\0";

/** @returns A text: two names compare as their keys compare, by code unit. */
export function nameKey(name: string): string {
  const decomposed = name.normalize("NFD");
  const lower = decomposed.toLowerCase();
  const letters = lower.replace(MARKS, "").replace(SPECIAL, (letter) => PLAIN.get(letter)!);
  const accents = lower.replace(DIGITS, "").replace(NO_MARK, "\u0001");
  const cases = Array.from(decomposed.replace(DIGITS, ""), (letter) =>
    letter === letter.toLowerCase() ? "0" : "1",
  );
  return [letters.replace(DIGITS, numberKey), accents, cases.join("")].join(END);
}

/** A run of digits, with its length in front: a longer number is larger. */
function numberKey(digits: string): string {
  const number = digits.replace(LEADING_ZEROS, "");
  return `0${String.fromCharCode(number.length)}${number}`;
}
