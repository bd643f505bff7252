/** The changes of an event in columns: for a program that goes back in time in its own memory. */
import { AuditGap } from "../../../engine/queries/audit-trail.ts";
import type { ChangeColumns } from "../../../engine/queries/event-change.ts";
import { changesAfter, type ChangeSource } from "./changes.ts";
import type { Slices } from "./slices.ts";

/** More would be a long answer. A change is never split. */
export const COLUMN_PLACES_MAX = 50_000;

/** Cost: O(places of the page). */
export function* changeColumns(
  source: ChangeSource,
  since: number,
  placesMax = COLUMN_PLACES_MAX,
): Slices<ChangeColumns | AuditGap> {
  const { firstSequence, lastSequence } = source.extent;
  if (since < firstSequence - 1) return AuditGap.TOO_EARLY;
  if (since > lastSequence) return AuditGap.TOO_LATE;
  const columns = emptyColumns();
  let all = 0;
  let work = 0;
  for (const change of changesAfter(source, since, placesMax)) {
    if (all >= placesMax) return { ...columns, hasMore: true };
    const places = Math.max(1, change.seats.length + change.areas.length);
    all += places;
    columns.sequences.push(change.sequence);
    columns.timesMs.push(change.timeMs);
    columns.calls.push(change.call);
    columns.seatCounts.push(change.seats.length);
    columns.areaCounts.push(change.areas.length);
    for (const { id, state, priceId } of change.seats) {
      columns.seatIds.push(id);
      columns.states.push(state ?? 0);
      columns.priceIds.push(priceId ?? 0);
    }
    columns.areas.push(...change.areas);
    work += places;
    if (work < source.sliceRows) continue;
    work = 0;
    yield;
  }
  return { ...columns, hasMore: false };
}

type Lists = Omit<ChangeColumns, "hasMore">;

function emptyColumns(): { [Name in keyof Lists]: Lists[Name][number][] } {
  return {
    sequences: [],
    timesMs: [],
    calls: [],
    seatCounts: [],
    areaCounts: [],
    seatIds: [],
    states: [],
    priceIds: [],
    areas: [],
  };
}
