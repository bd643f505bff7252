/**
 * The service clock: the machine's time at start, carried on by a clock that only runs forward. So
 * a step of the machine's clock while the service runs neither ends holds early nor keeps them
 * alive, and after a start behind the log's last record time goes on from that record.
 */
import type { Clock } from "../../engine/ports.ts";

/** The clocks of the machine, in milliseconds. */
export interface MachineTime {
  /** Since 1970, UTC; it may be set. */
  wallMs(): number;
  /** Since some moment; it only runs forward. */
  runningMs(): number;
}

export const realTime: MachineTime = {
  wallMs: () => Date.now(),
  runningMs: () => performance.now(),
};

export class ServiceClock implements Clock {
  readonly #time: MachineTime;
  readonly #startedMs: number;
  #baseMs: number;

  constructor(time: MachineTime) {
    this.#time = time;
    this.#startedMs = time.runningMs();
    this.#baseMs = time.wallMs();
  }

  nowMs(): number {
    return Math.floor(this.#baseMs + this.#time.runningMs() - this.#startedMs);
  }

  /** Never shows less than `timeMs` from now on. */
  atLeast(timeMs: number): void {
    this.#baseMs += Math.max(0, timeMs - this.nowMs());
  }
}
