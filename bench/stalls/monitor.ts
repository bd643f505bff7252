/**
 * Loaded into the server's process before the server itself. A timer ticks there all the time; each
 * message is answered with the longest stall since the previous message: the longest time between
 * two ticks, by the processor time of the main thread and by the clock. The clock also counts how
 * long other threads and programs had the processors.
 */
import { openSync, readSync } from "node:fs";

export interface Stall {
  /** Exact to a tick of the scheduler: about four milliseconds. */
  readonly processorMs: number;
  readonly wallMs: number;
}

const TICK_MS = 1;
const NS_PER_MS = 1e6;
const NUMBERS_LENGTH_MAX = 64;

const numbers = Buffer.alloc(NUMBERS_LENGTH_MAX);
const file = process.platform === "linux" ? openSync("/proc/thread-self/schedstat", "r") : null;

/** Processor time of the main thread; the clock, where the system does not report it. */
function processorMs(): number {
  if (file === null) return performance.now();
  const length = readSync(file, numbers, 0, NUMBERS_LENGTH_MAX, 0);
  const [ranNs] = numbers.toString("latin1", 0, length).split(" ");
  return Number(ranNs) / NS_PER_MS;
}

function now(): Stall {
  return { processorMs: processorMs(), wallMs: performance.now() };
}

let last = now();
let longest: Stall = { processorMs: 0, wallMs: 0 };

function tick(): void {
  const present = now();
  longest = {
    processorMs: Math.max(longest.processorMs, present.processorMs - last.processorMs),
    wallMs: Math.max(longest.wallMs, present.wallMs - last.wallMs),
  };
  last = present;
}

setInterval(tick, TICK_MS).unref();
process.on("message", () => {
  tick();
  process.send!(longest);
  longest = { processorMs: 0, wallMs: 0 };
});
// The server ends when it is stopped, not when nobody asks any more.
process.channel?.unref();
