/** Places for seats that a layout does not place: tables are round, rows are straight. */

/** Index: seat. Value: a coordinate in drawing units; NaN where there is none. */
export interface Places {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

export interface Surroundings {
  readonly rowOfSeat: readonly number[];
  readonly sectionOfRow: readonly number[];
  /** By section: where it begins. */
  readonly frames: readonly { readonly left: number; readonly top: number }[];
  /** By section. */
  readonly isTable: readonly boolean[];
}

const PITCH = 28;
const TABLE_RADIUS_MIN = 24;

/** Cost: O(seats). */
export function fillGaps(places: Places, surroundings: Surroundings): void {
  const { rowOfSeat, sectionOfRow, frames, isTable } = surroundings;
  const missing = new Map<number, number[]>();
  for (const [seat, row] of rowOfSeat.entries()) {
    if (Number.isFinite(places.x[seat]! + places.y[seat]!)) continue;
    const seats = missing.get(row);
    if (seats === undefined) missing.set(row, [seat]);
    else seats.push(seat);
  }
  const rowsOfSection = new Map<number, number>();
  for (const [row, seats] of missing) {
    const section = sectionOfRow[row]!;
    const line = rowsOfSection.get(section) ?? 0;
    rowsOfSection.set(section, line + 1);
    const { left, top } = frames[section]!;
    const radius =
      Math.max(TABLE_RADIUS_MIN, (seats.length * PITCH) / (2 * Math.PI)) + line * PITCH;
    for (const [position, seat] of seats.entries()) {
      const angle = (2 * Math.PI * position) / seats.length - Math.PI / 2;
      const round = isTable[section]!;
      places.x[seat] = left + (round ? radius * Math.cos(angle) : position * PITCH);
      places.y[seat] = top + (round ? radius * Math.sin(angle) : line * PITCH);
    }
  }
}
