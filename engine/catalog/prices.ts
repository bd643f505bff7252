/** Prices of one event: creation, and assignment to seats, rows, sections, tables and areas. */
import { assert } from "../assert.ts";
import {
  type AssignmentItem,
  type AssignmentSelection,
  ASSIGNMENTS,
  PRICE_ASSIGNMENTS,
  type Caller,
  OBJECTS,
  PRICE,
  PRICE_CHANGE,
  type PriceBody,
  ZONE,
  ZONE_CHANGE,
} from "../bodies.ts";
import type { EventRow, PriceRow, ZoneRow } from "../catalog.ts";
import { command, NOT_OWN } from "../command.ts";
import { AREA_CAPACITY_MAX, PRICES_PER_EVENT_MAX } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import { collectSeats, GroupType, lastOfGroup, type Layout } from "../layout/layout.ts";
import { type ZoneChange, ZoneRuns } from "../layout/zones.ts";
import {
  findPrice,
  findZone,
  misplaced,
  ownEvent,
  ownRow,
  refuseEvent,
  zonedSchema,
} from "../queries/access.ts";
import { remainingPlaces } from "../queries/summary.ts";
import { type PriceRecord, RecordType } from "../records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  isRefused,
  mismatch,
  missing,
  notFound,
  refuse,
  refuseInvalid,
  repeatedIds,
  Result,
} from "../results.ts";
import { list, LONG, UUID_KEY } from "../schema.ts";
import type { State } from "../state.ts";
import { grantChange, isAreaInUse, usesOfPrice, withoutZones } from "./owned.ts";

const {
  ACCESS_DENIED,
  ENTITY_NOT_FOUND,
  EVENT_ACCESS_DENIED,
  INVENTORY_IN_USE,
  VALIDATION_FAILED,
} = Result;

