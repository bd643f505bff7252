/** Decoded records equal the encoded ones, and malformed bytes are refused. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import type { CatalogPut } from "../../../engine/catalog.ts";
import { NONE } from "../../../engine/constants.ts";
import { Move } from "../../../engine/inventory/states.ts";
import type { LayoutDocument } from "../../../engine/layout/document.ts";
import { buildLayout } from "../../../engine/layout/layout.ts";
import { PackedLayout } from "../../../engine/layout/packed.ts";
import { runsOfZones, type ZoneChange } from "../../../engine/layout/zones.ts";
import {
  type ArrivalRecord,
  type CartRecord,
  type CatalogRecord,
  DoorAct,
  type DoorRecord,
  type DoorStep,
  type ExtensionRecord,
  type LogRecord,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../../engine/records.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { FORMATS, OtherFormat } from "../../../persistence/disk/formats.ts";
import { ByteReader, ByteWriter } from "../../../persistence/log/bytes.ts";
import {
  decodeRecords,
  encodeRecord,
  packCatalog,
  partitionOf,
  unpackCatalog,
} from "../../../persistence/log/codec.ts";
import { FRAME_HEADER_BYTES } from "../../../persistence/log/frame.ts";
import {
  loadedRow,
  packLayout,
  storedPut,
  storedRow,
  withLayoutJson,
} from "../../../persistence/log/layout-packing.ts";
import { Batch } from "../../../persistence/log/log-writer.ts";
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
const anyActor = fc.record({ kind: fc.constantFrom(0, 1, 2, 3), id: count }, plain);
const anyText = fc.string({ unit: "grapheme", maxLength: 60 });
const words = fc.uint32Array({ maxLength: 50 });
const triples = fc
  .array(fc.tuple(u32, u32, u32), { maxLength: 20 })
  .map((rows) => Uint32Array.from(rows.flat()));
const move: fc.Arbitrary<MoveRecord> = fc.record(
  {
    type: fc.constant(RecordType.MOVE),
    actor: anyActor,
    partition: u32,
    move: fc.constantFrom(...Object.values(Move)),
    hold: u32,
    expiresAtMs: count,
    session: anyText,
    holdType: anyText,
    seats: words,
    areas: triples,
  },
  plain,
);
/** The lock of a visitor has a further field. */
const visitorsLock = fc.tuple(move, u32).map(([record, visitor]) => ({ ...record, visitor }));
const octets = fc.uint8Array({ maxLength: 40 });
const step: fc.Arbitrary<DoorStep> = fc.oneof(
  fc.record({ act: fc.constant(DoorAct.JOIN), visitor: u32, entry: octets }, plain),
  fc.record({ act: fc.constant(DoorAct.OPEN), seed: octets, order: words }, plain),
  fc.record({ act: fc.constant(DoorAct.INVITE), through: u32, untilMs: count }, plain),
  fc.record({ act: fc.constant(DoorAct.ENTER), visitor: u32, seconds: u32, untilMs: count }, plain),
  fc.record({ act: fc.constant(DoorAct.END), visitors: words }, plain),
);
const door: fc.Arbitrary<DoorRecord> = fc.record(
  { type: fc.constant(RecordType.DOOR), actor: anyActor, partition: u32, step },
  plain,
);
const price: fc.Arbitrary<PriceRecord> = fc.record(
  {
    type: fc.constant(RecordType.PRICE),
    actor: anyActor,
    partition: u32,
    runs: triples,
    areas: triples,
  },
  plain,
);
const extension: fc.Arbitrary<ExtensionRecord> = fc
  .array(fc.tuple(u32, count), { maxLength: 20 })
  .chain((holds) =>
    fc.record(
      {
        type: fc.constant(RecordType.EXTENSION),
        actor: anyActor,
        partition: u32,
        session: anyText,
        holds: fc.constant(Uint32Array.from(holds, ([slot]) => slot)),
        endsAtMs: fc.constant(Float64Array.from(holds, ([, endMs]) => endMs)),
        places: u32,
      },
      plain,
    ),
  );
