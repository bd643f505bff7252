/**
 * When the next frame of the leader leaves. A frame takes several milliseconds, and clients that
 * wait for an answer send their next request when they have it. A frame that left with the first of
 * these would make most others wait for the frame after it, and each frame costs processor time on
 * all hosts. So a frame waits for as many requests as the last one answered, while they arrive.
 */
import type { Scheduler } from "../disk/scheduler.ts";

const LOOK_EVERY_MS = 1;
/** After so many looks in a row without another record, none is expected any more. */
const QUIET_LOOKS = 3;
/** Bounds the delay: without it, a constant stream of requests would delay all of them. */
const LOOKS_MAX = 6;

/** A frame that waits for records. */
interface Waiting {
  readonly send: () => void;
  readonly expectedRecords: number;
  /** At the last look. */
  readonly records: number;
  readonly looks: number;
  readonly quietLooks: number;
}

export class Gathering {
  readonly #scheduler: Scheduler;
  readonly #pendingRecords: () => number;
  #sentRecords = 0;

  /** @param pendingRecords - How many records the next frame has so far. */
  constructor(scheduler: Scheduler, pendingRecords: () => number) {
    this.#scheduler = scheduler;
    this.#pendingRecords = pendingRecords;
  }

  /** To be called when the last frame is done, or with the first record after that. */
  begin(send: () => void): void {
    const records = this.#pendingRecords();
    // The first record may be one of those that are expected.
    const expectedRecords = records + this.#sentRecords - 1;
    const waiting = { send, expectedRecords, records, looks: 0, quietLooks: 0 };
    this.#scheduler.soon(() => this.#look(waiting));
  }

  #look(waiting: Waiting): void {
    const { send, expectedRecords, looks } = waiting;
    const records = this.#pendingRecords();
    const quietLooks = records > waiting.records ? 0 : waiting.quietLooks + 1;
    if (records >= expectedRecords || quietLooks === QUIET_LOOKS || looks === LOOKS_MAX) {
      this.#sentRecords = records;
      return send();
    }
    this.#scheduler.later(LOOK_EVERY_MS, () => {
      this.#look({ ...waiting, records, looks: looks + 1, quietLooks });
    });
  }
}
