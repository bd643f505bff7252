/**
 * Installs a large layout, or the copy of a schema with one, that another thread has prepared: in
 * one short step, so that the whole change is atomic. It must still be current: what it was made
 * from has not changed since, and its new ids have not been given out.
 */
import { assert } from "../../assert.ts";
import type { CloneRow, LayoutRow, MadeLayout } from "../../catalog.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { ownRow } from "../../queries/access.ts";
import { type Decision, isRefused } from "../../results.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { type Copy, grantClone, type Original, originalOf } from "./clone-schema.ts";
import { type GoneObjects, grantLayout } from "./layouts.ts";

interface NewIds {
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
    hasSameRows(now.assignments, original.assignments)
  );
}

function hasSameRows(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((row, i) => row === b[i]);
}

type LayoutCommand = { schemaId: number; ready: ReadyLayout; forceDelete: boolean };

/** Otherwise like `putLayout`. Cost: O(removed objects × events of the schema). */
export function installLayout(
  state: State,
  command: CommandWith<LayoutCommand>,
  timeMs: number,
): Decision<LayoutDocument> {
  const { caller, schemaId, ready, forceDelete } = command;
  const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  assert(isCurrentLayout(state, schemaId, ready), "an installed layout is current");
  const { document, made } = ready;
  const newIds = newIdsOf(state, ready);
  return grantLayout(
    state,
    { caller, forceDelete, timeMs },
    { schema, document, made, newIds, gone: ready },
  );
}

type CloneCommand = { schemaId: number; cloneId: string; ready: ReadyClone };

/** Otherwise like `cloneSchema`. Cost: O(objects of the layout). */
export function installClone(
  state: State,
  { caller, schemaId, cloneId, ready }: CommandWith<CloneCommand>,
  timeMs: number,
): Decision<CloneRow> {
  const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  assert(isCurrentClone(state, ready), "an installed clone is current");
  const { copy, made } = ready;
  const newIds = newIdsOf(state, ready);
  return grantClone(state, { caller, cloneId, timeMs }, { schema, copy, newIds, made });
}

/** The ids of the gap are never given out. */
function newIdsOf({ catalog }: State, { firstId, newIds }: NewIds): number {
  return firstId - catalog.nextId + newIds;
}
