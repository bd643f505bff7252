/** Schemas: the seating plans of a venue. Their layouts have a command of their own. */
import { assert } from "../assert.ts";
import {
  type Caller,
  type CommandWith,
  LAYOUT,
  SCHEMA,
  type SchemaBody,
  VENUE,
  type VenueBody,
} from "../bodies.ts";
import type {
  CatalogPut,
  CloneRow,
  LayoutRow,
  MadeLayout,
  SchemaRow,
  VenueRow,
} from "../catalog.ts";
import { command, NOT_OWN } from "../command.ts";
import { INVENTORY_ERRORS_MAX, NAME_LENGTH_MAX, NONE, THUMBNAIL_BYTES_MAX } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import {
  checkDrawing,
  type Copy,
  copyOriginal,
  type GoneObjects,
  type Original,
  prepareLayout,
  type RelabelledSeats,
} from "../layout/change.ts";
import type { LayoutDocument } from "../layout/document.ts";
import { EMPTY_DOCUMENT, type Layout, seatIndexOf } from "../layout/layout.ts";
import { plainDocument } from "../layout/packed.ts";
import { runsOfZones, type ZoneChange } from "../layout/zones.ts";
import { normalName } from "../names.ts";
import { ownRow } from "../queries/access.ts";
import {
  type Decision,
  type FieldError,
  grant,
  isRefused,
  missing,
  notFound,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "../results.ts";
import type { SeatsInUse } from "../stored-replies.ts";
import {
  ANYTHING,
  BOOLEAN,
  integer,
  jsonBytes,
  list,
  LONG,
  optional,
  type Shape,
  UUID_KEY,
} from "../schema.ts";
import type { State } from "../state.ts";
import {
  grantChange,
  isAreaInUse,
  isHeldOrSold,
  isInUse,
  removesOfSchema,
  withoutZones,
  zonesOfSchema,
} from "./owned.ts";

const { ENTITY_IN_USE, INVENTORY_IN_USE, PRECONDITION_FAILED, VALIDATION_FAILED } = Result;

export const SCHEMA_COMMANDS = {
  createSchema: command({
    members: { body: SCHEMA },
    refusals: [VALIDATION_FAILED],
    decide(state, { caller, body }, timeMs) {
      const { schemas, nextId: id } = state.catalog;
      const { organizationId } = caller;
      const errors = checkBody(state, caller, body);
      if (errors.length > 0) return refuseInvalid(errors);
      assert(!schemas.has(id), "a new schema has a new id");
      const row = schemaRow({ id, organizationId }, body, timeMs);
      return grantChange(state, caller, { newIds: 1, puts: [{ table: "schemas", row }] }, row);
    },
  }),

  /** Missing members get their defaults. The layout and the events stay. */
  updateSchema: command({
    members: { body: SCHEMA },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, body }, timeMs) {
      if (body.id === null || body.id === undefined) return refuseInvalid([missing("id")]);
      const { schemas, venues } = state.catalog;
      const errors = checkBody(state, caller, body);
      if (errors.length > 0) return refuseInvalid(errors);
      const schema = ownRow(schemas.get(body.id), caller, "schema");
      if (isRefused(schema)) return schema;
      assert(venues.has(schema.venueId), "a schema has a venue");
      const row = schemaRow(schema, body, timeMs);
      return grantChange(state, caller, { puts: [{ table: "schemas", row }] }, row);
    },
  }),

  /**
   * Deletes a schema with its layout, zones and assignments. Its events stay, without a seat;
   * BLOCKED inventory in them is lost.
   *
   * @returns INVENTORY_IN_USE while something is LOCKED or SOLD in one of its events.
   * Cost: O(seats of the schema × its events).
   */
  deleteSchema: command({
    members: { schemaId: LONG },
    refusals: [...NOT_OWN, INVENTORY_IN_USE],
    decide(state, { caller, schemaId }) {
      const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      for (const event of state.catalog.events.values()) {
        if (event.schemaId !== schemaId || !isHeldOrSold(state, event)) continue;
        const detail = `Seats or places are held or sold, for example in event ${event.id}.`;
        return refuse(INVENTORY_IN_USE, detail);
      }
      const removes = removesOfSchema(state, schemaId);
      return grantChange(state, caller, { removes, zones: zonesOfSchema(state, schemaId) }, null);
    },
  }),
};

