/** The layout and the times of the events that the benchmarks put on sale. */

const SEATS_PER_ROW = 50;

export const EVENT_TIMES = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };

/** One section; the last row may be shorter than the others. */
export function layoutOf(seatCount: number) {
  const rows = Array.from({ length: Math.ceil(seatCount / SEATS_PER_ROW) }, (_, i) => `${i + 1}`);
  return {
    sectors: [{ guid: guidOf(0, 0), name: "Hall", ga: false }],
    rows: rows.map((row) => ({
      guid: guidOf(Number(row), 0),
      sectorGuid: guidOf(0, 0),
      rowNumber: row,
    })),
    seats: Array.from({ length: seatCount }, (_, i) => {
      const row = rows[Math.floor(i / SEATS_PER_ROW)]!;
      const x = i % SEATS_PER_ROW;
      const [guid, rowGuid] = [guidOf(Number(row), x + 1), guidOf(Number(row), 0)];
      return { guid, rowGuid, name: `${x + 1}`, x, y: 0 };
    }),
  };
}

/** @param seat - From 1; 0 for the row itself. */
function guidOf(row: number, seat: number): string {
  const serial = row * (SEATS_PER_ROW + 1) + seat;
  return `00000000-0000-4000-8000-${String(serial).padStart(12, "0")}`;
}
