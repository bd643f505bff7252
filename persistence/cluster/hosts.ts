/** What the hosts of a cell say about themselves, and how far this host is behind the leader. */
import type { Scheduler } from "../disk/scheduler.ts";
import type { MachineTime } from "../disk/service-clock.ts";
import type { Etcd, MemberStatus } from "./etcd.ts";
import type { CellKeys } from "./keys.ts";
import { type ClusterStatus, HostRole, type HostStatus } from "./options.ts";

const DEADLINE_MS = 900;

export interface HostsOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly host: string;
  readonly address: string;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
}

type Own = Pick<HostStatus, "number" | "offset" | "sequence" | "role" | "keepFrom">;

export class Hosts {
  readonly #options: HostsOptions;
  #hosts: readonly HostStatus[] = [];
  #leader: ClusterStatus["leader"] = null;
  #etcd: MemberStatus | null = null;
  #own: Own | null = null;
  /** Since when the leader has had records that this host lacks; null when it lacks none. */
  #behindSinceMs: number | null = null;

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  /** @param value - Of the leader key. */
  setLeader(value: Buffer): void {
    const { host, address } = JSON.parse(value.toString("utf8")) as HostStatus;
    this.#leader = { host, address };
  }

  /** Up to where the other live hosts have the log on their disks. */
  others(): HostStatus[] {
    return this.#hosts.filter(({ host }) => host !== this.#options.host);
  }

  /** Tells the others about this host, and asks what they say. */
  tell(own: Own, leaseId: string | null): void {
    const { etcd, keys, host, address, time } = this.#options;
    this.#own = own;
    const status: HostStatus = { host, address, ...own, atMs: time.wallMs() };
    const value = Buffer.from(JSON.stringify(status));
    const put = { key: keys.host(host), value, leaseId };
    const change = { compares: [], puts: [put], deletes: [], otherwiseGet: [] };
    if (leaseId !== null) etcd.transact(change, DEADLINE_MS, () => {});
    etcd.range({ ...keys.hosts, limit: 0 }, DEADLINE_MS, (reply) => {
      if (reply.kind !== "done") return;
      const { pairs } = reply.value;
      this.#hosts = pairs.map((pair) => JSON.parse(pair.value.toString("utf8")) as HostStatus);
      this.#compare(own);
    });
    etcd.status(DEADLINE_MS, (reply) => {
      this.#etcd = reply.kind === "done" ? reply.value : null;
    });
  }

  view(): Pick<ClusterStatus, "leader" | "hosts" | "lagMs" | "lagRecords" | "etcd"> {
    const sinceMs = this.#behindSinceMs;
    const lagMs = sinceMs === null ? 0 : Math.round(this.#options.time.runningMs() - sinceMs);
    return {
      leader: this.#leader,
      hosts: this.#hosts,
      lagMs,
      lagRecords: sinceMs === null ? 0 : this.#behind(this.#own!),
      etcd: this.#etcd,
    };
  }

  #compare(own: Own): void {
    if (this.#behind(own) === 0) this.#behindSinceMs = null;
    else this.#behindSinceMs ??= this.#options.time.runningMs();
  }

  #behind({ sequence }: Own): number {
    const leader = this.#hosts.find(({ role }) => role === HostRole.LEADER);
    return Math.max(0, (leader?.sequence ?? 0) - sequence);
  }
}
