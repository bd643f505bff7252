/** Work that waits for turns. The owners take turns, and each has one piece of work under way. */

/** Runs a slice of a piece of work. @returns Whether the work has ended. */
export type Step = () => boolean;

export class Turns {
  /** By owner, the next one first: its work, the oldest first. There are no empty lists. */
  readonly #waiting = new Map<string, Step[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(owner: string, work: Step): void {
    const own = this.#waiting.get(owner);
    if (own === undefined) this.#waiting.set(owner, [work]);
    else own.push(work);
  }

  /** Runs a slice for the next owner. */
  step(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    const [owner, own] = next;
    this.#waiting.delete(owner);
    if (own[0]!()) own.shift();
    if (own.length > 0) this.#waiting.set(owner, own);
  }
}
