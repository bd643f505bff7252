/**
 * Every invariant of the state, at a cost of O(everything): checked after recovery, after loading a
 * snapshot, before a repair is trusted, and by the tests after every step. Invariants of cost O(1)
 * are asserted at each change.
 */
import { assert } from "./assert.ts";
import { type EventRow, TABLES } from "./catalog.ts";
import { cellOf } from "./cells.ts";
import { CHANNELS_PER_EVENT_MAX, NETWORKS_PER_ACCOUNT_MAX, NONE } from "./constants.ts";
import { type Door, VisitorState } from "./inventory/door.ts";
import type { Partition } from "./inventory/partition.ts";
import { BOOKING_STATES, SeatState } from "./inventory/states.ts";
import { emailKey } from "./names.ts";
import type { State } from "./state.ts";

/** @throws Broken with the first violated invariant. */
export function checkState(state: State): void {
  const { catalog, partitions, layouts } = state;
  assert(partitions.size === catalog.events.size, "there is one partition per event");
  assert(layouts.size === catalog.layouts.size, "there is one seat index per stored layout");
  for (const event of catalog.events.values()) {
    const partition = state.partitionOf(event);
    const layout = state.layoutOf(event.schemaId);
    assert(partition.layout === layout, "a partition has its schema's layout");
    checkPartition(partition);
    checkChannels(event, partition);
    const door = state.doors.get(event.partition);
    assert(door?.id === event.door?.id, "an event has its door");
    if (door !== undefined) checkDoor(door, partition);
    const prices = catalog.pricesOf(event.id);
    for (const slots of [partition.price, partition.areas.price]) {
      for (const slot of slots) assert(slot === 0 || prices.has(slot), "an assigned price exists");
    }
  }
  checkCatalog(state);
}

/** @throws Broken with the first violated invariant. */
export function checkPartition(partition: Partition): void {
  const { holds, layout } = partition;
  const held = checkSeats(partition);
  checkAreas(partition, held);
  const fences = new Set<number>();
  const sessions = new Set<string>();
  for (const slot of holds.taken()) {
    assert(held.get(slot) === holds.size(slot), "a hold has as many places as its size");
    const { fence, session, seats, startedAtMs, expiresAtMs } = holds.get(slot);
    assert(!fences.has(fence), "two holds have different fences");
    assert(holds.slotOf(fence) === slot, "a hold is found by its number");
    fences.add(fence);
    sessions.add(session);
    assert(seats.length <= layout.seatCount, "a hold began with seats of the layout");
    assert(expiresAtMs === 0 || expiresAtMs > startedAtMs, "a hold ends after it began");
  }
  assert(held.size === holds.count, "only existing holds have seats or places");
  let found = 0;
  for (const session of sessions) {
    for (const slot of holds.slotsOf(session)) {
      assert(holds.get(slot).session === session, "a session has its own holds");
      found += 1;
    }
  }
  assert(found === holds.count, "a session's holds are found");
  const opened = holds.slots().map((slot) => holds.get(slot).fence);
  const areInOrder = opened.every((fence, i) => i === 0 || fence > opened[i - 1]!);
  assert(areInOrder && opened.length === holds.count, "every hold is in the order of its lock");
  checkChanges(partition);
  checkCounts(partition);
}

/** @throws Broken with the first violated invariant. */
function checkChannels({ channels = [] }: EventRow, partition: Partition): void {
  assert(channels.length <= CHANNELS_PER_EVENT_MAX, "the channels of an event are bounded");
  const keys = channels.map(({ key }) => key);
  const areInOrder = keys.every((key, i) => i === 0 || key > keys[i - 1]!);
  assert(areInOrder, "channels are in order of their keys, each once");
  const slots = new Set(channels.map(({ slot }) => slot));
  assert(slots.size === channels.length && !slots.has(0), "a channel has its own slot");
  if (partition.channels === null) return;
  const { seatCount } = partition.layout;
  assert(partition.channels.length === (seatCount + 1) >> 1, "every seat has four bits");
  let isUsed = false;
  // An odd number of seats leaves four bits, which stay zero.
  for (let seat = 0; seat < 2 * partition.channels.length; seat++) {
    const slot = partition.channelOf(seat);
    assert(slot === 0 || (slots.has(slot) && seat < seatCount), "a kept seat has its channel");
    isUsed ||= slot !== 0;
  }
  assert(isUsed, "without a seat in a channel there is no column of them");
}

