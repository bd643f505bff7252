/** Catalog records: rows put and removed together, and the ids that they used up. */
import type { Caller } from "../commands.ts";
import { type CatalogPut, type CatalogRecord, type CatalogRemove, RecordType } from "../records.ts";

export interface CatalogChange {
  readonly nextId: number;
  readonly puts?: readonly CatalogPut[];
  readonly removes?: readonly CatalogRemove[];
}

export function catalogRecord(caller: Caller, change: CatalogChange): CatalogRecord {
  const { nextId, puts = [], removes = [] } = change;
  return { type: RecordType.CATALOG, actor: caller.actor, nextId, puts, removes };
}
