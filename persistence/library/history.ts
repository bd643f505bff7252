/**
 * Recent changes of seats and areas, in memory, for subscribers. The history observes the records
 * of the engine. It reads what a record has changed just before the next record, or when the disk
 * reports: the record is applied then, and no later one is.
 */
import { affectedPartitions } from "../../engine/apply.ts";
import { assert } from "../../engine/assert.ts";
import { NONE } from "../../engine/constants.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { MOVES, type SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { Observer } from "../../engine/ports.ts";
import { areaFacts } from "../../engine/queries/seats.ts";
import { type LogRecord, RecordType } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { type Refusal, Refused } from "../store/open-engine.ts";

interface Kept {
  readonly eventId: string;
  readonly change: Change;
}

/** Seats and areas in all kept changes; above it the older half is dropped. About 10 MB. */
const PLACES_MAX = 100_000;

export class History implements Observer {
  #state: State | null = null;
  /** Changes up to here are not kept. */
  #start = 0;
  #durable = 0;
  #pending: PendingRecord | null = null;
  /** Changes that are not on disk yet, oldest first. */
  readonly #written: Kept[] = [];
  /** Changes on disk, oldest first; and the same by event. */
  #kept: Kept[] = [];
  readonly #byEvent = new Map<string, Change[]>();
  #places = 0;
  /** By partition number. */
  readonly #eventIds = new Map<number, string>();
  /** By event: the readers that wait for its next change. */
  readonly #waiting = new Map<string, Set<(position: number) => void>>();

  /** To be called once, before the first record. @param sequence - Of the last record. */
  begin(state: State, sequence: number): void {
    this.#state = state;
    this.#start = sequence;
    this.#durable = sequence;
  }

  /** @returns Why changes after the position are not available; null when they are. */
  refuse(since: number): Refusal<"HISTORY_GONE" | "VALIDATION_FAILED"> | null {
    if (!Number.isSafeInteger(since) || since < 0) {
      const detail = "The position is not a sequence number.";
      const message = "must be a whole number, 0 or greater";
      const errors = [{ field: "since", code: "TYPE", message, rejectedValue: since ?? null }];
      return { ok: false, code: "VALIDATION_FAILED", detail, errors };
    }
    if (since >= this.#start && since <= this.#durable) return null;
    const detail =
      since < this.#start
        ? `Changes up to sequence ${this.#start} are not kept.`
        : `The last sequence is ${this.#durable}.`;
    const message = `must be from ${this.#start} to ${this.#durable}`;
    const errors = [{ field: "since", code: "RANGE", message, rejectedValue: since }];
    return { ok: false, code: "HISTORY_GONE", detail, errors };
  }

  /**
   * The changes of an event once they are on disk, until the event is deleted or the signal aborts.
   *
   * @param since - A position that `refuse` does not refuse.
   * @throws Refused with HISTORY_GONE when a change that the reader has not read is dropped.
   */
  async *follow(
    eventId: string,
    since: number,
    signal: AbortSignal,
  ): AsyncGenerator<Change, void, undefined> {
    let position = since;
    while (!signal.aborted) {
      const refusal = this.refuse(position);
      if (refusal !== null) throw new Refused(refusal);
      const changes = this.#after(eventId, position);
      // oxlint-disable-next-line no-await-in-loop -- one change after the other
      if (changes.length === 0) position = await this.#next(eventId, signal);
      for (const change of changes) {
        if (signal.aborted) return;
        position = change.sequence;
        yield change;
        if (change.call === DELETED) return;
      }
    }
  }

  /** Oldest first. Cost: O(these changes). */
  #after(eventId: string, position: number): readonly Change[] {
    const changes = this.#byEvent.get(eventId) ?? [];
    return changes.slice(changes.findLastIndex(({ sequence }) => sequence <= position) + 1);
  }