/** Cost: O(visitors and waiting places). @throws Broken with the first violated invariant. */
export function checkDoor(door: Door, partition: Partition): void {
  const counts = door.visitorsIn.map(() => 0);
  for (let visitor = 0; visitor < door.count; visitor++) {
    const state = door.stateOf(visitor, -Infinity);
    counts[state]! += 1;
    assert(door.find(door.entryOf(visitor)) === visitor, "a visitor is found by the entry");
    const place = door.placeOf(visitor);
    assert(place <= door.placeCount, "a place was given");
    const isPlaced = door.isOpen || !door.row.draw;
    assert(isPlaced === place > 0, "everybody has a place once places are given");
    if (state === VisitorState.WAITING && place > 0) {
      assert(place > door.serving, "who was served does not wait");
      assert(door.visitorAt(place) === visitor, "a place leads to its visitor");
    }
    const isServed = state === VisitorState.INVITED || state === VisitorState.INSIDE;
    assert(!isServed || place <= door.serving, "who is let in was served");
  }
  const areRight = counts.every((count, state) => count === door.visitorsIn[state]);
  assert(areRight, "the visitors of each state are counted");
  assert(door.drawable <= door.count && door.drawn <= door.drawable, "visitors are drawn once");
  assert(door.serving <= door.placeCount, "only places are served");
  const { holds } = partition;
  for (const [fence, visitor] of door.heldBy(partition)) {
    assert(visitor < door.count, "a hold under a token is of a visitor");
    const session = holds.get(holds.slotOf(fence)).session;
    assert(door.sessionOf(visitor) === session, "a visitor keeps its session");
  }
}

/** @returns By hold slot: seats held. */
function checkSeats(partition: Partition): Map<number, number> {
  const { layout, state, price, holdOrFence } = partition;
  const held = new Map<number, number>();
  assert(state.length === layout.seatCount, "every seat has one state");
  for (let seat = 0; seat < layout.seatCount; seat++) {
    const current = state[seat]!;
    assert(current <= SeatState.BLOCKED, "a state is one of the six");
    const slot = partition.holdOf(seat);
    assert(current !== SeatState.LOCKED || slot !== NONE, "LOCKED means held");
    const isFree = current < SeatState.LOCKED;
    assert(!isFree || holdOrFence[seat] === NONE, "a free seat is in no hold, sale or block");
    assert(current !== SeatState.ACTIVE || price[seat] !== 0, "an ACTIVE seat has a price");
    assert(current >= SeatState.ACTIVE || price[seat] === 0, "a seat off sale has no price");
    if (slot !== NONE) held.set(slot, (held.get(slot) ?? 0) + 1);
  }
  return held;
}

/** @param held - By hold slot; the held places are added to it. */
function checkAreas({ areas, holds }: Partition, held: Map<number, number>): void {
  for (let area = 0; area < areas.count; area++) {
    let locked = 0;
    for (const [slot, places] of areas.holdsIn(area)) {
      assert(places > 0, "a hold has places where it is listed");
      assert(holds.get(slot).fence < holds.fenceBound, "fences stay below their bound");
      held.set(slot, (held.get(slot) ?? 0) + places);
      locked += places;
    }
    assert(locked === areas.places(area, SeatState.LOCKED), "LOCKED places are held");
    const active = areas.places(area, SeatState.ACTIVE);
    assert(active === 0 || areas.price[area] !== 0, "an area on sale has a price");
  }
}

function checkChanges({ changes, changedAtMs, layout }: Partition): void {
  let count = 0;
  let nextMs = Infinity;
  for (let seat = changes.newest; seat !== NONE; seat = changes.earlierThan(seat)) {
    assert(changedAtMs[seat]! <= nextMs, "the change list is in order of time");
    assert(count < layout.seatCount, "the change list has a seat once");
    nextMs = changedAtMs[seat]!;
    count++;
  }
  assert(count === layout.seatCount, "the change list has every seat");
}

