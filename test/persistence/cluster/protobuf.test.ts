/** The codec against bytes of the specification, and against bytes that are no message. */
import { describe, expect, test } from "vitest";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { TRANSACT } from "../../../persistence/cluster/member/messages.ts";
import { decode, encode, type Message } from "../../../persistence/cluster/member/protobuf.ts";
import { Random } from "../../sim/workload/random.ts";

const INNER = { a: { number: 1, type: "int64" } } as const satisfies Message;
const MESSAGE = {
  number: { number: 1, type: "int64" },
  text: { number: 2, type: "string" },
  inner: { number: 3, type: INNER },
  id: { number: 4, type: "id" },
  isSet: { number: 5, type: "bool" },
  bytes: { number: 6, type: "bytes" },
  many: { number: 7, type: INNER, isRepeated: true },
  far: { number: 64, type: "string", isRepeated: true },
} as const satisfies Message;

const NOTHING = {
  number: 0,
  text: "",
  inner: { a: 0 },
  id: 0n,
  isSet: false,
  bytes: Buffer.alloc(0),
  many: [],
  far: [],
};

const hex = (bytes: string) => Buffer.from(bytes.replaceAll(" ", ""), "hex");
const encoded = (value: Parameters<typeof encode<typeof MESSAGE>>[1]) =>
  Buffer.concat(encode(MESSAGE, value));

describe("bytes of the specification", () => {
  const KNOWN = [
    ["08 96 01", { number: 150 }],
    ["12 07 74 65 73 74 69 6e 67", { text: "testing" }],
    ["1a 03 08 96 01", { inner: { a: 150 } }],
    ["08 ac 02", { number: 300 }],
    ["20 ff ff ff ff ff ff ff ff ff 01", { id: 2n ** 64n - 1n }],
    ["08 ff ff ff ff ff ff ff 0f", { number: Number.MAX_SAFE_INTEGER }],
    ["28 01 32 02 00 ff", { isSet: true, bytes: hex("00 ff") }],
    ["3a 02 08 01 3a 00", { many: [{ a: 1 }, { a: 0 }] }, "3a 02 08 01 3a 02 08 00"],
    ["82 04 01 61 82 04 00", { far: ["a", ""] }],
  ] as const;

  test.each(KNOWN)("%s is read and written", (bytes, value, written: string = bytes) => {
    expect(decode(MESSAGE, hex(bytes))).toEqual({ ...NOTHING, ...value });
    expect(encoded(value).toString("hex")).toBe(hex(written).toString("hex"));
  });

  test("a field that is not listed is skipped, whatever its wire type", () => {
    const unknown = "50 96 01  51 01 02 03 04 05 06 07 08  52 02 08 01  55 01 02 03 04";
    expect(decode(MESSAGE, hex(`${unknown} 08 05 ${unknown}`))).toEqual({ ...NOTHING, number: 5 });
  });

  test("a value of 0 is written, because one of several fields is the one that is there", () => {
    expect(encoded({ number: 0 }).toString("hex")).toBe("0800");
    expect(encoded({ inner: {} }).toString("hex")).toBe("1a00");
    expect(encoded({ number: undefined }).length).toBe(0);
  });

  test("a value of type bytes is not copied when it is written", () => {
    const bytes = Buffer.from("abc");
    expect(encode(MESSAGE, { bytes }).at(-1)).toBe(bytes);
  });
});

describe("bytes that are no message", () => {
  const MALFORMED = [
    ["a number that is cut off", "08 96"],
    ["a number of more than 64 bits", "08 ff ff ff ff ff ff ff ff ff ff 01"],
    ["a number that is no safe integer", "08 ff ff ff ff ff ff ff ff 7f"],
    ["a text that is cut off", "12 07 74 65"],
    ["a length of 2^63", "12 ff ff ff ff ff ff ff ff 7f"],
    ["a message within that is cut off", "1a 02 08 96"],
    ["a message within that is longer than the whole", "1a 05 08 96 01"],
    ["a number where a text belongs", "10 05"],
    ["a text where a number belongs", "0a 01 61"],
    ["a group, which is no longer used", "0b 0c"],
    ["eight bytes that are cut off", "51 01 02 03"],
    ["a wire type that does not exist", "0f"],
  ] as const;

  test.each(MALFORMED)("%s is refused", (_, bytes) => {
    expect(() => decode(MESSAGE, hex(bytes))).toThrow(Malformed);
  });

  test("each part of a message, and each message with other bytes, is read or refused", () => {
    const random = Random.stream(1, "protobuf");
    const pair = { key: "a", createRevision: 5, modRevision: 300, value: Buffer.alloc(200, 7) };
    const ranges = [{ range: { header: { revision: 7 }, pairs: [pair, pair], more: true } }];
    const header = { memberId: 2n ** 63n, revision: 2 ** 40 };
    const whole = { header, succeeded: true, responses: ranges };
    const valid = Buffer.concat(encode(TRANSACT.response, whole));
    expect(decode(TRANSACT.response, valid)).toMatchObject({ header, succeeded: true });
    const attempt = (bytes: Buffer) => {
      try {
        return decode(TRANSACT.response, bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(Malformed);
        return null;
      }
    };
    for (let length = 0; length < valid.length; length++) attempt(valid.subarray(0, length));
    let refused = 0;
    for (let i = 0; i < 20_000; i++) {
      const bytes = Buffer.from(valid);
      for (let changes = 0; changes < 3; changes++) {
        bytes[random.below(bytes.length)] = random.below(256);
      }
      if (attempt(bytes) === null) refused += 1;
    }
    expect(refused).toBeGreaterThan(1_000);
  });
});
