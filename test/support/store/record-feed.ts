/** Feeds a store with given records, like an engine that decides them. */
import { noteSequence } from "../../../engine/affected-partitions.ts";
import { apply } from "../../../engine/apply.ts";
import { Admission, LogSpace, type TooLong } from "../../../engine/ports.ts";
import type { OpenStore } from "../../../persistence/store/open-store.ts";
import type { KeptRecord } from "../engine.ts";

export class RecordFeed {
  /** The last record that was appended. */
  sequence: number;
  readonly #store: OpenStore;
  readonly #records: readonly KeptRecord[];

  /** @param onDurable - Called instead of the engine, which does not know these records. */
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

  /** Appends and applies the next record. @returns Whether the log accepted it. */
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
