/** The doors of the sale: buyers come in while there is something to choose, and wait else. */

export class Doors {
  readonly #waiting: (() => void)[] = [];
  readonly #lingering = new Set<() => void>();
  #areOpen = true;

  get areOpen(): boolean {
    return this.#areOpen;
  }

  /** Resolves when the next `admit` reaches this one in the line, or the doors close. */
  wait(): Promise<void> {
    if (!this.#areOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Lets in up to `count` of those who wait. */
  admit(count: number): void {
    for (const enter of this.#waiting.splice(0, count)) enter();
  }

  /** Resolves after the pause of somebody inside, or when the doors close. */
  linger(durationMs: number): Promise<void> {
    if (!this.#areOpen) return Promise.resolve();
    return new Promise((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        this.#lingering.delete(goOn);
        resolve();
      };
      const timer = setTimeout(goOn, durationMs);
      this.#lingering.add(goOn);
    });
  }

  /**
   * Ends the sale: nobody chooses again, who hesitates makes up his mind now, those who wait go
   * home. Closing twice is harmless.
   */
  close(): void {
    this.#areOpen = false;
    for (const goOn of this.#lingering) goOn();
    this.admit(this.#waiting.length);
  }
}
