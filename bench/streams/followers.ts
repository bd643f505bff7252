/**
 * Clients that follow one event, in their own process: most stay, some come back again and again,
 * some read slowly. Another process locks seats now and then; measured is the time from its answer
 * until each client that stays and reads has a state with that lock.
 */
import { forkModule } from "../harness/processes.ts";
import type { EventOnSale, Target } from "../load/plan.ts";
import { Delays, type Probe } from "./delays.ts";
import type { ProbePlan } from "./probes.ts";
import { SharedFrames } from "./shared-frames.ts";
import { StreamClient } from "./stream-client.ts";

export interface FollowPlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly clients: number;
  /** How long the sale takes, about. */
  readonly durationMs: number;
  /** Seats of the probes. */
  readonly probeSeats: readonly number[];
  /** Whether all clients stay and read. */
  readonly areSteady: boolean;
}

export interface Followings {
  /** Clients whose states are those of the map at the end. */
  readonly equal: number;
  /** From the end of the sale until the last client had the last change. */
  readonly equalAfterMs: number;
  readonly delaysMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly probes: number;
  /** How often the server closed a client, and how often one closed by itself. */
  readonly returns: number;
  readonly reconnects: number;
  readonly snapshots: number;
  /** Until the last client had the last change. */
  readonly framesPerSecond: number;
  readonly megabytesPerSecond: number;
  /** Processor seconds of this program per second. */
  readonly processorShare: number;
}

/** One of so many clients comes back ten times; another one reads slowly. */
const RARE = 20;
const RECONNECTS = 10;
const RETURN_STEP_MS = 1;
const REST_MS = 300;
const PROBE_EVERY_MS_MAX = 100;
/** Probes in the sale, about. */
const PROBES_MIN = 40;
const END_MS_MAX = 60_000;
const AT_REST_MS = 300;
const OPENED_TOGETHER = 50;
const OPEN_REST_MS = 5;

/** Settles when the sale is over. */
const over = new Promise<void>((resolve) => {
  process.on("message", (message: FollowPlan | "over") => {
    if (message === "over") return resolve();
    follow(message).then(
      (measured) => process.send!({ measured }),
      (error: unknown) => process.send!({ error: String(error) }),
    );
  });
});
process.on("disconnect", () => process.exit());

/** The clients, and what is known of them all. */
class Following {
  readonly delays = new Delays();
  readonly received = { frames: 0, bytes: 0 };
  followers: readonly StreamClient[] = [];
  /** When a client last had something new. */
  advancedMs = 0;

  readonly onAdvance = (client: StreamClient): void => {
    this.advancedMs = performance.now();
    this.#measure(client);
  };

  /** Some clients may have had the change before the report. */
  add(probe: Probe): void {
    this.delays.add(probe);
    for (const client of this.followers) this.#measure(client);
  }

  #measure({ steps, sequence }: StreamClient): void {
    if (steps !== null) this.delays.measure(steps, sequence);
  }

  sum(count: (client: StreamClient) => number): number {
    return this.followers.reduce((total, client) => total + count(client), 0);
  }
}

async function follow(plan: FollowPlan): Promise<Followings> {
  const { clients, durationMs, areSteady } = plan;
  const following = new Following();
  following.followers = await open(plan, following);
  const { followers, received, delays } = following;
  const probes = startProbes(plan, following);
  // A sale may be over before a program has begun.
  await probes.first;
  process.send!({ isReady: true });
  const timers = areSteady ? [] : disturb(followers, durationMs);
  const before = { ...received, ms: performance.now(), cpu: process.cpuUsage() };
  await over;
  const overMs = performance.now();
  probes.stop();
  for (const timer of timers) clearInterval(timer);
  const map = await mapAtRest(plan);
  await until(() => followers.every(({ sequence }) => sequence >= map.sequence), END_MS_MAX);
  const seconds = (following.advancedMs - before.ms) / 1_000;
  const { user, system } = process.cpuUsage(before.cpu);
  for (const follower of followers) follower.end();
  return {
    equal: followers.filter(({ states }) => Buffer.compare(states, map.states) === 0).length,
    equalAfterMs: Math.max(0, following.advancedMs - overMs),
    delaysMs: delays.measured(),
    probes: delays.probes,
    returns: following.sum(({ returns }) => returns),
    reconnects: following.sum(({ reconnects }) => reconnects),
    snapshots: following.sum(({ snapshots }) => snapshots) - clients,
    framesPerSecond: (received.frames - before.frames) / seconds,
    megabytesPerSecond: (received.bytes - before.bytes) / 1e6 / seconds,
    processorShare: (user + system) / 1e6 / seconds,
  };
}

/** Opens the clients, and waits until each has a snapshot. */
async function open(
  { target, event, clients }: FollowPlan,
  { received, onAdvance }: Following,
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
  for (const client of [...returning, ...slow]) client.steps = null;
  const startMs = performance.now();
  let turn = 0;
  return [
    // One after the other, as clients that do not know of each other.
    setInterval(() => {
      const all = RECONNECTS * returning.length;
      const due = Math.min(all, ((performance.now() - startMs) * all) / durationMs);
      for (; turn < due; turn++) returning[turn % returning.length]!.reconnect();
    }, RETURN_STEP_MS),
    setInterval(() => {
      for (const client of slow) client.rest(REST_MS);
    }, 2 * REST_MS),
  ];
}

/** Plays probes until it is stopped. `first` settles with the first answer. */
function startProbes({ target, event, probeSeats, durationMs }: FollowPlan, following: Following) {
  const child = forkModule(new URL("./probes.js", import.meta.url));
  const everyMs = Math.min(PROBE_EVERY_MS_MAX, durationMs / PROBES_MIN);
  child.send({ target, event, seats: probeSeats, everyMs } satisfies ProbePlan);
  const first = new Promise<void>((resolve) => {
    child.on("message", (report: Probe | { readonly error: string }) => {
      if ("error" in report) throw new Error(report.error);
      following.add(report);
      resolve();
    });
  });
  return { first, stop: () => child.disconnect() };
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
