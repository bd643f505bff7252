/** The journal of a server under test, in memory. Recent changes are kept of it, as of a log. */
import type { Observer } from "../../../engine/ports.ts";
import type { LogRecord } from "../../../engine/records.ts";
import type { State } from "../../../engine/state.ts";
import { RecentChanges } from "../../../persistence/changes/recent-changes.ts";
import { MemoryJournal } from "../engine.ts";
import { keepBatch } from "./recent.ts";

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
