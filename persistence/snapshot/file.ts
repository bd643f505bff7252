/**
 * The format of a snapshot: an SQLite file, open to queries. It has a table for each table
 * of the catalog (position, id, row as JSON), a row for each partition, and a row with the position
 * in the log. Of a large layout, the row has the document packed: Base64 of deflated JSON. Digests
 * cover everything a reader relies on. Nothing here changes a file.
 *
 * The table `eventSequences` has the last record of each event, with a digest of its own.
 *
 * A snapshot is fuzzy: the catalog is as of `sequence`, each partition as of that or a later record
 * of its own. `snapshots.ts` explains why replaying the log makes it consistent.
 */
import { createHash, type Hash } from "node:crypto";
import { assert } from "../../engine/assert.ts";
import { type Catalog, type CatalogPut, type TableName, TABLES } from "../../engine/catalog.ts";
import { type DoorCopy, ENTRY_BYTES } from "../../engine/inventory/door.ts";
import type { PartitionImage } from "../../engine/inventory/image.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { namesIn, type ReadDisk } from "../disk/disk.ts";
import { Malformed } from "../disk/faults.ts";
import { ensureFormat, FORMATS } from "../disk/formats.ts";
import { problemIn, type SqlFile, type SqlRow } from "../disk/sqlite.ts";
import { ByteReader, ByteWriter, isCount, isU32 } from "../log/bytes.ts";
import type { LogStart } from "../log/log-reader.ts";

export const SNAPSHOT_FOLDER = "snapshots";
export const SNAPSHOT_FORMAT = FORMATS.snapshot.version;

const NAME = /^([0-9a-f]{16})\.sqlite$/;
/** Tables with text as ids; all others have numbers. */
const TEXT_IDS: ReadonlySet<TableName> = new Set(["clones", "events", "replies"]);

/** The row of the table `snapshot`. */
export interface SnapshotMeta {
  readonly format: number;
  readonly storeId: string;
  /** The last record in the catalog; no partition is older. */
  readonly sequence: number;
  /** A record durable before the snapshot got its name; no partition is newer. */
  readonly markSequence: number;
  /** Chain of the frame ending with the mark; hexadecimal digits. */
  readonly markChain: string;
  /** `Catalog.nextId`. */
  readonly nextId: number;
  /** For people; ISO 8601. */
  readonly createdAt: string;
}

/** In the order of the columns. */
const META_FIELDS = [
  "format",
  "storeId",
  "sequence",
  "markSequence",
  "markChain",
  "nextId",
  "createdAt",
] as const satisfies readonly (keyof SnapshotMeta)[];

/** The values of the row `snapshot`, without the digest. */
export function valuesOf(meta: SnapshotMeta): (number | string)[] {
  return META_FIELDS.map((field) => meta[field]);
}

/** The row of a partition, without its image. */
interface PartitionFacts {
  readonly number: number;
  /** The image contains the partition's records up to this one. */
  readonly sequence: number;
  /** SHA-256 of the image, hexadecimal digits. */
  readonly digest: string;
}

export const SCHEMA = `
CREATE TABLE snapshot (
  format INTEGER NOT NULL, storeId TEXT NOT NULL, sequence INTEGER NOT NULL,
  markSequence INTEGER NOT NULL, markChain TEXT NOT NULL, nextId INTEGER NOT NULL,
  createdAt TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE partitions (
  number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
  active INTEGER NOT NULL, locked INTEGER NOT NULL, sold INTEGER NOT NULL, blocked INTEGER NOT NULL,
  digest TEXT NOT NULL, image BLOB NOT NULL
);
CREATE TABLE eventSequences (content BLOB NOT NULL, digest TEXT NOT NULL);
${TABLES.map(tableOf).join("\n")}
`;

function tableOf(table: TableName): string {
  const type = TEXT_IDS.has(table) ? "TEXT" : "INTEGER";
  return `CREATE TABLE ${table} (
  position INTEGER PRIMARY KEY, id ${type} NOT NULL UNIQUE, row TEXT NOT NULL
);`;
}

