/** The layout and the times of the events that the benchmarks put on sale. */

const SEATS_PER_ROW = 50;

export const EVENT_TIMES = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };

/** One section; the last row may be shorter than the others. */
export function layoutOf(seatCount: number) {
  const rows = Array.from({ length: Math.ceil(seatCount / SEATS_PER_ROW) }, (_, i) => `${i + 1}`);
  return {
    sectors: [{ guid: "hall", name: "Hall", ga: false }],
    rows: rows.map((row) => ({ guid: row, sectorGuid: "hall", rowNumber: row })),
    seats: Array.from({ length: seatCount }, (_, i) => {
      const row = rows[Math.floor(i / SEATS_PER_ROW)]!;
      const x = i % SEATS_PER_ROW;
      return { guid: `${row}/${x + 1}`, rowGuid: row, name: `${x + 1}`, x, y: 0 };
    }),
  };
}