export const PRICE_COMMANDS = {
  createPrices: command({
    members: { eventId: UUID_KEY, body: list(PRICE) },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED],
    decide(state, { caller, eventId, body }) {
      const errors = [...mismatches(body, "eventId", eventId), ...halvesOfMoney(body)];
      if (errors.length > 0) return refuseInvalid(errors);
      const event = ownEvent(state, caller, eventId);
      if (event === null) return refuseEvent();
      const existing = state.catalog.pricesOf(event.id);
      if (existing.size + body.length > PRICES_PER_EVENT_MAX) {
        const message = `an event has at most ${PRICES_PER_EVENT_MAX} prices`;
        const rejectedValue = body.length;
        return refuseInvalid([{ field: "", code: "SIZE", message, rejectedValue }]);
      }

      const { nextId } = state.catalog;
      const slots = freeSlots(existing, body.length);
      const rows = body.map((price, i): PriceRow => ({
        id: nextId + i,
        eventId: event.id,
        slot: slots[i]!,
        name: price.name,
        renamedAtMs: 0,
        externalId: price.externalId ?? null,
        ...moneyOf(price),
      }));
      const puts = rows.map((row) => ({ table: "prices", row }) as const);
      return grantChange(state, caller, { newIds: rows.length, puts }, rows);
    },
  }),

  /**
   * Groups are priced first, then seats, so a seat's own price wins over its section's. Seats and
   * areas already priced as requested do not change.
   *
   * @returns INVENTORY_IN_USE for an area with fewer places than are held, sold and blocked.
   * Cost: O(seats of the event).
   */
  assignPrices: command({
    members: { eventId: UUID_KEY, body: PRICE_ASSIGNMENTS },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED, INVENTORY_IN_USE],
    decide(state, { caller, eventId, body }) {
      const [groupItems, seatItems] = [body.groupOfSeats ?? [], body.seats ?? []];
      const incomplete = missingMembers(body);
      if (incomplete.length > 0) return refuseInvalid(incomplete);
      const event = ownEvent(state, caller, eventId);
      if (event === null) return refuseEvent();
      const partition = state.partitionOf(event);
      const errors: FieldError[] = [];
      const priceOf = (id: number) => {
        const price = state.catalog.prices.get(id);
        return price?.eventId === event.id ? price : undefined;
      };
      const groups = findAssignments(priceOf, groupItems, "groupOfSeats", errors);
      const singles = findAssignments(priceOf, seatItems, "seats", errors);
      const slotOfSeat = new Uint16Array(partition.layout.seatCount);
      const isChanged = ({ area }: AreaAssignment) =>
        body.onlyActive !== true || !isAreaInUse(partition, area);
      const named = spreadGroups(partition.layout, groups, slotOfSeat, errors);
      const areas = named.filter(isChanged);
      for (const { id, slot, field } of singles) {
        const seat = partition.layout.seatIndexes.get(id);
        if (seat === undefined)
          errors.push(misplaced(partition.layout, id, `${field}.objectId`, true));
        else slotOfSeat[seat] = slot;
      }
      const total = state.catalog.schemas.get(event.schemaId)?.gaCapacity ?? null;
      const left = remainingPlaces(partition.layout, total);
      const triples = areas.map((area) => areaTriple(partition, area, left, errors));
      if (errors.length > 0) return refuseInvalid(errors);

      const taken = areas.filter(({ area }, i) => triples[i]![2] < takenPlaces(partition, area));
      if (taken.length > 0) return refuseTaken(taken);
      if (body.onlyActive === true) keepTakenSeats(partition, slotOfSeat);
      const runs = runsOf(slotOfSeat, partition.price);
      const changed = changedAreas(partition, triples);
      if (runs.length === 0 && changed.length === 0) return grant(null, true);
      return grant(
        {
          type: RecordType.PRICE,
          actor: caller.actor,
          partition: event.partition,
          runs: Uint32Array.from(runs),
          areas: Uint32Array.from(changed.flat()),
        },
        true,
      );
    },
  }),

  /** All or nothing. A missing external id or amount is removed. Answers the changed prices. */
  updatePrices: command({
    members: { eventId: UUID_KEY, body: list(PRICE_CHANGE) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, eventId, body }, timeMs) {
      const errors = [
        ...mismatches(body, "eventId", eventId),
        ...repeatedIds(body),
        ...halvesOfMoney(body),
      ];
      if (errors.length > 0) return refuseInvalid(errors);
      const { events, prices } = state.catalog;
      const event = ownRow(events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      const unknown = body.flatMap(({ id }, i) =>
        prices.get(id)?.eventId === eventId
          ? []
          : [notFound(`[${i}].id`, id, "price on the event")],
      );
      if (unknown.length > 0) {
        return refuse(ENTITY_NOT_FOUND, "There is no such price on the event.", unknown);
      }
      const rows = body.map(({ id, name, externalId, ...money }): PriceRow => {
        const price = prices.get(id);
        assert(price !== undefined, "every price of the request was found");
        const renamedAtMs = name === price.name ? price.renamedAtMs : timeMs;
        const { amount: _amount, currency: _currency, ...kept } = price;
        return { ...kept, name, renamedAtMs, externalId: externalId ?? null, ...moneyOf(money) };
      });
      const puts = rows.map((row) => ({ table: "prices", row }) as const);
      return grantChange(state, caller, { puts }, rows);
    },
  }),

  /**
   * Removes the price from its seats and areas, and deletes it.
   *
   * @returns INVENTORY_IN_USE while one of its seats or areas has LOCKED, SOLD or BLOCKED
   * inventory.
   * Cost: O(seats of the event).
   */
  deletePrice: command({
    members: { eventId: UUID_KEY, priceId: LONG },
    refusals: [...NOT_OWN, INVENTORY_IN_USE],
    decide(state, given) {
      const price = findPrice(state, given);
      if (isRefused(price)) return price;
      const { events } = state.catalog;
      const event = events.get(price.eventId);
      assert(event !== undefined, "a price belongs to an event");
      const { seats, areas } = usesOfPrice(state.partitionOf(event), price.slot);
      if (seats + areas > 0) {
        const inUse = [counted(seats, "seat"), counted(areas, "area")].join(" and ");
        const detail = `Held, sold or blocked inventory at this price: ${inUse}.`;
        return refuse(INVENTORY_IN_USE, detail);
      }
      const removes = [{ table: "prices", key: price.id }] as const;
      return grantChange(state, given.caller, { removes }, null);
    },
  }),

  /**
   * Removes all prices but those of SOLD seats and of areas with SOLD places. Of everything else
   * the holds end, and BLOCKED inventory is no longer BLOCKED.
   * Cost: O(seats of the event).
   */
  clearPrices: command({
    members: { eventId: UUID_KEY },
    refusals: [EVENT_ACCESS_DENIED],
    decide(state, { caller, eventId }) {
      const event = ownEvent(state, caller, eventId);
      if (event === null) return refuseEvent();
      const { state: states, areas } = state.partitionOf(event);
      const unsold: Losers = {
        hasSeat: (seat) => states[seat] !== SeatState.SOLD,
        hasArea: (area) => areas.places(area, SeatState.SOLD) === 0,
      };
      return grant(removalRecord(state, caller, event, unsold), true);
    },
  }),

  /**
   * @returns INVENTORY_IN_USE when a seat is LOCKED, SOLD or BLOCKED, or an area has such places.
   * Cost: O(seats of the event).
   */
  unassignPrices: command({
    members: { eventId: UUID_KEY, body: OBJECTS },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED, INVENTORY_IN_USE],
    decide(state, { caller, eventId, body }) {
      const event = ownEvent(state, caller, eventId);
      if (event === null) return refuseEvent();
      const partition = state.partitionOf(event);
      const { layout } = partition;
      const unknown: FieldError[] = [];
      const inUse: FieldError[] = [];
      const seats = new Set<number>();
      for (const [i, { objectId }] of (body.seats ?? []).entries()) {
        const field = `seats[${i}].objectId`;
        const seat = layout.seatIndexes.get(objectId);
        if (seat === undefined) unknown.push(misplaced(layout, objectId, field));
        else if (partition.state[seat]! > SeatState.ACTIVE) inUse.push(inUseError(field, objectId));
        else seats.add(seat);
      }
      const areas = new Set<number>();
      for (const [i, { objectId }] of (body.groupOfSeats ?? []).entries()) {
        const field = `groupOfSeats[${i}].objectId`;
        const area = layout.areaIndexes.get(objectId);
        if (area === undefined) unknown.push(misplaced(layout, objectId, field));
        else if (isAreaInUse(partition, area)) inUse.push(inUseError(field, objectId));
        else areas.add(area);
      }
      if (unknown.length > 0) return refuseInvalid(unknown);
      if (inUse.length > 0) {
        return refuse(
          INVENTORY_IN_USE,
          "Some of it is held, sold or blocked: free it first, or leave it out.",
          inUse,
        );
      }
      assert(seats.size <= layout.seatCount, "a seat loses its price once");
      assert(areas.size <= layout.areas.length, "an area loses its price once");
      const losers: Losers = {
        hasSeat: (seat) => seats.has(seat),
        hasArea: (area) => areas.has(area),
      };
      return grant(removalRecord(state, caller, event, losers), true);
    },
  }),
};