const arrival: fc.Arbitrary<ArrivalRecord> = fc
  .tuple(move, fc.boolean(), count, count, fc.array(count, { minLength: 50, maxLength: 50 }))
  .map(([given, isHold, startedAtMs, fenceBound, fences]) => {
    const record = { ...given, type: RecordType.ARRIVAL, startedAtMs, fenceBound };
    return isHold
      ? { ...record, hold: 7, fences: Float64Array.of(fences[0]!) }
      : { ...record, hold: NONE, fences: Float64Array.from(fences.slice(0, given.seats.length)) };
  });
const cart: fc.Arbitrary<CartRecord> = fc.record(
  {
    type: fc.constant(RecordType.CART),
    actor: anyActor,
    session: anyText,
    parts: fc.array(fc.oneof(move, extension), { minLength: 1, maxLength: 6 }),
  },
  plain,
);
/** MessagePack readers rename `__proto__`: it would change the prototype. */
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
    actor: anyActor,
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

test("the partition of an encoded record → that of the record", () => {
  fc.assert(
    fc.property(fc.oneof(move, visitorsLock, price, extension, arrival, door), (record) => {
      const out = new ByteWriter(16);
      encodeRecord(out, 1, record);
      expect(partitionOf(out.bytes.subarray(0, out.length))).toBe(record.partition);
    }),
  );
});

test("decoded records equal the encoded ones, in order", () => {
  const entry = fc.record(
    {
      timeMs: count,
      record: fc.oneof(move, visitorsLock, price, extension, arrival, cart, door, catalog),
    },
    plain,
  );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      expect(decode(encode(entries), entries.length)).toStrictEqual(entries);
    }),
    { numRuns: 2_000 },
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

test("a record that is truncated anywhere is refused", () => {
  for (const record of [recordOf(1), cartOf(2), catalogWith({ id: 1 })]) {
    const bytes = encode([{ timeMs: timeOf(1), record }]);
    for (let cut = 0; cut < bytes.length; cut++) {
      expect(problemIn(bytes.subarray(0, cut)).message).toMatch(/^expected .+, found .+$/);
    }
  }
});

function cartOf(partCount: number): CartRecord {
  const part = recordOf(1);
  const parts = Array.from({ length: partCount }, () => part);
  return { type: RecordType.CART, actor: part.actor, session: "S", parts };
}

test("a cart without a part, or with one of another type → refused", () => {
  const bytes = encode([{ timeMs: timeOf(1), record: cartOf(1) }]);
  // After the head, the actor, the session and the count of parts.
  const typeAt = 16 + 9 + 3 + 4;
  expect(bytes[typeAt]).toBe(RecordType.MOVE);
  bytes[typeAt] = RecordType.PRICE;
  expect(problemIn(bytes).expected).toBe("a move or an extension");
  const empty = bytes.subarray(0, typeAt);
  empty.writeUInt32LE(empty.length, 0);
  empty.writeUInt32LE(0, typeAt - 4);
  expect(problemIn(empty).expected).toBe("a part of a cart");
});

