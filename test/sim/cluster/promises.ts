/** The promises of a cluster by name, and how often each was checked. */

export const PROMISES = {
  lost: "what a client was told, or saw, is in the log of every later leader",
  forked: "of two hosts that lead, only the later one has anything acknowledged",
  records: "the records that a new leader has are those that were appended, each once and in order",
  state: "the state of a new leader is the one that these records give",
  time: "the time of records never steps back, whichever clock the leader has",
  silent: "a host that begins after a later one answers nothing",
  answers: "one order of all calls on a seat explains every answer, and no read is stale",
  logs: "the same place in the logs of two hosts has the same frame",
  ends: "a host ends only because another one may lead",
  live: "once faults stop, a host leads and everything pending is answered",
} as const;
export type PromiseName = keyof typeof PROMISES;

/** Thrown when a promise is broken. */
export class Broken extends Error {
  override readonly name = "Broken";

  constructor(promise: PromiseName, detail: string) {
    super(`${promise} (${PROMISES[promise]}): ${detail}`);
  }
}

/** Counts, by name: checked promises, and what happened. */
export class Counts {
  readonly all = new Map<string, number>();

  /** @throws Broken when the fact does not hold. */
  holds(promise: PromiseName, fact: boolean, detail: () => string): void {
    this.add(`promise: ${promise}`);
    if (!fact) throw new Broken(promise, detail());
  }

  add(what: string): void {
    this.all.set(what, (this.all.get(what) ?? 0) + 1);
  }
}
