/**
 * The only code to change the state. It cannot refuse: a record states a fact. Live commands and
 * replay share it.
 */
import { assert, unreachable } from "./assert.ts";
import type { CatalogPut, EventRow, OrganizationRow } from "./catalog.ts";
import { Door } from "./inventory/door.ts";
import { Partition } from "./inventory/partition.ts";
import { LayoutChange } from "./inventory/partitions.ts";
import { NONE } from "./constants.ts";
import { buildLayout } from "./layout/layout.ts";
import { plainDocument } from "./layout/packed.ts";
import { MOVES, SeatState } from "./inventory/states.ts";
import {
  type CartPart,
  type CartRecord,
  type CatalogRecord,
  DoorAct,
  type DoorRecord,
  type LogRecord,
  type MoveRecord,
  partitionsOf,
  partsOn,
  RecordType,
} from "./records.ts";
import type { State } from "./state.ts";

/**
 * @param timeMs - Milliseconds since 1970: the time of the record.
 * @param sequence - Its number in the log.
 */
export function apply(state: State, record: LogRecord, timeMs: number, sequence: number): void {
  switch (record.type) {
    case RecordType.MOVE:
      return applyMove(state, record, timeMs, sequence);
    case RecordType.PRICE:
      return state.partitionAt(record.partition).assignPrices(record, timeMs);
    case RecordType.EXTENSION:
      return state.partitionAt(record.partition).extend(record, timeMs);
    case RecordType.ARRIVAL:
      return state.partitionAt(record.partition).arrive(record, timeMs);
    case RecordType.CART:
      return applyCart(state, record, { timeMs, sequence });
    case RecordType.CATALOG:
      return applyCatalog(state, record, timeMs);
    case RecordType.DOOR:
      return applyDoor(state, record, timeMs);
    default:
      return unreachable(record);
  }
}

/** @param onPart - Called before each part is applied. */
export function applyCart(
  state: State,
  record: CartRecord,
  { timeMs, sequence }: { readonly timeMs: number; readonly sequence: number },
  onPart?: (part: CartPart, fence: number) => void,
): void {
  for (const number of partitionsOf(record)) {
    // Its sales and blocks have the number of its locks, so it does not rise from part to part.
    const partition = state.partitionAt(number);
    const fence = partition.holds.nextFence(sequence);
    for (const part of partsOn(record, number)) {
      onPart?.(part, fence);
      if (part.type === RecordType.EXTENSION) {
        partition.extend(part, timeMs);
        continue;
      }
      const door = doorAt(state, number);
      if (door !== undefined) sell(door, partition, part);
      partition.moveAs(part, timeMs, fence);
      if (part.visitor !== undefined) bind(door, partition, part);
    }
  }
}

function doorAt({ doors }: State, number: number): Door | undefined {
  return doors.size === 0 ? undefined : doors.get(number);
}

function applyMove(state: State, record: MoveRecord, timeMs: number, sequence: number): void {
  const partition = state.partitionAt(record.partition);
  const door = doorAt(state, record.partition);
  if (door !== undefined) sell(door, partition, record);
  partition.move(record, timeMs, sequence);
  if (record.visitor !== undefined) bind(door, partition, record);
}

/** A lock under the token of a visitor. */
function bind(door: Door | undefined, partition: Partition, record: MoveRecord): void {
  assert(door !== undefined, "a visitor has a door");
  const { fence } = partition.holds.get(record.hold);
  door.lock(record.visitor!, fence, record.session, partition);
}

/** Seats and places sold out of holds count for their visitors, for good. */
export function sell(
  door: Pick<Door, "sell">,
  partition: Partition,
  { move, seats, areas }: MoveRecord,
): void {
  if (MOVES[move].to !== SeatState.SOLD) return;
  for (const seat of seats) {
    const slot = partition.holdOf(seat);
    if (slot !== NONE) door.sell(partition.holds.get(slot).fence, 1);
  }
  for (let i = 0; i < areas.length; i += 3) {
    const slot = areas[i + 1]!;
    if (slot !== NONE) door.sell(partition.holds.get(slot).fence, areas[i + 2]!);
  }
}

function applyDoor(state: State, { partition, step }: DoorRecord, timeMs: number): void {
  const door = state.doors.get(partition);
  assert(door !== undefined, "a step is of a door");
  switch (step.act) {
    case DoorAct.JOIN:
      if (step.visitor === door.count) state.doors.visitorCount += 1;
      return door.join(step.visitor, step.entry, timeMs);
    case DoorAct.OPEN:
      return door.open(step.seed, step.order, timeMs);
    case DoorAct.INVITE:
      return door.invite(step.through, step.untilMs, timeMs);
    case DoorAct.ENTER:
      return door.enter(step.visitor, step.untilMs, step.seconds);
    case DoorAct.END:
      return door.end(step.visitors, timeMs);
    default:
      return unreachable(step);
  }
}

