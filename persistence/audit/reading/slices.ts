/** Work in slices: between two of them the reader works on other questions. */

/** A `yield` ends a slice. */
export type Slices<Value> = Generator<void, Value, void>;

/** Runs all slices at once. */
export function finish<Value>(slices: Slices<Value>): Value {
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}
