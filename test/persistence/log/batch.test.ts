/** A batch takes a whole record or nothing of it. */
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { type CatalogRecord, RecordType } from "../../../engine/records.ts";
import { Batch } from "../../../persistence/log/log-writer.ts";
import { decodeRecords } from "../../../persistence/log/codec.ts";
import { FRAME_HEADER_BYTES } from "../../../persistence/log/frame.ts";

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
