/**
 * The drawing of a layout: decoded from the server's columns into typed arrays, with the measures
 * and outlines for painting and a grid to find seats by position.
 */
import type { Drawing, GeometryColumns } from "../../layouts/geometry-columns.ts";

/** A wider gap, in pitches, is an aisle. */
const AISLE_PITCHES = 1.6;
const DEPTH_PITCHES_MAX = 2.2;
const MARGIN_SHARE = 0.005;
const ELLIPSE_POINTS = 48;
const SEATS_PER_CELL = 6;

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

/** Cost: O(seats). */
export function decodeGeometry(answer: GeometryColumns): Geometry {
  const { step, seats } = answer;
  const seatCount = seats.ids.length;
  const ids = Float64Array.from(summed(seats.ids));
  const x = Float32Array.from(summed(seats.x), (value) => value * step);
  const y = Float32Array.from(summed(seats.y), (value) => value * step);
  const rowOfSeat = Uint32Array.from(summed(seats.rows));
  const seatsOfRows = groupByRow(rowOfSeat, answer.rows.ids.length);
  const sectionOfRow = summed(answer.rows.sections);
  const measures = measure({ x, y, seatsOfRows, sectionOfRow });
  const rowIds = summed(answer.rows.ids);
  const rows = seatsOfRows.map((members, row): Row => {
    const name = answer.rows.names[row]!;
    const section = sectionOfRow[row]!;
    const depth = measures.depths[row]!;
    return {
      id: rowIds[row]!,
      name,
      section,
      seats: members,
      pitch: measures.pitches[row]!,
      depth,
    };
  });
  const sections = sectionsOf(answer, rows, { x, y });
  const { areas, shapes } = areasOf(answer);
  return {
    seatCount,
    ids,
    x,
    y,
    alongX: measures.alongX,
    alongY: measures.alongY,
    rowOfSeat,
    labelOfSeat: Uint32Array.from(seats.labels),
    labels: answer.labels,
    accessible: new Set(seats.accessible),
    rows,
    sections,
    areas,
    shapes,
    box: boxOfAll(sections, areas, shapes),
    pitch: median(measures.pitches),
  };
}

function summed(differences: readonly number[]): number[] {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

function groupByRow(rowOfSeat: Uint32Array, rowCount: number): Uint32Array[] {
  const lengths = new Uint32Array(rowCount);
  for (const row of rowOfSeat) lengths[row]! += 1;
  const rows = Array.from(lengths, (length) => new Uint32Array(length));
  const filled = new Uint32Array(rowCount);
  for (const [seat, row] of rowOfSeat.entries()) rows[row]![filled[row]!++] = seat;
  return rows;
}

interface Points {
  readonly x: Float32Array;
  readonly y: Float32Array;
}

interface Rows extends Points {
  readonly seatsOfRows: readonly Uint32Array[];
  readonly sectionOfRow: readonly number[];
}

interface Measures {
  readonly alongX: Float32Array;
  readonly alongY: Float32Array;
  readonly pitches: Float32Array;
  readonly depths: Float32Array;
}

function measure({ x, y, seatsOfRows, sectionOfRow }: Rows): Measures {
  const [alongX, alongY] = [new Float32Array(x.length).fill(1), new Float32Array(x.length)];
  const pitches = new Float32Array(seatsOfRows.length);
  for (const [row, members] of seatsOfRows.entries()) {
    pitches[row] = pitchOf(members, x, y);
    for (const [position, seat] of members.entries()) {
      const before = members[Math.max(0, position - 1)]!;
      const after = members[Math.min(members.length - 1, position + 1)]!;
      const [dx, dy] = [x[after]! - x[before]!, y[after]! - y[before]!];
      const length = Math.hypot(dx, dy);
      if (length === 0) continue;
      alongX[seat] = dx / length;
      alongY[seat] = dy / length;
    }
  }
  const usual = median(pitches.filter((pitch) => pitch > 0)) || 1;
  for (const [row, pitch] of pitches.entries()) if (pitch === 0) pitches[row] = usual;
  const depths = depthsOf({ x, y, seatsOfRows, sectionOfRow }, pitches);
  return { alongX, alongY, pitches, depths };
}

/** The median distance between neighbours without an aisle between; 0 for a single seat. */
function pitchOf(members: Uint32Array, x: Float32Array, y: Float32Array): number {
  const distances: number[] = [];
  for (let i = 1; i < members.length; i++) {
    const [a, b] = [members[i - 1]!, members[i]!];
    distances.push(Math.hypot(x[a]! - x[b]!, y[a]! - y[b]!));
  }
  const least = Math.min(...distances);
  return median(distances.filter((distance) => distance < least * AISLE_PITCHES));
}

/** The distance to the nearest other row of the section, from the middle of the row. */
function depthsOf(rows: Rows, pitches: Float32Array): Float32Array {
  const { x, y, seatsOfRows, sectionOfRow } = rows;
  const distanceTo = (seat: number, other: Uint32Array) => {
    let least = Infinity;
    for (const one of other)
      least = Math.min(least, Math.hypot(x[seat]! - x[one]!, y[seat]! - y[one]!));
    return least;
  };
  return Float32Array.from(seatsOfRows, (members, row) => {
    const middle = members[members.length >> 1];
    const max = pitches[row]! * DEPTH_PITCHES_MAX;
    if (middle === undefined) return pitches[row]!;
    let depth = Infinity;
    for (const neighbour of [row - 1, row + 1]) {
      if (sectionOfRow[neighbour] !== sectionOfRow[row]) continue;
      depth = Math.min(depth, distanceTo(middle, seatsOfRows[neighbour]!));
    }
    return depth === Infinity ? pitches[row]! : Math.min(depth, max);
  });
}

function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1] ?? 0;
}

