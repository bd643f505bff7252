/** The work of the audit thread: handles the messages of `thread.ts`. */
import type { Disk } from "../disk/disk.ts";
import type { ThreadPort } from "../disk/threads.ts";
import type { ChainMark } from "../log/scan.ts";
import { AuditKeeper } from "./keeper.ts";
import type { AuditThreadData, FromAuditThread, ToAuditThread, TrailState } from "./thread.ts";

/** Handles messages until "end", then closes the port. */
export function serveAudit(
  port: ThreadPort<ToAuditThread>,
  options: AuditThreadData & { readonly disk: Disk },
): void {
  const send = (message: FromAuditThread) => port.postMessage(message);
  const keeper = new AuditKeeper({
    ...options,
    nowMs: () => Date.now(),
    onReport: (report) => send({ kind: "report", report }),
  });
  port.on("message", (message: ToAuditThread) => {
    switch (message.kind) {
      case "follow":
        keeper.follow(markOf(message.mark));
        return send({ kind: "followed", ...stateOf(keeper) });
      case "ask": {
        const { id, question, mark } = message;
        const outcome = keeper.answer(question, mark === null ? null : markOf(mark));
        return send({ kind: "answer", id, outcome, ...stateOf(keeper) });
      }
      case "prepare": {
        const { id, mark } = message;
        const gap = keeper.prepare(mark === null ? null : markOf(mark));
        return send({ kind: "prepared", id, gap, opened: keeper.opened, ...stateOf(keeper) });
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

/** A message turns the chain from a Buffer into a Uint8Array. */
function markOf({ sequence, chain }: ChainMark): ChainMark {
  return { sequence, chain: Buffer.from(chain) };
}
