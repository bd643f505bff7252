/**
 * The interfaces of the engine's surroundings: a clock, a journal for durable records, and an
 * optional observer of the records.
 */
import type { LogRecord } from "./records.ts";

export interface Clock {
  /**
   * The service clock: whole milliseconds since 1970, UTC. It may stand still. The engine never
   * lets a backward step reach a record.
   */
  nowMs(): number;
}

/** The readiness of the journal for a record. */
export const Admission = {
  OPEN: 0,
  /** Too much is waiting for the disk: try again shortly. */
  OVERLOADED: 1,
  /** The log cannot grow, for example because the disk is full: reads continue. */
  UNAVAILABLE: 2,
} as const;
export type Admission = (typeof Admission)[keyof typeof Admission];

/** Why the journal never accepts a record: it is longer than the log can keep. */
export interface TooLong {
  readonly recordBytes: number;
  readonly recordBytesMax: number;
}

/** The part of the log's free space for a record. */
export const LogSpace = {
  /** All but the reserve. */
  GENERAL: 0,
  /** Including the reserve: for the completion of a command granted in the same turn. */
  RESERVE: 1,
} as const;
export type LogSpace = (typeof LogSpace)[keyof typeof LogSpace];

/**
 * The log as the engine sees it.
 *
 * Admission: the engine asks `admission` once, before it decides a command. After that, `append`
 * judges only whether the log can keep the record and has space for it.
 *
 * Ordering: `append` is called with sequence numbers that rise by one. `durable` is called with
 * rising sequence numbers, never during `append`, and only once every record up to that number is
 * on disk. A journal that fails never calls `durable` again: the process ends.
 */
export interface Journal {
  /** The readiness of the journal for commands now. */
  admission(): Admission;
  /**
   * Encodes the record into the open batch; the caller may reuse the record afterwards. An accepted
   * record is written unless the disk fails. A refused record has no effect, but the journal starts
   * to make space for it unless it is too long.
   *
   * @param timeMs - Milliseconds since 1970.
   * @returns OPEN for an accepted record. Cost: O(bytes of the record), usually under 200.
   */
  append(sequence: number, timeMs: number, record: LogRecord, space: LogSpace): Admission | TooLong;
  /**
   * As `append`, for several records of one command: all of them, in one frame, or none. The first
   * has the number `sequence`.
   */
  appendAll(
    sequence: number,
    timeMs: number,
    records: readonly LogRecord[],
    space: LogSpace,
  ): Admission | TooLong;
  /** Set once by the engine, before the first `append`. */
  durable: (sequence: number) => void;
}

/** Follows the records without taking part in them. It must not change the state. */
export interface Observer {
  /** The journal accepted the record; the state is still as before it. */
  beforeApply(sequence: number, timeMs: number, record: LogRecord): void;
  /** Every record up to `sequence` is on disk. Called before the waiting answers. */
  durable(sequence: number): void;
}

export interface EnginePorts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly observer?: Observer | undefined;
  /**
   * Calls back in order, once it is certain: at the time of the call nobody else could change the
   * store. Absent when always certain.
   */
  readonly confirm?: ((done: () => void) => void) | undefined;
}

/** The content of an admission token. */
export interface AdmissionToken {
  /** The event. */
  readonly aud: string;
  readonly entry: Uint8Array;
  readonly place: number;
  /** Seconds since 1970. */
  readonly exp: number;
  /** True when the key of the door signed it. */
  readonly isSigned: boolean;
}

/** Keys and tokens of a door, derived outside of the engine from its secret. */
export interface DoorKeys {
  /** 32 bytes. */
  seedOf(doorId: number): Uint8Array;
  /** SHA-256 of the seed, in hexadecimal. */
  commitmentOf(doorId: number): string;
  /** @returns Null for a text that is no token. */
  read(token: string, doorId: number): AdmissionToken | null;
}

/** Without a secret there are no doors, and no token is valid. */
export const NO_DOOR_KEYS: DoorKeys = {
  seedOf: () => new Uint8Array(0),
  commitmentOf: () => "",
  read: () => null,
};
