/**
 * What the engine needs from outside. Types only: a clock, and a journal that makes records
 * durable.
 */
import type { LogRecord } from "./records.ts";

export interface Clock {
  /**
   * The service clock: milliseconds since 1970, UTC, whole. It may stand still; the engine never
   * lets a step back reach a record.
   */
  nowMs(): number;
}

/** Whether the journal takes another record now. */
export const Admission = {
  OPEN: 0,
  /** Too much is waiting for the disk: try again shortly. */
  OVERLOADED: 1,
  /** Room for further records cannot be made (for example a full disk): reads go on. */
  UNAVAILABLE: 2,
} as const;
export type Admission = (typeof Admission)[keyof typeof Admission];

/**
 * The log as the engine sees it.
 *
 * Ordering: `append` is called with sequence numbers that rise by one. `durable` is told of them in
 * order, never inside a call of `append`, and only once everything up to that number is on disk. A
 * journal that fails never calls `durable` again: the process ends.
 */
export interface Journal {
  /** To be asked before a mutation is decided, so that nothing is applied that cannot be kept. */
  admission(): Admission;
  /**
   * Encodes the record into the open batch; the record may be reused by the caller afterwards.
   * Cost: O(bytes of the record), usually under 200.
   */
  append(sequence: number, timeMs: number, record: LogRecord): void;
  /** Set once by the engine, before the first `append`. */
  durable: (sequence: number) => void;
}
