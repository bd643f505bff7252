/**
 * The service clock: the machine's time at start, carried on by a clock that only runs forward. So
 * a step of the machine's clock while the service runs neither ends holds early nor keeps them
 * alive, and after a start behind the log's last record time goes on from that record.
 */
import type { Clock } from "../engine/ports.ts";

export class ServiceClock implements Clock {
  #baseMs = Date.now();
  readonly #startedMs = performance.now();

  nowMs(): number {
    return Math.floor(this.#baseMs + performance.now() - this.#startedMs);
  }

  /** Never shows less than `timeMs` from now on. */
  atLeast(timeMs: number): void {
    this.#baseMs += Math.max(0, timeMs - this.nowMs());
  }
}