function checkCounts({ state, seatsIn }: Partition): void {
  const counts = seatsIn.map(() => 0);
  for (const current of state) counts[current]! += 1;
  const areRight = seatsIn.every((count, each) => count === counts[each]);
  assert(areRight, "the seats of each state are counted");
}

// The invariants of the catalog: objects named by a row exist and have the same owner.

/** Cost: O(rows). @throws Broken with the first violated invariant. */
export function checkCatalog(state: State): void {
  checkOwners(state);
  checkLogins(state);
  checkPrices(state);
  checkZones(state);
  checkIds(state);
}

function checkOwners({ catalog }: State): void {
  const { organizations, schemas, venues, series } = catalog;
  for (const { tenantId } of organizations.values()) {
    assert(catalog.tenants.has(tenantId), "an organization belongs to a tenant");
  }
  for (const table of [venues, schemas, series, catalog.events, catalog.webhooks]) {
    for (const { organizationId } of table.values()) {
      assert(organizations.has(organizationId), "an owner exists");
    }
  }
  for (const { venueId, organizationId } of schemas.values()) {
    const owner = venues.get(venueId)?.organizationId;
    assert(owner === organizationId, "a schema has a venue of its owner");
  }
  for (const { seriesId, organizationId } of catalog.events.values()) {
    const owner = seriesId === null ? organizationId : series.get(seriesId)?.organizationId;
    assert(owner === organizationId, "an event is in a series of its owner");
  }
}

function checkLogins({ catalog }: State): void {
  const { accounts, organizations, logins } = catalog;
  for (const account of accounts.values()) {
    const { email, organizationIds, networks = [] } = account;
    const doExist = organizationIds.every((id) => organizations.has(id));
    assert(doExist, "an account belongs to organizations that exist");
    const isFound = catalog.accountsOf(emailKey(email)).includes(account);
    assert(isFound, "an account is found by its email");
    assert(networks.length <= NETWORKS_PER_ACCOUNT_MAX, "the networks of an account are bounded");
  }
  for (const { accountId } of logins.values()) {
    assert(accounts.has(accountId), "a login belongs to an account");
  }
}

function checkPrices({ catalog }: State): void {
  for (const price of catalog.prices.values()) {
    assert(catalog.events.has(price.eventId), "a price belongs to an event");
    assert(catalog.pricesOf(price.eventId).get(price.slot) === price, "a price has its own slot");
  }
}

function checkZones(state: State): void {
  const { layouts, schemas, zones, zoneAssignments, clones } = state.catalog;
  for (const layout of layouts.values()) {
    assert(schemas.has(layout.id), "a layout belongs to a schema");
  }
  for (const zone of zones.values()) {
    assert(schemas.has(zone.schemaId), "a pricing zone belongs to a schema");
  }
  for (const { id, schemaId, zoneId } of zoneAssignments.values()) {
    assert(zones.get(zoneId)?.schemaId === schemaId, "an assigned zone is one of the schema");
    const { groups, seatIndexes } = state.layoutOf(schemaId);
    assert(groups.has(id) || seatIndexes.has(id), "an object with a zone is in the layout");
  }
  for (const { schemaId, organizationId } of clones.values()) {
    const owner = schemas.get(schemaId)?.organizationId;
    assert(owner === organizationId, "a clone operation names the schema that it created");
  }
}

function checkIds({ catalog }: State): void {
  const cell = cellOf(catalog.nextId);
  for (const name of TABLES) {
    const table: ReadonlyMap<unknown, { readonly id: number | string }> = catalog[name];
    for (const [key, { id }] of table) {
      assert(key === id, "the key of a row is its id");
      const isGivenOut = typeof id === "string" || id < catalog.nextId || cellOf(id) !== cell;
      assert(isGivenOut, "an id was given out");
    }
  }
}

// A hash of the meaning of the state, not of its form in memory: two engines with the same applied
// log have the same digest. It consists of two 32-bit lanes. It detects differences, not forgery.

class Hash {
  #a = 0x811c9dc5 | 0;
  #b = 0x9e3779b9 | 0;

  number(value: number): void {
    assert(Number.isSafeInteger(value), "the state consists of whole numbers");
    this.#mix(value | 0);
    this.#mix(Math.floor(value / 0x1_0000_0000) | 0);
  }