/** One error for each item of another event or schema than the path's. */
function mismatches<Key extends "eventId" | "schemaId">(
  items: readonly Readonly<Record<Key, number | string>>[],
  key: Key,
  own: number | string,
): FieldError[] {
  const noun = key === "eventId" ? "event" : "schema";
  return items.flatMap(({ [key]: id }, i) => {
    const isOwn = typeof id === "string" ? id.toLowerCase() === own : id === own;
    return isOwn ? [] : [mismatch(`[${i}].${key}`, id, noun)];
  });
}

type Money = Pick<PriceBody, "amount" | "currency">;

/** One error for each amount without a currency, and for each currency without an amount. */
function halvesOfMoney(items: readonly Money[]): FieldError[] {
  return items.flatMap(({ amount, currency }, i) => {
    const [hasAmount, hasCurrency] = [amount != null, currency != null];
    if (hasAmount === hasCurrency) return [];
    return [
      hasAmount
        ? missing(`[${i}].currency`, "must be given with amount")
        : missing(`[${i}].amount`, "must be given with currency"),
    ];
  });
}

function moneyOf({ amount, currency }: Money): Pick<PriceRow, "amount" | "currency"> {
  return amount == null || currency == null ? {} : { amount, currency };
}

/** The lowest free slots of the event. */
function freeSlots(existing: ReadonlyMap<number, PriceRow>, count: number): number[] {
  const slots: number[] = [];
  for (let slot = 1; slots.length < count; slot++) if (!existing.has(slot)) slots.push(slot);
  assert((slots.at(-1) ?? 0) <= PRICES_PER_EVENT_MAX, "an event has a slot for each of its prices");
  return slots;
}