function sectionsOf(answer: GeometryColumns, rows: readonly Row[], points: Points): Section[] {
  const rowsOfSection: number[][] = answer.sections.map(() => []);
  for (const [index, { section }] of rows.entries()) rowsOfSection[section]!.push(index);
  return answer.sections.map(({ id, name, type }, section) => {
    const indexes = rowsOfSection[section]!;
    const members = indexes.map((row) => rows[row]!).filter(({ seats }) => seats.length > 0);
    const isTable = type === "TABLE";
    const outline = outlineOfRows(members, points, isTable);
    const seatCount = members.reduce((sum, { seats }) => sum + seats.length, 0);
    return { id, name, isTable, rows: indexes, seatCount, outline, box: boxOf(outline) };
  });
}

function areasOf({ areas, shapes }: GeometryColumns): { areas: Area[]; shapes: Drawing[] } {
  const ids = new Set(areas.map(({ id }) => id));
  const drawings = new Map<number | null, Drawing>();
  for (const shape of shapes) {
    const { groupOfSeatsId } = shape;
    if (groupOfSeatsId !== null && ids.has(groupOfSeatsId)) drawings.set(groupOfSeatsId, shape);
  }
  return {
    areas: areas.map(({ id, name }) => {
      const outline = outlineOfDrawing(drawings.get(id));
      return { id, name, outline, box: boxOf(outline) };
    }),
    shapes: shapes.filter(({ groupOfSeatsId }) => !ids.has(groupOfSeatsId ?? 0)),
  };
}

function boxOfAll(
  sections: readonly Section[],
  areas: readonly Area[],
  shapes: readonly Drawing[],
): Box {
  const boxes = [
    ...sections.filter(({ seatCount }) => seatCount > 0).map(({ box }) => box),
    ...areas.map(({ box }) => box),
    ...shapes.map((shape) => boxOf(outlineOfDrawing(shape))),
  ];
  const all = boxes.reduce(unite, {
    left: Infinity,
    top: Infinity,
    right: -Infinity,
    bottom: -Infinity,
  });
  const size = Math.max(all.right - all.left, all.bottom - all.top);
  return size >= 0 ? boxAround(all, size * MARGIN_SHARE) : { left: 0, top: 0, right: 1, bottom: 1 };
}

/** Around the seats of rows: along the first row, down one side, back along the last row. */
export function outlineOfRows(
  rows: readonly Row[],
  points: Points,
  isTable: boolean,
): Float32Array {
  const seats = rows.flatMap((row) => [...row.seats]);
  if (seats.length === 0) return new Float32Array();
  const [first, last] = [rows[0]!, rows.at(-1)!];
  if (isTable) {
    const { left, top, right, bottom } = boxOf(around(seats, points, first.pitch * 0.75));
    return ellipse(left, top, right - left, bottom - top);
  }
  if (seats.length < 3) return around(seats, points, first.pitch * 0.75);
  const loop = [
    ...first.seats,
    ...rows.slice(1, -1).map((row) => row.seats.at(-1)!),
    ...(rows.length > 1 ? last.seats.toReversed() : []),
    ...rows
      .slice(1, -1)
      .toReversed()
      .map((row) => row.seats[0]!),
  ];
  if (rows.length === 1) return around(seats, points, first.pitch * 0.75);
  return widened(loop, points, first);
}

