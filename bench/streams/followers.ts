/**
 * Clients that follow one event, in their own process: most stay, some come back again and again,
 * some read slowly. Now and then the process locks a seat of its own, and measures the time from
 * the answer until each client that stays and reads has a state with that lock.
 */
import type { EventOnSale, Target } from "../load/plan.ts";
import { SharedFrames } from "./shared-frames.ts";
import { StreamClient } from "./stream-client.ts";

export interface FollowPlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly clients: number;
  readonly durationMs: number;
  /** Seats of the probes. */
  readonly probeSeats: readonly number[];
  /** Whether all clients stay and read. */
  readonly areSteady: boolean;
}

export interface Followings {
  /** Clients whose states are those of the map at the end. */
  readonly equal: number;
  /** From the last change until the last client had it; 0 when it did before the map was read. */
  readonly equalAfterMs: number;
  readonly delaysMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly probes: number;
  readonly returns: number;
  readonly snapshots: number;
  readonly framesPerSecond: number;
  readonly megabytesPerSecond: number;
  /** Processor seconds of this program per second. */
  readonly processorShare: number;
}

/** One of so many clients comes back ten times; another one reads slowly. */
const RARE = 20;
const RECONNECTS = 10;
const REST_MS = 300;
const PROBE_EVERY_MS = 100;
const END_MS_MAX = 30_000;
const AT_REST_MS = 300;
const OPENED_TOGETHER = 50;
const OPEN_REST_MS = 5;

process.on("message", (plan: FollowPlan) => {
  follow(plan).then(
    (measured) => process.send!({ measured }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());

async function follow(plan: FollowPlan): Promise<Followings> {
  const { clients, durationMs, areSteady } = plan;
  const probes = new Probes(plan);
  const received = { frames: 0, bytes: 0 };
  const followers = await open(plan, received, probes);
  process.send!({ isReady: true });
  const timers = areSteady ? [] : disturb(followers, durationMs);
  const before = { ...received, ms: performance.now(), cpu: process.cpuUsage() };
  await probes.play(followers);
  const seconds = (performance.now() - before.ms) / 1_000;
  const { user, system } = process.cpuUsage(before.cpu);
  const [frames, bytes] = [received.frames - before.frames, received.bytes - before.bytes];
  for (const timer of timers) clearInterval(timer);
  const map = await mapAtRest(plan);
  const restMs = performance.now();
  await until(() => followers.every(({ sequence }) => sequence >= map.sequence), END_MS_MAX);
  const equalAfterMs = performance.now() - restMs;
  const sum = (count: (client: StreamClient) => number) =>
    followers.reduce((total, client) => total + count(client), 0);
  for (const follower of followers) follower.end();
  return {
    equal: followers.filter(({ states }) => Buffer.compare(states, map.states) === 0).length,
    equalAfterMs,
    ...probes.measured(),
    returns: sum(({ returns }) => returns),
    snapshots: sum(({ snapshots }) => snapshots) - clients,
    framesPerSecond: frames / seconds,
    megabytesPerSecond: bytes / 1e6 / seconds,
    processorShare: (user + system) / 1e6 / seconds,
  };
}

/** Opens the clients, and waits until each has a snapshot. */
async function open(
  { target, event, clients }: FollowPlan,
  received: { frames: number; bytes: number },
  { onAdvance }: Probes,
): Promise<StreamClient[]> {
  const frames = new SharedFrames(event.seatIds);
  const followers: StreamClient[] = [];
  for (let i = 0; i < clients; i++) {
    followers.push(new StreamClient({ target, event, frames, received, onAdvance }));
    if (i % OPENED_TOGETHER === OPENED_TOGETHER - 1) await sleep(OPEN_REST_MS);
  }
  await until(() => followers.every(({ sequence }) => sequence > 0), END_MS_MAX);
  return followers;
}

/** Some come back again and again, and some read slowly. They do not measure delays. */
function disturb(followers: readonly StreamClient[], durationMs: number): NodeJS.Timeout[] {
  const returning = followers.filter((_, i) => i % RARE === 0);
  const slow = followers.filter((_, i) => i % RARE === 1);
  for (const client of [...returning, ...slow]) client.probes = Infinity;
  return [
    setInterval(() => {
      for (const client of returning) client.reconnect();
    }, durationMs / RECONNECTS),
    setInterval(() => {
      for (const client of slow) client.rest(REST_MS);
    }, 2 * REST_MS),
  ];
}

/** Locks whose way to the clients is measured. */
class Probes {
  readonly #plan: FollowPlan;
  /** Index: probe. Its record, and when it was answered. */
  readonly #sequences: number[] = [];
  readonly #answeredMs: number[] = [];
  readonly #delaysMs: number[] = [];

  constructor(plan: FollowPlan) {
    this.#plan = plan;
  }

  readonly onAdvance = (client: StreamClient): void => {
    while (this.#sequences[client.probes]! <= client.sequence) {
      this.#delaysMs.push(performance.now() - this.#answeredMs[client.probes]!);
      client.probes += 1;
    }
  };

  async play(followers: readonly StreamClient[]): Promise<void> {
    const { durationMs, probeSeats } = this.#plan;
    const endMs = performance.now() + durationMs;
    for (let i = 0; performance.now() < endMs; i++) {
      const seats = [{ id: probeSeats[Math.floor(i / 2) % probeSeats.length]! }];
      const isLock = i % 2 === 0;
      const sequence = await this.#book(isLock ? "lock" : "unlock", seats);
      if (isLock) this.#answered(sequence, followers);
      await sleep(PROBE_EVERY_MS / 2);
    }
  }

  async #book(call: "lock" | "unlock", seats: readonly { id: number }[]): Promise<number> {
    const { target, event } = this.#plan;
    const path = `/api/private/v2.0/booking/${call}?eventId=${event.eventId}`;
    const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
      method: "POST",
      headers: {
        "X-API-Key": event.key,
        "Content-Type": "application/json",
        Prefer: "return=representation",
      },
      body: JSON.stringify(call === "lock" ? { sessionId: "probe", seats } : { seats }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    const body = (await answer.json()) as true | { readonly sequence: number };
    return body === true ? 0 : body.sequence;
  }

  #answered(sequence: number, followers: readonly StreamClient[]): void {
    const probe = this.#sequences.length;
    this.#answeredMs.push(performance.now());
    this.#sequences.push(sequence);
    // The change of a lock may arrive before its answer.
    for (const client of followers) {
      if (client.probes === probe) this.onAdvance(client);
    }
  }

  measured() {
    const delays = Float64Array.from(this.#delaysMs).sort();
    const at = (share: number) => delays[Math.floor(delays.length * share)] ?? 0;
    const delaysMs = { p50: at(0.5), p99: at(0.99), max: delays.at(-1) ?? 0 };
    return { delaysMs, probes: this.#sequences.length };
  }
}

/** The map when nothing changes any more. */
async function mapAtRest(plan: FollowPlan) {
  for (let last = 0; ;) {
    await sleep(AT_REST_MS);
    const map = await mapOf(plan);
    if (map.sequence === last) return map;
    last = map.sequence;
  }
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

async function until(isDone: () => boolean, msMax: number): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!isDone() && performance.now() < endMs) await sleep(20);
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
