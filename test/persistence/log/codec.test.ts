/** Decoded records equal the encoded ones, and malformed bytes are refused. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { Move } from "../../../engine/inventory/states.ts";
import {
  type CatalogRecord,
  type LogRecord,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../../engine/records.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import { ByteReader, ByteWriter } from "../../../persistence/log/bytes.ts";
import { decodeRecords, encodeRecord } from "../../../persistence/log/codec.ts";
import { recordOf, timeOf } from "./log-fixture.ts";

interface Entry {
  readonly timeMs: number;
  readonly record: LogRecord;
}

function encode(entries: readonly Entry[]): Buffer {
  const out = new ByteWriter(16);
  for (const { timeMs, record } of entries) encodeRecord(out, timeMs, record);
  return Buffer.from(out.bytes.subarray(0, out.length));
}

function decode(bytes: Buffer, recordCount: number): Entry[] {
  const entries: Entry[] = [];
  decodeRecords(bytes, 1, recordCount, (sequence, timeMs, record) => {
    expect(sequence).toBe(entries.push({ timeMs, record }));
  });
  return entries;
}

function problemIn(bytes: Buffer, recordCount = 1): Malformed {
  try {
    decode(bytes, recordCount);
  } catch (error) {
    if (error instanceof Malformed) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const count = fc.maxSafeNat();
const u32 = fc.nat(0xffff_ffff);
/** Objects with the usual prototype. */
const plain = { noNullPrototype: true };
const actor = fc.record({ kind: fc.constantFrom(0, 1, 2, 3), id: count }, plain);
const text = fc.string({ unit: "grapheme", maxLength: 60 });
const words = fc.uint32Array({ maxLength: 50 });
const triples = fc
  .array(fc.tuple(u32, u32, u32), { maxLength: 20 })
  .map((rows) => Uint32Array.from(rows.flat()));
const move: fc.Arbitrary<MoveRecord> = fc.record(
  {
    type: fc.constant(RecordType.MOVE),
    actor,
    partition: u32,
    move: fc.constantFrom(...Object.values(Move)),
    hold: u32,
    expiresAtMs: count,
    session: text,
    holdType: text,
    seats: words,
    areas: triples,
  },
  plain,
);
const price: fc.Arbitrary<PriceRecord> = fc.record(
  {
    type: fc.constant(RecordType.PRICE),
    actor,
    partition: u32,
    runs: triples,
    areas: triples,
  },
  plain,
);
/** MessagePack readers rename `__proto__`, which would otherwise change the prototype. */
const member = fc.string().filter((name) => name !== "__proto__");
const value = fc.jsonValue().map(asLiteral).filter(hasPlainNames);
const anyRow = fc.dictionary(
  member,
  fc.oneof(value, fc.constant(null), fc.constant(undefined)),
  plain,
);
const catalog = fc.record(
  {
    type: fc.constant(RecordType.CATALOG),
    actor,
    nextId: count,
    puts: fc.array(fc.record({ table: fc.constantFrom("venues", "layouts"), row: anyRow }, plain)),
    removes: fc.array(
      fc.record(
        { table: fc.constantFrom("events", "logins"), key: fc.oneof(count, fc.string()) },
        plain,
      ),
    ),
  },
  plain,
) as unknown as fc.Arbitrary<CatalogRecord>;

function asLiteral(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json));
}

function hasPlainNames(json: unknown): boolean {
  return !JSON.stringify(json).includes("__proto__");
}

test("decoded records equal the encoded ones, in order", () => {
  const entry = fc.record({ timeMs: count, record: fc.oneof(move, price, catalog) }, plain);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      expect(decode(encode(entries), entries.length)).toStrictEqual(entries);
    }),
    { numRuns: 2_000 },
  );
});

test("a record always has the same encoding", () => {
  fc.assert(
    fc.property(fc.oneof(move, catalog), count, (record, timeMs) => {
      const entry = { timeMs, record };
      expect(encode([entry])).toEqual(encode([entry]));
      expect(encode(decode(encode([entry]), 1))).toEqual(encode([entry]));
    }),
  );
});

test("null, undefined and missing members of a row stay different", () => {
  const row = { id: 1, given: null, unknown: undefined, deep: [{ x: -0.5, y: 1e300 }] };
  const record = catalogWith(row);
  const [entry] = decode(encode([{ timeMs: 1, record }]), 1);
  expect(entry!.record).toStrictEqual(record);
  const [put] = (entry!.record as CatalogRecord).puts;
  expect(Object.keys(put!.row)).toEqual(["id", "given", "unknown", "deep"]);
});

test("a decoded layout of many seats equals the encoded one", () => {
  const seats = Array.from({ length: 20_000 }, (_, id) => ({ id, guid: `seat-${id}`, x: id / 3 }));
  const record = catalogWith({ id: 1, document: { seats } });
  expect(decode(encode([{ timeMs: 1, record }]), 1)[0]!.record).toStrictEqual(record);
});

