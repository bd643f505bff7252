/** What the program of a thread begins with. */
import os from "node:os";
import { type MessagePort, parentPort } from "node:worker_threads";
import { assert } from "../engine/assert.ts";

/** @returns Where the thread hears and speaks. It lets the engine's thread go first from now on. */
export function threadPort(): MessagePort {
  assert(parentPort !== null, "the program of a thread runs in one");
  // Where cores are short; Linux alone has a priority for each thread.
  if (process.platform === "linux") os.setPriority(0, os.constants.priority.PRIORITY_LOW);
  return parentPort;
}
