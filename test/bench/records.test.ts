/** Trials of the benchmarks of the engine, its log, its trail and its memory. */
import { expect, test } from "vitest";
import { trials } from "./trial.ts";

const { result, run, written } = trials();

test("micro measures ten single steps and compares the lock with its goal", async () => {
  const printed = await run("micro.js", ["--seats", "200"]);
  expect(printed.match(/^(decide|apply|encode|decode|read|parse|list)\b.* \d+$/gm)).toHaveLength(
    10,
  );
  expect(printed).toMatch(/^two-seat lock in process, including the record, ns +≤ 250 /m);
});

test("growth measures six kinds of size and draws a chart of each", async () => {
  const small = ["--seats", "200,400", "--events", "1,2", "--request", "1,2", "--holds", "0,10"];
  const printed = await run("growth.js", [...small, "--records", "100,200", "--rounds", "1"]);
  expect(printed).toMatch(/^throughput at 2 events ÷ at one event of 1,000 seats +≥ 0\.8 /m);
  expect(printed).toMatch(/^throughput at 400 seats ÷ /m);
  for (const name of ["seats", "events", "request", "holds", "log", "recovery"]) {
    const svg = await written(`growth-${name}.svg`);
    expect(svg).toMatch(/^<svg .*<path /s);
  }
});

test("memory measures a process, a seat and a hold", async () => {
  const printed = await run("memory.js", ["--events", "3", "--seats", "500", "--holds", "500"]);
  expect(printed).toMatch(/^seat of a further event, beyond the layout +-?[\d.]+ bytes$/m);
  expect(printed).toMatch(/^peak MiB of one process with 50 million seats .* not measured$/m);
});

test("audit measures recording, following a log, six queries, and histories", async () => {
  const toy = ["--seats", "100", "--transitions", "1000"];
  const more = ["--records", "600", "--rounds", "1", "--history", "4000"];
  const printed = await run("audit.js", [...toy, ...more]);
  expect(printed).toMatch(/^1100 transitions, \d+ bytes each$/m);
  expect(printed.match(/^(the same )?(map|newest|transitions)\b.* [\d.]+$/gm)).toHaveLength(6);
  const { verdicts } = await result("audit");
  expect(verdicts).toHaveLength(6);
  for (const { value } of verdicts) expect(value).toBeGreaterThan(0);
  expect(printed).toMatch(/^ms for the history of a seat among 4,\d{3} transitions +≤ 5 /m);
});

test("trail-lag compares a server with a trail with one whose trail does not follow", async () => {
  const toy = ["--connections", "4", "--slices", "2", "--seconds", "0.5"];
  const printed = await run("trail-lag.js", [...toy, "--pairs", "2", "--short", "0.5"]);
  expect(printed).toMatch(/^slice 2 +[\d,]+ +\d+\.\d\d +[\d,]+$/m);
  expect(printed).toMatch(/^greatest lag of the trail, s +≤ 5 /m);
  const { pairs } = await result("trail-lag");
  expect(pairs).toHaveLength(2);
  // Without a trail, all that a slice of half a second wrote is missing.
  for (const { without } of pairs as { without: { perSecond: number; lagRecords: number } }[]) {
    expect(without.lagRecords).toBeGreaterThan(0.4 * without.perSecond);
  }
});

test("recovery measures starts from a log and from a snapshot", async () => {
  const toy = ["--records", "1000", "--events", "2", "--seats", "100", "--rounds", "1"];
  const printed = await run("recovery.js", toy);
  expect(printed).toMatch(/^1,000 records of the log +\d+\.\d\d /m);
  expect(printed).toMatch(/^a snapshot of 2 events of 100 seats +\d+\.\d\d /m);
  expect(printed).toMatch(/^start after a kill, 1,000 records since the snapshot, s +≤ 3 /m);
});

test("restart measures the time without good answers", async () => {
  const toy = ["--events", "1", "--seats", "100", "--connections", "4", "--seconds", "0.5"];
  const printed = await run("restart.js", [...toy, "--rounds", "1"]);
  expect(printed).toMatch(/^longest time without a good answer, ms +\d+ /m);
  expect(printed).toMatch(/^restart, ms without answers +≤ 1000 /m);
});

test("snapshots measures pauses and throughput during snapshots", async () => {
  const toy = ["--events", "2", "--seats", "100", "--rounds", "2", "--records", "1000"];
  const printed = await run("snapshots.js", toy);
  expect(printed).toMatch(/^longest pause in the first snapshot, ms +\d+\.\d\d$/m);
  expect(printed).toMatch(/^longest pause in later snapshots, ms +\d+\.\d\d$/m);
  expect(printed).toMatch(/^throughput during a snapshot ÷ without +\d+\.\d\d$/m);
});
