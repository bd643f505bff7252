/**
 * Keeps the audit trail beside the log: reads what became durable, begins anew from what there is
 * when the file is missing or damaged, forgets what is too old. Used by one thread; knows none.
 */
import { Broken } from "../../engine/assert.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../engine/queries/audit-trail.ts";
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
import { LOG_FOLDER } from "../log/segment-header.ts";
import { findSnapshots, SNAPSHOT_FOLDER, startOf } from "../snapshot/file.ts";
import { type LoadedSnapshot, loadSnapshot, tryLoad } from "../snapshot/load.ts";
import { replayAfter } from "../snapshot/replay-after.ts";
import { AUDIT_FILE, startOfTrail } from "./file.ts";
import { AuditBook } from "./trail.ts";

const DAY_MS = 86_400_000;
/** How often it looks for what is too old. */
const FORGET_EVERY_MS = 3_600_000;

/** What people are to know. */
export type AuditReport =
  /** The file could not be used and has another name now; it is made anew. */
  | { readonly kind: "anew"; readonly reason: string }
  /** The log had lost its beginning, so the trail begins with a snapshot, not with the store. */
  | { readonly kind: "late"; readonly firstSequence: number }
  /** What was before is too old and has gone. */
  | { readonly kind: "forgot"; readonly firstSequence: number }
  /** It is tried again until it can be done; the log keeps what the trail lacks. */
  | { readonly kind: "failed"; readonly failure: string };

export interface KeeperOptions {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  readonly nowMs: () => number;
  readonly onReport: (report: AuditReport) => void;
  /** As `AuditBook` has it when it is not given. */
  readonly rowsPerCommit?: number | undefined;
}

export class AuditKeeper {
  readonly #options: KeeperOptions;
  #book: AuditBook | null = null;
  #follower: LogFollower | null = null;
  #mark: ChainMark | null = null;
  #forgottenMs = -Infinity;
  /** The follower has proven that trail and log belong together. */
  #isProven = false;
  /** A trail that does not fit twice is not the file's fault. */
  #isAnew = false;
  /** A log does not mend while it is in use. */
  #isLogDamaged = false;
  /** What was told last. */
  #failure: string | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The last record of the trail; 0 when it is not open. */
  get sequence(): number {
    return this.#book?.trail.sequence ?? 0;
  }

  /** It could not be read or written at the last try. */
  get isFailing(): boolean {
    return this.#failure !== null;
  }

  /**
   * Brings the trail up to the mark. Never throws: what cannot be done is reported, and tried again
   * at the next call.
   * @returns Whether the trail is there.
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

  /** Told once, however often it is tried. */
  #fail(error: unknown): void {
    this.#drop();
    const failure = messageOf(error);
    if (failure !== this.#failure) this.#options.onReport({ kind: "failed", failure });
    this.#failure = failure;
  }

  /** That the file is broken, or does not fit to a log that is sound by itself. */
  #isDamage(error: unknown): boolean {
    if (this.#isAnew) return false;
    if (error instanceof SqlFault) return error.isDamage;
    if (error instanceof LogCorrupt) return !this.#isProven && this.#isLogSound();
    return error instanceof Malformed || error instanceof Broken;
  }

  /** Whether the log by itself can be read to the mark. Cost: O(bytes of the log), once. */
  #isLogSound(): boolean {
    if (this.#isLogDamaged) return false;
    const { disk, folder, storeId } = this.#options;
    const log = `${folder}/${LOG_FOLDER}`;
    try {
      const [first] = findSegments(log, namesIn(disk, log));
      if (first === undefined) return false;
      const start = startOfFirst(first);
      const until = this.#mark?.sequence ?? 0;
      readLog({ disk, folder: log, storeId, start, until, replay: () => {} });
      return true;
    } catch (error) {
      only(error, LogCorrupt);
      this.#isLogDamaged = true;
      return false;
    }
  }

  /** From all that the mark covers. @param mark - null while the log has no record. */
  answer(question: AuditQuestion, mark: ChainMark | null): AuditOutcome<AuditAnswers[AuditTopic]> {
    if (mark === null) return { gap: AuditGap.NO_EVENT, extent: null };
    if (!this.follow(mark)) return { gap: AuditGap.UNAVAILABLE, extent: null };
    try {
      return this.#book!.answer(question);
    } catch (error) {
      // Perhaps a part of it is damaged: what is left of it is not thrown away for that.
      this.#fail(error);
      return { gap: AuditGap.UNAVAILABLE, extent: null };
    }
  }

  close(): void {
    this.#drop();
  }

