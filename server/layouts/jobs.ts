/** The work of the layout thread: everything that visits each object of a large layout. */
import { gzipSync } from "node:zlib";
import { assert } from "../../engine/assert.ts";
import type { LayoutBody } from "../../engine/bodies.ts";
import { COMMANDS } from "../../engine/commands.ts";
import {
  checkDrawing,
  type Copy,
  copyOriginal,
  type GoneObjects,
  type Original,
  type PreparedLayout,
  prepareLayout,
  type RelabelledSeats,
} from "../../engine/layout/change.ts";
import {
  documentBytes,
  jsonPieces,
  type LayoutDocument,
  type Sector,
  type Shape,
} from "../../engine/layout/document.ts";
import { joinKey } from "../../engine/layout/labels.ts";
import { buildLayout, EMPTY_DOCUMENT, type Layout } from "../../engine/layout/layout.ts";
import { columnsOf, type LayoutColumns } from "../../engine/layout/packed.ts";
import type { ZonesOfSchema } from "../../engine/layout/zones.ts";
import type { FieldError } from "../../engine/results.ts";
import type { SeatsInUse } from "../../engine/stored-replies.ts";
import {
  serve,
  type ThreadPort,
  type ToWorker,
  Transferred,
} from "../../persistence/disk/worker.ts";
import { groupViews, numberOrNull, shapesByGroup, shapeView } from "../api/entities.ts";
import { checksOf } from "../api/validate.ts";
import { errorsAsSent, LAYOUT_LIMITS, parseLongJson } from "../http/json.ts";
import { freePages, LONG_BYTES, pagesFor } from "../http/limits.ts";
import type { GeometryColumns } from "./geometry-columns.ts";

// The layout of a schema in the form of v1: sectors, rows and seats, each with its key.

/** As the parameters of the route of v1. */
export interface MetadataOptions {
  /** Puts its position before the name of a sector: `1. Stalls`. */
  readonly isNumbered: boolean;
  /** Uses ids, as text, instead of composite keys. */
  readonly hasIds: boolean;
}

/** Cost: O(objects of the layout). */
export function metadataView(document: LayoutDocument, layout: Layout, options: MetadataOptions) {
  const seats = new Map(document.seats.map((seat) => [seat.id, seat]));
  const shapes = shapesByGroup(document);
  const keyOf = (id: number, ...labels: readonly string[]) =>
    options.hasIds ? String(id) : joinKey(...labels);
  const rowsOf = (sector: Sector) => {
    const group = layout.groups.get(sector.id);
    const rows = sector.ga || group === undefined ? [] : layout.sections[group.index]!.rows;
    return rows.map((index, iy) => {
      const row = layout.rows[index]!;
      return {
        key: keyOf(row.id, sector.name, row.name),
        name: row.name,
        seats: Array.from(row.seats, (seat, ix) => {
          const { id, name, x, y } = seats.get(layout.seatIds[seat]!)!;
          return {
            key: keyOf(id, sector.name, row.name, name),
            name,
            x: x ?? undefined,
            y: y ?? undefined,
            ix,
            iy,
          };
        }),
      };
    });
  };
  const sectors = document.sectors.map((sector, i) => ({
    key: keyOf(sector.id, sector.name),
    name: options.isNumbered ? `${i + 1}. ${sector.name}` : sector.name,
    x: numberOrNull(sector["x"]) ?? undefined,
    y: numberOrNull(sector["y"]) ?? undefined,
    width: numberOrNull(sector["width"]) ?? undefined,
    height: numberOrNull(sector["height"]) ?? undefined,
    angle: numberOrNull(sector["angle"]) ?? undefined,
    guid: sector.guid,
    id: sector.id,
    rows: rowsOf(sector),
    shapes: (shapes.get(sector.guid) ?? []).map(shapeView),
    labelOffsetX: numberOrNull(sector["labelOffsetX"]) ?? undefined,
    labelOffsetY: numberOrNull(sector["labelOffsetY"]) ?? undefined,
    labelStyle: sector["labelStyle"] ?? undefined,
    labelVisible: typeof sector["labelVisible"] === "boolean" ? sector["labelVisible"] : undefined,
  }));
  return { sectors };
}

