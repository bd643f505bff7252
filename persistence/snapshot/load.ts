/**
 * A state from a snapshot file: what recovery goes on from. Changes nothing on disk. A snapshot
 * that is damaged is passed over and named, never used in part.
 */
import { Broken } from "../../engine/assert.ts";
import { type EventRow, TABLES, type CatalogPut } from "../../engine/catalog.ts";
import { restorePartition } from "../../engine/inventory/image.ts";
import { buildLayout } from "../../engine/layout/layout.ts";
import { State } from "../../engine/state.ts";
import { checkPartition } from "../../engine/verify/check.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { SqlFault, type SqlFile, readSqlFile } from "../disk/sqlite.ts";
import type { OnProgress } from "../log/read-log.ts";
import {
  SNAPSHOT_FOLDER,
  type SnapshotMeta,
  findSnapshots,
  partitionsOf,
  readMeta,
  rowsOf,
} from "./file.ts";
import { decodeImage } from "./image-codec.ts";

/** What a snapshot holds. */
export interface LoadedSnapshot {
  /** Name of the file. */
  readonly name: string;
  readonly meta: SnapshotMeta;
  readonly state: State;
  /** By partition number: the record up to which the log's moves and prices are in it. */
  readonly sequences: ReadonlyMap<number, number>;
}

/** A snapshot that cannot be used. */
export interface PassedOver {
  /** Path of the file. */
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

export interface FoundSnapshots {
  /** The newest good one; null when there is none. */
  readonly loaded: LoadedSnapshot | null;
  /** Newer ones that are damaged, the newest first. */
  readonly passedOver: readonly PassedOver[];
}

export interface LoadOptions {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  readonly onProgress?: OnProgress | undefined;
}

/** Cost: O(bytes of the newest snapshot), and of each damaged one. */
export function loadNewest(options: LoadOptions): FoundSnapshots {
  const { disk, folder, storeId, onProgress } = options;
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const passedOver: PassedOver[] = [];
  for (const name of findSnapshots(namesIn(disk, snapshots))) {
    const path = `${snapshots}/${name}`;
    const loaded = tryLoad(path, () => loadSnapshot(path, storeId, onProgress));
    if ("expected" in loaded) passedOver.push(loaded);
    else return { loaded: { name, ...loaded }, passedOver };
  }
  return { loaded: null, passedOver };
}

/** @throws Malformed, SqlFault, Broken when any part of it is damaged. */
export function loadSnapshot(
  path: string,
  storeId: string,
  onProgress?: OnProgress,
): Omit<LoadedSnapshot, "name"> {
  const sql = readSqlFile(path);
  try {
    const meta = readMeta(sql, storeId);
    const state = loadCatalog(sql, meta);
    const sequences = loadPartitions(sql, state, onProgress);
    for (const sequence of sequences.values()) {
      if (sequence > meta.markSequence) throw new Malformed("a durable partition", "a newer one");
    }
    return { meta, state, sequences };
  } finally {
    sql.close();
  }
}

/** Runs a check of a snapshot; what is wrong with it comes back as a value. */
export function tryLoad<T>(path: string, load: () => T): T | PassedOver {
  try {
    return load();
  } catch (error) {
    if (error instanceof Malformed) {
      return { path, expected: error.expected, found: error.found };
    }
    only(error, SqlFault, Broken);
    return { path, expected: "a sound snapshot", found: error.message };
  }
}

function loadCatalog(sql: SqlFile, meta: SnapshotMeta): State {
  const state = new State();
  for (const table of TABLES) {
    for (const { row } of rowsOf(sql, table)) {
      state.catalog.put({ table, row: JSON.parse(row) as unknown } as CatalogPut);
    }
  }
  state.catalog.nextId = meta.nextId;
  for (const { id, document } of state.catalog.layouts.values()) {
    state.layouts.set(id, buildLayout(document));
  }
  return state;
}

function loadPartitions(
  sql: SqlFile,
  state: State,
  onProgress: OnProgress | undefined,
): Map<number, number> {
  const sequences = new Map<number, number>();
  const eventOf = new Map<number, EventRow>();
  for (const event of state.catalog.events.values()) eventOf.set(event.partition, event);
  for (const { number, sequence, image } of partitionsOf(sql)) {
    const event = eventOf.get(number);
    if (event === undefined) throw new Malformed("a partition of an event", `${number}`);
    const layout = state.layoutOf(event.schemaId);
    const partition = restorePartition(decodeImage(image), layout);
    checkPartition(partition);
    state.partitions.set(number, partition);
    sequences.set(number, sequence);
    onProgress?.(sequences.size, eventOf.size);
  }
  if (sequences.size !== eventOf.size) {
    throw new Malformed(`${eventOf.size} partitions`, `${sequences.size}`);
  }
  return sequences;
}
