/** Reads the entries of a frame; `entryBytes` has made sure that they are whole. */
import { CALLS, type Command } from "../../commands/command.ts";
import type { RecentTexts } from "../../commands/recent-texts.ts";
import { parseJson } from "../../wire/json.ts";
import { EVENT_ID_BYTES, Flag, HEAD_BYTES, type RequestHeadText } from "../link-layout.ts";
import { LinkRequest } from "./request.ts";

const WORD = 2 ** 32;
const EVENT_ID_AT = 8;

interface Into {
  readonly command: Command;
  /** Sessions repeat: a text that was read before is the same object. */
  readonly texts: RecentTexts;
}

/** Reads a booking call, except for its event. */
export function readCall(
  view: DataView,
  bytes: Buffer,
  at: number,
  { command, texts }: Into,
): void {
  command.clear();
  command.call = CALLS[view.getUint8(at + 4) - 1]!;
  command.isUsual = true;
  const flags = view.getUint8(at + 5);
  const isLong = (flags & Flag.LONG_IDS) !== 0;
  const idBytes = isLong ? 8 : 4;
  const [seats, areas] = [view.getUint16(at + 10, true), view.getUint16(at + 12, true)];
  let next = at + HEAD_BYTES;
  for (let i = 0; i < seats; i++, next += idBytes) {
    const choice = command.seats.add();
    choice.id = idAt(view, next, isLong);
    choice.capacity = null;
  }
  for (let i = 0; i < areas; i++, next += idBytes + 4) {
    const choice = command.areas.add();
    choice.id = idAt(view, next, isLong);
    choice.capacity = view.getUint32(next + idBytes, true);
  }
  const session = next + view.getUint8(at + 16);
  const holdType = session + view.getUint8(at + 15);
  const key = holdType + view.getUint8(at + 14);
  if ((flags & Flag.HAS_SESSION) !== 0) command.body.sessionId = texts.find(bytes, next, session);
  if ((flags & Flag.HAS_HOLD_TYPE) !== 0) {
    command.body.holdType = texts.find(bytes, session, holdType);
  }
  if (key > holdType) command.idempotencyKey = bytes.toString("latin1", holdType, key);
}

function idAt(view: DataView, at: number, isLong: boolean): number {
  const low = view.getUint32(at, true);
  return isLong ? view.getUint32(at + 4, true) * WORD + low : low;
}

export function readEvent(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at + EVENT_ID_AT, at + EVENT_ID_AT + EVENT_ID_BYTES);
}

/** @returns Null when its head is not JSON. */
export function readRequest(view: DataView, bytes: Buffer, at: number): LinkRequest | null {
  const start = at + HEAD_BYTES;
  const body = start + view.getUint32(at + 8, true);
  const end = body + view.getUint32(at + 12, true);
  const head = parseJson(bytes.subarray(start, body));
  if (!head.ok) return null;
  return new LinkRequest(head.value as RequestHeadText, bytes.subarray(body, end));
}