  #follow(mark: ChainMark): void {
    this.#mark = mark;
    const book = (this.#book ??= this.#open());
    if (book.trail.sequence > mark.sequence) {
      throw new Malformed(`a trail up to record ${mark.sequence}`, `${book.trail.sequence}`);
    }
    const { mark: own } = book.trail;
    if (own?.sequence === mark.sequence && Buffer.compare(mark.chain, own.chain) !== 0) {
      throw new Malformed("a trail of this log", "one of another log of that length");
    }
    if (book.trail.sequence < mark.sequence) {
      this.#follower ??= this.#openFollower(book);
      this.#follower.read(mark.sequence);
      this.#isProven = true;
      book.keep(mark);
    }
    this.#forget(book);
  }

  #openFollower(book: AuditBook): LogFollower {
    const { disk, folder, storeId } = this.#options;
    return new LogFollower({
      disk,
      folder: `${folder}/${LOG_FOLDER}`,
      storeId,
      start: startOfTrail(book.trail),
      replay: (sequence, timeMs, record) => book.take(sequence, timeMs, record, this.#mark!),
    });
  }

  #open(): AuditBook {
    const { folder, storeId, rowsPerCommit } = this.#options;
    const book = new AuditBook(`${folder}/${AUDIT_FILE}`, storeId, rowsPerCommit);
    try {
      if (book.trail.sequence === 0 && !this.#hasWholeLog()) this.#beginLate(book);
    } catch (error) {
      book.close();
      throw error;
    }
    return book;
  }

  #hasWholeLog(): boolean {
    const { disk, folder } = this.#options;
    const log = `${folder}/${LOG_FOLDER}`;
    const [first] = findSegments(log, namesIn(disk, log));
    return first?.number === 1;
  }

  /** The beginning of the log is gone: the trail begins with the oldest snapshot. */
  #beginLate(book: AuditBook): void {
    const { disk, folder, storeId, onReport } = this.#options;
    const { meta, state, sequences } = this.#oldestSnapshot();
    const start = startOf(meta);
    let timeMs = Date.parse(meta.createdAt);
    const replay = replayAfter({ sequences }, state);
    readLog({
      disk,
      folder: `${folder}/${LOG_FOLDER}`,
      storeId,
      replay: (sequence, recordMs, record) => {
        timeMs = Math.max(timeMs, recordMs);
        replay(sequence, recordMs, record);
      },
      start,
      until: start.mark.sequence,
    });
    book.beginWith(state, start.mark, timeMs);
    onReport({ kind: "late", firstSequence: book.trail.firstSequence });
  }

  #oldestSnapshot(): Omit<LoadedSnapshot, "name"> {
    const { disk, folder, storeId } = this.#options;
    const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
    const reasons: string[] = [];
    for (const name of findSnapshots(namesIn(disk, snapshots)).toReversed()) {
      const path = `${snapshots}/${name}`;
      const loaded = tryLoad(path, () => loadSnapshot(path, storeId));
      if (!("expected" in loaded)) return loaded;
      reasons.push(`${path}: expected ${loaded.expected}, got ${loaded.found}`);
    }
    throw new SnapshotsDamaged(`${folder}/${LOG_FOLDER}`, reasons);
  }

  #forget(book: AuditBook): void {
    const { days, nowMs, onReport } = this.#options;
    if (days === null || nowMs() - this.#forgottenMs < FORGET_EVERY_MS) return;
    this.#forgottenMs = nowMs();
    const before = book.trail.firstSequence;
    book.forget(nowMs() - days * DAY_MS);
    const { firstSequence } = book.trail;
    if (firstSequence > before) onReport({ kind: "forgot", firstSequence });
  }

  /** Keeps the file for people under another name. */
  #setAside(reason: string): void {
    const { disk, folder, onReport } = this.#options;
    this.#drop();
    this.#isAnew = true;
    const names = namesIn(disk, folder);
    let count = 1;
    while (names.includes(damagedName(count))) count += 1;
    // With its write-ahead log, which holds what was committed last.
    for (const suffix of ["", "-wal"]) {
      if (!names.includes(AUDIT_FILE + suffix)) continue;
      disk.renameNow(
        `${folder}/${AUDIT_FILE}${suffix}`,
        `${folder}/${damagedName(count)}${suffix}`,
      );
    }
    if (names.includes(`${AUDIT_FILE}-shm`)) disk.removeNow(`${folder}/${AUDIT_FILE}-shm`);
    makeAuditFile(disk, folder);
    onReport({ kind: "anew", reason });
  }

  #drop(): void {
    const [book, follower] = [this.#book, this.#follower];
    this.#book = null;
    this.#follower = null;
    this.#isProven = false;
    try {
      follower?.close();
    } catch (error) {
      // Of what was only read nothing can be lost.
      only(error, DiskFault);
    }
    book?.close();
  }
}

/** None is ever lost: it may hold what the log no longer does. */
function damagedName(count: number): string {
  return `${AUDIT_FILE}.damaged-${count}`;
}

/** Makes an empty file, so that from now on no part of the log goes that the trail needs. */
export function makeAuditFile(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(AUDIT_FILE)) return;
  disk.createNow(`${folder}/${AUDIT_FILE}`).closeNow();
  disk.syncFolderNow(folder);
}
