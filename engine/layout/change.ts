/**
 * Prepares a sent layout: merges it into the stored one and checks it. This is the long part of
 * putting a layout. It depends on nothing but its arguments.
 */
import { assert } from "../assert.ts";
import {
  LAYOUT_OBJECT_MEMBERS,
  type LayoutBody,
  type SentObject,
  type SentShape,
} from "../bodies.ts";
import type { ZoneRow } from "../catalog.ts";
import { DRAWING_BYTES_MAX, LAYOUT_BYTES_MAX, SEATS_PER_LAYOUT_MAX } from "../constants.ts";
import { labelKey } from "../names.ts";
import { duplicate, type FieldError, notFound } from "../results.ts";
import { jsonBytes } from "../schema.ts";
import {
  documentBytes,
  type LayoutDocument,
  objectIds,
  type Row,
  type Seat,
  type Sector,
  type Shape,
} from "./document.ts";
import { KEY_SEPARATOR } from "./labels.ts";
import { eachZone, ZoneRuns } from "./zones.ts";

/** Objects of the stored layout missing in the new one. */
export interface GoneObjects {
  /** Ids of sectors, rows and seats, rising. */
  readonly goneIds: readonly number[];
  /** Ids of areas missing in the new layout, or sections there. */
  readonly goneAreaIds: readonly number[];
}

/** Seats of the stored layout with another label in the new one. */
export interface RelabelledSeats {
  /** Ids of seats in another row than before. */
  readonly movedIds: readonly number[];
  /** Ids of seats in their row: they, it or its section have another name. */
  readonly renamedIds: readonly number[];
}

export interface PreparedLayout extends GoneObjects, RelabelledSeats, MergedLayout {}

