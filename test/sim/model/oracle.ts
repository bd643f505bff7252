/**
 * Checks a store against the records appended by its processes, a state built from records only,
 * the model, and the answers to clients. After a crash all of them are cut back to the recovered
 * records, and must agree.
 */
import { apply, noteSequence } from "../../../engine/apply.ts";
import { Move } from "../../../engine/inventory/states.ts";
import type { Observer } from "../../../engine/ports.ts";
import { type LogRecord, RecordType } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import type { StateReport } from "../../../persistence/store/open-state.ts";
import type { Life } from "../life.ts";
import { differences } from "./compare.ts";
import type { InvariantName, Tally } from "./invariants.ts";
import { Model } from "./model.ts";
import { MoveAudit } from "./move-audit.ts";
import { isRowOf, type KeptReply } from "./replies.ts";
import { cloneState, stateDifference } from "./same-state.ts";

interface Kept {
  readonly timeMs: number;
  readonly record: LogRecord;
}

interface Act {
  /** The last record at the time of the state. */
  readonly sequence: number;
  readonly act: (model: Model) => void;
}

export class Oracle implements Observer {
  readonly tally: Tally;
  /** The model of the current process. */
  model = new Model();
  life: Life | null = null;
  /** The highest sequence number behind an answer. */
  acknowledged = 0;
  /** By key of the catalog, oldest first: a key may be reused after a day. */
  readonly #replies = new Map<string, KeptReply[]>();
  #told = 0;
  #epoch = 0;
  #base = 0;
  /** At `#base`. */
  readonly #state = new State();
  #stable = new Model();
  #records: Kept[] = [];
  #turns: number[] = [];
  #acts: Act[] = [];
  /** States built from records only, by sequence number, until the next record. */
  readonly #expected = new Map<number, State>();
  readonly #audit: MoveAudit;

  constructor(tally: Tally) {
    this.tally = tally;
    this.#audit = new MoveAudit(tally);
  }

  /** The sequence number of the last record. */
  get sequence(): number {
    return this.#base + this.#records.length;
  }

  /** The time of the last record. */
  get timeMs(): number {
    return this.#records.at(-1)?.timeMs ?? this.#baseTimeMs;
  }
  #baseTimeMs = 0;

  recordsSince(sequence: number): LogRecord[] {
    return this.#records.slice(sequence - this.#base).map(({ record }) => record);
  }

  beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    const { tally } = this;
    tally.holds("I7", sequence === this.sequence + 1, () => `${sequence} after ${this.sequence}`);
    tally.holds("I12", timeMs >= this.timeMs, () => `record ${sequence}: ${timeMs}`);
    if (record.type === RecordType.MOVE) {
      this.#audit.move(this.life!.state, record, timeMs);
      if (record.move === Move.EXPIRE) tally.count("a hold ran out");
    } else if (record.type === RecordType.CART) {
      this.#audit.cart(this.life!.state, record, timeMs);
      tally.count("a cart was written");
    } else this.#audit.isStale = true;
    this.#records.push({ timeMs, record });
    this.#expected.clear();
  }

  durable(sequence: number): void {
    const { tally } = this;
    const isHealthy = this.life?.failure === null;
    tally.holds("I15", isHealthy, () => `${sequence} became durable after the log failed`);
    tally.holds("I15", sequence <= this.sequence && sequence > this.#told, () => `${sequence}`);
    this.#told = sequence;
    this.acknowledged = Math.max(this.acknowledged, sequence);
  }

  /** A client gets an answer about the state at `sequence`. */
  answered(sequence: number): void {
    const { tally } = this;
    tally.holds("I15", this.life?.failure === null, () => "an answer after the log failed");
    tally.holds("I15", sequence <= this.#told, () => `${sequence} answered, ${this.#told} durable`);
    this.acknowledged = Math.max(this.acknowledged, sequence);
  }

  /** The reply to the first request with a key. */
  replyTo(key: string): KeptReply | undefined {
    return this.#replies.get(key)?.at(-1);
  }

  /** The last reply of each key. */
  get replies(): ReadonlyMap<string, KeptReply> {
    return new Map([...this.#replies].map(([key, all]) => [key, all.at(-1)!]));
  }

  replied(key: string, reply: KeptReply): void {
    const before = this.#replies.get(key) ?? [];
    this.#replies.set(key, [...before, reply]);
  }

  /** All records of a request, or of a sweep, are appended. */
  turnEnded(): void {
    if (this.#turns.at(-1) !== this.sequence) this.#turns.push(this.sequence);
  }

  acted(act: (model: Model) => void): void {
    this.#acts.push({ sequence: this.sequence, act });
  }

  /** Compares the whole state of the process with the model. */
  compare(): void {
    const { state } = this.life!.engine;
    const { events } = state.catalog;
    const [found, known] = [events.size, this.model.events.size];
    this.tally.holds("I5", found === known, () => `${found} events, ${known} in the model`);
    for (const [eventId, event] of this.model.events) {
      const [difference] = differences(state, eventId, event);
      this.tally.count("events compared with the model");
      if (difference === undefined) continue;
      this.tally.holds(invariantOf(difference), false, () => `event ${eventId}: ${difference}`);
    }
    for (const name of ["I2", "I9", "I10", "I11"] as const) this.tally.count(name);
  }

  /** A recovered process has everything, and nothing partially. */
  recovered(life: Life): void {
    const { report } = life;
    this.life = life;
    const { tally } = this;
    this.#checkEnd(life);
    tally.holds("I7", report.epoch >= this.#epoch, () => `epoch ${report.epoch}`);
    this.#epoch = report.epoch + 1;
    this.#cutTo(report.sequence);
    this.#checkState(this.#state, life.state);
    tally.holds(
      "I12",
      life.engine.nowMs() >= this.#baseTimeMs,
      () => "the clock is behind the log",
    );
    this.#audit.restart(this.#state);
    this.compare();
    this.#checkReplies(life);
  }

  /**
   * The same as `recovered`, for a process whose start will be undone.
   * @param before - The report of an earlier start from the same disk; null for none.
   */
  tried(life: Life, before: StateReport | null): void {
    const { sequence, epoch } = life.report;
    this.#checkEnd(life);
    if (before !== null) {
      const { tally } = this;
      const isSame = sequence === before.sequence;
      tally.holds("I3", isSame, () => `${sequence} recovered, ${before.sequence} before`);
      tally.holds("I7", epoch > before.epoch, () => `epoch ${epoch} after ${before.epoch}`);
      tally.count("a recovery was followed by a second one");
    }
    this.#checkState(this.#expectedAt(sequence), life.state);
  }

  #expectedAt(sequence: number): State {
    let expected = this.#expected.get(sequence);
    if (expected !== undefined) return expected;
    expected = cloneState(this.#state);
    this.#applyUpTo(expected, sequence);
    this.#expected.set(sequence, expected);
    return expected;
  }

  #applyUpTo(state: State, last: number) {
    const kept = this.#records.slice(0, last - this.#base);
    for (const [i, { timeMs, record }] of kept.entries()) {
      const sequence = this.#base + i + 1;
      noteSequence(state, sequence, record);
      apply(state, record, timeMs, sequence);
    }
    return kept;
  }

  #checkEnd({ report: { sequence } }: Life): void {
    const { tally, acknowledged } = this;
    tally.holds("I3", sequence >= acknowledged, () => `${sequence} of ${acknowledged} recovered`);
    tally.holds("I4", sequence <= this.sequence, () => `${sequence}, there were ${this.sequence}`);
    const isWhole = sequence === this.#base || this.#turns.includes(sequence);
    tally.holds("I6", isWhole, () => `${sequence} is in the middle of a request`);
  }

  #checkState(expected: State, found: State): void {
    const difference = stateDifference(expected, found);
    this.tally.holds("I5", difference === null, () => difference!);
  }

  #cutTo(sequence: number): void {
    const kept = this.#applyUpTo(this.#state, sequence);
    this.#baseTimeMs = kept.at(-1)?.timeMs ?? this.#baseTimeMs;
    for (const act of this.#acts) if (act.sequence <= sequence) act.act(this.#stable);
    if (kept.length < this.#records.length) this.tally.count("records that nobody saw were lost");
    this.#expected.clear();
    this.#base = sequence;
    this.#told = sequence;
    this.#records = [];
    this.#turns = [];
    this.#acts = [];
    this.model = this.#stable.clone();
    this.acknowledged = sequence;
    for (const [key, replies] of this.#replies) {
      const left = replies.filter((reply) => reply.sequence <= sequence);
      if (left.length > 0) this.#replies.set(key, left);
      else this.#replies.delete(key);
    }
  }

  /** A reply exists exactly if its effect does. */
  #checkReplies(life: Life): void {
    const { replies } = life.state.catalog;
    for (const key of this.#replies.keys()) {
      const row = replies.get(key);
      const reply = this.replyTo(key)!;
      const isOver = row === undefined && reply.expiresAtMs <= this.#baseTimeMs;
      if (isOver) this.#replies.delete(key);
      else this.tally.holds("I13", isRowOf(row, reply), () => `the reply to ${key}`);
      if (row?.bodyLength !== undefined) life.replies.add(key, reply.body);
    }
    for (const key of replies.keys()) {
      const isKnown = this.#replies.has(key);
      this.tally.holds("I6", isKnown, () => `a reply to ${key}, whose request is not there`);
    }
  }
}

/** The invariant violated by a difference. */
function invariantOf(difference: string): InvariantName {
  if (difference.startsWith("places of area")) return "I2";
  if (difference.startsWith("hold of")) return "I11";
  if (difference.startsWith("price of")) return "I10";
  if (difference.startsWith("time of")) return "I12";
  return "I9";
}
