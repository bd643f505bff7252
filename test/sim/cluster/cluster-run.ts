/**
 * One history of a cluster: three hosts with the real store beside a model of etcd, clients, and
 * faults. The same seed gives the same history. What is checked: `promises.ts`.
 */
import fs from "node:fs";
import { crc32 } from "node:zlib";
import {
  LOG_FOLDER,
  padToSector,
  readFrameHeader,
  SEGMENT_HEADER_BYTES,
} from "../../../persistence/log/frame.ts";
import { isRefused } from "../../../engine/results.ts";
import { seatFaults } from "../../support/linearizable.ts";
import { EtcdCluster } from "../etcd/etcd-cluster.ts";
import { microtasks } from "../life.ts";
import { Timeline } from "../timeline.ts";
import { Random } from "../workload/random.ts";
import { Chaos } from "./chaos.ts";
import { ClusterClients } from "./clients.ts";
import type { ClusterPlan } from "./plan.ts";
import { Counts } from "./promises.ts";
import { SimHost } from "./sim-host.ts";
import { Stage } from "./stage.ts";
import { Truth } from "./truth.ts";

/** The longest time without a leader once there are no faults. */
const CALM_US_MAX = 60_000_000;
/** Longer than the calls of a history take while there are faults. */
const LIFE_US_MAX = 600_000_000;
/** Made once, because every history has the same. */
let stageOfAll: Stage | null = null;

export class ClusterRun {
  readonly counts = new Counts();
  readonly #timeline = new Timeline();
  readonly #stage = (stageOfAll ??= new Stage());
  readonly #etcd: EtcdCluster;
  readonly #truth: Truth;
  readonly #hosts: readonly SimHost[];
  readonly #clients: ClusterClients;
  readonly #chaos: Chaos;

  /** @param folder - Real and empty, for this run only. */
  constructor(plan: ClusterPlan, folder: string) {
    const { seed, hosts: count, rates } = plan;
    const { counts } = this;
    const timeline = this.#timeline;
    this.#truth = new Truth(counts);
    this.#etcd = new EtcdCluster({
      timeline,
      random: Random.stream(seed, "etcd"),
      rates: rates.slice(count),
      slowOnce: plan.slowOnce,
      hasOldLeases: plan.hasOldLeases,
    });
    const shared = { plan, timeline, etcd: this.#etcd, truth: this.#truth, counts };
    this.#hosts = Array.from({ length: count }, (_, number) => {
      const ownFolder = `${folder}/host${number}`;
      fs.mkdirSync(ownFolder);
      const random = Random.stream(seed, `host ${number}`);
      return new SimHost(number, { ...shared, random, stage: this.#stage, folder: ownFolder });
    });
    const hosts = this.#hosts;
    for (const host of hosts) {
      host.peer = () => hosts.find((other) => other !== host && other.store !== null) ?? null;
    }
    this.#clients = new ClusterClients({ plan, timeline, hosts, counts });
    this.#chaos = new Chaos({ plan, timeline, hosts, etcd: this.#etcd, counts });
  }

  /** @returns A checksum of the whole history. @throws Broken, or an error of the store. */
  async run(): Promise<number> {
    await this.#found();
    this.#clients.begin();
    this.#chaos.begin();
    await this.#until(() => this.#clients.isOver, "the calls", LIFE_US_MAX);
    this.#chaos.calm();
    const { number } = await this.#leader();
    this.#clients.readAll();
    await this.#until(() => this.#clients.isOver, "the last reads");
    await this.#letAllLead(number);
    this.#compareLogs();
    const [fault] = seatFaults(this.#clients.history);
    this.counts.holds("answers", fault === undefined, () => fault!);
    return crc32(JSON.stringify(this.#clients.history));
  }

  /** The first host begins the cell; the others begin with a copy of its disk. */
  async #found(): Promise<void> {
    const [first, ...others] = this.#hosts;
    first!.start();
    const { store } = await this.#leader();
    const { engine } = store!;
    for (const command of this.#stage.commands) {
      // It is sent again as long as it is refused for lack of space.
      await this.#until(() => !isRefused(engine.submit(command)), "a command that sets up");
    }
    let isDurable = false;
    engine.afterDurable(() => {
      isDurable = true;
    });
    await this.#until(() => isDurable, "the first records");
    for (const host of others) {
      host.join(first!);
      host.start();
    }
  }

  /** One host after the other ends, for each of them to lead once more. */
  async #letAllLead(first: number): Promise<void> {
    let leading = this.#hosts[first]!;
    for (let left = this.#hosts.length - 1; left > 0; left--) {
      leading.kill();
      leading = await this.#leader();
    }
  }

  async #leader(): Promise<SimHost> {
    const leading = () => this.#hosts.find((host) => host.isLeading);
    await this.#until(() => leading() !== undefined, "a leader");
    return leading()!;
  }

  async #until(isDone: () => boolean, what: string, usMax = CALM_US_MAX): Promise<void> {
    const latestUs = this.#timeline.nowUs + usMax;
    while (!isDone()) {
      await this.#step();
      const isLate = this.#timeline.nowUs > latestUs;
      this.counts.holds("live", !isLate, () => `nothing came of ${what}`);
    }
  }

  async #step(): Promise<void> {
    if (!this.#timeline.step()) throw new Error("nothing happens any more");
    await microtasks();
  }

  /** Frames in the same place of two logs are the same, as far as both go. */
  #compareLogs(): void {
    const logs = this.#hosts.map(({ disk }) => {
      const segments = [...disk.files()].filter(([path]) => path.includes(`/${LOG_FOLDER}/`));
      return new Map(segments.map(([path, bytes]) => [path.slice(path.lastIndexOf("/")), bytes]));
    });
    for (const [number, log] of logs.entries()) {
      const other = logs[(number + 1) % logs.length]!;
      for (const [name, bytes] of log) {
        const at = firstDifference(bytes, other.get(name) ?? null);
        this.counts.holds("logs", at === null, () => `host${number}: ${name} at ${at}`);
      }
    }
  }
}

/** @returns The place of the first frame of both with a difference; null for none. */
function firstDifference(segment: Buffer, other: Buffer | null): number | null {
  if (other === null) return null;
  for (let at = SEGMENT_HEADER_BYTES; ;) {
    const header = readFrameHeader(segment, at);
    if (header === null || readFrameHeader(other, at) === null) return null;
    const end = at + padToSector(header.frameBytes);
    const isCut = end > segment.length || end > other.length;
    if (isCut) return null;
    if (Buffer.compare(segment.subarray(at, end), other.subarray(at, end)) !== 0) return at;
    at = end;
  }
}
