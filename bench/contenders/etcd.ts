/** Three members of etcd from Debian's package, and Frontrow as a host of a cluster beside them. */
import path from "node:path";
import {
  freePort,
  isInstalled,
  type RunningProgram,
  type Server,
  startProgram,
} from "../harness/processes.ts";
import { CLI, metricOf, startServer } from "./frontrow.ts";

const MEMBERS = [0, 1, 2];
const LOOPBACK = "http://127.0.0.1";

export interface Cell {
  /** Starts a host, which is ready when it leads. */
  readonly startHost: (folder: string, name: string) => Promise<Server>;
  /** Starts a host beside another one that leads; it is ready when it follows. */
  readonly startStandby: (folder: string, name: string) => Promise<Standby>;
  /** Host and port of a member of etcd. */
  readonly member: string;
  /** The processes of all members. */
  readonly pids: readonly number[];
  readonly stop: () => Promise<void>;
}

export interface Standby extends RunningProgram {
  readonly url: URL;
}

/** The name of the cell. */
export const CELL = "bench";

/** @returns The command to install a missing program; null when nothing is. */
export function missingEtcd(): string | null {
  return isInstalled("etcd") ? null : "apt-get install etcd-server";
}

export async function startCell(folder: string): Promise<Cell> {
  const clients: string[] = [];
  const peers: string[] = [];
  for (const _ of MEMBERS) clients.push(`${LOOPBACK}:${await freePort()}`);
  for (const _ of MEMBERS) peers.push(`${LOOPBACK}:${await freePort()}`);
  const cluster = MEMBERS.map((member) => `m${member}=${peers[member]}`).join(",");
  const members: RunningProgram[] = await Promise.all(
    MEMBERS.map((member) =>
      startProgram({
        path: "etcd",
        args: [
          ["--name", `m${member}`],
          ["--data-dir", path.resolve(folder, `etcd-${member}`)],
          ["--listen-client-urls", clients[member]!],
          ["--advertise-client-urls", clients[member]!],
          ["--listen-peer-urls", peers[member]!],
          ["--initial-advertise-peer-urls", peers[member]!],
          ["--initial-cluster", cluster],
          ["--log-level", "error"],
        ].flat(),
        // On SIGTERM, the leader looks for a successor for seven seconds while all end.
        stopSignal: "SIGKILL",
        connect: async () => {
          const { ok } = await fetch(`${clients[member]}/health`);
          if (!ok) throw new Error("the member has no leader yet");
        },
      }),
    ),
  );
  const member = new URL(clients[0]!).host;
  const address = `etcd://${member}/${CELL}`;
  const argsOf = (name: string) => ["--cluster", address, "--cluster-host", name];
  return {
    member,
    pids: members.map(({ pid }) => pid),
    startHost: (data, name) => startServer(data, [...argsOf(name), "--cluster-found"]),
    startStandby: (data, name) => startStandby(data, argsOf(name)),
    stop: async () => {
      await Promise.all(members.map((each) => each.stop()));
    },
  };
}

async function startStandby(folder: string, args: readonly string[]): Promise<Standby> {
  const port = await freePort();
  const url = new URL(`${LOOPBACK}:${port}`);
  const places = ["--port", String(port), "--data", path.join(folder, "data")];
  const program = await startProgram({
    path: process.execPath,
    args: [CLI, "serve", ...places, ...args],
    stopSignal: "SIGTERM",
    connect: () => metricOf(url, 'frontrow_cluster_role{role="standby"}'),
  });
  return { ...program, url };
}
