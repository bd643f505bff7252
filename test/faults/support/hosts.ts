/** The hosts of a cluster as processes: each has its own folder, and a member of etcd beside it. */
import fs from "node:fs";
import path from "node:path";
import { EtcdMembers, freePorts } from "../../support/cluster/etcd-members.ts";
import { type Exit, type ServerProcess, sleep } from "../../support/server-process.ts";
import { readFolder } from "./folder-state.ts";
import type { Scope } from "./scope.ts";
import { spawnServer } from "./serving.ts";

const CELL = "cell";
const LOCK = "lock.sqlite";
const START_MS_MAX = 120_000;
const POLL_MS = 10;
const HTTP_OK = 200;
const ASK_MS_MAX = 2_000;

interface Host {
  readonly folder: string;
  readonly url: string;
  readonly port: number;
  /** Null while it is down. */
  server: ServerProcess | null;
}

export class Hosts {
  readonly members: EtcdMembers;
  readonly #scope: Scope;
  readonly #hosts: readonly Host[];

  private constructor(scope: Scope, members: EtcdMembers, hosts: readonly Host[]) {
    this.#scope = scope;
    this.members = members;
    this.#hosts = hosts;
  }

  /**
   * Starts a cell with one host, and then the others with copies of its folder.
   * @param prepare - Fills the store of the first host.
   */
  static async start<Made>(
    scope: Scope,
    count: number,
    prepare: (server: ServerProcess) => Promise<Made>,
  ): Promise<{ readonly hosts: Hosts; readonly made: Made }> {
    const root = scope.folder();
    const members = await EtcdMembers.start(root);
    scope.defer(() => members.end());
    const ports = await freePorts(count);
    const hosts = new Hosts(
      scope,
      members,
      ports.map((port, number): Host => {
        const folder = path.join(root, `host-${number}`);
        return { folder, port, url: `http://127.0.0.1:${port}`, server: null };
      }),
    );
    hosts.spawn(0);
    await hosts.leader();
    const made = await prepare(hosts.#server(0));
    await hosts.end(0, "SIGTERM");
    for (let number = 1; number < count; number++) hosts.copy(0, number);
    for (let number = 0; number < count; number++) hosts.spawn(number);
    await hosts.untilFollowing();
    return { hosts, made };
  }

  get count(): number {
    return this.#hosts.length;
  }

  folderOf(number: number): string {
    return this.#hosts[number]!.folder;
  }

  urlOf(number: number): string {
    return this.#hosts[number]!.url;
  }

  /** Starts a host without waiting. */
  spawn(number: number): void {
    const { folder, port } = this.#hosts[number]!;
    const cluster = ["--cluster", `etcd://${this.members.address(number % 3)}/${CELL}`];
    const names = ["--cluster-host", `host-${number}`];
    const args = ["--port", String(port), ...cluster, ...names, "--snapshot-every", "1"];
    this.#hosts[number]!.server = spawnServer(this.#scope, { folder, args });
  }

  /** Replaces the folder of a host with a copy of another one. */
  copy(from: number, to: number): void {
    fs.rmSync(this.folderOf(to), { recursive: true, force: true });
    fs.cpSync(this.folderOf(from), this.folderOf(to), { recursive: true });
    fs.rmSync(path.join(this.folderOf(to), LOCK), { force: true });
  }

  signal(number: number, signal: NodeJS.Signals): void {
    process.kill(this.#server(number).pid, signal);
  }

  /** Ends a host. @returns How it ended. */
  async end(number: number, signal: NodeJS.Signals): Promise<Exit> {
    const exit = await this.#server(number).kill(signal);
    this.#hosts[number]!.server = null;
    return exit;
  }

  /** Waits until a host has ended by itself. */
  async ended(number: number): Promise<Exit> {
    const exit = await this.#server(number).exited;
    this.#hosts[number]!.server = null;
    return exit;
  }

  stderrOf(number: number): string {
    return this.#hosts[number]!.server?.stderr ?? "";
  }

  /** Waits until a host takes requests. @param besides - Not this one. @returns Its number. */
  async leader(besides = -1): Promise<number> {
    const endMs = Date.now() + START_MS_MAX;
    for (;;) {
      for (const [number, { url, server }] of this.#hosts.entries()) {
        if (number === besides || server === null) continue;
        if ((await statusOf(`${url}/readyz`)) === HTTP_OK) return number;
      }
      if (Date.now() > endMs) {
        throw new Error(`no host leads: ${this.#hosts.map((_, n) => this.stderrOf(n)).join("\n")}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Waits until all hosts that run have the same records on their disks. @returns The leader. */
  async untilFollowing(): Promise<number> {
    const endMs = Date.now() + START_MS_MAX;
    for (;;) {
      const leader = await this.leader();
      const running = [...this.#hosts.keys()].filter((n) => this.#hosts[n]!.server !== null);
      const sequences = running.map((number) => this.stateOf(number).sequence);
      if (new Set(sequences).size === 1) return leader;
      if (Date.now() > endMs) throw new Error(`the hosts have ${sequences.join(", ")}`);
      await sleep(5 * POLL_MS);
    }
  }

  /** The state that the folder of a host has; nothing may be written to it meanwhile. */
  stateOf(number: number): ReturnType<typeof readFolder> {
    return readFolder(this.folderOf(number));
  }

  #server(number: number): ServerProcess {
    return this.#hosts[number]!.server!;
  }
}

async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ASK_MS_MAX) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    // The host is down, or stands still.
    return 0;
  }
}
