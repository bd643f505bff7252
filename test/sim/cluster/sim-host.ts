/**
 * A machine of the cluster: a disk, and one process of the real store after the other, each beside
 * the same member of etcd.
 */
import fs from "node:fs";
import { posix } from "node:path";
import { CellKeys } from "../../../persistence/cluster/etcd.ts";
import { CellExists, LeadershipLost, TooFarBehind } from "../../../persistence/cluster/options.ts";
import type { StoreFault } from "../../../persistence/disk/faults.ts";
import { SNAPSHOT_FOLDER } from "../../../persistence/snapshot/file.ts";
import { type OpenStore, openStore } from "../../../persistence/store/open-store.ts";
import type { Platform } from "../../../persistence/store/platform.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { LOSSES } from "../../support/disk/inode.ts";
import { ProcessDied } from "../../support/disk/process-disk.ts";
import { START_MS } from "../../support/engine.ts";
import type { EtcdCluster } from "../etcd/etcd-cluster.ts";
import { SimEtcd } from "../etcd/sim-etcd.ts";
import { SimProcess } from "../etcd/sim-process.ts";
import type { Timeline } from "../timeline.ts";
import type { Random } from "../workload/random.ts";
import { ClusterFront, type HostAnswer, type HostRequest } from "./front.ts";
import type { ClusterPlan } from "./plan.ts";
import { Broken, type Counts } from "./promises.ts";
import type { Stage } from "./stage.ts";
import type { Truth } from "./truth.ts";

export interface SimHostOptions {
  readonly plan: ClusterPlan;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly etcd: EtcdCluster;
  readonly truth: Truth;
  readonly counts: Counts;
  readonly stage: Stage;
  /** Real and empty, for this host only. */
  readonly folder: string;
}

const DISK_US_MIN = 20;
const DISK_US_SPREAD = 200;
const RESTART_MS_MAX = 1_500;
const CELL = "cell";

export class SimHost {
  readonly number: number;
  disk: FakeDisk;
  /** The current process; null when there is none. */
  process: SimProcess | null = null;
  store: OpenStore | null = null;
  /** The host reaches its member of etcd. */
  isLinked = true;
  /** Booking clients reach it; those only looking always do. */
  isReachable = true;
  /** The copy of another host to start from when too far behind. */
  peer: () => SimHost | null = () => null;
  readonly #options: SimHostOptions;
  #front: ClusterFront | null = null;
  #starts = 0;

  constructor(number: number, options: SimHostOptions) {
    this.number = number;
    this.#options = options;
    this.disk = this.#newDisk();
  }

  get isLeading(): boolean {
    return this.store?.cluster?.mayRead === true;
  }

