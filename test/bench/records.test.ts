/** Trials of the benchmarks of the engine, its log and its memory. */
import { expect, test } from "vitest";
import { trials } from "./trial.ts";

const { run } = trials();

test("micro measures ten single steps and compares the lock with its goal", async () => {
  const printed = await run("micro.js", ["--seats", "200", "--rows", "1"]);
  expect(printed.match(/^(decide|apply|encode|decode|read|parse|list)\b.* \d+$/gm)).toHaveLength(
    10,
  );
  expect(printed).toMatch(/^two-seat lock in process, including the record, ns +≤ 250 /m);
  expect(printed.match(/^[1248] of [\d.]+ % free/gm)).toHaveLength(32);
});

test("memory measures a process, a seat and a hold", async () => {
  const printed = await run("memory.js", ["--events", "3", "--seats", "500", "--holds", "500"]);
  expect(printed).toMatch(/^free seat of a further event, beyond the layout +-?[\d.]+ bytes$/m);
  expect(printed).toMatch(/^sold seat, beyond the layout +-?[\d.]+ bytes$/m);
  expect(printed).toMatch(/^peak MiB of one process with 50 million seats .* not measured$/m);
});

test("recovery measures starts from a log and from a snapshot", async () => {
  const toy = ["--records", "1000", "--events", "2", "--seats", "100", "--rounds", "1"];
  const printed = await run("recovery.js", toy);
  expect(printed).toMatch(/^1,000 records of the log +\d+\.\d\d /m);
  expect(printed).toMatch(/^a snapshot of 2 events of 100 seats +\d+\.\d\d /m);
  expect(printed).toMatch(/^start after a kill, 1,000 records since the snapshot, s +≤ 3 /m);
});