export function snapshotName(sequence: number): string {
  return `${sequence.toString(16).padStart(16, "0")}.sqlite`;
}

/** @param folder - The data folder. @returns Names of the snapshots, the newest first. */
export function findSnapshots(disk: ReadDisk, folder: string): string[] {
  const names = namesIn(disk, `${folder}/${SNAPSHOT_FOLDER}`);
  return names.filter((name) => NAME.test(name)).toSorted((a, b) => (a < b ? 1 : -1));
}

/** Continuation of the log after the snapshot. */
export function startOf({ sequence, markSequence, markChain }: SnapshotMeta): LogStart {
  return { sequence, mark: { sequence: markSequence, chain: Buffer.from(markChain, "hex") } };
}

export function digestOfImage(image: Uint8Array): string {
  return createHash("sha256").update(image).digest("hex");
}

/**
 * @returns SHA-256 in hexadecimal digits of the row `snapshot`, every row of the catalog, and the
 * digests of the images. Cost: O(bytes of the catalog).
 */
export function digestOfSnapshot(sql: SqlFile, meta: SnapshotMeta): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify(valuesOf(meta)));
  for (const table of TABLES) {
    addRow(hash, [table]);
    for (const { id, row } of rowsOf(sql, table)) addRow(hash, [String(id), row]);
  }
  for (const facts of sql.rows("SELECT number, sequence, digest FROM partitions ORDER BY number")) {
    const { number, sequence: upTo, digest } = partitionFactsOf(facts);
    addRow(hash, [String(number), String(upTo), digest]);
  }
  return hash.digest("hex");
}

function addRow(hash: Hash, texts: readonly string[]): void {
  for (const text of texts) hash.update(`${text.length}:`).update(text);
}

/** @throws Malformed when the file is not an intact snapshot of this store; OtherFormat. */
export function readMeta(sql: SqlFile, storeId: string): SnapshotMeta {
  const row = sql.row("SELECT * FROM snapshot");
  if (row === undefined) throw new Malformed("the row of a snapshot", "none");
  const meta = metaOf(row);
  if (meta.storeId !== storeId) throw new Malformed(`store ${storeId}`, meta.storeId);
  const digest = digestOfSnapshot(sql, meta);
  if (row["digest"] !== digest) throw new Malformed(`digest ${digest}`, String(row["digest"]));
  ensureFormat(FORMATS.snapshot, meta.format);
  return meta;
}

/** Reads ids and rows (JSON) of a catalog table, in their order in memory. */
export function* rowsOf(
  sql: SqlFile,
  table: TableName,
): Generator<{ id: number | string; row: string }> {
  for (const { id, row } of sql.rows(`SELECT id, row FROM ${table} ORDER BY position`)) {
    const isId = TEXT_IDS.has(table) ? typeof id === "string" : isCount(id);
    if (!isId || typeof row !== "string") throw new Malformed(`a row of ${table}`, "another value");
    yield { id: id as number | string, row };
  }
}

/**
 * Reads all partitions and checks each image against its digest.
 * @throws Malformed at the first damaged one. Cost: O(bytes of the images).
 */
export function* partitionsOf(sql: SqlFile): Generator<PartitionFacts & { image: Buffer }> {
  for (const row of sql.rows("SELECT * FROM partitions ORDER BY number")) {
    const facts = partitionFactsOf(row);
    const { image } = row;
    const what = `partition ${facts.number}`;
    if (!Buffer.isBuffer(image)) throw new Malformed(`an image of ${what}`, "none");
    const digest = digestOfImage(image);
    if (digest !== facts.digest) throw new Malformed(`digest ${facts.digest} of ${what}`, digest);
    yield { ...facts, image };
  }
}

/** @returns By partition number: the last record of the event up to `sequence` of the snapshot. */
export function sequencesOf(sql: SqlFile): ReadonlyMap<number, number> {
  const { content, digest } = sql.row("SELECT * FROM eventSequences") ?? {};
  if (!Buffer.isBuffer(content)) throw new Malformed("the sequences of the events", "none");
  const found = digestOfImage(content);
  if (digest !== found) throw new Malformed(`digest ${String(digest)} of the sequences`, found);
  const pairs = new Float64Array(Uint8Array.from(content).buffer);
  const sequences = new Map<number, number>();
  for (let i = 0; i < pairs.length; i += 2) sequences.set(pairs[i]!, pairs[i + 1]!);
  return sequences;
}

