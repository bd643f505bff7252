/**
 * The catalog as it is at one moment, to be handed over later and in parts: its rows never change,
 * so only the lists of them are copied at once.
 */
import { type Catalog, TABLES, type TableName, type CatalogPut } from "../../engine/catalog.ts";

/** A part is at most so many rows. */
const ROWS_PER_PART = 500;

export class CatalogCopy {
  readonly nextId: number;
  readonly #rows: readonly { readonly table: TableName; readonly rows: readonly unknown[] }[];
  #table = 0;
  #row = 0;

  /** Cost: O(rows), pointers only. */
  constructor(catalog: Catalog) {
    this.nextId = catalog.nextId;
    this.#rows = TABLES.map((table) => ({ table, rows: [...catalog[table].values()] }));
  }

  get isDone(): boolean {
    return this.#table === this.#rows.length;
  }

  /** The next rows, in the order in which they lie in memory. To be called until it is done. */
  next(): CatalogPut[] {
    const { table, rows } = this.#rows[this.#table]!;
    const part = rows.slice(this.#row, this.#row + ROWS_PER_PART);
    this.#row += ROWS_PER_PART;
    if (this.#row >= rows.length) {
      this.#table += 1;
      this.#row = 0;
    }
    return part.map((row) => ({ table, row }) as CatalogPut);
  }

  /** All that is left, part by part. */
  *[Symbol.iterator](): Generator<CatalogPut[]> {
    while (!this.isDone) yield this.next();
  }
}