/** Moves each point away from the centre line by half a seat. */
function widened(loop: readonly number[], { x, y }: Points, { pitch, depth }: Row): Float32Array {
  const xs = loop.map((seat) => x[seat]!);
  const ys = loop.map((seat) => y[seat]!);
  const margin = Math.min(pitch, depth) * 0.5 + Math.max(pitch, depth) * 0.25;
  const turn = Math.sign(signedArea(Float32Array.from(xs.flatMap((at, i) => [at, ys[i]!])))) || 1;
  const outline = new Float32Array(loop.length * 2);
  for (let i = 0; i < loop.length; i++) {
    const before = (i + loop.length - 1) % loop.length;
    const after = (i + 1) % loop.length;
    const [ax, ay] = unit(xs[i]! - xs[before]!, ys[i]! - ys[before]!);
    const [bx, by] = unit(xs[after]! - xs[i]!, ys[after]! - ys[i]!);
    const [nx, ny] = unit(turn * (ay + by), -turn * (ax + bx));
    // At a corner the point moves further, so that both sides keep their distance.
    const cos = Math.max(0.5, nx * turn * ay - ny * turn * ax);
    outline[2 * i] = xs[i]! + (nx * margin) / cos;
    outline[2 * i + 1] = ys[i]! + (ny * margin) / cos;
  }
  return outline;
}

function unit(dx: number, dy: number): [number, number] {
  const length = Math.hypot(dx, dy) || 1;
  return [dx / length, dy / length];
}

function around(seats: readonly number[], { x, y }: Points, margin: number): Float32Array {
  let box = boxOf(Float32Array.from(seats.flatMap((seat) => [x[seat]!, y[seat]!])));
  box = boxAround(box, margin);
  return corners(box);
}

function corners({ left, top, right, bottom }: Box): Float32Array {
  return Float32Array.of(left, top, right, top, right, bottom, left, bottom);
}

/** Empty when it has no size. */
export function outlineOfDrawing(drawing: Drawing | undefined): Float32Array {
  if (drawing === undefined) return new Float32Array();
  const { left = 0, top = 0, width = 0, height = 0, angle = 0, shapeType = "RECT" } = drawing;
  const polygon = pointsOf(drawing.points);
  let outline: Float32Array;
  if (polygon.length >= 6) outline = Float32Array.from(polygon);
  else if (/^(ellipse|circle|oval)$/i.test(shapeType)) outline = ellipse(left, top, width, height);
  else outline = corners({ left, top, right: left + width, bottom: top + height });
  return angle === 0 ? outline : turned(outline, (angle * Math.PI) / 180, left, top);
}

/** As numbers in turns, pairs, or objects with x and y. */
function pointsOf(points: unknown): number[] {
  if (!Array.isArray(points)) return [];
  const numbers = points.flatMap((point: unknown) => {
    if (typeof point === "number") return [point];
    if (Array.isArray(point)) return [Number(point[0]), Number(point[1])];
    const { x, y } = (point ?? {}) as { x?: unknown; y?: unknown };
    return [Number(x), Number(y)];
  });
  return numbers.every(Number.isFinite) ? numbers : [];
}

function ellipse(left: number, top: number, width: number, height: number): Float32Array {
  const outline = new Float32Array(2 * ELLIPSE_POINTS);
  for (let i = 0; i < ELLIPSE_POINTS; i++) {
    const angle = (2 * Math.PI * i) / ELLIPSE_POINTS;
    outline[2 * i] = left + (width / 2) * (1 + Math.cos(angle));
    outline[2 * i + 1] = top + (height / 2) * (1 + Math.sin(angle));
  }
  return outline;
}

function turned(outline: Float32Array, angle: number, left: number, top: number): Float32Array {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const result = new Float32Array(outline.length);
  for (let i = 0; i < outline.length; i += 2) {
    const [dx, dy] = [outline[i]! - left, outline[i + 1]! - top];
    result[i] = left + dx * cos - dy * sin;
    result[i + 1] = top + dx * sin + dy * cos;
  }
  return result;
}

