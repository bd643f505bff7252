/** The binary layout of commands, written from its description in the guide alone. */

const CALLS = ["lock", "unlock", "sale", "revertsale", "directsale", "block", "unblock"];
const KINDS = ["event", "session", "hold type"];

/** A command; handles are numbers opened before, 0 for none. */
export interface BinaryCommand {
  readonly n: number;
  readonly call: string;
  readonly event: number;
  readonly session?: number;
  readonly holdType?: number;
  readonly seats?: readonly number[];
  readonly areas?: readonly (readonly [id: number, capacity: number])[];
  readonly key?: string;
  /** Ids of eight bytes. */
  readonly isLong?: boolean;
}

export function openEntry(kind: string, handle: number, text: string): Buffer {
  const bytes =
    kind === "event" ? Buffer.from(text.replaceAll("-", ""), "hex") : Buffer.from(text, "utf8");
  const head = Buffer.alloc(8);
  head.writeUInt16LE(handle, 0);
  head.writeUInt16LE(bytes.length, 2);
  head.writeUInt8(128 + KINDS.indexOf(kind), 4);
  return padded(head, bytes);
}

export function commandEntry(command: BinaryCommand): Buffer {
  const { seats = [], areas = [], key = "", isLong = false } = command;
  const head = Buffer.alloc(16);
  head.writeUInt32LE(command.n, 0);
  head.writeUInt8(CALLS.indexOf(command.call) + 1, 4);
  head.writeUInt8(Number(isLong), 5);
  head.writeUInt16LE(command.event, 6);
  head.writeUInt16LE(command.session ?? 0, 8);
  head.writeUInt8(command.holdType ?? 0, 10);
  head.writeUInt8(key.length, 11);
  head.writeUInt16LE(seats.length, 12);
  head.writeUInt16LE(areas.length, 14);
  const id = (value: number) => (isLong ? long(value) : word(value));
  const ids = [...seats.map(id), ...areas.flatMap(([area, count]) => [id(area), word(count)])];
  return padded(head, ...ids, Buffer.from(key, "latin1"));
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function long(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function padded(...parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
}

export interface BinaryAnswer {
  readonly n: number;
  readonly status: number;
  /** 0 for false, 1 for true, else the number of the error code. */
  readonly result: number;
  readonly retrySeconds: number;
  readonly errors: readonly (readonly [field: number, reason: number, position: number])[];
}

export function readAnswers(message: Buffer): BinaryAnswer[] {
  const answers: BinaryAnswer[] = [];
  let at = 0;
  while (at < message.length) {
    const n = message.readUInt32LE(at);
    const status = message.readUInt16LE(at + 4);
    const result = message.readUInt16LE(at + 6);
    at += 8;
    let retrySeconds = 0;
    const errors: [number, number, number][] = [];
    if (status >= 400) {
      retrySeconds = message.readUInt16LE(at);
      const count = message.readUInt16LE(at + 2);
      at += 4;
      for (let i = 0; i < count; i++, at += 4) {
        errors.push([message[at]!, message[at + 1]!, message.readUInt16LE(at + 2)]);
      }
    }
    answers.push({ n, status, result, retrySeconds, errors });
  }
  return answers;
}