// Two layouts in little more memory than one takes: what is sent mostly has the texts of what is
// stored, and the drawing of the largest layouts is tens of megabytes of texts.

type Members = Record<string, unknown>;

/**
 * @returns For `parseInPieces` of the stored layout: its objects with the same texts as before, of
 * which those that the sent object with that guid or id has, too, are in memory once.
 * Cost: O(objects of the body); of each item, O(bytes).
 */
export function sharingTexts(body: LayoutBody): (item: unknown) => unknown {
  const sent = new Map<unknown, object>();
  for (const list of [body.sectors, body.rows, body.seats, body.shapes]) {
    for (const object of list ?? []) sent.set(nameOf(object), object);
  }
  return (item) => shared(item, sent.get(nameOf(item)));
}

/** A shape has no guid. */
function nameOf(item: unknown): unknown {
  const { guid, id } = (item ?? {}) as Members;
  return guid ?? id;
}

/** Changes an object or a list in place, which nobody else knows yet. */
function shared(value: unknown, twin: unknown): unknown {
  if (value === twin) return twin;
  if (typeof value !== "object" || value === null) return value;
  if (typeof twin !== "object" || twin === null) return value;
  const [members, others] = [value as Members, twin as Members];
  for (const name in members) members[name] = shared(members[name], others[name]);
  return value;
}

// The drawing of a layout in columns of numbers: a twentieth of the layout as JSON. What a layout
// does not place gets a place here, so that every client draws it alike.

/** Coordinates are whole numbers of steps; the whole layout is at most this many steps wide. */
const STEPS_MAX = 300_000;
/** Drawing members of shapes that are given back. */
const SHAPE_MEMBERS = [
  "shapeType",
  "purpose",
  "left",
  "top",
  "width",
  "height",
  "angle",
  "rx",
  "order",
  "text",
  "points",
] as const;

/** Cost: O(n log n) in the seats of the layout. */
export function geometryOf(
  document: LayoutDocument,
  schema: { readonly schemaId: number; readonly version: number },
): GeometryColumns<{ readonly groupOfSeatsId: number | null }> {
  const seats = [...document.seats].sort((a, b) => a.id - b.id);
  const sections = document.sectors.filter(({ ga }) => !ga);
  const areas = document.sectors.filter(({ ga }) => ga);
  const sectionIndexes = indexesOf(sections);
  const rowIndexes = indexesOf(document.rows);
  const sectionOfRow = document.rows.map(({ sectorGuid }) => sectionIndexes.get(sectorGuid)!);
  const rowOfSeat = seats.map(({ rowGuid }) => rowIndexes.get(rowGuid)!);
  const places = placesOf({ seats, sections, sectionOfRow, rowOfSeat });
  const shapes = [...document.shapes, ...shapesToAdd(areas, document.shapes, places)];
  const step = stepOf(places);
  const inSteps = (values: Float64Array) => differences(values, (value) => value / step);
  const labels = new Map<string, number>();
  for (const { name } of seats) if (!labels.has(name)) labels.set(name, labels.size);
  const groupIds = new Map(
    [...document.sectors, ...document.rows].map((one) => [one.guid, one.id]),
  );
  return {
    ...schema,
    step,
    sections: sections.map(({ id, name, type = "SECTION" }) => ({ id, name, type })),
    areas: areas.map(({ id, name, gaCapacity = null }) => ({ id, name, capacity: gaCapacity })),
    rows: {
      ids: differences(document.rows.map(({ id }) => id)),
      names: document.rows.map(({ rowNumber }) => rowNumber),
      sections: differences(sectionOfRow),
    },
    labels: [...labels.keys()],
    seats: {
      ids: differences(seats.map(({ id }) => id)),
      rows: differences(rowOfSeat),
      labels: seats.map(({ name }) => labels.get(name)!),
      x: inSteps(places.x),
      y: inSteps(places.y),
      accessible: seats.flatMap((seat, index) => (seat["isAccessible"] === true ? [index] : [])),
    },
    shapes: shapes.map((shape) => shapeOf(shape, groupIds)),
  };
}

