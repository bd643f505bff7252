/**
 * The faults of a store as typed errors. Each has a message of one line with the cause and
 * the remedy, and the exit code of the process.
 */

/** Exit codes as in sysexits.h. */
export const ExitCode = {
  /** The log failed while the process was running, so no further change can be stored. */
  SOFTWARE: 70,
  CANNOT_CREATE: 73,
  DISK: 74,
  /** Another process uses the folder: trying again later may work. */
  TEMPORARY: 75,
  /** Another host of the cluster leads: after a restart this one follows it. */
  LEADERSHIP_LOST: 76,
  /** Damaged or wrong data: a restart does not help. */
  CONFIGURATION: 78,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Every error thrown by persistence on purpose. A failed `assert` is not one of them. */
export abstract class StoreFault extends Error {
  abstract readonly exitCode: ExitCode;
}

/** Remedies by error code: of the operating system, or SHORT and TRUNCATED for our own. */
const HINTS: Readonly<Record<string, string>> = {
  EACCES: "give this user the right to read and write there",
  EDQUOT: "raise the quota or free some space",
  EFBIG: "raise the limit on the size of files",
  EIO: "the device reports errors: check it before starting again",
  EMFILE: "raise the limit on open files",
  ENOENT: "restore the missing file or folder",
  ENOSPC: "free some space on this disk",
  ENOTDIR: "name a folder, not a file",
  EPERM: "give this user the right to read and write there",
  EROFS: "mount the file system writable",
  SHORT: "free some space on this disk",
  TRUNCATED: "the file became shorter while it was read",
};

interface DiskFaultDetails {
  readonly cause?: unknown;
  /** In place of the usual one of the code. */
  readonly remedy?: string;
}

/** An operation of the disk failed. */
export class DiskFault extends StoreFault {
  override readonly name = "DiskFault";
  readonly exitCode: ExitCode;
  /** In words that follow "cannot". */
  readonly operation: string;
  readonly path: string;
  /** Code of the operating system, such as "ENOSPC"; SHORT and TRUNCATED are our own. */
  readonly code: string;

  constructor(
    operation: string,
    path: string,
    code: string,
    { cause, remedy }: DiskFaultDetails = {},
  ) {
    const hint = remedy ?? HINTS[code] ?? "see the error codes of the operating system";
    super(`cannot ${operation} ${path}: ${code}; ${hint}`, { cause });
    // A file was named in place of a folder: nothing is wrong with the disk.
    this.exitCode = code === "ENOTDIR" ? ExitCode.CONFIGURATION : ExitCode.DISK;
    this.operation = operation;
    this.path = path;
    this.code = code;
  }
}

/**
 * A write or sync of the log failed while the process was running. It is never retried: after a
 * failed sync the kernel may report success for dropped data. A restart recovers
 * everything acknowledged.
 */
export class LogFailed extends StoreFault {
  override readonly name = "LogFailed";
  readonly exitCode = ExitCode.SOFTWARE;
  override readonly cause: DiskFault;

  constructor(cause: DiskFault) {
    super(`the log failed: ${cause.message}; then restart: everything acknowledged is kept`);
    this.cause = cause;
  }
}

/** Bytes violating their format. Becomes a `LogCorrupt` where the position is known. */
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
 * For a `catch` of some kinds of errors only.
 * @throws The error itself when it is of none of the kinds.
 */
export function only<Kinds extends readonly Kind[]>(
  error: unknown,
  ...kinds: Kinds
): asserts error is InstanceType<Kinds[number]> {
  if (!kinds.some((kind) => error instanceof kind)) throw error;
}

/** The message of an error; anything else thrown, as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For damage surviving a restart. */
const REMEDIES =
  "restore a backup; `frontrow verify` lists all damage, `frontrow repair` saves the rest";

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
        `nothing was changed: put the undamaged file back from a copy, or ${REMEDIES}`,
    );
    this.segment = segment;
    this.offset = offset;
    this.expected = expected;
    this.found = found;
  }
}

/** The log has lost its beginning, and no snapshot is intact. Nothing on disk was changed. */
export class SnapshotsDamaged extends StoreFault {
  override readonly name = "SnapshotsDamaged";
  readonly exitCode = ExitCode.CONFIGURATION;

  /** @param reasons - Why each snapshot cannot be used; empty when there is none. */
  constructor(folder: string, reasons: readonly string[]) {
    const found = reasons.length === 0 ? "there is no snapshot" : reasons.join("; ");
    super(
      `the beginning of the log in ${folder} is gone and no snapshot covers it: ${found}; ` +
        `nothing was changed: put a snapshot back from a copy, or ${REMEDIES}`,
    );
  }
}

/** The data folder cannot be used by this process. Nothing on disk was changed. */
export class FolderRefused extends StoreFault {
  override readonly name = "FolderRefused";
  readonly exitCode: ExitCode;

  /** @param reason - The cause and the remedy, in words that follow "<folder>:". */
  constructor(folder: string, reason: string, exitCode: ExitCode, cause?: unknown) {
    super(`cannot use the data folder ${folder}: ${reason}`, { cause });
    this.exitCode = exitCode;
  }
}