function applyCatalog(state: State, record: CatalogRecord, timeMs: number): void {
  const { catalog, partitions, layouts } = state;
  assert(record.nextId >= catalog.nextId, "ids are never reused");
  catalog.nextId = record.nextId;
  for (const { table, key } of record.removes) {
    if (table === "events") removePartition(state, String(key));
    if (table === "layouts") removeLayout(state, Number(key), timeMs);
    if (table === "prices") removePrice(state, Number(key), timeMs);
    catalog.remove({ table, key });
  }
  for (const change of record.zones ?? []) catalog.changeZones(change);
  for (const put of record.puts) applyPut(state, put, timeMs);
  assert(partitions.size === catalog.events.size, "every event has one partition");
  assert(layouts.size === catalog.layouts.size, "every stored layout has one seat index");
}

function applyPut(state: State, put: CatalogPut, timeMs: number): void {
  if (put.table === "events") putPartition(state, put.row, timeMs);
  if (put.table === "events" && put.channel !== undefined) {
    state.partitionOf(put.row).allot(put.channel, timeMs);
  }
  if (put.table === "events") putDoor(state, put.row, timeMs);
  if (put.table === "organizations") restartDoors(state, put.row, timeMs);
  state.catalog.put(put);
  if (put.table !== "layouts") return;
  const { id, document } = put.row;
  state.layouts.set(id, put.made?.layout ?? buildLayout(plainDocument(document)));
  migrateEvents(state, id, timeMs);
}

/** The events of the schema remain, but have no seats. */
function removeLayout(state: State, schemaId: number, timeMs: number): void {
  state.layouts.delete(schemaId);
  migrateEvents(state, schemaId, timeMs);
}

/** Migrates every event of the schema to the schema's present layout. */
function migrateEvents(state: State, schemaId: number, timeMs: number): void {
  const layout = state.layoutOf(schemaId);
  const change = new LayoutChange(layout, timeMs);
  for (const { partition: number, schemaId: of } of state.catalog.events.values()) {
    if (of !== schemaId || state.partitions.layoutOf(number) === layout) continue;
    state.partitions.migrate(number, change);
  }
}

/** Creates the event's partition, or migrates it when its layout is not the present one. */
function putPartition(state: State, event: EventRow, timeMs: number): void {
  const { catalog, partitions } = state;
  const { partition: number, schemaId } = event;
  const layout = state.layoutOf(schemaId);
  const stored = catalog.events.get(event.id);
  const isNew = !partitions.has(number);
  assert((stored === undefined) === isNew, "an event brings its partition");
  assert(stored === undefined || stored.partition === number, "an event keeps its partition");
  if (isNew) partitions.set(number, new Partition(layout, timeMs));
  else if (partitions.layoutOf(number) !== layout) {
    partitions.migrate(number, new LayoutChange(layout, timeMs));
  }
}

/** Creates, changes or ends the door of the event, before its row is stored. */
function putDoor({ catalog, doors }: State, event: EventRow, timeMs: number): void {
  const { door: row, partition } = event;
  const door = doors.get(partition);
  if (row === undefined) {
    doors.delete(partition);
  } else if (door?.id !== row.id) {
    doors.set(partition, new Door(row));
  } else {
    door.configure(row, timeMs);
    const isPublished = event.status === "PUBLISHED";
    if (isPublished && catalog.events.get(event.id)?.status !== "PUBLISHED") door.restart(timeMs);
  }
}

/** A door that is disabled for booking is paused. To be called before the row is stored. */
function restartDoors({ catalog, doors }: State, after: OrganizationRow, timeMs: number): void {
  if (doors.size === 0 || !after.bookingEnabled) return;
  if (!isSwitched(catalog.organizations.get(after.id), after)) return;
  for (const [partition, door] of doors) {
    if (catalog.eventOf(partition)?.organizationId === after.id) door.restart(timeMs);
  }
}

function removePartition({ catalog, partitions, doors }: State, eventId: string): void {
  const event = catalog.events.get(eventId);
  assert(event !== undefined, "only an existing event is removed");
  doors.delete(event.partition);
  const isRemoved = partitions.delete(event.partition);
  assert(isRemoved, "a removed event has a partition");
}

/** Nothing remains assigned to a removed price. Its event may have been removed just before. */
function removePrice(state: State, priceId: number, timeMs: number): void {
  const price = state.catalog.prices.get(priceId);
  assert(price !== undefined, "only an existing price is removed");
  const event = state.catalog.events.get(price.eventId);
  if (event !== undefined) state.partitionOf(event).removePrice(price.slot, timeMs);
}

// The events and partitions of a record, to be asked for before the record is applied.

