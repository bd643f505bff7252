/** The layout of a stadium: three tiers of curved blocks, 80,640 seats, and three areas. */
import { createHash } from "node:crypto";
import type { LayoutBody, SentRow, SentSeat, SentSector } from "../../engine/shapes/bodies.ts";

const TIERS = [16, 20, 24];
const BLOCKS = 48;
const DEGREES = 6;
const ROW_PITCH = 34;
const RADIUS = 3_000;
const TIER_DEPTH = 1_200;
const AREAS = ["Front", "Middle", "Back"];
const AREA = { left: -1_200, top: -1_000, width: 2_400, height: 700, pitch: 900, places: 8_000 };
const STAGE = { left: -900, top: -1_700, width: 1_800, height: 400 };

/** @param rowCount - Of each block: 28 in the whole stadium. */
export function stadiumLayout(rowCount = 28): LayoutBody {
  const sectors: SentSector[] = [];
  const rows: SentRow[] = [];
  const seats: SentSeat[] = [];
  for (const [tier, seatCount] of TIERS.entries()) {
    for (let block = 0; block < BLOCKS; block++) {
      const name = `Block ${(tier + 1) * 100 + block + 1}`;
      const sectorGuid = guidOf(name);
      sectors.push({ guid: sectorGuid, name, ga: false, x: 0, y: 0 });
      for (let line = 0; line < rowCount; line++) {
        const rowGuid = guidOf(name, line);
        const rowNumber = line < 26 ? letter(line) : `A${letter(line - 26)}`;
        rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber });
        const radius = RADIUS + tier * TIER_DEPTH + line * ROW_PITCH;
        for (let seat = 0; seat < seatCount; seat++) {
          const degrees = (block * 360) / BLOCKS - DEGREES / 2 + (DEGREES * seat) / (seatCount - 1);
          const [x, y] = [Math.cos, Math.sin].map((along) =>
            rounded(radius * along(radians(degrees))),
          );
          const label = String(seat + 1);
          seats.push({ guid: guidOf(name, line, seat), rowGuid, name: label, x: x!, y: y! });
        }
      }
    }
  }
  const areas = AREAS.map((name) => {
    return { guid: guidOf(name), name, ga: true, gaCapacity: AREA.places };
  });
  const { left, top, width, height, pitch } = AREA;
  const shapes = areas.map(({ guid }, i) => {
    const place = { left, top: top + i * pitch, width, height };
    return { id: guidOf("shape", i), purpose: "GA" as const, groupOfSeatsGuid: guid, ...place };
  });
  const stage = { id: guidOf("stage"), purpose: "OBJECT" as const, text: "STAGE", ...STAGE };
  return { sectors: [...sectors, ...areas], rows, seats, shapes: [...shapes, stage] };
}

function letter(index: number): string {
  return String.fromCodePoint(65 + index);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

/** A UUID (version 8, RFC 9562) that depends on the path alone. */
function guidOf(...path: readonly (string | number)[]): string {
  const hex = createHash("sha256").update(path.join("/")).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-a$4-$5");
}
