/**
 * Encodes records into the payload of a frame and decodes them. No I/O. A record is `{u32 bytes, u8
 * type, u8 version, u16 zero, f64 timeMs, body}`; its sequence number is that of the frame plus its
 * index. Decoding requires whatever encoding asserts.
 */
import { Packr } from "msgpackr";
import { assert } from "../../engine/assert.ts";
import {
  type CatalogPut,
  type CatalogRemove,
  type ChannelSeats,
  type TableName,
  TABLES,
} from "../../engine/catalog.ts";
import { CHANNELS_PER_EVENT_MAX, NONE } from "../../engine/constants.ts";
import { eachZone, type ZoneChange } from "../../engine/layout/zones.ts";
import type { TimedRecord } from "../../engine/queries/effect.ts";
import {
  type Actor,
  type ArrivalRecord,
  type CartPart,
  type CartRecord,
  type CatalogRecord,
  DoorAct,
  type DoorRecord,
  type DoorStep,
  type ExtensionRecord,
  type LogRecord,
  type Movement,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../engine/records.ts";
import { Malformed, messageOf } from "../disk/faults.ts";
import { ensureFormat, FORMATS } from "../disk/formats.ts";
import {
  ByteReader,
  type ByteWriter,
  isActorKind,
  isCount,
  isMove,
  isU32,
  storeU64,
  storeWords,
  TEXT_UNIT_BYTES_MAX,
} from "./bytes.ts";
import { loadedPut, storedPut } from "./layout-packing.ts";

/** Called with each record in order. */
export type Replay = (sequence: number, timeMs: number, record: LogRecord) => void;

const RECORD_HEAD_BYTES = 16;
/** Offsets of the fields in the head of an encoded record. */
export const TYPE_AT = 4;
export const TIME_AT = 8;
/** The layout of a very large hall takes about 40 MiB. */
export const RECORD_BYTES_MAX = 128 * 1024 * 1024;
/** The fixed fields of the largest body, including its counts. */
const BODY_FIXED_BYTES_MAX = 64;
/** Kind and id. */
const ACTOR_BYTES = 9;
/** Beside the move of a lock under the token of a visitor, whose number ends the record. */
const HAS_VISITOR = 0x80;
/** Words of an area entry or a price run. */
const TRIPLE = 3;

/**
 * Appends one record, however long it is.
 * @returns Its bytes. Cost: O(bytes of the record).
 */
export function encodeRecord(out: ByteWriter, timeMs: number, record: LogRecord): number {
  assert(isCount(timeMs), "the time of a record is whole milliseconds");
  const start = out.length;
  out.reserve(RECORD_HEAD_BYTES);
  const { view } = out;
  view.setUint8(start + TYPE_AT, record.type);
  view.setUint8(start + 5, FORMATS.record.version);
  view.setUint16(start + 6, 0);
  view.setFloat64(start + TIME_AT, timeMs, true);
  out.length = start + RECORD_HEAD_BYTES;
  switch (record.type) {
    case RecordType.MOVE:
      encodeMove(out, record);
      break;
    case RecordType.PRICE:
      encodePrice(out, record);
      break;
    case RecordType.EXTENSION:
      encodeExtension(out, record);
      break;
    case RecordType.ARRIVAL:
      encodeArrival(out, record);
      break;
    case RecordType.DOOR:
      encodeDoor(out, record);
      break;
    case RecordType.CART:
      encodeCart(out, record);
      break;
    case RecordType.CATALOG: {
      const body = packCatalog(record);
      out.reserve(body.length);
      out.blob(body);
      break;
    }
  }
  const recordBytes = out.length - start;
  out.patchU32(start, recordBytes);
  return recordBytes;
}

/**
 * Replays the records of a frame.
 * @param payload - The records, without the header and the zeros.
 * @throws Malformed when it does not consist of exactly `recordCount` records.
 */
export function decodeRecords(
  payload: Buffer,
  firstSequence: number,
  recordCount: number,
  replay: Replay,
): void {
  const input = new ByteReader(payload);
  const payloadEnd = input.end;
  for (let i = 0; i < recordCount; i++) {
    input.end = payloadEnd;
    decodeNext(input, firstSequence + i, replay);
  }
  if (input.at !== payloadEnd) {
    throw new Malformed(`${recordCount} records`, `${payloadEnd - input.at} further bytes`);
  }
}

/** Replays the record at `input.at`, and leaves the reader at its end. @throws Malformed. */
export function decodeNext(input: ByteReader, sequence: number, replay: Replay): void {
  const { at: start, end } = input;
  const recordBytes = input.u32();
  const recordEnd = start + recordBytes;
  if (recordEnd > end || recordBytes < RECORD_HEAD_BYTES) {
    throw new Malformed("a record within its frame", `one of ${recordBytes} bytes`);
  }
  input.end = recordEnd;
  decodeOne(input, sequence, replay);
  if (input.at !== recordEnd) {
    throw new Malformed("the end of the record", `${recordEnd - input.at} further bytes`);
  }
}

/** The type of an encoded record. */
export function typeOf(record: Buffer): number {
  return record[TYPE_AT]!;
}

/**
 * @returns The partition of the record's one event, without decoding it; null in the catalog, and
 * of a cart.
 */
export function partitionOf(record: Buffer): number | null {
  const type = typeOf(record);
  if (type === RecordType.CATALOG || type === RecordType.CART) return null;
  // The body begins with the actor; a move has its number before the partition.
  const hasMove = type === RecordType.MOVE || type === RecordType.ARRIVAL;
  const before = RECORD_HEAD_BYTES + ACTOR_BYTES + (hasMove ? 1 : 0);
  return record.readUInt32LE(before);
}

/** @returns The one record in the bytes. @throws Malformed. */
export function decodeRecord(bytes: Buffer, sequence: number): TimedRecord {
  let found: TimedRecord | null = null;
  decodeRecords(bytes, sequence, 1, (_, timeMs, record) => (found = { sequence, timeMs, record }));
  return found!;
}

function decodeOne(input: ByteReader, sequence: number, replay: Replay): void {
  const type = input.u8();
  const version = input.u8();
  ensureFormat(FORMATS.record, version);
  const reserved = input.u16();
  if (reserved !== 0) throw new Malformed("zero in the reserved field", `${reserved}`);
  const timeMs = input.f64();
  if (!isCount(timeMs)) throw new Malformed("a time in whole milliseconds", `${timeMs}`);
  switch (type) {
    case RecordType.MOVE:
      return replay(sequence, timeMs, decodeMove(input));
    case RecordType.PRICE:
      return replay(sequence, timeMs, decodePrice(input));
    case RecordType.EXTENSION:
      return replay(sequence, timeMs, decodeExtension(input, version));
    case RecordType.ARRIVAL:
      return replay(sequence, timeMs, decodeArrival(input));
    case RecordType.DOOR:
      return replay(sequence, timeMs, decodeDoor(input));
    case RecordType.CART:
      return replay(sequence, timeMs, decodeCart(input, version));
    case RecordType.CATALOG:
      return replay(sequence, timeMs, unpackCatalog(input.rest()));
    default:
      throw new Malformed("a known type of record", `${type}`);
  }
}

/** Stores through the view, because a method call per field is slower. */
function encodeMove(out: ByteWriter, record: Movement): void {
  const { partition, move, hold, expiresAtMs, session, holdType, seats, areas } = record;
  assert(isU32(partition), "a partition number fits 32 bits");
  assert(isU32(hold), "a hold slot fits 32 bits");
  assert(isMove(move), "a move is one of the table");
  assert(isCount(expiresAtMs), "a hold ends at a whole millisecond");
  assert(areas.length % TRIPLE === 0, "areas are triples");
  const textUnits = session.length + holdType.length;
  const wordCount = seats.length + areas.length;
  out.reserve(BODY_FIXED_BYTES_MAX + TEXT_UNIT_BYTES_MAX * textUnits + 4 * wordCount);
  const { view, length: at } = out;
  storeActor(view, at, record.actor);
  view.setUint8(at + ACTOR_BYTES, record.visitor === undefined ? move : move | HAS_VISITOR);
  view.setUint32(at + ACTOR_BYTES + 1, partition, true);
  view.setUint32(at + ACTOR_BYTES + 5, hold, true);
  view.setFloat64(at + ACTOR_BYTES + 9, expiresAtMs, true);
  out.length = at + ACTOR_BYTES + 17;
  out.text(session);
  out.text(holdType);
  out.length = storeWords(view, storeWords(view, out.length, seats), areas);
  if (record.visitor !== undefined) out.u32(record.visitor);
}

function decodeMove(input: ByteReader): MoveRecord {
  const actor = decodeActor(input);
  const code = input.u8();
  const move = code & ~HAS_VISITOR;
  if (!isMove(move)) throw new Malformed("a move of the table", `${move}`);
  const partition = input.u32();
  const hold = input.u32();
  const expiresAtMs = input.f64();
  if (!isCount(expiresAtMs)) throw new Malformed("an end in whole milliseconds", `${expiresAtMs}`);
  const session = input.text();
  const holdType = input.text();
  const seats = input.words();
  const areas = decodeTriples(input);
  const type = RecordType.MOVE;
  const facts = {
    type,
    actor,
    partition,
    move,
    hold,
    expiresAtMs,
    session,
    holdType,
    seats,
    areas,
  };
  return code === move ? facts : { ...facts, visitor: input.u32() };
}

function encodePrice(out: ByteWriter, record: PriceRecord): void {
  assert(isU32(record.partition), "a partition number fits 32 bits");
  assert(record.runs.length % TRIPLE === 0, "runs are triples");
  assert(record.areas.length % TRIPLE === 0, "areas are triples");
  out.reserve(BODY_FIXED_BYTES_MAX + 4 * (record.runs.length + record.areas.length));
  storeActor(out.view, out.length, record.actor);
  out.length += ACTOR_BYTES;
  out.u32(record.partition);
  out.length = storeWords(out.view, storeWords(out.view, out.length, record.runs), record.areas);
}

function decodePrice(input: ByteReader): PriceRecord {
  const actor = decodeActor(input);
  const partition = input.u32();
  const runs = decodeTriples(input);
  const areas = decodeTriples(input);
  return { type: RecordType.PRICE, actor, partition, runs, areas };
}

function encodeExtension(out: ByteWriter, record: ExtensionRecord): void {
  const { partition, session, holds, endsAtMs, places } = record;
  assert(isU32(partition), "a partition number fits 32 bits");
  assert(isU32(places), "a count of places fits 32 bits");
  assert(holds.length === endsAtMs.length, "each hold has its end");
  assert(endsAtMs.every(isCount), "a hold ends at a whole millisecond");
  const units = TEXT_UNIT_BYTES_MAX * session.length;
  out.reserve(BODY_FIXED_BYTES_MAX + units + 12 * holds.length);
  storeActor(out.view, out.length, record.actor);
  out.length += ACTOR_BYTES;
  out.u32(partition);
  out.text(session);
  out.length = storeWords(out.view, out.length, holds);
  for (const endMs of endsAtMs) out.f64(endMs);
  out.u32(places);
}

function decodeExtension(input: ByteReader, version: number): ExtensionRecord {
  const actor = decodeActor(input);
  const partition = input.u32();
  const session = input.text();
  const holds = input.words();
  const endsAtMs = new Float64Array(holds.length);
  for (let i = 0; i < holds.length; i++) {
    const endMs = input.f64();
    if (!isCount(endMs)) throw new Malformed("an end in whole milliseconds", `${endMs}`);
    endsAtMs[i] = endMs;
  }
  // Version 1 had no count; a hold has at least one place.
  const places = version === 1 ? holds.length : input.u32();
  return { type: RecordType.EXTENSION, actor, partition, session, holds, endsAtMs, places };
}

function encodeArrival(out: ByteWriter, record: ArrivalRecord): void {
  const { startedAtMs, fenceBound, fences } = record;
  assert(isCount(startedAtMs) && isCount(fenceBound), "a start and a bound are safe integers");
  assert(fences.length === fenceCount(record) && fences.every(isCount), "what arrives has fences");
  encodeMove(out, record);
  out.reserve(8 * (2 + fences.length));
  out.f64(startedAtMs);
  out.f64(fenceBound);
  for (const fence of fences) out.f64(fence);
}

function decodeArrival(input: ByteReader): ArrivalRecord {
  const move = decodeMove(input);
  const startedAtMs = decodeCount(input);
  const fenceBound = decodeCount(input);
  const fences = new Float64Array(fenceCount(move));
  for (let i = 0; i < fences.length; i++) fences[i] = decodeCount(input);
  return { ...move, type: RecordType.ARRIVAL, startedAtMs, fences, fenceBound };
}

/** Each part is its type and its body. */
function encodeCart(out: ByteWriter, { actor, session, parts }: CartRecord): void {
  assert(parts.length > 0, "a cart has a part");
  out.reserve(BODY_FIXED_BYTES_MAX + TEXT_UNIT_BYTES_MAX * session.length);
  storeActor(out.view, out.length, actor);
  out.length += ACTOR_BYTES;
  out.text(session);
  out.u32(parts.length);
  for (const part of parts) {
    out.reserve(1);
    out.view.setUint8(out.length, part.type);
    out.length += 1;
    if (part.type === RecordType.MOVE) encodeMove(out, part);
    else encodeExtension(out, part);
  }
}

function decodeCart(input: ByteReader, version: number): CartRecord {
  const actor = decodeActor(input);
  const session = input.text();
  const count = input.u32();
  if (count === 0) throw new Malformed("a part of a cart", "none");
  const parts: CartPart[] = [];
  for (let i = 0; i < count; i++) {
    const type = input.u8();
    if (type === RecordType.MOVE) parts.push(decodeMove(input));
    else if (type === RecordType.EXTENSION) parts.push(decodeExtension(input, version));
    else throw new Malformed("a move or an extension", `${type}`);
  }
  return { type: RecordType.CART, actor, session, parts };
}

/** A hold has one fence, and every seat sold or blocked its own. */
function fenceCount({ hold, seats }: Pick<Movement, "hold" | "seats">): number {
  return hold === NONE ? seats.length : 1;
}

function decodeCount(input: ByteReader): number {
  const value = input.f64();
  if (!isCount(value)) throw new Malformed("a whole number", `${value}`);
  return value;
}

/** Each step has four fields, some of them zero or empty. */
function encodeDoor(out: ByteWriter, { actor, partition, step }: DoorRecord): void {
  assert(isU32(partition), "a partition number fits 32 bits");
  const { numbers = [0, 0], untilMs = 0, bytes = NO_BYTES, words = NO_WORDS } = fieldsOf(step);
  assert(numbers.every(isU32) && isCount(untilMs), "numbers of a step fit their fields");
  out.reserve(BODY_FIXED_BYTES_MAX + bytes.length + 4 * words.length);
  storeActor(out.view, out.length, actor);
  out.length += ACTOR_BYTES;
  out.u32(partition);
  out.u32(step.act);
  for (const number of numbers) out.u32(number);
  out.f64(untilMs);
  out.u32(bytes.length);
  out.blob(bytes);
  out.length = storeWords(out.view, out.length, words);
}

interface StepFields {
  readonly numbers?: readonly [number, number];
  readonly untilMs?: number;
  readonly bytes?: Uint8Array;
  readonly words?: Uint32Array;
}

const NO_BYTES = new Uint8Array(0);
const NO_WORDS = new Uint32Array(0);

function fieldsOf(step: DoorStep): StepFields {
  switch (step.act) {
    case DoorAct.JOIN:
      return { numbers: [step.visitor, 0], bytes: step.entry };
    case DoorAct.OPEN:
      return { bytes: step.seed, words: step.order };
    case DoorAct.INVITE:
      return { numbers: [step.through, 0], untilMs: step.untilMs };
    case DoorAct.ENTER:
      return { numbers: [step.visitor, step.seconds], untilMs: step.untilMs };
    case DoorAct.END:
      return { words: step.visitors };
  }
  return step satisfies never;
}

function decodeDoor(input: ByteReader): DoorRecord {
  const actor = decodeActor(input);
  const partition = input.u32();
  const act = input.u32();
  const [first, second] = [input.u32(), input.u32()];
  const untilMs = input.f64();
  if (!isCount(untilMs)) throw new Malformed("an end in whole milliseconds", `${untilMs}`);
  const bytes = input.blob(input.u32());
  const words = input.words();
  const record = { type: RecordType.DOOR, actor, partition };
  switch (act) {
    case DoorAct.JOIN:
      return { ...record, step: { act, visitor: first, entry: bytes } };
    case DoorAct.OPEN:
      return { ...record, step: { act, seed: bytes, order: words } };
    case DoorAct.INVITE:
      return { ...record, step: { act, through: first, untilMs } };
    case DoorAct.ENTER:
      return { ...record, step: { act, visitor: first, seconds: second, untilMs } };
    case DoorAct.END:
      return { ...record, step: { act, visitors: words } };
    default:
      throw new Malformed("a known step of a door", `${act}`);
  }
}

function storeActor(view: DataView, at: number, { kind, id }: Actor): void {
  assert(isActorKind(kind), "an actor is of a known kind");
  assert(isCount(id), "the id of an actor is a safe integer");
  view.setUint8(at, kind);
  storeU64(view, at + 1, id);
}

function decodeActor(input: ByteReader): Actor {
  const kind = input.u8();
  if (!isActorKind(kind)) throw new Malformed("a known kind of actor", `${kind}`);
  const id = input.u64();
  return { kind, id };
}

function decodeTriples(input: ByteReader): Uint32Array {
  const words = input.words();
  if (words.length % TRIPLE !== 0) throw new Malformed("triples", `${words.length} words`);
  return words;
}

// The body of a catalog record: MessagePack with plain maps, without shared structures or the
// record extension, so any MessagePack reader can read an old log. It preserves the order of
// members and the differences between null, undefined and missing.

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

function isPut(put: unknown, nextId: unknown): boolean {
  if (!isObject(put)) return false;
  if (!isTable(put["table"])) return isStoredRuns(put, nextId);
  return isObject(put["row"]) && (put["channel"] === undefined || isChannel(put["channel"]));
}

function isChannel(value: unknown): value is ChannelSeats {
  if (!isObject(value)) return false;
  const { slot, runs } = value;
  const isSlot =
    Number.isInteger(slot) && Number(slot) > 0 && Number(slot) <= CHANNELS_PER_EVENT_MAX;
  return isSlot && Array.isArray(runs) && runs.length % 2 === 0 && runs.every(isU32);
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
 * are puts of a table that does not exist, so an older version refuses the record.
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

/** A decoded value is of the form of `storedRuns`. @param nextId - Ids are smaller. */
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

/** The same as rows, for every reader but the engine. */
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