  /** Waits for the next change, or the signal. @returns The position just before the change. */
  #next(eventId: string, signal: AbortSignal): Promise<number> {
    const waiting = this.#waiting.get(eventId) ?? new Set();
    this.#waiting.set(eventId, waiting);
    return new Promise((resolve) => {
      const end = (position: number) => {
        signal.removeEventListener("abort", cancel);
        waiting.delete(end);
        resolve(position);
      };
      const cancel = () => end(this.#durable);
      waiting.add(end);
      signal.addEventListener("abort", cancel);
    });
  }

  beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    assert(this.#state !== null, "the history begins before the first record");
    this.#complete(this.#state);
    const affected = this.#affectedBy(this.#state, record);
    if (affected.length > 0) this.#pending = { sequence, timeMs, record, affected };
  }

  durable(sequence: number): void {
    if (this.#state === null) return;
    this.#complete(this.#state);
    this.#durable = sequence;
    const end = this.#written.findIndex(({ change }) => change.sequence > sequence);
    const published = this.#written.splice(0, end === -1 ? this.#written.length : end);
    for (const kept of published) this.#keep(kept);
    if (this.#places > PLACES_MAX) this.#dropOlderHalf();
    for (const { eventId, change } of published) {
      const waiting = this.#waiting.get(eventId);
      this.#waiting.delete(eventId);
      for (const resolve of waiting ?? []) resolve(change.sequence - 1);
    }
  }

  #keep(kept: Kept): void {
    const { eventId, change } = kept;
    this.#kept.push(kept);
    this.#places += placesIn(change);
    const changes = this.#byEvent.get(eventId);
    if (changes === undefined) this.#byEvent.set(eventId, [change]);
    else changes.push(change);
  }

  #dropOlderHalf(): void {
    let dropped = 0;
    while (this.#places > PLACES_MAX / 2 && dropped < this.#kept.length - 1) {
      const { change } = this.#kept[dropped++]!;
      this.#places -= placesIn(change);
      this.#start = change.sequence;
    }
    this.#kept = this.#kept.slice(dropped);
    this.#byEvent.clear();
    const rest = this.#kept;
    this.#kept = [];
    this.#places = 0;
    for (const kept of rest) this.#keep(kept);
  }

  #affectedBy(state: State, record: LogRecord): readonly Affected[] {
    return [...new Set(affectedPartitions(state, record))].flatMap((number) => {
      const before = state.partitions.get(number);
      // A new event has no subscribers.
      if (before === undefined) return [];
      const { touches } = before.changes;
      return [{ eventId: this.#eventIdOf(state, number), number, before, touches }];
    });
  }

  /** Cost: constant; O(events) the first time for an event. */
  #eventIdOf({ catalog }: State, number: number): string {
    if (!this.#eventIds.has(number)) {
      for (const { id, partition } of catalog.events.values()) this.#eventIds.set(partition, id);
    }
    const eventId = this.#eventIds.get(number);
    assert(eventId !== undefined, "a partition belongs to an event");
    return eventId;
  }

  /** Reads what the pending record has changed. */
  #complete(state: State): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    for (const affected of pending.affected) {
      const change = changeOf(state, pending, affected);
      if (change === null) continue;
      const { eventId, number } = affected;
      if (change.call === DELETED) this.#eventIds.delete(number);
      this.#written.push({ eventId, change });
    }
  }
}

// What a record changes for subscribers: the seats and areas as they are afterwards.

/** The call of an event's last change. */
const DELETED = "deleteevent";

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
interface Affected {
  readonly eventId: string;
  readonly number: number;
  /** As it was before the record; a new layout replaces it. */
  readonly before: Partition;
  readonly touches: number;
}

/** A record that is being applied. */
interface PendingRecord {
  readonly sequence: number;
  readonly timeMs: number;
  readonly record: LogRecord;
  readonly affected: readonly Affected[];
}

export function stateName(state: SeatState): StateName | null {
  return STATE_NAMES[state];
}

/** The number of seats and areas; at least 1, so that the number of changes is limited too. */
function placesIn({ seats, areas }: Change): number {
  return Math.max(1, seats.length + areas.length);
}

/**
 * To be called once the record is applied, and before the next one is.
 *
 * @returns Null when the record changed neither seats nor areas of the event.
 */
function changeOf(state: State, pending: PendingRecord, affected: Affected): Change | null {
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
