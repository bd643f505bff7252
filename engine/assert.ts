/**
 * Assertions with fixed texts, checked in production too. They check invariants of this code, never
 * a caller's input. When one fails, the state cannot be trusted, so the process ends.
 */

/** An invariant was violated. Only the last error handler of the process may catch it. */
export class Broken extends Error {
  override readonly name = "Broken";

  /** @param cause - The error behind the violation, if it was not an assertion. */
  constructor(text: string, cause?: unknown) {
    super(text, { cause });
  }
}

/**
 * @param text - Fixed text: building a message for each call would cost more than the check.
 * @throws Broken when `fact` is false.
 */
export function assert(fact: boolean, text: string): asserts fact {
  if (!fact) throw new Broken(text);
}

/** Ends a switch over a union. It compiles only when every case is handled. */
export function unreachable(value: never): never {
  throw new Broken(`no case for ${String(value)}`);
}
