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
import { expireHold } from "./decide/booking/expiry.ts";
import { DurabilityQueue } from "./durability-queue.ts";
import { Admission, type Clock, type Journal } from "./ports.ts";
import type { LogRecord } from "./records.ts";
import { type Refusal, refuse, Result } from "./results.ts";
import type { State } from "./state.ts";

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
  readonly #waiting: DurabilityQueue;
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
    this.#waiting = new DurabilityQueue(position.sequence);
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
    return this.#closed() ?? this.#submit(command, false);
  }

  /**
   * As `submit`, for what belongs to a command that was granted in the same turn: the journal left
   * room for it. Refused only when it is longer than that, and finds no other.
   */
  submitFollowUp<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    return this.#submit(command, true);
  }

  #submit<K extends CommandKind>(command: CommandOf<K>, isFollowUp: boolean): Outcome<AnswerOf<K>> {
    assert(!this.#isHalted, "the engine goes on only while memory and log agree");
    const timeMs = this.nowMs();
    const ended = this.#expireFor(command, timeMs, isFollowUp);
    if (ended !== Admission.OPEN) return refusalOf(ended);
    const decision = decide(this.state, command, timeMs);
    if (decision.refused === Result.OK && decision.record !== null) {
      const written = this.#write(decision.record, timeMs, isFollowUp);
      if (written !== Admission.OPEN) return refusalOf(written);
    }
    return decision;
  }

  /**
   * Ends the event's holds that have run out; to be called before its inventory is read. Without
   * room in the log they wait for a later call.
   */
  expire(event: EventRow): void {
    if (this.#closed() === null) this.#expirePartition(event.partition, this.nowMs(), false);
  }

  /** As `expire`, in all events. Cost: O(events + what ends). */
  expireAll(): void {
    if (this.#closed() !== null) return;
    const timeMs = this.nowMs();
    for (const number of this.state.partitions.keys()) {
      if (this.#expirePartition(number, timeMs, false) !== Admission.OPEN) return;
    }
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
    return admission === Admission.OPEN ? null : refusalOf(admission);
  }

  /** Ends what has run out in the events that the command looks at, one hold after the other. */
  #expireFor(command: object, timeMs: number, isFollowUp: boolean): Admission {
    const { eventId, schemaId, organizationId } = command as Partial<Scope>;
    const { events } = this.state.catalog;
    const own = eventId === undefined ? undefined : events.get(eventId);
    if (own !== undefined) {
      const ended = this.#expirePartition(own.partition, timeMs, isFollowUp);
      if (ended !== Admission.OPEN) return ended;
    }
    if (schemaId === undefined && organizationId === undefined) return Admission.OPEN;
    for (const event of events.values()) {
      const isMeant = event.schemaId === schemaId || event.organizationId === organizationId;
      if (!isMeant) continue;
      const ended = this.#expirePartition(event.partition, timeMs, isFollowUp);
      if (ended !== Admission.OPEN) return ended;
    }
    return Admission.OPEN;
  }

  #expirePartition(number: number, timeMs: number, isFollowUp: boolean): Admission {
    const partition = this.state.partitions.get(number);
    assert(partition !== undefined, "every event has its partition");
    for (
      let slot = partition.holds.due(timeMs);
      slot !== NONE;
      slot = partition.holds.due(timeMs)
    ) {
      const written = this.#write(expireHold(number, partition, slot), timeMs, isFollowUp);
      if (written !== Admission.OPEN) return written;
    }
    return Admission.OPEN;
  }

  /**
   * A record that the journal does not take changes nothing. One that breaks on the way leaves
   * memory and log apart: nothing is decided or changed any more after it. What was appended before
   * is safe.
   */
  #write(record: LogRecord, timeMs: number, isFollowUp: boolean): Admission {
    try {
      const admission = this.#journal.append(this.#sequence + 1, timeMs, record, isFollowUp);
      if (admission !== Admission.OPEN) return admission;
      this.#sequence += 1;
      apply(this.state, record, timeMs);
      return admission;
    } catch (error) {
      this.#isHalted = true;
      throw error instanceof Broken ? error : new Broken("a record is kept and applied", error);
    }
  }
}

function refusalOf(admission: Exclude<Admission, typeof Admission.OPEN>): Refusal {
  return admission === Admission.OVERLOADED ? REFUSED_OVERLOADED : REFUSED_UNAVAILABLE;
}
