/**
 * The drawing of a layout in columns of numbers: a twentieth of the layout as JSON. What a layout
 * does not place gets a place here, so that every client draws it alike.
 */
import type { LayoutDocument, Sector, Shape } from "../../engine/layout/layout-document.ts";
import { number } from "../wire/views.ts";
import { fillGaps, type Places } from "./placing.ts";
import type { GeometryColumns } from "./geometry-columns.ts";

/** Coordinates are whole numbers of steps; the whole layout is at most this many steps wide. */
const STEPS_MAX = 300_000;
/** Drawing members of shapes that are given back. */
const SHAPE_MEMBERS = [
  "shapeType",
  "purpose",
  "left",
  "top",
  "width",
  "height",
  "angle",
  "rx",
  "order",
  "text",
  "points",
] as const;

/** Cost: O(n log n) in the seats of the layout. */
export function geometryOf(
  document: LayoutDocument,
  schema: { readonly schemaId: number; readonly version: number },
): GeometryColumns<{ readonly groupOfSeatsId: number | null }> {
  const seats = [...document.seats].sort((a, b) => a.id - b.id);
  const sections = document.sectors.filter(({ ga }) => !ga);
  const areas = document.sectors.filter(({ ga }) => ga);
  const sectionIndexes = indexesOf(sections);
  const rowIndexes = indexesOf(document.rows);
  const sectionOfRow = document.rows.map(({ sectorGuid }) => sectionIndexes.get(sectorGuid)!);
  const rowOfSeat = seats.map(({ rowGuid }) => rowIndexes.get(rowGuid)!);
  const places = placesOf({ seats, sections, sectionOfRow, rowOfSeat });
  const shapes = [...document.shapes, ...shapesToAdd(areas, document.shapes, places)];
  const step = stepOf(places);
  const inSteps = (values: Float64Array) => differences(values, (value) => value / step);
  const labels = new Map<string, number>();
  for (const { name } of seats) if (!labels.has(name)) labels.set(name, labels.size);
  const groupIds = new Map(
    [...document.sectors, ...document.rows].map((one) => [one.guid, one.id]),
  );
  return {
    ...schema,
    step,
    sections: sections.map(({ id, name, type = "SECTION" }) => ({ id, name, type })),
    areas: areas.map(({ id, name, gaCapacity = null }) => ({ id, name, capacity: gaCapacity })),
    rows: {
      ids: differences(document.rows.map(({ id }) => id)),
      names: document.rows.map(({ rowNumber }) => rowNumber),
      sections: differences(sectionOfRow),
    },
    labels: [...labels.keys()],
    seats: {
      ids: differences(seats.map(({ id }) => id)),
      rows: differences(rowOfSeat),
      labels: seats.map(({ name }) => labels.get(name)!),
      x: inSteps(places.x),
      y: inSteps(places.y),
      accessible: seats.flatMap((seat, index) => (seat["isAccessible"] === true ? [index] : [])),
    },
    shapes: shapes.map((shape) => shapeOf(shape, groupIds)),
  };
}

function indexesOf(objects: readonly { readonly guid: string }[]): ReadonlyMap<string, number> {
  return new Map(objects.map(({ guid }, index) => [guid, index]));
}

interface Placed {
  readonly seats: LayoutDocument["seats"];
  readonly sections: readonly Sector[];
  readonly sectionOfRow: readonly number[];
  readonly rowOfSeat: readonly number[];
}

/** Where the seats are: in their section, which may be turned. */
function placesOf({ seats, sections, sectionOfRow, rowOfSeat }: Placed): Places {
  const [x, y] = [new Float64Array(seats.length), new Float64Array(seats.length)];
  const frames = sections.map((section) => {
    const angle = ((number(section["angle"]) ?? 0) * Math.PI) / 180;
    const [left, top] = [number(section["x"]) ?? 0, number(section["y"]) ?? 0];
    return { left, top, cos: Math.cos(angle), sin: Math.sin(angle) };
  });
  for (const [index, seat] of seats.entries()) {
    const { left, top, cos, sin } = frames[sectionOfRow[rowOfSeat[index]!]!]!;
    const [dx, dy] = [seat.x ?? Number.NaN, seat.y ?? Number.NaN];
    x[index] = left + dx * cos - dy * sin;
    y[index] = top + dx * sin + dy * cos;
  }
  const places = { x, y };
  fillGaps(places, { rowOfSeat, sectionOfRow, frames, isTable: sections.map(isTable) });
  return places;
}

function isTable({ type }: Sector): boolean {
  return type === "TABLE";
}

/** A power of ten. */
function stepOf(places: Places): number {
  const extent = Math.max(...Object.values(places).map(widthOf), 1);
  return Number(`1e${Math.ceil(Math.log10(extent / STEPS_MAX))}`);
}

function widthOf(values: Float64Array): number {
  let [least, greatest] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return values.length === 0 ? 0 : greatest - least;
}

/** Neighbours have similar numbers, so their differences are short, and repeat. */
function differences(
  values: ArrayLike<number>,
  scaled: (value: number) => number = (value) => value,
): number[] {
  const result: number[] = [];
  let last = 0;
  for (let i = 0; i < values.length; i++) {
    const value = Math.round(scaled(values[i]!));
    result.push(value - last);
    last = value;
  }
  return result;
}

const UNITS_PER_PLACE = 14;
const AREA_WIDTH_MAX = 2_400;
const GAP = 60;

/** Areas that nobody has drawn, in a line below the seats. */
function shapesToAdd(
  areas: readonly Sector[],
  shapes: readonly Shape[],
  { x, y }: Places,
): Shape[] {
  const drawn = new Set(shapes.map(({ groupOfSeatsGuid }) => groupOfSeatsGuid));
  let left = x.length === 0 ? 0 : x.reduce((least, value) => Math.min(least, value), Infinity);
  const bottom = y.reduce((most, value) => Math.max(most, value), 0);
  return areas
    .filter(({ guid }) => !drawn.has(guid))
    .map((area) => {
      const side = Math.round(Math.sqrt(Math.max(area.gaCapacity ?? 0, 100)) * UNITS_PER_PLACE);
      const [width, height] = [Math.min(side * 2, AREA_WIDTH_MAX), Math.round(side / 2)];
      const place = { left: number(area["x"]) ?? left, top: number(area["y"]) ?? bottom + GAP };
      left = place.left + width + GAP;
      const drawing = { shapeType: "RECT", purpose: "GA", ...place, width, height };
      return { groupOfSeatsGuid: area.guid, ...drawing };
    });
}

function shapeOf(shape: Shape, groupIds: ReadonlyMap<string, number>) {
  const { groupOfSeatsGuid } = shape;
  const groupOfSeatsId = groupIds.get(groupOfSeatsGuid ?? "") ?? null;
  const members = SHAPE_MEMBERS.filter((name) => shape[name] !== undefined);
  const drawing = Object.fromEntries(members.map((name) => [name, shape[name]]));
  const corner = { left: shape["left"] ?? shape["x"], top: shape["top"] ?? shape["y"] };
  return { groupOfSeatsId, ...drawing, ...corner };
}