/** An assignment item whose price was found. */
interface Assignment {
  readonly slot: number;
  readonly item: AssignmentItem;
  readonly field: string;
  /** Of the object. */
  readonly id: number;
}

type Member = "seats" | "groupOfSeats";

/** The interface reports a missing `objectId` of a seat under its older name, `seatId`. */
function missingMembers(body: AssignmentSelection): FieldError[] {
  const errors: FieldError[] = [];
  for (const member of ["groupOfSeats", "seats"] as const) {
    const idField = member === "seats" ? "seatId" : "objectId";
    for (const [i, { objectId, seatId, assignmentId }] of (body[member] ?? []).entries()) {
      if ((objectId ?? seatId ?? null) === null) errors.push(missing(`${member}[${i}].${idField}`));
      if ((assignmentId ?? null) === null) errors.push(missing(`${member}[${i}].assignmentId`));
    }
  }
  return errors;
}

/** @param priceOf - Gives the price of an id, if the event has it. */
function findAssignments(
  priceOf: (id: number) => PriceRow | undefined,
  items: readonly AssignmentItem[],
  member: Member,
  errors: FieldError[],
): Assignment[] {
  const found: Assignment[] = [];
  for (const [i, item] of items.entries()) {
    const field = `${member}[${i}]`;
    const price = priceOf(item.assignmentId ?? 0);
    if (price === undefined) {
      errors.push(notFound(`${field}.assignmentId`, item.assignmentId, "price on the event"));
    } else {
      assert(price.slot > 0, "slot 0 stands for no price");
      found.push({ slot: price.slot, item, field, id: item.objectId ?? item.seatId ?? 0 });
    }
  }
  return found;
}

interface AreaAssignment extends Assignment {
  readonly area: number;
}

/** Writes the price slots of sections, tables and rows to their seats. @returns The areas. */
function spreadGroups(
  layout: Layout,
  groups: readonly Assignment[],
  slotOfSeat: Uint16Array,
  errors: FieldError[],
): AreaAssignment[] {
  const areas: AreaAssignment[] = [];
  const withSeats: Assignment[] = [];
  for (const assignment of groups) {
    const group = layout.groups.get(assignment.id);
    if (group === undefined) {
      errors.push(misplaced(layout, assignment.id, `${assignment.field}.objectId`, true));
    } else if (group.type === GroupType.GA) {
      areas.push({ ...assignment, area: group.index });
    } else {
      withSeats.push(assignment);
    }
  }
  for (const { id, slot } of lastOfGroup(withSeats)) {
    for (const seat of collectSeats(layout, layout.groups.get(id)!)) slotOfSeat[seat] = slot;
  }
  return areas;
}

/** Area index, price slot, capacity. */
type AreaTriple = readonly [number, number, number];

