/** Reads a ledger while it grows, and folds it. */
import { closeSync, openSync, readSync } from "node:fs";
import { LedgerFold } from "../../support/ledger-check.ts";

const CHUNK_BYTES = 1 << 20;
const LINE_END = "\n".charCodeAt(0);

export class LedgerReader {
  readonly fold = new LedgerFold();
  readonly #file: number;
  readonly #chunk = Buffer.alloc(CHUNK_BYTES);
  /** The beginning of a line whose end has not been read. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#file = openSync(path, "r");
  }

  /** Folds the lines that came since. @returns How many bytes came. */
  readOn(): number {
    let total = 0;
    for (;;) {
      const count = readSync(this.#file, this.#chunk);
      if (count === 0) return total;
      total += count;
      this.#take(Buffer.concat([this.#rest, this.#chunk.subarray(0, count)]));
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #take(bytes: Buffer): void {
    const end = bytes.lastIndexOf(LINE_END);
    this.#rest = bytes.subarray(end + 1);
    if (end === -1) return;
    for (const line of bytes.toString("utf8", 0, end).split("\n")) this.fold.enter(line);
  }
}
