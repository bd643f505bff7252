/**
 * How many seats and places a schema has. Before a layout is stored, that is what was declared;
 * afterwards it is what is drawn.
 */
import type { SchemaRow } from "../catalog.ts";
import type { Layout } from "../layout/layout.ts";
import type { State } from "../state.ts";

/** Null where nothing is declared. */
type Capacities = Pick<SchemaRow, "seatsCapacity" | "gaCapacity">;

/** An area without a capacity of its own keeps the declared total. Cost: O(areas). */
export function capacitiesOf(state: State, schema: SchemaRow): Capacities {
  const { seatsCapacity, gaCapacity } = schema;
  if (!state.catalog.layouts.has(schema.id)) return { seatsCapacity, gaCapacity };
  const layout = state.layoutOf(schema.id);
  const isComplete = layout.areas.every(({ capacity }) => capacity !== null);
  return {
    seatsCapacity: layout.seatCount,
    gaCapacity: isComplete ? drawnPlaces(layout) : gaCapacity,
  };
}

/**
 * The places of the one area without a capacity of its own: what the others leave of the declared
 * total.
 *
 * @returns Null when several areas have no capacity, no total is declared, or nothing is left.
 */
export function remainingPlaces(layout: Layout, total: number | null): number | null {
  const openAreas = layout.areas.filter(({ capacity }) => capacity === null);
  if (total === null || openAreas.length !== 1) return null;
  const left = total - drawnPlaces(layout);
  return left > 0 ? left : null;
}

function drawnPlaces({ areas }: Layout): number {
  return areas.reduce((sum, { capacity }) => sum + (capacity ?? 0), 0);
}
