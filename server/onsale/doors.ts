/** The doors of the sale: buyers come in while there is something to choose, and wait else. */

export class Doors {
  readonly #waiting: (() => void)[] = [];
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

  /** Ends the sale: nobody chooses again, those who wait go home. Closing twice is harmless. */
  close(): void {
    this.#areOpen = false;
    this.admit(this.#waiting.length);
  }
}
