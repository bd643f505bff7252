/**
 * Loaded into the server's process before the server itself. A timer ticks there all the time; each
 * message is answered with the longest stall since the previous message: the longest time between
 * two ticks. The own time leaves out how long the thread waited while other threads and programs
 * had the processors.
 */
import { openSync, readSync } from "node:fs";

export interface Stall {
  /** Milliseconds: processor time, and what the thread waited for other than a processor. */
  readonly ownMs: number;
  readonly wallMs: number;
}

const TICK_MS = 1;
const NS_PER_MS = 1e6;
const NUMBERS_LENGTH_MAX = 64;

const numbers = Buffer.alloc(NUMBERS_LENGTH_MAX);
const file = process.platform === "linux" ? openSync("/proc/thread-self/schedstat", "r") : null;

/** How long the main thread has waited for a processor so far; 0 where the system does not say. */
function waitedMs(): number {
  if (file === null) return 0;
  const length = readSync(file, numbers, 0, NUMBERS_LENGTH_MAX, 0);
  const [, waitedNs] = numbers.toString("latin1", 0, length).split(" ");
  return Number(waitedNs) / NS_PER_MS;
}

let last = { wallMs: performance.now(), waitedMs: waitedMs() };
let longest: Stall = { ownMs: 0, wallMs: 0 };

function tick(): void {
  const now = { wallMs: performance.now(), waitedMs: waitedMs() };
  const wallMs = now.wallMs - last.wallMs;
  const ownMs = wallMs - (now.waitedMs - last.waitedMs);
  longest = {
    ownMs: Math.max(longest.ownMs, ownMs),
    wallMs: Math.max(longest.wallMs, wallMs),
  };
  last = now;
}

setInterval(tick, TICK_MS).unref();
process.on("message", () => {
  tick();
  process.send!(longest);
  longest = { ownMs: 0, wallMs: 0 };
});
// The server ends when it is stopped, not when nobody asks any more.
process.channel?.unref();
