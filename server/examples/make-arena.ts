/**
 * Writes the sample arena to standard output, gzipped, in the wire format of a layout:
 * `node dist/server/examples/make-arena.js > server/examples/arena.json.gz`. The output is the same
 * on every run.
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

/** Distances in the unit of the drawing: seat to seat, row to row. */
const PITCH = 28;
const ROW_PITCH = 34;
const AISLE = 42;
const ROWS = "ABCDEFGHIJKLMNOPQRST";

const RING = { blocks: 24, rows: 16, seats: 16, radius: 1_700 };
const FLOOR = { blocks: 8, rows: 12, seats: 14, columns: 4 };
const STANDING = { names: ["Standing Left", "Standing Right"], places: 800 };

interface Group {
  readonly guid: string;
  readonly name: string;
  readonly ga: boolean;
  readonly x: number;
  readonly y: number;
  readonly gaCapacity?: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const sectors: Group[] = [];
const rows: object[] = [];
const seats: object[] = [];
const shapes: object[] = [];

/** A UUID (version 8, RFC 9562) that depends on the path alone, so that the file never changes. */
function guidOf(...path: readonly (string | number)[]): string {
  const hex = createHash("sha256").update(path.join("/")).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-a$4-$5");
}

/** @param placeOf - Position of a seat, relative to the section. */
function addSection(
  name: string,
  origin: Point,
  size: { readonly rows: number; readonly seats: number },
  placeOf: (row: number, seat: number) => Point,
): void {
  const sectorGuid = guidOf(name);
  sectors.push({ guid: sectorGuid, name, ga: false, ...origin });
  for (let row = 0; row < size.rows; row++) {
    const rowNumber = ROWS[row]!;
    const rowGuid = guidOf(name, rowNumber);
    rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber, seatName: "Seat" });
    for (let seat = 0; seat < size.seats; seat++) {
      const [x, y] = Object.values(placeOf(row, seat)).map((value) => Math.round(value * 10) / 10);
      const label = String(seat + 1);
      const absolute = { ax: origin.x + x!, ay: origin.y + y! };
      seats.push({ guid: guidOf(name, rowNumber, label), rowGuid, name: label, x, y, ...absolute });
    }
  }
}

function addRing({ blocks, radius, ...size }: typeof RING): void {
  const blockAngle = (2 * Math.PI) / blocks;
  for (let block = 0; block < blocks; block++) {
    addSection(`Block ${101 + block}`, { x: 0, y: 0 }, size, (row, seat) => {
      // Nine tenths of the angle: the rest is the aisle to the next block.
      const angle = blockAngle * (block + (0.9 * seat) / (size.seats - 1));
      const distance = radius + row * ROW_PITCH;
      return { x: distance * Math.cos(angle), y: distance * Math.sin(angle) };
    });
  }
}

function addFloor({ blocks, columns, ...size }: typeof FLOOR): void {
  const width = size.seats * PITCH + 2 * AISLE;
  const depth = size.rows * ROW_PITCH + AISLE;
  for (let block = 0; block < blocks; block++) {
    const column = block % columns;
    const x = (column - columns / 2) * width;
    const y = Math.floor(block / columns) * depth;
    addSection(`Floor ${block + 1}`, { x, y }, size, (row, seat) => ({
      x: seat * PITCH + (seat < size.seats / 2 ? 0 : AISLE),
      y: row * ROW_PITCH,
    }));
  }
}

function addStanding({ names, places }: typeof STANDING): void {
  for (const [i, name] of names.entries()) {
    const guid = guidOf(name);
    const box = { left: (i - 1) * 620, top: -620, width: 600, height: 400 };
    sectors.push({ guid, name, ga: true, gaCapacity: places, x: box.left, y: box.top });
    const drawing = { shapeType: "RECT", purpose: "GA", groupOfSeatsGuid: guid };
    shapes.push({ id: guidOf(name, "shape"), ...drawing, ...box, order: i + 1, text: name });
  }
}

const stage = { left: -600, top: -1_000, width: 1_200, height: 300, order: 0, text: "STAGE" };
shapes.push({ id: guidOf("stage"), shapeType: "RECT", purpose: "OBJECT", ...stage });
addRing(RING);
addFloor(FLOOR);
addStanding(STANDING);
const json = JSON.stringify({ sectors, rows, seats, shapes });
process.stdout.write(gzipSync(json, { level: 9 }));
