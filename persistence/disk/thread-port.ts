/** What the program of a thread begins with. */
import os from "node:os";
import { type MessagePort, parentPort } from "node:worker_threads";
import { assert } from "../../engine/assert.ts";

/** @returns Where the thread hears and speaks. It lets the engine's thread go first from now on. */
export function threadPort(): MessagePort {
  assert(parentPort !== null, "the program of a thread runs in one");
  // Where cores are short; Linux alone has a priority for each thread. Not the lowest of all: the
  // end of the process waits for its threads, and on a busy machine those would hardly get a turn.
  const { PRIORITY_BELOW_NORMAL } = os.constants.priority;
  if (process.platform === "linux") os.setPriority(0, PRIORITY_BELOW_NORMAL);
  return parentPort;
}
