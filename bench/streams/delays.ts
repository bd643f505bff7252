/** Delay of the change of a lock at each client: since its answer, and since it was sent. */
import { quantileOf } from "../harness/measure.ts";

/** A lock that was answered. */
export interface Probe {
  /** Of the lock's record. */
  readonly sequence: number;
  /** Time of sending, as by `machineMs`. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** In milliseconds. */
export interface DelaysMeasured {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** From the moment when the lock was sent: a server that answers late has no better delays. */
  readonly sinceSentP99: number;
}

/** @returns A time that all programs of this machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Times of this process are converted, which costs less than to ask for those of the machine. A
 * pause between the two readings makes the difference smaller, so the largest one is right.
 */
const OFFSET_MS = Math.max(...Array.from({ length: 16 }, () => machineMs() - performance.now()));
/** Steps that are remembered: a change arrives before the report that it was a probe. */
const STEPS = 256;

/** Received sequences of a client, with their times. */
export class Steps {
  readonly #sequences = new Float64Array(STEPS);
  readonly #times = new Float64Array(STEPS);
  #count = 0;
  /** The next probe that it has not seen. */
  probe = 0;

  /** @param sequence - The last record that the client has by now. */
  add(sequence: number): void {
    this.#sequences[this.#count % STEPS] = sequence;
    this.#times[this.#count % STEPS] = performance.now();
    this.#count += 1;
  }

  /** @returns When it had a record, which it has, as by `machineMs`. */
  timeOf(sequence: number): number {
    let at = this.#count - 1;
    const oldest = Math.max(0, this.#count - STEPS);
    while (at > oldest && this.#sequences[(at - 1) % STEPS]! >= sequence) at -= 1;
    return this.#times[at % STEPS]! + OFFSET_MS;
  }
}

export class Delays {
  readonly #probes: Probe[] = [];
  readonly #delaysMs: number[] = [];
  readonly #sinceSentMs: number[] = [];

  get probes(): number {
    return this.#probes.length;
  }

  add(probe: Probe): void {
    this.#probes.push(probe);
  }

  /** To be called when a client has more, and when there is a probe that it may have seen. */
  measure(steps: Steps, sequence: number): void {
    for (; steps.probe < this.#probes.length; steps.probe++) {
      const probe = this.#probes[steps.probe]!;
      if (probe.sequence > sequence) return;
      const seenMs = steps.timeOf(probe.sequence);
      // A change may arrive before the answer.
      this.#delaysMs.push(Math.max(0, seenMs - probe.answeredMs));
      this.#sinceSentMs.push(seenMs - probe.sentMs);
    }
  }

  measured(): DelaysMeasured {
    const delays = this.#delaysMs;
    return {
      p50: quantileOf(delays, 0.5) ?? 0,
      p99: quantileOf(delays, 0.99) ?? 0,
      max: delays.reduce((max, delayMs) => Math.max(max, delayMs), 0),
      sinceSentP99: quantileOf(this.#sinceSentMs, 0.99) ?? 0,
    };
  }
}
