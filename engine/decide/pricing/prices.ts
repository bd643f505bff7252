/** Prices of one event: creation, and assignment to seats, rows, sections, tables and areas. */
import type { PriceRow } from "../../catalog.ts";
import type { AssignmentItem, CommandOf, PriceBody } from "../../commands.ts";
import { AREA_CAPACITY_MAX, PRICES_PER_EVENT_MAX } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { SeatState } from "../../inventory/states.ts";
import { collectSeats, GroupType, type Layout } from "../../layout/layout.ts";
import { ownEvent, refuseEvent } from "../../queries/access.ts";
import { RecordType } from "../../records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  refuse,
  refuseInvalid,
  Result,
  mismatch,
  missing,
  notFound,
} from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";

/** @returns EVENT_ACCESS_DENIED or VALIDATION_FAILED; else the new prices. */
export function createPrices(
  state: State,
  command: CommandOf<"createPrices">,
): Decision<PriceRow[]> {
  const faults = otherEvents(command.body, command.eventId);
  if (faults.length > 0) return refuseInvalid(faults);
  const event = ownEvent(state, command.caller, command.eventId);
  if (event === null) return refuseEvent();
  const existing = state.catalog.pricesOf(event.id);
  if (existing.size + command.body.length > PRICES_PER_EVENT_MAX) {
    const message = `an event has at most ${PRICES_PER_EVENT_MAX} prices`;
    const rejectedValue = command.body.length;
    return refuseInvalid([{ field: "", code: "SIZE", message, rejectedValue }]);
  }

  const ids = state.catalog.nextId;
  const slots = freeSlots(existing, command.body.length);
  const rows = command.body.map((price, i): PriceRow => ({
    id: ids + i,
    eventId: event.id,
    slot: slots[i]!,
    name: price.name,
    externalId: price.externalId ?? null,
  }));
  const puts = rows.map((row) => ({ table: "prices", row }) as const);
  return grant(catalogRecord(command.caller, { nextId: ids + rows.length, puts }), rows);
}

/** A fault for each price of another event than the path's. */
export function otherEvents(prices: readonly PriceBody[], eventId: string): FieldError[] {
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
  return slots;
}

/** An assignment item whose object and price were found. */
interface Assignment {
  readonly slot: number;
  readonly item: AssignmentItem;
  readonly field: string;
  readonly id: number;
}

/**
 * Groups are priced first, then seats, so a seat of its own wins over its section.
 *
 * @returns EVENT_ACCESS_DENIED, VALIDATION_FAILED, or INVENTORY_IN_USE when an area would be left
 * with fewer places than are held, sold and blocked; else true.
 * Cost: O(seats of the event).
 */
export function assignPrices(state: State, command: CommandOf<"assignPrices">): Decision<boolean> {
  const { seats, groupOfSeats } = command.body;
  const incomplete = [
    ...findMissing(groupOfSeats ?? [], "groupOfSeats"),
    ...findMissing(seats ?? [], "seats"),
  ];
  if (incomplete.length > 0) return refuseInvalid(incomplete);
  const event = ownEvent(state, command.caller, command.eventId);
  if (event === null) return refuseEvent();
  const partition = state.partitionOf(event);
  const faults: FieldError[] = [];
  const priceOf = (id: number) => {
    const price = state.catalog.prices.get(id);
    return price?.eventId === event.id ? price : undefined;
  };
  const groups = findAssignments(priceOf, groupOfSeats ?? [], "groupOfSeats", faults);
  const singles = findAssignments(priceOf, seats ?? [], "seats", faults);
  const slotOfSeat = new Uint16Array(partition.layout.seatCount);
  const areas = spreadGroups(partition.layout, groups, slotOfSeat, faults);
  for (const { id, slot, field } of singles) {
    const seat = partition.layout.seatIndexes.get(id);
    if (seat === undefined) faults.push(notFound(`${field}.objectId`, id, "seat in the layout"));
    else slotOfSeat[seat] = slot;
  }
  const defaultCapacity = state.catalog.schemas.get(event.schemaId)?.gaCapacity ?? null;
  const triples = areas.map((area) => areaTriple(partition, area, defaultCapacity, faults));
  if (faults.length > 0) return refuseInvalid(faults);

  const taken = areas.filter(({ area }, i) => triples[i]![2] < takenPlaces(partition, area));
  if (taken.length > 0) return refuseTaken(taken);
  const runs = runsOf(slotOfSeat);
  if (runs.length === 0 && triples.length === 0) return grant(null, true);
  return grant(
    {
      type: RecordType.PRICE,
      actor: command.caller.actor,
      partition: event.partition,
      runs: Uint32Array.from(runs),
      areas: Uint32Array.from(triples.flat()),
    },
    true,
  );
}

