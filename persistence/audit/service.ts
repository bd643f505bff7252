/** The work of the audit thread: what `thread.ts` asks of it, message by message. */
import type { Disk } from "../disk/disk.ts";
import type { ThreadPort } from "../disk/threads.ts";
import type { ChainMark } from "../log/scan.ts";
import { AuditKeeper } from "./keeper.ts";
import type { AuditThreadData, FromAuditThread, ToAuditThread, TrailState } from "./thread.ts";

/** Runs until it gets the message to end, and then closes the port. */
export function serveAudit(
  port: ThreadPort<ToAuditThread>,
  options: AuditThreadData & { readonly disk: Disk },
): void {
  const say = (message: FromAuditThread) => port.postMessage(message);
  const keeper = new AuditKeeper({
    ...options,
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

/** A message turns the chain into a plain array of bytes. */
function markOf({ sequence, chain }: ChainMark): ChainMark {
  return { sequence, chain: Buffer.from(chain) };
}
