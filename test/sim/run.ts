/**
 * One seed: several processes of one store, one after the other, each with clients, faults and an
 * end, and a complete check after each start. The same seed gives the same run.
 */
import { crc32 } from "node:zlib";
import {
  DiskFault,
  LogCorrupt,
  SnapshotsDamaged,
  StoreFault,
} from "../../persistence/disk/faults.ts";
import { SNAPSHOT_FOLDER } from "../../persistence/snapshot/file.ts";
import type { StateReport } from "../../persistence/store/open-state.ts";
import { FakeDisk } from "../support/disk/fake-disk.ts";
import { LOSSES } from "../support/disk/inode.ts";
import { START_MS } from "../support/engine.ts";
import { damage, type Damage, Due } from "./damage.ts";
import { CutDoom, type DiskFaults, Doom } from "./doom.ts";
import { Front } from "./front.ts";
import { Life, microtasks, type Start } from "./life.ts";
import { Tally } from "./model/invariants.ts";
import { Oracle } from "./model/oracle.ts";
import { Timeline } from "./timeline.ts";
import { Clients } from "./workload/clients.ts";
import type { Plan } from "./workload/plan.ts";
import { Random } from "./workload/random.ts";
import { countRecovery, expectFewFiles, SnapshotWatch } from "./run-checks.ts";

export interface RunResult {
  /** A checksum of all events in order. */
  readonly trace: number;
  /** Processes without an orderly end, each followed by a start. */
  readonly crashes: number;
  readonly tally: Tally;
}

/** The most events of a process after its log has failed; no client may notice them. */
const EVENTS_AFTER_FAILURE = 40;
const FIRST_STARTS = 3;
/** Upper bound of the tried outcomes of a crash, exclusive. */
const POWER_OUTCOMES_MAX = 5;
const KILL_OUTCOMES_MAX = 2;
/** Interrupted recoveries in a row, fewer than this. */
const CUTS_MAX = 3;
const SETTLE_US_MAX = 60_000_000;
/** Longer than the requests of a life take on a slow disk that is full for a while. */
const LIFE_US_MAX = 60_000_000;
const HOUR_MS = 3_600_000;
export class Run {
  readonly tally = new Tally();
  readonly #plan: Plan;
  readonly #folder: string;
  readonly #timeline = new Timeline();
  readonly #disk: FakeDisk;
  readonly #snapshots: SnapshotWatch;
  readonly #diskRandom: Random;
  readonly #oracle: Oracle;
  readonly #clients: Clients;
  readonly #random: Random;
  readonly #entropy: Random;
  /** The front of the current process, if it is open. */
  #front: Front | null = null;
  /** The faults of the current process. */
  #faults!: DiskFaults;
  #crashes = 0;
  #trace = 0;
  #wallOffsetMs = 0;

