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

/** Ids by key. */
interface KeyIndex {
  readonly seats: ReadonlyMap<string, number>;
  readonly areas: ReadonlyMap<string, number>;
}

/** Made when the first key of a layout is looked for; goes with the layout. */
const indexes = new WeakMap<Layout, KeyIndex>();

/** @returns Undefined for a key that names nothing. Cost: O(seats) once a layout, then constant. */
export function findKey(layout: Layout, key: string): KeyedPlace | undefined {
  let index = indexes.get(layout);
  if (index === undefined) indexes.set(layout, (index = indexLayout(layout)));
  const seat = index.seats.get(key);
  if (seat !== undefined) return { member: "seats", id: seat };
  const area = index.areas.get(key);
  return area === undefined ? undefined : { member: "groupOfSeats", id: area };
}

export function joinKey(...labels: readonly string[]): string {
  return labels.join(KEY_SEPARATOR);
}

function indexLayout({ rows, sections, areas, seatIds, seatNames }: Layout): KeyIndex {
  const seats = new Map<string, number>();
  for (const row of rows) {
    const rowKey = joinKey(sections[row.section]!.name, row.name);
    for (const seat of row.seats) seats.set(joinKey(rowKey, seatNames[seat]!), seatIds[seat]!);
  }
  return { seats, areas: new Map(areas.map(({ name, id }) => [name, id])) };
}
