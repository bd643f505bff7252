/**
 * What can go wrong with the store, as typed errors. Each carries one clear line that names the
 * cause and the way out, and the exit code (sysexits) of a process that ends because of it.
 */

/** Exit codes, after sysexits. */
export const ExitCode = {
  /** The log failed while running: what memory holds can no longer be kept. */
  SOFTWARE: 70,
  CANNOT_CREATE: 73,
  DISK: 74,
  /** Somebody else has it now: trying again later may work. */
  TEMPORARY: 75,
  /** Damaged or wrong data: starting again does not help. */
  CONFIGURATION: 78,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Everything that persistence throws on purpose; a failed `assert` is not among them. */
export abstract class StoreFault extends Error {
  abstract readonly exitCode: ExitCode;
}

/** What an operator can do, by the code of the operating system, or ours for a part done. */
const HINTS: Readonly<Record<string, string>> = {
  EACCES: "give this user the right to read and write there",
  EDQUOT: "raise the quota or free some space",
  EFBIG: "raise the limit on the size of files",
  EIO: "the device reports errors: check it before starting again",
  EMFILE: "raise the limit on open files",
  ENOENT: "put back what is missing",
  ENOSPC: "free some space on this disk",
  ENOTDIR: "name a folder, not a file",
  EPERM: "give this user the right to read and write there",
  EROFS: "mount the file system writable",
  SHORT: "free some space on this disk",
  TRUNCATED: "the file became shorter while it was read",
};

/** The environment failed: an operation of the disk did not do what was asked. */
export class DiskFault extends StoreFault {
  override readonly name = "DiskFault";
  readonly exitCode: ExitCode;
  readonly operation: string;
  readonly path: string;
  /** Code of the operating system, such as "ENOSPC". */
  readonly code: string;
  /** What the operator can do. */
  readonly hint: string;

  constructor(operation: string, path: string, code: string, cause?: unknown) {
    const hint = HINTS[code] ?? "see the code of the operating system";
    super(`cannot ${operation} ${path}: ${code}; ${hint}`, { cause });
    // Somebody named a file where a folder is wanted: the disk is well.
    this.exitCode = code === "ENOTDIR" ? ExitCode.CONFIGURATION : ExitCode.DISK;
    this.operation = operation;
    this.path = path;
    this.code = code;
    this.hint = hint;
  }
}

/**
 * A write or sync of the log failed while running. Never retried: after a failed sync the kernel
 * may report success for data that it has dropped. Starting again recovers all that was
 * acknowledged.
 */
export class LogFailed extends StoreFault {
  override readonly name = "LogFailed";
  readonly exitCode = ExitCode.SOFTWARE;
  override readonly cause: DiskFault;

  constructor(cause: DiskFault) {
    super(`the log failed: ${cause.message}; then start again: all acknowledged is kept`);
    this.cause = cause;
  }
}

/** Bytes that are not what the format asks for. Becomes a `LogCorrupt` where the place is known. */
export class Malformed extends Error {
  override readonly name = "Malformed";
  readonly expected: string;
  readonly found: string;

  constructor(expected: string, found: string) {
    super(`expected ${expected}, found ${found}`);
    this.expected = expected;
    this.found = found;
  }
}

type Kind = abstract new (...given: never[]) => Error;

/**
 * For a `catch` that has an answer to some errors only.
 * @throws The error itself when it is of no such kind.
 */
export function only<Kinds extends readonly Kind[]>(
  error: unknown,
  ...kinds: Kinds
): asserts error is InstanceType<Kinds[number]> {
  if (!kinds.some((kind) => error instanceof kind)) throw error;
}

/** What an error says; whatever else was thrown, as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For damage that no start can mend. */
const WAYS_OUT =
  "restore a backup; `frontrow verify` lists what is damaged, `frontrow repair` saves the rest";

/** Acknowledged data is damaged. Nothing on disk was changed. */
export class LogCorrupt extends StoreFault {
  override readonly name = "LogCorrupt";
  readonly exitCode = ExitCode.CONFIGURATION;
  /** Path of the segment. */
  readonly segment: string;
  /** Byte offset in the segment. */
  readonly offset: number;
  readonly expected: string;
  readonly found: string;

  constructor(segment: string, offset: number, expected: string, found: string) {
    super(
      `the log is damaged: ${segment} at byte ${offset}: expected ${expected}, found ${found}; ` +
        `nothing was changed: put the undamaged file back from a copy, or ${WAYS_OUT}`,
    );
    this.segment = segment;
    this.offset = offset;
    this.expected = expected;
    this.found = found;
  }
}

/** No snapshot is good, and the log begins behind them. Nothing on disk was changed. */
export class SnapshotsDamaged extends StoreFault {
  override readonly name = "SnapshotsDamaged";
  readonly exitCode = ExitCode.CONFIGURATION;

  /** @param reasons - What is wrong with each snapshot; empty when there is none. */
  constructor(folder: string, reasons: readonly string[]) {
    const found = reasons.length === 0 ? "there is no snapshot" : reasons.join("; ");
    super(
      `the beginning of the log in ${folder} is gone and no snapshot holds it: ${found}; ` +
        `nothing was changed: put a snapshot back from a copy, or ${WAYS_OUT}`,
    );
  }
}

/** The data folder cannot be used by this process. Nothing on disk was changed. */
export class FolderRefused extends StoreFault {
  override readonly name = "FolderRefused";
  readonly exitCode: ExitCode;
  readonly folder: string;

  /** @param reason - The cause and the way out, in words that follow the folder's name. */
  constructor(folder: string, reason: string, exitCode: ExitCode, cause?: unknown) {
    super(`cannot use the data folder ${folder}: ${reason}`, { cause });
    this.folder = folder;
    this.exitCode = exitCode;
  }
}
