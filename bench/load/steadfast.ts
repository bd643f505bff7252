/**
 * The program of buyers that survive a restart of the server, in a process of its own. Each
 * connection locks and unlocks seats of its own, one request at a time, and connects again when it
 * is lost. It measures the longest time without a good answer to anybody.
 */
import net from "node:net";
import { HttpWire } from "./http-wire.ts";
import type { EventOnSale, Target } from "./plan.ts";

export interface SteadfastPlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly connections: number;
}

export interface Steadfast {
  /** Good answers since the last report. */
  readonly good: number;
  readonly seconds: number;
  /** The longest time between two good answers. */
  readonly longestGapMs: number;
}

const RETRY_MS = 20;
const GOOD = "HTTP/1.1 200";

let good = 0;
let longestGapMs = 0;
let sinceMs = performance.now();
let lastMs = sinceMs;

process.on("message", (message: SteadfastPlan | "report") => {
  if (message !== "report") {
    for (let i = 0; i < message.connections; i++) buy(message, i);
    return;
  }
  const nowMs = performance.now();
  const report: Steadfast = { good, seconds: (nowMs - sinceMs) / 1_000, longestGapMs };
  process.send!(report);
  [good, longestGapMs, sinceMs] = [0, 0, nowMs];
});
process.on("disconnect", () => process.exit(0));

function buy({ target, event }: SteadfastPlan, connection: number): void {
  const wire = new HttpWire(event, false);
  const turns = (["lock", "unlock"] as const).map((kind) =>
    wire.booking(kind, connection, `bench-${connection}`),
  );
  let turn = 0;
  const connect = () => {
    const socket = net.connect({ host: target.host, port: target.port, noDelay: true });
    socket.on("connect", () => socket.write(turns[turn]!));
    socket.on("data", (answer) => {
      const isGood = answer.toString("latin1", 0, GOOD.length) === GOOD;
      if (isGood) count();
      // A lock whose answer was lost may be refused because it was carried out.
      turn = 1 - turn;
      if (isGood) socket.write(turns[turn]!);
      else setTimeout(() => socket.write(turns[turn]!), RETRY_MS);
    });
    socket.on("error", () => {});
    socket.on("close", () => setTimeout(connect, RETRY_MS));
  };
  connect();
}

function count(): void {
  const nowMs = performance.now();
  if (good > 0) longestGapMs = Math.max(longestGapMs, nowMs - lastMs);
  lastMs = nowMs;
  good += 1;
}