/** The content of the table `eventSequences`: pairs of partition number and sequence. */
export function packSequences(sequences: ReadonlyMap<number, number>): Float64Array {
  return Float64Array.from([...sequences].flat());
}

/** Checks everything checkable without the log. @throws Malformed, SqlFault. */
export function checkSnapshot(sql: SqlFile, storeId: string): SnapshotMeta {
  const problem = problemIn(sql);
  if (problem !== null) throw new Malformed("a sound SQLite file", problem);
  const meta = readMeta(sql, storeId);
  sequencesOf(sql);
  for (const { number, sequence } of partitionsOf(sql)) {
    if (sequence <= meta.markSequence) continue;
    throw new Malformed(`partition ${number} up to ${meta.markSequence}`, `${sequence}`);
  }
  return meta;
}

function metaOf(row: SqlRow): SnapshotMeta {
  const { format, storeId, sequence, markSequence, markChain, nextId, createdAt } = row;
  const counts = [format, sequence, markSequence, nextId];
  const texts = [storeId, markChain, createdAt];
  if (!counts.every(isCount) || texts.some((text) => typeof text !== "string")) {
    throw new Malformed("the row of a snapshot", "another value");
  }
  return Object.fromEntries(
    META_FIELDS.map((field) => [field, row[field]]),
  ) as unknown as SnapshotMeta;
}

function partitionFactsOf(row: SqlRow): PartitionFacts {
  const { number, sequence, digest } = row;
  if (!isU32(Number(number)) || !isCount(sequence) || typeof digest !== "string") {
    throw new Malformed("the row of a partition", "another value");
  }
  return { number: Number(number), sequence: Number(sequence), digest };
}

// Encodes the image of a partition into the bytes of a snapshot's row and decodes it. No I/O. A
// head of 32 bytes is followed by the columns in the order of `columnsOf`, each after its length in
// bytes. All numbers are little-endian, and a typed array is stored as it is in memory.
//
// 0 u32 version    8 f64 touches of the change list    24 u32 oldest seat of the change list
// 4 u32 columns   16 f64 more than every fence so far  28 u32 zero

const HEAD_BYTES = 32;
const COLUMN_COUNT = 20;
/** Of channels, after the others: there while a seat is in one. */
const CHANNEL_COLUMN_COUNT = 1;
/** Of a door, at the end. */
const DOOR_COLUMN_COUNT = 13;
/** Of a version 1 from before the fences of sold and blocked seats. */
const UNFENCED_COLUMN_COUNT = 19;
const AREA_COUNTERS = 4;
const AREA_HELD = 3;

assert(
  new Uint8Array(new Uint16Array([1]).buffer)[0] === 1,
  "the machine stores numbers as the snapshots do, the low byte first",
);

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;
interface ColumnType<C> {
  new (buffer: ArrayBuffer): C;
  readonly BYTES_PER_ELEMENT: number;
}

/** Cost: O(bytes of the image). */
export function encodeImage(image: PartitionImage): Buffer {
  const columns = columnsOf(image);
  const doorColumns = image.door === undefined ? 0 : DOOR_COLUMN_COUNT;
  const channelColumns = image.seats.channels === null ? 0 : CHANNEL_COLUMN_COUNT;
  const columnCount = COLUMN_COUNT + channelColumns + doorColumns;
  assert(columns.length === columnCount, "an image has its columns");
  const bytes = columns.reduce((sum, column) => sum + 4 + column.byteLength, HEAD_BYTES);
  const out = new ByteWriter(bytes);
  out.u32(FORMATS.image.version);
  out.u32(columnCount);
  out.f64(image.changes.touches);
  out.f64(image.holds.fenceBound);
  out.u32(image.changes.oldest);
  out.u32(0);
  for (const column of columns) {
    out.u32(column.byteLength);
    out.blob(Buffer.from(column.buffer, column.byteOffset, column.byteLength));
  }
  assert(out.length === bytes, "an image fills its bytes");
  return out.bytes;
}

