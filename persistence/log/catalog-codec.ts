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
  const { actor, nextId, removes } = record;
  const puts = record.puts.map(storedPut);
  assert(isBody({ actor, nextId, puts, removes }), "a catalog record has its members");
  return packr.pack({ actor, nextId, puts, removes });
}

/** Cost: O(bytes). @throws Malformed when the bytes are not the body of a catalog record. */
export function unpackCatalog(bytes: Buffer): CatalogRecord {
  const body = unpack(bytes);
  if (!isBody(body)) throw new Malformed("a catalog record", "another value");
  const { actor, nextId, removes } = body;
  const puts = body.puts.map(loadedPut);
  return { type: RecordType.CATALOG, actor, nextId, puts, removes };
}

function unpack(bytes: Buffer): unknown {
  try {
    return packr.unpack(bytes);
  } catch (error) {
    throw new Malformed("a catalog record", messageOf(error));
  }
}

function isBody(body: unknown): body is Omit<CatalogRecord, "type"> {
  return (
    isObject(body) &&
    isActor(body["actor"]) &&
    isCount(body["nextId"]) &&
    Array.isArray(body["puts"]) &&
    body["puts"].every(isPut) &&
    Array.isArray(body["removes"]) &&
    body["removes"].every(isRemove)
  );
}

function isActor(value: unknown): value is Actor {
  return isObject(value) && isActorKind(value["kind"]) && isCount(value["id"]);
}

function isPut(value: unknown): value is CatalogPut {
  return isObject(value) && isTable(value["table"]) && isObject(value["row"]);
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
