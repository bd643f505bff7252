/**
 * The certain log of the cluster: acknowledged records, and those found by a new leader. Each
 * leader is compared with it, at its beginning and at each acknowledgement.
 *
 * The log tells the later of two leaders: each begins a segment of its own. A host paused during
 * its take-over may begin long after a later one, without knowing of it. It must have the log up to
 * its own place, and its appends do not count.
 */
import { apply, noteSequence } from "../../../engine/apply.ts";
import type { Observer } from "../../../engine/ports.ts";
import type { LogRecord } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { stateDifference } from "../model/same-state.ts";
import type { Counts } from "./promises.ts";

interface Kept {
  readonly timeMs: number;
  readonly record: LogRecord;
}

/** The possessions of a leader when it begins. */
export interface Beginning {
  /** The number of its first segment. */
  readonly segment: number;
  /** Of the last record it found. */
  readonly sequence: number;
  readonly state: State;
}

export class Truth {
  readonly #counts: Counts;
  readonly #records: Kept[] = [];
  /** Made from the records only. */
  readonly #state = new State();
  /** The leaders so far, in the order of the log. */
  readonly #reigns: Reign[] = [];

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** The number of certain records. */
  get sequence(): number {
    return this.#records.length;
  }

  /** For a starting host. */
  observe(name: string): Reign {
    return new Reign(name, this, this.#counts);
  }

  /** A host begins to lead, or believes so. @returns Whether no later one has begun. */
  begin(reign: Reign, found: Beginning): boolean {
    const counts = this.#counts;
    const { name } = reign;
    const { segment, sequence, state } = found;
    const isSame = this.#reigns.some((other) => other.segment === segment);
    counts.holds("forked", !isSame, () => `${name} began segment ${segment} as another host did`);
    const later = this.#reigns.find((other) => other.segment > segment);
    if (later === undefined) this.#extendTo(sequence, name);
    else {
      counts.add("a host began after a later one");
      // It has appended nothing, so the later one has found exactly what it found.
      const missing = () => `${name} has ${sequence} records, and ${later.name} had ${later.base}`;
      counts.holds("lost", sequence === later.base, missing);
    }
    const known = later === undefined ? this.#state : this.#stateAt(sequence);
    const difference = stateDifference(known, state);
    counts.holds("state", difference === null, () => `${name}: ${difference}`);
    reign.lead(segment, sequence, this.#records[sequence - 1]?.timeMs ?? 0);
    if (later === undefined) this.#reigns.push(reign);
    return later === undefined;
  }

  /** @returns Whether the reign may acknowledge this record and so make it certain. */
  acknowledge(reign: Reign, sequence: number): boolean {
    const record = reign.recordAt(sequence);
    if (record === undefined) return false;
    if (sequence <= this.sequence) return this.#records[sequence - 1] === record;
    if (reign !== this.#reigns.at(-1) || sequence !== this.sequence + 1) return false;
    this.#add(record);
    return true;
  }

  /** The next leader has found all records up to this one: then they are certain. */
  #extendTo(sequence: number, name: string): void {
    const counts = this.#counts;
    const last = this.#reigns.at(-1);
    const known = this.sequence;
    counts.holds("lost", sequence >= known, () => `${name} has ${sequence} of ${known} records`);
    while (this.sequence < sequence) {
      const next = last?.recordAt(this.sequence + 1);
      counts.holds("records", next !== undefined, () => {
        return `${name} has record ${this.sequence + 1}, which nobody appended`;
      });
      this.#add(next!);
      counts.add("a record was found that was not acknowledged");
    }
    if ((last?.last ?? 0) > sequence) counts.add("records that nobody saw were lost");
  }

  #add(kept: Kept): void {
    this.#records.push(kept);
    applyTo(this.#state, kept, this.sequence);
  }

  /** The state after the first records. */
  #stateAt(sequence: number): State {
    const state = new State();
    const records = this.#records.slice(0, sequence);
    for (const [index, kept] of records.entries()) applyTo(state, kept, index + 1);
    return state;
  }
}

function applyTo(state: State, { timeMs, record }: Kept, sequence: number): void {
  noteSequence(state, sequence, record);
  apply(state, record, timeMs, sequence);
}

/** The records of one host while it leads, or believes so. */
export class Reign implements Observer {
  readonly name: string;
  readonly #truth: Truth;
  readonly #counts: Counts;
  readonly #records: Kept[] = [];
  /** True while it leads; before, it sees the records of others. */
  #isLeading = false;
  #segment = 0;
  #base = 0;
  /** Of the last record. */
  #timeMs = 0;
  #told = 0;

  constructor(name: string, truth: Truth, counts: Counts) {
    this.name = name;
    this.#truth = truth;
    this.#counts = counts;
  }

  /** The number of the segment it began. */
  get segment(): number {
    return this.#segment;
  }

  /** The records before its first one. */
  get base(): number {
    return this.#base;
  }

  /** The sequence number of its last record. */
  get last(): number {
    return this.#base + this.#records.length;
  }

  recordAt(sequence: number): Kept | undefined {
    return this.#records[sequence - this.#base - 1];
  }

  lead(segment: number, base: number, timeMs: number): void {
    this.#isLeading = true;
    this.#segment = segment;
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
