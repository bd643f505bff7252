/** A layout of many seats in sections, with the members that a drawing tool sends. */

const SEATS_PER_ROW = 40;
const ROWS_PER_SECTION = 250;
const AREAS = 2;
const DISTANCE = 28;

interface Sector {
  readonly guid: string;
  readonly name: string;
  readonly ga: boolean;
  readonly gaCapacity?: number;
}

interface Row {
  readonly guid: string;
  readonly sectorGuid: string;
  readonly rowNumber: string;
}

interface Seat {
  readonly guid: string;
  readonly rowGuid: string;
  readonly name: string;
}

export interface LargeLayout {
  readonly sectors: readonly Sector[];
  readonly rows: readonly Row[];
  readonly seats: readonly Seat[];
  /** The layout as JSON. */
  readonly text: string;
}

export function largeLayout(seatCount: number): LargeLayout {
  const rowCount = Math.ceil(seatCount / SEATS_PER_ROW);
  const sectionCount = Math.ceil(rowCount / ROWS_PER_SECTION);
  const sections = Array.from({ length: sectionCount }, (_, i): Sector => ({
    guid: guidOf(1, i),
    name: `Section ${i + 1}`,
    ga: false,
  }));
  const areas = Array.from({ length: AREAS }, (_, i): Sector => ({
    guid: guidOf(2, i),
    name: `Floor ${i + 1}`,
    ga: true,
    gaCapacity: 500,
  }));
  const rows = Array.from({ length: rowCount }, (_, i): Row => ({
    guid: guidOf(3, i),
    sectorGuid: guidOf(1, Math.floor(i / ROWS_PER_SECTION)),
    rowNumber: `${(i % ROWS_PER_SECTION) + 1}`,
  }));
  const seats = Array.from({ length: seatCount }, (_, i) => {
    const [row, place] = [Math.floor(i / SEATS_PER_ROW), i % SEATS_PER_ROW];
    const at = { x: place * DISTANCE, y: (row % ROWS_PER_SECTION) * DISTANCE };
    return {
      guid: guidOf(4, i),
      rowGuid: guidOf(3, row),
      name: `${place + 1}`,
      ...at,
      ax: at.x + 100,
      ay: at.y + 100,
      angle: 0,
      isAccessible: false,
    };
  });
  const layout = { sectors: [...sections, ...areas], rows, seats };
  return { ...layout, text: JSON.stringify({ ...layout, shapes: [] }) };
}

function guidOf(kind: number, number: number): string {
  return `0000000${kind}-0000-4000-8000-${String(number).padStart(12, "0")}`;
}
