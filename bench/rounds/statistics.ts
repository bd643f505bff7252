/** Median and spread of a handful of rounds. */

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** @param values - At least one. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error("a spread of nothing");
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number) => sorted[index]!;
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { median, low: at(0), high: at(sorted.length - 1) };
}
