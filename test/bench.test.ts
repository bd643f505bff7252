/** Runs every benchmark at toy size, so that none stops working. The figures mean nothing here. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { longestLag } from "../bench/hosts/lag.ts";
import { HostRole } from "../persistence/cluster/options.ts";
import { contenders } from "../bench/contenders/all.ts";
import * as names from "../bench/contenders/names.ts";
import { isInstalled } from "../bench/harness/processes.ts";
import { type Result, verdictTable } from "../bench/harness/results.ts";
import { MIXES } from "../bench/load/plan.ts";
import { verdictsOf } from "../bench/rounds/goals.ts";
import type { Row } from "../bench/rounds/rounds.ts";
import type { AllFollowings } from "../bench/streams/following.ts";
import type { Sale } from "../bench/streams/on-sale.ts";
import { describeUnless, describeWith } from "./support/programs.ts";

/** What takes seconds on an idle machine must not fail on a busy one. */
vi.setConfig({ testTimeout: 120_000 });

const DIST = path.resolve(import.meta.dirname, "../dist/bench");

let results = "";
beforeAll(async () => {
  results = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-test-"));
});
afterAll(() => rm(results, { recursive: true }));

const run = async (file: string, args: readonly string[], added: NodeJS.ProcessEnv = {}) => {
  const env = { ...process.env, BENCH_TRIAL: "1", BENCH_RESULTS: results, ...added };
  const done = promisify(execFile)(process.execPath, [path.join(DIST, file), ...args], { env });
  return (await done).stdout;
};
const written = async (name: string) =>
  JSON.parse(await readFile(path.join(results, name), "utf8")) as Result;
const TOY = ["--connections", "4", "--seconds", "0.1", "--rounds", "1"];

interface StreamRow {
  readonly rounds: readonly {
    readonly alone: Sale;
    readonly followed: Sale;
    readonly followings: AllFollowings;
  }[];
  readonly fewer: readonly { readonly clients: number; readonly followings: AllFollowings }[];
}

test("micro measures ten single steps and compares the lock with its goal", async () => {
  const printed = await run("micro.js", ["--seats", "200"]);
  expect(printed.match(/^(decide|apply|encode|decode|read|parse|list)\b.* \d+$/gm)).toHaveLength(
    10,
  );
  expect(printed).toMatch(/^two-seat lock in process, including the record, ns +≤ 250 /m);
});

test("bench compares the durable lock with the empty handlers in every mix", async () => {
  const printed = await run("bench.js", [...TOY, "--only", "Frontrow|uWebSockets"]);
  for (const mix of MIXES) expect(printed).toContain(`${mix}, 4 connections`);
  expect(printed).toMatch(/^lock ÷ POST not parsed, 64 connections .* not measured$/m);
  const { conditions, rows } = await written("load.json");
  expect(conditions.node).toBe(process.version);
  for (const row of rows as Row[]) expect(row.rounds[0]!.done, row.name).toBeGreaterThan(0);
});

test("cluster compares the leader of a cluster with a single host", async () => {
  const printed = await run("hosts/cluster.js", ["--seconds", "0.2", "--rounds", "1"]);
  if (!isInstalled("etcd")) return expect(printed).toContain("apt-get install etcd-server");
  expect(printed).toMatch(/^HTTP, cluster +\d/m);
  expect(printed).toMatch(/^cluster ÷ decides nothing, HTTP, \d+ connections: \d/m);
  expect(printed).toMatch(/^socket, 64 × 64, ÷ single host +≥ 0\.3 /m);
  expect(printed).toMatch(/^lag of a standby at full load, s +≤ 1 /m);
});

test("the lag of a standby is how long ago the leader had its records", () => {
  const at = (role: HostRole, seconds: number, sequence: number) => {
    const place = { number: 1, offset: 0, sequence };
    return { host: role, address: "", role, ...place, atMs: 1_000 * seconds };
  };
  const leader = [0, 1, 2, 3].map((second) => at(HostRole.LEADER, second, 100 * second));
  const lagAt = (seconds: number, sequence: number) =>
    longestLag([...leader, at(HostRole.STANDBY, seconds, sequence)]);
  expect(lagAt(2.5, 150)).toBe(1_000);
  expect(lagAt(2.5, 225)).toBe(250);
  expect(lagAt(2.2, 225)).toBe(0);
  // The load has just begun, or the leader has said nothing since.
  expect([lagAt(1.5, 50), lagAt(4, 300)]).toEqual([null, null]);
});

