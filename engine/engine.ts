/**
 * The engine: decides commands, appends their records to the journal, applies them, and reports
 * their durability. Single-threaded and synchronous; nothing here waits.
 *
 * Ordering: a record is appended and applied before the next command is decided, so the log has the
 * order of the decisions. Before sending an outcome, even a refusal or the result of a read, the
 * caller must wait with `afterDurable`: a client must never observe a change a crash could undo.
 */
import { apply, noteSequence } from "./apply.ts";
import { assert, Broken } from "./assert.ts";
import { expireHold } from "./extend.ts";
import { eventIdsOf } from "./cart.ts";
import { nextDoorRecord } from "./door.ts";
import type { EventRow } from "./catalog.ts";
import { type AnswerOf, type CommandKind, type CommandOf, decide } from "./commands.ts";
import { NONE } from "./constants.ts";
import {
  Admission,
  type Clock,
  type EnginePorts,
  type Journal,
  LogSpace,
  type Observer,
  type TooLong,
} from "./ports.ts";
import type { LogRecord } from "./records.ts";
import { type Decision, type Grant, type Refusal, refuse, Result } from "./results.ts";
import type { State } from "./state.ts";

// Callbacks waiting for a durable sequence number, in order.

/** Called entries are removed from the arrays in batches of this size. */
const COMPACT_ENTRIES = 1_024;

export class DurabilityQueue {
  /** The highest sequence number on disk. */
  #durable: number;
  /** Two columns of one queue. Entries before `#head` have been called. */
  readonly #sequences: number[] = [];
  readonly #callbacks: (() => void)[] = [];
  #head = 0;

  /** @param durable - The highest sequence number on disk. */
  constructor(durable: number) {
    this.#durable = durable;
  }

  /** Calls back once `sequence` is on disk: immediately if it already is. */
  add(sequence: number, callback: () => void): void {
    // A waiting entry comes first, even while `durable` is calling earlier ones.
    if (sequence <= this.#durable && this.#head === this.#sequences.length) {
      callback();
      return;
    }
    const latest = this.#sequences.at(-1) ?? 0;
    assert(sequence >= latest, "entries are added in order of sequence number");
    this.#sequences.push(sequence);
    this.#callbacks.push(callback);
  }

