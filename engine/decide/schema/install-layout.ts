/**
 * Installs a large layout, or the copy of a schema with one, that another thread has prepared: in
 * one short step, so that the whole change is atomic. It must still be current: what it was made
 * from has not changed since, and its new ids have not been given out.
 */
import { assert } from "../../assert.ts";
import type { CloneRow } from "../../catalog.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { ownRow } from "../../queries/access.ts";
import {
  isCurrentClone,
  isCurrentLayout,
  type NewIds,
  type ReadyClone,
  type ReadyLayout,
} from "../../queries/ready-layouts.ts";
import { type Decision, isRefused } from "../../results.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantClone } from "./clone-schema.ts";
import { grantLayout } from "./layouts.ts";

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
  const { copy, made, madeZones } = ready;
  const newIds = newIdsOf(state, ready);
  const grant = { schema, copy, newIds, made, madeZones };
  return grantClone(state, { caller, cloneId, timeMs }, grant);
}

/** The ids of the gap are never given out. */
function newIdsOf({ catalog }: State, { firstId, newIds }: NewIds): number {
  return firstId - catalog.nextId + newIds;
}
