/** Counts durations by size: a histogram in the form that metrics need. */

/** Upper bounds in milliseconds, from a fast disk to one that stalls. */
const BOUNDS_MS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

export class Durations {
  readonly boundsMs: readonly number[] = BOUNDS_MS;
  /** Durations up to each bound and above the one before; the last element counts longer ones. */
  readonly counts = new Float64Array(BOUNDS_MS.length + 1);
  count = 0;
  sumMs = 0;

  add(durationMs: number): void {
    let bucket = 0;
    while (bucket < BOUNDS_MS.length && durationMs > BOUNDS_MS[bucket]!) bucket++;
    this.counts[bucket]! += 1;
    this.count += 1;
    this.sumMs += durationMs;
  }
}
