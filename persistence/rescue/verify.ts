/**
 * Checks a whole data folder, read only: the log from its first segment, every snapshot, and that
 * each way of recovery gives the same state.
 */
import { digest } from "../../engine/verify/digest.ts";
import { AUDIT_FILE, readAuditFile } from "../audit/file.ts";
import { SECRET, readStore } from "../disk/data-folder.ts";
import { type ReadDisk, namesIn } from "../disk/disk.ts";
import { only } from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
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
  /** The data folder, which no process changes meanwhile. */
  readonly folder: string;
  readonly onWork?: OnWork | undefined;
}

export interface Verified {
  readonly storeId: string;
  /** Everything that is damaged; empty when all is well. */
  readonly findings: readonly Finding[];
  /** What is worth knowing and no damage. */
  readonly notes: readonly string[];
  readonly segments: number;
  readonly snapshots: number;
  /** Sequence numbers of the first record that the log still has, and of the last; 0 for none. */
  readonly firstSequence: number;
  readonly sequence: number;
  readonly events: number;
  /** Digest of the state; null when it cannot be told. */
  readonly digest: string | null;
}

/**
 * Cost: O(bytes of the folder), the log once for itself and once for each way of recovery; memory
 * for one state.
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
  findings.push(...auditFindings(options));
  const ways = compare(options, log, snapshots);
  findings.push(...ways.findings);
  const good = snapshots.snapshots.filter(({ meta }) => meta !== null);
  return {
    storeId,
    findings,
    notes: notesOn(options, log),
    segments: log.segments.length,
    snapshots: good.length,
    firstSequence: ways.sequence === 0 ? 0 : first!.firstSequence,
    sequence: ways.sequence,
    events: ways.events,
    digest: ways.digest,
  };
}

const SOUND_TRAIL = "a sound audit trail (the next start makes a bad one anew from the log)";

/** The trail is no part of what recovery needs; a bad one is made anew by the next start. */
function auditFindings({ disk, folder }: SurveyOptions): Finding[] {
  if (!namesIn(disk, folder).includes(AUDIT_FILE)) return [];
  const path = `${folder}/${AUDIT_FILE}`;
  const unsound = (found: string) => [{ path, offset: null, expected: SOUND_TRAIL, found }];
  try {
    const sql = readAuditFile(disk, folder);
    try {
      for (const row of sql.rows("PRAGMA quick_check")) {
        const [problem] = Object.values(row);
        if (problem !== "ok") return unsound(String(problem));
      }
      return [];
    } finally {
      sql.close();
    }
  } catch (error) {
    only(error, SqlFault);
    return unsound(error.message);
  }
}

interface Ways {
  readonly findings: Finding[];
  sequence: number;
  events: number;
  digest: string | null;
}

/** Recovers in every way there is: from the first record, from each snapshot. */
function compare(options: SurveyOptions, log: LogSurvey, { snapshots }: SnapshotSurvey): Ways {
  const ways: Ways = { findings: [], sequence: 0, events: 0, digest: null };
  const good = snapshots.filter(({ meta }) => meta !== null).toReversed();
  const bases: (string | null)[] = good.map(({ name }) => name);
  const [first] = log.segments;
  if (first === undefined && bases.length === 0) return ways;
  if (first?.place.number === 1) bases.unshift(null);
  const path = `${options.folder}/${SNAPSHOT_FOLDER}`;
  if (bases.length === 0) {
    const expected = "a good snapshot that the log goes on from";
    ways.findings.push({ path, offset: null, expected, found: "none" });
  }
  // A damaged log stops every way; that is found already.
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
    const expected = `state ${ways.digest} with the log behind it`;
    ways.findings.push({ path: `${path}/${base}`, offset: null, expected, found: reached });
  }
  return ways;
}

function notesOn({ disk, folder }: SurveyOptions, { tornBytes }: LogSurvey): string[] {
  const notes: string[] = [];
  if (tornBytes > 0) {
    notes.push(
      `the log ends with ${tornBytes} bytes of a batch that was never acknowledged, as a kill ` +
        "leaves it; the next start cuts them off",
    );
  }
  if (!namesIn(disk, folder).includes(SECRET)) {
    notes.push("the secret is kept elsewhere: the store starts only with FRONTROW_SECRET");
  }
  return notes;
}
