/**
 * A program of clients that follow one event. It is started twice. In a crowd most stay, some come
 * back again and again, some read slowly, and all read together now and then. The others are few:
 * they read at once, and measured is the time from an answer to a lock until each of them has a
 * state with that lock.
 */
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isTrial } from "../harness/command.ts";
import { answerPlans, PlanProcess } from "../harness/processes.ts";
import type { EventOnSale, Target } from "../load/plan.ts";
import { Delays, type DelaysMeasured, type Probe } from "./delays.ts";
import type { ProbePlan } from "./probes.ts";
import { SharedFrames } from "./shared-frames.ts";
import { StreamClient } from "./stream-client.ts";

export interface FollowPlan {
  readonly target: Target;
  readonly event: EventOnSale;
  /** Approximate length of the sale. */
  readonly durationMs: number;
  /** Seats of the probes. */
  readonly probeSeats: readonly number[];
  /** Delays are measured; otherwise the clients are a crowd. */
  readonly areMeasured: boolean;
}

/** Messages to the program, one step after the other: `open` is a number of further clients. */
export type FollowStep =
  | { readonly plan: FollowPlan }
  | { readonly open: number }
  | "begin"
  | "over";

export interface Followings {
  /** Clients whose states are those of the map at the end. */
  readonly equal: number;
  /** From the end of the sale until the last client had the last change. */
  readonly equalAfterMs: number;
  readonly delaysMs: DelaysMeasured;
  readonly probes: number;
  /** Reconnects after a close by the server, and after one by the client. */
  readonly returns: number;
  readonly reconnects: number;
  readonly snapshots: number;
  /** Until the last client had the last change. */
  readonly framesPerSecond: number;
  readonly megabytesPerSecond: number;
  /** Processor seconds of this program per second. */
  readonly processorShare: number;
}

/** One of so many clients of a crowd comes back ten times; another one reads slowly. */
const RARE = 20;
const RECONNECTS = 10;
const RETURN_STEP_MS = 1;
const REST_MS = 300;
/** A crowd begins to read this often at most. */
const READ_EVERY_MS = 50;
const PROBE_EVERY_MS_MAX = 100;
/** Probes in the sale, about. */
const PROBES_MIN = 40;
const END_MS_MAX = 60_000;
const AT_REST_MS = isTrial ? 30 : 300;
const POLL_MS = 5;

let following: Following | null = null;
answerPlans(take);

async function take(step: FollowStep): Promise<Followings | null> {
  if (step === "over") return following!.end();
  if (step === "begin") await following!.begin();
  else if ("open" in step) await following!.open(step.open);
  else following = new Following(step.plan);
  return null;
}

/** The clients, and what is known of them all. */
class Following {
  readonly #plan: FollowPlan;
  readonly #frames: SharedFrames;
  readonly #clients: StreamClient[] = [];
  readonly #delays = new Delays();
  readonly #received = { frames: 0, bytes: 0 };
  /** Time of the last news at any client. */
  #advancedMs = 0;
  #before = { frames: 0, bytes: 0, ms: 0, cpu: process.cpuUsage() };
  /** Ends what has begun. */
  readonly #ends: (() => unknown)[] = [];

  constructor(plan: FollowPlan) {
    this.#plan = plan;
    this.#frames = new SharedFrames(plan.event.seatIds);
  }

