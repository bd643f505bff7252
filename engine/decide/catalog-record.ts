/** The grant of a command that changes the catalog: rows put and removed in one record. */
import { assert } from "../assert.ts";
import type { CatalogPut, CatalogRemove } from "../catalog.ts";
import { RecordType } from "../records.ts";
import { type Grant, grant } from "../results.ts";
import type { Caller } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import type { ZoneChange } from "../layout/zone-table.ts";

export interface CatalogChange {
  /** How many ids the new rows take, counted from the catalog's `nextId`. */
  readonly newIds?: number;
  readonly puts?: readonly CatalogPut[];
  readonly removes?: readonly CatalogRemove[];
  readonly zones?: readonly ZoneChange[];
}

/** @param value - What the command answers. */
export function grantChange<Value>(
  { catalog }: State,
  { actor }: Caller,
  { newIds = 0, puts = [], removes = [], zones = [] }: CatalogChange,
  value: Value,
): Grant<Value> {
  assert(newIds >= 0, "an id that was given out is never given out again");
  const nextId = catalog.nextId + newIds;
  assert(Number.isSafeInteger(nextId), "every id is exact as a double");
  const record = { type: RecordType.CATALOG, actor, nextId, puts, removes } as const;
  return grant(zones.length === 0 ? record : { ...record, zones }, value);
}
