/** Where buyers wait until something is free, and the switch that ends the sale for all of them. */

export class WaitingRoom {
  readonly #waiting: (() => void)[] = [];
  readonly #pausing = new Set<() => void>();
  #isOpen = true;

  /** Whether the sale is going on. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves when `admit` reaches this buyer in the queue, or when the sale ends. */
  wait(): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Admits up to `count` waiting buyers. */
  admit(count: number): void {
    for (const enter of this.#waiting.splice(0, count)) enter();
  }

  /** The pause of an admitted buyer: resolves after this time, or when the sale ends. */
  pause(durationMs: number): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#pausing.delete(end);
        resolve();
      };
      const timer = setTimeout(end, durationMs);
      this.#pausing.add(end);
    });
  }

  /** Ends the sale: every wait and pause resolves. Further calls have no effect. */
  close(): void {
    this.#isOpen = false;
    for (const end of this.#pausing) end();
    this.admit(this.#waiting.length);
  }
}
