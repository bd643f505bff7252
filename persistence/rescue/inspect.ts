/** Shows the records of a log, even while it is being written. Changes nothing. */
import { ensureStore, readStore, type StorePlace } from "../disk/data-folder.ts";
import type { Disk } from "../disk/disk.ts";
import { LogCorrupt, SnapshotsDamaged, only } from "../disk/faults.ts";
import { findSegments } from "../log/read-log.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { HeldFolder } from "./held-folder.ts";
import { type RecordView, RecordViewer, type RecordFilter } from "./record-view.ts";
import { type OnWork, rebuild, surveySnapshots } from "./survey.ts";

export interface InspectOptions extends RecordFilter {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  /** Sequence numbers, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly onWork?: OnWork | undefined;
  /** Called with each matching record. @returns False to stop. */
  readonly emit: (record: RecordView) => boolean;
}

export interface Inspected {
  /** The first record that can be shown. Earlier ones are contained only in snapshots. */
  readonly firstSequence: number;
  /** The last record that was read. */
  readonly sequence: number;
}

/** Thrown through the reader of the log to stop it. */
class StopReading extends Error {}

/**
 * Cost: O(bytes of the log), however few records match, because ids and names depend on all records
 * before.
 * @throws FolderRefused, LogCorrupt after the last intact record, SnapshotsDamaged, DiskFault.
 */
export function inspectFolder(options: InspectOptions): Inspected {
  const { disk, folder, from, to, onWork, emit } = options;
  ensureStore(disk, folder);
  const held = HeldFolder.hold(disk, folder);
  try {
    const { storeId } = readStore(held, folder);
    const survey = { disk: held, folder, storeId };
    const base = oldestBase(survey);
    let viewer: RecordViewer | null = null;
    let first = 0;
    let last = 0;
    const rebuilt = attempt(() =>
      rebuild({ ...survey, onWork }, base, (step) => {
        if (first === 0) first = step.sequence;
        last = step.sequence;
        if (last > to) throw new StopReading();
        if (last < from) return;
        viewer ??= new RecordViewer(step.state);
        const view = viewer.view(step, options);
        if (view !== null && !emit(view)) throw new StopReading();
      }),
    );
    if (rebuilt === null) return { firstSequence: first, sequence: last };
    const { fault, sequence } = rebuilt;
    if (fault === null) return { firstSequence: first, sequence };
    throw new LogCorrupt(fault.path, fault.offset ?? 0, fault.expected, fault.found);
  } finally {
    held.release();
  }
}

/** @returns The oldest intact snapshot; null when the log has its beginning. */
function oldestBase(survey: StorePlace<HeldFolder>): string | null {
  const [first] = findSegments(survey.disk, survey.folder);
  if (first === undefined || first.number === 1) return null;
  const { intact, findings } = surveySnapshots(survey);
  const oldest = intact.at(-1);
  if (oldest !== undefined) return oldest.name;
  const reasons = findings.map(({ path, found }) => `${path}: ${found}`);
  throw new SnapshotsDamaged(`${survey.folder}/${SNAPSHOT_FOLDER}`, reasons);
}

function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    only(error, StopReading);
    return null;
  }
}