/** @param outline - Points, x and y in turns. */
export function boxOf(outline: Float32Array): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < outline.length; i += 2) {
    left = Math.min(left, outline[i]!);
    right = Math.max(right, outline[i]!);
    top = Math.min(top, outline[i + 1]!);
    bottom = Math.max(bottom, outline[i + 1]!);
  }
  return { left, top, right, bottom };
}

export function boxAround({ left, top, right, bottom }: Box, margin: number): Box {
  return { left: left - margin, top: top - margin, right: right + margin, bottom: bottom + margin };
}

function unite(a: Box, b: Box): Box {
  return {
    left: Math.min(a.left, b.left),
    top: Math.min(a.top, b.top),
    right: Math.max(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
  };
}

export function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

export function isInside({ left, top, right, bottom }: Box, x: number, y: number): boolean {
  return x >= left && x < right && y >= top && y < bottom;
}

/** The area inside an outline. */
export function areaOf(outline: Float32Array): number {
  return Math.abs(signedArea(outline));
}

function signedArea(outline: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < outline.length; i += 2) {
    const next = (i + 2) % outline.length;
    sum += outline[i]! * outline[next + 1]! - outline[next]! * outline[i + 1]!;
  }
  return sum / 2;
}

export class Grid {
  readonly #geometry: Geometry;
  readonly #size: number;
  readonly #columns: number;
  readonly #lines: number;
  /** Index: cell. Where its seats begin in `#seats`. */
  readonly #starts: Uint32Array;
  readonly #seats: Uint32Array;

  constructor(geometry: Geometry) {
    this.#geometry = geometry;
    const { box, x, y, seatCount } = geometry;
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    this.#size = Math.sqrt((width * height * SEATS_PER_CELL) / Math.max(1, seatCount)) || 1;
    this.#columns = Math.ceil(width / this.#size) + 1;
    this.#lines = Math.ceil(height / this.#size) + 1;
    const counts = new Uint32Array(this.#columns * this.#lines + 1);
    for (let seat = 0; seat < seatCount; seat++) counts[this.#cellAt(x[seat]!, y[seat]!) + 1]! += 1;
    for (let cell = 1; cell < counts.length; cell++) counts[cell]! += counts[cell - 1]!;
    this.#starts = counts.slice();
    this.#seats = new Uint32Array(seatCount);
    for (let seat = 0; seat < seatCount; seat++) {
      this.#seats[counts[this.#cellAt(x[seat]!, y[seat]!)]!++] = seat;
    }
  }

  #column(x: number): number {
    const column = Math.floor((x - this.#geometry.box.left) / this.#size);
    return Math.max(0, Math.min(this.#columns - 1, column));
  }

  #line(y: number): number {
    const line = Math.floor((y - this.#geometry.box.top) / this.#size);
    return Math.max(0, Math.min(this.#lines - 1, line));
  }

  #cellAt(x: number, y: number): number {
    return this.#line(y) * this.#columns + this.#column(x);
  }

  /** Seats whose centre is in the box. */
  within(box: Box): number[] {
    const { left, top, right, bottom } = box;
    const { x, y } = this.#geometry;
    const found: number[] = [];
    const [first, last] = [this.#column(left), this.#column(right)];
    for (let line = this.#line(top); line <= this.#line(bottom); line++) {
      const from = this.#starts[line * this.#columns + first]!;
      const to = this.#starts[line * this.#columns + last + 1]!;
      for (let i = from; i < to; i++) {
        const seat = this.#seats[i]!;
        if (isInside(box, x[seat]!, y[seat]!)) found.push(seat);
      }
    }
    return found;
  }

  /** @returns The seat whose place it is; -1 for none. */
  at(x: number, y: number): number {
    const { rows, rowOfSeat, x: xs, y: ys } = this.#geometry;
    const reach = this.#geometry.pitch * 2;
    let best = -1;
    let least = Infinity;
    for (const seat of this.within({
      left: x - reach,
      top: y - reach,
      right: x + reach,
      bottom: y + reach,
    })) {
      const distance = Math.hypot(xs[seat]! - x, ys[seat]! - y);
      const { pitch, depth } = rows[rowOfSeat[seat]!]!;
      if (distance < least && distance < Math.max(pitch, depth) * 0.6) {
        least = distance;
        best = seat;
      }
    }
    return best;
  }
}