function checkBody({ catalog }: State, caller: Caller, body: SchemaBody): FieldError[] {
  const errors: FieldError[] = [];
  const { venueId, thumbnail } = body;
  if (catalog.venues.get(venueId)?.organizationId !== caller.organizationId) {
    errors.push(notFound("venueId", venueId, "venue"));
  }
  const bytes = jsonBytes(thumbnail ?? null);
  if (bytes > THUMBNAIL_BYTES_MAX) {
    const message = `takes at most ${THUMBNAIL_BYTES_MAX} bytes as JSON`;
    errors.push({ field: "thumbnail", code: "SIZE", message, rejectedValue: bytes });
  }
  return errors;
}

function schemaRow(
  { id, organizationId }: Pick<SchemaRow, "id" | "organizationId">,
  body: SchemaBody,
  updatedAtMs: number,
): SchemaRow {
  assert(id > 0, "a schema has an id of its own");
  return {
    id,
    organizationId,
    venueId: body.venueId,
    name: body.name,
    description: body.description ?? null,
    draft: body.draft ?? false,
    template: body.template ?? false,
    archived: body.archived ?? false,
    externalId: body.externalId ?? null,
    gaCapacity: body.gaCapacity ?? null,
    seatsCapacity: body.seatsCapacity ?? null,
    preview: body.preview ?? null,
    thumbnail: body.thumbnail ?? null,
    updatedAtMs,
  };
}

// Copies a schema with its layout, zones and their assignments, in one command: the clone operation
// is complete when it is answered, and its row always says so.