test("an invalid field is refused with the expected and the found value", () => {
  const cases: [string, number, number, string][] = [
    ["length", 0, 15, "a record within its frame"],
    ["type", 4, 9, "a known type of record"],
    ["reserved", 6, 1, "zero in the reserved field"],
    ["time", 15, 0xff, "a time in whole milliseconds"],
    ["actor kind", 16, 4, "a known kind of actor"],
    ["actor id", 24, 0xff, "a safe integer"],
    ["move", 25, 99, "a move of the table"],
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
  const { version, oldest } = FORMATS.record;
  bytes[5] = version + 1;
  expect(() => decode(bytes, 1)).toThrow(OtherFormat);
  const reads = `is version ${version + 1}, and this Frontrow reads versions ${oldest} to ${version}`;
  expect(() => decode(bytes, 1)).toThrow(reads);
});

test("an extension of version 1, without a count of places → one for each hold", () => {
  const record: ExtensionRecord = {
    type: RecordType.EXTENSION,
    actor: { kind: 1, id: 7 },
    partition: 3,
    session: "ann",
    holds: Uint32Array.of(4, 9),
    endsAtMs: Float64Array.of(timeOf(5), timeOf(6)),
    places: 70,
  };
  const present = encode([{ timeMs: timeOf(1), record }]);
  expect(decode(present, 1)).toMatchObject([{ record }]);
  const earlier = Buffer.from(present.subarray(0, -4));
  earlier.writeUInt32LE(earlier.length, 0);
  earlier[5] = 1;
  expect(decode(earlier, 1)).toMatchObject([{ record: { ...record, places: 2 } }]);
  earlier[5] = 2;
  expect(() => decode(earlier, 1)).toThrow(Malformed);
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
    { move: 99 },
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
  for (const one of texts) out.text(one);
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

// Zones of many objects in a record of the log.

const SEATS = 200_000;

function zoneRecord(zones: readonly ZoneChange[]): CatalogRecord {
  const actor = { kind: 1, id: 2 } as const;
  const type = RecordType.CATALOG;
  return { type, actor, nextId: 1_000_000, puts: [], removes: [{ table: "zones", key: 9 }], zones };
}

test("zones come back as rows, and the removed ones before other removes", () => {
  const runs = Float64Array.from([10, 2, 7, 20, 1, 0, 30, 1, 8]);
  const { puts, removes } = unpackCatalog(packCatalog(zoneRecord([{ schemaId: 5, runs }])));
  const row = (id: number, zoneId: number) => ({
    table: "zoneAssignments",
    row: { id, schemaId: 5, zoneId },
  });
  expect(puts).toEqual([row(10, 7), row(11, 7), row(30, 8)]);
  expect(removes).toEqual([
    { table: "zoneAssignments", key: 20 },
    { table: "zones", key: 9 },
  ]);
});

test("a zone of every seat takes a few bytes in the log", () => {
  const zones = new Map(Array.from({ length: SEATS }, (_, i) => [100 + i, 7]));
  const bytes = packCatalog(zoneRecord([{ schemaId: 5, runs: runsOfZones(zones) }]));
  expect(bytes.length).toBeLessThan(200);
  expect(unpackCatalog(bytes).puts).toHaveLength(SEATS);
});

test.each([
  ["ids that were not given out", [999_999, 2, 7]],
  ["a part of an id", [1.5, 1, 7]],
  ["a negative number of objects", [1, -1, 7]],
])("runs of %s are malformed", (_, runs) => {
  const bytes = () => {
    const packed = packCatalog(zoneRecord([{ schemaId: 5, runs: Float64Array.from([1, 1, 7]) }]));
    const wrong = Buffer.from(Float64Array.from(runs).buffer);
    const right = Buffer.from(Float64Array.from([1, 1, 7]).buffer);
    wrong.copy(packed, packed.indexOf(right));
    return packed;
  };
  expect(() => unpackCatalog(bytes())).toThrow(Malformed);
});

// Large layouts in the log.

const DOCUMENT: LayoutDocument = {
  sectors: [{ id: 1, guid: "s", name: "Parkett ü 🎭", ga: false }],
  rows: [{ id: 2, guid: "r", sectorGuid: "s", rowNumber: "A" }],
  seats: Array.from({ length: 500 }, (_, i) => {
    return { id: 3 + i, guid: `${i}`, rowGuid: "r", name: `${i}`, x: i / 3, note: null };
  }),
  shapes: [],
  clientViewBox: null,
};
const schema: CatalogPut = { table: "clones", row: { id: "c", organizationId: 1, schemaId: 9 } };
const layoutRecord = (document: LayoutDocument) => ({
  type: RecordType.CATALOG,
  actor: { kind: 1, id: 1 } as const,
  nextId: 1_000,
  removes: [],
  puts: [
    schema,
    {
      table: "layouts",
      row: { id: 9, document, version: 2 },
      made: { layout: buildLayout(DOCUMENT) },
    } as const,
  ],
});

test("a packed layout in a record is read back packed, with the same document", () => {
  const bytes = packCatalog(layoutRecord(packLayout(JSON.stringify(DOCUMENT))));
  expect(bytes.length).toBeLessThan(JSON.stringify(DOCUMENT).length / 2);
  const [first, second] = unpackCatalog(bytes).puts;
  expect(first).toEqual(schema);
  const row = second!.table === "layouts" ? second.row : undefined;
  expect(row!.document).toBeInstanceOf(PackedLayout);
  expect(JSON.parse(JSON.stringify(row))).toEqual({
    id: 9,
    document: DOCUMENT,
    version: 2,
  });
});

test("a layout that is not packed is stored as before, without what was built of it", () => {
  const { puts } = unpackCatalog(packCatalog(layoutRecord(DOCUMENT)));
  const row = { id: 9, document: DOCUMENT, version: 2 };
  expect(puts).toEqual([schema, { table: "layouts", row }]);
  expect(storedPut(schema)).toBe(schema);
});

test("a packed layout of several pieces is read back, whatever its texts look like", () => {
  const name = `[{"a":[1,2]},{"b":"\\"}] \\\\ , ü 🎭`;
  const seats = Array.from({ length: 30_000 }, (_, i) => {
    return { id: 3 + i, guid: `${i}`, rowGuid: "r", name, tags: [i, [name], { "],": "}" }] };
  });
  for (const document of [
    { ...DOCUMENT, seats, clientViewBox: [[1, 2], "3,"] },
    { ...DOCUMENT, seats, shapes: [[], {}], clientViewBox: { a: [1, { b: "," }], c: "]" } },
    { ...DOCUMENT, sectors: [], rows: [], seats: [] },
  ]) {
    const json = JSON.stringify(document);
    const packed = packLayout(json);
    expect(JSON.stringify(packed)).toBe(json);
  }
});

test("a packed layout in a snapshot is a short text, and is read back packed", () => {
  const put = layoutRecord(packLayout(JSON.stringify(DOCUMENT))).puts[1]!;
  const text = storedRow(put);
  expect(text.length).toBeLessThan(JSON.stringify(DOCUMENT).length / 2);
  const loaded = loadedRow("layouts", text);
  const row = loaded.table === "layouts" ? loaded.row : undefined;
  expect(row!.document).toBeInstanceOf(PackedLayout);
  expect(JSON.parse(JSON.stringify(row))).toEqual({
    id: 9,
    document: DOCUMENT,
    version: 2,
  });
});

test("any other row in a snapshot is its JSON", () => {
  const { puts } = layoutRecord(DOCUMENT);
  for (const put of [schema, { table: puts[1]!.table, row: puts[1]!.row }] as CatalogPut[]) {
    expect(storedRow(put)).toBe(JSON.stringify(put.row));
    expect(loadedRow(put.table, storedRow(put))).toEqual(put);
  }
});

test("the JSON of a packed layout is freed after its use", () => {
  const { bytes } = packLayout(JSON.stringify(DOCUMENT));
  const json = withLayoutJson(bytes, (given) => {
    expect(JSON.parse(given.toString())).toEqual(DOCUMENT);
    return given;
  });
  expect(json).toHaveLength(0);
  expect(() => withLayoutJson(bytes, () => JSON.parse("no"))).toThrow(SyntaxError);
});

// A batch takes a whole record or nothing of it.

const GOOD: CatalogRecord = {
  type: RecordType.CATALOG,
  actor: { kind: 0, id: 0 },
  nextId: 2,
  puts: [],
  removes: [],
};

test("a record that cannot be encoded does not change the batch", () => {
  const batch = new Batch();
  batch.add(1, GOOD);
  const { bytes } = batch;
  const bad = { ...GOOD, actor: { kind: 77, id: 0 } } as unknown as CatalogRecord;
  expect(() => batch.add(2, bad)).toThrow(Broken);
  expect([batch.bytes, batch.recordCount]).toEqual([bytes, 1]);
});

test("a drawing with a great many members is encoded", () => {
  const many = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`m${i}`, i]));
  const document = { sectors: [], rows: [], seats: [], shapes: [{ many }], clientViewBox: many };
  const put = { table: "layouts", row: { id: 1, document, version: 1 } } as const;
  const batch = new Batch();
  batch.add(1, { ...GOOD, puts: [put] });
  const facts = { flags: 0, firstSequence: 1, durableSequence: 0, epoch: 1, offset: 4_096 };
  const { frame } = batch.seal(facts, Buffer.alloc(16));
  const payload = frame.subarray(FRAME_HEADER_BYTES, batch.bytes);
  const decoded: unknown[] = [];
  decodeRecords(payload, 1, 1, (_sequence, _timeMs, record) => decoded.push(record));
  expect(decoded).toEqual([{ ...GOOD, puts: [put] }]);
});
