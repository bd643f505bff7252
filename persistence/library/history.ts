/**
 * Recent changes of seats and areas, in memory, for subscribers. The history observes the records
 * of the engine. It reads what a record has changed just before the next record, or when the disk
 * reports: the record is applied then, and no later one is.
 */
import { affectedPartitions } from "../../engine/affected-partitions.ts";
import { assert } from "../../engine/assert.ts";
import type { Observer } from "../../engine/ports.ts";
import type { LogRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { type Refusal, Refused } from "../store/results.ts";
import {
  type Affected,
  type Change,
  changeOf,
  DELETED,
  type PendingRecord,
  placesIn,
} from "./changes.ts";

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
