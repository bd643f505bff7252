/** The records of a random workload, and the state after each of them. */
import { apply, noteSequence } from "../../engine/apply.ts";
import { Admission, LogSpace, type Observer, type TooLong } from "../../engine/ports.ts";
import type { LogRecord } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { digest } from "../../engine/verify.ts";
import { RecentChanges } from "../../persistence/history/recent-changes.ts";
import type {
  FromWorker,
  Program,
  Thread,
  ThreadEvents,
  ThreadPort,
  ToWorker,
  Transferable,
} from "../../persistence/disk/worker.ts";
import { ByteWriter } from "../../persistence/log/bytes.ts";
import { encodeRecord } from "../../persistence/log/codec.ts";
import type { OpenStore } from "../../persistence/store/open-store.ts";
import { Workload } from "../sim/workload/workload.ts";
import { ProcessDied } from "./disk/process-disk.ts";
import { type KeptRecord, MemoryJournal } from "./engine.ts";

export class History {
  readonly records: readonly KeptRecord[];
  readonly #digests = new Map<number, string>();

  /** @param recordCount - At least so many records; the last request may write more than one. */
  constructor(seed: number, recordCount: number) {
    const workload = new Workload(seed);
    const { journal } = workload.bench;
    while (journal.kept.length < recordCount) workload.step();
    this.records = journal.kept;
  }

  /** Cost: O(records before) the first time. */
  stateAt(sequence: number): State {
    const state = new State();
    for (const { sequence: number, record, timeMs } of this.records.slice(0, sequence)) {
      apply(state, record, timeMs, number);
    }
    return state;
  }

  digestAt(sequence: number): string {
    let found = this.#digests.get(sequence);
    if (found === undefined) {
      found = digest(this.stateAt(sequence));
      this.#digests.set(sequence, found);
    }
    return found;
  }
}

// Runs the program of a thread in the thread of the test. Messages arrive in order and in a later
// turn than they were sent in; the test decides when.

export interface LocalThreadOptions<Message, Answer> {
  readonly serve: (port: ThreadPort<Message>) => void;
  readonly events: ThreadEvents<Answer>;
  readonly later: (task: () => void) => void;
  /** Messages are copied, or moved, as between threads. */
  readonly copies?: boolean;
}

/** A worker in the thread of the test. */
export type LocalWorker<P extends Program> = LocalThread<ToWorker<P>, FromWorker<P>>;

export class LocalThread<Message, Answer> implements Thread<Message> {
  /** The thread has ended; it can only throw `ProcessDied` now. */
  hasEnded = false;
  readonly #options: LocalThreadOptions<Message, Answer>;
  readonly #inbox: Message[] = [];
  readonly #outbox: Answer[] = [];
  #receive: (message: Message) => void = () => {};
  #close: () => void = () => {};
  /** Messages waiting to be handled. */
  #arrived = 0;
  #isBusy = false;

  constructor(options: LocalThreadOptions<Message, Answer>) {
    this.#options = options;
    options.serve({
      on: (event, listener) => {
        if (event === "message") this.#receive = listener;
        else this.#close = listener as () => void;
      },
      postMessage: (answer, transfer) => this.#answer(this.#sent(answer as Answer, transfer)),
      close: () => this.#exit(),
    });
  }

  post(message: Message, transfer?: readonly Transferable[]): void {
    this.#inbox.push(this.#sent(message, transfer));
    this.#options.later(() => {
      this.#arrived += 1;
      this.#work();
    });
  }

  keepAlive(): void {}

  terminate(): Promise<void> {
    this.release();
    this.#exit();
    return Promise.resolve();
  }

  /** Ends the thread without notice, like the end of its process; open files are closed. */
  release(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (!this.#isBusy) this.#guard(() => this.#close());
  }

  #sent<Value>(message: Value, transfer: readonly Transferable[] = []): Value {
    const isCopied = this.#options.copies === true;
    return isCopied ? structuredClone(message, { transfer: [...transfer] }) : message;
  }

  #answer(answer: Answer): void {
    this.#outbox.push(answer);
    this.#options.later(() => this.#options.events.message(this.#outbox.shift()!));
  }

  #exit(): void {
    this.hasEnded = true;
    this.#options.later(() => this.#options.events.exit());
  }

  /** Handles one message after the other, including later ones. */
  #work(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (; this.#arrived > 0 && !this.hasEnded; this.#arrived -= 1) {
      this.#guard(() => this.#receive(this.#inbox.shift()!));
    }
    this.#isBusy = false;
    if (this.hasEnded) this.#guard(() => this.#close());
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof ProcessDied) return;
      const { later, events } = this.#options;
      later(() => events.error(error as Error));
      this.#exit();
    }
  }
}

// The journal of a server under test, in memory. Recent changes are kept of it, as of a log.

/** Records become durable in the next microtask, unless `withholds` is set. */
export class PromptJournal extends MemoryJournal {
  withholds = false;
  readonly recent: RecentChanges;
  #synced = 0;

  constructor(recentBytes?: number) {
    super();
    this.recent = new RecentChanges(recentBytes);
  }

  override begin(state: State): Observer {
    this.recent.begin(state, 0);
    return this.recent;
  }

  override sync(sequence = this.kept.length): void {
    keepBatch(this.recent, this.kept.slice(this.#synced, sequence));
    this.#synced = Math.max(this.#synced, sequence);
    super.sync(sequence);
  }

  protected override keep(sequence: number, timeMs: number, record: LogRecord): void {
    super.keep(sequence, timeMs, record);
    queueMicrotask(() => {
      if (!this.withholds) this.sync();
    });
  }
}

// Recent changes, fed from a journal in memory as the log feeds them.

/** A batch of the log is on disk. */
export function keepBatch(recent: RecentChanges, records: readonly KeptRecord[]): void {
  const [first] = records;
  if (first === undefined) return;
  const out = new ByteWriter(64);
  for (const { timeMs, record } of records) encodeRecord(out, timeMs, record);
  recent.keep(Buffer.from(out.bytes.subarray(0, out.length)), first.sequence, records.length);
}

// Feeds a store with given records in place of an engine.

export class RecordFeed {
  /** The last appended record. */
  sequence: number;
  readonly #store: OpenStore;
  readonly #records: readonly KeptRecord[];

  /** @param onDurable - Called instead of the engine; it does not know these records. */
  constructor(
    store: OpenStore,
    records: readonly KeptRecord[],
    onDurable: (sequence: number) => void,
  ) {
    this.sequence = store.report.sequence;
    this.#store = store;
    this.#records = records;
    store.journal.durable = (sequence) => {
      onDurable(sequence);
      store.snapshots.durable();
    };
  }

  /** Appends and applies the next record. @returns False when the log refuses it. */
  append(): Admission | TooLong {
    const { journal, snapshots, engine } = this.#store;
    const admission = journal.admission();
    if (admission !== Admission.OPEN) return admission;
    const { record, timeMs } = this.#records[this.sequence]!;
    const next = this.sequence + 1;
    const accepted = journal.append(next, timeMs, record, LogSpace.GENERAL);
    if (accepted !== Admission.OPEN) return accepted;
    snapshots.beforeApply(next, timeMs, record);
    this.sequence = next;
    noteSequence(engine.state, next, record);
    apply(engine.state, record, timeMs, next);
    return accepted;
  }
}
