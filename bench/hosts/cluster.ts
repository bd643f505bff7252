/**
 * `npm run bench:cluster`: durable two-seat locks on the leader of a cluster with three members of
 * etcd, beside a single host, in interleaved rounds on one machine.
 */
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { RunningContender } from "../contenders/contender.ts";
import { type Cell, missingEtcd, startCell } from "../contenders/etcd.ts";
import { CLI, runningAt, startServer } from "../contenders/frontrow.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "../harness/command.ts";
import { interleave, medianOf } from "../harness/measure.ts";
import { measureIn, run } from "../harness/processes.ts";
import { report, verdict } from "../harness/results.ts";
import { print, progress, table } from "../harness/table.ts";
import { Generator } from "../load/generator-process.ts";
import type { PipelinedMeasurement, PipelinedPlan } from "../load/pipelined-wire.ts";
import type { EventOnSale } from "../load/plan.ts";
import { lagDuring } from "./lag.ts";

const SEATS = isTrial ? 2_000 : 20_000;
const HTTP_CONNECTIONS = isTrial ? 8 : 256;
const SOCKETS = isTrial ? { connections: 2, inFlight: 4 } : { connections: 64, inFlight: 64 };
const LAG_ROUNDS = 3;
const TICKS_PER_SECOND = 100;
/** Fields of `/proc/<pid>/stat` after the name: the processor time of the user and the system. */
const [USER_TICKS, SYSTEM_TICKS] = [11, 12];

const options = parseOptions("bench:cluster", "Measures a cluster beside a single host.", {
  rounds: number(3, "rounds, besides the one that warms up"),
  seconds: number(3, "seconds of each measurement"),
  folder,
});
const durationMs = options.seconds * 1_000;

interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the engine's thread. */
  readonly microseconds: number;
}

interface Subject {
  readonly name: string;
  readonly server: RunningContender;
  readonly event: EventOnSale;
}

const missing = missingEtcd();
if (missing === null) await inTemporaryFolder(options.folder, measure);
else print(`left out: ${missing}\n`);

async function measure(data: string): Promise<void> {
  for (const name of ["single", "host", "etcd"]) await mkdir(`${data}/${name}`);
  const cell = await startCell(`${data}/etcd`);
  const single = runningAt(await startServer(`${data}/single`));
  const leader = runningAt(await cell.startHost(`${data}/host`, "a"));
  const subjects: Subject[] = [];
  for (const [name, server] of [["single host", single] as const, ["cluster", leader] as const]) {
    subjects.push({ name, server, event: await server.openEvent(SEATS) });
  }
  const generator = new Generator();
  const over = (wire: string, drive: (subject: Subject) => Promise<Measured>) =>
    subjects.map((subject) => ({ name: `${wire}, ${subject.name}`, act: () => drive(subject) }));
  const cases = [
    ...over("HTTP", (subject) => timed(subject, () => overHttp(generator, subject))),
    ...over("socket", (subject) => timed(subject, () => overSocket(subject))),
  ];
  const values = await interleave(
    cases.map(({ name, act }) => () => {
      progress(name);
      return act();
    }),
    options.rounds,
  );
  const lagMs = await standbyLag(cell, { data, leader: subjects[1]!, generator });
  await generator.stop();
  for (const { server } of subjects) await server.stop();
  await cell.stop();
  await tell(
    cases.map(({ name }, i) => ({ name, measured: values[i]! })),
    lagMs,
  );
}

/** A standby joins only now: it would take processor time from the measurements before. */
async function standbyLag(
  cell: Cell,
  { data, leader, generator }: { data: string; leader: Subject; generator: Generator },
): Promise<number | null> {
  progress("the lag of a standby");
  const place = `${data}/standby`;
  await mkdir(place);
  await run(process.execPath, [CLI, "join", `${data}/host/data`, `${place}/data`]);
  const standby = await cell.startStandby(place, "b");
  const lags: (number | null)[] = [];
  for (const drive of [() => overHttp(generator, leader), () => overSocket(leader)]) {
    // Hosts say each second how far they are.
    const several = async () => {
      for (let i = 0; i < LAG_ROUNDS; i++) await drive();
    };
    lags.push(await lagDuring(cell.member, several));
  }
  await standby.stop();
  const known = lags.filter((lag) => lag !== null);
  return known.length === lags.length ? Math.max(...known) : null;
}

async function tell(
  rows: readonly { readonly name: string; readonly measured: readonly Measured[] }[],
  lagMs: number | null,
): Promise<void> {
  const cells = rows.map(({ name, measured }) => {
    const of = (pick: (one: Measured) => number) => medianOf(measured.map(pick));
    const perSecond = Math.round(of((one) => one.perSecond)).toLocaleString("en");
    const times = [of(({ p50Ms }) => p50Ms), of(({ p99Ms }) => p99Ms)];
    const micros = of(({ microseconds }) => microseconds);
    return [name, perSecond, ...[...times, micros].map((value) => value.toFixed(2))];
  });
  print(table(["", "requests/s", "p50 ms", "p99 ms", "engine µs each"], cells));
  const quotient = (from: number, pick: (one: Measured) => number) =>
    medianOf(rows[from + 1]!.measured.map((one, i) => pick(one) / pick(rows[from]!.measured[i]!)));
  const verdicts = [
    verdict(`HTTP, ${HTTP_CONNECTIONS} connections, ÷ single host`, { atLeast: 0.7 }, rate(0)),
    verdict("processor time of a request ÷ single host", { atMost: 1.25 }, cost(0)),
    verdict("socket, 64 × 64, ÷ single host", { atLeast: 0.3 }, rate(2)),
    verdict("lag of a standby at full load, s", { atMost: 1 }, lagMs === null ? null : lagMs / 1e3),
  ];
  await report("cluster", options.folder, { verdicts, rows, ...options });

  function rate(from: number): number {
    return quotient(from, ({ perSecond }) => perSecond);
  }

  function cost(from: number): number {
    return quotient(from, ({ microseconds }) => microseconds);
  }
}

async function timed(
  { server }: Subject,
  act: () => Promise<Omit<Measured, "microseconds"> & { readonly done: number }>,
): Promise<Measured> {
  await server.settle?.();
  const pid = server.pids[0]!;
  const before = threadSeconds(pid);
  const { done, ...measured } = await act();
  return { ...measured, microseconds: ((threadSeconds(pid) - before) / done) * 1e6 };
}

async function overHttp(generator: Generator, { server: { target }, event }: Subject) {
  const load = { mix: "lock", seed: 1, durationMs, connections: HTTP_CONNECTIONS } as const;
  const { requestsPerSecond, done, latencyMs } = await generator.drive({
    target,
    events: [event],
    ...load,
  });
  return { perSecond: requestsPerSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99, done };
}

async function overSocket({ server: { target }, event }: Subject) {
  const plan: PipelinedPlan = { target, protocol: "binary", event, ...SOCKETS, durationMs };
  const program = new URL("../load/pipelined.js", import.meta.url);
  const { commandsPerSecond, p50Ms, p99Ms } = await measureIn<PipelinedMeasurement>(program, plan);
  return { perSecond: commandsPerSecond, p50Ms, p99Ms, done: commandsPerSecond * options.seconds };
}

/** Processor time of the first thread of a process, which is that of the engine. */
function threadSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) / TICKS_PER_SECOND;
}
