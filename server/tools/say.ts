/** Output and exit codes that the tools share. */
import { Progress } from "../observe/progress.ts";

export const Exit = { DONE: 0, DAMAGED: 78 } as const;

/** Lines are buffered up to about this many UTF-16 units. */
const CHUNK_UNITS = 64 * 1024;

/** Writes lines to standard output. */
export function say(...lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

/** Shows the progress that long work reports. */
export function withProgress<T>(
  work: (onWork: (what: string, done: number, total: number) => void) => T,
): T {
  const progress = new Progress(process.stderr);
  try {
    return work((what, done, total) => progress.tell(what, done, total));
  } finally {
    progress.stop();
  }
}

/** "1 segment", "2 segments". */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Standard output, whose reader may close it at any time: `frontrow inspect … | head`. */
export class Output {
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
