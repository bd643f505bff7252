/** The records of a random workload, and the state after each of them. */
import { apply } from "../../../engine/apply.ts";
import { State } from "../../../engine/state.ts";
import { digest } from "../../../engine/verify/digest.ts";
import { Workload } from "../../sim/workload/workload.ts";
import type { KeptRecord } from "../engine.ts";

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
