/** Work in slices, so that several pieces of it can share a thread. */

/** Transitions that one slice reads, and those of one more record: a few milliseconds. */
export const SLICE_ROWS = 20_000;

/** A `yield` ends a slice. */
export type Slices<Value> = Generator<void, Value, void>;

/** Runs all slices at once. */
export function finish<Value>(slices: Slices<Value>): Value {
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}

/** Runs a slice of a piece of work. @returns Whether the work has ended. */
type Step = () => boolean;

/** The owners of work take turns of one slice, and each has one piece of work under way. */
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
