/**
 * One process of the store, from its start to its end: the real store on a virtual disk and a
 * virtual clock.
 */
import type { Engine } from "../../engine/engine.ts";
import type { Observer } from "../../engine/ports.ts";
import type { State } from "../../engine/state.ts";
import { auditedSequence } from "../../persistence/history/archive.ts";
import type { LogFailed, StoreFault } from "../../persistence/disk/faults.ts";
import type { SnapshotReport } from "../../persistence/snapshot/build.ts";
import {
  type FromThread,
  serveSnapshots,
  type StartSnapshotThread,
  type ToThread,
} from "../../persistence/snapshot/thread.ts";
import type { StateReport } from "../../persistence/store/open-state.ts";
import { openStore, type OpenStore } from "../../persistence/store/open-store.ts";
import type { Platform } from "../../persistence/store/platform.ts";
import { Idempotency } from "../../server/dispatch.ts";
import { LargeLayouts } from "../../server/layouts/large-layouts.ts";
import { LayoutThreads } from "../../server/layouts/layout-thread.ts";
import { ReplyBodies, type Services } from "../../server/api/services.ts";
import type { FakeDisk } from "../support/disk/fake-disk.ts";
import { ProcessDied, type ProcessDisk } from "../support/disk/process-disk.ts";
import { LAYOUT_PACKER, startInProcess } from "../support/layout-thread.ts";
import { LocalThread } from "../support/store.ts";
import { Violation } from "./model/invariants.ts";
import type { Timeline } from "./timeline.ts";
import type { Random } from "./workload/random.ts";

/** The longest start or end, on the slowest disk. */
const UNTIL_US_MAX = 30_000_000;
/** Longer than each chain of promises in the sources. */
const MICROTASKS = 12;
/** So little that bodies are dropped: the two KiB of one organization hold one to three. */
const REPLY_DISK_MIB = 1 / 64;
/** Often enough that some snapshots of a life are due by time, and others by bytes. */
const SNAPSHOT_MINUTES = 0.05;
const MESSAGE_US_MAX = 400;
/** The longest step of the snapshot thread. */
const THREAD_STEP_US_MAX = 500;

export interface LifeOptions {
  readonly disk: FakeDisk;
  readonly timeline: Timeline;
  readonly folder: string;
  /** Draws how threads and disk interleave. */
  readonly random: Random;
  /** Replaces the random bytes of the operating system: the ids of a new store. */
  readonly entropy: Random;
  readonly segmentBytes: number;
  readonly snapshotBytes: number | null;
  /** The machine's clock at the start of the process. */
  readonly wallMs: number;
  readonly observer: Observer;
  readonly onSnapshot: (report: SnapshotReport) => void;
  /** Runs the store's sweep of expired holds. */
  readonly onSweep: (sweep: () => void) => void;
}

/** The result of a start. */
export type Start =
  | { readonly kind: "open" }
  | { readonly kind: "died" }
  | { readonly kind: "fault"; readonly fault: StoreFault | Error };

export class Life {
  readonly disk: ProcessDisk;
  /** Milliseconds by which the machine's running clock is ahead of the timeline. */
  leaptMs = 0;
  failure: LogFailed | null = null;
  store!: OpenStore;
  idempotency!: Idempotency;
  /** Has every body that the audit trail would have, so that no answer has to be read from it. */
  readonly replies = new ReplyBodies({ replyMemory: 1, replyDisk: REPLY_DISK_MIB });
  readonly #options: LifeOptions;
  readonly #threads: LocalThread<ToThread, FromThread>[] = [];
  #isMakingSnapshot = false;
  /** The clocks when the store was opened. */
  #opened = { machineMs: 0, serviceMs: 0 };
  /** Microseconds of the timeline. */
  #sweptUs = 0;

  constructor(options: LifeOptions) {
    this.#options = options;
    this.disk = options.disk.begin();
  }

  get engine(): Engine {
    return this.store.engine;
  }

  get state(): State {
    return this.store.engine.state;
  }

  get report(): StateReport {
    return this.store.report;
  }

  /** Milliseconds since the store last ended expired holds by itself, or since it was opened. */
  get unsweptMs(): number {
    const { nowUs } = this.#options.timeline;
    return (nowUs - this.#sweptUs) / 1_000;
  }

  /** Milliseconds by which the service clock has fallen behind the machine's since the start. */
  get clockLagMs(): number {
    const { machineMs, serviceMs } = this.#opened;
    return this.#machineMs - machineMs - (this.engine.nowMs() - serviceMs);
  }

  get #machineMs(): number {
    return this.#options.timeline.nowUs / 1_000 + this.leaptMs;
  }

  get isDead(): boolean {
    return this.#options.disk.process !== this.disk;
  }

