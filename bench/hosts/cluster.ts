/**
 * `npm run bench:cluster`: durable two-seat locks on the leader of a cluster with three members of
 * etcd, beside a single host, in interleaved rounds on one machine. A server that decides nothing
 * puts the same frames into the same etcd: more than its throughput cannot be had here.
 */
import { mkdir } from "node:fs/promises";
import { type Cell, missingEtcd, startCell } from "../contenders/etcd.ts";
import { type RunningContender, syntheticEvent } from "../contenders/contender.ts";
import { CLI, runningAt, startServer } from "../contenders/frontrow.ts";
import { describeProcessors, measureProcessors, type Processors } from "../floors/floors.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "../harness/command.ts";
import { interleave, medianOf, quotientOf, waitUntilIdle } from "../harness/measure.ts";
import { run, startModule } from "../harness/processes.ts";
import { print, progress, report, table, verdict } from "../harness/results.ts";
import { type Driven, overHttp, overSocket, withCosts } from "../load/drive.ts";
import { Generator } from "../load/generator-process.ts";
import { type EventOnSale, targetAt } from "../load/plan.ts";
import { lagDuring } from "./lag.ts";

const SEATS = isTrial ? 2_000 : 20_000;
const HTTP_CONNECTIONS = isTrial ? 8 : 256;
const SOCKETS = isTrial ? { connections: 2, inFlight: 4 } : { connections: 64, inFlight: 64 };
const LAG_ROUNDS = 3;
const FLOOR = new URL("../floors/etcd-server.js", import.meta.url);

const options = parseOptions("bench:cluster", "Measures a cluster beside a single host.", {
  rounds: number(3, "rounds, besides the one that warms up"),
  seconds: number(3, "seconds of each measurement"),
  folder,
});
const durationMs = options.seconds * 1_000;

type Measured = Awaited<ReturnType<typeof withCosts<"host" | "etcd">>>;

interface Subject {
  readonly name: string;
  readonly server: Pick<RunningContender, "target" | "pids" | "stop">;
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
  const floor = await startModule(FLOOR, [cell.member]);
  const floorAt = { target: targetAt(floor.url), pids: [floor.pid], stop: floor.stop };
  const [ofSingle, ofLeader] = [await single.openEvent(SEATS), await leader.openEvent(SEATS)];
  const subjects: Subject[] = [
    { name: "single host", server: single, event: ofSingle },
    { name: "cluster", server: leader, event: ofLeader },
    { name: "decides nothing", server: floorAt, event: syntheticEvent(SEATS) },
  ];
  const generator = new Generator();
  const over = (wire: string, drive: (subject: Subject) => Promise<Driven>) => {
    return subjects.map((subject) => {
      const act = () => timed(cell, subject, () => drive(subject));
      return { name: `${wire}, ${subject.name}`, act };
    });
  };
  const cases = [
    ...over("HTTP", (subject) => http(generator, subject)),
    ...over("socket", (subject) => sockets(subject)).slice(0, 2),
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
    { lagMs, processors: await measureProcessors(durationMs) },
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
  for (const drive of [() => http(generator, leader), () => sockets(leader)]) {
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
  { lagMs, processors }: { readonly lagMs: number | null; readonly processors: Processors },
): Promise<void> {
  const cells = rows.map(({ name, measured }) => {
    const of = (pick: (one: Measured) => number) => medianOf(measured.map(pick));
    const perSecond = Math.round(of((one) => one.perSecond)).toLocaleString("en");
    const times = [of(({ p50Ms }) => p50Ms), of(({ p99Ms }) => p99Ms)];
    const costs = [of(({ micros }) => micros.host.thread), of(({ micros }) => micros.etcd.all)];
    return [name, perSecond, ...[...times, ...costs].map((value) => value.toFixed(2))];
  });
  print(table(["", "requests/s", "p50 ms", "p99 ms", "thread µs", "etcd µs"], cells));
  const perSecond = ({ perSecond: rate }: Measured) => rate;
  const quotient = (of: string, by: string, pick = perSecond) => {
    const [above, below] = [of, by].map((name) => rows.find((row) => row.name === name)!.measured);
    return quotientOf(above!.map(pick), below!.map(pick));
  };
  const thread = ({ micros }: Measured) => micros.host.thread;
  const [single, cluster, floor] = ["HTTP, single host", "HTTP, cluster", "HTTP, decides nothing"];
  const best = `decides nothing, HTTP, ${HTTP_CONNECTIONS} connections`;
  const share = (name: string, of: string, by: string) =>
    `${name}: ${quotient(of, by).median.toFixed(2)}\n`;
  print(`\n${share(`${best}, ÷ single host`, floor, single)}`);
  print(share(`cluster ÷ ${best}`, cluster, floor));
  print(`${describeProcessors(processors)}\n`);
  const verdicts = [
    verdict(
      `HTTP, ${HTTP_CONNECTIONS} connections, ÷ single host`,
      { atLeast: 0.7 },
      quotient(cluster, single),
    ),
    verdict(
      "processor time of a request ÷ single host",
      { atMost: 1.25 },
      quotient(cluster, single, thread),
    ),
    verdict(
      "socket, 64 × 64, ÷ single host",
      { atLeast: 0.3 },
      quotient("socket, cluster", "socket, single host"),
    ),
    verdict("lag of a standby at full load, s", { atMost: 1 }, lagMs === null ? null : lagMs / 1e3),
  ];
  await report("cluster", options.folder, { verdicts, rows, processors, ...options });
}

async function timed(cell: Cell, { server }: Subject, act: () => Promise<Driven>) {
  await waitUntilIdle(server.pids);
  return withCosts({ host: server.pids, etcd: cell.pids }, act);
}

function http(generator: Generator, { server: { target }, event }: Subject): Promise<Driven> {
  return overHttp(generator, { target, event, connections: HTTP_CONNECTIONS, durationMs });
}

function sockets({ server: { target }, event }: Subject): Promise<Driven> {
  return overSocket({ target, event, ...SOCKETS, durationMs });
}
