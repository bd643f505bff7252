/** Prices taken away from seats and areas: from everything of an event, or from what is named. */
import type { EventRow } from "../../catalog.ts";
import type { CommandOf } from "../../commands.ts";
import type { Partition } from "../../inventory/partition.ts";
import { SeatState } from "../../inventory/states.ts";
import { ownEvent, refuseEvent } from "../../queries/access.ts";
import { type PriceRecord, RecordType } from "../../records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  refuse,
  refuseInvalid,
  Result,
  notFound,
} from "../../results.ts";
import type { State } from "../../state.ts";

/** Which seats and areas lose their price, by index; what has none stays as it is. */
interface Losers {
  readonly hasSeat: (seat: number) => boolean;
  readonly hasArea: (area: number) => boolean;
}

const EVERYTHING: Losers = { hasSeat: () => true, hasArea: () => true };

/**
 * Whatever its state: holds end, what is BLOCKED is no longer, what is SOLD stays SOLD.
 *
 * @returns EVENT_ACCESS_DENIED; else true. Cost: O(seats of the event).
 */
export function clearPrices(state: State, command: CommandOf<"clearPrices">): Decision<boolean> {
  const event = ownEvent(state, command.caller, command.eventId);
  if (event === null) return refuseEvent();
  return grant(removalRecord(state, command, event, EVERYTHING), true);
}

/**
 * @returns EVENT_ACCESS_DENIED, VALIDATION_FAILED, or INVENTORY_IN_USE when a seat is LOCKED, SOLD
 * or BLOCKED, or an area has places that are held or sold; else true. Cost: O(seats of the event).
 */
export function unassignPrices(
  state: State,
  command: CommandOf<"unassignPrices">,
): Decision<boolean> {
  const event = ownEvent(state, command.caller, command.eventId);
  if (event === null) return refuseEvent();
  const partition = state.partitionOf(event);
  const { layout } = partition;
  const unknown: FieldError[] = [];
  const inUse: FieldError[] = [];
  const seats = new Set<number>();
  for (const [i, { objectId }] of (command.body.seats ?? []).entries()) {
    const field = `seats[${i}].objectId`;
    const seat = layout.seatIndexes.get(objectId);
    if (seat === undefined) unknown.push(notFound(field, objectId, "seat in the layout"));
    else if (partition.state[seat]! > SeatState.ACTIVE) inUse.push(inUseFault(field, objectId));
    else seats.add(seat);
  }
  const areas = new Set<number>();
  for (const [i, { objectId }] of (command.body.groupOfSeats ?? []).entries()) {
    const field = `groupOfSeats[${i}].objectId`;
    const area = layout.areaIndexes.get(objectId);
    if (area === undefined) unknown.push(notFound(field, objectId, "area in the layout"));
    else if (hasTickets(partition, area)) inUse.push(inUseFault(field, objectId));
    else areas.add(area);
  }
  if (unknown.length > 0) return refuseInvalid(unknown);
  if (inUse.length > 0) {
    return refuse(Result.INVENTORY_IN_USE, "Some of it is held, sold or blocked.", inUse);
  }
  const losers: Losers = {
    hasSeat: (seat) => seats.has(seat),
    hasArea: (area) => areas.has(area),
  };
  return grant(removalRecord(state, command, event, losers), true);
}

function hasTickets({ areas }: Partition, area: number): boolean {
  return areas.places(area, SeatState.LOCKED) + areas.places(area, SeatState.SOLD) > 0;
}

function inUseFault(field: string, id: number): FieldError {
  const message = "is held, sold or blocked";
  return { field, code: "INVENTORY_IN_USE", message, rejectedValue: id };
}

/** @returns Null when nothing would lose a price. */
function removalRecord(
  state: State,
  { caller }: CommandOf<"clearPrices" | "unassignPrices">,
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
  return {
    type: RecordType.PRICE,
    actor: caller.actor,
    partition: event.partition,
    runs: Uint32Array.from(runs),
    areas: Uint32Array.from(
      priced.flatMap((area) => [area, 0, areas.places(area, SeatState.SOLD)]),
    ),
  };
}
