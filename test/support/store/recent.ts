/** Recent changes that are fed with records of a journal in memory, as the log feeds them. */
import { RecentChanges } from "../../../persistence/changes/recent-changes.ts";
import { ByteWriter } from "../../../persistence/log/bytes.ts";
import { encodeRecord } from "../../../persistence/log/codec.ts";
import type { KeptRecord } from "../engine.ts";

/** A batch of the log is on disk. */
export function keepBatch(recent: RecentChanges, records: readonly KeptRecord[]): void {
  const [first] = records;
  if (first === undefined) return;
  const out = new ByteWriter(64);
  for (const { timeMs, record } of records) encodeRecord(out, timeMs, record);
  recent.keep(Buffer.from(out.bytes.subarray(0, out.length)), first.sequence, records.length);
}