test("a record that is truncated anywhere is refused", () => {
  for (const record of [recordOf(1), catalogWith({ id: 1 })]) {
    const bytes = encode([{ timeMs: timeOf(1), record }]);
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(problemIn(bytes.subarray(0, cut)).message).toMatch(/^expected .+, found .+$/);
    }
  }
});

test("an invalid field is refused with the expected and the found value", () => {
  const cases: [string, number, number, string][] = [
    ["length", 0, 15, "a record within its frame"],
    ["type", 4, 9, "a known type of record"],
    ["reserved", 6, 1, "zero in the reserved field"],
    ["time", 15, 0xff, "a time in whole milliseconds"],
    ["actor kind", 16, 4, "a known kind of actor"],
    ["actor id", 24, 0xff, "a safe integer"],
    ["move", 25, 9, "a move of the table"],
    ["end of the hold", 41, 0xff, "an end in whole milliseconds"],
    ["length of the session", 42, 0xff, "further bytes"],
    ["session", 44, 0xff, "text in UTF-8"],
  ];
  for (const [field, at, byte, expected] of cases) {
    const bytes = encode([{ timeMs: timeOf(1), record: recordOf(1) }]);
    bytes[at] = byte;
    const problem = problemIn(bytes);
    expect(problem.expected, field).toContain(expected);
    expect(problem.message, field).toMatch(/^expected .+, found .+$/);
  }
});

test("a record of a later version is refused by its version, not as damage", () => {
  const bytes = encode([{ timeMs: timeOf(1), record: recordOf(1) }]);
  bytes[5] = 2;
  expect(() => decode(bytes, 1)).toThrow(OtherFormat);
  expect(() => decode(bytes, 1)).toThrow("is version 2, and this Frontrow reads version 1");
});

test("a frame with more or fewer records than its header says is refused", () => {
  const bytes = encode([{ timeMs: timeOf(1), record: recordOf(1) }]);
  expect(problemIn(bytes, 0).expected).toBe("0 records");
  expect(problemIn(bytes, 2).expected).toBe("4 further bytes");
  const longer = Buffer.concat([bytes, Buffer.alloc(4)]);
  longer.writeUInt32LE(longer.length, 0);
  expect(problemIn(longer).expected).toBe("the end of the record");
});

test("a list of areas that does not consist of triples is refused", () => {
  const bytes = encode([
    { timeMs: timeOf(1), record: { ...recordOf(1), areas: new Uint32Array() } },
  ]);
  const longer = Buffer.concat([bytes, Buffer.alloc(4)]);
  longer.writeUInt32LE(longer.length, 0);
  longer.writeUInt32LE(1, bytes.length - 4);
  expect(problemIn(longer).message).toBe("expected triples, found 1 words");
});

test("a catalog body that is no catalog record is refused", () => {
  const bytes = encode([{ timeMs: 1, record: catalogWith({ id: 1 }) }]);
  const at = bytes.indexOf("venues");
  bytes.write("menues", at);
  expect(problemIn(bytes).message).toBe("expected a catalog record, found another value");
  bytes.fill(0xc1, 16);
  expect(problemIn(bytes).expected).toBe("a catalog record");
});

test("a record that the log cannot encode breaks an assertion", () => {
  const good = recordOf(1);
  const bad: Partial<Record<keyof MoveRecord, unknown>>[] = [
    { partition: -1 },
    { hold: 2 ** 32 },
    { move: 9 },
    { expiresAtMs: 0.5 },
    { areas: new Uint32Array(2) },
    { actor: { kind: 4, id: 1 } },
    { actor: { kind: 1, id: 2 ** 53 } },
    { session: "\ud800 alone" },
    { session: "x".repeat(65_536) },
    { session: "é".repeat(40_000) },
  ];
  for (const change of bad) {
    const record = { ...good, ...change } as MoveRecord;
    expect(() => encode([{ timeMs: 1, record }])).toThrow(Broken);
  }
  expect(() => encode([{ timeMs: -1, record: good }])).toThrow(Broken);
  for (const remove of [null, { table: "menues", key: 1 }, { table: "venues", key: 0.5 }]) {
    const record = { ...catalogWith({ id: 1 }), removes: [remove] } as unknown as CatalogRecord;
    expect(() => encode([{ timeMs: 1, record }])).toThrow(Broken);
  }
});

test("texts come back as they were, also when more of them repeat than are kept", () => {
  const texts = Array.from({ length: 2_000 }, (_, i) => `session ${i % 1_000}`);
  texts.push("x".repeat(64), "x".repeat(65), "y".repeat(65_535), "é", "");
  const out = new ByteWriter(200_000);
  for (const each of texts) out.text(each);
  const reader = new ByteReader(Buffer.from(out.bytes.subarray(0, out.length)));
  expect(texts.map(() => reader.text())).toEqual(texts);
});

function catalogWith(row: object): CatalogRecord {
  return {
    type: RecordType.CATALOG,
    actor: { kind: 0, id: 0 },
    nextId: 2,
    puts: [{ table: "venues", row }],
    removes: [],
  } as unknown as CatalogRecord;
}
