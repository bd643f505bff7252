/** `frontrow inspect`. */
import path from "node:path";
import { realDisk } from "../../persistence/disk/disk.ts";
import { inspectFolder } from "../../persistence/rescue/inspect.ts";
import { UsageError } from "../usage-error.ts";
import { Exit, Output, withProgress } from "./say.ts";

export interface InspectFlags {
  readonly from: number;
  readonly to?: number;
  readonly event?: string;
  readonly seat?: number;
}

/** @returns The exit code. @throws StoreFault, UsageError. */
export function inspect(folder: string, { from, to, event, seat }: InspectFlags): number {
  if (to !== undefined && to < from) throw new UsageError(`--to ${to} is before --from ${from}`);
  const output = new Output();
  const options = { from, to: to ?? Infinity, eventId: event, seatId: seat };
  const emit = (record: object) => output.line(JSON.stringify(record));
  try {
    const { firstSequence } = withProgress((onWork) =>
      inspectFolder({ disk: realDisk, folder: path.resolve(folder), ...options, emit, onWork }),
    );
    if (output.isOpen && Math.max(from, 1) < firstSequence) {
      process.stderr.write(`the log starts with record ${firstSequence}\n`);
    }
    return Exit.DONE;
  } finally {
    // Also after damage: the records before it are shown.
    output.flush();
  }
}
