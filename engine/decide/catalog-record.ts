/** Catalog records: rows put and removed together, and the ids that they used up. */
import type { CatalogPut, CatalogRemove } from "../catalog.ts";
import type { Caller } from "../commands.ts";
import { type CatalogRecord, RecordType } from "../records.ts";

export interface CatalogChange {
  readonly nextId: number;
  readonly puts?: readonly CatalogPut[];
  readonly removes?: readonly CatalogRemove[];
}

export function catalogRecord(caller: Caller, change: CatalogChange): CatalogRecord {
  const { nextId, puts = [], removes = [] } = change;
  return { type: RecordType.CATALOG, actor: caller.actor, nextId, puts, removes };
}