/** The source of new ids and guids. */
interface Next {
  /** The first id for new objects. */
  readonly nextId: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/**
 * Cost: O(objects and bytes of both layouts).
 */
export function prepareLayout(
  stored: LayoutDocument,
  body: LayoutBody,
  next: Next,
): PreparedLayout {
  const { document, isChanged, newIds, errors: conflicts } = mergeLayout(stored, body, next);
  const errors = conflicts.length > 0 ? conflicts : checkDocument(document, { stored, body });
  if (errors.length > 0 || !isChanged) {
    const none = { goneIds: [], goneAreaIds: [], movedIds: [], renamedIds: [] };
    return { document, isChanged, newIds, ...none, errors };
  }
  const kept = new Set(objectIds(document));
  const count = document.sectors.length + document.rows.length + document.seats.length;
  assert(kept.size === count, "every object of a layout has an id of its own");
  const goneIds = objectIds(stored).filter((id) => !kept.has(id));
  goneIds.sort((a, b) => a - b);
  const areas = new Set(areaIds(document));
  const goneAreaIds = areaIds(stored).filter((id) => !areas.has(id));
  const relabelled = relabelledSeats(stored, document);
  return { document, isChanged, newIds, goneIds, goneAreaIds, ...relabelled, errors };
}

function relabelledSeats(stored: LayoutDocument, document: LayoutDocument): RelabelledSeats {
  const [rowsBefore, rows] = [labelledRows(stored), labelledRows(document)];
  const seatsBefore = new Map(stored.seats.map((seat) => [seat.id, seat]));
  const movedIds: number[] = [];
  const renamedIds: number[] = [];
  for (const { id, name, rowGuid } of document.seats) {
    const before = seatsBefore.get(id);
    if (before === undefined) continue;
    const row = rows.get(lowerGuid(rowGuid));
    const rowBefore = rowsBefore.get(lowerGuid(before.rowGuid));
    assert(
      row !== undefined && rowBefore !== undefined,
      "every seat of a checked layout has a row",
    );
    if (name === before.name && row.label === rowBefore.label) continue;
    (row.id === rowBefore.id ? renamedIds : movedIds).push(id);
  }
  return { movedIds, renamedIds };
}

/** @returns By guid: the row's id, and its label with that of its section. */
function labelledRows({ sectors, rows }: LayoutDocument) {
  const names = new Map(sectors.map(({ guid, name }) => [lowerGuid(guid), name]));
  const labelled = rows.map(({ id, guid, sectorGuid, rowNumber }) => {
    const label = `${names.get(lowerGuid(sectorGuid))}${KEY_SEPARATOR}${rowNumber}`;
    return [lowerGuid(guid), { id, label }] as const;
  });
  return new Map(labelled);
}

function areaIds({ sectors }: LayoutDocument): number[] {
  return sectors.filter(({ ga }) => ga).map(({ id }) => id);
}

// The rules for a layout as a whole: guids are unique, rows and seats point at an existing object,
// and labels are unique as far as v1 composite keys need it. An error names a sent object.

const lowerGuid = (guid: string) => guid.toLowerCase();

/** Enough for a person; a layout may have a hundred thousand objects. */
const ERRORS_MAX = 100;

/** A layout, and the one into which it is merged. */
interface Sent {
  readonly stored: LayoutDocument;
  readonly body: LayoutBody;
}

/** Cost: O(objects of the document). */
export function checkDocument(document: LayoutDocument, sent: Sent): FieldError[] {
  const report = new Report(sent);
  if (document.seats.length > SEATS_PER_LAYOUT_MAX) {
    const message = `a layout has at most ${SEATS_PER_LAYOUT_MAX} seats`;
    return [{ field: "seats", code: "SIZE", message, rejectedValue: document.seats.length }];
  }
  const bytes = documentBytes(document);
  if (bytes > LAYOUT_BYTES_MAX) {
    const message = `a layout has at most ${LAYOUT_BYTES_MAX} bytes, its drawing members included`;
    return [{ field: "", code: "SIZE", message, rejectedValue: bytes }];
  }
  checkGuids(document, report);
  checkSectors(document, report);
  checkRows(document, report);
  checkSeats(document, report);
  assert(report.errors.length <= ERRORS_MAX, "a refusal has a bounded number of errors");
  return report.errors;
}

type Member = "sectors" | "rows" | "seats";

/** A reference from a row to its section, or from a seat to its row. */
interface Parent {
  readonly member: "sectors" | "rows";
  readonly field: string;
  readonly what: string;
}

const SECTOR_OF_ROW: Parent = { member: "sectors", field: "sectorGuid", what: "sector" };
const ROW_OF_SEAT: Parent = { member: "rows", field: "rowGuid", what: "row" };

/** Collects errors, each with the position of its object in the request. */
class Report {
  readonly errors: FieldError[] = [];
  readonly #places: Readonly<Record<Member, Map<string, number>>>;

  /** By the guid that a sent object had before: its new one. */
  readonly #renamed = new Map<string, string>();
  readonly #lost = new Set<string>();

  constructor({ stored, body }: Sent) {
    const places = (objects: readonly { guid: string }[] | null | undefined) =>
      new Map((objects ?? []).map(({ guid }, i) => [lowerGuid(guid), i]));
    this.#places = {
      sectors: places(body.sectors),
      rows: places(body.rows),
      seats: places(body.seats),
    };
    for (const member of ["sectors", "rows"] as const) {
      const guids = new Map((body[member] ?? []).map(({ id, guid }) => [id, lowerGuid(guid)]));
      for (const { id, guid } of stored[member]) {
        const sent = guids.get(id);
        if (sent !== undefined && sent !== lowerGuid(guid))
          this.#renamed.set(lowerGuid(guid), sent);
      }
    }
  }

  hasSent(member: Member, guid: string): boolean {
    return this.#places[member].has(guid);
  }

  add(member: Member, guid: string, error: FieldError): void {
    if (this.errors.length >= ERRORS_MAX) return;
    const place = this.#places[member].get(guid);
    assert(place !== undefined, "an error names an object of the request");
    this.errors.push({ ...error, field: `${member}[${place}].${error.field}` });
  }

