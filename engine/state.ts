/** Everything that the engine knows: the catalog, and one partition per event. */
import { assert } from "./assert.ts";
import { Catalog, type EventRow } from "./catalog.ts";
import type { Partition } from "./inventory/partition.ts";
import { buildLayout, EMPTY_DOCUMENT, type Layout } from "./layout/layout.ts";

const EMPTY_LAYOUT = buildLayout(EMPTY_DOCUMENT);

export class State {
  readonly catalog = new Catalog();
  /** By partition number. */
  readonly partitions = new Map<number, Partition>();
  /** By schema id; a schema without a stored layout has none. */
  readonly layouts = new Map<number, Layout>();

  layoutOf(schemaId: number): Layout {
    return this.layouts.get(schemaId) ?? EMPTY_LAYOUT;
  }

  partitionOf(event: EventRow): Partition {
    const partition = this.partitions.get(event.partition);
    assert(partition !== undefined, "every event has its partition");
    return partition;
  }
}
