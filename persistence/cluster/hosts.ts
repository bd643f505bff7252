/** What the hosts of a cell say about themselves, and how far this host is behind the leader. */
import type { Scheduler } from "../disk/scheduler.ts";
import type { MachineTime } from "../disk/service-clock.ts";
import type { StoreFault } from "../disk/faults.ts";
import type { Etcd, KeyValue, MemberStatus } from "./etcd.ts";
import { HostNameTaken } from "./faults.ts";
import type { CellKeys } from "./keys.ts";
import { type ClusterStatus, HostRole, type HostStatus } from "./options.ts";

const DEADLINE_MS = 900;
/** Another host writes the key so often. An earlier process of this host may do so once. */
const FOREIGN_WRITES_MAX = 2;

export interface HostsOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly host: string;
  readonly address: string;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  /** Called when another host of the cell has the same name. */
  readonly onFault: (fault: StoreFault) => void;
}

/** The key of a host. Its lease tells the processes of a host apart. */
type HostValue = HostStatus & { readonly leaseId?: string };

type Own = Pick<HostStatus, "number" | "offset" | "sequence" | "role" | "keepFrom">;

export class Hosts {
  readonly #options: HostsOptions;
  #hosts: readonly HostStatus[] = [];
  #leader: ClusterStatus["leader"] = null;
  #etcd: MemberStatus | null = null;
  #own: Own | null = null;
  /** At which the key of this host was created; 0 while it has none. */
  #createRevision = 0;
  /** The key of this name when another process has written it. */
  #foreign = { modRevision: 0, writes: 0 };
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
    const { etcd, keys } = this.#options;
    this.#own = own;
    if (leaseId !== null) this.#put(own, leaseId);
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

  /** Writes the key while it is this process's, so that a second host of the name finds out. */
  #put(own: Own, leaseId: string): void {
    const { etcd, keys, host, address, time } = this.#options;
    const key = keys.host(host);
    const status: HostValue = { host, address, ...own, atMs: time.wallMs(), leaseId };
    const change = {
      compares: [{ key, createRevision: this.#createRevision }],
      puts: [{ key, value: Buffer.from(JSON.stringify(status)), leaseId }],
      deletes: [],
      otherwiseGet: [key],
    };
    etcd.transact(change, DEADLINE_MS, (reply) => {
      if (reply.kind !== "done") return;
      const { isDone, revision, found } = reply.value;
      if (!isDone) this.#find(found[0], leaseId);
      else if (this.#createRevision === 0) this.#createRevision = revision;
    });
  }

  /** @param found - The key of this name; undefined when the lease that it was on has ended. */
  #find(found: KeyValue | undefined, leaseId: string): void {
    this.#createRevision = 0;
    if (found === undefined) return;
    const other = JSON.parse(found.value.toString("utf8")) as HostValue;
    // An earlier attempt, whose outcome was unknown, has succeeded.
    if (other.leaseId === leaseId) {
      this.#createRevision = found.createRevision;
      return;
    }
    const { modRevision, writes } = this.#foreign;
    if (found.modRevision === modRevision) return;
    this.#foreign = { modRevision: found.modRevision, writes: writes + 1 };
    if (writes < FOREIGN_WRITES_MAX) return;
    this.#options.onFault(new HostNameTaken(other.host, other.address));
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
