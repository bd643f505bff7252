/**
 * A program that locks a seat now and then, and reports each answer. It is apart from the clients:
 * among their reads it would see an answer late.
 */
import { setTimeout } from "node:timers/promises";
import type { EventOnSale, Target } from "../load/plan.ts";
import { machineMs, type Probe } from "./delays.ts";

export interface ProbePlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly seats: readonly number[];
  readonly everyMs: number;
}

process.on("message", (plan: ProbePlan) => {
  play(plan).catch((error: unknown) => process.send!({ error: String(error) }));
});
process.on("disconnect", () => process.exit());

/** Does not end by itself. */
async function play(plan: ProbePlan): Promise<never> {
  for (let i = 0; ; i++) {
    const id = plan.seats[Math.floor(i / 2) % plan.seats.length]!;
    const isLock = i % 2 === 0;
    const body = isLock ? { sessionId: "probe", seats: [{ id }] } : { seats: [{ id }] };
    const sequence = await book(plan, isLock ? "lock" : "unlock", body);
    if (isLock) process.send!({ sequence, answeredMs: machineMs() } satisfies Probe);
    await setTimeout(plan.everyMs / 2);
  }
}

async function book({ target, event }: ProbePlan, call: string, body: object): Promise<number> {
  const path = `/api/private/v2.0/booking/${call}?eventId=${event.eventId}`;
  const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
    method: "POST",
    headers: {
      "X-API-Key": event.key,
      "Content-Type": "application/json",
      Prefer: "return=representation",
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  const shown = (await answer.json()) as true | { readonly sequence: number };
  return shown === true ? 0 : shown.sequence;
}