export const CLONE_COMMANDS = {
  /** Answers the operation, whose id is `cloneId`. Cost: O(n log n) in the seats. */
  cloneSchema: command({
    members: { schemaId: LONG, cloneId: UUID_KEY },
    refusals: NOT_OWN,
    decide(state, { caller, schemaId, cloneId }, timeMs) {
      const { schemas, nextId } = state.catalog;
      const schema = ownRow(schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      const original = originalOf(state, schemaId);
      const document = original.document === null ? null : plainDocument(original.document);
      const copy = copyOriginal({ ...original, document }, { nextId, timeMs });
      const { newIds } = copy;
      return grantClone(state, { caller, cloneId, timeMs }, schema, {
        copy,
        firstId: nextId,
        newIds,
      });
    },
  }),
};

/** The grant of a clone whose layout and zones were copied. */
function grantClone(
  state: State,
  { caller, cloneId, timeMs }: CommandWith<{ cloneId: string; timeMs: number }>,
  schema: SchemaRow,
  ready: Built<Omit<ReadyClone, "original">>,
): Decision<CloneRow> {
  const { copy, made, madeZones } = ready;
  const { schemaId: id, document } = copy;
  const clone: CloneRow = { id: cloneId, organizationId: schema.organizationId, schemaId: id };
  const puts: CatalogPut[] = [
    { table: "schemas", row: { ...schema, id, name: copyName(schema.name), updatedAtMs: timeMs } },
    { table: "clones", row: clone },
  ];
  if (document !== null) {
    const row = { id, document, version: 0 };
    puts.push({ table: "layouts", row, ...(made === undefined ? {} : { made }) });
  }
  for (const row of copy.zones) puts.push({ table: "zones", row });
  const change: ZoneChange = { schemaId: id, runs: copy.assignments };
  const zoned = madeZones === undefined ? change : { ...change, made: madeZones };
  const zones = copy.assignments.length === 0 ? [] : [zoned];
  return grantChange(state, caller, { newIds: newIdsOf(state, ready), puts, zones }, clone);
}

/** The parts of a schema to copy. Cost: O(objects of the layout). */
export function originalOf(state: State, schemaId: number): Original {
  const { layouts, zones, zoneAssignments } = state.catalog;
  return {
    schemaId,
    document: layouts.get(schemaId)?.document ?? null,
    zones: [...zones.values()].filter((zone) => zone.schemaId === schemaId),
    assignments: runsOfZones(zoneAssignments.of(schemaId)),
  };
}

/** Lengths of names are counted in code points. */
function copyName(name: string): string {
  return normalName(Array.from(`${name} (copy)`).slice(0, NAME_LENGTH_MAX).join(""));
}

// The layout of a schema: put atomically, and refused while inventory would be lost.

const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** The versions of the stored layout that a change is made for; null for any. */
const VERSIONS = optional(list(integer({ minimum: 0 })));

/** @param row - The stored layout; version 0 when there is none. */
export function refuseOtherVersion(
  versions: readonly number[] | null | undefined,
  row: LayoutRow | undefined,
): Refusal | null {
  const version = row?.version ?? 0;
  if (versions === null || versions === undefined || versions.includes(version)) return null;
  const detail =
    versions.length === 0
      ? "If-Match names no version of a layout: send the ETag that a GET of it gives, with its quotes."
      : `The layout was changed since you read it: it has version ${version} now. ` +
        "Read it again, and make your change in that.";
  return refuse(PRECONDITION_FAILED, detail);
}

export const LAYOUT_COMMANDS = {
  /**
   * Merges the sent layout into the stored one. Answers the whole document, and the number of seats
   * in use with another label. A layout without changes writes nothing.
   *
   * @returns PRECONDITION_FAILED when the stored layout has none of the `versions`, INVENTORY_IN_USE
   * when a removed seat or area is held, sold or blocked in an event and `forceDelete` is false.
   * Cost: O(seats of the layout + removed and relabelled seats × events of the schema).
   */
  putLayout: command({
    members: { schemaId: LONG, body: LAYOUT, forceDelete: BOOLEAN, versions: VERSIONS },
    refusals: [VALIDATION_FAILED, ...NOT_OWN, PRECONDITION_FAILED, INVENTORY_IN_USE],
    decide(state, { caller, schemaId, body, forceDelete, versions }, timeMs) {
      const { schemas, layouts, nextId } = state.catalog;
      const schema = ownRow(schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      const changed = refuseOtherVersion(versions, layouts.get(schemaId));
      if (changed !== null) return changed;
      const tooLong = checkDrawing(body);
      if (tooLong.length > 0) return refuseInvalid(tooLong);
      const stored = layouts.get(schemaId)?.document;
      const before = plainDocument(stored ?? EMPTY_DOCUMENT);
      const prepared = prepareLayout(before, body, { nextId, timeMs });
      const { errors, isChanged } = prepared;
      if (errors.length > 0) return refuseInvalid(errors);
      if (stored !== undefined && !isChanged) {
        return grant(null, { ...before, inUse: NONE_IN_USE });
      }
      const ready = { ...prepared, firstId: nextId };
      const inUse = relabelledInUse(state, schemaId, ready);
      const shown: StoredLayout = { ...prepared.document, inUse };
      return grantLayout(state, { caller, forceDelete, timeMs }, { schema, ready, shown });
    },
  }),
};

/** A layout after its change. */
export interface StoredLayout extends LayoutDocument {
  readonly inUse: SeatsInUse;
}

const NONE_IN_USE: SeatsInUse = { renamed: 0, moved: 0 };

/** Built in another thread, or not built yet. */
type Built<Ready extends { readonly made: MadeLayout }> = Omit<Ready, "made"> &
  Partial<Pick<Ready, "made">>;

interface Granted<Shown> {
  readonly schema: SchemaRow;
  readonly ready: Built<Omit<ReadyLayout, "base">>;
  /** The value of the command. */
  readonly shown: Shown;
}

/** The grant of a merged and checked layout, unless inventory would be lost. */
function grantLayout<Shown>(
  state: State,
  { caller, forceDelete, timeMs }: CommandWith<{ forceDelete: boolean; timeMs: number }>,
  { schema, ready, shown }: Granted<Shown>,
): Decision<Shown> {
  const { layouts, zoneAssignments } = state.catalog;
  const { document, made, goneIds } = ready;
  const errors = forceDelete ? [] : goneInUse(state, schema.id, ready);
  if (errors.length > 0) {
    return refuse(
      INVENTORY_IN_USE,
      "Seats that would go are held, sold or blocked: keep or free them, or send forceDelete=true.",
      errors,
    );
  }
  const version = (layouts.get(schema.id)?.version ?? 0) + 1;
  const row = { id: schema.id, document, version };
  const puts = [
    { table: "schemas", row: { ...schema, updatedAtMs: timeMs } },
    { table: "layouts", row, ...(made === undefined ? {} : { made }) },
  ] as const;
  const zoned = zoneAssignments.of(schema.id);
  const zones = withoutZones(
    schema.id,
    goneIds.filter((id) => zoned.has(id)),
  );
  return grantChange(state, caller, { newIds: newIdsOf(state, ready), puts, zones }, shown);
}

/** Seats in use with another label, once for each event. */
function relabelledInUse(
  state: State,
  schemaId: number,
  { movedIds, renamedIds }: RelabelledSeats,
): SeatsInUse {
  if (movedIds.length + renamedIds.length === 0) return NONE_IN_USE;
  let layout: Layout | null = null;
  let [moved, renamed] = [new Uint32Array(), new Uint32Array()];
  const counts = { renamed: 0, moved: 0 };
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId) continue;
    // Not migrated for this: earlier changes left the state of a seat that is still in the layout.
    const partition = state.partitions.peek(event.partition)!;
    if (partition.layout !== layout) {
      layout = partition.layout;
      [moved, renamed] = [seatsOf(layout, movedIds), seatsOf(layout, renamedIds)];
    }
    counts.renamed += countInUse(partition, renamed);
    counts.moved += countInUse(partition, moved);
  }
  return counts;
}

