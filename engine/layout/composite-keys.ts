/**
 * Composite keys, by which v1 names what is in a layout: `<section>;;<row>;;<seat>` by their
 * labels, a general-admission area by its name alone.
 */
import type { Layout } from "./layout.ts";

/** No label contains it. */
export const KEY_SEPARATOR = ";;";

/** What a key names, as a member of the v2 bodies and its id. */
export interface KeyedPlace {
  readonly member: "seats" | "groupOfSeats";
  readonly id: number;
}

interface KeyIndex {
  /** Section index by name. */
  readonly sections: ReadonlyMap<string, number>;
  /** Area id by name. */
  readonly areas: ReadonlyMap<string, number>;
  /** Seat id by key, by section index: of the sections that were asked for. */
  readonly seatsOf: Map<number, ReadonlyMap<string, number>>;
}

/** Made when the first key of a layout is looked for; goes with the layout. */
const indexes = new WeakMap<Layout, KeyIndex>();

/**
 * @returns Undefined for a key that names nothing.
 * Cost: O(seats of the section) once for each section, then constant.
 */
export function findKey(layout: Layout, key: string): KeyedPlace | undefined {
  let index = indexes.get(layout);
  if (index === undefined) indexes.set(layout, (index = indexLayout(layout)));
  const end = key.indexOf(KEY_SEPARATOR);
  if (end === -1) {
    const area = index.areas.get(key);
    return area === undefined ? undefined : { member: "groupOfSeats", id: area };
  }
  const section = index.sections.get(key.slice(0, end));
  if (section === undefined) return undefined;
  let seats = index.seatsOf.get(section);
  if (seats === undefined) index.seatsOf.set(section, (seats = indexSection(layout, section)));
  const seat = seats.get(key);
  return seat === undefined ? undefined : { member: "seats", id: seat };
}

export function joinKey(...labels: readonly string[]): string {
  return labels.join(KEY_SEPARATOR);
}

function indexLayout({ sections, areas }: Layout): KeyIndex {
  return {
    sections: new Map(sections.map(({ name }, i) => [name, i])),
    areas: new Map(areas.map(({ name, id }) => [name, id])),
    seatsOf: new Map(),
  };
}

function indexSection(layout: Layout, section: number): ReadonlyMap<string, number> {
  const { name, rows } = layout.sections[section]!;
  const seats = new Map<string, number>();
  for (const index of rows) {
    const row = layout.rows[index]!;
    for (const seat of row.seats) {
      seats.set(joinKey(name, row.name, layout.seatNames[seat]!), layout.seatIds[seat]!);
    }
  }
  return seats;
}