/** The change of an event by a catalog record, as it is shown. */
export type CatalogCall =
  | "prices"
  | "deleteprice"
  | "channels"
  | "layout"
  | "event"
  | "deleteevent";

/** `switch` is of `bookingEnabled`; a `door` is not shown with the event. */
type Effect = CatalogCall | "switch" | "door";

/** Each event changed by a row, in the order of the rows; an event may come again. */
function* effectsOf(
  { catalog }: State,
  { puts, removes }: CatalogRecord,
): Generator<readonly [EventRow, Effect], void> {
  const { events, organizations, prices } = catalog;
  const ofSchema = (id: number) => [...events.values()].filter(({ schemaId }) => schemaId === id);
  for (const { table, key } of removes) {
    if (table === "layouts") for (const event of ofSchema(Number(key))) yield [event, "layout"];
    if (table !== "events" && table !== "prices") continue;
    const eventId = table === "events" ? String(key) : prices.get(Number(key))?.eventId;
    const event = events.get(eventId ?? "");
    if (event !== undefined) yield [event, table === "events" ? "deleteevent" : "deleteprice"];
  }
  for (const { table, row, isUnshown, channel } of puts) {
    if (table === "events" && isUnshown !== true) {
      yield [row, channel === undefined ? "event" : "channels"];
    }
    if (table === "events" && isUnshown === true) yield [row, "door"];
    if (table === "layouts") for (const event of ofSchema(row.id)) yield [event, "layout"];
    const event = table === "prices" && events.get(row.eventId);
    if (event) yield [event, "prices"];
    if (table !== "organizations" || !isSwitched(organizations.get(row.id), row)) continue;
    for (const own of events.values()) if (own.organizationId === row.id) yield [own, "switch"];
  }
}

function isSwitched(before: OrganizationRow | undefined, after: OrganizationRow): boolean {
  return before !== undefined && before.bookingEnabled !== after.bookingEnabled;
}

/** Effects on the inventory of an event. */
const ON_INVENTORY: ReadonlySet<Effect> = new Set([
  "deleteevent",
  "layout",
  "deleteprice",
  "channels",
  "event",
  "door",
]);

/**
 * A snapshot copies a partition again only after a record has affected it.
 *
 * @returns Partition numbers; one may occur twice, or belong to a partition yet to be created.
 * Cost: constant for bookings and prices, O(parts) for a cart; O(rows of the record + events) for a
 * change of a layout.
 */
export function affectedPartitions(state: State, record: LogRecord): readonly number[] {
  if (record.type !== RecordType.CATALOG) return partitionsOf(record);
  const affected: number[] = [];
  for (const [{ partition }, effect] of effectsOf(state, record)) {
    const isPaused = effect === "switch" && state.doors.has(partition);
    if (ON_INVENTORY.has(effect) || isPaused) affected.push(partition);
  }
  return affected;
}

/**
 * @returns Partitions removed by the record, or replaced because of a new layout, without a change
 * before: their contents stay as they are. Cost: O(rows of the record + events).
 */
export function replacedPartitions(state: State, record: CatalogRecord): readonly number[] {
  const firstOf = new Map<number, Effect>();
  for (const [{ partition }, effect] of effectsOf(state, record)) {
    if (ON_INVENTORY.has(effect) && !firstOf.has(partition)) firstOf.set(partition, effect);
  }
  // A door stays when the layout changes, and goes on.
  const isReplaced = ([partition, effect]: readonly [number, Effect]) =>
    effect === "deleteevent" || (effect === "layout" && !state.doors.has(partition));
  return [...firstOf].flatMap((one) => (isReplaced(one) ? [one[0]] : []));
}

/**
 * @returns By partition number: events whose shown form changes, even if no seat does.
 * Cost: O(rows of the record); O(events) for a change of a layout, or of `bookingEnabled`.
 */
export function changedEvents(
  state: State,
  record: CatalogRecord,
): ReadonlyMap<number, CatalogCall> {
  const changed = new Map<number, CatalogCall>();
  for (const [{ partition }, effect] of effectsOf(state, record)) {
    if (changed.get(partition) === "deleteevent" || effect === "door") continue;
    changed.set(partition, effect === "switch" ? "event" : effect);
  }
  return changed;
}

/** Notes the record as the last one of its changed events. Cost: as `changedEvents`. */
export function noteSequence(state: State, sequence: number, record: LogRecord): void {
  const { sequences } = state;
  if (record.type === RecordType.DOOR) return;
  if (record.type !== RecordType.CATALOG) {
    for (const number of partitionsOf(record)) sequences.set(number, sequence);
    return;
  }
  for (const [number, call] of changedEvents(state, record)) {
    if (call === "deleteevent") sequences.delete(number);
    else sequences.set(number, sequence);
  }
}
