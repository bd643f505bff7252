/**
 * Assertions: on in production, with fixed text. They check this code's own promises, never a
 * caller's input. A failed one means that the state can no longer be trusted, so the process ends.
 */

/** A promise of this code was broken. Nothing may catch it but the last handler of the process. */
export class Broken extends Error {
  override readonly name = "Broken";

  /** @param cause - The error that broke it, when it was no assertion. */
  constructor(text: string, cause?: unknown) {
    super(text, { cause });
  }
}

/**
 * @param text - Fixed text: building a message per call costs more than the check.
 * @throws Broken when `fact` is false.
 */
export function assert(fact: boolean, text: string): asserts fact {
  if (!fact) throw new Broken(text);
}

/** Ends a switch over a union: compiles only when every case was handled. */
export function unreachable(value: never): never {
  throw new Broken(`no case for ${String(value)}`);
}
