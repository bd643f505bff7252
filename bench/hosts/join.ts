/**
 * `npm run bench:join`: hosts join a cluster one after the other, each with a copy from the one
 * before it. The time counts from the command `frontrow join` until the host has every record.
 */
import { mkdir } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { type Cell, missingEtcd, startCell } from "../contenders/etcd.ts";
import { CLI, metricsOf } from "../contenders/frontrow.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "../harness/command.ts";
import { run } from "../harness/processes.ts";
import { report, verdict } from "../harness/results.ts";
import { print, progress, table, withCommas } from "../harness/table.ts";
import { runStore } from "../in-process/store-process.ts";

const SEATS = isTrial ? 200 : 23_200;
const JOINING = ["second", "third", "fourth"] as const;
const POLL_MS = 50;
const GOAL_SECONDS = 60;
const TOKEN = "platform-token-of-the-benchmark";

const options = parseOptions("bench:join", "Measures how long a new host of a cluster takes.", {
  records: number(isTrial ? 2_000 : 1e7, "records of the log"),
  folder,
});

interface Joined {
  readonly name: string;
  readonly copySeconds: number;
  readonly startSeconds: number;
}

const missing = missingEtcd();
if (missing === null) await inTemporaryFolder(options.folder, measure);
else print(`left out: ${missing}\n`);

async function measure(data: string): Promise<void> {
  process.env["FRONTROW_PLATFORM_TOKEN"] = TOKEN;
  for (const name of ["etcd", "first", ...JOINING]) await mkdir(`${data}/${name}`);
  progress("filling the log");
  const fill = { events: 1, seats: SEATS, records: options.records };
  await runStore({ folder: `${data}/first/data`, fill, closes: true, hasTrail: true });
  const cell = await startCell(`${data}/etcd`);
  const leader = await cell.startHost(`${data}/first`, "first");
  const rows: Joined[] = [];
  const stops = [leader.stop];
  let peer = leader.url;
  for (const name of JOINING) {
    progress(`the ${name} host joins`);
    const sequence = await sequenceOf(leader.url, "first");
    const startedMs = performance.now();
    await run(process.execPath, [CLI, "join", peer.href, `${data}/${name}/data`]);
    const copiedMs = performance.now();
    const standby = await warmStandby(cell, { data, name, sequence });
    const startSeconds = (performance.now() - copiedMs) / 1_000;
    rows.push({ name, copySeconds: (copiedMs - startedMs) / 1_000, startSeconds });
    stops.push(standby.stop);
    peer = standby.url;
  }
  for (const stop of stops.toReversed()) await stop();
  await cell.stop();
  const cells = rows.map(({ name, copySeconds, startSeconds }) => {
    const times = [copySeconds, startSeconds, copySeconds + startSeconds];
    return [`${name} host`, ...times.map((seconds) => seconds.toFixed(2))];
  });
  print(table(["", "copy and check s", "start and follow s", "together s"], cells));
  const { copySeconds, startSeconds } = rows.at(-1)!;
  const figure = `a fourth host from zero to warm, ${withCommas(options.records)} records, s`;
  const verdicts = [verdict(figure, { atMost: GOAL_SECONDS }, copySeconds + startSeconds)];
  await report("join", options.folder, { verdicts, rows, ...options });
}

/** Waits until the host has said that the record is on its disk. */
async function warmStandby(
  cell: Cell,
  { data, name, sequence }: { data: string; name: string; sequence: number },
) {
  const standby = await cell.startStandby(`${data}/${name}`, name);
  while ((await sequenceOf(standby.url, name)) < sequence) await setTimeout(POLL_MS);
  return standby;
}

async function sequenceOf(url: URL, host: string): Promise<number> {
  const line = new RegExp(`^frontrow_cluster_host_sequence\\{host="${host}".*\\} (\\d+)$`, "m");
  for (;;) {
    const [, sequence] = line.exec(await metricsOf(url)) ?? [];
    if (sequence !== undefined) return Number(sequence);
    await setTimeout(POLL_MS);
  }
}