function indexesOf(objects: readonly { readonly guid: string }[]): ReadonlyMap<string, number> {
  return new Map(objects.map(({ guid }, index) => [guid, index]));
}

interface Placed {
  readonly seats: LayoutDocument["seats"];
  readonly sections: readonly Sector[];
  readonly sectionOfRow: readonly number[];
  readonly rowOfSeat: readonly number[];
}

/** Where the seats are: in their section, which may be turned. */
function placesOf({ seats, sections, sectionOfRow, rowOfSeat }: Placed): Places {
  const [x, y] = [new Float64Array(seats.length), new Float64Array(seats.length)];
  const frames = sections.map((section) => {
    const angle = ((numberOrNull(section["angle"]) ?? 0) * Math.PI) / 180;
    const [left, top] = [numberOrNull(section["x"]) ?? 0, numberOrNull(section["y"]) ?? 0];
    return { left, top, cos: Math.cos(angle), sin: Math.sin(angle) };
  });
  for (const [index, seat] of seats.entries()) {
    const { left, top, cos, sin } = frames[sectionOfRow[rowOfSeat[index]!]!]!;
    const [dx, dy] = [seat.x ?? Number.NaN, seat.y ?? Number.NaN];
    x[index] = left + dx * cos - dy * sin;
    y[index] = top + dx * sin + dy * cos;
  }
  const places = { x, y };
  fillGaps(places, { rowOfSeat, sectionOfRow, frames, isTable: sections.map(isTable) });
  return places;
}

function isTable({ type }: Sector): boolean {
  return type === "TABLE";
}

/** A power of ten. */
function stepOf(places: Places): number {
  const extent = Math.max(...Object.values(places).map(widthOf), 1);
  return Number(`1e${Math.ceil(Math.log10(extent / STEPS_MAX))}`);
}

function widthOf(values: Float64Array): number {
  let [least, greatest] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return values.length === 0 ? 0 : greatest - least;
}

/** Neighbours have similar numbers, so their differences are short, and repeat. */
function differences(
  values: ArrayLike<number>,
  scaled: (value: number) => number = (value) => value,
): number[] {
  const result: number[] = [];
  let last = 0;
  for (let i = 0; i < values.length; i++) {
    const value = Math.round(scaled(values[i]!));
    result.push(value - last);
    last = value;
  }
  return result;
}

const UNITS_PER_PLACE = 14;
const AREA_WIDTH_MAX = 2_400;
const GAP = 60;

/** Areas that nobody has drawn, in a line below the seats. */
function shapesToAdd(
  areas: readonly Sector[],
  shapes: readonly Shape[],
  { x, y }: Places,
): Shape[] {
  const drawn = new Set(shapes.map(({ groupOfSeatsGuid }) => groupOfSeatsGuid));
  let left = x.length === 0 ? 0 : x.reduce((least, value) => Math.min(least, value), Infinity);
  const bottom = y.reduce((most, value) => Math.max(most, value), 0);
  return areas
    .filter(({ guid }) => !drawn.has(guid))
    .map((area) => {
      const side = Math.round(Math.sqrt(Math.max(area.gaCapacity ?? 0, 100)) * UNITS_PER_PLACE);
      const [width, height] = [Math.min(side * 2, AREA_WIDTH_MAX), Math.round(side / 2)];
      const place = {
        left: numberOrNull(area["x"]) ?? left,
        top: numberOrNull(area["y"]) ?? bottom + GAP,
      };
      left = place.left + width + GAP;
      const drawing = { shapeType: "RECT", purpose: "GA", ...place, width, height };
      return { groupOfSeatsGuid: area.guid, ...drawing };
    });
}

function shapeOf(shape: Shape, groupIds: ReadonlyMap<string, number>) {
  const { groupOfSeatsGuid } = shape;
  const groupOfSeatsId = groupIds.get(groupOfSeatsGuid ?? "") ?? null;
  const members = SHAPE_MEMBERS.filter((name) => shape[name] !== undefined);
  const drawing = Object.fromEntries(members.map((name) => [name, shape[name]]));
  const corner = { left: shape["left"] ?? shape["x"], top: shape["top"] ?? shape["y"] };
  return { groupOfSeatsId, ...drawing, ...corner };
}

