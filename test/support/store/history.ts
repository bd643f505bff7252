/** The records of a random workload, and the state after each of them. */
import { apply } from "../../../engine/apply.ts";
import { State } from "../../../engine/state.ts";
import { digest } from "../../../engine/verify/digest.ts";
import { Workload } from "../../sim/workload/workload.ts";
import type { KeptRecord } from "../engine.ts";

export class History {
  readonly records: readonly KeptRecord[];
  readonly #digests = new Map<number, string>();

  constructor(seed: number, steps: number) {
    const workload = new Workload(seed);
    for (let step = 0; step < steps; step++) workload.step();
    this.records = workload.bench.journal.kept;
  }

  /** Cost: O(records before) the first time. */
  stateAt(sequence: number): State {
    const state = new State();
    for (const { record, timeMs } of this.records.slice(0, sequence)) apply(state, record, timeMs);
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