type Member = "seats" | "groupOfSeats";

/** The interface reports a missing objectId of a seat under its older name. */
export function findMissing(items: readonly AssignmentItem[], member: Member): FieldError[] {
  const faults: FieldError[] = [];
  const idField = member === "seats" ? "seatId" : "objectId";
  for (const [i, { objectId, seatId, assignmentId }] of items.entries()) {
    if ((objectId ?? seatId ?? null) === null) faults.push(missing(`${member}[${i}].${idField}`));
    if ((assignmentId ?? null) === null) faults.push(missing(`${member}[${i}].assignmentId`));
  }
  return faults;
}

/** @param priceOf - The price of that id, if the event has it. */
function findAssignments(
  priceOf: (id: number) => PriceRow | undefined,
  items: readonly AssignmentItem[],
  member: Member,
  faults: FieldError[],
): Assignment[] {
  const found: Assignment[] = [];
  for (const [i, item] of items.entries()) {
    const field = `${member}[${i}]`;
    const price = priceOf(item.assignmentId ?? 0);
    if (price === undefined) {
      faults.push(notFound(`${field}.assignmentId`, item.assignmentId, "price on the event"));
    } else {
      found.push({ slot: price.slot, item, field, id: item.objectId ?? item.seatId ?? 0 });
    }
  }
  return found;
}

interface AreaAssignment extends Assignment {
  readonly area: number;
}

/** Writes the slots of sections, tables and rows to their seats. @returns The areas. */
function spreadGroups(
  layout: Layout,
  groups: readonly Assignment[],
  slotOfSeat: Uint16Array,
  faults: FieldError[],
): AreaAssignment[] {
  const areas: AreaAssignment[] = [];
  for (const assignment of groups) {
    const group = layout.groups.get(assignment.id);
    if (group === undefined) {
      faults.push(notFound(`${assignment.field}.objectId`, assignment.id, "group in the layout"));
    } else if (group.type === GroupType.GA) {
      areas.push({ ...assignment, area: group.index });
    } else {
      for (const seat of collectSeats(layout, group)) slotOfSeat[seat] = assignment.slot;
    }
  }
  return areas;
}

/** @returns Area index, price slot, capacity. */
function areaTriple(
  { layout }: Partition,
  { area, slot, item, field }: AreaAssignment,
  defaultCapacity: number | null,
  faults: FieldError[],
): [number, number, number] {
  const capacity = item.activeCount ?? layout.areas[area]!.capacity ?? defaultCapacity;
  if (capacity === null) faults.push(missing(`${field}.activeCount`));
  else if (!Number.isSafeInteger(capacity) || capacity < 0 || capacity > AREA_CAPACITY_MAX) {
    const message = `must be a whole number from 0 to ${AREA_CAPACITY_MAX}`;
    faults.push({ field: `${field}.activeCount`, code: "RANGE", message, rejectedValue: capacity });
  }
  return [area, slot, capacity ?? 0];
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

/** Triples: slot, first seat index, seats in the run; seats of slot 0 are left out. */
function runsOf(slotOfSeat: Uint16Array): number[] {
  const runs: number[] = [];
  for (let seat = 0; seat < slotOfSeat.length;) {
    const slot = slotOfSeat[seat]!;
    let end = seat + 1;
    while (end < slotOfSeat.length && slotOfSeat[end] === slot) end++;
    if (slot !== 0) runs.push(slot, seat, end - seat);
    seat = end;
  }
  return runs;
}
