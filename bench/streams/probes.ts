/**
 * A program that locks a seat now and then, and reports each answer. It is apart from the clients:
 * among their reads it would see an answer late. Its requests go over a bare socket, because a
 * client library takes a fifth of a processor from the sale that is measured.
 */
import { on } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { EventOnSale, Target } from "../load/plan.ts";
import { machineMs, type Probe } from "./delays.ts";

export interface ProbePlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly seats: readonly number[];
  readonly everyMs: number;
}

const OK = "HTTP/1.1 200";
const HEAD_END = "\r\n\r\n";
const LOST = "the connection to the server is lost";
const LENGTH = /^content-length: (\d+)/im;

process.on("message", (plan: ProbePlan) => {
  play(plan).catch((error: unknown) => process.send!({ error: String(error) }));
});
process.on("disconnect", () => process.exit());
// A report that leaves while the other side closes the channel.
process.on("error", () => process.exit());

/** Does not end by itself. */
async function play(plan: ProbePlan): Promise<never> {
  const socket = connect({ ...plan.target, noDelay: true }).setEncoding("latin1");
  // The next exchange tells of it.
  socket.on("error", () => {});
  for (let i = 0; ; i++) {
    const id = plan.seats[Math.floor(i / 2) % plan.seats.length]!;
    const isLock = i % 2 === 0;
    const body = isLock ? { sessionId: "probe", seats: [{ id }] } : { seats: [{ id }] };
    const call = isLock ? "lock" : "unlock";
    const request = requestOf(plan, call, JSON.stringify(body));
    const sentMs = machineMs();
    const answer = await exchange(socket, request);
    const answeredMs = machineMs();
    const { sequence } = JSON.parse(answer) as { readonly sequence: number };
    if (isLock) process.send!({ sequence, sentMs, answeredMs } satisfies Probe);
    await setTimeout(plan.everyMs / 2);
  }
}

function requestOf({ target, event }: ProbePlan, call: string, body: string): string {
  const lines = [
    `POST /api/private/v2.0/booking/${call}?eventId=${event.eventId} HTTP/1.1`,
    `Host: ${target.host}`,
    `X-API-Key: ${event.key}`,
    "Content-Type: application/json",
    "Prefer: return=representation",
    `Content-Length: ${body.length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** @returns The body of the answer. @throws Error when it is refused, or the connection ends. */
async function exchange(socket: Socket, request: string): Promise<string> {
  if (socket.destroyed) throw new Error(LOST);
  socket.write(request);
  const parts = on(socket, "data", { close: ["close"] });
  let answer = "";
  for await (const [part] of parts as AsyncIterable<[string]>) {
    answer += part;
    if (answer.length > OK.length && !answer.startsWith(OK)) throw new Error(answer);
    const bodyAt = answer.indexOf(HEAD_END) + HEAD_END.length;
    if (bodyAt < HEAD_END.length) continue;
    if (answer.length === bodyAt + Number(LENGTH.exec(answer)?.[1])) return answer.slice(bodyAt);
  }
  throw new Error(LOST);
}