  /** An object whose section or row is missing: not in the layout, or sent with another guid. */
  addLost(member: "rows" | "seats", guid: string, parent: Parent, parentGuid: string): void {
    const { field, what } = parent;
    if (this.hasSent(member, guid)) {
      const message = `there is no such ${what} in the layout; send it too, or correct the guid`;
      const error = { field, code: "NOT_FOUND", message, rejectedValue: parentGuid };
      this.add(member, guid, error);
      return;
    }
    const renamed = this.#renamed.get(parentGuid);
    assert(renamed !== undefined, "a stored object loses its parent by a new guid alone");
    if (this.#lost.has(renamed)) return;
    this.#lost.add(renamed);
    const message = `${member} of the ${what} name its guid ${parentGuid}; keep it, or send them too`;
    const error = { field: "guid", code: "CONFLICT", message, rejectedValue: renamed };
    this.add(parent.member, renamed, error);
  }
}

/** Of two objects with one guid, the later sent one is reported. */
function checkGuids({ sectors, rows, seats }: LayoutDocument, report: Report): void {
  const members = new Map<string, Member>();
  const check = (member: Member, guid: string) => {
    const other = members.get(guid);
    members.set(guid, member);
    if (other === undefined) return;
    const reported = report.hasSent(member, guid) ? member : other;
    report.add(reported, guid, duplicate("guid", guid));
  };
  for (const { guid } of sectors) check("sectors", guid);
  for (const { guid } of rows) check("rows", guid);
  for (const { guid } of seats) check("seats", guid);
}

function checkSectors({ sectors }: LayoutDocument, report: Report): void {
  const labels = new LabelCheck("sectors", "name", "is the name of another section", report);
  for (const sector of sectors) labels.add("", sector);
}

function checkRows({ sectors, rows }: LayoutDocument, report: Report): void {
  const sectorOf = new Map(sectors.map((sector) => [sector.guid, sector]));
  const labels = new LabelCheck("rows", "rowNumber", "appears twice in the section", report);
  for (const row of rows) {
    const { guid, sectorGuid } = row;
    const sector = sectorOf.get(sectorGuid);
    if (sector === undefined) report.addLost("rows", guid, SECTOR_OF_ROW, sectorGuid);
    else if (sector.ga) reportRowOfArea(guid, sectorGuid, report);
    labels.add(sectorGuid, row);
  }
}

/** Reports at the row when it was sent, else at the sector turned into an area. */
function reportRowOfArea(rowGuid: string, sectorGuid: string, report: Report): void {
  const error = {
    code: "CONFLICT",
    message: "a general-admission area has no rows: remove them, or make it a section",
  };
  if (report.hasSent("rows", rowGuid)) {
    report.add("rows", rowGuid, { ...error, field: "sectorGuid", rejectedValue: sectorGuid });
  } else {
    report.add("sectors", sectorGuid, { ...error, field: "ga", rejectedValue: true });
  }
}

function checkSeats({ rows, seats }: LayoutDocument, report: Report): void {
  const known = new Set(rows.map(({ guid }) => guid));
  const labels = new LabelCheck("seats", "name", "appears twice in the row", report);
  for (const seat of seats) {
    if (!known.has(seat.rowGuid)) report.addLost("seats", seat.guid, ROW_OF_SEAT, seat.rowGuid);
    labels.add(seat.rowGuid, seat);
  }
}

type Labelled<Field extends string> = Readonly<Record<Field | "guid", string>>;

/** Refuses labels with the separator of composite keys, and the same label twice in one parent. */
class LabelCheck<Field extends string> {
  readonly #member: Member;
  readonly #field: Field;
  readonly #twice: string;
  readonly #report: Report;
  readonly #byKey = new Map<string, Labelled<Field>>();

  /**
   * @param field - The member with the label.
   * @param twice - The message for the same label in one parent.
   */
  constructor(member: Member, field: Field, twice: string, report: Report) {
    this.#member = member;
    this.#field = field;
    this.#twice = twice;
    this.#report = report;
  }

