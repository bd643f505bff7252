/**
 * Small random halls for the search of the best places: rows with aisles, curves of ids, tables,
 * areas; ranks, focal points, positions of every kind; seats for wheelchairs and hidden ones.
 */
import type { LayoutBody, SentRow, SentSeat, SentSector, SentShape } from "../../engine/bodies.ts";
import type { Random } from "../sim/workload/random.ts";
import type { Point } from "../sim/model/best.ts";
import { guidOf } from "./layout.ts";

/** A seat as it is drawn, in the order of the hall: by row, and along it. */
export interface DrawnSeat {
  readonly guid: string;
  readonly sector: string;
  readonly row: string;
  readonly isTable: boolean;
  readonly place: number;
  readonly isAfterAisle: boolean;
  readonly at: Point | null;
  readonly isAccessible: boolean;
  readonly isHidden: boolean;
  readonly rank: number | null;
}

export interface RandomHall {
  readonly body: LayoutBody;
  readonly seats: readonly DrawnSeat[];
  readonly areas: readonly string[];
  readonly focus: Point | null;
}

/** The members of one kind for the whole hall: ranks, positions. */
interface Style {
  readonly hasRanks: boolean;
  readonly hasPositions: boolean;
  readonly accessibleOnce: number;
}

export function randomHall(random: Random): RandomHall {
  const style = {
    hasRanks: random.once(5),
    hasPositions: !random.once(5),
    accessibleOnce: random.pick([4, 8, 1_000]),
  };
  const sectors: SentSector[] = [];
  const rows: SentRow[] = [];
  const sent: SentSeat[] = [];
  const seats: DrawnSeat[] = [];
  const tables = random.below(3);
  const sections = tables === 0 ? 1 + random.below(2) : random.below(3);
  for (let i = 0; i < sections + tables; i++) {
    const isTable = i >= sections;
    const name = `${isTable ? "T" : "S"}${i}`;
    const offset = random.once(2) ? { x: random.below(20), y: random.below(20) } : {};
    const type = isTable ? { type: "TABLE" as const } : {};
    sectors.push({ guid: guidOf(name), name, ga: false, ...type, ...offset });
    const rowCount = 1 + random.below(isTable ? 2 : 3);
    for (let r = 0; r < rowCount; r++) {
      const row = { guid: guidOf(`${name}r${r}`), sectorGuid: guidOf(name), rowNumber: `${r}` };
      rows.push(row);
      const count = 1 + random.below(isTable ? 3 : 11);
      const drawn = drawRow(random, style, { row: row.guid, r, count, offset });
      sent.push(...drawn.map(({ seat }) => seat));
      for (const [place, { facts }] of drawn.entries()) {
        seats.push({ ...facts, sector: guidOf(name), row: row.guid, isTable, place });
      }
    }
  }
  const areas = Array.from({ length: random.below(3) }, (_, i) => guidOf(`A${i}`));
  for (const [i, guid] of areas.entries()) {
    sectors.push({ guid, name: `A${i}`, ga: true, gaCapacity: 1 + random.below(8) });
  }
  const focalPoint = random.once(3) ? { x: random.below(30), y: random.below(30) - 10 } : null;
  const stage = random.once(3) ? { left: 4, top: -8, width: random.below(9), height: 3 } : null;
  const centre = stage && { x: stage.left + stage.width / 2, y: stage.top + stage.height / 2 };
  const shapes: SentShape[] = stage === null ? [] : [{ purpose: "OBJECT", ...stage }];
  const body = { sectors, rows, seats: shuffled(random, sent), shapes, focalPoint };
  return { body, seats, areas, focus: focalPoint ?? centre };
}

interface RowPlan {
  readonly row: string;
  readonly r: number;
  readonly count: number;
  readonly offset: { readonly x?: number; readonly y?: number };
}

type Facts = Omit<DrawnSeat, "sector" | "row" | "isTable" | "place">;

function drawRow(random: Random, style: Style, { row, r, count, offset }: RowPlan) {
  const gaps = Array.from({ length: count - 1 }, () => (random.once(5) ? 2 + random.below(2) : 1));
  const byWidth = gaps.toSorted((a, b) => a - b);
  const middle = (byWidth.length - 1) / 2;
  const median = (byWidth[Math.floor(middle)]! + byWidth[Math.ceil(middle)]!) / 2;
  let x = random.below(4);
  return Array.from({ length: count }, (_, place) => {
    const gap = gaps[place - 1] ?? 0;
    x += gap;
    const guid = guidOf(`${row.slice(-8)}${place}`);
    const hasAbsolute = random.once(8);
    const isPlaced = style.hasPositions;
    const absolute = hasAbsolute ? { ax: random.below(40), ay: random.below(40) } : {};
    const within = isPlaced ? { x: x + (offset.x ?? 0), y: r + (offset.y ?? 0) } : null;
    const rank = style.hasRanks && !random.once(4) ? random.below(5) : null;
    const isAccessible = random.once(style.accessibleOnce);
    const isHidden = random.once(25);
    const seat: SentSeat = {
      guid,
      rowGuid: row,
      name: `${place + 1}`,
      ...(isPlaced ? { x, y: r } : {}),
      ...absolute,
      ...(rank === null ? {} : { rank }),
      ...(isAccessible ? { isAccessible } : {}),
      ...(isHidden ? { isHidden } : {}),
    };
    const at = hasAbsolute ? { x: absolute.ax!, y: absolute.ay! } : within;
    const isAfterAisle = isPlaced && gap > 1.5 * median;
    const facts: Facts = { guid, at, rank, isAccessible, isHidden, isAfterAisle };
    return { seat, facts };
  });
}

/** So ids do not rise along the rows, in some of the halls. */
function shuffled<T>(random: Random, items: readonly T[]): T[] {
  if (random.once(3)) return [...items];
  return items
    .map((item) => ({ item, key: random.below(1_000_000) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
