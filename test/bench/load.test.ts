/** Trials of the benchmarks of bookings over HTTP, and what judges their figures. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { contenders } from "../../bench/contenders/all.ts";
import * as names from "../../bench/contenders/names.ts";
import { medianOf } from "../../bench/harness/measure.ts";
import { verdictTable, withCommas } from "../../bench/harness/results.ts";
import { MIXES } from "../../bench/load/plan.ts";
import { settingTable, verdictsOf } from "../../bench/rounds/tables.ts";
import type { Row } from "../../bench/rounds/rounds.ts";
import { describeUnless } from "../support/programs.ts";
import { TOY, trials } from "./trial.ts";

const { result, run, written } = trials();

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
    for (const { name, rounds } of rows) expect(rounds[0]!.done, name).toBeGreaterThan(0);
  });

  test("a visitor's table comes first, then how it was measured, last the goals", () => {
    const [first = "", ...settings] = printed.split(/^(?=[\w-]+, 4 connections: )/m).slice(1);
    expect(first).toMatch(/^lock, 4 connections: .*\n\n +requests\/s +p50 ms +p99 ms/);
    expect(settings).toHaveLength(MIXES.length - 1);
    const order = ["requests/s", "how it was measured", "goals of ours"];
    const places = order.map((head) => printed.lastIndexOf(head));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  const sellers = contenders([]).filter(({ name }) => SELLERS.has(name));
  test("all sellers are known", () => expect(sellers).toHaveLength(SELLERS.size));
  // A round ends the benchmark when a seat was sold twice, or stays locked.
  for (const { name, missing } of sellers) {
    describeUnless(missing(), name, () => {
      test("it sells no seat twice and leaves no seat locked", () => {
        const played = rows.filter((one) => one.name === name).map(({ mix }) => mix);
        expect(played).toEqual(["lock", "hot"]);
      });
    });
  }
});

const LOCK = { mix: "lock", connections: 256 } as const;

function row(name: string, rates: readonly number[]): Row {
  const rounds = rates.map((requestsPerSecond) => ({
    requestsPerSecond,
    seconds: 1,
    latencyMs: { p50: 1, p99: 1_000 / requestsPerSecond, p999: 9 },
    done: 1,
    refused: 0,
    cpuSeconds: 0,
    cpu: null,
  }));
  return { ...LOCK, name, rounds };
}

test("the table of a setting → the fastest first, times Redis, a bar for who books, own line marked", () => {
  const rows = [
    row(names.FRONTROW, [3_000, 1_000, 2_000]),
    row(names.SQLITE_FULL, [500]),
    row(names.POST_NOT_PARSED, [9_000]),
    row(names.REDIS_ALWAYS, [1_000, 1_000, 1_000]),
  ];
  const table = settingTable(LOCK, rows, (style, line) => `<${style}>${line}`);
  const [head, empty, own, redis, sqlite, ...chart] = table.split("\n").slice(2).toSpliced(1, 1);
  expect(head).toMatch(/^ +requests\/s +p50 ms +p99 ms +÷ Redis$/);
  expect(empty).toMatch(/^uWebSockets\.js POST.* +9,000 +1\.00 +0\.11 +9\.00$/);
  expect(own).toMatch(/^<bold>Frontrow, durable +2,000 +1\.00 +0\.50 +2\.00$/);
  expect(redis).toMatch(/ 1,000 +1\.00 +1\.00 +1\.00$/);
  expect(sqlite).toMatch(/ 500 /);
  expect(chart.map((line) => line.replace(/.* {2}(?=█)/, ""))).toEqual([
    "",
    `${"█".repeat(28)} 2,000`,
    `${"█".repeat(14)} 1,000`,
    `${"█".repeat(7)} 500`,
    "",
  ]);
  expect(settingTable(LOCK, rows.slice(0, 1), (_, line) => line)).not.toMatch(/÷|█/);
});

const README = readFileSync("README.md", "utf8");

test("a part of the benchmark → neither results nor charts in place of the stored ones", async () => {
  const args = [...TOY, "--mixes", "lock", "--only", "Frontrow|GET"];
  const printed = await run("bench.js", args, { BENCH_RESULTS: undefined });
  expect(printed).toMatch(/^Frontrow, durable +\d/m);
  expect(printed).toContain("not stored: this is a part of the benchmark");
  expect(printed).not.toContain("written: ");
  await expect(written("bench/results/load.json")).rejects.toThrow("ENOENT");
});

test("the charts of the README are drawn from the stored results, and its figures are theirs", async () => {
  const from = ["--from", path.resolve("bench/results/load.json")];
  expect(await run("bench.js", from, { BENCH_RESULTS: undefined })).not.toContain("written: ");
  const printed = await run("bench.js", [...from, "--charts", "."]);
  expect(printed).toMatch(/^Frontrow, durable +█+/m);
  for (const chart of ["throughput.svg", "latency.svg"]) {
    expect(README).toContain(`](bench/results/${chart})`);
    // oxlint-disable-next-line no-await-in-loop -- two small files
    expect(await written(chart)).toBe(readFileSync(`bench/results/${chart}`, "utf8"));
  }
  const stored = JSON.parse(readFileSync("bench/results/load.json", "utf8")) as { rows: Row[] };
  const figures = stored.rows
    .filter(({ mix, connections }) => mix === "lock" && connections === 256)
    .map(({ name, rounds }) => {
      const rate = medianOf(rounds.map(({ requestsPerSecond }) => requestsPerSecond));
      return [name, withCommas(rate), medianOf(rounds.map((of) => of.latencyMs.p99)).toFixed(1)];
    });
  const [, quoted = ""] = /requests per second \| p99 \|\n\|.*\n([^]*?)\n\n/.exec(README) ?? [];
  const lines = quoted.split("\n").map((line) => line.replaceAll("**", "").split(/ ?\| ?/));
  expect(lines.length).toBeGreaterThan(6);
  for (const [, name, rate, p99] of lines) {
    expect(figures).toContainEqual([name, rate, p99!.replace(" ms", "")]);
  }
  const [, rate, p99] = figures.find(([name]) => name === names.FRONTROW)!;
  expect(README).toContain(`- **${rate} atomic`);
  expect(README).toContain(`p99 ${p99} ms`);
});

test("a goal is judged by the median of the ratios of each round", () => {
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
