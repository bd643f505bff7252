/** Outlines of sections, areas and shapes, as points: x and y in turns. */
import type { Drawing } from "../../layouts/geometry-columns.ts";
import type { Box, Row } from "./geometry.ts";

const ELLIPSE_POINTS = 48;

interface Points {
  readonly x: Float32Array;
  readonly y: Float32Array;
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
  const turn = Math.sign(signedArea(xs, ys)) || 1;
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

function signedArea(xs: readonly number[], ys: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < xs.length; i++) {
    const next = (i + 1) % xs.length;
    sum += xs[i]! * ys[next]! - xs[next]! * ys[i]!;
  }
  return sum;
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

export function unite(a: Box, b: Box): Box {
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

/** What an outline encloses. */
export function areaOf(outline: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < outline.length; i += 2) {
    const next = (i + 2) % outline.length;
    sum += outline[i]! * outline[next + 1]! - outline[next]! * outline[i + 1]!;
  }
  return Math.abs(sum / 2);
}
