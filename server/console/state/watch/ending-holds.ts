/** Holds that end soon. */
import type { Hold } from "../../api/watch.ts";

export interface EndingHold {
  readonly hold: Hold;
  readonly secondsLeft: number;
  /** Of its whole time: 1 at the beginning, 0 at the end. */
  readonly shareLeft: number;
}

/** @returns Those that have not ended, the next to end first. */
export function endingHolds(holds: readonly Hold[], nowMs: number, count: number): EndingHold[] {
  return holds
    .flatMap((hold): EndingHold[] => {
      if (hold.until === null) return [];
      const [since, until] = [timeMs(hold.since), timeMs(hold.until)];
      const leftMs = until - nowMs;
      if (leftMs <= 0) return [];
      const shareLeft = Math.min(1, leftMs / Math.max(1, until - since));
      return [{ hold, secondsLeft: Math.ceil(leftMs / 1_000), shareLeft }];
    })
    .sort((a, b) => a.secondsLeft - b.secondsLeft)
    .slice(0, count);
}

/** Times of the server are in UTC, and do not say so. */
export function timeMs(localDateTime: string): number {
  return Date.parse(`${localDateTime}Z`);
}
