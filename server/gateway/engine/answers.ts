/** Writes answers as a link carries them. */
import type { AnswerBuffer } from "../../commands/answer-buffer.ts";
import type { Answer } from "../../wire/answers.ts";
import { ANSWER_BYTES, AnswerKind, FULL_ANSWER_BYTES } from "../link-layout.ts";

/** Status 200 with `true` or `false`. */
export function writeDone(to: AnswerBuffer, number: number, isDone: boolean): void {
  to.reserve(ANSWER_BYTES);
  to.uint32(number);
  to.uint16(200);
  to.uint16(isDone ? AnswerKind.TRUE : AnswerKind.FALSE);
}

/** @param key - The number of the request's key from now on; 0 for none. */
export function writeFull(to: AnswerBuffer, number: number, key: number, answer: Answer): void {
  const { status, type, headers } = answer;
  const head = Buffer.from(JSON.stringify([type, headers]));
  const body = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
  to.reserve(FULL_ANSWER_BYTES + head.length + body.length);
  to.uint32(number);
  to.uint16(status);
  to.uint16(AnswerKind.FULL);
  to.uint16(key);
  to.uint16(head.length);
  to.uint32(body.length);
  for (const part of [head, body]) {
    to.bytes.set(part, to.length);
    to.length += part.length;
  }
}

/** @returns A message that answers nothing. */
export function writeNotice(number: number, value: number, kind: number): Uint8Array {
  const bytes = Buffer.alloc(ANSWER_BYTES);
  bytes.writeUInt32LE(number, 0);
  bytes.writeUInt16LE(value, 4);
  bytes.writeUInt16LE(kind, 6);
  return bytes;
}
