/** The thread that writes snapshots: see `snapshot-thread.ts` for what it is told. */
import os from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../engine/assert.ts";
import { realDisk } from "./disk.ts";
import { type Built, type BuildEnd, SnapshotBuild } from "./snapshot-build.ts";
import type { FromThread, ThreadData, ToThread } from "./snapshot-thread.ts";

const port = parentPort;
assert(port !== null, "the program of a thread runs in one");
/** The snapshot in the making; null before, and behind a failure that was told. */
let build: SnapshotBuild | null = null;

// The engine's thread goes first where cores are short. Linux alone has a priority for each thread.
if (process.platform === "linux") os.setPriority(0, os.constants.priority.PRIORITY_LOW);

port.on("message", (message: ToThread) => {
  const answer = answerTo(message);
  if (answer !== null) port.postMessage(answer);
});

/** @returns null when there is nothing to say. */
function answerTo(message: ToThread): FromThread | null {
  try {
    if (message.kind === "begin") {
      const { base } = message;
      build = new SnapshotBuild({ disk: realDisk, ...(workerData as ThreadData), base });
    } else if (message.kind === "put") {
      build?.put(message.nextId, message.puts);
    } else if (message.kind === "add") {
      build?.add(message.image);
      if (build !== null) return { kind: "written" };
    } else if (build !== null) {
      const built = finish(build, message.end);
      build = null;
      return { kind: "built", built };
    }
    return null;
  } catch (error) {
    build?.abandon();
    build = null;
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

function finish(complete: SnapshotBuild, end: BuildEnd): Built {
  // Copied by the message: a chain is a plain array of bytes here.
  const { sequence, chain } = end.mark;
  return complete.finish({ ...end, mark: { sequence, chain: Buffer.from(chain) } });
}
