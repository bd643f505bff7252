/**
 * Checks a whole data folder without changing it: the log from its first segment, every snapshot,
 * the audit trail, the deliveries, and the equality of all ways of recovery.
 */
import { digest } from "../../engine/verify.ts";
import { AUDIT_FILE, checkRows, readFileOf } from "../history/archive.ts";
import { SECRET, readStore } from "../disk/data-folder.ts";
import { type ReadDisk, namesIn } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { problemIn, SqlFault, type SqlFile } from "../disk/sqlite.ts";
import { LOG_FOLDER } from "../log/frame.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { readPosition, WEBHOOKS_FILE } from "../deliveries.ts";
import {
  type Finding,
  type LogSurvey,
  type OnWork,
  type SnapshotSurvey,
  type SurveyOptions,
  rebuild,
  surveyLog,
  surveySnapshots,
} from "./survey.ts";

export interface VerifyOptions {
  readonly disk: ReadDisk;
  /** The data folder; must not change during the check. */
  readonly folder: string;
  readonly onWork?: OnWork | undefined;
}

export interface Verified {
  readonly storeId: string;
  /** All damage; empty when the folder is sound. */
  readonly findings: readonly Finding[];
  /** Facts other than damage. */
  readonly notes: readonly string[];
  readonly segments: number;
  /** Intact ones. */
  readonly snapshots: number;
  /** Sequence numbers of the first record in the log, and of the last; 0 for none. */
  readonly firstSequence: number;
  readonly sequence: number;
  readonly events: number;
  /** Digest of the state; null when no state could be rebuilt. */
  readonly digest: string | null;
}

/**
 * Cost: O(bytes of the folder); the log is read once by itself and once for each way of recovery.
 * Memory: one state.
 * @throws FolderRefused without a readable `store.json`, DiskFault when the disk fails.
 */
export function verifyFolder({ disk, folder, onWork }: VerifyOptions): Verified {
  const { storeId, hasLog } = readStore(disk, folder);
  const options = { disk, folder, storeId, onWork };
  const log = surveyLog(options);
  const snapshots = surveySnapshots(options);
  const findings = [...log.findings, ...snapshots.findings];
  const first = log.segments[0]?.place;
  if (first === undefined && hasLog) {
    const path = `${folder}/${LOG_FOLDER}`;
    findings.push({ path, offset: null, expected: "the segments of the log", found: "none" });
  }
  const checkTrail = (sql: SqlFile) => {
    const problem = problemIn(sql, "integrity_check");
    // A new store has an empty file.
    const hasRows = sql.row("SELECT 1 FROM sqlite_schema WHERE name = 'history'") !== undefined;
    if (problem === null && hasRows) checkRows(sql);
    return problem;
  };
  findings.push(...projectionFindings(options, AUDIT_FILE, SOUND_TRAIL, checkTrail));
  const checkDeliveries = (sql: SqlFile) => {
    const problem = problemIn(sql);
    if (problem === null) readPosition(sql, storeId);
    return problem;
  };
  findings.push(...projectionFindings(options, WEBHOOKS_FILE, SOUND_DELIVERIES, checkDeliveries));
  const ways = compare(options, log, snapshots);
  findings.push(...ways.findings);
  return {
    storeId,
    findings,
    notes: notesOn(options, log),
    segments: log.segments.length,
    snapshots: snapshots.intact.length,
    firstSequence: ways.sequence === 0 ? 0 : first!.firstSequence,
    sequence: ways.sequence,
    events: ways.events,
    digest: ways.digest,
  };
}

/** Recovery does not need the trail. */
const SOUND_TRAIL =
  "a sound audit trail (the past in a damaged row is gone; a start rebuilds an unreadable file)";

const SOUND_DELIVERIES =
  "sound deliveries of webhooks (the next start begins with new ones; what waited is lost)";

function projectionFindings(
  { disk, folder }: SurveyOptions,
  name: string,
  expected: string,
  check: (sql: SqlFile) => string | null,
): Finding[] {
  if (!namesIn(disk, folder).includes(name)) return [];
  const found = problemInFile(() => readFileOf(disk, folder, name, check));
  return found === null ? [] : [{ path: `${folder}/${name}`, offset: null, expected, found }];
}

function problemInFile(check: () => string | null): string | null {
  try {
    return check();
  } catch (error) {
    only(error, SqlFault, Malformed);
    return error.message;
  }
}

interface Ways {
  readonly findings: Finding[];
  sequence: number;
  events: number;
  digest: string | null;
}

/** Recovers in every possible way: from the first record, and from each intact snapshot. */
function compare(options: SurveyOptions, log: LogSurvey, { intact }: SnapshotSurvey): Ways {
  const ways: Ways = { findings: [], sequence: 0, events: 0, digest: null };
  const bases: (string | null)[] = intact.map(({ name }) => name).toReversed();
  const [first] = log.segments;
  if (first === undefined && bases.length === 0) return ways;
  if (first?.place.number === 1) bases.unshift(null);
  const path = `${options.folder}/${SNAPSHOT_FOLDER}`;
  if (bases.length === 0) {
    const expected = "an intact snapshot that the log continues from";
    ways.findings.push({ path, offset: null, expected, found: "none" });
  }
  // A damaged log stops every way, and its damage is already reported.
  if (log.findings.length > 0) return ways;
  for (const base of bases) {
    const { state, sequence, fault } = rebuild(options, base);
    if (fault !== null) {
      ways.findings.push(fault);
      continue;
    }
    const reached = digest(state);
    ways.digest ??= reached;
    ways.sequence = sequence;
    ways.events = state.partitions.size;
    if (reached === ways.digest) continue;
    const expected = `state ${ways.digest} with the log after it`;
    ways.findings.push({ path: `${path}/${base}`, offset: null, expected, found: reached });
  }
  return ways;
}

function notesOn({ disk, folder }: SurveyOptions, { tornBytes }: LogSurvey): string[] {
  const notes: string[] = [];
  if (tornBytes > 0) {
    notes.push(
      `the log ends with ${tornBytes} bytes of a batch that did not come to this disk whole, as ` +
        "after a kill; the next start cuts them off",
    );
  }
  if (!namesIn(disk, folder).includes(SECRET)) {
    notes.push("the secret is not in the folder: the store starts only with FRONTROW_SECRET");
  }
  return notes;
}
