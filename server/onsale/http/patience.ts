/**
 * How the player waits for a server that is away or overloaded: exponential back-off with jitter,
 * capped, and one shared question to `/readyz` however many buyers wait.
 */

import { READY_PATH } from "../contract.ts";
import type { Random } from "../random.ts";
import { nowMs, sleep } from "./clock.ts";
import { HaltError } from "./halt.ts";
import type { Wire } from "./wire.ts";

const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 1_000;

/** An even draw from half the step to the whole of it; the step doubles with each attempt. */
function backoffMs(attempt: number, random: Random): number {
  const stepMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(attempt, 16));
  return random.between(stepMs / 2, stepMs);
}

export class Patience {
  readonly #wire: Wire;
  readonly #random: Random;
  #endsAtMs = 0;
  #recovery: Promise<void> | undefined;
  /** How often the server had to be waited for after a lost connection. */
  outages = 0;

  constructor(wire: Wire, random: Random) {
    this.#wire = wire;
    this.#random = random;
  }

  /** From now on, waiting longer than this ends the run. */
  lastFor(durationMs: number): void {
    this.#endsAtMs = nowMs() + durationMs;
  }

  /**
   * Sleeps before another attempt.
   * @throws HaltError when patience is over.
   */
  async backOff(attempt: number): Promise<void> {
    const pauseMs = backoffMs(attempt, this.#random);
    if (nowMs() + pauseMs > this.#endsAtMs) {
      throw new HaltError("The server did not answer in time; is it running at this --url?");
    }
    await sleep(pauseMs);
  }

  /**
   * After a lost connection: resolves when the server is ready again. All who wait at one time
   * share one question, so a crash under a thousand buyers asks no more than one would.
   * @throws HaltError when patience is over.
   */
  afterLoss(): Promise<void> {
    this.#recovery ??= this.untilReady().finally(() => {
      this.#recovery = undefined;
      this.outages += 1;
    });
    return this.#recovery;
  }

  /**
   * Resolves when `/readyz` answers 200.
   * @throws HaltError when patience is over.
   */
  async untilReady(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const exchanged = await this.#wire.exchange({ method: "GET", path: READY_PATH });
      if (exchanged.kind === "answered" && exchanged.status === 200) return;
      await this.backOff(attempt);
    }
  }
}