function countInUse({ state, seatsIn }: Partition, seats: Uint32Array): number {
  let count = 0;
  const inUse = seatsIn[LOCKED]! + seatsIn[SOLD]! + seatsIn[BLOCKED]!;
  if (inUse === 0) return count;
  for (const seat of seats) if (state[seat]! > ACTIVE) count++;
  return count;
}

/** Removed seats and areas in use in an event; the first thousand. */
function goneInUse(
  state: State,
  schemaId: number,
  { goneIds, goneAreaIds }: GoneObjects,
): FieldError[] {
  const errors: FieldError[] = [];
  if (goneIds.length + goneAreaIds.length === 0) return errors;
  let layout: Layout | null = null;
  let goneSeats: Uint32Array = new Uint32Array();
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId) continue;
    if (!isInUse(state, event)) continue;
    const partition = state.partitionOf(event);
    // They are searched for once: all events of a schema have its layout.
    if (layout !== partition.layout) goneSeats = seatsOf((layout = partition.layout), goneIds);
    for (const id of seatsInUse(partition, goneSeats)) errors.push(lost("seats", id, event.id));
    for (const id of areasInUse(partition, goneAreaIds)) errors.push(lost("sectors", id, event.id));
    if (errors.length >= INVENTORY_ERRORS_MAX) break;
  }
  return errors.slice(0, INVENTORY_ERRORS_MAX);
}

/** @returns Indexes of the seats among the ids. */
function seatsOf(layout: Layout, ids: readonly number[]): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(ids, (id) => seatIndexOf(layout, id)).filter((seat) => seat !== NONE);
}

/** @returns Ids. */
function seatsInUse({ layout, state }: Partition, seats: Uint32Array): readonly number[] {
  assert(state.length === layout.seatCount, "an event has a state for each seat of its layout");
  const ids: number[] = [];
  for (const seat of seats) if (state[seat]! > ACTIVE) ids.push(layout.seatIds[seat]!);
  return ids;
}

function areasInUse(partition: Partition, ids: readonly number[]): readonly number[] {
  return ids.filter((id) => isAreaInUse(partition, partition.layout.areaIndexes.get(id)!));
}

function lost(field: string, id: number, eventId: string): FieldError {
  const message = `is held, sold or blocked in event ${eventId}: keep it, or free it first`;
  return { field, code: "INVENTORY_IN_USE", message, rejectedValue: id };
}

// Installs a large layout, or the copy of a schema with one, prepared in another thread: in one
// short step, so the whole change is atomic. It must still be current: its base has not changed
// since, and its new ids have not been given out.

interface NewIds {
  /** The first id of its new objects; between it and the last id given out there may be a gap. */
  readonly firstId: number;
  readonly newIds: number;
}

export interface ReadyLayout extends GoneObjects, RelabelledSeats, NewIds {
  /** The stored row at the base; undefined for none. */
  readonly base: LayoutRow | undefined;
  readonly document: LayoutDocument;
  readonly made: MadeLayout;
}

export interface ReadyClone extends NewIds {
  readonly original: Original;
  readonly copy: Copy;
  readonly made: MadeLayout;
  /** The zones of the copy, as `ZoneChange.made`. */
  readonly madeZones?: Map<number, number>;
}

