/** Lets a bounded number in at once; the others wait in line, first come, first served. */

/** The line is cut to its live part when this many at its head have gone in. */
const GONE_MAX = 1_024;

export class Gate {
  #freeCount: number;
  #line: (() => void)[] = [];
  /** How many at the head of `#line` have gone in already. */
  #goneCount = 0;

  constructor(insideMax: number) {
    this.#freeCount = insideMax;
  }

  /** Calls `proceed` once the caller is inside, perhaps at once; it must `leave` again. */
  enter(proceed: () => void): void {
    if (this.#freeCount > 0) {
      this.#freeCount -= 1;
      proceed();
    } else {
      this.#line.push(proceed);
    }
  }

  /** Hands the place to the next in line. Cost: constant on average, however long the line. */
  leave(): void {
    const next = this.#line[this.#goneCount];
    if (next === undefined) {
      this.#freeCount += 1;
      return;
    }
    this.#goneCount += 1;
    if (this.#goneCount === GONE_MAX) {
      this.#line = this.#line.slice(GONE_MAX);
      this.#goneCount = 0;
    }
    next();
  }
}
