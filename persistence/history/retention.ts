/** The retention, in slices: removes chunks that nobody can ask for any more. */
import { Malformed } from "../disk/faults.ts";
import { type Archive, onlyDamage } from "./archive.ts";
import type { EventHistories, Slices } from "./events.ts";
import { imageChunk } from "./replay.ts";

/** Work for a partition of which nothing is removed, as transitions. */
const PARTITION_WORK = 100;

export interface RetentionOptions {
  readonly archive: Archive;
  readonly histories: EventHistories;
  /** Transitions of a slice. */
  readonly sliceMoves: number;
  /** Called in the transaction that changes the chunks of an event. */
  readonly onRemoved: (eventId: string) => void;
  /** The chunks of a damaged partition stay, because no image can replace them. */
  readonly onDamage: (error: unknown) => void;
}

/** A part of a transaction. */
interface Removal {
  readonly write: () => void;
  /** As transitions. */
  readonly work: number;
}

interface Removals {
  readonly removals: readonly Removal[];
  /** The first record of the chunks that stay; Infinity for none. */
  readonly oldest: number;
}

/**
 * Removes the chunks before the retention's first record. An event keeps an image of that moment.
 * Each slice ends with a transaction, and a kill between two leaves the rest to the next
 * retention: the newest chunks go first, so those left are an event's history from its beginning.
 */
export function* removeExpired(options: RetentionOptions): Slices<void> {
  const { archive, sliceMoves, onDamage } = options;
  const writes: (() => void)[] = [];
  let work = 0;
  const commit = () => {
    work = 0;
    const batch = writes.splice(0);
    if (batch.length > 0) archive.commit(archive.row, () => batch.forEach((write) => write()));
  };
  function* add(removals: readonly Removal[]): Slices<void> {
    for (const removal of removals) {
      writes.push(removal.write);
      work += removal.work;
      if (work < sliceMoves) continue;
      commit();
      yield;
    }
  }
  let oldest = Infinity;
  let partition = archive.partitionAfter(-1);
  for (; partition !== null; partition = archive.partitionAfter(partition)) {
    let removals: readonly Removal[] = [];
    try {
      const found = yield* removalsOf(partition, options);
      removals = found.removals;
      oldest = Math.min(oldest, found.oldest);
    } catch (error) {
      onlyDamage(error);
      onDamage(error);
      // Its chunks may need any version.
      oldest = 0;
    }
    yield* add([...removals, { write: () => {}, work: PARTITION_WORK }]);
  }
  for (const version of archive.versionsBefore(oldest)) {
    yield* add([{ write: () => archive.removeVersion(version), work: PARTITION_WORK }]);
  }
  commit();
}

/** @throws Malformed, SqlFault, Broken: where the archive is damaged. */
function* removalsOf(partition: number, options: RetentionOptions): Slices<Removals> {
  const { archive, histories, onRemoved } = options;
  const { firstSequence } = archive.row;
  const chunks = archive.chunksOf(partition);
  const expired = chunks.filter(({ last }) => last < firstSequence);
  const newest = expired.at(-1);
  // An image alone has no transitions.
  if (newest === undefined || (expired.length === 1 && newest.moves === 0)) {
    return { removals: [], oldest: chunks[0]?.first ?? Infinity };
  }
  const event = archive.eventAt(partition);
  if (event === undefined) throw new Malformed(`a row of event ${partition}`, "none");
  const isGone = event.removed !== null && event.removed < firstSequence;
  const removals: Removal[] = [];
  const changed = () => {
    histories.forget(partition);
    onRemoved(event.eventId);
  };
  if (!isGone && newest.moves > 0) {
    const { last: sequence, first } = newest;
    const span = histories.spansOf(event).findLast(({ after }) => after < sequence)!;
    const replay = yield* histories.at(event, span, sequence);
    const { lastMs: timeMs } = archive.chunk(partition, first);
    const chunk = imageChunk(partition, { sequence, timeMs, image: replay.image() });
    const write = () => {
      archive.putChunk(chunk);
      changed();
    };
    removals.push({ write, work: replay.seatCount });
  }
  const image = isGone ? Infinity : newest.last;
  for (const { first, moves } of expired.toReversed()) {
    if (first === image) continue;
    const write = () => {
      archive.removeChunk(partition, first);
      changed();
    };
    removals.push({ write, work: 1 + moves });
  }
  if (isGone) removals.push({ write: () => archive.removeEvent(partition), work: 1 });
  return { removals, oldest: isGone ? Infinity : newest.last };
}
