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

interface KeyIndex {
  /** Section index by the key of its name. */
  readonly sections: ReadonlyMap<string, number>;
  /** Area id by the key of its name. */
  readonly areas: ReadonlyMap<string, number>;
  /** By section index: its rows by label. Filled when the section is first looked up. */
  readonly rowsOf: Map<number, ReadonlyMap<string, readonly number[]>>;
  /** By row index: seat ids by label. Filled when the row is first looked up. */
  readonly seatsOf: Map<number, ReadonlyMap<string, readonly number[]>>;
}

/** Five times the longest key: the labels of one that is sent may be decomposed. */
const KEY_LENGTH_MAX = 8_192;
/** Three labels have two separators, each with a `;` of a label on both sides: six places. */
const SEPARATORS_MAX = 16;

/** Filled when a key of the layout is first looked up; released with the layout. */
const indexes = new WeakMap<Layout, KeyIndex>();

/**
 * Labels are compared by `labelKey`. One may begin or end with a single `;`, so more than one
 * separator may end the section or the row.
 *
 * @returns Undefined for an unknown key, or one of two seats: `S;` and `A` make the same key as `S`
 * and `;A`.
 * Cost: O(rows of the section) and O(seats of the row) once for each, then constant.
 */
export function findKey(layout: Layout, sent: string): KeyedPlace | undefined {
  if (sent.length > KEY_LENGTH_MAX) return undefined;
  const key = joinKey(...sent.split(KEY_SEPARATOR).map(labelKey));
  let index = indexes.get(layout);
  if (index === undefined) indexes.set(layout, (index = indexLayout(layout)));
  const area = index.areas.get(key);
  if (area !== undefined) return { member: "groupOfSeats", id: area };
  const ends = endsOf(key);
  const found = ends.length > SEPARATORS_MAX ? [] : seatsNamed(layout, index, key, ends);
  return found.length === 1 ? { member: "seats", id: found[0]! } : undefined;
}

/** Offsets of the separators: candidate ends of a label. */
function endsOf(key: string): number[] {
  const ends: number[] = [];
  for (let end = -1; (end = key.indexOf(KEY_SEPARATOR, end + 1)) !== -1;) ends.push(end);
  return ends;
}

function seatsNamed(
  layout: Layout,
  { sections, rowsOf, seatsOf }: KeyIndex,
  key: string,
  ends: readonly number[],
): number[] {
  const found: number[] = [];
  const after = KEY_SEPARATOR.length;
  for (const end of ends) {
    const section = sections.get(key.slice(0, end));
    if (section === undefined) continue;
    const rows = kept(rowsOf, section, () => indexRows(layout, section));
    for (const rowEnd of ends) {
      if (rowEnd < end + after) continue;
      for (const row of rows.get(key.slice(end + after, rowEnd)) ?? []) {
        const seats = kept(seatsOf, row, () => indexSeats(layout, row));
        found.push(...(seats.get(key.slice(rowEnd + after)) ?? []));
      }
    }
  }
  return found;
}

function kept<Value>(values: Map<number, Value>, of: number, make: () => Value): Value {
  let value = values.get(of);
  if (value === undefined) values.set(of, (value = make()));
  return value;
}

export function joinKey(...labels: readonly string[]): string {
  return labels.join(KEY_SEPARATOR);
}

function indexLayout({ sections, areas }: Layout): KeyIndex {
  return {
    sections: new Map(sections.map(({ name }, i) => [labelKey(name), i])),
    areas: new Map(areas.map(({ name, id }) => [labelKey(name), id])),
    rowsOf: new Map(),
    seatsOf: new Map(),
  };
}

function indexRows(layout: Layout, section: number): ReadonlyMap<string, readonly number[]> {
  const rows = new Map<string, number[]>();
  for (const row of layout.sections[section]!.rows) add(rows, layout.rows[row]!.name, row);
  return rows;
}

function indexSeats(layout: Layout, row: number): ReadonlyMap<string, readonly number[]> {
  const seats = new Map<string, number[]>();
  for (const seat of layout.rows[row]!.seats) {
    add(seats, seatName(layout, seat), layout.seatIds[seat]!);
  }
  return seats;
}

/** Labels that differ in a stored layout may have one key, since versions of Unicode differ. */
function add(values: Map<string, number[]>, label: string, value: number): void {
  const key = labelKey(label);
  const others = values.get(key);
  if (others === undefined) values.set(key, [value]);
  else others.push(value);
}
