/**
 * Compares two states: the content of the digest, the fences of the holds, and also the order of
 * rows and of their members. Only possibly different rows are converted to text.
 */
import { type Catalog, type CatalogPut, type TableName, TABLES } from "../../../engine/catalog.ts";
import { copyPartition, packImage, restorePartition } from "../../../engine/inventory/image.ts";
import type { Partition } from "../../../engine/inventory/partition.ts";
import type { ZoneAssignmentRow } from "../../../engine/layout/zones.ts";
import { State } from "../../../engine/state.ts";
import { digestPartition } from "../../../engine/verify.ts";

/** @returns The difference; null for none. */
export function stateDifference(known: State, found: State): string | null {
  const [a, b] = [known.catalog, found.catalog];
  if (a.nextId !== b.nextId) return `next id ${b.nextId} in place of ${a.nextId}`;
  for (const table of TABLES) {
    const [rows, others] = [rowsOf(a, table), rowsOf(b, table)];
    if (rows.length !== others.length) return `${others.length} ${table}, not ${rows.length}`;
    for (const [i, row] of rows.entries()) {
      if (isSame(row, others[i])) continue;
      // An undefined member and a missing one are the same.
      const [expected, text] = [JSON.stringify(row), JSON.stringify(others[i])];
      if (expected !== text) return `${table}: ${text} in place of ${expected}`;
    }
  }
  if (known.partitions.size !== found.partitions.size) return "another number of partitions";
  for (const [number, partition] of known.partitions) {
    const other = found.partitions.get(number);
    if (other === undefined) return `no partition ${number}`;
    const [expected, digest] = [digestPartition(partition), digestPartition(other)];
    if (expected !== digest) return `partition ${number}: ${digest} in place of ${expected}`;
    const [fences, others] = [fencesOf(partition), fencesOf(other)];
    if (fences !== others) return `partition ${number}: fences ${others} in place of ${fences}`;
    const [last, sequence] = [known.sequences.get(number), found.sequences.get(number)];
    if (last !== sequence) return `the last record of ${number}: ${sequence} in place of ${last}`;
  }
  return null;
}

/** The zones of objects are in memory by schema, in no order between schemas. */
function rowsOf(catalog: Catalog, table: TableName): readonly object[] {
  const rows = [...catalog[table].values()];
  if (table !== "zoneAssignments") return rows;
  return (rows as ZoneAssignmentRow[]).sort((a, b) => a.schemaId - b.schemaId);
}

function fencesOf({ holds }: Partition): string {
  return holds
    .slots()
    .map((slot) => holds.get(slot).fence)
    .join(" ");
}

/** A copy of the state with shared rows and layouts: they never change. */
export function cloneState(state: State): State {
  const copy = new State();
  for (const table of TABLES) {
    for (const row of state.catalog[table].values()) {
      copy.catalog.put({ table, row } as CatalogPut);
    }
  }
  copy.catalog.nextId = state.catalog.nextId;
  for (const [id, layout] of state.layouts) copy.layouts.set(id, layout);
  for (const [number, partition] of state.partitions) {
    const image = packImage(copyPartition(partition));
    copy.partitions.set(number, restorePartition(image, partition.layout));
    copy.sequences.set(number, state.sequences.get(number)!);
  }
  return copy;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const names = Object.keys(a);
  const others = Object.keys(b);
  if (Array.isArray(a) !== Array.isArray(b) || names.length !== others.length) return false;
  return names.every((name, i) => name === others[i] && isSame(a[name as never], b[name as never]));
}
