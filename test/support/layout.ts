/**
 * Layouts in short notation: `section("Stalls", { A: "1 2 3 _ 4 5" })`. Tests name a seat by its
 * row and seat label together (A1), and an area, section or table by its name.
 */
import type { LayoutDocument } from "../../engine/layout/document.ts";
import type { LayoutBody, SentRow, SentSeat, SentSector } from "../../engine/bodies.ts";

/** A part of a layout. Its guids are made of labels, for use in tests. */
export interface LayoutPart {
  readonly sector: SentSector;
  readonly rows: readonly SentRow[];
  readonly seats: readonly SentSeat[];
}

/** A guid from a label of up to sixteen bytes. */
export function guidOf(label: string): string {
  const hex = Buffer.from(label).toString("hex").padStart(32, "0");
  if (hex.length > 32) throw new Error(`the label ${label} is too long for a guid`);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The label of a guid. */
export function labelOfGuid(guid: string): string {
  return Buffer.from(guid.replaceAll("-", "").replace(/^(00)+/, ""), "hex").toString();
}

/** Leaves a gap as wide as a seat: an aisle. */
const GAP = "_";

/** Seats are one unit apart within a row, and so are the rows. */
export function section(name: string, rows: Readonly<Record<string, string>>): LayoutPart {
  return part({ guid: guidOf(name), name, ga: false }, rows);
}

export function table(name: string, seats: string): LayoutPart {
  return part({ guid: guidOf(name), name, ga: false, type: "TABLE" }, { [name]: seats });
}

export function area(name: string, gaCapacity: number | null): LayoutPart {
  return { sector: { guid: guidOf(name), name, ga: true, gaCapacity }, rows: [], seats: [] };
}

function part(sector: SentSector, rowsByLabel: Readonly<Record<string, string>>): LayoutPart {
  const rows: SentRow[] = [];
  const seats: SentSeat[] = [];
  for (const [y, [rowNumber, text]] of Object.entries(rowsByLabel).entries()) {
    const rowGuid = guidOf(`row ${rowNumber}`);
    rows.push({ guid: rowGuid, sectorGuid: sector.guid, rowNumber });
    for (const [x, name] of text.split(" ").entries()) {
      if (name !== GAP) seats.push({ guid: guidOf(rowNumber + name), rowGuid, name, x, y });
    }
  }
  return { sector, rows, seats };
}

/** Joins the parts into the body of a `putLayout` command. */
export function layoutOf(...parts: readonly LayoutPart[]): LayoutBody {
  return {
    sectors: parts.map(({ sector }) => sector),
    rows: parts.flatMap(({ rows }) => rows),
    seats: parts.flatMap(({ seats }) => seats),
  };
}

/** Translates between the labels and the ids of a stored layout. */
export interface Labels {
  readonly seats: readonly string[];
  readonly areas: readonly string[];
  idOf(label: string): number;
  labelOf(id: number): string;
}

export function labelsOf({ sectors, rows, seats }: LayoutDocument): Labels {
  const labelOfRow = new Map(rows.map(({ guid, rowNumber }) => [guid, rowNumber]));
  const ids = new Map<string, number>();
  const add = (label: string, id: number) => {
    if (ids.has(label)) throw new Error(`two objects of the layout are called ${label}`);
    ids.set(label, id);
    return label;
  };
  const seatLabels = seats.map(({ id, rowGuid, name }) =>
    add(`${labelOfRow.get(rowGuid)}${name}`, id),
  );
  for (const { id, rowNumber } of rows) add(`row ${rowNumber}`, id);
  for (const { id, name } of sectors) add(name, id);
  const labels = new Map([...ids].map(([label, id]) => [id, label]));
  return {
    seats: seatLabels,
    areas: sectors.filter(({ ga }) => ga).map(({ name }) => name),
    idOf: (label) => {
      const id = ids.get(label);
      if (id === undefined) throw new Error(`the layout has no ${label}`);
      return id;
    },
    labelOf: (id) => labels.get(id) ?? `#${id}`,
  };
}
