/**
 * What must hold, by name, in one table, and how often each was looked at. The numbers are those of
 * the project's list of invariants; what is missing here needs HTTP and is tested there.
 */

export const INVARIANTS = {
  I1: "no seat is sold twice without a revert between",
  I2: "of an area, active, locked, sold and blocked places are its capacity, and none is negative",
  I3: "what was acknowledged or observed survives",
  I4: "what was not acknowledged is wholly there or not at all",
  I5: "snapshot and log give the state that the records give",
  I6: "a request is done whole or not at all, with the reply that is kept of it",
  I7: "sequence numbers rise by one, epochs rise, and a log with another history is refused",
  I8: "a refusal changes nothing but holds that have run out",
  I9: "only the moves of the interface happen, and each command comes to what the rules say",
  I10: "what has no price cannot be booked",
  I11: "a hold belongs to one session and ends once, not before its time and soon after it",
  I12: "time neither steps back nor stands still, also across restarts",
  I13: "a retry with the same key gets the same answer, and the effect is there once",
  I14: "nobody changes what is another organization's",
  I15: "nothing is answered before it is on disk, and nothing at all after the log failed",
  I17: "numbers in the state are within their range and agree with a recount",
  I19: "a start that halts has changed nothing, and damage to acknowledged data halts it",
  I20: "files and queues stay bounded",
  I21: "once faults stop, everything pending is answered within a bounded time",
} as const;
export type InvariantName = keyof typeof INVARIANTS;

/** An invariant does not hold. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly invariant: InvariantName;

  constructor(invariant: InvariantName, detail: string) {
    super(`${invariant} (${INVARIANTS[invariant]}): ${detail}`);
    this.invariant = invariant;
  }
}

/** What happened in runs, by name: invariants looked at, and branches that must have fired. */
export class Tally {
  readonly counts = new Map<string, number>();

  /** @throws Violation when the fact does not hold. */
  holds(invariant: InvariantName, fact: boolean, detail: () => string): void {
    this.count(invariant);
    if (!fact) throw new Violation(invariant, detail());
  }

  count(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  add(others: Iterable<readonly [string, number]>): void {
    for (const [what, times] of others) this.count(what, times);
  }

  of(what: string): number {
    return this.counts.get(what) ?? 0;
  }
}
