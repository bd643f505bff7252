/** The program of the layout thread. */
import os from "node:os";
import { parentPort } from "node:worker_threads";
import { assert } from "../../engine/assert.ts";
import {
  packLayout,
  unpackDocument,
  withLayoutJson,
} from "../../persistence/log/layout-packing.ts";
import { serveLayouts } from "./jobs.ts";

assert(parentPort !== null, "the program of a thread runs in one");
// On Linux each thread has a priority of its own. The event loop goes first.
if (process.platform === "linux") os.setPriority(0, os.constants.priority.PRIORITY_BELOW_NORMAL);
serveLayouts(parentPort, {
  pack: (json) => packLayout(json).bytes,
  unpack: withLayoutJson,
  read: unpackDocument,
});
