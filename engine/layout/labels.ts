/**
 * Composite keys: how v1 names the objects of a layout. The key of a seat is made of labels,
 * `<section>;;<row>;;<seat>`; the key of a general-admission area is its name.
 */
import { labelKey } from "../names.ts";
import { type Layout, seatName } from "./layout.ts";

/** No label contains it. */
export const KEY_SEPARATOR = ";;";

/** The object named by a key. */
export interface KeyedPlace {
  /** The list of such objects in a v2 body. */
  readonly member: "seats" | "groupOfSeats";
  readonly id: number;
}

/** Null for a key of two seats. */
type SeatsByKey = ReadonlyMap<string, number | null>;

interface KeyIndex {
  /** Section index by the key of its name. */
  readonly sections: ReadonlyMap<string, number>;
  /** Area id by the key of its name. */
  readonly areas: ReadonlyMap<string, number>;
  /** By section index: seat ids by key. Filled when the section is first looked up. */
  readonly seatsOf: Map<number, SeatsByKey>;
}

/** Filled when a key of the layout is first looked up; released with the layout. */
const indexes = new WeakMap<Layout, KeyIndex>();

/**
 * Labels are compared by `labelKey`. One may begin or end with a single `;`, so more than one
 * separator may end the section.
 *
 * @returns Undefined for an unknown key, or one of two seats: `S;` and `A` make the same key as `S`
 * and `;A`.
 * Cost: O(seats of the section) once per section, then constant.
 */
export function findKey(layout: Layout, sent: string): KeyedPlace | undefined {
  const key = joinKey(...sent.split(KEY_SEPARATOR).map(labelKey));
  let index = indexes.get(layout);
  if (index === undefined) indexes.set(layout, (index = indexLayout(layout)));
  const area = index.areas.get(key);
  if (area !== undefined) return { member: "groupOfSeats", id: area };
  let found: number | null | undefined;
  for (let end = -1; (end = key.indexOf(KEY_SEPARATOR, end + 1)) !== -1;) {
    const section = index.sections.get(key.slice(0, end));
    const seat = section === undefined ? undefined : seatsOf(layout, index, section).get(key);
    if (seat !== undefined) found = found === undefined ? seat : null;
  }
  return found === undefined || found === null ? undefined : { member: "seats", id: found };
}

function seatsOf(layout: Layout, index: KeyIndex, section: number): SeatsByKey {
  let seats = index.seatsOf.get(section);
  if (seats === undefined) index.seatsOf.set(section, (seats = indexSection(layout, section)));
  return seats;
}

export function joinKey(...labels: readonly string[]): string {
  return labels.join(KEY_SEPARATOR);
}

function indexLayout({ sections, areas }: Layout): KeyIndex {
  return {
    sections: new Map(sections.map(({ name }, i) => [labelKey(name), i])),
    areas: new Map(areas.map(({ name, id }) => [labelKey(name), id])),
    seatsOf: new Map(),
  };
}

function indexSection(layout: Layout, section: number): SeatsByKey {
  const { name, rows } = layout.sections[section]!;
  const seats = new Map<string, number | null>();
  for (const index of rows) {
    const row = layout.rows[index]!;
    for (const seat of row.seats) {
      const key = joinKey(...[name, row.name, seatName(layout, seat)].map(labelKey));
      seats.set(key, seats.has(key) ? null : layout.seatIds[seat]!);
    }
  }
  return seats;
}