export function isCurrentLayout({ catalog }: State, schemaId: number, ready: ReadyLayout): boolean {
  return catalog.layouts.get(schemaId) === ready.base && catalog.nextId <= ready.firstId;
}

/** Cost: O(objects of the layout). */
export function isCurrentClone(state: State, { original, firstId }: ReadyClone): boolean {
  const now = originalOf(state, original.schemaId);
  return (
    state.catalog.nextId <= firstId &&
    now.document === original.document &&
    hasSameRows(now.zones, original.zones) &&
    hasSameNumbers(now.assignments, original.assignments)
  );
}

function hasSameNumbers(a: Float64Array, b: Float64Array): boolean {
  return a.length === b.length && a.every((number, i) => number === b[i]);
}

function hasSameRows(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((row, i) => row === b[i]);
}

export const INSTALL_COMMANDS = {
  /**
   * Otherwise like `putLayout`. Answers only the numbers of seats in use with another label. Cost:
   * O(removed and relabelled objects × events of the schema).
   */
  installLayout: command({
    isInternal: true,
    members: { schemaId: LONG, ready: ANYTHING as Shape<ReadyLayout>, forceDelete: BOOLEAN },
    refusals: [...NOT_OWN, INVENTORY_IN_USE],
    decide(state, { caller, schemaId, ready, forceDelete }, timeMs) {
      const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      assert(isCurrentLayout(state, schemaId, ready), "an installed layout is current");
      const shown = relabelledInUse(state, schemaId, ready);
      return grantLayout(state, { caller, forceDelete, timeMs }, { schema, ready, shown });
    },
  }),

  /** Otherwise like `cloneSchema`. Cost: O(objects of the layout). */
  installClone: command({
    isInternal: true,
    members: { schemaId: LONG, cloneId: UUID_KEY, ready: ANYTHING as Shape<ReadyClone> },
    refusals: NOT_OWN,
    decide(state, { caller, schemaId, cloneId, ready }, timeMs) {
      const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      assert(isCurrentClone(state, ready), "an installed clone is current");
      return grantClone(state, { caller, cloneId, timeMs }, schema, ready);
    },
  }),
};

/** The ids of the gap are never given out. */
function newIdsOf({ catalog }: State, { firstId, newIds }: NewIds): number {
  return firstId - catalog.nextId + newIds;
}

// Venues: the buildings behind schemas.

export const VENUE_COMMANDS = {
  createVenue: command({
    members: { body: VENUE },
    refusals: [],
    decide(state, { caller, body }) {
      const { venues, nextId: id } = state.catalog;
      assert(!venues.has(id), "a new venue has a new id");
      const row = venueRow(id, caller.organizationId, body);
      return grantChange(state, caller, { newIds: 1, puts: [{ table: "venues", row }] }, row);
    },
  }),

  /** Missing members get their defaults. */
  updateVenue: command({
    members: { body: VENUE },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, body }) {
      if (body.id === null || body.id === undefined) return refuseInvalid([missing("id")]);
      const venue = ownRow(state.catalog.venues.get(body.id), caller, "venue");
      if (isRefused(venue)) return venue;
      const row = venueRow(venue.id, venue.organizationId, body);
      return grantChange(state, caller, { puts: [{ table: "venues", row }] }, row);
    },
  }),

  deleteVenue: command({
    members: { venueId: LONG },
    refusals: [...NOT_OWN, ENTITY_IN_USE],
    decide(state, { caller, venueId }) {
      const venue = ownRow(state.catalog.venues.get(venueId), caller, "venue");
      if (isRefused(venue)) return venue;
      for (const schema of state.catalog.schemas.values()) {
        if (schema.venueId !== venueId) continue;
        return refuse(
          ENTITY_IN_USE,
          `The venue has schemas, for example ${schema.id}: delete them first.`,
        );
      }
      return grantChange(state, caller, { removes: [{ table: "venues", key: venueId }] }, null);
    },
  }),
};

function venueRow(id: number, organizationId: number, body: VenueBody): VenueRow {
  assert(id > 0, "a venue has an id of its own");
  return {
    id,
    organizationId,
    name: body.name,
    address: body.address ?? null,
    lat: body.lat ?? null,
    lng: body.lng ?? null,
    draft: body.draft ?? false,
  };
}
