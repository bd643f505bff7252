/**
 * The history for a follower of all events: events with changes after a record, and these changes.
 * For a second thread; the thread of the history alone writes the archive.
 */
import { drain } from "../../engine/inventory/steps.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { AuditGap, type ChangePage, type TrailExtent } from "../../engine/queries/history.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { openSqlReader } from "../disk/sqlite.ts";
import { type ArchivedEvent, unlessDamaged } from "./archive.ts";
import { OpenHistory, TAIL_BYTES_MAX } from "./keeper.ts";

/** An event, which may have been deleted since. */
export type FollowedEvent = Pick<ArchivedEvent, "partition" | "eventId" | "organizationId">;

export class FollowedHistory {
  readonly #place: StorePlace;
  #history: OpenHistory;

  /** @throws Malformed, SqlFault. */
  constructor(place: StorePlace) {
    this.#place = place;
    this.#history = this.#open();
  }

  #open(): OpenHistory {
    return new OpenHistory({ ...this.#place, openSql: openSqlReader });
  }

  /**
   * Reads the log up to a record that is on disk. @throws LogCorrupt, DiskFault, Malformed, SqlFault.
   * Cost: O(bytes since the last call, or since the end of the archive when that has grown).
   */
  follow(sequence: number): void {
    // Archived records leave the memory. The file may also be another one.
    const isLong = this.#history.tail.bytes >= 2 * TAIL_BYTES_MAX;
    if (isLong || this.#history.isOutdated()) {
      this.#history.close();
      this.#history = this.#open();
    }
    this.#history.readTo(sequence);
  }

  get extent(): TrailExtent {
    return this.#history.answers.extent;
  }

  /** @returns Events with changes after a record. Cost: O(events that changed since). */
  changedAfter(since: number): FollowedEvent[] {
    const { archive, tail } = this.#history;
    const changed = new Set([...archive.changedAfter(since), ...tail.changedAfter(since)]);
    for (const kind of ["layout", "switch"] as const) {
      const owners = new Set(archive.switchedAfter(kind, since));
      for (const one of tail.changes.versions) if (one.kind === kind) owners.add(one.owner);
      for (const owner of owners) {
        for (const partition of archive.partitionsOf(kind, owner)) changed.add(partition);
        for (const event of tail.events) {
          const own = kind === "layout" ? event.schemaId : event.organizationId;
          if (own === owner) changed.add(event.partition);
        }
      }
    }
    return [...changed].flatMap((partition) => this.eventAt(partition) ?? []);
  }

  /** @returns Null for an event that the history does not have any more, or in a damaged row. */
  eventAt(partition: number): ArchivedEvent | null {
    const { archive, tail } = this.#history;
    const changed = tail.changes.events.get(partition);
    return changed ?? unlessDamaged(() => archive.eventAt(partition)) ?? null;
  }

  /** As the question about changes. */
  page({ partition }: FollowedEvent, since: number, limit: number): ChangePage | AuditGap {
    const { answers } = this.#history;
    const event = this.eventAt(partition)!;
    const read = () => unlessDamaged(() => drain(answers.changes(event, since, limit)));
    // The thread of the history may have replaced a chunk during the first reading.
    return read() ?? read() ?? AuditGap.DAMAGED;
  }

  /** @returns What is ACTIVE or LOCKED after a record. Cost: O(places, and moves since an image). */
  openPlaces(
    number: number,
    sequence: number,
  ): { readonly seats: number; readonly areas: ReadonlyMap<number, number> } {
    const { answers } = this.#history;
    const { state, event } = drain(answers.eventAfter(this.eventAt(number)!, sequence));
    const areas = new Map<number, number>();
    if (event === undefined) return { seats: 0, areas };
    const partition = state.partitionOf(event);
    for (const [area, { id }] of partition.layout.areas.entries()) {
      const { ACTIVE, LOCKED } = SeatState;
      areas.set(id, partition.areas.places(area, ACTIVE) + partition.areas.places(area, LOCKED));
    }
    const { seatsIn } = partition;
    return { seats: seatsIn[SeatState.ACTIVE]! + seatsIn[SeatState.LOCKED]!, areas };
  }

  close(): void {
    this.#history.close();
  }
}
