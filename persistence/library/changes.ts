/** What a record changes for subscribers: the seats and areas as they are afterwards. */
import { NONE } from "../../engine/constants.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { MOVES, type SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import { areaFacts } from "../../engine/queries/place-facts.ts";
import { type LogRecord, RecordType } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";

/** The call of an event's last change. */
export const DELETED = "deleteevent";

/** The name of a state. */
export type StateName = "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED";

/** What one call, or the end of one hold, changed in the seats and areas of an event. */
export interface Change {
  /** Its position in the log. The sequences of an event rise, with gaps. */
  readonly sequence: number;
  /** Milliseconds since 1970, UTC. */
  readonly timeMs: number;
  /**
   * The booking call in lower case, such as "lock", "sale" or "expire"; "prices", "deleteprice" and
   * "layout" for changes of those. The last change of an event is its "deleteevent".
   */
  readonly call: string;
  /** The session of the hold or the call; null for none. */
  readonly sessionId: string | null;
  /** The type of the hold; null for none. */
  readonly holdType: string | null;
  /** Every seat that changed, each once, as it is after the change. In no order. */
  readonly seats: readonly SeatChange[];
  /** Every area that changed, as it is after the change, in the order of the layout. */
  readonly areas: readonly AreaChange[];
}

export interface SeatChange {
  readonly seatId: number;
  /** Null while the seat has no price; state and price are null when it is no longer listed. */
  readonly state: StateName | null;
  readonly priceId: number | null;
  /** Milliseconds since 1970 at which its hold ends; null unless LOCKED with an end. */
  readonly expiresAtMs: number | null;
}

/** Numbers of places: in all, and by state. */
export interface AreaChange {
  readonly areaId: number;
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

/** An event that a record is about to change. */
export interface Affected {
  readonly eventId: string;
  readonly number: number;
  /** As it was before the record; a new layout replaces it. */
  readonly before: Partition;
  readonly touches: number;
}

/** A record that is being applied. */
export interface PendingRecord {
  readonly sequence: number;
  readonly timeMs: number;
  readonly record: LogRecord;
  readonly affected: readonly Affected[];
}

export function stateName(state: SeatState): StateName | null {
  return STATE_NAMES[state];
}

/** The number of seats and areas; at least 1, so that the number of changes is limited too. */
export function placesIn({ seats, areas }: Change): number {
  return Math.max(1, seats.length + areas.length);
}

/**
 * To be called once the record is applied, and before the next one is.
 *
 * @returns Null when the record changed neither seats nor areas of the event.
 */
export function changeOf(state: State, pending: PendingRecord, affected: Affected): Change | null {
  const { sequence, timeMs, record } = pending;
  const { eventId, before } = affected;
  const after = state.partitions.get(affected.number);
  const call = callOf(record, before, after);
  if (call === null) return null;
  const common = { sequence, timeMs, call, ...holdOf(record) };
  if (after === undefined) return { ...common, seats: [], areas: [] };
  const prices = state.catalog.pricesOf(eventId);
  const seats: SeatChange[] = changedSeats(affected, after).map((seat) => ({
    seatId: after.layout.seatIds[seat]!,
    state: stateName(after.state[seat] as SeatState),
    priceId: prices.get(after.price[seat]!)?.id ?? null,
    expiresAtMs: endOfHold(after, seat),
  }));
  // A record of the same millisecond may have changed the area before; its values are right anyway.
  const areas: AreaChange[] = after.layout.areas.flatMap((_, area) => {
    if (after.areas.changedAtMs[area] !== timeMs) return [];
    const { areaId, capacity, active, locked, sold, blocked } = areaFacts(after, prices, area);
    return [{ areaId, capacity, active, locked, sold, blocked }];
  });
  seats.push(...removedSeats(before, after));
  areas.push(...removedAreas(before, after));
  return seats.length + areas.length === 0 ? null : { ...common, seats, areas };
}

function callOf(record: LogRecord, before: Partition, after?: Partition): string | null {
  if (record.type === RecordType.MOVE) return MOVES[record.move].name;
  if (record.type === RecordType.PRICE) return "prices";
  if (after === undefined) return DELETED;
  if (after === before) {
    return record.removes.some(({ table }) => table === "prices") ? "deleteprice" : null;
  }
  return record.puts.some(({ table }) => table === "events") ? "event" : "layout";
}

function holdOf(record: LogRecord): Pick<Change, "sessionId" | "holdType"> {
  if (record.type !== RecordType.MOVE) return { sessionId: null, holdType: null };
  const { session, holdType } = record;
  return { sessionId: session || null, holdType: holdType || null };
}

/** @returns Seat indexes: those that were touched, or those that a new layout adds. */
function changedSeats({ before, touches }: Affected, after: Partition): readonly number[] {
  if (after !== before) {
    const { seatIds } = after.layout;
    const known = before.layout.seatIndexes;
    return Array.from(seatIds.keys()).filter((seat) => !known.has(seatIds[seat]!));
  }
  const seats: number[] = [];
  let seat = after.changes.newest;
  for (let left = after.changes.touches - touches; left > 0 && seat !== NONE; left--) {
    seats.push(seat);
    seat = after.changes.earlierThan(seat);
  }
  return seats;
}

function removedSeats(before: Partition, after: Partition): readonly SeatChange[] {
  if (after === before) return [];
  const gone = Array.from(before.layout.seatIds).filter((id) => !after.layout.seatIndexes.has(id));
  return gone.map((seatId) => ({ seatId, state: null, priceId: null, expiresAtMs: null }));
}

function removedAreas(before: Partition, after: Partition): readonly AreaChange[] {
  if (after === before) return [];
  const gone = before.layout.areas.filter(({ id }) => !after.layout.areaIndexes.has(id));
  const nothing = { capacity: 0, active: 0, locked: 0, sold: 0, blocked: 0 };
  return gone.map(({ id: areaId }) => ({ areaId, ...nothing }));
}

function endOfHold(partition: Partition, seat: number): number | null {
  const slot = partition.hold[seat]!;
  return slot === NONE ? null : partition.holds.get(slot).expiresAtMs || null;
}