  /** @param folder - Real and empty, for this run only. */
  constructor(plan: Plan, folder: string) {
    const { seed } = plan;
    this.#plan = plan;
    this.#folder = folder;
    this.#diskRandom = Random.stream(seed, "disk");
    this.#disk = new FakeDisk({
      folder,
      dice: this.#diskRandom,
      isReal: (path) => path.startsWith(`${folder}/${SNAPSHOT_FOLDER}/`),
      later: (_, task) => void this.#timeline.after(this.#faults.latencyUs(), task),
      onEnd: () => this.#timeline.clear(),
    });
    this.#snapshots = new SnapshotWatch(this.tally, this.#disk);
    this.#oracle = new Oracle(this.tally);
    this.#random = Random.stream(seed, "crashes");
    this.#entropy = Random.stream(seed, "entropy");
    this.#clients = new Clients({ plan, oracle: this.#oracle, timeline: this.#timeline });
  }

  /** @throws Violation, or an unexpected error of the store. */
  async run(): Promise<RunResult> {
    const { lives } = this.#plan;
    for (let n = this.#random.below(FIRST_STARTS); n > 0; n--) await this.#firstStart();
    await this.#setUp();
    for (let life = 0; life < lives; life++) {
      await this.#live();
      if (this.#plan.faults.has("damage")) await this.#tryDamaged();
    }
    await this.#end();
    return { trace: this.#trace, crashes: this.#crashes, tally: this.tally };
  }

  /** On an empty disk, without requests. */
  async #firstStart(): Promise<void> {
    const doom = this.#doom(false);
    const life = this.#begin(doom);
    const start = await life.start();
    this.#judge(start, doom);
    if (start.kind === "open") this.#oracle.recovered(life);
    await this.#crash(life, doom);
  }

  async #setUp(): Promise<void> {
    const life = await this.#spared();
    const front = new Front(life, this.#oracle, this.#plan.isThorough);
    this.#front = front;
    this.#clients.setUp(life, front);
    await this.#settle(life, front);
    // An orderly end leaves a snapshot, and most seeds should recover from the log only.
    const { snapshotBytes, faults } = this.#plan;
    const mayEnd = snapshotBytes !== null || faults.has("order");
    if (mayEnd && this.#random.once(2)) await this.#close(life);
    else await this.#crash(life, this.#doom(false));
  }

  async #live(): Promise<void> {
    const doom = this.#doom(false);
    this.#setClock();
    const life = this.#begin(doom);
    this.#disk.isFull = this.#plan.faults.has("full") && this.#random.once(12);
    const start = await life.start();
    this.#judge(start, doom);
    if (start.kind !== "open") return this.#crash(life, doom);
    doom.isOpen = true;
    this.#note(`open ${life.report.sequence} ${life.report.tornBytes} ${life.report.epoch}`);
    countRecovery(this.tally, life.report);
    this.#oracle.recovered(life);
    const front = new Front(life, this.#oracle, this.#plan.isThorough);
    this.#front = front;
    this.#clients.begin(life, front);
    this.#fillLater();
    await this.#serve(life);
    if (life.store.journal.stats.direct > 0)
      this.tally.count("batches were written on the engine's thread");
    if (life.isDead || life.failure !== null || !doom.isOrderly) return this.#crash(life, doom);
    await this.#close(life, doom);
  }

  /** Runs until the clients are done or the process has ended. */
  async #serve(life: Life): Promise<void> {
    let left = EVENTS_AFTER_FAILURE;
    const latestUs = this.#timeline.nowUs + LIFE_US_MAX;
    while (!life.isDead && !this.#clients.isOver) {
      if (life.failure !== null) {
        left -= 1 + this.#random.below(EVENTS_AFTER_FAILURE);
        if (left < 0) return;
      }
      if (!this.#timeline.step()) throw new Error("nothing happens any more");
      const isLate = this.#timeline.nowUs > latestUs;
      this.tally.holds("I21", !isLate, () => `${this.#front?.waiting} requests wait`);
      this.#expectTime(life);
      if (this.#plan.snapshotBytes !== null) await microtasks();
    }
  }

  /** Time advances, and expired holds end without a request. */
  #expectTime(life: Life): void {
    const { clockLagMs, unsweptMs } = life;
    this.tally.holds("I12", clockLagMs < 2, () => `the clock has lost ${clockLagMs} ms`);
    this.tally.holds("I11", unsweptMs < 1_000, () => `not looked at for ${unsweptMs} ms`);
  }

  /** Ends the process in an orderly way. */
  async #close(life: Life, doom: Doom | null = null): Promise<void> {
    this.#disk.isFull = false;
    const closing = life.close().then(
      () => null,
      (error: unknown) => error,
    );
    const fault = await life.until(closing);
    if (life.isDead || fault !== null) {
      if (fault !== null && !(fault instanceof StoreFault && doom?.hasFailed === true)) throw fault;
      this.tally.count("an orderly end was interrupted");
      return this.#crash(life, doom);
    }
    this.tally.count("a process ended in an orderly way");
    this.#disk.kill();
    life.release();
  }

  /** A start on a damaged disk halts and changes nothing, or still finds everything. */
  async #tryDamaged(): Promise<void> {
    this.#disk.isFull = false;
    const restore = this.#disk.save();
    const done = damage(this.#disk, this.#random);
    if (done === null) return;
    const { what, due } = done;
    const { changeCount } = this.#disk;
    const life = this.#begin(this.#doom(true));
    const start = await life.start();
    this.#note(`${what} ${start.kind}`);
    if (start.kind === "open") {
      const isNeedless = due !== Due.HALT || isUnread(life, done);
      this.tally.holds("I19", isNeedless, () => `${what}: no halt`);
      this.tally.count(`still opened: ${what}`);
      countRecovery(this.tally, life.report, true);
      if (done.isLasting === true) this.#oracle.recovered(life);
      else this.#oracle.tried(life, null);
    } else {
      const fault = start.kind === "fault" ? start.fault : new Error("no fault");
      const isHalt = fault instanceof LogCorrupt || fault instanceof SnapshotsDamaged;
      if (!isHalt) throw fault;
      this.tally.holds("I19", due !== Due.OPEN, () => `${what}: ${fault.message}`);
      const changes = this.#disk.changeCount - changeCount;
      this.tally.holds("I19", changes === 0, () => `${what}: ${changes} changes by a halt`);
      this.tally.count(`halted: ${what}`);
    }
    this.#disk.kill();
    life.release();
    // The restored disk may again have records cut off in the trial.
    if (done.isLasting !== true || start.kind !== "open") restore();
  }

  /** Without further faults every request is answered, and a last start finds everything. */
  async #end(): Promise<void> {
    const life = await this.#spared();
    const front = new Front(life, this.#oracle, this.#plan.isThorough);
    this.#front = front;
    this.#clients.begin(life, front);
    await this.#settle(life, front);
    await this.#close(life);
    const last = await this.#spared();
    const { cleanShutdown, tornBytes } = last.report;
    this.tally.holds(
      "I3",
      cleanShutdown && tornBytes === 0,
      () => "an orderly end is not recognized",
    );
    expectFewFiles(this.tally, [...this.#disk.files().keys()]);
    this.#snapshots.expectNoFailure();
    this.#disk.kill();
    last.release();
  }

  /** The process has no faults. */
  async #spared(): Promise<Life> {
    this.#disk.isFull = false;
    const doom = this.#doom(true);
    const life = this.#begin(doom);
    const start = await life.start();
    this.#judge(start, doom);
    countRecovery(this.tally, life.report);
    this.#oracle.recovered(life);
    return life;
  }

  async #settle(life: Life, front: Front): Promise<void> {
    const latestUs = this.#timeline.nowUs + SETTLE_US_MAX;
    while (!this.#clients.isOver || front.waiting > 0) {
      if (!this.#timeline.step()) throw new Error("nothing happens any more");
      await microtasks();
      const isLate = this.#timeline.nowUs > latestUs || life.failure !== null;
      this.tally.holds("I21", !isLate, () => `${front.waiting} requests wait`);
    }
  }

  #begin(doom: Doom | CutDoom): Life {
    const { segmentBytes, snapshotBytes } = this.#plan;
    const { nowUs } = this.#timeline;
    this.#faults = doom;
    this.#disk.decide = (step) => {
      this.#note(step.operation);
      return doom.decide(step);
    };
    return new Life({
      disk: this.#disk,
      timeline: this.#timeline,
      folder: this.#folder,
      random: this.#diskRandom,
      segmentBytes,
      snapshotBytes,
      wallMs: START_MS + Math.floor(nowUs / 1_000) + this.#wallOffsetMs,
      entropy: this.#entropy,
      observer: this.#oracle,
      onSnapshot: (report) => this.#snapshots.ended(report),
      onSweep: (sweep) => {
        if (this.#front === null) sweep();
        else this.#front.sweep(sweep);
      },
    });
  }

  #doom(isSpared: boolean): Doom {
    return new Doom({ plan: this.#plan, random: this.#random, tally: this.tally, isSpared });
  }

  /** Checks the result of a start. */
  #judge(start: Start, { hasFailed }: Pick<Doom, "hasFailed">): void {
    this.tally.count(`start: ${start.kind}`);
    if (start.kind !== "fault") return;
    const isExpected = hasFailed || this.#disk.isFull;
    const { fault } = start;
    const isOfDisk = fault instanceof DiskFault || fault.cause instanceof DiskFault;
    if (isExpected && isOfDisk) return;
    if (start.fault instanceof StoreFault) {
      this.tally.holds("I3", false, () => `the store does not open: ${start.fault.message}`);
    }
    throw start.fault;
  }

  async #crash(life: Life, doom: Doom | null): Promise<void> {
    this.#snapshots.expectNoFailure();
    this.#disk.kill();
    if (life.release()) this.tally.count("a process ended during a snapshot");
    this.#clients.processEnded();
    this.#front = null;
    const isPowerLost = doom?.isPowerLost === true;
    await this.#tryOutcomes(isPowerLost);
    this.#crashed(isPowerLost);
    if (life.failure !== null) this.tally.count("crash: the log failed");
    this.#note(`crash ${this.#timeline.nowUs} ${isPowerLost}`);
  }

  /** The process has ended; after a power cut, dice decide about its unsynced data. */
  #crashed(isPowerLost: boolean): void {
    this.#crashes += 1;
    this.tally.count(isPowerLost ? "crash: power" : "crash: kill");
    if (isPowerLost) this.#disk.losePower(this.#random.pick(LOSSES));
  }

  /** Tries several outcomes of the crash, each followed by starts, and then undoes all of it. */
  async #tryOutcomes(isPowerLost: boolean): Promise<void> {
    const outcomes = this.#random.below(isPowerLost ? POWER_OUTCOMES_MAX : KILL_OUTCOMES_MAX);
    if (outcomes === 0) return;
    this.#disk.isFull = false;
    const restore = this.#disk.save();
    for (let n = 0; n < outcomes; n++) {
      if (isPowerLost) this.#crashed(true);
      // A kill has only one outcome, so another interrupted recovery is tried.
      const cuts = this.#random.below(CUTS_MAX) + (isPowerLost ? 0 : 1);
      await this.#tryRecovery(cuts, isPowerLost);
      restore();
    }
  }

  /** Recovers, after several recoveries interrupted at random changes of the disk. */
  async #tryRecovery(cuts: number, isPowerLost: boolean): Promise<void> {
    let before: StateReport | null = null;
    for (let left = cuts; left >= 0; left--) {
      const doom = left > 0 ? new CutDoom(this.#random) : this.#doom(true);
      const life = this.#begin(doom);
      const start = await life.start();
      this.#judge(start, doom);
      if (start.kind === "open") {
        countRecovery(this.tally, life.report);
        this.#oracle.tried(life, before);
        before = life.report;
        this.#note(`tried ${before.sequence} ${before.epoch}`);
      }
      this.#disk.kill();
      life.release();
      if (left > 0) this.#crashed(isPowerLost && !this.#random.once(4));
    }
  }

  /** Sets the clock between two processes. */
  #setClock(): void {
    if (!this.#plan.faults.has("clock") || !this.#random.once(2)) return;
    const random = this.#random;
    const stepMs = random.pick([-HOUR_MS, 3 * HOUR_MS, -60_000, 60_000, -5]);
    this.#wallOffsetMs += stepMs;
    this.tally.count(stepMs < 0 ? "the clock was set back" : "the clock was set forward");
  }

  /** Makes the disk full for a while, sometimes. */
  #fillLater(): void {
    if (!this.#plan.faults.has("full")) return;
    this.#timeline.later(this.#random.below(8), () => {
      this.#disk.isFull = true;
      this.tally.count("the disk was full");
      this.#timeline.later(this.#random.below(4_000), () => {
        this.#disk.isFull = false;
      });
    });
  }

  #note(what: string): void {
    this.#trace = crc32(what, this.#trace);
  }
}

/** The damage is in a part of the log made unnecessary by the snapshot. */
function isUnread({ report }: Life, { segment, newest }: Damage): boolean {
  return report.snapshot !== null && segment <= newest - report.segments;
}
