/** Layouts and clones prepared in another thread, and the check of their base. */
import type { LayoutRow, MadeLayout } from "../catalog.ts";
import type { Copy, GoneObjects, Original } from "../layout/change.ts";
import type { LayoutDocument } from "../layout/document.ts";
import { runsOfZones } from "../layout/zones.ts";
import type { State } from "../state.ts";

export interface NewIds {
  /** The first id of its new objects; between it and the last id given out there may be a gap. */
  readonly firstId: number;
  readonly newIds: number;
}

export interface ReadyLayout extends GoneObjects, NewIds {
  /** The stored row at the base; undefined for none. */
  readonly base: LayoutRow | undefined;
  readonly document: LayoutDocument;
  readonly made: MadeLayout;
}

export interface ReadyClone extends NewIds {
  readonly original: Original;
  readonly copy: Copy;
  readonly made: MadeLayout;
  /** The zones of the copy, as `ZoneChange.made`. */
  readonly madeZones?: Map<number, number>;
}

export function isCurrentLayout({ catalog }: State, schemaId: number, ready: ReadyLayout): boolean {
  return catalog.layouts.get(schemaId) === ready.base && catalog.nextId <= ready.firstId;
}

/** Cost: O(objects of the layout). */
export function isCurrentClone(state: State, { original, firstId }: ReadyClone): boolean {
  const now = originalOf(state, original.schemaId);
  return (
    state.catalog.nextId <= firstId &&
    now.document === original.document &&
    hasSameRows(now.zones, original.zones) &&
    hasSameNumbers(now.assignments, original.assignments)
  );
}

function hasSameNumbers(a: Float64Array, b: Float64Array): boolean {
  return a.length === b.length && a.every((number, i) => number === b[i]);
}

function hasSameRows(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((row, i) => row === b[i]);
}

// The parts of a schema: its layout, its zones, and the zones of its objects.

/** The input of `copyOriginal`. Cost: O(objects of the layout). */
export function originalOf(state: State, schemaId: number): Original {
  const { layouts, zones, zoneAssignments } = state.catalog;
  return {
    schemaId,
    document: layouts.get(schemaId)?.document ?? null,
    zones: [...zones.values()].filter((zone) => zone.schemaId === schemaId),
    assignments: runsOfZones(zoneAssignments.of(schemaId)),
  };
}