  /** Every record up to `sequence` is on disk. */
  durable(sequence: number): void {
    assert(sequence >= this.#durable, "the durable mark never goes back");
    this.#durable = sequence;
    while (this.#head < this.#sequences.length && this.#sequences[this.#head]! <= sequence) {
      const callback = this.#callbacks[this.#head]!;
      this.#head += 1;
      callback();
    }
    assert(this.#callbacks.length === this.#sequences.length, "every entry has its callback");
    if (this.#head < COMPACT_ENTRIES && this.#head < this.#sequences.length) return;
    this.#sequences.splice(0, this.#head);
    this.#callbacks.splice(0, this.#head);
    this.#head = 0;
  }
}

/** A `Grant` as the caller sees it. */
export type Granted<Value> = Omit<Grant<Value>, "record" | "more">;

export type Outcome<Value> = Refusal | Granted<Value>;

const REFUSALS = {
  [Admission.OVERLOADED]: refuse(Result.OVERLOADED, "Too much is waiting for the disk; try again."),
  [Admission.UNAVAILABLE]: refuse(
    Result.LOG_UNAVAILABLE,
    "The log has no room for changes at the moment; reads continue.",
  ),
};

/** A command on inventory names its event, or all its events, by one of these members. */
interface Scope {
  readonly eventId: string;
  readonly schemaId: number;
  readonly organizationId: number;
}

/** A position in the log. */
export interface Position {
  /** Of the last record; 0 before the first. */
  readonly sequence: number;
  /** Milliseconds since 1970: the time of the record. */
  readonly timeMs: number;
}

export class Engine {
  readonly state: State;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #observer: Observer | undefined;
  readonly #confirm: EnginePorts["confirm"];
  readonly #durabilityQueue: DurabilityQueue;
  /** Of the last record. */
  #sequence: number;
  /** Milliseconds since 1970: the latest reading of the clock. */
  #timeMs: number;
  /** True while the clock is not read. */
  #isTimeStill = false;
  #isHalted = false;

  /** @param position - The last record of the restored `state`; it is on disk. */
  constructor(
    state: State,
    position: Position,
    { clock, journal, observer, confirm }: EnginePorts,
  ) {
    this.state = state;
    this.#clock = clock;
    this.#journal = journal;
    this.#observer = observer;
    this.#confirm = confirm;
    this.#sequence = position.sequence;
    state.sequence = position.sequence;
    this.#timeMs = position.timeMs;
    this.#durabilityQueue = new DurabilityQueue(position.sequence);
    this.#journal.durable = (sequence) => {
      assert(sequence <= this.#sequence, "only appended records become durable");
      observer?.durable(sequence);
      this.#durabilityQueue.durable(sequence);
    };
  }

  /** The sequence number of the last record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** True when a command would be admitted now. */
  get isWritable(): boolean {
    return this.#journal.admission() === Admission.OPEN;
  }

  /** True after a failed append or apply: memory and log may differ. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** The service clock, in milliseconds since 1970; it never steps back. */
  nowMs(): number {
    if (!this.#isTimeStill) this.#timeMs = Math.max(this.#timeMs, this.#clock.nowMs());
    return this.#timeMs;
  }

  /**
   * Reads the clock once for all commands of `act`: a reading costs a tenth of a usual command. A
   * moment within another one is the same.
   */
  atOneTime<T>(act: () => T): T {
    if (this.#isTimeStill) return act();
    this.nowMs();
    this.#isTimeStill = true;
    try {
      return act();
    } finally {
      this.#isTimeStill = false;
    }
  }

  /**
   * Decides a command and applies its record. Expired holds of its events are ended first, each by
   * a record of its own, so the rules of a command need not consider time.
   */
  submit<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    return this.#refusalNow() ?? this.#execute(command, LogSpace.GENERAL);
  }

  /**
   * Like `submit`, for the completion of a command granted in the same turn. It skips admission,
   * because the journal has a reserve for it. It is refused only when the reserve is too small.
   */
  submitFollowUp<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    assert(!this.#isHalted, "a halted engine takes no commands");
    return this.#execute(command, LogSpace.RESERVE);
  }

  /**
   * The answer of `submit` now. Ends expired holds first, as `expire` does, and writes nothing
   * else. A record too large for the space of the log goes unnoticed.
   */
  check<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    const refusal = this.#refusalNow();
    return refusal ?? this.#decide(command, this.nowMs(), LogSpace.GENERAL);
  }

  /**
   * Ends the expired holds of an event, before a read of its inventory. A later call ends holds
   * without space in the log now.
   */
  expire(event: EventRow): void {
    if (this.#refusalNow() !== null) return;
    this.#expireHolds(event.partition, this.nowMs(), LogSpace.GENERAL);
  }

  /**
   * Like `expire`, for all events. Cost: O(events + expired holds).
   *
   * @param holdsMax - Holds to end, at most.
   * @returns True when it ended so many; then others may be left.
   */
  expireAll(holdsMax = Infinity): boolean {
    const timeMs = this.nowMs();
    const last = this.#sequence + holdsMax;
    for (const number of this.state.partitions.keys()) {
      if (this.#refusalNow() !== null) return false;
      if (this.#expireHolds(number, timeMs, LogSpace.GENERAL, last) !== null) return false;
      if (this.#sequence >= last) return true;
    }
    return false;
  }

  /**
   * Ends the invitations and admissions whose time has come, and invites at the rate of each door.
   * To be called several times a second. Cost: O(doors + visitors whose state changes).
   */
  serveDoors(): void {
    for (const number of this.state.doors.keys()) this.serveDoor(number);
  }

  /** As `serveDoors`, for one door. @param number - Of the partition of its event. */
  serveDoor(number: number): void {
    const timeMs = this.nowMs();
    while (this.#refusalNow() === null) {
      const record = nextDoorRecord(this.state, number, timeMs);
      if (record === null || this.#write(record, timeMs, LogSpace.GENERAL) !== null) return;
    }
  }

  /**
   * Does a step of the migrations left by changes of layouts.
   *
   * @returns True while more remains.
   */
  settle(): boolean {
    return this.state.partitions.settleStep();
  }

  /**
   * Calls back once every record so far is on disk: at once if they are, unless a confirmation is
   * needed. Callbacks run in order.
   */
  afterDurable(callback: () => void): void {
    const sequence = this.#sequence;
    if (this.#confirm === undefined) this.#durabilityQueue.add(sequence, callback);
    else this.#confirm(() => this.#durabilityQueue.add(sequence, callback));
  }

  #refusalNow(): Refusal | null {
    assert(!this.#isHalted, "a halted engine takes no commands");
    const admission = this.#journal.admission();
    return admission === Admission.OPEN ? null : REFUSALS[admission];
  }

  #execute<K extends CommandKind>(command: CommandOf<K>, space: LogSpace): Outcome<AnswerOf<K>> {
    const timeMs = this.nowMs();
    const decision = this.#decide(command, timeMs, space);
    if (decision.refused !== Result.OK || decision.record === null) return decision;
    const { record, more } = decision;
    const refusal =
      more === undefined
        ? this.#write(record, timeMs, space)
        : this.#writeAll([record, ...more], timeMs, space);
    return refusal ?? decision;
  }

  #decide<K extends CommandKind>(
    command: CommandOf<K>,
    timeMs: number,
    space: LogSpace,
  ): Decision<AnswerOf<K>> {
    const refusal = this.#expireHoldsFor(command, timeMs, space);
    return refusal ?? decide(this.state, command, timeMs);
  }

  /** Ends the expired holds of every event of the command. */
  #expireHoldsFor<K extends CommandKind>(
    command: CommandOf<K>,
    timeMs: number,
    space: LogSpace,
  ): Refusal | null {
    const { events } = this.state.catalog;
    const { eventId } = command as Partial<Scope>;
    if (eventId !== undefined) {
      const event = events.get(eventId);
      return event === undefined ? null : this.#expireHolds(event.partition, timeMs, space);
    }
    for (const event of eventsOf(events, command)) {
      const refusal = this.#expireHolds(event.partition, timeMs, space);
      if (refusal !== null) return refusal;
    }
    return null;
  }

  /**
   * @param number - Of the partition.
   * @param last - The sequence number after which no other hold is ended.
   * @returns The refusal of the journal; null for none.
   */
  #expireHolds(number: number, timeMs: number, space: LogSpace, last = Infinity): Refusal | null {
    if (!this.state.partitions.hasDue(number, timeMs) || this.state.isFrozen(number)) return null;
    const partition = this.state.partitionAt(number);
    const { holds } = partition;
    let slot = holds.due(timeMs);
    while (slot !== NONE && this.#sequence < last) {
      const { count } = holds;
      const refusal = this.#write(expireHold(number, partition, slot), timeMs, space);
      if (refusal !== null) return refusal;
      assert(holds.count === count - 1, "an expiry ends one hold");
      slot = holds.due(timeMs);
    }
    return null;
  }

  /**
   * Appends the record and applies it. A refused record changes nothing. An error may leave memory
   * and log apart, so it halts the engine; everything appended before is safe.
   *
   * @returns The refusal of the journal; null after a write.
   */
  #write(record: LogRecord, timeMs: number, space: LogSpace): Refusal | null {
    try {
      const admission = this.#journal.append(this.#sequence + 1, timeMs, record, space);
      if (admission !== Admission.OPEN) return refusalOf(admission);
      this.#apply(record, timeMs);
      return null;
    } catch (error) {
      return this.#halt(error);
    }
  }

  /** As `#write`: all records, or none. */
  #writeAll(records: readonly LogRecord[], timeMs: number, space: LogSpace): Refusal | null {
    try {
      const admission = this.#journal.appendAll(this.#sequence + 1, timeMs, records, space);
      if (admission !== Admission.OPEN) return refusalOf(admission);
      for (const record of records) this.#apply(record, timeMs);
      return null;
    } catch (error) {
      return this.#halt(error);
    }
  }

  #apply(record: LogRecord, timeMs: number): void {
    this.#observer?.beforeApply(this.#sequence + 1, timeMs, record);
    this.#sequence += 1;
    this.state.sequence = this.#sequence;
    noteSequence(this.state, this.#sequence, record);
    apply(this.state, record, timeMs, this.#sequence);
  }

  #halt(error: unknown): never {
    this.#isHalted = true;
    throw error instanceof Broken ? error : new Broken("a record is appended and applied", error);
  }
}

/** Events of a command that names several by one member. */
function eventsOf<K extends CommandKind>(
  events: ReadonlyMap<string, EventRow>,
  command: CommandOf<K>,
): readonly EventRow[] {
  if (command.kind === "cart") {
    const ids = eventIdsOf((command as object as CommandOf<"cart">).body);
    return ids.flatMap((id) => events.get(id) ?? []);
  }
  const { schemaId, organizationId } = command as Partial<Scope>;
  if (schemaId === undefined && organizationId === undefined) return [];
  return [...events.values()].filter((event) => {
    return event.schemaId === schemaId || event.organizationId === organizationId;
  });
}

function refusalOf(admission: Exclude<Admission, typeof Admission.OPEN> | TooLong): Refusal {
  return typeof admission === "object" ? refuseTooLong(admission) : REFUSALS[admission];
}

function refuseTooLong({ recordBytes, recordBytesMax }: TooLong): Refusal {
  const detail =
    `The change takes ${recordBytes} bytes in the log, which keeps at most ${recordBytesMax} ` +
    "for one change; nothing was changed.";
  return refuse(Result.PAYLOAD_TOO_LARGE, detail);
}
