/** The plan of a history: its hosts, clients and faults. Each seed has some of the faults. */
import { Random } from "../workload/random.ts";

export const CLUSTER_FAULTS = [
  /** The process of a host ends. */
  "kill",
  /** A host stops for a while and goes on. */
  "pause",
  /** A member of etcd ends. */
  "killEtcd",
  /** A member of etcd stops for a while and goes on. */
  "pauseEtcd",
  /** Host and member stop and go on together. */
  "pauseMachine",
  /** A member is cut off from both others. */
  "partition",
  /** The connection between two members is cut. */
  "split",
  /** A host is cut off from its member. */
  "cutHost",
  /** The power of a machine fails. */
  "power",
  /** The power of all machines fails. */
  "powerAll",
  /** The leader of etcd changes without a reason. */
  "election",
  /** The leading host closes in an orderly way. */
  "handOver",
] as const;
export type ClusterFault = (typeof CLUSTER_FAULTS)[number];

export interface ClusterPlan {
  readonly seed: number;
  readonly hosts: number;
  readonly clients: number;
  /** Calls of each client. */
  readonly calls: number;
  readonly seats: number;
  /** The longest pause of a client between two calls. */
  readonly thinkMsMax: number;
  readonly leaseMs: number;
  readonly segmentBytes: number;
  readonly faults: readonly ClusterFault[];
  readonly faultCount: number;
  /** The longest time from one fault to the next. */
  readonly faultMsMax: number;
  /** For hosts and members: seconds of the clock in a second. */
  readonly rates: readonly number[];
  /** Lead of each host's wall clock, in milliseconds. */
  readonly aheadMs: readonly number[];
  /** As in `EtcdOptions`. */
  readonly slowOnce: number;
  /** One answer in so many is lost on its way to the client. */
  readonly dropOnce: number;
  /** As in `EtcdOptions`. */
  readonly hasOldLeases: boolean;
  /** As `strictReads` of a host. */
  readonly strictReads: boolean;
  /** The clock of a paused host stops. */
  readonly clocksStop: boolean;
}

const HOSTS = 3;
const KIB = 1_024;
const FAULT_PERCENT = 50;
/** The largest error of a clock's rate. */
const DRIFT = 0.01;
const AHEAD_MS_MAX = 5_000;

export function clusterPlanOf(seed: number): ClusterPlan {
  const random = Random.stream(seed, "cluster plan");
  const faults = CLUSTER_FAULTS.filter(() => random.below(100) < FAULT_PERCENT);
  const drifts = random.once(2);
  const rate = () => 1 + (drifts ? (DRIFT * (random.below(2_001) - 1_000)) / 1_000 : 0);
  const numbers = Array.from({ length: HOSTS });
  const calls = 6 + random.below(12);
  const thinkMsMax = random.pick([100, 400, 1_200]);
  const faultCount = 1 + random.below(6);
  return {
    seed,
    hosts: HOSTS,
    clients: 2 + random.below(4),
    calls,
    seats: 1 + random.below(3),
    thinkMsMax,
    leaseMs: random.pick([2_000, 2_000, 3_000, 5_000]),
    segmentBytes: random.pick([8, 12, 16]) * KIB,
    faults: faults.length === 0 ? ["kill"] : faults,
    faultCount,
    // Spreads the faults over the calls.
    faultMsMax: Math.ceil((thinkMsMax * calls) / faultCount),
    rates: [...numbers, ...numbers].map(rate),
    aheadMs: numbers.map(() => (random.once(2) ? random.below(AHEAD_MS_MAX) : 0)),
    slowOnce: random.pick([Infinity, Infinity, 100, 20]),
    dropOnce: random.pick([Infinity, 30, 8]),
    hasOldLeases: false,
    strictReads: false,
    clocksStop: false,
  };
}
