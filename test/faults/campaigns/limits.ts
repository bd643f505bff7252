/**
 * Denials by the system: the data folder to a second process, and file descriptors to a process
 * with too many connections. Open connections are served all the time, and new ones as soon as
 * there are descriptors again.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { ledgerDeviations, LedgerFold } from "../../support/ledger-check.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import { missingPrograms } from "../../support/programs.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import { Crowd } from "../support/crowd.ts";
import { readFolder } from "../support/folder-state.ts";
import { createHouse, spawnServer, startServer } from "../support/serving.ts";

const LINES = 8;
const SECOND_PROCESSES = { short: 1, long: 10 };
const IN_USE = 75;
/** Descriptors left, and connections in need of one. */
const SPARE_FDS = 20;
const CONNECTIONS = 200;
const PRESSED_MS = { short: 2_000, long: 20_000 };
const RECOVER_MS_MAX = 20_000;
const TICKS_PER_SECOND = 100;

export const limits: Campaign = {
  name: "limits",
  shows: "a second process is refused; without file descriptors, open connections are served",
  missing: () => missingPrograms("prlimit"),
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const form = isLong ? "long" : "short";
  const folder = path.join(scope.folder(), "data");
  const server = await startServer(scope, { folder, args: ["--snapshot-every", "0.1"] });
  const house = await createHouse(server);
  const fold = new LedgerFold();
  const crowd = new Crowd({ url: server.url, house, fold, seed, lines: LINES });
  const violations: string[] = [];

  tell("second processes");
  for (let i = 0; i < SECOND_PROCESSES[form]; i++) {
    const second = spawnServer(scope, { folder });
    const { code } = await second.exited;
    if (code !== IN_USE) violations.push(`a second process exits with ${code}: ${second.stderr}`);
  }

  tell("file descriptors");
  const fdsBefore = limitFds(server, fdsOf(server) + SPARE_FDS);
  const sockets = await connectMany(server.url);
  const before = fold.answers;
  const cpuBefore = cpuSecondsOf(server);
  await sleep(PRESSED_MS[form]);
  const during = fold.answers - before;
  const cpu = (cpuSecondsOf(server) - cpuBefore) / (PRESSED_MS[form] / 1_000);
  if (during === 0) violations.push("the open connections were not served");
  for (const socket of sockets) socket.destroy();
  limitFds(server, fdsBefore);
  const isServing = await servesAgain(server);
  if (!isServing) violations.push("it accepts no connections any more");

  await crowd.stop();
  const { code } = await server.kill("SIGTERM");
  if (code !== 0) violations.push(`an orderly end exits with ${code}`);
  violations.push(
    ...crowd.failures,
    ...ledgerDeviations(fold, readFolder(folder).state, house.eventId),
  );
  return {
    figures: {
      "second processes refused": SECOND_PROCESSES[form],
      "connections that needed a descriptor": CONNECTIONS,
      "  changes on open connections": during,
      "  share of a core used meanwhile": `${Math.round(cpu * 100)} %`,
      "operations acknowledged": fold.answers,
      lost: violations.length,
    },
    violations,
  };
}

const fdsOf = ({ pid }: ServerProcess) => fs.readdirSync(`/proc/${pid}/fd`).length;

/** @returns The previous limit. */
function limitFds({ pid }: ServerProcess, limit: number): number {
  const { 1: before = "0" } =
    /Max open files\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/limits`, "utf8")) ?? [];
  const args = ["--pid", String(pid), `--nofile=${limit}:`];
  const { status, stderr } = spawnSync("prlimit", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return Number(before);
}

/** User and system time since the start. */
function cpuSecondsOf({ pid }: ServerProcess): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

/** Some are accepted, the others wait in the system's queue. */
async function connectMany(url: string): Promise<readonly net.Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = net.connect(Number(port), hostname);
    return socket.on("error", () => {});
  });
  await sleep(200);
  return sockets;
}

async function servesAgain(server: ServerProcess): Promise<boolean> {
  const endMs = performance.now() + RECOVER_MS_MAX;
  while (performance.now() < endMs) {
    try {
      const reply = await fetch(`${server.url}/readyz`, { signal: AbortSignal.timeout(1_000) });
      if (reply.ok) return true;
    } catch {
      await sleep(50);
    }
  }
  return false;
}
