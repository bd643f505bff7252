/** Shows the records of a log, also of one that is being written. Changes nothing. */
import { demandStore, readStore } from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { LogCorrupt, SnapshotsDamaged, only } from "../disk/faults.ts";
import { findSegments } from "../log/read-log.ts";
import { LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { HeldFolder } from "./held-folder.ts";
import { type RecordView, RecordViewer, type Wanted } from "./record-view.ts";
import { type OnWork, rebuild, surveySnapshots } from "./survey.ts";

export interface InspectOptions extends Wanted {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  /** Sequence numbers, both included. */
  readonly from: number;
  readonly to: number;
  readonly onWork?: OnWork | undefined;
  /** Given each record that is wanted. @returns False to be given no more. */
  readonly emit: (record: RecordView) => boolean;
}

export interface Inspected {
  /** The first record that can be shown: what is before it is in the snapshots only. */
  readonly firstSequence: number;
  /** The last record of the log. */
  readonly sequence: number;
}

/** Thrown through the reader of the log, when nobody wants more. */
class Enough extends Error {}

/**
 * Cost: O(bytes of the log that is there), whatever is wanted of it: names and ids change as the
 * catalog does.
 * @throws FolderRefused, LogCorrupt behind the last good record, SnapshotsDamaged, DiskFault.
 */
export function inspectFolder(options: InspectOptions): Inspected {
  const { disk, folder, from, to, onWork, emit } = options;
  demandStore(disk, folder);
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
        if (last > to) throw new Enough();
        if (last < from) return;
        viewer ??= new RecordViewer(step.state);
        const view = viewer.view(step, options);
        if (view !== null && !emit(view)) throw new Enough();
      }),
    );
    if (rebuilt === null) return { firstSequence: first, sequence: last };
    const { fault, sequence } = rebuilt;
    if (fault !== null)
      throw new LogCorrupt(fault.path, fault.offset ?? 0, fault.expected, fault.found);
    return { firstSequence: first, sequence };
  } finally {
    held.release();
  }
}

/** The one that most of the log lies behind. @returns Null for the log's own beginning. */
function oldestBase(survey: { disk: HeldFolder; folder: string; storeId: string }): string | null {
  const log = `${survey.folder}/${LOG_FOLDER}`;
  const [first] = findSegments(log, namesIn(survey.disk, log));
  if (first === undefined || first.number === 1) return null;
  const { snapshots, findings } = surveySnapshots(survey);
  const good = snapshots.findLast(({ meta }) => meta !== null);
  if (good !== undefined) return good.name;
  const reasons = findings.map(({ path, found }) => `${path}: ${found}`);
  throw new SnapshotsDamaged(`${survey.folder}/${SNAPSHOT_FOLDER}`, reasons);
}

function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    only(error, Enough);
    return null;
  }
}
