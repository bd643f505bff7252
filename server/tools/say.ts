/** Output and exit codes that the tools share. */
import { Progress } from "../observe/progress.ts";

export const Exit = { DONE: 0, DAMAGED: 78 } as const;

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
