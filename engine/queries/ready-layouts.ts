/** Layouts and clones that another thread has prepared, and whether they are still current. */
import type { LayoutRow, MadeLayout } from "../catalog.ts";
import type { Copy, Original } from "../layout/change/copy-schema.ts";
import type { GoneObjects } from "../layout/change/prepare-layout.ts";
import type { LayoutDocument } from "../layout/layout-document.ts";
import type { State } from "../state.ts";
import { originalOf } from "./schema-content.ts";

export interface NewIds {
  /** The first id of its new objects; between it and the last id given out there may be a gap. */
  readonly firstId: number;
  readonly newIds: number;
}

export interface ReadyLayout extends GoneObjects, NewIds {
  /** The stored row that it was made from; undefined when there was none. */
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
