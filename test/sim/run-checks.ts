/** Checks and counts of recoveries, snapshots, and the files left. */
import type { SnapshotReport } from "../../persistence/snapshot/build.ts";
import type { FakeDisk } from "../support/disk/fake-disk.ts";
import type { Life } from "./life.ts";
import type { Tally } from "./model/invariants.ts";

/** Allowed failures of a snapshot: a fault of the disk, or a shutdown without a wait. */
const EXPLAINED = /^cannot |^abandoned|^the thread ended/;

/** @param isDamaged - Whether the disk was damaged on purpose. */
export function countRecovery(tally: Tally, report: Life["report"], isDamaged = false): void {
  // A snapshot is complete before it gets its name, even after a power cut.
  const [unsound] = report.passedOver;
  tally.holds("I5", isDamaged || unsound === undefined, () => unsound!);
  if (report.tornBytes > 0) tally.count("a torn end was cut off");
  if (report.cleanShutdown && report.segments > 0) tally.count("an orderly end was recognized");
  if (report.segments > 0) tally.count("the newest segment was copied");
  if (report.snapshot !== null) tally.count("a snapshot was used");
  if (report.passedOver.length === 0) return;
  tally.count("a snapshot was skipped");
  if (report.snapshot === null) tally.count("the whole log was read in place of a snapshot");
}

/** The numbers of files stay bounded. */
export function expectFewFiles(tally: Tally, paths: readonly string[]): void {
  const temporary = paths.filter((path) => path.endsWith(".tmp")).length;
  tally.holds("I20", temporary <= 3, () => `${temporary} temporary files`);
  const snapshots = paths.filter((path) => path.includes("/snapshots/")).length;
  tally.holds("I20", snapshots <= 3, () => `${snapshots} snapshots`);
}

/** Snapshots failed without a cause. */
export class SnapshotWatch {
  readonly #tally: Tally;
  readonly #disk: FakeDisk;
  #unexplained: Error | null = null;

  constructor(tally: Tally, disk: FakeDisk) {
    this.#tally = tally;
    this.#disk = disk;
  }

  ended(report: SnapshotReport): void {
    const tally = this.#tally;
    const { failure } = report;
    if (failure !== null) {
      // The process has died during a step of the snapshot.
      if (this.#disk.isDead) return;
      // An error thrown here would be lost in a promise of the snapshots.
      if (!EXPLAINED.test(failure.message)) this.#unexplained ??= failure;
      return tally.count("a snapshot failed");
    }
    tally.count("a snapshot was made");
    if (report.removedSegments > 0) tally.count("segments were removed");
    if (report.removedSnapshots > 0) tally.count("snapshots were removed");
  }

  expectNoFailure(): void {
    const { stack } = this.#unexplained ?? {};
    this.#tally.holds("I5", stack === undefined, () => `a snapshot failed by itself: ${stack}`);
  }
}
