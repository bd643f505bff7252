/** The fate of one process: its failing disk operations, and its end. */
import { CHANGES, type Outcome, type Step } from "../support/disk/process-disk.ts";
import type { Tally } from "./model/invariants.ts";
import type { Plan } from "./workload/plan.ts";
import type { Random } from "./workload/random.ts";

/** Decides about the disk operations of a process. */
export interface DiskFaults {
  /** @returns null to let the step happen. */
  decide(step: Step): Outcome | null;
  /** Microseconds until an operation of the thread pool is done. */
  latencyUs(): number;
}

export interface DoomOptions {
  readonly plan: Plan;
  readonly random: Random;
  readonly tally: Tally;
  /** The process has no faults. */
  readonly isSpared: boolean;
}

const LATENCY_US_MIN = 20;
const LATENCY_US_SPREAD = 120;
const SLOW_US_MAX = 60_000;
const SLOW_ONCE = 8;
const SHORT_ONCE = 12;
/** Steps are drawn from ranges of these sizes: early steps are as likely as late ones. */
const STEP_RANGES = [8, 32, 80, 160, 400];
const EIO_RANGES = [2, 8, 24, 80];
/** A start makes about this many changes; one with fewer is not interrupted. */
const START_CHANGES = 20;

export class Doom implements DiskFaults {
  /** The store is open: from now on there are no faults of a start, but those of a life. */
  isOpen = false;
  /** A planned fault has happened, and the process may end because of it. */
  hasFailed = false;
  readonly isOrderly: boolean;
  readonly isPowerLost: boolean;
  readonly #plan: Plan;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #isSpared: boolean;
  readonly #dieAtStep: number;
  readonly #startEioAtStep: number;
  readonly #eioForever: boolean;
  #steps = 0;
  /** Writes and syncs until one fails. */
  #untilEio: number;

  constructor({ plan, random, tally, isSpared }: DoomOptions) {
    this.#plan = plan;
    this.#random = random;
    this.#tally = tally;
    this.#isSpared = isSpared;
    const { faults } = plan;
    const step = () => 1 + random.below(random.pick(STEP_RANGES));
    this.#dieAtStep = faults.has("steps") && random.once(2) ? step() : Infinity;
    this.#startEioAtStep = faults.has("startEio") && random.once(5) ? step() : Infinity;
    const untilEio = 1 + random.below(random.pick(EIO_RANGES));
    this.#untilEio = faults.has("eio") && random.once(3) ? untilEio : Infinity;
    this.#eioForever = random.once(2);
    this.isOrderly = faults.has("order") && random.once(3);
    this.isPowerLost = faults.has("power") && !random.once(4);
  }

  decide({ operation }: Step): Outcome | null {
    if (this.#isSpared) return null;
    this.#steps += 1;
    if (this.#steps === this.#dieAtStep) return { dies: true };
    if (!this.isOpen) {
      if (this.#steps !== this.#startEioAtStep || operation === "close") return null;
      this.hasFailed = true;
      this.#tally.count(operation === "read" ? "EIO: read at start" : "EIO: at start");
      return { code: "EIO" };
    }
    if (operation !== "write" && operation !== "sync") return null;
    this.#untilEio -= 1;
    if (this.#untilEio === 0 || (this.#untilEio < 0 && this.#eioForever)) {
      this.hasFailed = true;
      this.#tally.count(operation === "sync" ? "EIO: sync" : "EIO: write");
      return { code: "EIO" };
    }
    if (operation !== "write" || !this.#plan.faults.has("short")) return null;
    if (!this.#random.once(SHORT_ONCE)) return null;
    // Two in a row are a failure.
    this.hasFailed = true;
    this.#tally.count("a write fell short");
    return { writtenBytes: 1 + this.#random.below(1_024) };
  }

  latencyUs(): number {
    const random = this.#random;
    if (this.#isSpared) return LATENCY_US_MIN;
    if (this.#plan.faults.has("slow") && random.once(SLOW_ONCE)) return random.below(SLOW_US_MAX);
    return LATENCY_US_MIN + random.below(LATENCY_US_SPREAD);
  }
}

/** Ends a start at a random change of the disk. */
export class CutDoom implements DiskFaults {
  readonly hasFailed = false;
  #untilEnd: number;

  constructor(random: Random) {
    this.#untilEnd = 1 + random.below(START_CHANGES);
  }

  decide({ operation }: Step): Outcome | null {
    if (!CHANGES.has(operation)) return null;
    this.#untilEnd -= 1;
    return this.#untilEnd === 0 ? { dies: true } : null;
  }

  latencyUs(): number {
    return LATENCY_US_MIN;
  }
}
