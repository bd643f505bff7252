/**
 * Keeps the audit trail up to date with the log: adds durable records, rebuilds a missing or
 * damaged file, and applies the retention. For use by one thread.
 */
import { Broken } from "../../engine/assert.ts";
import { State } from "../../engine/state.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../engine/queries/audit-trail.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import {
  DiskFault,
  LogCorrupt,
  Malformed,
  messageOf,
  only,
  SnapshotsDamaged,
} from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { LogFollower } from "../log/log-follower.ts";
import { findSegments, readLog } from "../log/read-log.ts";
import { type ChainMark, startOfFirst } from "../log/scan.ts";
import { chainOfStore, LOG_FOLDER } from "../log/segment-header.ts";
import { startOf } from "../snapshot/file.ts";
import { loadOldest, replayAfter } from "../snapshot/load.ts";
import { AUDIT_FILE, startOfTrail } from "./file.ts";
import { OpenTrail } from "./trail.ts";

const DAY_MS = 86_400_000;
/** How often the retention is applied. */
const RETENTION_EVERY_MS = 3_600_000;

/** Something that an operator should know. */
export type AuditReport =
  /** The file could not be used, was renamed, and is rebuilt. */
  | { readonly kind: "rebuilt"; readonly reason: string }
  /** The log had lost its beginning, so the trail begins with a snapshot, not with the store. */
  | { readonly kind: "incomplete"; readonly firstSequence: number }
  /** Transitions before that record are past their retention and were removed. */
  | { readonly kind: "expired"; readonly firstSequence: number }
  /** The update is repeated until it succeeds. The log keeps the records that the trail lacks. */
  | { readonly kind: "failed"; readonly failure: string };

export interface KeeperOptions extends StorePlace {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  readonly nowMs: () => number;
  readonly onReport: (report: AuditReport) => void;
  /** As in `OpenTrail`. */
  readonly rowsPerCommit?: number | undefined;
}

export class AuditKeeper {
  /** How often the file was opened; each time it may be another file. */
  opened = 0;
  readonly #options: KeeperOptions;
  #trail: OpenTrail | null = null;
  #follower: LogFollower | null = null;
  #mark: ChainMark | null = null;
  /** When the retention was last applied. */
  #retentionMs = -Infinity;
  /** Whether the follower has proved that trail and log belong together. */
  #isProven = false;
  /** Whether the file was replaced. If the new one is unusable too, the file is not at fault. */
  #isRebuilt = false;
  /** Damage to a log is permanent while it is in use. */
  #isLogDamaged = false;
  /** The failure that was reported last. */
  #failure: string | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The last record of the trail; 0 when it is not open. */
  get sequence(): number {
    return this.#trail?.row.sequence ?? 0;
  }

  /** Whether the last attempt to read or write the trail failed. */
  get isFailing(): boolean {
    return this.#failure !== null;
  }

