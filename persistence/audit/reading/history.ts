/** Lists the transitions of the trail in words, for people. */
import { STATE_NAMES, type SeatState } from "../../../engine/inventory/states.ts";
import type { SqlFile } from "../../disk/sqlite.ts";
import { nextBlock } from "../blocks/block-file.ts";
import { ACTOR_NAMES, readTrail } from "../file.ts";
import { transitionOf } from "./search.ts";

/** A transition with names instead of codes. */
export interface HistoryEntry {
  readonly eventId: string;
  readonly sequence: number;
  readonly ordinal: number;
  /** In UTC. */
  readonly time: string;
  readonly call: string;
  readonly actor: string;
  readonly actorId: number;
  readonly session: string;
  readonly holdType: string;
  readonly hold: number;
  readonly placeId: number;
  /** Null for a seat. */
  readonly places: number | null;
  readonly fromState: string | null;
  readonly toState: string | null;
  readonly priceId: number;
}

/**
 * Lists the events in the order in which they were created, each with its transitions in order.
 * @param eventId - Only this event. @throws Malformed, SqlFault.
 */
export function* historyOf(
  sql: SqlFile,
  storeId: string,
  eventId?: string,
): Generator<HistoryEntry, void> {
  // The thread that keeps the trail has not opened the new file yet.
  if (sql.row("SELECT 1 FROM sqlite_schema") === undefined) return;
  readTrail(sql, storeId);
  const events = "SELECT DISTINCT partition, eventId FROM events ORDER BY partition";
  for (const row of sql.list(events)) {
    if (eventId !== undefined && row["eventId"] !== eventId) continue;
    yield* historyOfEvent(sql, Number(row["partition"]), String(row["eventId"]));
  }
}

function* historyOfEvent(
  sql: SqlFile,
  partition: number,
  eventId: string,
): Generator<HistoryEntry, void> {
  for (let next = 0; ;) {
    const found = nextBlock(sql, partition, next);
    if (found === undefined) return;
    const { block, last } = found;
    for (let record = block.recordOf(next); record < block.recordCount; record++) {
      const end = block.rowsEnd(record);
      for (let row = block.rowsStart(record); row < end; row++) {
        const {
          timeMs,
          actor,
          isArea: _,
          from,
          to,
          ...rest
        } = transitionOf({ block, record, row });
        yield {
          eventId,
          ...rest,
          time: new Date(timeMs).toISOString().slice(0, -1),
          actor: ACTOR_NAMES[actor.kind],
          actorId: actor.id,
          fromState: nameOf(from),
          toState: nameOf(to),
        };
      }
    }
    next = last + 1;
  }
}

function nameOf(state: SeatState | null): string | null {
  return state === null ? null : STATE_NAMES[state];
}
