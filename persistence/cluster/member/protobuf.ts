/**
 * Protocol Buffers (https://protobuf.dev/programming-guides/encoding/) for messages that are
 * described by tables. It has only what the messages of etcd need: no packed lists, no maps.
 */
import { Malformed } from "../../disk/faults.ts";

/** What the scalar types are in this program. */
interface Scalars {
  /** Also an enumeration. Beyond 2^53 it is refused. */
  readonly int64: number;
  /** Any 64 bits, without a sign. */
  readonly id: bigint;
  readonly bool: boolean;
  /** Also bytes that are known to be text in UTF-8. */
  readonly string: string;
  /** Decoded, it is a view of the message. */
  readonly bytes: Uint8Array;
}

type FieldType = keyof Scalars | Message;

interface Field {
  readonly number: number;
  readonly type: FieldType;
  readonly isRepeated?: true;
}

/** The fields of a message by name. Fields that are not listed are skipped. */
export interface Message {
  readonly [name: string]: Field;
}

type Repeated<F extends Field, One> = F extends { readonly isRepeated: true }
  ? readonly One[]
  : One;

/** A field that is absent has the value 0, "", false, no bytes, or a message without fields. */
export type Decoded<M extends Message> = {
  readonly [Name in keyof M]: Repeated<M[Name], DecodedOne<M[Name]["type"]>>;
};
type DecodedOne<Type extends FieldType> = Type extends keyof Scalars
  ? Scalars[Type]
  : Type extends Message
    ? Decoded<Type>
    : never;

/** A field that is undefined is left out. */
export type Encodable<M extends Message> = {
  readonly [Name in keyof M]?: Repeated<M[Name], EncodableOne<M[Name]["type"]>> | undefined;
};
type EncodableOne<Type extends FieldType> = Type extends keyof Scalars
  ? Scalars[Type]
  : Type extends Message
    ? Encodable<Type>
    : never;

const WireType = { VARINT: 0, EIGHT_BYTES: 1, BYTES: 2, FOUR_BYTES: 5 } as const;
const VARINT_BITS_MAX = 64;

/** @returns The bytes in parts. The values of type `bytes` are not copied. */
export function encode<M extends Message>(message: M, value: Encodable<M>): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (const [name, { number, type, isRepeated }] of Object.entries(message)) {
    const given: unknown = value[name];
    if (given === undefined) continue;
    const all = isRepeated === true ? (given as readonly unknown[]) : [given];
    for (const one of all) encodeField(number, type, one, parts);
  }
  return parts;
}

function encodeField(number: number, type: FieldType, value: unknown, parts: Uint8Array[]): void {
  if (type === "int64" || type === "id" || type === "bool") {
    const bits = BigInt(value as Scalars[typeof type]);
    parts.push(Buffer.from([...varint(tag(number, WireType.VARINT)), ...varint(bits)]));
    return;
  }
  const within =
    typeof type === "object"
      ? encode(type, value as Encodable<typeof type>)
      : [type === "string" ? Buffer.from(value as string, "utf8") : (value as Uint8Array)];
  const length = within.reduce((sum, { length: bytes }) => sum + bytes, 0);
  const head = [...varint(tag(number, WireType.BYTES)), ...varint(BigInt(length))];
  parts.push(Buffer.from(head), ...within);
}

function tag(number: number, wireType: number): bigint {
  return BigInt(number * 8 + wireType);
}

/** Seven bits in each byte, the lowest ones first; the eighth bit says that more follow. */
function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(VARINT_BITS_MAX, value);
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}

/** @throws Malformed when the bytes are not such a message. */
export function decode<M extends Message>(message: M, bytes: Buffer): Decoded<M> {
  const value: Record<string, unknown> = {};
  const fields = Object.entries(message);
  for (const [name, { type, isRepeated }] of fields) {
    value[name] = isRepeated === true ? [] : absent(type);
  }
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    const found = fields.find(([, field]) => field.number === number);
    if (found === undefined) {
      reader.skip(wireType);
      continue;
    }
    const [name, { type, isRepeated }] = found;
    const one = read(reader, type, wireType);
    if (isRepeated === true) (value[name] as unknown[]).push(one);
    else value[name] = one;
  }
  return value as Decoded<M>;
}

const NO_BYTES = Buffer.alloc(0);
const ABSENT: Scalars = { int64: 0, id: 0n, bool: false, string: "", bytes: NO_BYTES };

function absent(type: FieldType): unknown {
  return typeof type === "object" ? decode(type, NO_BYTES) : ABSENT[type];
}

function read(reader: Reader, type: FieldType, wireType: number): unknown {
  const isVarint = type === "int64" || type === "id" || type === "bool";
  const expected = isVarint ? WireType.VARINT : WireType.BYTES;
  if (wireType !== expected) throw new Malformed(`wire type ${expected}`, `${wireType}`);
  if (type === "int64") return reader.safeInteger();
  if (type === "id") return reader.varint();
  if (type === "bool") return reader.varint() !== 0n;
  const bytes = reader.bytes();
  if (type === "bytes") return bytes;
  return type === "string" ? bytes.toString("utf8") : decode(type, bytes);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  tag(): { readonly number: number; readonly wireType: number } {
    const value = this.safeInteger();
    return { number: Math.floor(value / 8), wireType: value % 8 };
  }

  safeInteger(): number {
    const value = Number(this.varint());
    if (!Number.isSafeInteger(value)) throw new Malformed("a safe integer", `${value}`);
    return value;
  }

  varint(): bigint {
    // Most numbers have one byte.
    const first = this.#byte();
    let value = BigInt(first & 0x7f);
    let isLast = first < 0x80;
    for (let bits = 7n; !isLast; bits += 7n) {
      if (bits >= VARINT_BITS_MAX) throw new Malformed("a number of 64 bits", "a longer one");
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << bits;
      isLast = byte < 0x80;
    }
    return BigInt.asUintN(VARINT_BITS_MAX, value);
  }

  bytes(): Buffer {
    const length = this.safeInteger();
    const start = this.#take(length);
    return this.#bytes.subarray(start, this.#at);
  }

  skip(wireType: number): void {
    if (wireType === WireType.VARINT) this.varint();
    else if (wireType === WireType.BYTES) this.bytes();
    else if (wireType === WireType.EIGHT_BYTES) this.#take(8);
    else if (wireType === WireType.FOUR_BYTES) this.#take(4);
    else throw new Malformed("a known wire type", `${wireType}`);
  }

  #byte(): number {
    return this.#bytes[this.#take(1)]!;
  }

  /** @returns The offset where they start. */
  #take(count: number): number {
    const start = this.#at;
    const rest = this.#bytes.length - start;
    if (count > rest) throw new Malformed(`${count} further bytes`, `${rest}`);
    this.#at = start + count;
    return start;
  }
}