/** @throws Malformed when the bytes are not an image; OtherFormat. */
export function decodeImage(bytes: Buffer): PartitionImage {
  const input = new ByteReader(bytes);
  const version = input.u32();
  ensureFormat(FORMATS.image, version);
  const columnCount = input.u32();
  // Builds of version 1 began to write fences without raising it.
  const hasFences = version > 1 || columnCount !== UNFENCED_COLUMN_COUNT;
  const hasDoor = columnCount >= COLUMN_COUNT + DOOR_COLUMN_COUNT;
  const furtherCount = columnCount - COLUMN_COUNT - (hasDoor ? DOOR_COLUMN_COUNT : 0);
  const hasChannels = furtherCount === CHANNEL_COLUMN_COUNT;
  if (hasFences && !hasChannels && furtherCount !== 0)
    throw new Malformed(`${COLUMN_COUNT} columns`, `${columnCount}`);
  const touches = input.f64();
  const fenceBound = input.f64();
  const oldest = input.u32();
  input.u32();
  // Copied, because a typed array needs the alignment of its type.
  const take = <C extends Column>(type: ColumnType<C>): C => {
    const columnBytes = input.u32();
    if (columnBytes % type.BYTES_PER_ELEMENT !== 0) {
      throw new Malformed("whole entries", `${columnBytes} bytes`);
    }
    const start = input.skip(columnBytes) + bytes.byteOffset;
    return new type(bytes.buffer.slice(start, start + columnBytes) as ArrayBuffer);
  };
  const state = take(Uint8Array);
  const seats = {
    state,
    price: take(Uint16Array),
    holdOrFence: hasFences ? take(Uint32Array) : withoutFences(state, take(Uint32Array)),
    fenceHigh: hasFences ? take(Uint16Array) : new Uint16Array(state.length),
    changedAtMs: take(Float64Array),
  };
  const columns = {
    changes: { later: take(Uint32Array), oldest, touches },
    areas: {
      counts: take(Int32Array),
      price: take(Uint16Array),
      changedAtMs: take(Float64Array),
      held: take(Uint32Array),
    },
    holds: {
      slots: take(Uint32Array),
      sizes: take(Uint32Array),
      fences: take(Float64Array),
      startedAtMs: take(Float64Array),
      expiresAtMs: take(Float64Array),
      seatCounts: take(Uint32Array),
      seats: take(Uint32Array),
      textUnits: take(Uint32Array),
      free: take(Uint32Array),
      texts: Buffer.from(take(Uint8Array).buffer).toString("utf8"),
      fenceBound,
    },
  };
  const image: PartitionImage = {
    ...columns,
    seats: { ...seats, channels: hasChannels ? take(Uint8Array) : null },
  };
  const door: DoorCopy | undefined = hasDoor
    ? {
        scalars: take(Float64Array),
        seed: take(Uint8Array),
        entries: take(Uint8Array),
        state: take(Uint8Array),
        place: take(Uint32Array),
        untilMs: take(Float64Array),
        seconds: take(Uint32Array),
        sold: take(Uint32Array),
        order: take(Uint32Array),
        sessionUnits: take(Uint32Array),
        sessions: Buffer.from(take(Uint8Array).buffer).toString("utf8"),
        fences: take(Float64Array),
        holders: take(Uint32Array),
      }
    : undefined;
  ensureShape(image);
  if (door !== undefined) ensureDoor(door);
  if (input.at !== bytes.length) throw new Malformed("the end of the image", "further bytes");
  return door === undefined ? image : { ...image, door };
}

/** Seats sold or blocked before there were fences have none. */
function withoutFences(state: Uint8Array, hold: Uint32Array): Uint32Array {
  return hold.map((slot, seat) => (state[seat]! > SeatState.LOCKED ? 0 : slot));
}