  /** Runs until the store is open, or the process has ended. */
  async start(): Promise<Start> {
    const opening = this.#open().then(
      (): Start => ({ kind: "open" }),
      (error: unknown): Start => {
        if (error instanceof ProcessDied) return { kind: "died" };
        return { kind: "fault", fault: error as Error };
      },
    );
    return (await this.until(opening)) ?? { kind: "died" };
  }

  /** @returns null when the process ended before it settled. */
  async until<T>(promise: Promise<T>): Promise<T | null> {
    let settled: { readonly value: T } | null = null;
    void (async () => {
      settled = { value: await promise };
    })();
    const { timeline } = this.#options;
    const latestUs = timeline.nowUs + UNTIL_US_MAX;
    for (;;) {
      await microtasks();
      if (settled !== null) return (settled as { readonly value: T }).value;
      if (this.isDead) return null;
      if (!timeline.step()) throw new Error("the process waits for nothing");
      if (timeline.nowUs > latestUs) throw new Violation("I21", "a start or an end");
    }
  }

  close(): Promise<void> {
    return this.store.close();
  }

  /**
   * The process has ended: real files that its threads have open are closed.
   * @returns Whether a snapshot was in progress.
   */
  release(): boolean {
    for (const thread of this.#threads) thread.release();
    return this.#isMakingSnapshot;
  }

  async #open(): Promise<void> {
    const { folder, segmentBytes, snapshotBytes, observer, onSnapshot } = this.#options;
    this.store = await openStore(this.#platform(), {
      folder,
      segmentBytes,
      observer,
      onSnapshot,
      snapshotBytes: snapshotBytes ?? Infinity,
      snapshotMinutes: snapshotBytes === null ? Infinity : SNAPSHOT_MINUTES,
      // One step per turn, so that records may come between any two, without a real clock.
      snapshotTurnMs: 0,
      onFailure: (failure) => {
        this.failure = failure as LogFailed;
      },
    });
    const { engine } = this.store;
    this.#sweptUs = this.#options.timeline.nowUs;
    this.#opened = { machineMs: this.#machineMs, serviceMs: engine.nowMs() };
    const layouts = new LargeLayouts(engine, new LayoutThreads(startInProcess), LAYOUT_PACKER);
    const services = { engine, keys: KEYS, replies: this.replies, layouts };
    this.idempotency = new Idempotency(services as unknown as Services);
  }

  #platform(): Platform {
    const { timeline, wallMs, entropy, onSweep } = this.#options;
    return {
      disk: this.disk,
      time: { wallMs: () => wallMs, runningMs: () => this.#machineMs },
      scheduler: {
        soon: (task) => timeline.soon(task),
        later: (delayMs, task) => timeline.later(delayMs, task),
        every: (periodMs, task) =>
          timeline.every(periodMs, () => {
            this.#sweptUs = timeline.nowUs;
            onSweep(task);
          }),
      },
      randomBytes: (count) => Buffer.from(Array.from({ length: count }, () => entropy.below(256))),
      startSnapshotThread: this.#startThread,
      startHistory: () => {
        throw new Error("the simulation has no audit trail");
      },
    };
  }

  /** As `snapshot-worker.ts`, on virtual time. */
  readonly #startThread: StartSnapshotThread = (data, events) => {
    const { timeline, random } = this.#options;
    const { folder, storeId, bell } = data;
    // The thread must not rest, because it would rest in real time.
    bell.fill(1);
    const beforeStep = () => {
      // During a disk operation of the thread, the first thread continues.
      const count = thread.hasEnded || !random.once(3) ? 0 : random.below(4);
      for (let n = 0; n < count; n++) timeline.step(THREAD_STEP_US_MAX);
      if (thread.hasEnded) throw new ProcessDied();
    };
    const disk = this.#options.disk.beginThread(beforeStep);
    const audited = () => auditedSequence(disk, folder, storeId);
    const thread = new LocalThread<ToThread, FromThread>({
      serve: (port) => serveSnapshots(port, { ...data, disk, audited }),
      events: {
        ...events,
        message: (answer) => {
          if (answer.kind !== "written") this.#isMakingSnapshot = false;
          events.message(answer);
        },
      },
      later: (task) => timeline.after(random.below(MESSAGE_US_MAX), task),
    });
    this.#threads.push(thread);
    return {
      post: (message) => {
        if (message.kind === "begin") this.#isMakingSnapshot = true;
        thread.post(message);
      },
      keepAlive: () => {},
      terminate: () => thread.terminate(),
    };
  };
}

/** Runs everything that waits for a promise. */
export async function microtasks(): Promise<void> {
  for (let i = 0; i < MICROTASKS; i++) await Promise.resolve();
}

/** Replies are stored unencrypted here. */
const KEYS = {
  seal: (text: string) => text,
  unseal: (text: string) => text,
};
