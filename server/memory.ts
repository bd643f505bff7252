/** The memory of the process: the least it starts with, and the shares of what clients create. */
import os from "node:os";
import v8 from "node:v8";
import type { Quota } from "../engine/state.ts";

const MEBIBYTE = 1024 * 1024;
/** An empty server, with its threads and their work of the moment, such as a snapshot. */
export const PROGRAM_BYTES = 160 * MEBIBYTE;
/** A theatre fits into what this leaves free. With less the kernel would end the process. */
export const MEMORY_MIN = 192 * MEBIBYTE;
/** Of the free memory. The rest is for caches and for requests under way. */
const SHARES = { catalog: 1 / 4, events: 1 / 2, replies: 1 / 8 };
const REPLIES_MAX = 512 * MEBIBYTE;
/** Of the heap: the rest of it is garbage, and requests under way. */
const HEAP_SHARE = 1 / 2;

/** In bytes. */
export interface Memory {
  /** The limit of the container, or what the machine has. */
  readonly total: number;
  /** The limit of the JavaScript heap. Below a total of 768 MiB, Node lets it exceed the half. */
  readonly heap: number;
}

/** A container may have less memory than its machine. */
export function memoryOfProcess(): Memory {
  // Beyond every machine where there is no limit, and 0 where it is unknown.
  const constrained = process.constrainedMemory();
  const total = Math.min(os.totalmem(), constrained > 0 ? constrained : Infinity);
  return { total, heap: v8.getHeapStatistics().heap_size_limit };
}

/** In MiB; null for the default. */
interface Chosen {
  readonly catalogMemory: number | null;
  readonly eventMemory: number | null;
  readonly replyMemory: number | null;
}

export interface Budgets extends Quota {
  /** For the keys of stored replies. */
  readonly replies: number;
}

/** @returns Bytes. */
export function memoryBudgets(
  { catalogMemory, eventMemory, replyMemory }: Chosen,
  { total, heap }: Memory,
): Budgets {
  const free = Math.max(0, total - PROGRAM_BYTES);
  const orElse = (chosen: number | null, bytes: number) =>
    Math.floor(chosen === null ? bytes : chosen * MEBIBYTE);
  return {
    catalog: orElse(catalogMemory, Math.min(free * SHARES.catalog, heap * HEAP_SHARE)),
    events: orElse(eventMemory, free * SHARES.events),
    replies: orElse(replyMemory, Math.min(free * SHARES.replies, REPLIES_MAX)),
  };
}

/** @throws Error naming the limit. */
export function ensureMemory({ total }: Memory): void {
  if (total >= MEMORY_MIN) return;
  throw new Error(
    `this process may use ${mebibytes(total)} of memory, and needs ${mebibytes(MEMORY_MIN)}: raise ` +
      "the limit of its container or unit (memory.max, resources.limits.memory, MemoryMax)",
  );
}

/** @returns The warning that the chosen budgets are beyond the limit; null when they fit. */
export function tooMuchMemory(
  { catalog, events, replies }: Budgets,
  { total }: Memory,
): string | null {
  const needed = PROGRAM_BYTES + catalog + events + replies;
  if (needed <= total) return null;
  return (
    `--catalog-memory, --event-memory and --reply-memory add up to ${mebibytes(needed)} with the ` +
    `program, and this process may use ${mebibytes(total)}: when they are full, the kernel ends it`
  );
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE).toLocaleString("en")} MiB`;
}