// Places for seats that a layout does not place: tables are round, rows are straight.

/** Index: seat. Value: a coordinate in drawing units; NaN where there is none. */
interface Places {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

export interface Surroundings {
  readonly rowOfSeat: readonly number[];
  readonly sectionOfRow: readonly number[];
  /** By section: where it begins. */
  readonly frames: readonly { readonly left: number; readonly top: number }[];
  /** By section. */
  readonly isTable: readonly boolean[];
}

const PITCH = 28;
const TABLE_RADIUS_MIN = 24;

/** Cost: O(seats). */
function fillGaps(places: Places, surroundings: Surroundings): void {
  const { rowOfSeat, sectionOfRow, frames, isTable: tables } = surroundings;
  const missing = new Map<number, number[]>();
  for (const [seat, row] of rowOfSeat.entries()) {
    if (Number.isFinite(places.x[seat]! + places.y[seat]!)) continue;
    const seats = missing.get(row);
    if (seats === undefined) missing.set(row, [seat]);
    else seats.push(seat);
  }
  const rowsOfSection = new Map<number, number>();
  for (const [row, seats] of missing) {
    const section = sectionOfRow[row]!;
    const line = rowsOfSection.get(section) ?? 0;
    rowsOfSection.set(section, line + 1);
    const { left, top } = frames[section]!;
    const radius =
      Math.max(TABLE_RADIUS_MIN, (seats.length * PITCH) / (2 * Math.PI)) + line * PITCH;
    for (const [position, seat] of seats.entries()) {
      const angle = (2 * Math.PI * position) / seats.length - Math.PI / 2;
      const round = tables[section]!;
      places.x[seat] = left + (round ? radius * Math.cos(angle) : position * PITCH);
      places.y[seat] = top + (round ? radius * Math.sin(angle) : line * PITCH);
    }
  }
}

/** How packed layouts are read and written. */
interface Packing {
  readonly pack: (json: Uint8Array) => Uint8Array;
  /** @param use - Reads the JSON of a packed layout, which is gone afterwards. */
  readonly unpack: <Value>(packed: Uint8Array, use: (json: Buffer) => Value) => Value;
  /** @param itemOf - As in `parseInPieces`. */
  readonly read: (packed: Uint8Array, itemOf?: (item: unknown) => unknown) => LayoutDocument;
}

interface Next {
  readonly nextId: number;
  readonly timeMs: number;
}

/** By kind: what a job needs. `stored` is a packed layout. */
interface Jobs {
  /** Reads and checks the body of a request, and merges it into the stored layout. */
  readonly prepare: {
    /** The body. The job takes them out: a large body must not be in memory twice. */
    readonly parts: Uint8Array[];
    /** Whether an earlier job has packed the body. */
    readonly isPacked: boolean;
    readonly stored: Uint8Array | null;
    readonly next: Next;
  };
  readonly copy: {
    readonly stored: Uint8Array;
    readonly original: Omit<Original, "document">;
    readonly next: Next;
  };
  /** The layout as JSON, with room for `withInUse` or without. */
  readonly show: { readonly stored: Uint8Array; readonly hasRoom: boolean };
  readonly showGroups: {
    readonly stored: Uint8Array;
    readonly schemaId: number;
    readonly zones: ZonesOfSchema;
    readonly parentId: number | undefined;
    readonly type: string | undefined;
  };
  readonly showMetadata: { readonly stored: Uint8Array; readonly options: MetadataOptions };
  /** The geometry as JSON, compressed by gzip. */
  readonly showGeometry: {
    readonly stored: Uint8Array;
    readonly schemaId: number;
    readonly version: number;
  };
}

/** A layout that can be stored: packed, and as a seat index. */
interface Made {
  readonly packed: Uint8Array;
  readonly columns: LayoutColumns;
}

/**
 * The layout of a body: not valid, as it is stored already, or new. `json` has room for
 * `withInUse`.
 */
export type Prepared =
  | { readonly kind: "malformed"; readonly reason: string }
  | { readonly kind: "invalid"; readonly errors: readonly FieldError[] }
  | { readonly kind: "same"; readonly json: Uint8Array }
  | (Made & {
      readonly kind: "new";
      readonly json: Uint8Array;
      readonly newIds: number;
      readonly seats: GoneObjects & RelabelledSeats;
      /** The body, packed: the layout may have to be prepared again. */
      readonly body: Uint8Array;
    });

interface Results {
  readonly prepare: Prepared;
  readonly copy: Made & { readonly copy: Omit<Copy, "document"> };
  readonly show: Uint8Array;
  readonly showGroups: Uint8Array;
  readonly showMetadata: Uint8Array;
  readonly showGeometry: Uint8Array;
}

export type JobKind = keyof Jobs;
export type JobOf<K extends JobKind> = { [J in K]: { readonly kind: J } & Jobs[J] }[K];
export type ResultOf<K extends JobKind> = Results[K];

const LAYOUT_CHECKS = checksOf({ body: COMMANDS.putLayout.members.body });

/** Cost: O(objects and bytes of the layout), seconds for the largest. */
function doJob(job: JobOf<JobKind>, packing: Packing): ResultOf<JobKind> {
  switch (job.kind) {
    case "prepare":
      return prepare(job, packing);
    case "copy":
      return copy(job, packing);
    case "show":
      return packing.unpack(job.stored, (json) => copyOf(json, job.hasRoom ? IN_USE_BYTES_MAX : 0));
    case "showGroups": {
      const { schemaId, zones, parentId, type } = job;
      const groups = groupViews(schemaId, packing.read(job.stored), zones)
        .filter((group) => parentId === undefined || group.parentId === parentId)
        .filter((group) => type === undefined || group.type === type);
      return bytesOf(groups);
    }
    case "showMetadata": {
      const document = packing.read(job.stored);
      return bytesOf(metadataView(document, buildLayout(document), job.options));
    }
    case "showGeometry": {
      const { stored, schemaId, version } = job;
      const geometry = geometryOf(packing.read(stored), { schemaId, version });
      return Uint8Array.from(gzipSync(bytesOf(geometry)));
    }
  }
  return job satisfies never;
}

function prepare(job: Jobs["prepare"], packing: Packing): Prepared {
  // Nothing here refers to the body or the stored layout, which take as much memory as the result.
  const merged = merge(job, packing);
  if ("kind" in merged) return merged;
  const { document, isChanged, newIds, sent, ...ids } = merged;
  const json = jsonOf(document, IN_USE_BYTES_MAX);
  if (!isChanged) return { kind: "same", json };
  const { goneIds, goneAreaIds, movedIds, renamedIds } = ids;
  const seats = { goneIds, goneAreaIds, movedIds, renamedIds };
  const columns = columnsOf(buildLayout(document));
  const packed = packing.pack(json.subarray(0, json.length - IN_USE_BYTES_MAX));
  return { kind: "new", packed, columns, json, newIds, seats, body: sent };
}

type Refused = Extract<Prepared, { readonly kind: "malformed" | "invalid" }>;

/** A body that was merged into the stored layout, and the same body packed. */
type Merged = Omit<PreparedLayout, "errors"> & { readonly sent: Uint8Array };

function merge(job: Jobs["prepare"], packing: Packing): Merged | Refused {
  const given = joined(job.parts);
  job.parts.length = 0;
  if (!job.isPacked) return mergeBody(given, job, packing);
  return packing.unpack(given, (bytes) => mergeBody(bytes, job, packing));
}

function mergeBody(
  bytes: Buffer,
  { stored, next }: Jobs["prepare"],
  packing: Packing,
): Merged | Refused {
  const parsed = parseLongJson(bytes, LAYOUT_LIMITS);
  const length = bytes.length;
  const short = length <= LONG_BYTES ? bytes : null;
  // From here on, a long body is not in memory besides its objects.
  const sent = parsed.ok ? packing.pack(bytes) : bytes;
  if (short === null) freePages(bytes);
  if (!parsed.ok) {
    const { reason, errors } = parsed;
    return errors === undefined ? { kind: "malformed", reason } : { kind: "invalid", errors };
  }
  const body = LAYOUT_CHECKS.compose(parsed.value);
  const invalid = LAYOUT_CHECKS.body(body, length);
  if (invalid.length > 0) return { kind: "invalid", errors: errorsAsSent(invalid, short) };
  // The body has passed the shape of a layout.
  const layout = body as LayoutBody;
  const tooLong = checkDrawing(layout);
  if (tooLong.length > 0) return { kind: "invalid", errors: tooLong };
  const before = stored === null ? EMPTY_DOCUMENT : packing.read(stored, sharingTexts(layout));
  const { errors, ...prepared } = prepareLayout(before, layout, next);
  if (errors.length > 0) return { kind: "invalid", errors: errorsAsSent(errors, short) };
  return { ...prepared, isChanged: prepared.isChanged || stored === null, sent };
}

/** Without a copy when there is one part. */
function joined(parts: readonly Uint8Array[]): Buffer {
  const [first] = parts;
  if (parts.length !== 1 || first === undefined) return Buffer.concat(parts);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

function copy({ stored, original, next }: Jobs["copy"], packing: Packing): ResultOf<"copy"> {
  const whole = { ...original, document: packing.read(stored) };
  const { document, ...rest } = copyOriginal(whole, next);
  const copied = document ?? EMPTY_DOCUMENT;
  const columns = columnsOf(buildLayout(copied));
  const packed = packing.pack(jsonOf(copied));
  return { packed, columns, copy: rest };
}

/** @param room - Bytes behind the JSON. */
function jsonOf(document: LayoutDocument, room = 0): Buffer {
  const bytes = documentBytes(document);
  const json = Buffer.from(ownMemory(bytes + room));
  let length = 0;
  for (const piece of jsonPieces(document)) length += json.write(piece, length);
  assert(length === bytes, "a layout is written to its last byte");
  return json;
}

/** @param room - Bytes behind the copy. */
function copyOf(json: Uint8Array, room: number): Uint8Array {
  const copied = new Uint8Array(ownMemory(json.length + room));
  copied.set(json);
  return copied;
}

/** Memory that can move to another thread. */
function ownMemory(bytes: number): ArrayBuffer {
  return bytes < LONG_BYTES ? new ArrayBuffer(bytes) : pagesFor(bytes);
}

/** Room behind the JSON of a layout: two numbers of 16 digits, and their names. */
const IN_USE_BYTES_MAX = 64;

/**
 * The answer of a PUT, in the same memory: the numbers are known only once the layout is installed.
 *
 * @param json - A layout, and room behind it.
 */
export function withInUse(json: Uint8Array, inUse: SeatsInUse): Uint8Array {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length);
  const end = json.length - IN_USE_BYTES_MAX - 1;
  assert(bytes[end] === "}".charCodeAt(0), "the room is behind the last brace of a layout");
  const { renamed, moved } = inUse;
  const tail = `,"inUse":${JSON.stringify({ renamed, moved })}}`;
  assert(end + tail.length <= bytes.length, "the room is enough for two numbers");
  return json.subarray(0, end + bytes.write(tail, end));
}

function bytesOf(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The memory in a job or a result that moves to the other thread instead of being copied. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    // A short view may be part of memory that others use.
    const isWhole = value.byteLength === value.buffer.byteLength;
    return isWhole && value.buffer instanceof ArrayBuffer ? [value.buffer] : [];
  }
  if (value === null || typeof value !== "object") return [];
  // Of lists, only those of bytes: others may be long, and hold numbers or texts.
  if (Array.isArray(value) && !ArrayBuffer.isView(value[0])) return [];
  return [...new Set(Object.values(value).flatMap(buffersIn))];
}

// The program of the layout thread.

export interface LayoutProgram {
  readonly data: null;
  readonly requests: { readonly do: (job: JobOf<JobKind>) => ResultOf<JobKind> };
  readonly events: Readonly<Record<string, never>>;
}

export function serveLayouts(port: ThreadPort<ToWorker<LayoutProgram>>, packing: Packing): void {
  serve<LayoutProgram>(port, {
    do(job) {
      const result = doJob(job, packing);
      return new Transferred(result, buffersIn(result));
    },
  });
}
