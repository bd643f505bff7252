/**
 * The zones of sections, rows, areas and seats. Numbers only, by schema: every seat of a large
 * layout may have a zone.
 */
import { assert } from "../assert.ts";

/** The zone of a section, row, area or seat. Its key is the object's id. */
export interface ZoneAssignmentRow {
  readonly id: number;
  readonly schemaId: number;
  readonly zoneId: number;
}

/** A joint change: objects of one schema get zones, or lose them. */
export interface ZoneChange {
  readonly schemaId: number;
  /** Triples: the first id, how many ids follow each other, and their zone; 0 for none. */
  readonly runs: Float64Array;
  /** The zones of all objects of a new schema. The log does not have them: `runs` says the same. */
  readonly made?: Map<number, number>;
}

/** The zone of each object with one, by its id. */
export type ZonesOfSchema = ReadonlyMap<number, number>;

const RUN_NUMBERS = 3;
const OBJECTS_PER_SLICE = 1_000;
const NO_ZONES: ZonesOfSchema = new Map();

/** Joins objects whose ids follow each other. */
export class ZoneRuns {
  readonly #runs: number[] = [];

  /** @param zoneId - 0 for none. */
  add(id: number, zoneId: number): void {
    const runs = this.#runs;
    const last = runs.length - RUN_NUMBERS;
    if (last >= 0 && runs[last + 2] === zoneId && id === runs[last]! + runs[last + 1]!) {
      runs[last + 1]! += 1;
    } else {
      runs.push(id, 1, zoneId);
    }
  }

  get isEmpty(): boolean {
    return this.#runs.length === 0;
  }

  get runs(): Float64Array {
    return Float64Array.from(this.#runs);
  }
}

/** Cost: O(objects). */
export function runsOfZones(zones: ZonesOfSchema): Float64Array {
  const runs = new ZoneRuns();
  for (const [id, zoneId] of zones) runs.add(id, zoneId);
  return runs.runs;
}

/** Visits each object of the runs. @param zoneId - 0 for none. */
export function eachZone(runs: Float64Array, visit: (id: number, zoneId: number) => void): void {
  for (let i = 0; i < runs.length; i += RUN_NUMBERS) {
    const end = runs[i]! + runs[i + 1]!;
    for (let id = runs[i]!; id < end; id++) visit(id, runs[i + 2]!);
  }
}

/** The zones of the runs. Yields between short parts. */
export function* zonesInSlices(runs: Float64Array): Generator<void, Map<number, number>> {
  const zones = new Map<number, number>();
  for (let i = 0; i < runs.length; i += RUN_NUMBERS) {
    const end = runs[i]! + runs[i + 1]!;
    for (let id = runs[i]!; id < end; id++) {
      zones.set(id, runs[i + 2]!);
      if (zones.size % OBJECTS_PER_SLICE === 0) yield;
    }
  }
  return zones;
}

/** The number of objects in the runs. */
export function countOfRuns(runs: Float64Array): number {
  let count = 0;
  for (let i = 0; i < runs.length; i += RUN_NUMBERS) count += runs[i + 1]!;
  return count;
}

export class ZoneTable implements ReadonlyMap<number, ZoneAssignmentRow> {
  readonly #schemas = new Map<number, Map<number, number>>();
  /** The schema of the object removed last: most likely also of the next one. */
  #lastSchemaId = 0;
  size = 0;

  /** The zones of the schema's objects. */
  of(schemaId: number): ZonesOfSchema {
    return this.#schemas.get(schemaId) ?? NO_ZONES;
  }

  put({ id, schemaId, zoneId }: ZoneAssignmentRow): void {
    const zones = this.#zonesFor(schemaId);
    this.size -= zones.size;
    zones.set(id, zoneId);
    this.size += zones.size;
  }

  /** @returns Whether it had a zone. Cost: constant for objects of one schema after another. */
  remove(id: number): boolean {
    if (this.#removeFrom(this.#lastSchemaId, id)) return true;
    for (const schemaId of this.#schemas.keys()) {
      if (this.#removeFrom(schemaId, id)) return true;
    }
    return false;
  }

  #removeFrom(schemaId: number, id: number): boolean {
    const zones = this.#schemas.get(schemaId);
    if (zones?.delete(id) !== true) return false;
    this.#lastSchemaId = schemaId;
    this.size -= 1;
    if (zones.size === 0) this.#schemas.delete(schemaId);
    return true;
  }

  /** Cost: O(objects of the change); constant when all zones of a schema come, or go, at once. */
  change({ schemaId, runs, made }: ZoneChange): void {
    const zones = this.#zonesFor(schemaId);
    this.size -= zones.size;
    if (made !== undefined && zones.size === 0) {
      this.#schemas.set(schemaId, made);
    } else if (removesAll(zones, runs)) {
      zones.clear();
    } else {
      eachZone(runs, (id, zoneId) => {
        if (zoneId > 0) zones.set(id, zoneId);
        else assert(zones.delete(id), "only an existing zone is removed");
      });
    }
    const { size } = this.of(schemaId);
    this.size += size;
    if (size === 0) this.#schemas.delete(schemaId);
  }

  #zonesFor(schemaId: number): Map<number, number> {
    let zones = this.#schemas.get(schemaId);
    if (zones === undefined) this.#schemas.set(schemaId, (zones = new Map()));
    return zones;
  }

  get(id: number): ZoneAssignmentRow | undefined {
    for (const [schemaId, zones] of this.#schemas) {
      const zoneId = zones.get(id);
      if (zoneId !== undefined) return { id, schemaId, zoneId };
    }
    return undefined;
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  *values(): MapIterator<ZoneAssignmentRow> {
    for (const [schemaId, zones] of this.#schemas) {
      for (const [id, zoneId] of zones) yield { id, schemaId, zoneId };
    }
  }

  *keys(): MapIterator<number> {
    for (const zones of this.#schemas.values()) yield* zones.keys();
  }

  *entries(): MapIterator<[number, ZoneAssignmentRow]> {
    for (const row of this.values()) yield [row.id, row];
  }

  [Symbol.iterator](): MapIterator<[number, ZoneAssignmentRow]> {
    return this.entries();
  }

  forEach(visit: (row: ZoneAssignmentRow, id: number, table: ZoneTable) => void): void {
    for (const row of this.values()) visit(row, row.id, this);
  }
}

function removesAll(zones: ZonesOfSchema, runs: Float64Array): boolean {
  for (let i = 2; i < runs.length; i += RUN_NUMBERS) if (runs[i] !== 0) return false;
  if (runs.length === 0 || countOfRuns(runs) !== zones.size) return false;
  eachZone(runs, (id) => assert(zones.has(id), "only an existing zone is removed"));
  return true;
}
