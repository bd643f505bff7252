/** A copy of the catalog at one moment, which is handed over later and in parts. */
import { type Catalog, TABLES, type TableName, type CatalogPut } from "../../engine/catalog.ts";

/** Rows of a part, at most. */
const ROWS_PER_PART = 500;

export interface CatalogCopy {
  readonly nextId: number;
  /** Puts of all rows, in the order of the tables and of their rows in memory. */
  readonly parts: Generator<CatalogPut[], void>;
}

/** Copies only the lists of rows, because a row never changes. Cost: O(rows), pointers only. */
export function copyCatalog(catalog: Catalog): CatalogCopy {
  const tables = TABLES.map((table) => ({ table, rows: [...catalog[table].values()] }));
  return { nextId: catalog.nextId, parts: partsOf(tables) };
}

function* partsOf(
  tables: readonly { readonly table: TableName; readonly rows: readonly unknown[] }[],
): Generator<CatalogPut[], void> {
  for (const { table, rows } of tables) {
    for (let first = 0; first < rows.length; first += ROWS_PER_PART) {
      const part = rows.slice(first, first + ROWS_PER_PART);
      yield part.map((row) => ({ table, row }) as CatalogPut);
    }
  }
}
