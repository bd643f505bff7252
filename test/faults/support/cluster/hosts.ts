/** The hosts of a cluster as processes: each has its own folder, and a member of etcd beside it. */
import fs from "node:fs";
import path from "node:path";
import { EtcdMembers, freePorts, type MemberSite } from "../../../support/cluster/etcd-members.ts";
import { type Exit, type ServerProcess, sleep } from "../../../support/server-process.ts";
import { readFolder } from "../folder-state.ts";
import type { Scope } from "../scope.ts";
import { spawnServer } from "../serving.ts";
import { Sites } from "./sites.ts";

export const HOSTS = 3;
const CELL = "cell";
const LOCK = "lock.sqlite";
const START_MS_MAX = 120_000;
const POLL_MS = 10;
const HTTP_OK = 200;
const ASK_MS_MAX = 2_000;

interface Host {
  readonly site: MemberSite;
  readonly folder: string;
  readonly url: string;
  readonly port: number;
  /** Null while it is down. */
  server: ServerProcess | null;
}

export class Hosts {
  readonly members: EtcdMembers;
  readonly sites: Sites;
  readonly #scope: Scope;
  readonly #hosts: readonly Host[];

  private constructor(parts: Parts) {
    this.#scope = parts.scope;
    this.sites = parts.sites;
    this.members = parts.members;
    this.#hosts = parts.sites.all.map((site, number): Host => {
      const folder = path.join(site.folder, `host-${number}`);
      const port = parts.ports[number]!;
      return { site, folder, port, url: `http://${site.address}:${port}`, server: null };
    });
  }

  /**
   * Starts a cell of three hosts with one of them, and then the others with copies of its folder.
   * @param prepare - Fills the store of the first host.
   */
  static async start<Made>(
    scope: Scope,
    prepare: (server: ServerProcess) => Promise<Made>,
  ): Promise<{ readonly hosts: Hosts; readonly made: Made }> {
    const sites = new Sites(scope, HOSTS);
    const members = await EtcdMembers.startAt(sites.all);
    scope.defer(() => members.end());
    const hosts = new Hosts({ scope, sites, members, ports: await freePorts(HOSTS) });
    hosts.spawn(0, ["--cluster-found"]);
    await hosts.leader();
    const made = await prepare(hosts.#server(0));
    await hosts.end(0, "SIGTERM");
    for (let number = 1; number < HOSTS; number++) hosts.copy(0, number);
    for (let number = 0; number < HOSTS; number++) hosts.spawn(number);
    await hosts.untilFollowing();
    return { hosts, made };
  }

  get urls(): readonly string[] {
    return this.#hosts.map(({ url }) => url);
  }

  folderOf(number: number): string {
    return this.#hosts[number]!.folder;
  }

  urlOf(number: number): string {
    return this.#hosts[number]!.url;
  }

  isRunning(number: number): boolean {
    return this.#hosts[number]!.server !== null;
  }

  /** Starts a host without waiting. */
  spawn(number: number, more: readonly string[] = []): void {
    const { site, folder, port } = this.#hosts[number]!;
    const cluster = ["--cluster", `etcd://${this.members.address(number)}/${CELL}`];
    const names = ["--cluster-host", `host-${number}`, "--host", site.address];
    const args = ["--port", String(port), ...cluster, ...names, "--snapshot-every", "1", ...more];
    const { enter } = site;
    this.#hosts[number]!.server = spawnServer(this.#scope, { folder, args, enter });
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

  /** Hosts lose power with the members of etcd beside them, all at the same time. */
  async cutPower(numbers: readonly number[]): Promise<void> {
    for (const number of numbers) {
      this.signal(number, "SIGSTOP");
      this.members.signal(number, "SIGSTOP");
    }
    for (const number of numbers) this.sites.cutPower(number);
    for (const number of numbers) {
      await Promise.all([this.end(number, "SIGKILL"), this.members.kill(number)]);
    }
  }

  /** The power of a host is back: its member of etcd starts. */
  restorePower(number: number): void {
    this.sites.restorePower(number);
    this.members.spawn(number);
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

interface Parts {
  readonly scope: Scope;
  readonly sites: Sites;
  readonly members: EtcdMembers;
  readonly ports: readonly number[];
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
