/** The thread that keeps the audit trail: see `audit-thread.ts` for what it is told. */
import os from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../engine/assert.ts";
import { AuditKeeper } from "./audit-keeper.ts";
import type {
  AuditThreadData,
  FromAuditThread,
  ToAuditThread,
  TrailState,
} from "./audit-thread.ts";
import { realDisk } from "./disk.ts";
import type { ChainMark } from "./scan.ts";

const port = parentPort;
assert(port !== null, "the program of a thread runs in one");
const say = (message: FromAuditThread) => port.postMessage(message);

// The engine's thread goes first where cores are short. Linux alone has a priority for each thread.
if (process.platform === "linux") os.setPriority(0, os.constants.priority.PRIORITY_LOW);

const keeper = new AuditKeeper({
  disk: realDisk,
  ...(workerData as AuditThreadData),
  nowMs: () => Date.now(),
  onReport: (report) => say({ kind: "report", report }),
});

port.on("message", (message: ToAuditThread) => {
  switch (message.kind) {
    case "follow":
      keeper.follow(markOf(message.mark));
      return say({ kind: "followed", ...stateOf(keeper) });
    case "ask": {
      const { id, question, mark } = message;
      const outcome = keeper.answer(question, mark === null ? null : markOf(mark));
      return say({ kind: "answer", id, outcome, ...stateOf(keeper) });
    }
    case "end":
      keeper.close();
      return port.close();
    default:
      return message satisfies never;
  }
});

function stateOf({ sequence, isFailing }: AuditKeeper): TrailState {
  return { sequence, isFailing };
}

/** Copied by the message: a chain is a plain array of bytes here. */
function markOf({ sequence, chain }: ChainMark): ChainMark {
  return { sequence, chain: Buffer.from(chain) };
}