  /** Opens clients, and waits until each has a snapshot. */
  async open(count: number): Promise<void> {
    const { target, event, areMeasured } = this.#plan;
    const shared = { frames: this.#frames, received: this.#received, onAdvance: this.#onAdvance };
    for (let i = 0; i < count; i++) {
      const client = new StreamClient({ target, event, ...shared });
      if (!areMeasured) client.steps = null;
      this.#clients.push(client);
    }
    await until(() => this.#clients.every(({ sequence }) => sequence > 0), END_MS_MAX);
  }

  async begin(): Promise<void> {
    const { areMeasured, durationMs } = this.#plan;
    if (areMeasured) {
      const probes = startProbes(this.#plan, (probe) => this.#add(probe));
      this.#ends.push(probes.stop);
      // A sale may be over before a program has begun.
      await probes.first;
    } else {
      // The processor is for the server, the buyers and the few first.
      os.setPriority(os.constants.priority.PRIORITY_LOW);
      this.#ends.push(disturb(this.#clients, durationMs));
      this.#ends.push(readTogether());
    }
    this.#before = { ...this.#received, ms: performance.now(), cpu: process.cpuUsage() };
  }

  async end(): Promise<Followings> {
    const overMs = performance.now();
    await Promise.all(this.#ends.map((end) => end()));
    const map = await mapAtRest(this.#plan);
    await until(() => this.#clients.every(({ sequence }) => sequence >= map.sequence), END_MS_MAX);
    const { frames, bytes, ms, cpu } = this.#before;
    const seconds = (this.#advancedMs - ms) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    for (const client of this.#clients) client.end();
    return {
      equal: this.#clients.filter(({ states }) => Buffer.compare(states, map.states) === 0).length,
      equalAfterMs: Math.max(0, this.#advancedMs - overMs),
      delaysMs: this.#delays.measured(),
      probes: this.#delays.probes,
      returns: this.#sum(({ returns }) => returns),
      reconnects: this.#sum(({ reconnects }) => reconnects),
      snapshots: this.#sum(({ snapshots }) => snapshots) - this.#clients.length,
      framesPerSecond: (this.#received.frames - frames) / seconds,
      megabytesPerSecond: (this.#received.bytes - bytes) / 1e6 / seconds,
      processorShare: (user + system) / 1e6 / seconds,
    };
  }

  readonly #onAdvance = (client: StreamClient): void => {
    this.#advancedMs = performance.now();
    this.#measure(client);
  };

  /** Some clients may have had the change before the report. */
  #add(probe: Probe): void {
    this.#delays.add(probe);
    for (const client of this.#clients) this.#measure(client);
  }

  #measure({ steps, sequence }: StreamClient): void {
    if (steps !== null) this.#delays.measure(steps, sequence);
  }

  #sum(count: (client: StreamClient) => number): number {
    return this.#clients.reduce((total, client) => total + count(client), 0);
  }
}

/**
 * Lets what was sent wait for a while, then reads all of it: the crowd has no machine of its own
 * here, and its reads leave the processor to the server. @returns Ends it.
 */
function readTogether(): () => void {
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let nextMs = performance.now();
  let isOver = false;
  const rest = () => {
    if (isOver) return;
    nextMs = Math.max(nextMs + READ_EVERY_MS, performance.now());
    Atomics.wait(cell, 0, 0, nextMs - performance.now());
    setImmediate(rest);
  };
  setImmediate(rest);
  return () => (isOver = true);
}

/** Some come back again and again, and some read slowly. @returns Ends it. */
function disturb(clients: readonly StreamClient[], durationMs: number): () => void {
  const returning = clients.filter((_, i) => i % RARE === 0);
  const slow = clients.filter((_, i) => i % RARE === 1);
  const startMs = performance.now();
  let turn = 0;
  const timers = [
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
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** Locks and unlocks pairs of seats in turn until it is stopped. */
function startProbes(
  { target, event, probeSeats, durationMs }: FollowPlan,
  onProbe: (probe: Probe) => void,
) {
  const program = new PlanProcess<ProbePlan, Probe>(new URL("./probes.js", import.meta.url));
  const everyMs = Math.min(PROBE_EVERY_MS_MAX, durationMs / PROBES_MIN);
  const plan = { target, event: { ...event, seatIds: probeSeats } };
  const state = { isOver: false };
  const probe = async (turn: number) => {
    const pair = turn % (probeSeats.length >> 1);
    onProbe(await program.ask({ ...plan, call: "lock", pair }));
    await sleep(everyMs / 2);
    await program.ask({ ...plan, call: "unlock", pair });
  };
  const play = async () => {
    for (let turn = 1; !state.isOver; turn++) {
      await sleep(everyMs / 2);
      await probe(turn);
    }
    await program.stop();
  };
  const first = probe(0);
  const played = first.then(play);
  const stop = () => {
    state.isOver = true;
    return played;
  };
  return { first, stop };
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
  while (!isDone() && performance.now() < endMs) await sleep(POLL_MS);
}