  /**
   * Brings the trail up to the mark. Never throws: a failure is reported, and the next call tries
   * again.
   * @returns Whether it succeeded.
   */
  follow(mark: ChainMark): boolean {
    try {
      try {
        this.#follow(mark);
      } catch (error) {
        if (!this.#isDamage(error)) throw error;
        this.#setAside(messageOf(error));
        this.#follow(mark);
      }
      this.#failure = null;
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Reports the same failure once, however often it happens. */
  #fail(error: unknown): void {
    this.#drop();
    const failure = messageOf(error);
    if (failure !== this.#failure) this.#options.onReport({ kind: "failed", failure });
    this.#failure = failure;
  }

  /** Whether the file is damaged, or does not match a log that is itself sound. */
  #isDamage(error: unknown): boolean {
    if (this.#isRebuilt) return false;
    if (error instanceof SqlFault) return error.isDamage;
    if (error instanceof LogCorrupt) return !this.#isProven && this.#isLogSound();
    return error instanceof Malformed || error instanceof Broken;
  }

  /** Whether the log can be read up to the mark. Cost: O(bytes of the log), once. */
  #isLogSound(): boolean {
    if (this.#isLogDamaged) return false;
    const { disk, folder } = this.#options;
    try {
      const [first] = findSegments(disk, folder);
      if (first === undefined) return false;
      const until = this.#mark?.sequence ?? 0;
      readLog({ ...this.#options, start: startOfFirst(first), until, replay: () => {} });
      return true;
    } catch (error) {
      only(error, LogCorrupt);
      this.#isLogDamaged = true;
      return false;
    }
  }

  /**
   * Brings the trail up to the mark before a question is answered.
   * @param mark - null while the log has no record.
   * @returns Why there is no answer; null when the trail has the records.
   */
  prepare(mark: ChainMark | null): AuditGap | null {
    if (mark === null) return AuditGap.NO_EVENT;
    return this.follow(mark) ? null : AuditGap.UNAVAILABLE;
  }

  /** Answers from all records up to the mark. @param mark - As in `prepare`. */
  answer(question: AuditQuestion, mark: ChainMark | null): AuditOutcome<AuditAnswers[AuditTopic]> {
    const gap = this.prepare(mark);
    if (gap !== null) return { gap, extent: null };
    try {
      return this.#trail!.answer(question);
    } catch (error) {
      // A part of the file may be damaged, which is no reason to discard the rest.
      this.#fail(error);
      return { gap: AuditGap.UNAVAILABLE, extent: null };
    }
  }

  close(): void {
    this.#drop();
  }

  #follow(mark: ChainMark): void {
    this.#mark = mark;
    const trail = (this.#trail ??= this.#open());
    const { sequence, mark: own } = trail.row;
    if (sequence > mark.sequence) {
      throw new Malformed(`a trail up to record ${mark.sequence}`, `${sequence}`);
    }
    if (own?.sequence === mark.sequence && Buffer.compare(mark.chain, own.chain) !== 0) {
      throw new Malformed("a trail of this log", "one of another log of that length");
    }
    if (sequence < mark.sequence) {
      this.#follower ??= new LogFollower({
        ...this.#options,
        start: startOfTrail(trail.row),
        replay: (number, timeMs, record) => trail.add(number, timeMs, record, this.#mark!),
      });
      this.#follower.read(mark.sequence);
      this.#isProven = true;
      trail.commit(mark);
    }
    this.#applyRetention(trail);
  }

  #open(): OpenTrail {
    const { disk, folder, storeId, rowsPerCommit } = this.#options;
    const trail = new OpenTrail(`${folder}/${AUDIT_FILE}`, storeId, rowsPerCommit);
    this.opened += 1;
    try {
      const [first] = findSegments(disk, folder);
      if (trail.row.sequence === 0) {
        if (first?.number !== 1) this.#beginWithSnapshot(trail);
        else if (first.firstSequence > 1) {
          const mark = { sequence: first.firstSequence - 1, chain: chainOfStore(storeId) };
          trail.beginWith(new State(), mark, 0);
        }
      }
    } catch (error) {
      trail.close();
      throw error;
    }
    return trail;
  }

  /** The log has lost its beginning, so the trail begins with the oldest snapshot. */
  #beginWithSnapshot(trail: OpenTrail): void {
    const { folder, onReport } = this.#options;
    const { loaded, passedOver } = loadOldest(this.#options);
    if (loaded === null) throw new SnapshotsDamaged(`${folder}/${LOG_FOLDER}`, passedOver);
    const { meta, state } = loaded;
    const start = startOf(meta);
    let timeMs = Date.parse(meta.createdAt);
    const replay = replayAfter(loaded, state);
    readLog({
      ...this.#options,
      replay: (sequence, recordMs, record) => {
        timeMs = Math.max(timeMs, recordMs);
        replay(sequence, recordMs, record);
      },
      start,
      until: start.mark.sequence,
    });
    trail.beginWith(state, start.mark, timeMs);
    onReport({ kind: "incomplete", firstSequence: trail.row.firstSequence });
  }

  #applyRetention(trail: OpenTrail): void {
    const { days, nowMs, onReport } = this.#options;
    if (days === null || nowMs() - this.#retentionMs < RETENTION_EVERY_MS) return;
    this.#retentionMs = nowMs();
    const before = trail.row.firstSequence;
    trail.removeBefore(nowMs() - days * DAY_MS);
    const { firstSequence } = trail.row;
    if (firstSequence > before) onReport({ kind: "expired", firstSequence });
  }

  /** Renames the file, which may have records that the log has lost, and creates an empty one. */
  #setAside(reason: string): void {
    const { disk, folder, onReport } = this.#options;
    this.#drop();
    this.#isRebuilt = true;
    const names = namesIn(disk, folder);
    let count = 1;
    while (names.includes(damagedName(count))) count += 1;
    // The write-ahead log has the last commits, so it keeps its place beside the file.
    for (const suffix of ["", "-wal"]) {
      if (!names.includes(AUDIT_FILE + suffix)) continue;
      disk.renameNow(
        `${folder}/${AUDIT_FILE}${suffix}`,
        `${folder}/${damagedName(count)}${suffix}`,
      );
    }
    if (names.includes(`${AUDIT_FILE}-shm`)) disk.removeNow(`${folder}/${AUDIT_FILE}-shm`);
    makeAuditFile(disk, folder);
    onReport({ kind: "rebuilt", reason });
  }

  #drop(): void {
    const [trail, follower] = [this.#trail, this.#follower];
    this.#trail = null;
    this.#follower = null;
    this.#isProven = false;
    try {
      follower?.close();
    } catch (error) {
      // The segments were only read, so nothing is lost.
      only(error, DiskFault);
    }
    trail?.close();
  }
}

function damagedName(count: number): string {
  return `${AUDIT_FILE}.damaged-${count}`;
}

/** Creates an empty file, so that from now on the log keeps the segments that the trail needs. */
export function makeAuditFile(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(AUDIT_FILE)) return;
  disk.createNow(`${folder}/${AUDIT_FILE}`).closeNow();
  disk.syncFolderNow(folder);
}