test("join measures how long new hosts of a cluster take", async () => {
  const printed = await run("hosts/join.js", []);
  if (!isInstalled("etcd")) return expect(printed).toContain("apt-get install etcd-server");
  expect(printed).toMatch(/^fourth host +\d+\.\d\d +\d+\.\d\d +\d/m);
  expect(printed).toMatch(/^a fourth host from zero to warm, 2,000 records, s +≤ 60 .* reached$/m);
});

test("socket compares both subprotocols, and says what it could not measure", async () => {
  const printed = await run("socket.js", ["--seconds", "0.2", "--rounds", "1"]);
  expect(printed).toMatch(/^socket binary +2 +4 /m);
  expect(printed).toMatch(/^socket JSON +2 +4 /m);
  expect(printed).toMatch(/^decides nothing +2 +4 /m);
  expect(printed).toMatch(/^4 commands +[\d.]+ +[\d.]+$/m);
  expect(printed).toMatch(/^JSON ÷ binary, 2 × 4 +≥ 0.65 /m);
  if (!isInstalled("redis-server")) {
    expect(printed).toMatch(/^÷ Redis always, 2 × 4 .* not measured$/m);
  }
  const { rows } = await written("socket.json");
  for (const { measured } of rows as { measured: { commandsPerSecond: number }[] }[]) {
    expect(measured[0]!.commandsPerSecond).toBeGreaterThan(0);
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

const SELLERS: ReadonlySet<string> = new Set([
  names.REDIS_ALWAYS,
  names.IOREDIS_ALWAYS,
  names.POSTGRES_TRANSACTION,
  names.POSTGRES_FUNCTION,
  names.SQLITE_FULL,
]);
const sellers = contenders([]).filter(({ name }) => SELLERS.has(name));
test("all sellers are known", () => expect(sellers).toHaveLength(SELLERS.size));
for (const { name, missing } of sellers) {
  describeUnless(missing(), name, () => {
    test("it sells no seat twice and leaves no seat locked", async () => {
      const pattern = name.replaceAll(/[()+]/g, String.raw`\$&`);
      await run("bench.js", [...TOY, "--mixes", "lock,hot", "--only", pattern]);
      const { rows } = await written("load.json");
      expect((rows as Row[]).map((row) => [row.name, row.mix])).toEqual([
        [name, "lock"],
        [name, "hot"],
      ]);
    });
  });
}

test("a contender that is not installed is left out, with the command to install it", async () => {
  const args = [...TOY, "--mixes", "lock", "--only", "Redis Lua|GET"];
  const printed = await run("bench.js", args, { PATH: "" });
  const leftOut = `left out: ${names.REDIS_ALWAYS}: apt-get install redis-server`;
  expect(printed.split("\n")).toContain(leftOut);
  expect(printed).toMatch(/^uWebSockets\.js GET, constant answer +\d/m);
});

describeWith(["wrk"], "with wrk", () => {
  test("generator compares the load generator with wrk", async () => {
    const toy = ["--connections", "4", "--seconds", "1", "--rounds", "1"];
    const printed = await run("generator.js", toy);
    expect(printed.match(/^uWebSockets\.js (GET|POST).* \d+ k +\d+ k-\d+ k$/gm)).toHaveLength(2);
  });
});

test("growth measures six kinds of size and draws a chart of each", async () => {
  const small = ["--seats", "200,400", "--events", "1,2", "--request", "1,2", "--holds", "0,10"];
  const printed = await run("growth.js", [...small, "--records", "100,200", "--rounds", "1"]);
  expect(printed).toMatch(/^throughput at 2 events ÷ at one event of 1,000 seats +≥ 0\.8 /m);
  expect(printed).toMatch(/^throughput at 400 seats ÷ /m);
  for (const name of ["seats", "events", "request", "holds", "log", "recovery"]) {
    const svg = await readFile(path.join(results, `growth-${name}.svg`), "utf8");
    expect(svg).toMatch(/^<svg .*<path /s);
  }
});

test("memory measures a process, a seat and a hold", async () => {
  const printed = await run("memory.js", ["--events", "3", "--seats", "500", "--holds", "500"]);
  expect(printed).toMatch(/^seat of a further event, beyond the layout +-?[\d.]+ bytes$/m);
  expect(printed).toMatch(/^peak MiB of one process with 50 million seats .* not measured$/m);
});

test("gateway compares locks through a gateway with locks straight to the engine", async () => {
  const printed = await run("hosts/gateway.js", TOY);
  expect(printed).toMatch(/^straight to the engine +[\d,]+ /m);
  expect(printed).toMatch(/^through +[\d,]+ /m);
  expect(printed).toMatch(/^command socket, one connection +[\d,]+ /m);
  expect(printed).toMatch(/^lock through a gateway ÷ without +≥ 0\.7 /m);
});

test("overload measures the good answers when more is offered than can be answered", async () => {
  const toy = ["--connections", "20", "--calm", "0.2", "--seconds", "0.5"];
  const printed = await run("overload.js", toy);
  expect(printed).toMatch(/^3 times the peak +[\d,]+ /m);
  expect(printed).toMatch(/^good answers under overload ÷ peak +≥ 0\.9 /m);
  expect(printed).toContain("other answers: {}");
});

test("console measures frames in Chromium, with and without changes", async () => {
  const printed = await run("console/console.js", ["--seconds", "0.5"]);
  expect(printed).toMatch(/^still +[\d.]+ +[\d.]+$/m);
  expect(printed).toMatch(/^violations of the policy +≤ 0 +0\.00 +reached$/m);
});

test.each([0, 200])("stream measures clients of an event, at a rate of %d", async (rate) => {
  const toy = ["--clients", "41", "--seconds", "1", "--connections", "4", "--seats", "200"];
  const more = ["--fewer", "20", "--idle", "50"];
  const printed = await run("stream.js", [...toy, ...more, "--rate", String(rate)]);
  expect(printed).toMatch(/^Frontrow, 41 clients +[\d,]+ /m);
  expect(printed).toMatch(/^only publishes, 41 clients +[\d,]+ /m);
  for (const what of ["streams", "command sockets"]) {
    expect(printed).toMatch(new RegExp(`^MiB of 50 idle ${what} +≤ 60 `, "m"));
  }
  expect(printed).toMatch(/^clients with the states of the map +≥ 41 +41\.00 +reached$/m);
  const { rows } = await written("stream.json");
  const [own, publisher] = rows as [StreamRow, StreamRow];
  for (const { rounds, fewer } of [own, publisher]) {
    expect(rounds[0]!.followings.equal).toBe(41);
    expect(fewer.map(({ clients, followings }) => [clients, followings.equal])).toEqual([[20, 20]]);
    const { probes, delaysMs, reconnects } = rounds[0]!.followings;
    expect(probes).toBeGreaterThan(0);
    expect(delaysMs.sinceSentP99).toBeGreaterThanOrEqual(delaysMs.p99);
    if (rate > 0) expect(reconnects).toBeGreaterThan(0);
  }
  // The publisher has no rule against two buyers of one seat.
  const [{ alone, followed }] = own.rounds as [(typeof own.rounds)[0]];
  const isSoldOut = [alone, followed].map(({ unsold }) => unsold);
  expect(isSoldOut).toEqual(rate === 0 ? [0, 0] : [null, null]);
});

test("audit measures recording, following a log, six queries, and histories", async () => {
  const toy = ["--seats", "100", "--transitions", "1000"];
  const more = ["--records", "600", "--rounds", "1", "--history", "4000"];
  const printed = await run("audit.js", [...toy, ...more]);
  expect(printed).toMatch(/^1100 transitions, \d+ bytes each$/m);
  expect(printed.match(/^(the same )?(map|newest|transitions)\b.* [\d.]+$/gm)).toHaveLength(6);
  const { verdicts } = await written("audit.json");
  expect(verdicts).toHaveLength(6);
  for (const { value } of verdicts) expect(value).toBeGreaterThan(0);
  expect(printed).toMatch(/^ms for the history of a seat among 4,\d{3} transitions +≤ 5 /m);
});

test("trail-lag compares a server with a trail with one whose trail does not follow", async () => {
  const toy = ["--connections", "4", "--slices", "2", "--seconds", "0.5"];
  const printed = await run("trail-lag.js", [...toy, "--pairs", "2", "--short", "0.5"]);
  expect(printed).toMatch(/^slice 2 +[\d,]+ +\d+\.\d\d +[\d,]+$/m);
  expect(printed).toMatch(/^greatest lag of the trail, s +≤ 5 /m);
  const { pairs } = await written("trail-lag.json");
  expect(pairs).toHaveLength(2);
  // Without a trail, all that a slice of half a second wrote is missing.
  for (const { without } of pairs as { without: { perSecond: number; lagRecords: number } }[]) {
    expect(without.lagRecords).toBeGreaterThan(0.4 * without.perSecond);
  }
});

test("listing measures pages in four orders over HTTP", async () => {
  const printed = await run("listing-http.js", ["--seats", "200"]);
  expect(printed.match(/^(first|last) page, .* [\d.]+$/gm)).toHaveLength(8);
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
