/** The faults of a history: each begins at a random time, and ends some seconds later at most. */
import type { EtcdCluster } from "../etcd/etcd-cluster.ts";
import type { Timeline } from "../timeline.ts";
import { Random } from "../workload/random.ts";
import type { ClusterFault, ClusterPlan } from "./plan.ts";
import type { Counts } from "./promises.ts";
import type { SimHost } from "./sim-host.ts";

export interface ChaosOptions {
  readonly plan: ClusterPlan;
  readonly timeline: Timeline;
  readonly hosts: readonly SimHost[];
  readonly etcd: EtcdCluster;
  readonly counts: Counts;
}

const LASTS_MS_MAX = 8_000;

export class Chaos {
  readonly #options: ChaosOptions;
  readonly #random: Random;
  readonly #pausedMembers = new Set<number>();
  readonly #deadMembers = new Set<number>();
  #left: number;
  #isCalm = false;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = Random.stream(options.plan.seed, "chaos");
    this.#left = options.plan.faultCount;
  }

  begin(): void {
    const { timeline, plan } = this.#options;
    timeline.later(this.#random.below(plan.faultMsMax), () => {
      if (this.#isCalm) return;
      this.#strike();
      this.#left -= 1;
      if (this.#left > 0) this.begin();
    });
  }

  /** Ends all faults. */
  calm(): void {
    const { hosts, etcd } = this.#options;
    this.#isCalm = true;
    this.#left = 0;
    for (const member of this.#deadMembers) etcd.start(member);
    for (const member of this.#pausedMembers) etcd.resume(member);
    this.#deadMembers.clear();
    this.#pausedMembers.clear();
    for (const { number: a } of hosts) for (let b = 0; b < a; b++) etcd.link(a, b, true);
    for (const host of hosts) {
      host.isLinked = true;
      host.isReachable = true;
      if (host.process === null) host.start();
      else host.process.resume();
    }
  }

  #strike(): void {
    const { plan, counts, hosts, etcd } = this.#options;
    const random = this.#random;
    const fault = random.pick(plan.faults);
    counts.add(`fault: ${fault}`);
    // Usually where it hurts most.
    const leading = hosts.findIndex((host) => host.isLeading);
    const leader = fault.endsWith("Etcd") && random.once(2) ? (etcd.leader ?? -1) : leading;
    const number = leader >= 0 && !random.once(3) ? leader : random.below(hosts.length);
    this.#begin(fault, number);
  }

  #begin(fault: ClusterFault, number: number): void {
    const { hosts, etcd } = this.#options;
    const host = hosts[number]!;
    const others = hosts.filter((other) => other !== host).map((other) => other.number);
    if (fault === "kill") this.#kill(host);
    else if (fault === "killEtcd") this.#killMember(number);
    else if (fault === "pause") this.#pause(host);
    else if (fault === "pauseEtcd") this.#pauseMember(number);
    else if (fault === "election") etcd.resign();
    else if (fault === "handOver") hosts.find(({ isLeading }) => isLeading)?.handOver();
    else if (fault === "partition") this.#cut(host, others);
    else if (fault === "split") this.#cut(host, [this.#random.pick(others)]);
    else if (fault === "pauseMachine") {
      this.#pause(host);
      this.#pauseMember(number);
    } else if (fault === "cutHost") {
      host.isLinked = false;
      this.#later(
        this.#cutClients(host, () => {
          host.isLinked = true;
        }),
      );
    } else {
      for (const each of fault === "power" ? [host] : hosts) {
        this.#kill(each, true);
        this.#killMember(each.number);
      }
    }
  }

  #kill(host: SimHost, isPowerLost = false): void {
    host.kill(isPowerLost);
    this.#later(() => {
      if (host.process === null) host.start();
    });
  }

  #killMember(number: number): void {
    const { etcd } = this.#options;
    if (this.#deadMembers.has(number)) return;
    this.#deadMembers.add(number);
    this.#pausedMembers.delete(number);
    etcd.kill(number);
    this.#later(() => {
      if (this.#deadMembers.delete(number)) etcd.start(number);
    });
  }

  #pause({ process }: SimHost): void {
    process?.pause(this.#options.plan.clocksStop);
    this.#later(() => process?.resume());
  }

  #pauseMember(number: number): void {
    const { etcd } = this.#options;
    if (this.#deadMembers.has(number) || this.#pausedMembers.has(number)) return;
    this.#pausedMembers.add(number);
    etcd.pause(number);
    this.#later(() => {
      if (this.#pausedMembers.delete(number)) etcd.resume(number);
    });
  }

  #cut(host: SimHost, others: readonly number[]): void {
    const { etcd } = this.#options;
    const { number } = host;
    for (const other of others) etcd.link(number, other, false);
    this.#later(
      this.#cutClients(host, () => {
        for (const other of others) etcd.link(number, other, true);
      }),
    );
  }

  /**
   * Sometimes all bookings go elsewhere at once: nothing then tells the host of being cut off.
   * @returns Ends it all.
   */
  #cutClients(host: SimHost, end: () => void): () => void {
    host.isReachable = !this.#random.once(2);
    return () => {
      host.isReachable = true;
      end();
    };
  }

  /** Ends a fault, unless all have been ended. Short ones are as likely as long ones. */
  #later(end: () => void): void {
    const mostMs = this.#random.pick([100, 1_000, 4_000, LASTS_MS_MAX]);
    this.#options.timeline.later(this.#random.below(mostMs), () => {
      if (!this.#isCalm) end();
    });
  }
}
