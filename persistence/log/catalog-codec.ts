/**
 * The body of a catalog record: MessagePack with plain maps, without shared structures or the
 * record extension, so any MessagePack reader can read an old log. It preserves the order of
 * members and the differences between null, undefined and missing.
 */
import { Packr } from "msgpackr";
import { assert } from "../../engine/assert.ts";
import {
  TABLES,
  type TableName,
  type CatalogPut,
  type CatalogRemove,
} from "../../engine/catalog.ts";
import { eachZone, type ZoneChange } from "../../engine/layout/zone-table.ts";
import { RecordType, type Actor, type CatalogRecord } from "../../engine/records.ts";
import { Malformed, messageOf } from "../disk/faults.ts";
import { isActorKind, isCount } from "./checks.ts";
import { loadedPut, storedPut } from "./layout-packing.ts";

/** Without `variableMapSize` a map has at most 65,535 members, and a caller may send more. */
const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  copyBuffers: true,
  variableMapSize: true,
});

const TABLE_NAMES: ReadonlySet<unknown> = new Set(TABLES);

/** Cost: O(bytes of the rows). */
export function packCatalog(record: CatalogRecord): Buffer {
  const { actor, nextId, removes, zones = [] } = record;
  const puts = [...record.puts.map(storedPut), ...zones.map(storedRuns)];
  assert(isBody({ actor, nextId, puts, removes }), "a catalog record has its members");
  return packr.pack({ actor, nextId, puts, removes });
}

/** Cost: O(bytes). @throws Malformed when the bytes are not the body of a catalog record. */
export function unpackCatalog(bytes: Buffer): CatalogRecord {
  const body = unpack(bytes);
  if (!isBody(body)) throw new Malformed("a catalog record", "another value");
  const { actor, nextId } = body;
  const type = RecordType.CATALOG;
  const rows = rowsOfRuns(body.puts.filter(isZoneRuns));
  const puts = body.puts.flatMap((put) => (isZoneRuns(put) ? [] : loadedPut(put)));
  for (const put of rows.puts) puts.push(put);
  return { type, actor, nextId, puts, removes: [...rows.removes, ...body.removes] };
}

function unpack(bytes: Buffer): unknown {
  try {
    return packr.unpack(bytes);
  } catch (error) {
    throw new Malformed("a catalog record", messageOf(error));
  }
}

type Body = Omit<CatalogRecord, "type" | "puts"> & {
  readonly puts: readonly (CatalogPut | StoredRuns)[];
};

function isBody(body: unknown): body is Body {
  return (
    isObject(body) &&
    isActor(body["actor"]) &&
    isCount(body["nextId"]) &&
    Array.isArray(body["puts"]) &&
    body["puts"].every((put) => isPut(put, body["nextId"])) &&
    Array.isArray(body["removes"]) &&
    body["removes"].every(isRemove)
  );
}

function isActor(value: unknown): value is Actor {
  return isObject(value) && isActorKind(value["kind"]) && isCount(value["id"]);
}

function isPut(value: unknown, nextId: unknown): boolean {
  if (!isObject(value)) return false;
  return isTable(value["table"]) ? isObject(value["row"]) : isStoredRuns(value, nextId);
}

function isRemove(value: unknown): value is CatalogRemove {
  if (!isObject(value) || !isTable(value["table"])) return false;
  return typeof value["key"] === "string" || isCount(value["key"]);
}

function isTable(value: unknown): value is TableName {
  return TABLE_NAMES.has(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/**
 * The zones of objects are stored as runs, because each seat of a large layout may have one. They
 * are puts of a table that does not exist, so a version that does not know them refuses the record.
 */
const ZONE_RUNS = "zoneRuns";
const RUN_NUMBERS = 3;
const RUN_BYTES = 8 * RUN_NUMBERS;

interface StoredRuns {
  readonly table: typeof ZONE_RUNS;
  readonly row: {
    /** Of the schema. */
    readonly id: number;
    /** Numbers of eight bytes, little-endian: as `ZoneChange.runs`. */
    readonly runs: Uint8Array;
  };
}

function storedRuns({ schemaId, runs }: ZoneChange): StoredRuns {
  const { buffer, byteOffset, byteLength } = runs;
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return { table: ZONE_RUNS, row: { id: schemaId, runs: bytes } };
}

function isZoneRuns(put: CatalogPut | StoredRuns): put is StoredRuns {
  return put.table === ZONE_RUNS;
}

/** Whether a decoded value is what `storedRuns` makes. @param nextId - Ids are smaller. */
function isStoredRuns({ table, row }: Record<string, unknown>, nextId: unknown): boolean {
  if (table !== ZONE_RUNS || typeof row !== "object" || row === null) return false;
  const { id, runs } = row as Partial<StoredRuns["row"]>;
  if (!isCount(id) || !(runs instanceof Uint8Array) || runs.length % RUN_BYTES !== 0) return false;
  const numbers = numbersOf(runs);
  for (let i = 0; i < numbers.length; i += RUN_NUMBERS) {
    if (!numbers.subarray(i, i + RUN_NUMBERS).every(isCount)) return false;
    if (numbers[i]! + numbers[i + 1]! > Number(nextId)) return false;
  }
  return true;
}

/** The same as rows, which is what everyone but the engine reads. */
function rowsOfRuns(stored: readonly StoredRuns[]) {
  const puts: CatalogPut[] = [];
  const removes: CatalogRemove[] = [];
  for (const { row } of stored) {
    eachZone(numbersOf(row.runs), (id, zoneId) => {
      if (zoneId === 0) removes.push({ table: "zoneAssignments", key: id });
      else puts.push({ table: "zoneAssignments", row: { id, schemaId: row.id, zoneId } });
    });
  }
  return { puts, removes };
}

/** The bytes may begin anywhere in their memory. */
function numbersOf(bytes: Uint8Array): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer);
}
