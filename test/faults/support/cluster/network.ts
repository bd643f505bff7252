/**
 * A network of hosts on this machine. Each host has a namespace with two links: one to this
 * process, and one to a switch that connects the hosts with each other. Without its link to the
 * switch a host is cut off from the others, and clients still reach it.
 */
import { spawnSync } from "node:child_process";
import { Random } from "../../../../server/onsale/random.ts";
import type { Scope } from "../scope.ts";
import { system } from "../system.ts";

/** Other campaigns may run at the same time: each network has a number of its own. */
const NETWORKS = 256;
/** Of the subnet between this process and a host. */
const SUBNET_ADDRESSES = 4;

export class Network {
  readonly #number: number;

  /** It is removed at the end of the scope. */
  constructor(scope: Scope, hosts: number) {
    this.#number = freeNumber(scope);
    ip("-n", this.#switch, "link", "add", "switch", "type", "bridge");
    ip("-n", this.#switch, "link", "set", "switch", "up");
    for (let host = 0; host < hosts; host++) this.#add(scope, host);
  }

  /** Address of a host for this process. */
  addressOf(host: number): string {
    return `198.18.${this.#number}.${SUBNET_ADDRESSES * host + 2}`;
  }

  /** Address of a host for the others. */
  peerAddressOf(host: number): string {
    return `198.19.${this.#number}.${host + 1}`;
  }

  /** The words before a command that let it run on a host. */
  enter(host: number): readonly string[] {
    return ["nsenter", `--net=/run/netns/${this.#nameOf(host)}`];
  }

  /** Cuts a host off from the others: everything that it sends to them is lost, and the reverse. */
  cut(host: number): void {
    ip("-n", this.#switch, "link", "set", `host${host}`, "nomaster");
  }

  heal(host: number): void {
    ip("-n", this.#switch, "link", "set", `host${host}`, "master", "switch");
  }

  get #switch(): string {
    return nameOf(this.#number);
  }

  #nameOf(host: number): string {
    return `${this.#switch}-${host}`;
  }

  #add(scope: Scope, host: number): void {
    const name = this.#nameOf(host);
    addNamespace(scope, name);
    ip("-n", name, "link", "set", "lo", "up");
    const link = `fr${this.#number}-${host}`;
    ip("link", "add", link, "type", "veth", "peer", "name", "clients", "netns", name);
    const near = `198.18.${this.#number}.${SUBNET_ADDRESSES * host + 1}`;
    ip("addr", "add", `${near}/30`, "dev", link);
    ip("link", "set", link, "up");
    ip("-n", name, "addr", "add", `${this.addressOf(host)}/30`, "dev", "clients");
    ip("-n", name, "link", "set", "clients", "up");
    const far = ["peer", "name", "peers", "netns", name];
    ip("-n", this.#switch, "link", "add", `host${host}`, "type", "veth", ...far);
    ip("-n", name, "addr", "add", `${this.peerAddressOf(host)}/24`, "dev", "peers");
    ip("-n", name, "link", "set", "peers", "up");
    ip("-n", this.#switch, "link", "set", `host${host}`, "up");
    this.heal(host);
  }
}

/** Makes the namespace of the switch, which nobody else can have then. */
function freeNumber(scope: Scope): number {
  const first = new Random(process.pid).below(NETWORKS);
  for (let tried = 0; tried < NETWORKS; tried++) {
    const number = (first + tried) % NETWORKS;
    try {
      addNamespace(scope, nameOf(number));
      return number;
    } catch (error) {
      if (!String(error).includes("File exists")) throw error;
    }
  }
  throw new Error("all networks for tests are in use: see `ip netns list`");
}

function nameOf(number: number): string {
  return `frontrow-${number}`;
}

function addNamespace(scope: Scope, name: string): void {
  ip("netns", "add", name);
  scope.defer(() => void spawnSync("ip", ["netns", "delete", name]));
}

function ip(...args: readonly string[]): void {
  system("ip", ...args);
}
