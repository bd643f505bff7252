/** Servers as hosts of a cell, each on a port of its own, and of any build. */
import path from "node:path";
import { onTestFinished } from "vitest";
import { CLI, ServerProcess, sleep, spawnNode, temporaryFolder } from "../server-process.ts";
import { EtcdMembers, freePorts } from "./etcd-members.ts";

const START_MS_MAX = 120_000;
const POLL_MS = 50;
export const TOKEN = "platform-token-of-the-test";

export interface HostStart {
  /** The program; by default from this build. */
  readonly cli?: string;
  readonly args?: readonly string[];
}

export class ClusterHosts {
  readonly #root: string;
  readonly members: EtcdMembers;
  readonly #ports: readonly number[];
  #isFounded = false;

  private constructor(root: string, members: EtcdMembers, ports: readonly number[]) {
    this.#root = root;
    this.members = members;
    this.#ports = ports;
  }

  static async begin(count: number): Promise<ClusterHosts> {
    const root = temporaryFolder();
    const members = await EtcdMembers.start(root);
    onTestFinished(() => members.end());
    return new ClusterHosts(root, members, await freePorts(count));
  }

  folderOf(host: number): string {
    return path.join(this.#root, `host-${host}`);
  }

  urlOf(host: number): string {
    return `http://127.0.0.1:${this.#ports[host]}`;
  }

  /** Starts a host without waiting. The first one founds the cell. */
  spawn(host: number, { cli = CLI, args = [] }: HostStart = {}): ServerProcess {
    const folder = this.folderOf(host);
    const cell = `etcd://${this.members.address(host % 3)}/main`;
    const places = ["--data", folder, "--port", String(this.#ports[host])];
    const names = ["--cluster", cell, "--cluster-host", `host-${host}`];
    if (!this.#isFounded) names.push("--cluster-found");
    this.#isFounded = true;
    const env = { FRONTROW_PLATFORM_TOKEN: TOKEN };
    const child = spawnNode(cli, { args: ["serve", ...places, ...names, ...args], env });
    const server = new ServerProcess(child, folder);
    onTestFinished(async () => void (await server.kill("SIGKILL")));
    return server;
  }

  /** Ends all members of etcd except the first. */
  async loseMajority(): Promise<void> {
    await Promise.all([1, 2].map((member) => this.members.kill(member)));
  }

  /** Waits until a host follows, and has every record of the leader up to now. */
  async untilFollowing(host: number, leader: number): Promise<void> {
    const sequence = await this.sequenceOf(leader, leader);
    await until(`host ${host} follows`, async () => {
      const text = await this.metrics(host);
      const isStandby = text.includes('frontrow_cluster_role{role="standby"} 1\n');
      return isStandby && sequenceIn(text, host) >= sequence;
    });
  }

  async untilLeading(host: number): Promise<void> {
    await until(`host ${host} leads`, async () => (await fetch(`${this.urlOf(host)}/readyz`)).ok);
  }

  /** The last record on the disk of a host, as `asked` knows it. */
  async sequenceOf(host: number, asked: number): Promise<number> {
    return sequenceIn(await this.metrics(asked), host);
  }

  async metrics(host: number): Promise<string> {
    return (await fetch(`${this.urlOf(host)}/metrics`)).text();
  }
}

function sequenceIn(metrics: string, host: number): number {
  const line = new RegExp(
    `^frontrow_cluster_host_sequence\\{host="host-${host}".*\\} (\\d+)$`,
    "m",
  );
  return Number(line.exec(metrics)?.[1] ?? -1);
}

export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + START_MS_MAX;
  for (;;) {
    // A starting or ending host refuses connections.
    if (await isTrue().catch(() => false)) return;
    if (Date.now() > endMs) throw new Error(`gave up waiting until ${what}`);
    await sleep(POLL_MS);
  }
}
