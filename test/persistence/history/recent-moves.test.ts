/** Moves kept in the log's encoding, in reused memory. */
import { expect, test } from "vitest";
import { RecordType } from "../../../engine/records.ts";
import { RecentMoves } from "../../../persistence/history/recent-changes.ts";
import { ByteWriter } from "../../../persistence/log/bytes.ts";
import { encodeRecord } from "../../../persistence/log/codec.ts";
import { Workload } from "../../sim/workload/workload.ts";

const workload = new Workload(7);
for (let step = 0; step < 1_000; step++) workload.step();
const { kept } = workload.bench.journal;

/** The record of a sequence number: the workload's, again and again. */
const recordAt = (sequence: number) => kept[sequence % kept.length]!;

function keepBatch(moves: RecentMoves, first: number, count: number): void {
  const out = new ByteWriter(64);
  for (let sequence = first; sequence < first + count; sequence++) {
    const { timeMs, record } = recordAt(sequence);
    encodeRecord(out, timeMs, record);
  }
  moves.keep(Buffer.from(out.bytes.subarray(0, out.length)), first, count);
}

/** Reads every kept move. */
function expectMoves(moves: RecentMoves, end: number): void {
  for (let sequence = moves.first; sequence < end; sequence++) {
    const { timeMs, record } = recordAt(sequence);
    if (record.type === RecordType.MOVE) expect(moves.at(sequence)).toEqual({ timeMs, record });
  }
}

test("what is kept stays as it was while older batches are dropped", () => {
  const moves = new RecentMoves(1);
  let next = 1;
  // The third size is more than a chunk takes.
  for (const count of [1, 700, 9_000, 40, 2_000, 2_000, 300, 2_000, 2_000, 2_000, 2_000, 2_000]) {
    keepBatch(moves, next, count);
    next += count;
    if (moves.batchCount > 4) moves.drop();
    expectMoves(moves, next);
  }
  while (moves.batchCount > 0) moves.drop();
  expect(moves).toMatchObject({ bytes: 0, first: next, oldestMs: 0 });
  keepBatch(moves, next, 100);
  expectMoves(moves, next + 100);
});

test("memory is used again once as much is dropped as is kept", () => {
  const moves = new RecentMoves(1);
  let next = 1;
  const keepMore = () => {
    keepBatch(moves, next, 1_000);
    next += 1_000;
    if (moves.batchCount > 8) moves.drop();
  };
  for (let i = 0; i < 40; i++) keepMore();
  const chunks = moves.chunkCount;
  for (let i = 0; i < 200; i++) keepMore();
  expect(moves.chunkCount).toBe(chunks);
});
