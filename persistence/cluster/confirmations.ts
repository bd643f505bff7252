/**
 * Answers that wait until etcd has said that this host still leads. One linearizable read serves
 * all answers of a turn, and those that come while it is under way wait for the next one: it must
 * begin after what they answer was read.
 */
import type { Scheduler } from "../disk/scheduler.ts";

export interface ConfirmationsOptions {
  readonly scheduler: Scheduler;
  /** Asks etcd: calls `leads` when this host leads, and `unknown` when there is no answer. */
  readonly ask: (leads: () => void, unknown: () => void) => void;
}

const RETRY_DELAY_MS = 20;

export class Confirmations {
  readonly #options: ConfirmationsOptions;
  #waiting: (() => void)[] = [];
  #isAsking = false;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** Calls back, in order, once etcd has answered a read that began after this call. */
  add(done: () => void): void {
    this.#waiting.push(done);
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#options.scheduler.soon(() => this.#ask());
  }

  #ask(): void {
    const { ask, scheduler } = this.#options;
    const asked = this.#waiting.length;
    const leads = () => {
      const confirmed = this.#waiting.splice(0, asked);
      this.#isAsking = this.#waiting.length > 0;
      if (this.#isAsking) this.#ask();
      for (const done of confirmed) done();
    };
    ask(leads, () => void scheduler.later(RETRY_DELAY_MS, () => this.#ask()));
  }
}
