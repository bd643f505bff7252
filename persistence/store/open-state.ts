/**
 * A state from disk: the newest good snapshot, and the log behind it. Falls back to an older
 * snapshot, then to the whole log, as far as files are there; halts otherwise.
 */
import { affectedPartitions } from "../../engine/affected-partitions.ts";
import { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify/check.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { SnapshotsDamaged } from "../disk/faults.ts";
import type { LogWriter } from "../log/log-writer.ts";
import { type LogOptions, openLog } from "../log/open-log.ts";
import { findSegments } from "../log/read-log.ts";
import type { RecoveryReport } from "../log/recover.ts";
import { LOG_FOLDER } from "../log/segment-header.ts";
import { TEMPORARY_SUFFIX } from "../log/segments.ts";
import { SNAPSHOT_FOLDER, startOf } from "../snapshot/file.ts";
import { type FoundSnapshots, type LoadedSnapshot, loadNewest } from "../snapshot/load.ts";
import type { SnapshotsStart } from "../snapshot/options.ts";
import { replayAfter } from "../snapshot/replay-after.ts";

/** How far recovery is: partitions of the snapshot, then segments of the log. */
export interface RecoveryProgress {
  readonly phase: "snapshot" | "log";
  readonly done: number;
  readonly total: number;
}

export interface StateOptions extends Omit<
  LogOptions,
  "replay" | "start" | "onProgress" | "check"
> {
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined;
}

export interface StateReport extends RecoveryReport {
  /** Name of the snapshot that was used; null for none. */
  readonly snapshot: string | null;
  /** Newer ones that could not be used, and why. */
  readonly passedOver: readonly string[];
}

export interface OpenState {
  readonly state: State;
  readonly journal: LogWriter;
  readonly report: StateReport;
  readonly start: SnapshotsStart;
}

/**
 * Ordering: as in `openLog`; and nothing on disk changes before snapshot and log are checked.
 * @throws LogCorrupt, SnapshotsDamaged, DiskFault.
 */
export async function openState(options: StateOptions): Promise<OpenState> {
  const { disk, folder, storeId, clock, onProgress } = options;
  const startMs = clock.nowMs();
  const tell = (phase: RecoveryProgress["phase"]) => (done: number, total: number) =>
    onProgress?.({ phase, done, total });
  const found = loadNewest({ disk, folder, storeId, onProgress: tell("snapshot") });
  const { loaded } = found;
  if (loaded === null) demandWholeLog(disk, folder, found);
  const state = loaded?.state ?? new State();
  const changed = new Set<number>();
  const { journal, report } = await openLog({
    ...options,
    start: loaded === null ? null : startOf(loaded.meta),
    replay: replayAfter(loaded, state, (record) => {
      for (const number of affectedPartitions(state, record)) changed.add(number);
    }),
    onProgress: tell("log"),
    check: () => checkState(state),
  });
  removeTemporary(disk, `${folder}/${SNAPSHOT_FOLDER}`);
  const passedOver = reasonsOf(found);
  // Time never steps back, also where the log begins behind the snapshot and has no record yet.
  const timeMs = report.timeMs === 0 ? createdAtMs(loaded) : report.timeMs;
  const seconds = Math.max(0, clock.nowMs() - startMs) / 1_000;
  return {
    state,
    journal,
    report: { ...report, timeMs, seconds, snapshot: loaded?.name ?? null, passedOver },
    start: {
      sequence: report.sequence,
      base: loaded?.name ?? null,
      baseSequence: loaded?.meta.sequence ?? 0,
      changed,
      bytes: report.bytes,
    },
  };
}

function createdAtMs(loaded: LoadedSnapshot | null): number {
  return loaded === null ? 0 : Date.parse(loaded.meta.createdAt);
}

/** Without a snapshot the log must reach back to its first record. */
export function demandWholeLog(disk: Disk, folder: string, found: FoundSnapshots): void {
  const log = `${folder}/${LOG_FOLDER}`;
  const [first] = findSegments(log, namesIn(disk, log));
  const isGone = first === undefined ? found.passedOver.length > 0 : first.number > 1;
  if (isGone) throw new SnapshotsDamaged(log, reasonsOf(found));
}

export function reasonsOf({ passedOver }: FoundSnapshots): string[] {
  return passedOver.map(
    ({ path, expected, found }) => `${path}: expected ${expected}, got ${found}`,
  );
}

function removeTemporary(disk: Disk, folder: string): void {
  for (const name of namesIn(disk, folder)) {
    if (name.endsWith(TEMPORARY_SUFFIX)) disk.removeNow(`${folder}/${name}`);
  }
}
