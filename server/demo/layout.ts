/**
 * The small theatre of the demo: stalls with an aisle, a balcony, two tables and a standing pit.
 */
import { randomUUID } from "node:crypto";
import type { LayoutBody, SentRow, SentSeat, SentSector } from "../../engine/shapes/bodies.ts";

const PITCH = 28;

interface Block {
  readonly name: string;
  readonly rows: readonly string[];
  readonly seatsPerRow: number;
  /** Seats before the aisle; 0 for no aisle. */
  readonly aisle: number;
  readonly x: number;
  readonly y: number;
}

const BLOCKS: readonly Block[] = [
  {
    name: "Stalls",
    rows: ["A", "B", "C", "D", "E", "F", "G", "H"],
    seatsPerRow: 16,
    aisle: 8,
    x: 0,
    y: 0,
  },
  { name: "Balcony", rows: ["A", "B", "C"], seatsPerRow: 20, aisle: 0, x: 0, y: -200 },
];
const TABLES = ["Table 1", "Table 2"];
const TABLE_SEATS = 4;
const PIT_PLACES = 150;

export function demoLayout(): LayoutBody {
  const sectors: SentSector[] = [];
  const rows: SentRow[] = [];
  const seats: SentSeat[] = [];
  for (const block of BLOCKS) {
    const { name, x, y } = block;
    const sectorGuid = randomUUID();
    sectors.push({ guid: sectorGuid, name, ga: false, x, y });
    for (const [r, rowNumber] of block.rows.entries()) {
      const rowGuid = randomUUID();
      rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber });
      for (let s = 0; s < block.seatsPerRow; s++) {
        const passed = block.aisle > 0 && s >= block.aisle ? 2 : 0;
        const place = { x: (s + passed) * PITCH, y: r * PITCH };
        const label = String(s + 1);
        seats.push({ guid: randomUUID(), rowGuid, name: label, ...place });
      }
    }
  }
  for (const [t, name] of TABLES.entries()) {
    const [sectorGuid, rowGuid] = [randomUUID(), randomUUID()];
    sectors.push({ guid: sectorGuid, name, ga: false, type: "TABLE", x: 600, y: t * 120 });
    rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber: "1" });
    for (let s = 1; s <= TABLE_SEATS; s++) {
      seats.push({ guid: randomUUID(), rowGuid, name: String(s) });
    }
  }
  const pit = { guid: randomUUID(), name: "Pit", ga: true, gaCapacity: PIT_PLACES };
  sectors.push({ ...pit, x: 0, y: 300 });
  return { sectors, rows, seats, shapes: [] };
}
