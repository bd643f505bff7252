/**
 * A program that locks two seats when it is asked, and says when. It is apart from the clients:
 * among their reads it would see an answer late. Its requests go over a bare socket, because a
 * client library takes a fifth of a processor from the sale that is measured.
 */
import { on } from "node:events";
import { connect, type Socket } from "node:net";
import { answerPlans } from "../harness/processes.ts";
import type { EventOnSale, Target } from "../load/plan.ts";
import { HttpWire, Outcome } from "../load/wire.ts";
import { machineMs, type Probe } from "./delays.ts";

export interface ProbePlan {
  readonly target: Target;
  /** With the seats of the probes only. */
  readonly event: EventOnSale;
  readonly call: "lock" | "unlock";
  readonly pair: number;
}

const SEQUENCE = /"sequence":(\d+)/;

let socket: Socket | null = null;
answerPlans(probe);

/** @throws Error when it is refused, or the connection ends. */
async function probe({ target, event, call, pair }: ProbePlan): Promise<Probe> {
  socket ??= connect({ ...target, noDelay: true });
  const wire = new HttpWire(event, "probe", { headers: "Prefer: return=representation\r\n" });
  const sentMs = machineMs();
  socket.write(wire.booking(call, [pair]));
  const parts = on(socket, "data", { close: ["close"] }) as AsyncIterable<[Buffer]>;
  for await (const [bytes] of parts) {
    let done = "";
    wire.read(bytes, (outcome, answer) => {
      if (outcome !== Outcome.DONE) throw new Error(answer);
      done = answer;
    });
    if (done === "") continue;
    const sequence = Number(SEQUENCE.exec(done)?.[1]);
    return { sequence, sentMs, answeredMs: machineMs() };
  }
  throw new Error("the connection to the server is lost");
}
