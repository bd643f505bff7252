/**
 * Recovers the state from disk: the newest intact snapshot and the log after it. Without one it
 * replays the whole log, if the log still has its beginning, and fails otherwise.
 */
import { affectedPartitions } from "../../engine/apply.ts";
import { baseOfCell } from "../../engine/cells.ts";
import { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify.ts";
import type { Disk } from "../disk/disk.ts";
import { SnapshotsDamaged } from "../disk/faults.ts";
import { removeTemporary } from "../disk/transfer.ts";
import type { Replay } from "../log/codec.ts";
import {
  type LogOptions,
  type Recovered,
  recoverLog,
  type RecoveryReport,
} from "../log/recover.ts";
import { findSegments } from "../log/log-reader.ts";
import { LOG_FOLDER } from "../log/frame.ts";
import { SNAPSHOT_FOLDER, startOf } from "../snapshot/file.ts";
import { loadNewest, replayAfter } from "../snapshot/load.ts";
import type { SnapshotsStart } from "../snapshot/build.ts";

/** The progress of recovery: partitions of the snapshot, then segments of the log. */
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
  /** Called when snapshot and log are checked, before anything on disk changes. */
  readonly onChecked: () => void;
}

export interface StateReport extends RecoveryReport {
  /** Name of the loaded snapshot; null for none. */
  readonly snapshot: string | null;
  /** Why each newer snapshot could not be used. */
  readonly passedOver: readonly string[];
}

export interface OpenState<Log> {
  readonly state: State;
  readonly log: Log;
  readonly report: StateReport;
  readonly start: SnapshotsStart;
}

/** The recovered log, for a host of a cluster to continue. */
export interface ReadState extends Recovered {
  readonly state: State;
  /** From now on the scan replays with this. */
  readonly replayWith: (replay: Replay) => void;
}

/**
 * Ordering: as in `openLog`. Nothing on disk changes before snapshot and log are checked.
 * @param open - Opens the recovered log.
 * @throws LogCorrupt, SnapshotsDamaged, DiskFault.
 */
export async function openState<Log>(
  options: StateOptions,
  open: (read: ReadState) => Promise<Log>,
): Promise<OpenState<Log>> {
  const { disk, folder, clock, onProgress, cell = 0 } = options;
  const startMs = clock.nowMs();
  const progressOf = (phase: RecoveryProgress["phase"]) => (done: number, total: number) =>
    onProgress?.({ phase, done, total });
  const { loaded, passedOver } = loadNewest(options, progressOf("snapshot"));
  if (loaded === null) ensureWholeLog(disk, folder, passedOver);
  const state = loaded?.state ?? new State();
  const changed = new Set<number>();
  let replay = replayAfter(loaded, state, (record) => {
    for (const number of affectedPartitions(state, record)) changed.add(number);
  });
  const recovered = recoverLog({
    ...options,
    start: loaded === null ? null : startOf(loaded.meta),
    replay: (sequence, timeMs, record) => replay(sequence, timeMs, record),
    onProgress: progressOf("log"),
    check: () => {
      checkState(state);
      options.onChecked();
    },
  });
  const { report } = recovered;
  const { catalog } = state;
  catalog.nextId = Math.max(catalog.nextId, baseOfCell(cell) + 1);
  const log = await open({ ...recovered, state, replayWith: (next) => (replay = next) });
  removeTemporary(disk, `${folder}/${SNAPSHOT_FOLDER}`);
  // Time never steps back, even when the log begins after the snapshot and has no record yet.
  const createdAtMs = loaded === null ? 0 : Date.parse(loaded.meta.createdAt);
  const timeMs = report.timeMs === 0 ? createdAtMs : report.timeMs;
  const seconds = Math.max(0, clock.nowMs() - startMs) / 1_000;
  return {
    state,
    log,
    report: { ...report, timeMs, seconds, snapshot: loaded?.name ?? null, passedOver },
    start: {
      sequence: report.sequence,
      base: loaded?.name ?? null,
      baseSequence: loaded?.meta.sequence ?? baseOfCell(cell),
      baseMs: loaded === null ? clock.nowMs() : createdAtMs,
      changed,
      bytes: report.bytes,
    },
  };
}

/**
 * Without a snapshot the log must have its beginning.
 * @param passedOver - Why each snapshot could not be used. @throws SnapshotsDamaged.
 */
export function ensureWholeLog(disk: Disk, folder: string, passedOver: readonly string[]): void {
  const [first] = findSegments(disk, folder);
  const isGone = first === undefined ? passedOver.length > 0 : first.number > 1;
  if (isGone) throw new SnapshotsDamaged(`${folder}/${LOG_FOLDER}`, passedOver);
}