/** @param left - The capacity of an area without its own. */
function areaTriple(
  { layout }: Partition,
  { area, slot, item, field }: AreaAssignment,
  left: number | null,
  errors: FieldError[],
): AreaTriple {
  const capacity = item.activeCount ?? layout.areas[area]!.capacity ?? left;
  if (capacity === null) errors.push(missing(`${field}.activeCount`));
  const places = capacity ?? 0;
  assert(Number.isSafeInteger(places), "a capacity that passed its shape is a whole number");
  assert(places >= 0 && places <= AREA_CAPACITY_MAX, "such a capacity is within its limits");
  return [area, slot, places];
}

function takenPlaces({ areas }: Partition, area: number): number {
  return areas.capacity(area) - areas.places(area, SeatState.ACTIVE);
}

/** @param slotOfSeat - 0 afterwards for a seat that keeps its price. */
function keepTakenSeats({ state }: Partition, slotOfSeat: Uint16Array): void {
  for (let seat = 0; seat < state.length; seat++) {
    if (state[seat]! > SeatState.ACTIVE) slotOfSeat[seat] = 0;
  }
}

function refuseTaken(areas: readonly AreaAssignment[]): Decision<boolean> {
  const errors = areas.map(({ field, item }) => ({
    field: `${field}.activeCount`,
    code: "INVENTORY_IN_USE",
    message: "is below what is held, sold and blocked: send more, or free places first",
    rejectedValue: item.activeCount ?? null,
  }));
  return refuse(
    INVENTORY_IN_USE,
    "An area has more places held, sold and blocked than the new capacity.",
    errors,
  );
}

/** Of several assignments to an area, the last one counts. */
function changedAreas({ areas }: Partition, triples: readonly AreaTriple[]): AreaTriple[] {
  const last = new Map(triples.map((triple) => [triple[0], triple]));
  return [...last.values()].filter(([area, slot, capacity]) => {
    return areas.price[area] !== slot || areas.capacity(area) !== capacity;
  });
}

/**
 * Triples: slot, first seat index, seats in the run.
 *
 * @param wanted - By seat, its new slot; 0 for none.
 * @param present - By seat, its slot now. Unchanged seats are left out.
 */
export function runsOf(wanted: Uint16Array, present: Uint16Array): number[] {
  const runs: number[] = [];
  const newSlot = (seat: number) => (wanted[seat] === present[seat] ? 0 : wanted[seat]!);
  for (let seat = 0; seat < wanted.length;) {
    const slot = newSlot(seat);
    let end = seat + 1;
    while (end < wanted.length && newSlot(end) === slot) end++;
    if (slot !== 0) runs.push(slot, seat, end - seat);
    assert(end > seat, "a run has at least one seat");
    seat = end;
  }
  return runs;
}

// Changes of existing prices: their names, and their deletion.

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

// Removal of prices from seats and areas: from everything of an event, or from named objects.

/** Seats and areas to lose their price, by index. Those without a price stay as they are. */
interface Losers {
  readonly hasSeat: (seat: number) => boolean;
  readonly hasArea: (area: number) => boolean;
}

function inUseError(field: string, id: number): FieldError {
  const message = "is held, sold or blocked: free it first, or leave it out";
  return { field, code: "INVENTORY_IN_USE", message, rejectedValue: id };
}

/** @returns Null when nothing would lose a price. */
function removalRecord(
  state: State,
  { actor }: Caller,
  event: EventRow,
  { hasSeat, hasArea }: Losers,
): PriceRecord | null {
  const { price, areas } = state.partitionOf(event);
  const runs: number[] = [];
  for (let seat = 0; seat < price.length; seat++) {
    const first = seat;
    while (seat < price.length && price[seat] !== 0 && hasSeat(seat)) seat++;
    if (seat > first) runs.push(0, first, seat - first);
  }
  const priced = [...areas.price.keys()].filter((area) => areas.price[area] !== 0 && hasArea(area));
  if (runs.length === 0 && priced.length === 0) return null;
  assert(runs.length % 3 === 0, "runs are triples");
  return {
    type: RecordType.PRICE,
    actor,
    partition: event.partition,
    runs: Uint32Array.from(runs),
    areas: Uint32Array.from(
      priced.flatMap((area) => [area, 0, areas.places(area, SeatState.SOLD)]),
    ),
  };
}

