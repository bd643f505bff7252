/**
 * Clients that follow one event, in their own process: most stay, some come back again and again,
 * some read slowly. Now and then the process locks a seat of its own, and measures the time from
 * the answer until each client that stays and reads has the change.
 */
import type { EventOnSale, Target } from "./plan.ts";
import { StreamClient } from "./stream-client.ts";

export interface FollowPlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly clients: number;
  readonly durationMs: number;
  /** Seats of the probes. */
  readonly probeSeats: readonly number[];
}

export interface Followings {
  /** Clients whose states are those of the map at the end. */
  readonly equal: number;
  readonly delaysMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly probes: number;
  readonly returns: number;
  readonly snapshots: number;
}

/** One of so many clients comes back ten times; another one reads slowly. */
const RARE = 20;
const RECONNECTS = 10;
const REST_MS = 300;
const PROBE_EVERY_MS = 100;
const END_MS_MAX = 30_000;

process.on("message", (plan: FollowPlan) => {
  follow(plan).then(
    (followed) => process.send!({ followed }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());

async function follow(plan: FollowPlan): Promise<Followings> {
  const { target, event, clients, durationMs } = plan;
  const indexes = new Map(event.seatIds.map((id, i) => [id, i]));
  const arrived: { sessionId: string; ms: number }[] = [];
  const onChange = (sessionId: string) => {
    arrived.push({ sessionId, ms: performance.now() });
  };
  const followers: StreamClient[] = [];
  for (let i = 0; i < clients; i++) {
    const isSteady = i % RARE > 1;
    followers.push(
      new StreamClient({ target, event, indexes, onChange: isSteady ? onChange : () => {} }),
    );
    if (i % 50 === 49) await sleep(5);
  }
  await until(() => followers.every(({ sequence }) => sequence > 0), END_MS_MAX);
  process.send!({ isReady: true });
  const timers = [
    setInterval(() => {
      for (let i = 0; i < clients; i += RARE) followers[i]!.reconnect();
    }, durationMs / RECONNECTS),
    setInterval(() => {
      for (let i = 1; i < clients; i += RARE) followers[i]!.rest(REST_MS);
    }, 2 * REST_MS),
  ];
  const answered = await probe(plan);
  for (const timer of timers) clearInterval(timer);
  await sleep(500);
  const map = await mapOf(plan);
  await until(() => followers.every(({ sequence }) => sequence >= map.sequence), END_MS_MAX);
  const equal = followers.filter(({ states }) => isSame(states, map.states)).length;
  const delays = arrived
    .map(({ sessionId, ms }) => Math.max(0, ms - (answered.get(sessionId) ?? ms)))
    .sort((a, b) => a - b);
  const at = (share: number) => delays[Math.floor(delays.length * share)] ?? 0;
  const sum = (count: (client: StreamClient) => number) =>
    followers.reduce((total, client) => total + count(client), 0);
  for (const follower of followers) follower.end();
  return {
    equal,
    delaysMs: { p50: at(0.5), p99: at(0.99), max: delays.at(-1) ?? 0 },
    probes: answered.size,
    returns: sum(({ returns }) => returns),
    snapshots: sum(({ snapshots }) => snapshots),
  };
}

/** @returns By session: when the lock was answered. */
async function probe({ target, event, durationMs, probeSeats }: FollowPlan) {
  const answered = new Map<string, number>();
  const endMs = performance.now() + durationMs;
  for (let i = 0; performance.now() < endMs; i++) {
    const seats = [{ id: probeSeats[Math.floor(i / 2) % probeSeats.length]! }];
    const sessionId = `${i % 2 === 0 ? "probe" : "free"}${i}`;
    const call = i % 2 === 0 ? "lock" : "unlock";
    const body = call === "lock" ? { sessionId, seats } : { seats };
    const path = `/api/private/v2.0/booking/${call}?eventId=${event.eventId}`;
    const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
      method: "POST",
      headers: { "X-API-Key": event.key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (answer.ok && call === "lock") answered.set(sessionId, performance.now());
    await answer.arrayBuffer();
    await sleep(PROBE_EVERY_MS / 2);
  }
  return answered;
}

async function mapOf({ target, event }: FollowPlan) {
  const path = `/api/private/v2.0/events/${event.eventId}/map/`;
  const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
    headers: { "X-API-Key": event.key },
  });
  const { sequence, columns } = (await answer.json()) as {
    sequence: number;
    columns: { states: string };
  };
  return { sequence, states: Buffer.from(columns.states) };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

async function until(isDone: () => boolean, msMax: number): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!isDone() && performance.now() < endMs) await sleep(20);
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
