/** Prices of one event: creation, and assignment to seats, rows, sections, tables and areas. */
import { assert } from "../../assert.ts";
import type { PriceRow } from "../../catalog.ts";
import { AREA_CAPACITY_MAX, PRICES_PER_EVENT_MAX } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { SeatState } from "../../inventory/states.ts";
import { collectSeats, GroupType, lastOfGroup, type Layout } from "../../layout/layout.ts";
import { ownEvent, refuseEvent } from "../../queries/access.ts";
import { remainingPlaces } from "../../queries/capacities.ts";
import { RecordType } from "../../records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  mismatch,
  missing,
  notFound,
  refuse,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { AssignmentItem, AssignmentSelection, PriceBody } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";

export function createPrices(
  state: State,
  { caller, eventId, body }: CommandWith<{ eventId: string; body: readonly PriceBody[] }>,
): Decision<PriceRow[]> {
  const errors = otherEvents(body, eventId);
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
  const rows = body.map(({ name, externalId }, i): PriceRow => ({
    id: nextId + i,
    eventId: event.id,
    slot: slots[i]!,
    name,
    renamedAtMs: 0,
    externalId: externalId ?? null,
  }));
  const puts = rows.map((row) => ({ table: "prices", row }) as const);
  return grantChange(state, caller, { newIds: rows.length, puts }, rows);
}

/** One error for each price of another event than the path's. */
export function otherEvents(
  prices: readonly { readonly eventId: string }[],
  eventId: string,
): FieldError[] {
  return prices.flatMap((price, i) =>
    price.eventId.toLowerCase() === eventId
      ? []
      : [mismatch(`[${i}].eventId`, price.eventId, "event")],
  );
}

/** The lowest slots that no price of the event has. */
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

/**
 * Groups are priced first, then seats, so that a seat's own price wins over that of its section.
 * Seats and areas that are already as asked for do not change.
 *
 * @returns INVENTORY_IN_USE when an area would be left with fewer places than are held, sold and
 * blocked. Cost: O(seats of the event).
 */
export function assignPrices(
  state: State,
  { caller, eventId, body }: CommandWith<{ eventId: string; body: AssignmentSelection }>,
): Decision<boolean> {
  const [groupItems, seatItems] = [body.groupOfSeats ?? [], body.seats ?? []];
  const incomplete = [
    ...findMissing(groupItems, "groupOfSeats"),
    ...findMissing(seatItems, "seats"),
  ];
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
  const areas = spreadGroups(partition.layout, groups, slotOfSeat, errors);
  for (const { id, slot, field } of singles) {
    const seat = partition.layout.seatIndexes.get(id);
    if (seat === undefined) errors.push(notFound(`${field}.objectId`, id, "seat in the layout"));
    else slotOfSeat[seat] = slot;
  }
  const total = state.catalog.schemas.get(event.schemaId)?.gaCapacity ?? null;
  const left = remainingPlaces(partition.layout, total);
  const triples = areas.map((area) => areaTriple(partition, area, left, errors));
  if (errors.length > 0) return refuseInvalid(errors);

  const taken = areas.filter(({ area }, i) => triples[i]![2] < takenPlaces(partition, area));
  if (taken.length > 0) return refuseTaken(taken);
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
}

type Member = "seats" | "groupOfSeats";

/** The interface reports a missing `objectId` of a seat under its older name, `seatId`. */
export function findMissing(items: readonly AssignmentItem[], member: Member): FieldError[] {
  const errors: FieldError[] = [];
  const idField = member === "seats" ? "seatId" : "objectId";
  for (const [i, { objectId, seatId, assignmentId }] of items.entries()) {
    if ((objectId ?? seatId ?? null) === null) errors.push(missing(`${member}[${i}].${idField}`));
    if ((assignmentId ?? null) === null) errors.push(missing(`${member}[${i}].assignmentId`));
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
      errors.push(notFound(`${assignment.field}.objectId`, assignment.id, "group in the layout"));
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

/** @param left - The capacity of an area that has none of its own. */
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

function refuseTaken(areas: readonly AreaAssignment[]): Decision<boolean> {
  const errors = areas.map(({ field, item }) => ({
    field: `${field}.activeCount`,
    code: "INVENTORY_IN_USE",
    message: "is below what is held, sold and blocked",
    rejectedValue: item.activeCount ?? null,
  }));
  return refuse(Result.INVENTORY_IN_USE, "An area has more places taken than that.", errors);
}

/** Of an area that is named more than once, the last assignment counts. */
function changedAreas({ areas }: Partition, triples: readonly AreaTriple[]): AreaTriple[] {
  const last = new Map(triples.map((triple) => [triple[0], triple]));
  return [...last.values()].filter(([area, slot, capacity]) => {
    return areas.price[area] !== slot || areas.capacity(area) !== capacity;
  });
}

/**
 * Triples: slot, first seat index, seats in the run.
 *
 * @param wanted - By seat, the slot that it gets; 0 for none.
 * @param present - The slot that it has. Seats that keep theirs are left out.
 */
function runsOf(wanted: Uint16Array, present: Uint16Array): number[] {
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
