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

/** Whether the journal takes a record. */
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
  /** Whether it takes usual records now: to be asked before a mutation is decided. */
  admission(): Admission;
  /**
   * Encodes the record into the open batch; the record may be reused by the caller afterwards.
   * What is taken is written, come what may, unless the disk fails. So a record for which there is
   * no room is not taken, and nothing of it is kept; room for it is then sought.
   *
   * Some room is left for what comes along in the same turn: the reply that is kept of a request.
   * @param isFollowUp - It is what that room was left for.
   * @returns OPEN when it was taken. Cost: O(bytes of the record), usually under 200.
   */
  append(sequence: number, timeMs: number, record: LogRecord, isFollowUp: boolean): Admission;
  /** Set once by the engine, before the first `append`. */
  durable: (sequence: number) => void;
}