  /** @param parent - The guid of the section or row that has the object. */
  add(parent: string, object: Labelled<Field>): void {
    const key = labelKey(object[this.#field]);
    if (key.includes(KEY_SEPARATOR)) {
      const message = `must not contain "${KEY_SEPARATOR}", which composite keys use`;
      this.#refuse(object, "PATTERN", message);
    }
    const keyInParent = `${parent}${KEY_SEPARATOR}${key}`;
    const twin = this.#byKey.get(keyInParent);
    if (twin !== undefined) this.#refuseTwins(twin, object);
    this.#byKey.set(keyInParent, object);
  }

  #refuseTwins(first: Labelled<Field>, second: Labelled<Field>): void {
    const isSecondSent = this.#report.hasSent(this.#member, second.guid);
    const [sent, other] = isSecondSent ? [second, first] : [first, second];
    const label = other[this.#field];
    const isEqual = label === sent[this.#field];
    const message = isEqual
      ? this.#twice
      : `${this.#twice}: it looks like ${JSON.stringify(label)}`;
    this.#refuse(sent, "DUPLICATE", message);
  }

  /** A label that was stored under an earlier rule stays until it is sent again. */
  #refuse(object: Labelled<Field>, code: string, message: string): void {
    if (!this.#report.hasSent(this.#member, object.guid)) return;
    const [field, rejectedValue] = [this.#field, object[this.#field]];
    this.#report.add(this.#member, object.guid, { field, code, message, rejectedValue });
  }
}

// Drawing members: uninterpreted members of a layout's objects. They are stored and given back,
// within a limit for each object.

/** The longest number as JSON, and "false" or "null". */
const NUMBER_BYTES_MAX = 25;
/** A control character as JSON. */
const UNIT_BYTES_MAX = 6;

/** Cost: O(members of the objects). */
export function checkDrawing(body: LayoutBody): FieldError[] {
  const errors: FieldError[] = [];
  for (const [list, members] of Object.entries(LAYOUT_OBJECT_MEMBERS)) {
    const objects = body[list as keyof typeof LAYOUT_OBJECT_MEMBERS] ?? [];
    for (const [i, object] of objects.entries()) {
      const bytes = drawingBytes(object, members);
      if (bytes > DRAWING_BYTES_MAX) errors.push(tooLong(`${list}[${i}]`, bytes));
      if (errors.length === ERRORS_MAX) return errors;
    }
  }
  const bytes = jsonBytes(body.clientViewBox ?? null);
  if (bytes > DRAWING_BYTES_MAX) errors.push(tooLong("clientViewBox", bytes));
  return errors;
}

function tooLong(field: string, bytes: number): FieldError {
  const message = `its drawing members take at most ${DRAWING_BYTES_MAX} bytes as JSON`;
  return { field, code: "SIZE", message, rejectedValue: bytes };
}

/**
 * @param known - Names of members with a meaning to the engine.
 * @returns Bytes of the drawing members as JSON; at most the limit when they are surely within it.
 */
function drawingBytes(object: object, known: ReadonlySet<string>): number {
  const drawing: Record<string, unknown> = {};
  let bytesMax = 0;
  for (const name in object) {
    if (known.has(name)) continue;
    const value = (object as Readonly<Record<string, unknown>>)[name];
    drawing[name] = value;
    bytesMax += UNIT_BYTES_MAX * name.length + bytesAtMost(value);
  }
  return bytesMax <= DRAWING_BYTES_MAX ? bytesMax : jsonBytes(drawing);
}

/** Far cheaper than the exact size: a layout has hundreds of thousands of objects. */
function bytesAtMost(value: unknown): number {
  if (typeof value === "string") return UNIT_BYTES_MAX * value.length + 2;
  if (typeof value === "object" && value !== null) return jsonBytes(value);
  return NUMBER_BYTES_MAX;
}

// Merges a sent layout into the stored one. A sent object replaces the stored object of its id, or
// without an id that of its guid, or is new. Missing objects stay. `toRemove` removes an object,
// and a sector together with its rows and seats. A row without seats left is removed too. Shapes
// have rules of their own.

export interface MergedLayout {
  readonly document: LayoutDocument;
  /** False when it equals the stored one. */
  readonly isChanged: boolean;
  /** Ids for the new objects. */
  readonly newIds: number;
  readonly errors: readonly FieldError[];
}

interface StoredObject {
  readonly id: number;
  readonly guid: string;
}

/**
 * @param nextId - The first id for new objects.
 * @param timeMs - Milliseconds since 1970: makes the ids of new shapes unique.
 * Cost: O(objects stored and sent).
 */
export function mergeLayout(
  older: LayoutDocument,
  sent: LayoutBody,
  { nextId, timeMs }: Next,
): MergedLayout {
  const [stored, body] = [mapGuids(older, lowerGuid), mapGuids(sent, lowerGuid)];
  const merging: Merging = { nextId, errors: [] };
  const sectors = mergeObjects<Sector>(stored.sectors, body.sectors, "sectors", merging);
  const rows = mergeObjects<Row>(stored.rows, body.rows, "rows", merging);
  const seats = mergeObjects<Seat>(stored.seats, body.seats, "seats", merging);
  const removedSectors = new Set(sectors.removed.map(({ guid }) => guid));
  const keptRows = rows.kept.filter(({ sectorGuid }) => !removedSectors.has(sectorGuid));
  const rowsOfRemoved = rows.kept.filter(({ sectorGuid }) => removedSectors.has(sectorGuid));
  const removedRows = new Set([...rows.removed, ...rowsOfRemoved].map(({ guid }) => guid));
  const keptSeats = seats.kept.filter(({ rowGuid }) => !removedRows.has(rowGuid));
  const emptied = new Set(stored.seats.map(({ rowGuid }) => rowGuid));
  for (const { rowGuid } of keptSeats) emptied.delete(rowGuid);
  const newShapeId = () => newGuid(timeMs, merging.nextId++);
  const { shapes, errors } = mergeShapes(stored.shapes, body.shapes ?? [], newShapeId);
  merging.errors.push(...errors);
  const focalPoint = body.focalPoint ?? stored.focalPoint;
  const document: LayoutDocument = {
    sectors: sectors.kept,
    rows: keptRows.filter(({ guid }) => !emptied.has(guid)),
    seats: keptSeats,
    shapes,
    clientViewBox: body.clientViewBox ?? stored.clientViewBox,
    ...(focalPoint === undefined ? {} : { focalPoint: { x: focalPoint.x, y: focalPoint.y } }),
  };
  assert(merging.nextId >= nextId, "an id that was given out is never given out again");
  const newIds = merging.nextId - nextId;
  return { document, isChanged: hasChanged(older, document), newIds, errors: merging.errors };
}

/** Cost: O(objects). */
function hasChanged(older: LayoutDocument, newer: LayoutDocument): boolean {
  const { shapes, clientViewBox, focalPoint } = newer;
  const lists = [
    [older.sectors, newer.sectors],
    [older.rows, newer.rows],
    [older.seats, newer.seats],
  ] as const;
  const isKept = lists.every(
    ([before, after]) =>
      before.length === after.length && before.every((object, i) => object === after[i]),
  );
  if (!isKept) return true;
  const drawing = [older.shapes, older.clientViewBox, older.focalPoint];
  return !isSameValue(drawing, [shapes, clientViewBox, focalPoint]);
}

interface Merged<T> {
  readonly kept: T[];
  readonly removed: T[];
}

/** Shared state of the merge of the three lists. */
interface Merging {
  nextId: number;
  readonly errors: FieldError[];
}

const NEW_OBJECT = "object in the layout: a new one has no id";

function mergeObjects<T extends StoredObject>(
  stored: readonly T[],
  sent: readonly SentObject[] | null | undefined,
  member: string,
  merging: Merging,
): Merged<T> {
  const { errors } = merging;
  const byId = new Map(stored.map((object) => [object.id, object]));
  const idOfGuid = new Map(stored.map((object) => [object.guid, object.id]));
  assert(byId.size === stored.length, "every object of a stored layout has an id of its own");
  const removed: T[] = [];
  const seen = new Set<number>();
  for (const [i, { toRemove, id: sentId, ...object }] of (sent ?? []).entries()) {
    const id = sentId ?? idOfGuid.get(object.guid) ?? merging.nextId++;
    if (typeof sentId === "number" && !byId.has(sentId)) {
      errors.push(notFound(`${member}[${i}].id`, sentId, NEW_OBJECT));
    } else if (seen.has(id)) {
      errors.push(duplicate(`${member}[${i}].guid`, object.guid));
    } else if (toRemove === true) {
      const old = byId.get(id);
      if (old !== undefined) removed.push(old);
      byId.delete(id);
    } else {
      const changed = { ...object, id } as unknown as T;
      const old = byId.get(id);
      // Equal objects stay identical: an unchanged layout is recognized by it.
      if (old === undefined || !isSameValue(old, changed)) byId.set(id, changed);
    }
    seen.add(id);
  }
  assert(removed.length <= stored.length, "only a stored object is removed");
  return { kept: [...byId.values()], removed };
}

// Merges sent drawing shapes into the stored ones. A shape is known by its id. A sent one without
// an id is the stored shape with the same members, or is new and gets an id. Missing shapes stay,
// and `toRemove` removes one.

/** @param newId - Makes a unique id. Cost: O(shapes stored and sent). */
export function mergeShapes(
  before: readonly Shape[],
  sent: readonly SentShape[],
  newId: () => string,
): { readonly shapes: readonly Shape[]; readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  const byId = new Map<string, Shape>();
  /** By members: ids of shapes not yet matched. */
  const idsOf = new Map<string, string[]>();
  for (const { id = newId(), ...shape } of before) {
    byId.set(id, { id, ...shape });
    const key = JSON.stringify(shape);
    const ids = idsOf.get(key);
    if (ids === undefined) idsOf.set(key, [id]);
    else ids.push(id);
  }
  const seen = new Set<string>();
  for (const [i, { id: sentId, toRemove, ...shape }] of sent.entries()) {
    const id = sentId ?? idsOf.get(JSON.stringify(shape))?.shift() ?? newId();
    if (seen.has(id)) errors.push(duplicate(`shapes[${i}].id`, id));
    else if (toRemove === true) byId.delete(id);
    else byId.set(id, { id, ...shape });
    seen.add(id);
  }
  return { shapes: [...byId.values()], errors };
}

// Equality of JSON values. The order of the members of an object does not count.

export function isSameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [membersOfA, membersOfB] = [a, b] as Readonly<Record<string, unknown>>[];
  const names = Object.keys(membersOfA!);
  if (names.length !== Object.keys(membersOfB!).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(b, name) || !isSameValue(membersOfA![name], membersOfB![name])) return false;
  }
  return true;
}

// Guids of layouts: UUIDs, kept and compared in lower case.

/** The lists of a layout, as it is sent or stored. */
interface Lists {
  readonly sectors?: readonly object[] | null | undefined;
  readonly rows?: readonly object[] | null | undefined;
  readonly seats?: readonly object[] | null | undefined;
  readonly shapes?: readonly object[] | null | undefined;
}

/** Guid members, by list. */
const GUIDS: Readonly<Record<keyof Lists, readonly string[]>> = {
  sectors: ["guid"],
  rows: ["guid", "sectorGuid"],
  seats: ["guid", "rowGuid"],
  shapes: ["id", "groupOfSeatsGuid"],
};

/** Applies a function to every guid of a layout. Cost: O(objects). */
export function mapGuids<L extends Lists>(layout: L, change: (guid: string) => string): L {
  const lists = Object.entries(GUIDS).map(([name, members]) => {
    const objects = layout[name as keyof Lists];
    return [name, objects?.map((object) => changeMembers(object, members, change))] as const;
  });
  return { ...layout, ...Object.fromEntries(lists) };
}

/** @returns The object itself when nothing changes. */
function changeMembers(
  object: object,
  members: readonly string[],
  change: (guid: string) => string,
): object {
  let changes: Record<string, string> | null = null;
  for (const member of members) {
    const guid = (object as Readonly<Record<string, unknown>>)[member];
    if (typeof guid !== "string") continue;
    const other = change(guid);
    if (other !== guid) (changes ??= {})[member] = other;
  }
  return changes === null ? object : { ...object, ...changes };
}

/**
 * A new guid: a UUID of version 8, made of the time and of an id just given out, since the engine
 * has no randomness.
 */
export function newGuid(timeMs: number, id: number): string {
  const time = timeMs.toString(16).padStart(12, "0");
  const serial = id.toString(16).padStart(14, "0");
  assert(time.length === 12 && serial.length === 14, "time and id fit into a guid");
  const variant = `80${serial.slice(0, 2)}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-8000-${variant}-${serial.slice(2)}`;
}

// The long part of cloning a schema: copies its layout, zones and assignments under new ids.

/** The input of a clone. */
export interface Original {
  readonly schemaId: number;
  /** Null when the schema has no layout. */
  readonly document: LayoutDocument | null;
  readonly zones: readonly ZoneRow[];
  /** Zone assignments: runs as in `ZoneChange`. */
  readonly assignments: Float64Array;
}

/** The same parts under new ids. */
export interface Copy extends Original {
  /** Ids for the copy. */
  readonly newIds: number;
}

/**
 * Copies a schema's layout and zones. The ids of the copies are in the order of the originals;
 * guids are new. Depends on nothing but its arguments. Cost: O(n log n) in the seats.
 */
export function copyOriginal(original: Original, { nextId, timeMs }: Next): Copy {
  const { schemaId, document, zones } = original;
  const objects = document === null ? [] : objectIds(document);
  const originals = [schemaId, ...zones.map(({ id }) => id), ...objects].sort((a, b) => a - b);
  const copies = new Map(originals.map((id, i) => [id, nextId + i]));
  assert(copies.size === originals.length, "no two rows or objects have the same id");
  const idOf = (id: number) => {
    const copy = copies.get(id);
    assert(copy !== undefined, "everything that a copy refers to is copied");
    return copy;
  };
  const id = idOf(schemaId);
  const assignments = new ZoneRuns();
  eachZone(original.assignments, (object, zoneId) => {
    assignments.add(idOf(object), idOf(zoneId));
  });
  const newGuidOf = (serial: number) => newGuid(timeMs, serial);
  const nextShape = nextId + originals.length;
  return {
    schemaId: id,
    document: document === null ? null : copyDocument(document, idOf, { newGuidOf, nextShape }),
    zones: zones.map((zone) => ({ ...zone, id: idOf(zone.id), schemaId: id })),
    assignments: assignments.runs,
    newIds: originals.length + (document?.shapes.length ?? 0),
  };
}

interface NewGuids {
  readonly newGuidOf: (serial: number) => string;
  /** The serial number of the first shape. */
  readonly nextShape: number;
}

function copyDocument(
  document: LayoutDocument,
  idOf: (id: number) => number,
  { newGuidOf, nextShape }: NewGuids,
): LayoutDocument {
  const { sectors, rows, seats, shapes } = document;
  const guids = new Map<string, string>();
  for (const objects of [sectors, rows, seats]) {
    for (const { guid, id } of objects) guids.set(guid, newGuidOf(idOf(id)));
  }
  for (const [i, { id }] of shapes.entries()) {
    if (id !== undefined) guids.set(id, newGuidOf(nextShape + i));
  }
  const copy = <T extends { readonly id: number }>(objects: readonly T[]): T[] =>
    objects.map((object) => ({ ...object, id: idOf(object.id) }));
  const copied: LayoutDocument = {
    ...document,
    sectors: copy(sectors),
    rows: copy(rows),
    seats: copy(seats),
  };
  return mapGuids(copied, (guid) => guids.get(guid) ?? guid);
}
