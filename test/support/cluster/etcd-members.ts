/** Three members of etcd as processes on this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import type { Answer, MemberStatus, Reply } from "../../../persistence/cluster/etcd.ts";
import { GrpcEtcd } from "../../../persistence/cluster/grpc-etcd.ts";
import { sleep } from "../server-process.ts";

/** Below the system's ports for clients. */
const PORT_MIN = 20_000;
const PORT_COUNT = 10_000;
const MEMBERS = [0, 1, 2] as const;
const START_MS_MAX = 60_000;
const ASK_MS = 1_000;
/** As the guide recommends: after the loss of etcd's leader another one is there sooner. */
const TIMES = ["--heartbeat-interval", "50", "--election-timeout", "500", "--pre-vote"];

/** Place of a member. */
export interface MemberSite {
  /** Of its data. */
  readonly folder: string;
  /** For clients. */
  readonly address: string;
  /** For the other members. */
  readonly peerAddress: string;
  /** Words before a command, to run it there. */
  readonly enter: readonly string[];
}

export class EtcdMembers {
  readonly #sites: readonly MemberSite[];
  readonly #clientPorts: readonly number[];
  readonly #peerPorts: readonly number[];
  readonly #processes: (ChildProcess | null)[] = MEMBERS.map(() => null);

  readonly #more: readonly string[];

  private constructor(
    sites: readonly MemberSite[],
    ports: readonly number[],
    more: readonly string[],
  ) {
    this.#sites = sites;
    this.#more = more;
    this.#clientPorts = ports.slice(0, MEMBERS.length);
    this.#peerPorts = ports.slice(MEMBERS.length);
  }

  /** Settles when the members have a leader. @param more - Arguments of each member. */
  static start(folder: string, more: readonly string[] = []): Promise<EtcdMembers> {
    const [address, peerAddress] = ["127.0.0.1", "127.0.0.1"];
    return this.startAt(
      MEMBERS.map(() => ({ folder, address, peerAddress, enter: [] })),
      more,
    );
  }

  /** Settles when the members have a leader. @param sites - One for each member. */
  static async startAt(
    sites: readonly MemberSite[],
    more: readonly string[] = [],
  ): Promise<EtcdMembers> {
    const members = new EtcdMembers(sites, await freePorts(2 * MEMBERS.length), more);
    for (const member of MEMBERS) members.spawn(member);
    await members.leader();
    return members;
  }

  /** Host and port of a member. */
  address(member: number): string {
    return `${this.#sites[member]!.address}:${this.#clientPorts[member]}`;
  }

  /** Starts a member on its data. */
  spawn(member: number): void {
    const peer = (each: number) =>
      `http://${this.#sites[each]!.peerAddress}:${this.#peerPorts[each]}`;
    const client = `http://${this.address(member)}`;
    const { folder, enter } = this.#sites[member]!;
    const log = fs.openSync(path.join(folder, `etcd-${member}.log`), "a");
    const args = [
      TIMES,
      this.#more,
      ["--name", `m${member}`],
      ["--data-dir", path.join(folder, `etcd-${member}`)],
      ["--listen-client-urls", client],
      ["--advertise-client-urls", client],
      ["--listen-peer-urls", peer(member)],
      ["--initial-advertise-peer-urls", peer(member)],
      ["--initial-cluster", MEMBERS.map((each) => `m${each}=${peer(each)}`).join(",")],
    ];
    const [program = "", ...words] = [...enter, "etcd", ...args.flat()];
    this.#processes[member] = spawn(program, words, { stdio: ["ignore", log, log] });
    fs.closeSync(log);
  }

  signal(member: number, signal: NodeJS.Signals): void {
    this.#processes[member]!.kill(signal);
  }

  async kill(member: number): Promise<void> {
    const process = this.#processes[member]!;
    this.#processes[member] = null;
    if (process.exitCode !== null || process.signalCode !== null) return;
    const exited = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGKILL");
    await exited;
  }

  /** Ends all members. */
  async end(): Promise<void> {
    for (const member of MEMBERS) if (this.#processes[member] !== null) await this.kill(member);
  }

  /** Waits until a member leads. @returns Its number. */
  async leader(): Promise<number> {
    const endMs = Date.now() + START_MS_MAX;
    for (;;) {
      for (const member of MEMBERS) {
        const status = await this.#status(member);
        if (status !== null && status.leaderId === status.memberId) return member;
      }
      if (Date.now() > endMs) throw new Error("no member of etcd leads");
      await sleep(50);
    }
  }

  async #status(member: number): Promise<MemberStatus | null> {
    if (this.#processes[member] === null) return null;
    const etcd = new GrpcEtcd(this.address(member));
    const reply = await asked<MemberStatus>((answer) => etcd.status(ASK_MS, answer));
    await etcd.close();
    return reply.kind === "done" ? reply.value : null;
  }
}

/** A call of etcd as a promise. */
export function asked<Value>(call: (answer: Answer<Value>) => void): Promise<Reply<Value>> {
  return new Promise((resolve) => call(resolve));
}

/** Ports free at the moment. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  const first = PORT_MIN + Math.floor(Math.random() * PORT_COUNT);
  for (let port = first; ports.length < count; port++) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    ports.push(port);
  }
  return ports;
}
