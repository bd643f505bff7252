/** Trials of the benchmarks of bookings over HTTP, and what judges their figures. */
import { beforeAll, describe, expect, test } from "vitest";
import { contenders } from "../../bench/contenders/all.ts";
import * as names from "../../bench/contenders/names.ts";
import { verdictTable } from "../../bench/harness/results.ts";
import { MIXES } from "../../bench/load/plan.ts";
import { verdictsOf } from "../../bench/rounds/tables.ts";
import type { Row } from "../../bench/rounds/rounds.ts";
import { describeUnless } from "../support/programs.ts";
import { TOY, trials } from "./trial.ts";

const { result, run } = trials();

const SELLERS: ReadonlySet<string> = new Set([
  names.REDIS_ALWAYS,
  names.IOREDIS_ALWAYS,
  names.POSTGRES_TRANSACTION,
  names.POSTGRES_FUNCTION,
  names.SQLITE_FULL,
]);

describe("one run of all", () => {
  let printed = "";
  let rows: readonly Row[] = [];
  beforeAll(async () => {
    printed = await run("bench.js", TOY);
    const { conditions, ...findings } = await result("load");
    expect(conditions.node).toBe(process.version);
    rows = findings["rows"] as Row[];
  });

  test("bench compares the durable lock with the empty handlers in every mix", () => {
    for (const mix of MIXES) expect(printed).toContain(`${mix}, 4 connections`);
    expect(printed).toMatch(/^lock ÷ POST not parsed, 64 connections .* not measured$/m);
    for (const row of rows) expect(row.rounds[0]!.done, row.name).toBeGreaterThan(0);
  });

  const sellers = contenders([]).filter(({ name }) => SELLERS.has(name));
  test("all sellers are known", () => expect(sellers).toHaveLength(SELLERS.size));
  // A round ends the benchmark when a seat was sold twice, or stays locked.
  for (const { name, missing } of sellers) {
    describeUnless(missing(), name, () => {
      test("it sells no seat twice and leaves no seat locked", () => {
        const played = rows.filter((row) => row.name === name).map(({ mix }) => mix);
        expect(played).toEqual(["lock", "hot"]);
      });
    });
  }
});

test("a goal is judged by the median of the ratios of each round", () => {
  const row = (name: string, rates: readonly number[]) => ({
    name,
    mix: "lock" as const,
    connections: 256,
    rounds: rates.map((requestsPerSecond) => ({
      requestsPerSecond,
      seconds: 1,
      latencyMs: { p50: 1, p99: 1_000 / requestsPerSecond, p999: 9 },
      done: 1,
      refused: 0,
      cpuSeconds: 0,
      cpu: null,
    })),
  });
  const verdicts = verdictsOf([
    row(names.FRONTROW, [80, 40, 90]),
    row(names.POST_NOT_PARSED, [100, 80, 100]),
  ]);
  expect(verdicts[0]).toMatchObject({ value: 0.8, low: 0.5, high: 0.9, atLeast: 0.75 });
  expect(verdicts[2]).toMatchObject({ value: 1.25, atMost: 1.4 });
  const lines = verdictTable(verdicts).split("\n");
  expect(lines[2]).toMatch(/≥ 0\.75 +0\.80 +0\.50-0\.90 +reached$/);
  expect(lines[3]).toMatch(/not measured$/);
  expect(lines[4]).toMatch(/≤ 1\.4 +1\.25 .* reached$/);
});

test("a contender that is not installed is left out, with the command to install it", async () => {
  const args = [...TOY, "--mixes", "lock", "--only", "Redis Lua|GET"];
  const printed = await run("bench.js", args, { PATH: "" });
  const leftOut = `left out: ${names.REDIS_ALWAYS}: apt-get install redis-server`;
  expect(printed.split("\n")).toContain(leftOut);
  expect(printed).toMatch(/^uWebSockets\.js GET, constant answer +\d/m);
});

test("overload measures the good answers when more is offered than can be answered", async () => {
  const toy = ["--connections", "20", "--calm", "0.2", "--seconds", "0.5"];
  const printed = await run("overload.js", toy);
  expect(printed).toMatch(/^3 times the peak +[\d,]+ /m);
  expect(printed).toMatch(/^good answers under overload ÷ peak +≥ 0\.9 /m);
  expect(printed).toContain("other answers: {}");
});
