/**
 * Composite keys: how v1 names the objects of a layout. The key of a seat is made of labels,
 * `<section>;;<row>;;<seat>`; the key of a general-admission area is its name.
 */
import { type Layout, seatName } from "./layout.ts";

/** No label contains it. */
export const KEY_SEPARATOR = ";;";

/** The object that a key names. */
export interface KeyedPlace {
  /** The member of a v2 body that lists such objects. */
  readonly member: "seats" | "groupOfSeats";
  readonly id: number;
}

interface KeyIndex {
  /** Section index by name. */
  readonly sections: ReadonlyMap<string, number>;
  /** Area id by name. */
  readonly areas: ReadonlyMap<string, number>;
  /** By section index: seat id by key. Filled when the section is first looked up. */
  readonly seatsOf: Map<number, ReadonlyMap<string, number>>;
}

/** Filled when a key of the layout is first looked up; released with the layout. */
const indexes = new WeakMap<Layout, KeyIndex>();

/**
 * @returns Undefined for a key that names nothing.
 * Cost: O(seats of the section) once per section, then constant.
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
      seats.set(joinKey(name, row.name, seatName(layout, seat)), layout.seatIds[seat]!);
    }
  }
  return seats;
}
