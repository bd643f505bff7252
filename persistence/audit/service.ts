/** Keeps the audit trail as it is told to: see `audit-thread.ts` for what that is. */
import type { MessagePort } from "node:worker_threads";
import { realDisk } from "../disk/disk.ts";
import type { ChainMark } from "../log/scan.ts";
import { AuditKeeper } from "./keeper.ts";
import type { AuditThreadData, FromAuditThread, ToAuditThread, TrailState } from "./thread.ts";

/** Until it is told to end; it closes the port then. */
export function serveAudit(port: MessagePort, data: AuditThreadData): void {
  const say = (message: FromAuditThread) => port.postMessage(message);
  const keeper = new AuditKeeper({
    disk: realDisk,
    ...data,
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
    }
    return message satisfies never;
  });
}

function stateOf({ sequence, isFailing }: AuditKeeper): TrailState {
  return { sequence, isFailing };
}

/** Copied by the message: a chain is a plain array of bytes here. */
function markOf({ sequence, chain }: ChainMark): ChainMark {
  return { sequence, chain: Buffer.from(chain) };
}