function columnsOf({ seats, changes, areas, holds, door }: PartitionImage): Column[] {
  return [
    seats.state,
    seats.price,
    seats.holdOrFence,
    seats.fenceHigh,
    seats.changedAtMs,
    changes.later,
    areas.counts,
    areas.price,
    areas.changedAtMs,
    areas.held,
    holds.slots,
    holds.sizes,
    holds.fences,
    holds.startedAtMs,
    holds.expiresAtMs,
    holds.seatCounts,
    holds.seats,
    holds.textUnits,
    holds.free,
    Buffer.from(holds.texts, "utf8"),
    ...(seats.channels === null ? [] : [seats.channels]),
    ...(door === undefined ? [] : doorColumnsOf(door)),
  ];
}

function doorColumnsOf(door: DoorCopy): Column[] {
  return [
    door.scalars,
    door.seed,
    door.entries,
    door.state,
    door.place,
    door.untilMs,
    door.seconds,
    door.sold,
    door.order,
    door.sessionUnits,
    Buffer.from(door.sessions, "utf8"),
    door.fences,
    door.holders,
  ];
}

function ensureDoor(door: DoorCopy): void {
  const { entries, state, place, untilMs, seconds, sold, fences, holders, sessionUnits } = door;
  ensureLengths("visitors", [place, untilMs, seconds, sold], state.length);
  ensureLengths("entries", [entries], ENTRY_BYTES * state.length);
  ensureLengths("holds of visitors", [holders], fences.length);
  ensureLengths("sessions", [sessionUnits], 2 * Math.floor(sessionUnits.length / 2));
}

/** @throws Malformed when related columns have different numbers of entries. */
function ensureShape({ seats, changes, areas, holds }: PartitionImage): void {
  const seatCount = seats.state.length;
  const { price, holdOrFence, fenceHigh, changedAtMs } = seats;
  const seatColumns = [price, holdOrFence, fenceHigh, changedAtMs, changes.later];
  ensureLengths("seats", seatColumns, seatCount);
  if (seats.channels !== null) {
    ensureLengths("pairs of seats", [seats.channels], Math.ceil(seatCount / 2));
  }
  const areaCount = areas.price.length;
  ensureLengths("areas", [areas.changedAtMs], areaCount);
  ensureLengths("counters", [areas.counts], AREA_COUNTERS * areaCount);
  ensureLengths("held places", [areas.held], AREA_HELD * Math.floor(areas.held.length / AREA_HELD));
  const { slots, sizes, fences, startedAtMs, expiresAtMs, seatCounts, textUnits } = holds;
  const perHold = [sizes, fences, startedAtMs, expiresAtMs, seatCounts];
  ensureLengths("holds", perHold, slots.length);
  ensureLengths("texts", [textUnits], 2 * slots.length);
}

function ensureLengths(what: string, columns: readonly Column[], count: number): void {
  for (const { length } of columns) {
    if (length !== count) throw new Malformed(`${count} ${what}`, `${length}`);
  }
}

// A copy of the catalog at one moment, handed over later and in parts.

/** Rows of a part, at most. */
const ROWS_PER_PART = 500;

export interface CatalogCopy {
  readonly nextId: number;
  /** Puts of all rows, in the order of the tables and of their rows in memory. */
  readonly parts: Generator<CatalogPut[], void>;
}

/** Copies only the lists of rows, because a row never changes. Cost: O(rows), pointers only. */
export function copyCatalog(catalog: Catalog): CatalogCopy {
  const tables = TABLES.map((table) => ({ table, rows: [...catalog[table].values()] }));
  return { nextId: catalog.nextId, parts: partsOf(tables) };
}

function* partsOf(
  tables: readonly { readonly table: TableName; readonly rows: readonly unknown[] }[],
): Generator<CatalogPut[], void> {
  for (const { table, rows } of tables) {
    for (let first = 0; first < rows.length; first += ROWS_PER_PART) {
      const part = rows.slice(first, first + ROWS_PER_PART);
      yield part.map((row) => ({ table, row }) as CatalogPut);
    }
  }
}