  text(value: string): void {
    this.number(value.length);
    for (let i = 0; i < value.length; i++) this.#mix(value.charCodeAt(i));
  }

  #mix(value: number): void {
    this.#a = Math.imul(this.#a ^ value, 0x01000193);
    this.#a ^= this.#a >>> 15;
    this.#b = Math.imul(this.#b ^ value, 0x85ebca6b) ^ Math.imul(this.#a, 0xc2b2ae35);
    this.#b ^= this.#b >>> 13;
  }

  /** @returns Sixteen hexadecimal digits. */
  end(): string {
    const hex = (lane: number) => (lane >>> 0).toString(16).padStart(8, "0");
    return hex(this.#a) + hex(this.#b);
  }
}

/** Cost: O(everything): for tests and for `frontrow verify`. */
export function digest(state: State): string {
  const hash = new Hash();
  hash.number(state.catalog.nextId);
  for (const name of TABLES) {
    const table: ReadonlyMap<number | string, unknown> = state.catalog[name];
    hash.number(table.size);
    const rows = [...table.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, row] of rows) hash.text(canonical(row));
  }
  for (const number of [...state.partitions.keys()].sort((a, b) => a - b)) {
    hash.number(number);
    hash.text(digestPartition(state.partitions.get(number)!));
    const door = state.doors.get(number);
    if (door !== undefined) digestDoor(hash, door, state.partitions.get(number)!);
  }
  return hash.end();
}

/** Cost: O(seats). */
export function digestPartition(partition: Partition): string {
  const hash = new Hash();
  const { layout, state, price, changedAtMs, areas } = partition;
  for (let seat = 0; seat < layout.seatCount; seat++) {
    hash.number(layout.seatIds[seat]!);
    hash.number(state[seat]! * 0x1_0000 + price[seat]!);
    hash.number(changedAtMs[seat]!);
    if (partition.channels !== null) hash.number(partition.channelOf(seat));
    const slot = partition.holdOf(seat);
    if (slot !== NONE) digestHold(hash, partition, slot);
    // A seat without a fence counts as before there were any.
    else if (partition.fenceOf(seat) > 0) hash.number(partition.fenceOf(seat));
  }
  for (let area = 0; area < areas.count; area++) {
    hash.number(layout.areas[area]!.id);
    hash.number(areas.price[area]!);
    hash.number(areas.changedAtMs[area]!);
    for (const counted of BOOKING_STATES) hash.number(areas.places(area, counted));
    for (const [slot, places] of areas.holdsIn(area)) {
      hash.number(places);
      digestHold(hash, partition, slot);
    }
  }
  return hash.end();
}

function digestDoor(hash: Hash, door: Door, partition: Partition): void {
  const { openedAtMs, drawable, drawn, placeCount, serving, rateStartMs, rateSecond } = door;
  const { id, invitedTotal, noShows } = door;
  const numbers = [id, openedAtMs, drawable, drawn, placeCount, serving, rateStartMs, rateSecond];
  for (const number of [...numbers, invitedTotal, noShows, ...door.seed]) hash.number(number);
  for (let visitor = 0; visitor < door.count; visitor++) {
    for (const byte of door.entryOf(visitor)) hash.number(byte);
    hash.number(door.stateOf(visitor, -Infinity));
    hash.number(door.placeOf(visitor));
    hash.number(door.untilOf(visitor));
    hash.number(door.secondsOf(visitor));
    hash.number(door.soldTo(visitor));
    hash.text(door.sessionOf(visitor) ?? "");
  }
  for (let place = serving + 1; place <= placeCount; place++) hash.number(door.visitorAt(place));
  for (const numbersOfHold of door.heldBy(partition)) {
    for (const number of numbersOfHold) hash.number(number);
  }
}

function digestHold(hash: Hash, partition: Partition, slot: number): void {
  const { fence, session, holdType, startedAtMs, expiresAtMs } = partition.holds.get(slot);
  hash.number(fence);
  hash.text(session);
  hash.text(holdType);
  hash.number(startedAtMs);
  hash.number(expiresAtMs);
}

/** JSON with the members of every object in order of their names. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (member === null || typeof member !== "object" || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
