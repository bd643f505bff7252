/** Reads and folds a ledger while it grows. */
import { closeSync, openSync, readSync } from "node:fs";
import { LedgerFold } from "../../support/ledger-check.ts";

const CHUNK_BYTES = 1 << 20;
const LINE_END = "\n".charCodeAt(0);

export class LedgerReader {
  readonly fold = new LedgerFold();
  readonly #file: number;
  readonly #chunk = Buffer.alloc(CHUNK_BYTES);
  /** The beginning of a line whose end has not been read yet. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#file = openSync(path, "r");
  }

  /** Folds the new lines. @returns The number of new bytes. */
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
