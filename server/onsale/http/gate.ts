/** Lets a bounded number in at once; the others wait in line, first come, first served. */

/** The line is cut to its live part when this many at its head have gone in. */
const GONE_MAX = 1_024;

export class Gate {
  #freeCount: number;
  #isAdmitting = false;
  #line: (() => void)[] = [];
  /** How many at the head of `#line` have gone in already. */
  #goneCount = 0;

  constructor(insideMax: number) {
    this.#freeCount = insideMax;
  }

  /** Calls `proceed` once the caller is inside, perhaps at once; it must `leave` again. */
  enter(proceed: () => void): void {
    this.#line.push(proceed);
    this.#admit();
  }

  /** Hands the place to the next in line. Cost: constant on average, however long the line. */
  leave(): void {
    this.#freeCount += 1;
    this.#admit();
  }

  /**
   * One who comes in may leave at once, when the connection is gone: then the loop that let it in
   * goes on, for as many calls inside one another as there are buyers would be too many.
   */
  #admit(): void {
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    try {
      while (this.#freeCount > 0 && this.#goneCount < this.#line.length) {
        this.#freeCount -= 1;
        this.#next()();
      }
    } finally {
      this.#isAdmitting = false;
    }
  }

  #next(): () => void {
    const next = this.#line[this.#goneCount]!;
    this.#goneCount += 1;
    if (this.#goneCount === GONE_MAX || this.#goneCount === this.#line.length) {
      this.#line = this.#line.slice(this.#goneCount);
      this.#goneCount = 0;
    }
    return next;
  }
}
