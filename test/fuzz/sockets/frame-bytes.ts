/** The bytes of messages on WebSockets, in both directions. */
import {
  type BinaryCommand,
  commandEntry,
  openEntry,
  readAnswers,
} from "../../support/commands/binary-layout.ts";
import { RESULT_CODES } from "../../../server/commands/binary-protocol.ts";
import type { Frame } from "../recipe.ts";
import { jsonOf, type Pools } from "../values.ts";
import { damagedBytes } from "../wire.ts";

const FINAL = 0x80;
const MASKED = 0x80;
const [TEXT, BINARY, CLOSE, PING] = [1, 2, 8, 9];
/** Of a head: the length follows in two bytes, or in eight. */
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];
const NOBODY = "00000000-0000-4000-8000-00000000dead";
/** The number of the last command; no other has it. */
const LAST = 0xfffffffe;
const LAST_HANDLE = 65_535;

type Entry =
  | { readonly opens: string; readonly handle: number; readonly text: string | number }
  | BinaryCommand;

/** The bytes on the wire, as a client sends them. */
export function frameBytes({ form, value, damages }: Frame, pools: Pools): Buffer {
  const text = jsonOf(value, pools);
  let bytes = form === "json" ? Buffer.from(text) : entriesOf(JSON.parse(text) as Entry[]);
  for (const damage of damages) bytes = damagedBytes(bytes, damage);
  return masked(form === "json" ? TEXT : BINARY, bytes);
}

function entriesOf(entries: readonly Entry[]): Buffer {
  return Buffer.concat(
    entries.map((entry) =>
      "opens" in entry
        ? openEntry(entry.opens, entry.handle, String(entry.text))
        : commandEntry(entry),
    ),
  );
}

/** With a mask of zeros. */
function masked(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(14);
  head.writeUInt16BE(((FINAL | opcode) << 8) | MASKED | EIGHT_BYTES);
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

/** A command that is refused. Its answer comes last. */
export function lastCommand(isBinary: boolean): Buffer {
  const command = { n: LAST, call: "unlock", seats: [1] };
  if (!isBinary) {
    const { seats, ...rest } = command;
    const json = [{ ...rest, eventId: NOBODY, seats: seats.map((id) => ({ id })) }];
    return masked(TEXT, Buffer.from(JSON.stringify(json)));
  }
  const opens = openEntry("event", LAST_HANDLE, NOBODY);
  return masked(BINARY, Buffer.concat([opens, commandEntry({ ...command, event: LAST_HANDLE })]));
}

/** A ping is answered whatever is spoken, and may have no more than 125 bytes. */
export function ping(): Buffer {
  return Buffer.from([FINAL | PING, MASKED, 0, 0, 0, 0]);
}

/** An answer to a command. */
interface Answered {
  readonly status: number;
  /** As JSON. It names the error. */
  readonly body: string;
}

export interface Spoken {
  /** Without that to the last command. */
  readonly answers: readonly Answered[];
  /** The last command was answered. */
  readonly hasLast: boolean;
  readonly hasPong: boolean;
  readonly isClosed: boolean;
}

/** @param text - What a server sent after the handshake, as Latin-1. */
export function readSpoken(text: string, hasCommands: boolean): Spoken {
  const answers: Answered[] = [];
  let [hasLast, hasPong, isClosed] = [false, false, false];
  for (const { opcode, payload } of messagesIn(Buffer.from(text, "latin1"))) {
    if (opcode === CLOSE) isClosed = true;
    else if (opcode > CLOSE) hasPong = true;
    else if (hasCommands) {
      for (const { n, status, body } of answersIn(opcode, payload)) {
        if (n === LAST) hasLast = true;
        else answers.push({ status, body: JSON.stringify(body ?? null) });
      }
    }
  }
  return { answers, hasLast, hasPong, isClosed };
}

interface Numbered {
  readonly n: number;
  readonly status: number;
  readonly body?: unknown;
}

function answersIn(opcode: number, payload: Buffer): readonly Numbered[] {
  if (opcode === BINARY) {
    return readAnswers(payload).map(({ n, status, result }) => {
      return { n, status, body: RESULT_CODES[result] };
    });
  }
  const said = JSON.parse(payload.toString()) as Numbered[];
  // The credit is no list.
  return Array.isArray(said) ? said : [];
}

function messagesIn(bytes: Buffer): { readonly opcode: number; readonly payload: Buffer }[] {
  const messages = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    const opcode = bytes[at]! & 15;
    let length = bytes[at + 1]!;
    const wide = length === TWO_BYTES ? 2 : length === EIGHT_BYTES ? 8 : 0;
    const start = at + 2 + wide;
    if (start > bytes.length) break;
    if (wide > 0) length = bytes.readUIntBE(start - Math.min(wide, 6), Math.min(wide, 6));
    if (start + length > bytes.length) break;
    messages.push({ opcode, payload: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return messages;
}