  start(): void {
    const { plan, timeline, etcd, truth, counts, folder } = this.#options;
    this.#starts += 1;
    const name = `host${this.number}`;
    const process = new SimProcess(name, timeline, plan.rates[this.number]!);
    this.process = process;
    const reign = truth.observe(`${name} (start ${this.#starts})`);
    const isLinked = () => this.isLinked;
    const cluster = {
      etcd: new SimEtcd({ cluster: etcd, member: this.number, host: process, isLinked }),
      cell: CELL,
      host: name,
      address: name,
      // As an operator starts the first host, until there is a cell.
      founds: this.number === 0 && !etcd.store.has(new CellKeys(CELL).store),
      leaseMs: plan.leaseMs,
      strictReads: plan.strictReads,
    };
    const { segmentBytes } = plan;
    const onFailure = (fault: StoreFault) => this.#failed(process, fault);
    const sizes = { segmentBytes, snapshotBytes: Infinity, snapshotMinutes: Infinity };
    const options = { folder, ...sizes, observer: reign, onFailure, cluster };
    const opened = (store: OpenStore) => {
      if (this.process !== process) return;
      const { engine, journal } = store;
      const { sequence, state } = engine;
      const isLatest = truth.begin(reign, { segment: journal.place.number, sequence, state });
      counts.add("start: open");
      this.store = store;
      // Without the time of its pause, a host believes in an ended lease.
      const isRight = isLatest || !this.isLeading || plan.clocksStop || plan.hasOldLeases;
      counts.holds("silent", isRight, () => `${name} (start ${this.#starts}) would answer`);
      this.#front = new ClusterFront(store, this.#options.stage);
    };
    openStore(this.#platform(process), options)
      .then(opened)
      .catch((fault: unknown) => this.#failed(process, fault as Error));
  }

  /** A request arrives; nothing is answered when there is no process. */
  receive(request: HostRequest, answer: (given: HostAnswer) => void): void {
    this.process?.soon(() => {
      if (this.#front === null) answer({ kind: "unavailable" });
      else this.#front.handle(request, answer);
    });
  }

  /** The process ends. */
  kill(isPowerLost = false): void {
    const { random } = this.#options;
    this.process?.end();
    this.process = null;
    this.store = null;
    this.#front = null;
    this.disk.kill();
    if (isPowerLost) this.disk.losePower(random.pick(LOSSES));
  }

  /** Closes the store in an orderly way, and starts again. */
  handOver(): void {
    const { process, store } = this;
    if (process === null || store === null) return;
    this.#front = null;
    store.close(true).then(
      () => this.#restart(process),
      (fault: unknown) => this.#failed(process, fault as Error),
    );
  }

  /** Gets a copy of the disk of another host, as a new host does. */
  join(peer: SimHost): void {
    this.disk = this.#newDisk();
    const { folder } = this.#options;
    const theirs = peer.#options.folder;
    const ours = (path: string) => `${folder}${path.slice(theirs.length)}`;
    for (const path of peer.disk.folders()) {
      if (!path.startsWith(`${theirs}/`)) continue;
      this.disk.makeFolder(ours(path));
      this.disk.syncFolder(posix.dirname(ours(path)));
    }
    for (const [path, bytes] of peer.disk.files()) this.disk.plant(ours(path), bytes);
  }

  #newDisk(): FakeDisk {
    const { folder, random } = this.#options;
    const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
    fs.rmSync(snapshots, { recursive: true, force: true });
    return new FakeDisk({
      folder,
      dice: random,
      isReal: (path) => path.startsWith(`${snapshots}/`),
      later: (_, task) => {
        this.process?.after(DISK_US_MIN + random.below(DISK_US_SPREAD), task);
      },
    });
  }

  #failed(process: SimProcess, fault: Error): void {
    if (this.process !== process || fault instanceof ProcessDied) return;
    const { counts } = this.#options;
    counts.add(`a host ended: ${fault.name}`);
    if (fault instanceof TooFarBehind) {
      const peer = this.peer();
      this.kill();
      if (peer !== null) this.join(peer);
      return this.#startLater();
    }
    // A cell that an earlier start founded, without having heard of it.
    if (fault instanceof CellExists) return this.#restart(process);
    if (fault instanceof LeadershipLost) {
      counts.holds("ends", true, () => fault.message);
      return this.#restart(process);
    }
    // An error thrown here would be lost in a promise of the store.
    this.#options.timeline.soon(() => {
      throw fault instanceof Broken ? fault : new Broken("ends", fault.stack ?? fault.message);
    });
  }

  #restart(process: SimProcess): void {
    if (this.process !== process) return;
    this.kill();
    this.#startLater();
  }

  #startLater(): void {
    const { timeline, random } = this.#options;
    timeline.later(random.below(RESTART_MS_MAX), () => {
      if (this.process === null) this.start();
    });
  }

  #platform(process: SimProcess): Platform {
    const { plan, timeline, random } = this.#options;
    const aheadMs = plan.aheadMs[this.number]!;
    const none = () => {
      throw new Error("the simulation of a cluster has no threads");
    };
    return {
      disk: this.disk.begin(),
      time: {
        wallMs: () => START_MS + aheadMs + Math.floor(timeline.nowUs / 1_000),
        runningMs: () => process.runningMs,
      },
      scheduler: process,
      randomBytes: (count) => Buffer.from(Array.from({ length: count }, () => random.below(256))),
      startSnapshotThread: () => ({
        post: none,
        keepAlive: () => {},
        terminate: () => Promise.resolve(),
      }),
      startHistory: none,
    };
  }
}
