/** Replays the log on top of a snapshot. */
import { apply } from "../../engine/apply.ts";
import { type LogRecord, RecordType } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import type { Replay } from "../log/codec.ts";
import type { LoadedSnapshot } from "./load.ts";

/**
 * @returns A replay that applies the records that the snapshot does not contain: a partition of it
 * may be newer than its catalog.
 * @param before - Called with each record before it is applied.
 */
export function replayAfter(
  loaded: Pick<LoadedSnapshot, "sequences"> | null,
  state: State,
  before: (record: LogRecord) => void = () => {},
): Replay {
  return (sequence, timeMs, record) => {
    if (record.type !== RecordType.CATALOG) {
      if (sequence <= (loaded?.sequences.get(record.partition) ?? 0)) return;
    }
    before(record);
    apply(state, record, timeMs);
  };
}
