/**
 * Decides how long to wait for a server that is unavailable or overloaded: exponential backoff with
 * jitter up to a maximum, and a deadline for the whole run.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { READY_PATH, STATUS_OK, STATUS_SERVER_ERROR_MIN } from "../contract.ts";
import type { Random } from "../random.ts";
import { FatalError } from "./errors.ts";
import type { HttpResult, Transport } from "./transport.ts";

const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 1_000;

export class RetryPolicy {
  readonly #transport: Transport;
  readonly #random: Random;
  #deadlineMs = 0;
  #recovery: Promise<void> | undefined;
  /** How often the client had to wait until the server was ready again. */
  outages = 0;

  constructor(transport: Transport, random: Random) {
    this.#transport = transport;
    this.#random = random;
  }

  /** Sets the deadline to `durationMs` from now. */
  allow(durationMs: number): void {
    this.#deadlineMs = performance.now() + durationMs;
  }

  /**
   * Waits before another attempt. After a lost answer or a 5xx, it also waits until the server is
   * ready.
   * @throws FatalError at the deadline.
   */
  async waitAfter(result: HttpResult, attempt: number): Promise<void> {
    await this.#backOff(attempt);
    if (result.kind === "lost" || result.status >= STATUS_SERVER_ERROR_MIN) {
      await this.#waitForRecovery();
    }
  }

  /** The maximum wait doubles with each attempt. */
  async #backOff(attempt: number): Promise<void> {
    const stepMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(attempt, 16));
    const pauseMs = this.#random.between(stepMs / 2, stepMs);
    if (performance.now() + pauseMs > this.#deadlineMs) {
      throw new FatalError("The server did not answer in time. Is it running at this --url?");
    }
    await sleep(pauseMs);
  }

  /** All buyers share one check, so a thousand buyers cause no more requests than one. */
  #waitForRecovery(): Promise<void> {
    this.#recovery ??= this.waitUntilReady().finally(() => {
      this.#recovery = undefined;
      this.outages += 1;
    });
    return this.#recovery;
  }

  /**
   * Resolves when `/readyz` answers 200.
   * @throws FatalError at the deadline.
   */
  async waitUntilReady(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const result = await this.#transport.send({ method: "GET", path: READY_PATH });
      if (result.kind === "answer" && result.status === STATUS_OK) return;
      this.#transport.tryAnother();
      await this.#backOff(attempt);
    }
  }
}
