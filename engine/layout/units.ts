/**
 * The units of a layout, within which seats are together: a run is a row, or its part between
 * aisles; a table is one unit with all its rows. Made when `best` is first asked on the layout.
 * Memory: 8 bytes per seat and 41 per unit, which all events of the layout share.
 */
import { NONE } from "../constants.ts";
import { collectSeats, GroupType, type Layout } from "./layout.ts";
import type { Point } from "./seating.ts";

export interface Units {
  readonly count: number;
  /** The seats of all units: of a run along the row, of a table the best score first. */
  readonly seats: Uint32Array;
  /** Index: unit. Value: the offset of its first seat in `seats`. A last entry ends the last. */
  readonly starts: Uint32Array;
  /** Index: seat. */
  readonly unitOfSeat: Uint32Array;
  /** Seats of the longest unit. */
  readonly longest: number;
  /** Index: unit. Value: the smallest score of its seats. */
  readonly lowScores: Uint32Array;
  /** Index: unit. Value: 1 for a table. */
  readonly isTable: Uint8Array;
  /** Bounds of its positions: four per unit, left, top, right, bottom. NaN without a position. */
  readonly bounds: Float64Array;
}

const made = new WeakMap<Layout, Units>();

/** Cost: O(n log n) in the seats for the first call on a layout, then constant. */
export function unitsOf(layout: Layout): Units {
  const known = made.get(layout);
  if (known !== undefined) return known;
  const units = makeUnits(layout);
  made.set(layout, units);
  return units;
}

function makeUnits(layout: Layout): Units {
  const { seatCount, sections, rows, scores, previousSeat } = layout;
  const seats = new Uint32Array(seatCount);
  const unitOfSeat = new Uint32Array(seatCount);
  const starts: number[] = [];
  const tables: number[] = [];
  let at = 0;
  for (const { type, rows: own } of sections) {
    if (type === GroupType.TABLE) {
      const members = own.flatMap((row) => [...rows[row]!.seats]);
      members.sort((a, b) => scores[a]! - scores[b]! || a - b);
      if (members.length === 0) continue;
      tables.push(starts.length);
      starts.push(at);
      seats.set(members, at);
      at += members.length;
    } else {
      for (const row of own) {
        for (const seat of rows[row]!.seats) {
          if (previousSeat[seat] === NONE) starts.push(at);
          seats[at++] = seat;
        }
      }
    }
  }
  const count = starts.length;
  const isTable = new Uint8Array(count);
  for (const unit of tables) isTable[unit] = 1;
  starts.push(at);
  const lowScores = new Uint32Array(count).fill(NONE);
  let longest = 0;
  for (let unit = 0; unit < count; unit++) {
    longest = Math.max(longest, starts[unit + 1]! - starts[unit]!);
    for (let i = starts[unit]!; i < starts[unit + 1]!; i++) {
      unitOfSeat[seats[i]!] = unit;
      lowScores[unit] = Math.min(lowScores[unit]!, scores[seats[i]!]!);
    }
  }
  const units = { seats, starts: Uint32Array.from(starts) };
  const bounds = boundsOf(layout, units);
  return { ...units, count, longest, lowScores, unitOfSeat, isTable, bounds };
}

function boundsOf({ x, y }: Layout, units: Pick<Units, "seats" | "starts">): Float64Array {
  const count = units.starts.length - 1;
  const bounds = new Float64Array(4 * count).fill(NaN);
  for (let unit = 0; unit < count; unit++) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = units.starts[unit]!; i < units.starts[unit + 1]!; i++) {
      const seat = units.seats[i]!;
      if (Number.isNaN(x[seat]!)) continue;
      left = Math.min(left, x[seat]!);
      top = Math.min(top, y[seat]!);
      right = Math.max(right, x[seat]!);
      bottom = Math.max(bottom, y[seat]!);
    }
    if (left <= right) bounds.set([left, top, right, bottom], 4 * unit);
  }
  return bounds;
}

/**
 * The least distance, in whole drawing units, that a mean of positions of the unit can have from a
 * point; Infinity without a position. Rounded down: a mean can miss the bounds by its own rounding.
 */
export function distanceToBounds({ bounds }: Units, unit: number, { x, y }: Point): number {
  const left = bounds[4 * unit]!;
  if (Number.isNaN(left)) return Infinity;
  const dx = Math.max(left - x, 0, x - bounds[4 * unit + 2]!);
  const dy = Math.max(bounds[4 * unit + 1]! - y, 0, y - bounds[4 * unit + 3]!);
  return Math.floor(Math.sqrt(dx * dx + dy * dy));
}

/** The units with seats of the groups, rising. Cost: O(seats of the groups). */
export function unitsOfGroups(layout: Layout, groupIds: readonly number[]): Uint32Array {
  const { unitOfSeat } = unitsOf(layout);
  const found = new Set<number>();
  for (const id of groupIds) {
    for (const seat of collectSeats(layout, layout.groups.get(id)!)) found.add(unitOfSeat[seat]!);
  }
  return Uint32Array.from(found).sort();
}

/** Sorts seats by row, and along it. Cost: O(seats of their rows). */
export function alongRows({ rows, rowOfSeat }: Layout, seats: readonly number[]): number[] {
  const wanted = new Set(seats);
  const own = [...new Set(seats.map((seat) => rowOfSeat[seat]!))].sort((a, b) => a - b);
  return own.flatMap((row) => [...rows[row]!.seats].filter((seat) => wanted.has(seat)));
}
