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
  /** At the last look. */
  readonly records: number;
  readonly looks: number;
  readonly quietLooks: number;
}

export class Gathering {
  readonly #scheduler: Scheduler;
  readonly #pendingRecords: () => number;
  #sentRecords = 0;
  #expectedRecords = 0;
  #waiting: Waiting | null = null;
  #cancelLook: (() => void) | null = null;

  /** @param pendingRecords - How many records the next frame has so far. */
  constructor(scheduler: Scheduler, pendingRecords: () => number) {
    this.#scheduler = scheduler;
    this.#pendingRecords = pendingRecords;
  }

  /** To be called before the answers of the last frame leave: those who get them come back. */
  answered(): void {
    this.#expectedRecords = this.#pendingRecords() + this.#sentRecords;
  }

  /** To be called when the next frame may leave and has something, or with its first record. */
  begin(send: () => void): void {
    const records = this.#pendingRecords();
    this.#waiting = { send, records, looks: 0, quietLooks: 0 };
    this.#scheduler.soon(() => this.#look());
  }

  /** To be called with each further record. */
  added(): void {
    if (this.#waiting !== null && this.#pendingRecords() === this.#expectedRecords) {
      this.#scheduler.soon(() => this.#look());
    }
  }

  #look(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    const { send, looks } = waiting;
    const records = this.#pendingRecords();
    const quietLooks = records > waiting.records ? 0 : waiting.quietLooks + 1;
    const isDue = quietLooks === QUIET_LOOKS || looks === LOOKS_MAX;
    this.#cancelLook?.();
    if (records >= this.#expectedRecords || isDue) {
      this.#sentRecords = records;
      this.#waiting = null;
      this.#cancelLook = null;
      return send();
    }
    this.#waiting = { send, records, looks: looks + 1, quietLooks };
    this.#cancelLook = this.#scheduler.later(LOOK_EVERY_MS, () => this.#look());
  }
}
