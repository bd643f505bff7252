/** `frontrow inspect`. */
import path from "node:path";
import { realDisk } from "../../persistence/disk/disk.ts";
import { inspectFolder } from "../../persistence/rescue/inspect.ts";
import { UsageError } from "../usage-error.ts";
import { Exit, withProgress } from "./say.ts";

export interface InspectFlags {
  readonly from: number;
  readonly to?: number;
  readonly event?: string;
  readonly seat?: number;
}

/** Lines are buffered up to about this many UTF-16 units. */
const CHUNK_UNITS = 64 * 1024;

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

/** Standard output, whose reader may close it at any time: `frontrow inspect … | head`. */
class Output {
  #text = "";

  constructor() {
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }

  get isOpen(): boolean {
    return process.stdout.errored === null;
  }

  /** @returns False once the reader has closed the stream. */
  line(text: string): boolean {
    this.#text += `${text}\n`;
    if (this.#text.length >= CHUNK_UNITS) this.flush();
    return this.isOpen;
  }

  flush(): void {
    if (this.isOpen && this.#text !== "") process.stdout.write(this.#text);
    this.#text = "";
  }
}
