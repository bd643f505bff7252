/**
 * The trail as a follower of all events reads it: which events have changes after a record, and
 * what these are. For a thread beside those of the trail.
 */
import { SeatState } from "../../engine/inventory/states.ts";
import type { AuditGap, ChangePage, TrailExtent } from "../../engine/queries/history.ts";
import { openSqlReader, type SqlFile, type SqlRow } from "../disk/sqlite.ts";
import { isAreaKey, placeOf } from "./rows.ts";
import { tableAt } from "./block-file.ts";
import { AUDIT_FILE, extentOf, readTrail } from "./file.ts";
import { changePage } from "./changes.ts";
import { finish, SLICE_ROWS } from "./slices.ts";

/** Goes from event to event in the index of the blocks, and reads the last block of each. */
const MOVED = `WITH RECURSIVE each (number) AS (
  SELECT min(partition) FROM blocks UNION ALL
  SELECT (SELECT min(partition) FROM blocks WHERE partition > number) FROM each
  WHERE number IS NOT NULL
) SELECT number AS partition FROM each
  WHERE (SELECT max(last) FROM blocks WHERE partition = number) > ?`;
const VERSIONS = "SELECT DISTINCT partition FROM events WHERE sequence > ?";
const SWITCHES = "SELECT ownerId FROM switches WHERE owner = 'organization' AND sequence > ?";
const OF_ORGANIZATION = "SELECT DISTINCT partition FROM events WHERE organizationId = ?";
const EVENT = "SELECT eventId, organizationId FROM events WHERE partition = ? LIMIT 1";
/** For sale, or held by somebody who may buy it. */
const OPEN: ReadonlySet<SeatState | null> = new Set([SeatState.ACTIVE, SeatState.LOCKED]);

/** Events that stay in memory. */
const EVENTS_MAX = 10_000;

/** An event, which may have been deleted since. */
export interface FollowedEvent {
  readonly partition: number;
  readonly eventId: string;
  readonly organizationId: number;
}

export class FollowedTrail {
  readonly #sql: SqlFile;
  readonly #storeId: string;
  /** By partition number. */
  readonly #events = new Map<number, FollowedEvent>();

  /** @param folder - The data folder. @throws SqlFault. */
  constructor(folder: string, storeId: string) {
    this.#sql = openSqlReader(`${folder}/${AUDIT_FILE}`);
    this.#storeId = storeId;
  }

  /** @throws Malformed, SqlFault. */
  get extent(): TrailExtent {
    return extentOf(readTrail(this.#sql, this.#storeId));
  }

  /** @returns Events with changes after a record. Cost: O(events). */
  changedAfter(since: number): FollowedEvent[] {
    const changed = new Set<number>();
    const add = (rows: readonly SqlRow[]) => {
      for (const { partition } of rows) changed.add(Number(partition));
    };
    add(this.#sql.list(MOVED, since));
    add(this.#sql.list(VERSIONS, since));
    for (const { ownerId } of this.#sql.list(SWITCHES, since)) {
      add(this.#sql.list(OF_ORGANIZATION, Number(ownerId)));
    }
    return [...changed].flatMap((partition) => this.eventAt(partition) ?? []);
  }

  /** @returns Null for an event that the trail does not have any more. */
  eventAt(partition: number): FollowedEvent | null {
    const known = this.#events.get(partition);
    if (known !== undefined) return known;
    const row = this.#sql.row(EVENT, partition);
    if (row === undefined) return null;
    const eventId = String(row["eventId"]);
    const event = { partition, eventId, organizationId: Number(row["organizationId"]) };
    if (this.#events.size >= EVENTS_MAX) this.#events.clear();
    this.#events.set(partition, event);
    return event;
  }

  /** As the question about changes. */
  page(event: FollowedEvent, since: number, limit: number): ChangePage | AuditGap {
    const { partition, organizationId } = event;
    const place = { sql: this.#sql, partition, organizationId };
    const source = { ...place, extent: this.extent, sliceRows: SLICE_ROWS };
    return finish(changePage(source, { since, limit }));
  }

  /** @returns What is ACTIVE or LOCKED after a record. Cost: O(places). */
  openPlaces(
    partition: number,
    sequence: number,
  ): { readonly seats: number; readonly areas: ReadonlyMap<number, number> } {
    const table = finish(tableAt(this.#sql, partition, sequence, SLICE_ROWS));
    let seats = 0;
    const areas = new Map<number, number>();
    for (const [key, slot] of table.list()) {
      const [active, locked] = table.counts(slot);
      if (isAreaKey(key)) areas.set(placeOf(key), active + locked);
      else if (OPEN.has(table.state(slot))) seats += 1;
    }
    return { seats, areas };
  }

  close(): void {
    this.#sql.close();
  }
}
