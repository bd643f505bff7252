/** The figures of a run. */
import { expect, test } from "vitest";
import { Statistics } from "../../../server/onsale/statistics.ts";

test("no percentile is above the largest latency", () => {
  const statistics = new Statistics();
  for (const durationMs of [1, 133.344]) statistics.recordLatency("lock", durationMs);
  const { p50Ms, p99Ms, p999Ms, maxMs } = statistics.latency("lock");
  expect([p50Ms, maxMs]).toEqual([1, 133.344]);
  expect([p99Ms, p999Ms, statistics.takeRecentP99Ms()]).toEqual([maxMs, maxMs, maxMs]);
});
