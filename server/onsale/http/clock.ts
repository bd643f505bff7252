/** Time for the player: a clock that never steps back, and sleep. */

/** Milliseconds since the process started; with a fraction, and never stepping back. */
export function nowMs(): number {
  return performance.now();
}

export function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
