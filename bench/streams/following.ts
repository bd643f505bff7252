/** Starts the clients that follow an event: a crowd, and a few in it whose delays are measured. */
import { mkdir } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { startServer } from "../contenders/frontrow.ts";
import { call, createVenue, openEvent } from "../contenders/venue.ts";
import { isTrial } from "../harness/command.ts";
import { memoryOf, readCpu, sharesBetween } from "../harness/measure.ts";
import { PlanProcess, type Server } from "../harness/processes.ts";
import { overHttp } from "../load/drive.ts";
import { Generator } from "../load/generator-process.ts";
import { type EventOnSale, type Target, targetAt } from "../load/plan.ts";
import type { Followings, FollowPlan, FollowStep } from "./followers.ts";
import type { IdlePlan } from "./idle-sockets.ts";

/**
 * One of so many clients is measured. Those have a process of their own: where 2,000 clients share
 * one, a client has a change late because the others read before it.
 */
const MEASURED_OF = 20;

export type ClientsPlan = Omit<FollowPlan, "areMeasured"> & { readonly clients: number };

/** Totals of all clients; the delays are those of the few. */
export interface AllFollowings extends Omit<Followings, "processorShare"> {
  /** Processor seconds per second of the crowd, and of the few. */
  readonly crowdShare: number;
  readonly measuredShare: number;
}

class Followers extends PlanProcess<FollowStep, Followings | null> {}

/** Settles when each client has a snapshot, and there was an answer to a lock. */
export async function startFollowing({ clients, ...plan }: ClientsPlan) {
  const followers = new URL("./followers.js", import.meta.url);
  const [crowd, few] = [new Followers(followers), new Followers(followers)];
  await crowd.ask({ plan: { ...plan, areMeasured: false } });
  await few.ask({ plan: { ...plan, areMeasured: true } });
  // A server may send to its clients in the order in which they came: the few are among all others.
  for (let opened = 0; opened < clients; opened += MEASURED_OF) {
    await few.ask({ open: 1 });
    await crowd.ask({ open: Math.min(MEASURED_OF, clients - opened) - 1 });
  }
  await Promise.all([crowd.ask("begin"), few.ask("begin")]);
  const end = async () => {
    const [ofCrowd, ofFew] = await Promise.all([crowd.ask("over"), few.ask("over")]);
    await Promise.all([crowd.stop(), few.stop()]);
    return together(ofCrowd!, ofFew!);
  };
  return { end };
}

function together(crowd: Followings, few: Followings): AllFollowings {
  const sum = (count: (followings: Followings) => number) => count(crowd) + count(few);
  return {
    equal: sum(({ equal }) => equal),
    equalAfterMs: Math.max(crowd.equalAfterMs, few.equalAfterMs),
    delaysMs: few.delaysMs,
    probes: few.probes,
    returns: sum(({ returns }) => returns),
    reconnects: sum(({ reconnects }) => reconnects),
    snapshots: sum(({ snapshots }) => snapshots),
    framesPerSecond: sum(({ framesPerSecond }) => framesPerSecond),
    megabytesPerSecond: sum(({ megabytesPerSecond }) => megabytesPerSecond),
    crowdShare: crowd.processorShare,
    measuredShare: few.processorShare,
  };
}

// The memory that idle WebSockets take in a server.

const SEATS = 100;
/** For memory that is freed late. */
const REST_MS = isTrial ? 10 : 3_000;

/** @returns MiB above the server without them; null when unknown. */
export async function memoryOfIdle(
  what: "streams" | "command sockets",
  count: number,
  folder: string,
): Promise<number | null> {
  await mkdir(folder);
  const server = await startServer(folder);
  const venue = await createVenue(server.url, SEATS);
  const { eventId, key } = await openEvent(venue);
  const { sequence } = await call<{ sequence: number }>(venue, `GET v2.0/events/${eventId}/map/`);
  const stream = `events/${eventId}/stream?since=${sequence}`;
  const path = `/api/private/v2.0/${what === "streams" ? stream : "booking/socket"}`;
  await setTimeout(REST_MS);
  const before = memoryOf(server.pid, "VmRSS");
  const idle = new PlanProcess<IdlePlan, void>(new URL("./idle-sockets.js", import.meta.url));
  await idle.ask({ target: targetAt(server.url), path, key, count });
  await setTimeout(REST_MS);
  const after = memoryOf(server.pid, "VmRSS");
  await idle.stop();
  await server.stop();
  return before === null || after === null ? null : after - before;
}

// The sale that clients follow, over HTTP. Flat out it is an on-sale as they happen: buyers lock
// and buy every seat as fast as they are answered, until the event is sold out. Or seats are locked
// and unlocked at a rate.

export interface Sale {
  readonly perSecond: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Seats of an on-sale that nobody has bought; null at a rate. */
  readonly unsold: number | null;
  /** Processor seconds per second. */
  readonly generatorShare: number;
  /** The same of the server's busiest thread; null when unknown. */
  readonly serverShare: number | null;
}

export interface SalePlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly connections: number;
  /** Locks and unlocks per second; 0 for an on-sale flat out. */
  readonly rate: number;
  /** Of locks and unlocks at a rate. */
  readonly seconds: number;
}

export async function onSale({ pid }: Server, plan: SalePlan): Promise<Sale> {
  const before = readCpu([pid]);
  const generator = new Generator();
  const sold = await (plan.rate > 0 ? sellAtRate(generator, plan) : sellOut(generator, plan));
  const after = readCpu([pid]);
  await generator.stop();
  if (before === null || after === null) return { ...sold, serverShare: null };
  const { busiestThread } = sharesBetween(before, after, { seconds: sold.seconds, generator: 0 });
  return { ...sold, serverShare: busiestThread };
}

async function sellAtRate(generator: Generator, { rate, seconds, ...rest }: SalePlan) {
  const shape = { ...rest, ratePerSecond: rate, durationMs: seconds * 1_000 };
  const { perSecond, p50Ms, p99Ms, generatorShare } = await overHttp(generator, shape);
  return { perSecond, seconds, p50Ms, p99Ms, unsold: null, generatorShare };
}

async function sellOut(generator: Generator, { target, event, connections }: SalePlan) {
  const shape = { mix: "on-sale", connections, durationMs: 0, seed: 1 } as const;
  const measured = await generator.drive({ target, event, ...shape });
  const { requestsPerSecond: perSecond, seconds, latencyMs, cpuSeconds } = measured;
  const { p50: p50Ms, p99: p99Ms } = latencyMs;
  const unsold = event.seatIds.length - 2 * new Set(measured.soldPairs).size;
  return { perSecond, seconds, p50Ms, p99Ms, unsold, generatorShare: cpuSeconds / seconds };
}
