/**
 * The changes of an event, from the transitions in the trail. The same records in memory give the
 * same changes: see `persistence/changes`.
 */
import { Move, SeatState } from "../../../engine/inventory/states.ts";
import { AuditGap, type TrailExtent } from "../../../engine/queries/audit-trail.ts";
import {
  type AreaAfter,
  byId,
  type ChangePage,
  type EventChange,
  listedState,
  PLACES_PER_PAGE_MAX,
  placesOf,
  type SeatAfter,
} from "../../../engine/queries/event-change.ts";
import type { Block } from "../blocks/block.ts";
import { nextBlock } from "../blocks/block-file.ts";
import { isAreaKey, nameOfCall, placeOf } from "../blocks/rows.ts";
import { catalogChange, lastChangeOf, nextVersions, type TrailedEvent } from "./event-versions.ts";
import type { Slices } from "./slices.ts";

export interface ChangeSource extends TrailedEvent {
  readonly extent: TrailExtent;
  readonly sliceRows: number;
}

type Facts = Omit<EventChange, "previous">;

/** Moves whose hold type is part of the change. */
const TYPED: ReadonlySet<number> = new Set([Move.LOCK, Move.EXPIRE, Move.DIRECT_SALE]);

/** Cost: O(transitions of the page). */
export function* changePage(
  source: ChangeSource,
  { since, limit }: { readonly since: number; readonly limit: number },
): Slices<ChangePage | AuditGap> {
  const { firstSequence, lastSequence } = source.extent;
  if (since < firstSequence - 1) return AuditGap.TOO_EARLY;
  if (since > lastSequence) return AuditGap.TOO_LATE;
  let previous = lastChangeOf(source, since);
  const changes: EventChange[] = [];
  let places = 0;
  let work = 0;
  for (const facts of changesAfter(source, since, limit)) {
    if (changes.length === limit || places >= PLACES_PER_PAGE_MAX) {
      return { changes, hasMore: true };
    }
    const change = { ...facts, previous };
    previous = change.sequence;
    changes.push(change);
    places += placesOf(change);
    work += placesOf(change);
    if (work < source.sliceRows) continue;
    work = 0;
    yield;
  }
  return { changes, hasMore: false };
}

/** Joins the records with transitions and those that changed only rows of the catalog. */
export function* changesAfter(
  source: ChangeSource,
  since: number,
  limit: number,
): Generator<Facts, void> {
  const versions = nextVersions(source, since, limit + 1);
  const ends = new HoldEnds(source);
  let next = 0;
  for (const { block, record } of recordsAfter(source, since)) {
    const sequence = block.sequenceOf(record);
    for (; next < versions.length && versions[next]! < sequence; next++) {
      yield changeOfVersion(source, versions[next]!);
    }
    const moved = changeOfRecord(block, record, ends);
    if (versions[next] !== sequence) yield moved;
    else {
      next += 1;
      const { status, bookable } = catalogChange(source, sequence);
      yield { ...moved, status, bookable };
    }
  }
  for (; next < versions.length; next++) yield changeOfVersion(source, versions[next]!);
}

function* recordsAfter(
  { sql, partition }: TrailedEvent,
  since: number,
): Generator<{ readonly block: Block; readonly record: number }, void> {
  let first = since + 1;
  for (;;) {
    const found = nextBlock(sql, partition, first);
    if (found === undefined) return;
    const { block, last } = found;
    for (let record = block.recordOf(first); record < block.recordCount; record++) {
      yield { block, record };
    }
    first = last + 1;
  }
}

function changeOfVersion(source: TrailedEvent, sequence: number): Facts {
  const nothing = { session: "", holdType: "", seats: [], areas: [] };
  return { sequence, ...catalogChange(source, sequence), ...nothing };
}

function changeOfRecord(block: Block, record: number, ends: HoldEnds): Facts {
  const code = block.callOf(record);
  const { endsAtMs, isNamed } = block.factsOfCall(record);
  const seats: SeatAfter[] = [];
  const areas = new Map<number, AreaAfter>();
  const [start, end] = [block.rowsStart(record), block.rowsEnd(record)];
  for (let row = start; row < end; row++) {
    const key = block.keyOf(row);
    const id = placeOf(key);
    const move = block.moveOf(record, row);
    if (isAreaKey(key)) {
      const [active, locked, sold, blocked] = move.counts!;
      areas.set(id, { id, active, locked, sold, blocked });
      continue;
    }
    const state = listedState(move.state);
    const isHeld = move.state === SeatState.LOCKED;
    const endMs = !isHeld ? 0 : code === Move.LOCK ? endsAtMs : ends.of(move.hold);
    const expiresAtMs = endMs || null;
    seats.push({ id, state, priceId: move.priceId || null, expiresAtMs });
  }
  const first = block.moveOf(record, start);
  const isOwn = code <= Move.EXPIRE && isNamed;
  return {
    ...block.atOf(record),
    call: nameOfCall(code),
    session: isOwn ? first.session : "",
    holdType: TYPED.has(code) ? first.holdType : "",
    seats: seats.sort(byId),
    areas: [...areas.values()].sort(byId),
    status: null,
    bookable: null,
  };
}

/** When holds end, which the record of their lock says. */
class HoldEnds {
  readonly #event: TrailedEvent;
  readonly #known = new Map<number, number>();

  constructor(event: TrailedEvent) {
    this.#event = event;
  }

  /** @param hold - The record of the lock. @returns 0 for never, or when it is not known. */
  of(hold: number): number {
    if (hold === 0) return 0;
    let endMs = this.#known.get(hold);
    if (endMs === undefined) this.#known.set(hold, (endMs = this.#read(hold)));
    return endMs;
  }

  #read(hold: number): number {
    const { sql, partition } = this.#event;
    const block = nextBlock(sql, partition, hold)?.block;
    if (block === undefined) return 0;
    const record = block.recordOf(hold);
    const isFound = record < block.recordCount && block.sequenceOf(record) === hold;
    return isFound ? block.factsOfCall(record).endsAtMs : 0;
  }
}
