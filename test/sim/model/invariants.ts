/**
 * The invariants by name, and how often each was checked. The numbers are those of the project's
 * list of invariants; the missing ones need HTTP and are tested there.
 */

export const INVARIANTS = {
  I1: "no seat is sold twice without a revert between",
  I2: "of an area, active, locked, sold and blocked places are its capacity, and none is negative",
  I3: "everything that was acknowledged or observed survives",
  I4: "an unacknowledged request is there as a whole or not at all",
  I5: "a snapshot and the log after it give the state that the records give",
  I6: "a request and its stored reply are done together or not at all",
  I7: "sequence numbers rise by one, epochs rise, and a log with another history is refused",
  I8: "a refusal changes nothing except expired holds",
  I9: "only documented moves happen, and each command has the result of the rules",
  I10: "an object without a price cannot be booked",
  I11: "a hold belongs to one session and ends once, not before its time and soon after it",
  I12: "time neither steps back nor stands still, even across restarts",
  I13: "a retry with the same key gets the same answer, and its effect happens once",
  I14: "nobody changes anything of another organization",
  I15: "nothing is answered before it is on disk, and nothing at all after the log failed",
  I17: "numbers in the state are within their range and agree with a recount",
  I19: "a start that halts changes nothing, and damage to acknowledged data halts it",
  I20: "files and queues stay bounded",
  I21: "once faults stop, everything pending is answered within a bounded time",
} as const;
export type InvariantName = keyof typeof INVARIANTS;

/** Thrown when an invariant does not hold. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly invariant: InvariantName;

  constructor(invariant: InvariantName, detail: string) {
    super(`${invariant} (${INVARIANTS[invariant]}): ${detail}`);
    this.invariant = invariant;
  }
}

/** Counts, by name: checked invariants and covered branches. */
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