// Pricing zones of a schema.

export const ZONE_COMMANDS = {
  createZones: command({
    members: { schemaId: LONG, body: list(ZONE) },
    refusals: [VALIDATION_FAILED, ACCESS_DENIED],
    decide(state, { caller, schemaId, body }) {
      const errors = mismatches(body, "schemaId", schemaId);
      if (errors.length > 0) return refuseInvalid(errors);
      const schema = zonedSchema(state, { caller, schemaId });
      if (isRefused(schema)) return schema;
      const { zones, nextId } = state.catalog;
      assert(!zones.has(nextId), "a new zone has a new id");
      const rows = body.map(({ name }, i): ZoneRow => ({ id: nextId + i, schemaId, name }));
      const puts = rows.map((row) => ({ table: "zones", row }) as const);
      return grantChange(state, caller, { newIds: rows.length, puts }, rows);
    },
  }),

  /** All or nothing; assignments stay. Answers the changed zones. */
  updateZones: command({
    members: { schemaId: LONG, body: list(ZONE_CHANGE) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, schemaId, body }) {
      const errors = [...mismatches(body, "schemaId", schemaId), ...repeatedIds(body)];
      if (errors.length > 0) return refuseInvalid(errors);
      const { schemas, zones } = state.catalog;
      const schema = ownRow(schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      const unknown = body.flatMap(({ id }, i) =>
        zones.get(id)?.schemaId === schemaId
          ? []
          : [notFound(`[${i}].id`, id, "zone on the schema")],
      );
      if (unknown.length > 0) {
        const detail = "There is no such pricing zone on the schema.";
        return refuse(ENTITY_NOT_FOUND, detail, unknown);
      }
      assert(body.length <= zones.size, "a zone changes once");
      const rows = body.map(({ id, name }): ZoneRow => ({ id, schemaId, name }));
      const puts = rows.map((row) => ({ table: "zones", row }) as const);
      return grantChange(state, caller, { puts }, rows);
    },
  }),

  /** Deletes a zone and its assignments. */
  deleteZone: command({
    members: { schemaId: LONG, zoneId: LONG },
    refusals: NOT_OWN,
    decide(state, given) {
      const zone = findZone(state, given);
      if (isRefused(zone)) return zone;
      assert(state.catalog.schemas.has(zone.schemaId), "a pricing zone belongs to a schema");
      const assigned: number[] = [];
      for (const [id, zoneId] of state.catalog.zoneAssignments.of(zone.schemaId)) {
        if (zoneId === zone.id) assigned.push(id);
      }
      const removes = [{ table: "zones", key: zone.id } as const];
      const zones = withoutZones(zone.schemaId, assigned);
      return grantChange(state, given.caller, { removes, zones }, null);
    },
  }),

  /**
   * The rows and seats in an assigned group lose their own zones. Groups go first, in their order,
   * then seats. Cost: O(items), and with groups O(assignments of the schema).
   */
  assignZones: command({
    members: { schemaId: LONG, body: ASSIGNMENTS },
    refusals: [VALIDATION_FAILED, ACCESS_DENIED],
    decide(state, { caller, schemaId, body }) {
      const [groups, seats] = [body.groupOfSeats ?? [], body.seats ?? []];
      const incomplete = missingMembers(body);
      if (incomplete.length > 0) return refuseInvalid(incomplete);
      const schema = zonedSchema(state, { caller, schemaId });
      if (isRefused(schema)) return schema;

      const layout = state.layoutOf(schemaId);
      const wanted: Zones = new Map();
      const found: { readonly id: number; readonly zoneId: number }[] = [];
      const errors: FieldError[] = [];
      for (const [i, item] of groups.entries()) {
        const { objectId, zoneId } = namesOf(item);
        checkZone(state, { schemaId, zoneId, field: `groupOfSeats[${i}]` }, errors);
        if (layout.groups.has(objectId)) found.push({ id: objectId, zoneId });
        else errors.push(misplaced(layout, objectId, `groupOfSeats[${i}].objectId`, true));
      }
      const last = lastOfGroup(found);
      const zoned = state.catalog.zoneAssignments.of(schemaId);
      const assigned = last.length === 0 ? [] : [...zoned.keys()];
      const inside = membersOf(layout, [...assigned, ...last.map(({ id }) => id)]);
      for (const { id: groupId, zoneId } of last) {
        for (const id of inside.get(groupId) ?? []) {
          if (zoned.has(id) || wanted.has(id)) wanted.set(id, null);
        }
        wanted.set(groupId, zoneId);
      }
      for (const [i, item] of seats.entries()) {
        const { objectId, zoneId } = namesOf(item);
        checkZone(state, { schemaId, zoneId, field: `seats[${i}]` }, errors);
        if (layout.seatIndexes.has(objectId)) wanted.set(objectId, zoneId);
        else errors.push(misplaced(layout, objectId, `seats[${i}].objectId`, true));
      }
      if (errors.length > 0) return refuseInvalid(errors);
      const zones = changesOf(state, schemaId, wanted);
      return zones.length === 0 ? grant(null, true) : grantChange(state, caller, { zones }, true);
    },
  }),
};

