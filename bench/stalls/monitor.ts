/**
 * Loaded into the server's process before the server itself. A timer ticks there all the time; each
 * message is answered with the longest time between two ticks since the previous message, in
 * milliseconds.
 */
const TICK_MS = 1;

let lastMs = performance.now();
let longestMs = 0;

function tick(): void {
  const nowMs = performance.now();
  longestMs = Math.max(longestMs, nowMs - lastMs);
  lastMs = nowMs;
}

setInterval(tick, TICK_MS).unref();
process.on("message", () => {
  tick();
  process.send!(longestMs);
  longestMs = 0;
});
// The server ends when it is stopped, not when nobody asks any more.
process.channel?.unref();
