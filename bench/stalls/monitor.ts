/**
 * Loaded into the server's process before the server itself. It watches the event loop there, and
 * answers each message with the longest stall since the previous one, in milliseconds.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const NS_PER_MS = 1e6;

const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
process.on("message", () => {
  process.send!(delays.max / NS_PER_MS);
  delays.reset();
});
// The server ends when it is stopped, not when nobody asks any more.
process.channel?.unref();