// Assignments of sections, rows, tables, areas and seats to pricing zones.

/** By object id: its new zone; null removes its zone. */
type Zones = Map<number, number | null>;

/** To be called only when neither id is missing. */
function namesOf({ objectId, seatId, assignmentId }: AssignmentItem) {
  const id = objectId ?? seatId ?? null;
  const zoneId = assignmentId ?? null;
  assert(id !== null, "an item without an object was refused");
  assert(zoneId !== null, "an item without a zone was refused");
  return { objectId: id, zoneId };
}

function checkZone(
  { catalog }: State,
  { schemaId, zoneId, field }: { schemaId: number; zoneId: number; field: string },
  errors: FieldError[],
): void {
  if (catalog.zones.get(zoneId)?.schemaId === schemaId) return;
  errors.push(notFound(`${field}.assignmentId`, zoneId, "zone on the schema"));
}

/**
 * @param ids - Of rows and seats; others are in no group.
 * @returns By group id: the ids inside it.
 */
function membersOf(layout: Layout, ids: readonly number[]): ReadonlyMap<number, readonly number[]> {
  const members = new Map<number, number[]>();
  const add = (groupId: number, id: number) => {
    const known = members.get(groupId);
    if (known === undefined) members.set(groupId, [id]);
    else known.push(id);
  };
  for (const id of ids) {
    const seat = layout.seatIndexes.get(id);
    const group = layout.groups.get(id);
    const index = seat === undefined ? group?.index : layout.rowOfSeat[seat];
    if (index === undefined || (seat === undefined && group?.type !== GroupType.ROW)) continue;
    const row = layout.rows[index]!;
    if (seat !== undefined) add(row.id, id);
    add(layout.sections[row.section]!.id, id);
  }
  return members;
}

/** Only differences from the stored zones. */
function changesOf({ catalog }: State, schemaId: number, wanted: Zones): ZoneChange[] {
  const zoned = catalog.zoneAssignments.of(schemaId);
  const runs = new ZoneRuns();
  for (const [id, zoneId] of wanted) {
    if ((zoned.get(id) ?? null) !== zoneId) runs.add(id, zoneId ?? 0);
  }
  return runs.isEmpty ? [] : [{ schemaId, runs: runs.runs }];
}
