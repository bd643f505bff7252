/** Removal of prices from seats and areas: from everything of an event, or from named objects. */
import { assert } from "../../assert.ts";
import type { EventRow } from "../../catalog.ts";
import { SeatState } from "../../inventory/states.ts";
import { ownEvent, refuseEvent } from "../../queries/access.ts";
import { type PriceRecord, RecordType } from "../../records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  notFound,
  refuse,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { ObjectSelection } from "../../shapes/bodies.ts";
import type { Caller, CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { isAreaInUse } from "../inventory-in-use.ts";

/** Which seats and areas lose their price, by index. Those without a price stay as they are. */
interface Losers {
  readonly hasSeat: (seat: number) => boolean;
  readonly hasArea: (area: number) => boolean;
}

/**
 * Removes all prices but those of SOLD seats and of areas with SOLD places, which stay as they are.
 * Of everything else the holds end, and what is BLOCKED is no longer BLOCKED.
 * Cost: O(seats of the event).
 */
export function clearPrices(
  state: State,
  { caller, eventId }: CommandWith<{ eventId: string }>,
): Decision<boolean> {
  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const { state: states, areas } = state.partitionOf(event);
  const unsold: Losers = {
    hasSeat: (seat) => states[seat] !== SeatState.SOLD,
    hasArea: (area) => areas.places(area, SeatState.SOLD) === 0,
  };
  return grant(removalRecord(state, caller, event, unsold), true);
}

/**
 * @returns INVENTORY_IN_USE when a seat is LOCKED, SOLD or BLOCKED, or an area has such places.
 * Cost: O(seats of the event).
 */
export function unassignPrices(
  state: State,
  { caller, eventId, body }: CommandWith<{ eventId: string; body: ObjectSelection }>,
): Decision<boolean> {
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
    if (seat === undefined) unknown.push(notFound(field, objectId, "seat in the layout"));
    else if (partition.state[seat]! > SeatState.ACTIVE) inUse.push(inUseError(field, objectId));
    else seats.add(seat);
  }
  const areas = new Set<number>();
  for (const [i, { objectId }] of (body.groupOfSeats ?? []).entries()) {
    const field = `groupOfSeats[${i}].objectId`;
    const area = layout.areaIndexes.get(objectId);
    if (area === undefined) unknown.push(notFound(field, objectId, "area in the layout"));
    else if (isAreaInUse(partition, area)) inUse.push(inUseError(field, objectId));
    else areas.add(area);
  }
  if (unknown.length > 0) return refuseInvalid(unknown);
  if (inUse.length > 0) {
    return refuse(Result.INVENTORY_IN_USE, "Some of it is held, sold or blocked.", inUse);
  }
  assert(seats.size <= layout.seatCount, "a seat loses its price once");
  assert(areas.size <= layout.areas.length, "an area loses its price once");
  const losers: Losers = {
    hasSeat: (seat) => seats.has(seat),
    hasArea: (area) => areas.has(area),
  };
  return grant(removalRecord(state, caller, event, losers), true);
}

function inUseError(field: string, id: number): FieldError {
  const message = "is held, sold or blocked";
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
