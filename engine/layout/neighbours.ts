/**
 * Which seats of a row are next to each other. Seats are ordered along the direction in which the
 * row spreads most, so curved and vertical rows work too; without coordinates, by natural order of
 * their labels. A gap wider than one and a half times the row's median spacing is an aisle. Only
 * `sqrt` and basic arithmetic are used: their results are the same on every machine, so replay
 * builds the same neighbours.
 */
import { assert } from "../assert.ts";
import type { Seat } from "./layout-document.ts";
import { nameKey } from "./natural-order.ts";

const AISLE_SPACINGS = 1.5;

export interface RowOrder {
  /** Indexes into the given array, ordered along the row. */
  readonly order: readonly number[];
  /** Index: position in `order`. True when an aisle lies between that seat and the next. */
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
  // The same vector has two forms; this is the one in which no subtraction cancels to zero.
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
