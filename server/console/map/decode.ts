/** Turns the server's columns into the geometry of the map. */
import type { Drawing, GeometryColumns } from "../../layouts/geometry-columns.ts";
import type { Area, Box, Geometry, Row, Section } from "./geometry.ts";
import { boxAround, boxOf, outlineOfDrawing, outlineOfRows, unite } from "./outlines.ts";

/** A gap that is wider than this many pitches is an aisle. */
const AISLE_PITCHES = 1.6;
const DEPTH_PITCHES_MAX = 2.2;
const MARGIN_SHARE = 0.005;

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

/** The median distance between neighbours that no aisle separates; 0 for a single seat. */
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
