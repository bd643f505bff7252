/**
 * Scores, positions and marks of the seats of a layout: the order in which `best` prefers them.
 * Computed once per change of the layout, with `sqrt` and basic arithmetic only, so every machine
 * has the same. Memory: 21 bytes per seat of a layout, which all its events share.
 */
import { SEAT_RANK_MAX } from "../constants.ts";
import type { LayoutDocument, Row, Seat, Sector, Shape } from "./document.ts";

/** Index: seat. */
export interface Seating {
  /** Smaller is better; at most `SCORE_MAX`. */
  readonly scores: Uint32Array;
  /** Absolute coordinates in drawing units; NaN for a seat without a position. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Bits of `Mark`. */
  readonly marks: Uint8Array;
}

export const Mark = { ACCESSIBLE: 1, HIDDEN: 2 } as const;

const ROW_STEP = 10_000;
/** Of seats farther from the focal point, and beyond. */
const SCORE_MAX = 0xffff_ffff;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A row of the document. */
interface SeatedRow {
  readonly id: number;
  /** Seat indexes, in order along the row. */
  readonly seats: Uint32Array;
}

/**
 * @param seats - Those of the document, in the order of their indexes.
 * Cost: O(n) in the seats, and O(n log n) in the rows.
 */
export function seatingOf(
  document: LayoutDocument,
  seats: readonly Seat[],
  rows: readonly SeatedRow[],
): Seating {
  const { x, y } = positionsOf(document, seats);
  const scores = scoresByRank(seats) ?? scoresByDistance(document, { x, y }, rows);
  return { scores, x, y, marks: Uint8Array.from(seats, marksOf) };
}

function marksOf({ isAccessible, isHidden }: Seat): number {
  return (isAccessible === true ? Mark.ACCESSIBLE : 0) | (isHidden === true ? Mark.HIDDEN : 0);
}

type Positions = Pick<Seating, "x" | "y">;

/** `ax`, `ay`; else those of the seat within its sector. */
function positionsOf({ sectors, rows }: LayoutDocument, seats: readonly Seat[]): Positions {
  const sectorOf = new Map<string, Sector>(sectors.map((sector) => [sector.guid, sector]));
  const rowOf = new Map<string, Row>(rows.map((row) => [row.guid, row]));
  const x = new Float64Array(seats.length).fill(NaN);
  const y = new Float64Array(seats.length).fill(NaN);
  for (const [index, seat] of seats.entries()) {
    const own = pointOf(seat["ax"], seat["ay"]);
    const within = own ?? pointOf(seat.x, seat.y);
    if (within === null) continue;
    const sector = own === null ? sectorOf.get(rowOf.get(seat.rowGuid)!.sectorGuid) : undefined;
    const [left, top] = [within.x + numberIn(sector?.["x"]), within.y + numberIn(sector?.["y"])];
    if (!Number.isFinite(left) || !Number.isFinite(top)) continue;
    x[index] = left;
    y[index] = top;
  }
  return { x, y };
}

function pointOf(x: unknown, y: unknown): Point | null {
  return typeof x === "number" && typeof y === "number" ? { x, y } : null;
}

function numberIn(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** @returns Null when no seat has a rank. */
function scoresByRank(seats: readonly Seat[]): Uint32Array | null {
  if (!seats.some(({ rank }) => typeof rank === "number")) return null;
  return Uint32Array.from(seats, ({ rank }) => (typeof rank === "number" ? rank : SEAT_RANK_MAX));
}

function scoresByDistance(
  document: LayoutDocument,
  { x, y }: Positions,
  rows: readonly SeatedRow[],
): Uint32Array {
  const focus = focalPointOf(document, { x, y });
  const scores = new Uint32Array(x.length);
  const byId = rows.toSorted((a, b) => a.id - b.id);
  for (const [rank, { seats }] of byId.entries()) {
    for (const [place, seat] of seats.entries()) {
      const fromMiddle = Math.abs(2 * place - (seats.length - 1));
      const score = Number.isNaN(x[seat]!)
        ? SEAT_RANK_MAX + ROW_STEP * rank + fromMiddle
        : distance(x[seat]! - focus.x, y[seat]! - focus.y);
      scores[seat] = Math.min(score, SCORE_MAX);
    }
  }
  return scores;
}

/** Rounded to a whole number, halves up. */
export function distance(dx: number, dy: number): number {
  return Math.round(Math.sqrt(dx * dx + dy * dy));
}

/** The drawn focal point; else the centre of the first object; else the middle of the front. */
function focalPointOf({ focalPoint, shapes }: LayoutDocument, { x, y }: Positions): Point {
  const given = pointOf(focalPoint?.x, focalPoint?.y);
  if (given !== null) return given;
  const object = shapes.find((shape) => shape["purpose"] === "OBJECT" && cornerOf(shape) !== null);
  if (object !== undefined) {
    const corner = cornerOf(object)!;
    return {
      x: corner.x + numberIn(object["width"]) / 2,
      y: corner.y + numberIn(object["height"]) / 2,
    };
  }
  let [left, right, top] = [Infinity, -Infinity, Infinity];
  for (let seat = 0; seat < x.length; seat++) {
    if (Number.isNaN(x[seat]!)) continue;
    left = Math.min(left, x[seat]!);
    right = Math.max(right, x[seat]!);
    top = Math.min(top, y[seat]!);
  }
  return { x: (left + right) / 2, y: top };
}

function cornerOf(shape: Shape): Point | null {
  return pointOf(shape["left"], shape["top"]);
}
