/** The whole state of the engine: the catalog, and one partition per event. */
import { assert } from "./assert.ts";
import { Catalog, type EventRow } from "./catalog.ts";
import type { Partition } from "./inventory/partition.ts";
import { Partitions } from "./inventory/partitions.ts";
import { buildLayout, EMPTY_DOCUMENT, type Layout } from "./layout/layout.ts";

const EMPTY_LAYOUT = buildLayout(EMPTY_DOCUMENT);

export class State {
  readonly catalog = new Catalog();
  /** By partition number: `EventRow.partition`. */
  readonly partitions = new Partitions();
  /** By schema id: the seat index of each stored layout. */
  readonly layouts = new Map<number, Layout>();

  /** @returns A layout without seats for a schema that has no stored layout. */
  layoutOf(schemaId: number): Layout {
    return this.layouts.get(schemaId) ?? EMPTY_LAYOUT;
  }

  partitionOf(event: EventRow): Partition {
    return this.partitionAt(event.partition);
  }

  /** @param number - `EventRow.partition` of an existing event. */
  partitionAt(number: number): Partition {
    const partition = this.partitions.get(number);
    assert(partition !== undefined, "every event has its partition");
    return partition;
  }
}
