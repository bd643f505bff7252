/**
 * Loads the state from a snapshot. Changes nothing on disk. A damaged snapshot is skipped and
 * reported, never used in part.
 */
import { apply, noteSequence } from "../../engine/apply.ts";
import { Broken } from "../../engine/assert.ts";
import { type EventRow, TABLES } from "../../engine/catalog.ts";
import { Door, type DoorCopy } from "../../engine/inventory/door.ts";
import { restorePartition } from "../../engine/inventory/image.ts";
import { buildLayout } from "../../engine/layout/layout.ts";
import { plainDocument } from "../../engine/layout/packed.ts";
import { type LogRecord, recordOn, RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { checkDoor, checkPartition } from "../../engine/verify.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { Malformed, only } from "../disk/faults.ts";
import { SqlFault, type SqlFile, readSqlFile } from "../disk/sqlite.ts";
import type { Replay } from "../log/codec.ts";
import { loadedRow } from "../log/layout-packing.ts";
import type { OnProgress } from "../log/log-reader.ts";
import {
  decodeImage,
  findSnapshots,
  partitionsOf,
  readMeta,
  rowsOf,
  sequencesOf,
  SNAPSHOT_FOLDER,
  type SnapshotMeta,
} from "./file.ts";

export interface LoadedSnapshot {
  /** Name of the file. */
  readonly name: string;
  readonly meta: SnapshotMeta;
  readonly state: State;
  /** By partition number: the partition contains its moves and prices up to this record. */
  readonly sequences: ReadonlyMap<number, number>;
}

/** An unusable snapshot. */
interface DamagedSnapshot {
  /** Path of the file. */
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

export interface FoundSnapshot {
  /** The first intact one; null when there is none. */
  readonly loaded: LoadedSnapshot | null;
  /** Why each one before it cannot be used. */
  readonly passedOver: readonly string[];
}

/** Loads the newest intact snapshot. Cost: O(bytes of the snapshot, and of each damaged one). */
export function loadNewest(place: StorePlace, onProgress?: OnProgress): FoundSnapshot {
  return loadFirst(place, findSnapshots(place.disk, place.folder), onProgress);
}

/** Loads the oldest intact snapshot. Cost: as `loadNewest`. */
export function loadOldest(place: StorePlace): FoundSnapshot {
  return loadFirst(place, findSnapshots(place.disk, place.folder).toReversed());
}

function loadFirst(
  { folder, storeId }: StorePlace,
  names: readonly string[],
  onProgress?: OnProgress,
): FoundSnapshot {
  const passedOver: string[] = [];
  for (const name of names) {
    const path = `${folder}/${SNAPSHOT_FOLDER}/${name}`;
    const loaded = tryLoad(path, () => loadSnapshot(path, storeId, onProgress));
    if (!("expected" in loaded)) return { loaded: { name, ...loaded }, passedOver };
    passedOver.push(`${path}: expected ${loaded.expected}, found ${loaded.found}`);
  }
  return { loaded: null, passedOver };
}

/** @throws Malformed, SqlFault, Broken when any part of the snapshot is damaged. */
export function loadSnapshot(
  path: string,
  storeId: string,
  onProgress?: OnProgress,
): Omit<LoadedSnapshot, "name"> {
  return readSqlFile(path, (sql) => {
    const meta = readMeta(sql, storeId);
    const state = loadCatalog(sql, meta.nextId);
    const sequences = loadPartitions(sql, state, onProgress);
    loadSequences(sql, state);
    for (const sequence of sequences.values()) {
      if (sequence > meta.markSequence) throw new Malformed("a durable partition", "a newer one");
    }
    return { meta, state, sequences };
  });
}

/** Runs `load` on a snapshot. @returns Its result, or the damage as a value. */
export function tryLoad<T>(path: string, load: () => T): T | DamagedSnapshot {
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

function loadCatalog(sql: SqlFile, nextId: number): State {
  const state = new State();
  for (const table of TABLES) {
    for (const { row } of rowsOf(sql, table)) {
      state.catalog.put(loadedRow(table, row));
    }
  }
  state.catalog.nextId = nextId;
  for (const { id, document } of state.catalog.layouts.values()) {
    state.layouts.set(id, buildLayout(plainDocument(document)));
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
    const decoded = decodeImage(image);
    const partition = restorePartition(decoded, layout);
    checkPartition(partition);
    state.partitions.set(number, partition);
    loadDoor(state, event, decoded.door);
    sequences.set(number, sequence);
    onProgress?.(sequences.size, eventOf.size);
  }
  if (sequences.size !== eventOf.size) {
    throw new Malformed(`${eventOf.size} partitions`, `${sequences.size}`);
  }
  return sequences;
}

/** A door without visitors may be newer than its image, and missing in it. */
function loadDoor(
  state: State,
  { partition, door: row }: EventRow,
  copy: DoorCopy | undefined,
): void {
  if (row === undefined) {
    if (copy !== undefined) throw new Malformed("a door of an event", "one of none");
    return;
  }
  const door = copy === undefined ? new Door(row) : Door.restore(copy, row);
  state.doors.set(partition, door);
  checkDoor(door, state.partitionAt(partition));
}

function loadSequences(sql: SqlFile, state: State): void {
  const stored = sequencesOf(sql);
  for (const { partition } of state.catalog.events.values()) {
    const sequence = stored.get(partition);
    if (sequence === undefined) throw new Malformed("the last record of each event", "none of one");
    state.sequences.set(partition, sequence);
  }
}

const NO_SEQUENCES: ReadonlyMap<number, number> = new Map();

/**
 * @param sequences - By partition number: the last record in its image.
 * @returns The part of the record beyond the images; null for none.
 */
export function missingIn(
  sequences: ReadonlyMap<number, number>,
  sequence: number,
  record: LogRecord,
): LogRecord | null {
  if (record.type === RecordType.CATALOG) return record;
  return recordOn(record, (number) => sequence > (sequences.get(number) ?? 0));
}

/**
 * @returns A replay of the records missing in the snapshot: a partition of it
 * may be newer than its catalog.
 * @param before - Called with each record before it is applied.
 */
export function replayAfter(
  loaded: LoadedSnapshot | null,
  state: State,
  before: (record: LogRecord) => void = () => {},
): Replay {
  return (sequence, timeMs, record) => {
    noteSequence(state, sequence, record);
    const missing = missingIn(loaded?.sequences ?? NO_SEQUENCES, sequence, record);
    if (missing === null) return;
    before(missing);
    apply(state, missing, timeMs, sequence);
  };
}
