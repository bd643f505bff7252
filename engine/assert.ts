/**
 * Assertions: on in production, with fixed text. They check this code's own promises, never a
 * caller's input. When one fails, the state can no longer be trusted, so the process ends.
 */

/** A promise of this code was broken. Only the last error handler of the process may catch it. */
export class Broken extends Error {
  override readonly name = "Broken";

  /** @param cause - The error that broke the promise, when it was not an assertion. */
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

/** Ends a switch over a union; compiles only when every case is handled. */
export function unreachable(value: never): never {
  throw new Broken(`no case for ${String(value)}`);
}
