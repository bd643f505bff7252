/**
 * What is certainly in the log of the cluster: the records that were acknowledged, and those that a
 * new leader found. Each leader is compared with it, when it begins and whenever it acknowledges.
 */
import { noteSequence } from "../../../engine/affected-partitions.ts";
import { apply } from "../../../engine/apply.ts";
import type { Observer } from "../../../engine/ports.ts";
import type { LogRecord } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { stateDifference } from "../model/same-state.ts";
import type { Counts } from "./promises.ts";

interface Kept {
  readonly timeMs: number;
  readonly record: LogRecord;
}

export class Truth {
  readonly #counts: Counts;
  readonly #records: Kept[] = [];
  /** Made from the records only. */
  readonly #state = new State();
  #reign: Reign | null = null;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** The number of certain records. */
  get sequence(): number {
    return this.#records.length;
  }

  /** For a host that starts. */
  observe(name: string): Reign {
    return new Reign(name, this, this.#counts);
  }

  /** A host leads from now on. @param sequence - Of the last record that it found. */
  begin(reign: Reign, sequence: number, state: State): void {
    const counts = this.#counts;
    const { name } = reign;
    const known = this.sequence;
    counts.holds("lost", sequence >= known, () => `${name} has ${sequence} of ${known} records`);
    while (this.sequence < sequence) {
      const next = this.#reign?.recordAt(this.sequence + 1);
      counts.holds("records", next !== undefined, () => {
        return `${name} has record ${this.sequence + 1}, which nobody appended`;
      });
      this.#add(next!);
      counts.add("a record was found that was not acknowledged");
    }
    if ((this.#reign?.last ?? 0) > sequence) counts.add("records that nobody saw were lost");
    const difference = stateDifference(this.#state, state);
    counts.holds("state", difference === null, () => `${name}: ${difference}`);
    reign.lead(sequence, this.#records.at(-1)?.timeMs ?? 0);
    this.#reign = reign;
  }

  /** @returns Whether the reign may acknowledge this record, which then is certain. */
  acknowledge(reign: Reign, sequence: number): boolean {
    const record = reign.recordAt(sequence);
    if (record === undefined) return false;
    if (sequence <= this.sequence) return this.#records[sequence - 1] === record;
    if (reign !== this.#reign || sequence !== this.sequence + 1) return false;
    this.#add(record);
    return true;
  }

  #add(kept: Kept): void {
    const { timeMs, record } = kept;
    const sequence = this.sequence + 1;
    noteSequence(this.#state, sequence, record);
    apply(this.#state, record, timeMs, sequence);
    this.#records.push(kept);
  }
}

/** The records that one host appends while it leads, or believes that it does. */
export class Reign implements Observer {
  readonly name: string;
  readonly #truth: Truth;
  readonly #counts: Counts;
  readonly #records: Kept[] = [];
  /** Whether it leads; before, it sees the records of others. */
  #isLeading = false;
  /** The records before its first one. */
  #base = 0;
  /** Of the last record. */
  #timeMs = 0;
  #told = 0;

  constructor(name: string, truth: Truth, counts: Counts) {
    this.name = name;
    this.#truth = truth;
    this.#counts = counts;
  }

  /** The sequence number of its last record. */
  get last(): number {
    return this.#base + this.#records.length;
  }

  recordAt(sequence: number): Kept | undefined {
    return this.#records[sequence - this.#base - 1];
  }

  lead(base: number, timeMs: number): void {
    this.#isLeading = true;
    this.#base = base;
    this.#told = base;
    this.#timeMs = timeMs;
  }

  beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    if (!this.#isLeading) return;
    const counts = this.#counts;
    const { name, last } = this;
    counts.holds("records", sequence === last + 1, () => `${name}: ${sequence} after ${last}`);
    const isLater = timeMs >= this.#timeMs;
    counts.holds("time", isLater, () => `${name}: record ${sequence} at ${timeMs}`);
    this.#timeMs = timeMs;
    this.#records.push({ timeMs, record });
  }

  durable(sequence: number): void {
    if (!this.#isLeading) return;
    for (let next = this.#told + 1; next <= sequence; next++) {
      const isRight = this.#truth.acknowledge(this, next);
      this.#counts.holds("forked", isRight, () => `${this.name} acknowledged record ${next}`);
    }
    this.#told = sequence;
  }
}
