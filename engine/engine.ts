/**
 * The engine: decides commands, applies their records, hands them to the journal, and says when
 * what was decided is on disk. Single-threaded and synchronous; nothing here waits.
 *
 * Ordering: a command's record is applied and appended before the next command is decided, so the
 * order of the log is the order of the decisions. Whoever sends an outcome must first wait with
 * `afterDurable`, for refusals and reads too: what is observed must be as durable as what is
 * acknowledged.
 */
import { apply } from "./apply.ts";
import { assert, Broken } from "./assert.ts";
import type { EventRow } from "./catalog.ts";
import type { CommandKind, CommandOf } from "./commands.ts";
import { NONE } from "./constants.ts";
import { type AnswerOf, decide } from "./decide.ts";
import { expireHold } from "./decide/expiry.ts";
import { Admission, type Clock, type Journal } from "./ports.ts";
import type { LogRecord } from "./records.ts";
import { type Refusal, refuse, Result } from "./results.ts";
import type { State } from "./state.ts";
import { Waiting } from "./waiting.ts";

export type Outcome<Value> = Refusal | Granted<Value>;

/** A `Grant` as the caller sees it. */
export interface Granted<Value> {
  readonly refused: typeof Result.OK;
  readonly value: Value;
}

const REFUSED_OVERLOADED = refuse(
  Result.OVERLOADED,
  "Too much is waiting for the disk; try again.",
);
const REFUSED_UNAVAILABLE = refuse(
  Result.LOG_UNAVAILABLE,
  "The log has no room for changes just now; reads go on.",
);

/** The members of a command that say at which events it looks. */
interface Scope {
  readonly eventId: string;
  readonly schemaId: number;
  readonly organizationId: number;
}

/** Where a log ended, as recovery found it. */
export interface Position {
  readonly sequence: number;
  readonly timeMs: number;
}

export class Engine {
  readonly state: State;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #waiting: Waiting;
  #sequence: number;
  #timeMs: number;
  #isHalted = false;

  /** @param position - Where `state` stands: everything up to it is on disk. */
  constructor(state: State, position: Position, ports: { clock: Clock; journal: Journal }) {
    this.state = state;
    this.#clock = ports.clock;
    this.#journal = ports.journal;
    this.#sequence = position.sequence;
    this.#timeMs = position.timeMs;
    this.#waiting = new Waiting(position.sequence);
    this.#journal.durable = (sequence) => this.#waiting.durable(sequence);
  }

  /** The sequence number of the last record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Whether a mutation would be taken now. */
  get isWritable(): boolean {
    return this.#journal.admission() === Admission.OPEN;
  }

  /** Whether a record could not be kept or applied, so that memory and log may differ. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** The service clock; never steps back. */
  nowMs(): number {
    this.#timeMs = Math.max(this.#timeMs, this.#clock.nowMs());
    return this.#timeMs;
  }

  /**
   * Decides a command and applies what it comes to. Holds of its events that have run out end
   * first, each by a record of its own, so no rule needs to know of time.
   */
  submit<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    return this.#closed() ?? this.submitAlong(command);
  }

  /**
   * As `submit`, for what belongs to a command that was granted in the same turn: the journal took
   * that one, so it takes this one too.
   */
  submitAlong<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    assert(!this.#isHalted, "the engine goes on only while memory and log agree");
    const timeMs = this.nowMs();
    this.#expireFor(command, timeMs);
    const decision = decide(this.state, command, timeMs);
    if (decision.refused === Result.OK && decision.record !== null) {
      this.#write(decision.record, timeMs);
    }
    return decision;
  }

  /** Ends the event's holds that have run out; to be called before its inventory is read. */
  expire(event: EventRow): void {
    if (this.#closed() === null) this.#expirePartition(event.partition, this.nowMs());
  }

  /** Ends all holds that have run out, wherever. Cost: O(events + what ends). */
  expireAll(): void {
    if (this.#closed() !== null) return;
    const timeMs = this.nowMs();
    for (const number of this.state.partitions.keys()) this.#expirePartition(number, timeMs);
  }

  /**
   * Calls back once everything that has happened so far is on disk, at once when it is already.
   * Callbacks run in the order in which they were given.
   */
  afterDurable(callback: () => void): void {
    this.#waiting.add(this.#sequence, callback);
  }

  #closed(): Refusal | null {
    assert(!this.#isHalted, "the engine goes on only while memory and log agree");
    const admission = this.#journal.admission();
    if (admission === Admission.OPEN) return null;
    return admission === Admission.OVERLOADED ? REFUSED_OVERLOADED : REFUSED_UNAVAILABLE;
  }

  /** Ends what has run out in the events that the command looks at. */
  #expireFor(command: object, timeMs: number): void {
    const { eventId, schemaId, organizationId } = command as Partial<Scope>;
    const { events } = this.state.catalog;
    if (eventId !== undefined) {
      const event = events.get(eventId);
      if (event !== undefined) this.#expirePartition(event.partition, timeMs);
    }
    if (schemaId === undefined && organizationId === undefined) return;
    for (const event of events.values()) {
      const isMeant = event.schemaId === schemaId || event.organizationId === organizationId;
      if (isMeant) this.#expirePartition(event.partition, timeMs);
    }
  }

  #expirePartition(number: number, timeMs: number): void {
    const partition = this.state.partitions.get(number);
    assert(partition !== undefined, "every event has its partition");
    for (
      let slot = partition.holds.due(timeMs);
      slot !== NONE;
      slot = partition.holds.due(timeMs)
    ) {
      this.#write(expireHold(number, partition, slot), timeMs);
    }
  }

  /**
   * A record that cannot be kept or applied leaves memory and log apart: nothing is decided or
   * changed any more after it. What was appended before is safe.
   */
  #write(record: LogRecord, timeMs: number): void {
    try {
      this.#journal.append(this.#sequence + 1, timeMs, record);
      this.#sequence += 1;
      apply(this.state, record, timeMs);
    } catch (error) {
      this.#isHalted = true;
      throw error instanceof Broken ? error : new Broken("a record is kept and applied", error);
    }
  }
}
