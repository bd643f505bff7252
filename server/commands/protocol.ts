/** What the two subprotocols have in common: they read frames of commands and write answers. */
import type { Answer, Problem } from "../wire/answers.ts";
import type { AnswerBuffer } from "./answer-buffer.ts";
import type { Command } from "./command.ts";
import type { Handles } from "./handles.ts";

export interface Protocol {
  readonly name: string;
  /** Whether frames and answers are binary messages. */
  readonly isBinary: boolean;
  /** Bytes at the start of a buffer that are not used by the first answer. */
  readonly headBytes: number;
  /**
   * The number of commands in a frame.
   *
   * @returns UNREADABLE only for a frame that `readFrame` cannot read either.
   */
  count(frame: ArrayBuffer): number;
  /**
   * Reads a whole frame, and opens its handles.
   *
   * @param commands - Filled in order; commands beyond its length are counted, and not kept.
   * @returns The number of commands, or UNREADABLE or NO_MEMORY.
   */
  readFrame(frame: ArrayBuffer, handles: Handles, commands: readonly Command[]): number;
  /** Status 200 with `true` or `false`. */
  writeDone(to: AnswerBuffer, number: number, isDone: boolean): void;
  writeProblem(to: AnswerBuffer, number: number, refused: Refused): number;
  /** An answer of the general way, which may be stored. */
  writeAnswer(to: AnswerBuffer, number: number, answer: Answer): void;
  /** The bytes before `end`, as a message. */
  messageOf(buffer: AnswerBuffer, end: number): Uint8Array;
}

/** A problem with what its document needs. */
export interface Refused {
  readonly problem: Problem;
  readonly path: string;
  readonly timeMs: number;
}
