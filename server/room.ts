/** The default limits for the memory of what clients create. */
import os from "node:os";
import v8 from "node:v8";
import type { Room } from "../engine/state.ts";

const MEBIBYTE = 1_024 * 1_024;
/** The rest is for the caches, the requests under way, and the work of the moment. */
const SHARE = 1 / 2;

interface Chosen {
  /** In MiB; null for the default. */
  readonly catalogMemory: number | null;
  readonly eventMemory: number | null;
}

export function roomOf({ catalogMemory, eventMemory }: Chosen, { heap, machine } = limits()): Room {
  return {
    catalog: catalogMemory === null ? heap * SHARE : catalogMemory * MEBIBYTE,
    events: eventMemory === null ? machine * SHARE : eventMemory * MEBIBYTE,
  };
}

/** In bytes. A container may have less memory than its machine. */
function limits() {
  const constrained = process.constrainedMemory();
  const machine = Math.min(os.totalmem(), constrained > 0 ? constrained : Infinity);
  return { heap: v8.getHeapStatistics().heap_size_limit, machine };
}
