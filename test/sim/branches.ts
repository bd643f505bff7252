/**
 * Branches that a long run must cover: a simulation that never reaches one of them says nothing
 * about it. `Tally` counts them under these names.
 */
import { INVARIANTS, type Tally } from "./model/invariants.ts";

/** A run of this many seeds covers all of them. */
export const SEEDS_FOR_ALL = 2_000;

const BRANCHES = [
  // Ends of processes.
  "crash: kill",
  "crash: power",
  "crash: the log failed",
  "a process ended in an orderly way",
  "an orderly end was interrupted",
  "records that nobody saw were lost",
  // Their starts.
  "start: open",
  "start: died",
  "start: fault",
  "a recovery was followed by a second one",
  "a torn end was cut off",
  "an orderly end was recognized",
  "the newest segment was copied",
  "a snapshot was used",
  "a snapshot was skipped",
  "the whole log was read in place of a snapshot",
  // Faults of the disk.
  "EIO: at start",
  "EIO: read at start",
  "EIO: sync",
  "EIO: write",
  "a write fell short",
  "the disk was full",
  "refused: log unavailable",
  "refused: overloaded",
  "batches were written on the engine's thread",
  // Snapshots.
  "a snapshot was made",
  "a snapshot failed",
  "a process ended during a snapshot",
  "segments were removed",
  "snapshots were removed",
  // Time.
  "a hold ran out",
  "a cart was written",
  "the clock was set back",
  "the clock was set forward",
  // Retries.
  "a request was asked again after a crash",
  "a reply was given again",
  "a reply was gone",
  // Damage.
  "halted: a bit of a covered frame",
  "halted: a bit of a segment's head",
  "halted: a frame with another chain",
  "halted: a frame of an older epoch",
  "halted: a frame of a later epoch",
  "halted: a frame with a gap before it",
  "halted: a frame of another place",
  "halted: a segment in the middle is missing",
  "halted: the first segment is missing",
  "halted: the whole log is missing",
  "halted: only snapshots are there",
  "halted: two segments are swapped",
  "halted: a segment is there twice",
  "halted: a segment of another store",
  "halted: an older segment is cut",
  "halted: a bit after the last frame",
  "halted: every snapshot is damaged",
  "still opened: a bit after the last frame",
  "still opened: the newest snapshot is damaged",
  "still opened: the newest snapshot is missing",
  "still opened: every snapshot is damaged",
  "still opened: a bit of a covered frame",
] as const;

/** Branches never covered, and invariants never checked. */
export function neverSeen(tally: Tally): string[] {
  return [...BRANCHES, ...Object.keys(INVARIANTS)].filter((name) => tally.of(name) === 0);
}
