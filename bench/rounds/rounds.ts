/** The rounds of `npm run bench`. A round with a wrong outcome ends the benchmark. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Contender, RunningContender } from "../contenders/contender.ts";
import { isTrial } from "../harness/command.ts";
import { interleave } from "../harness/measure.ts";
import { progress } from "../harness/results.ts";
import type { Generator } from "../load/generator-process.ts";
import { type EventOnSale, type Measurement, type Mix, sellsOut } from "../load/plan.ts";

export type Participant = Pick<Contender, "name" | "mixes"> & RunningContender;

export interface Comparison {
  readonly generator: Generator;
  /** All servers that run, whatever mixes they take part in. */
  readonly participants: readonly Participant[];
  readonly seconds: number;
  readonly rounds: number;
}

export interface Setting {
  readonly mix: Mix;
  readonly connections: number;
}

export interface Round extends Omit<Measurement, "soldPairs"> {
  readonly cpu: (CpuShares & { readonly generator: number }) | null;
}

/** The rounds of one contender in one setting. */
export interface Row extends Setting {
  readonly name: string;
  readonly rounds: readonly Round[];
}

const WARM_UP_SECONDS = isTrial ? 0.02 : 0.5;
/** Where an event has more than two seats for each connection. */
const SEATS: Readonly<Partial<Record<Mix, number>>> = {
  wide: isTrial ? 200 : 50_000,
  "on-sale": isTrial ? 200 : 20_000,
  hot: isTrial ? 100 : 500,
};
const SEATS_STEP = 100;
/** A round starts after all servers together have used at most this share of a processor. */
const IDLE = { shareMax: 0.05, seconds: isTrial ? 0 : 0.25, triesMax: 80 };
/** Hot events sell out in a fraction of a second, so this mix has more rounds than the others. */
const HOT_ROUNDS_FACTOR = isTrial ? 1 : 3;

/** @returns A row for each contender that takes part in the mix. */
export async function compare(comparison: Comparison, setting: Setting): Promise<Row[]> {
  const { mix, connections } = setting;
  const { participants, rounds } = comparison;
  const players = participants.filter(({ mixes }) => mixes.includes(mix));
  const pids = participants.flatMap((participant) => participant.pids);
  const subjects = players.map((player) => async (round: number) => {
    progress(`${mix}, ${connections} connections, round ${round}: ${player.name}`);
    await waitUntilIdle(pids);
    return measureRound(comparison, player, { ...setting, round }).catch((cause: unknown) => {
      throw new Error(`${player.name}, ${mix}: no result`, { cause });
    });
  });
  const values = await interleave(subjects, mix === "hot" ? rounds * HOT_ROUNDS_FACTOR : rounds, 0);
  return players.map(({ name }, i) => ({ name, mix, connections, rounds: values[i]! }));
}

async function measureRound(
  { generator, seconds }: Comparison,
  { target, pids, openEvent, countSeats, settle }: Participant,
  { mix, connections, round: seed }: Setting & { readonly round: number },
): Promise<Round> {
  const event = await openEvent(seatCountOf(mix, connections));
  const durationMs = (seed === 0 ? WARM_UP_SECONDS : seconds) * 1_000;
  const before = readCpu(pids);
  const startedMs = performance.now();
  const plan = { target, events: [event], mix, connections, durationMs, seed };
  const measured = await generator.drive(plan);
  const lasted = (performance.now() - startedMs) / 1_000;
  const after = readCpu(pids);
  checkAnswers(mix, event, measured);
  if (countSeats !== undefined) checkSeats(mix, event, await countSeats(event));
  await settle?.();
  const { soldPairs: _, ...figures } = measured;
  if (before === null || after === null) return { ...figures, cpu: null };
  const shares = sharesBetween(before, after, { seconds: lasted, generator: measured.cpuSeconds });
  return { ...figures, cpu: { ...shares, generator: measured.cpuSeconds / lasted } };
}

function seatCountOf(mix: Mix, connections: number): number {
  return SEATS[mix] ?? Math.max(1, Math.ceil((connections * 2) / SEATS_STEP)) * SEATS_STEP;
}

/** Work that one server does when it is idle must not slow the round of another. */
async function waitUntilIdle(pids: readonly number[]): Promise<void> {
  for (let tries = 0; tries < IDLE.triesMax; tries++) {
    const before = readCpu(pids);
    await setTimeout(IDLE.seconds * 1_000);
    const after = readCpu(pids);
    if (before === null || after === null) return;
    if (after.server - before.server <= IDLE.shareMax * IDLE.seconds) return;
  }
}

function checkAnswers(mix: Mix, { seatIds }: EventOnSale, measured: Measurement): void {
  const { refused, soldPairs } = measured;
  if (!sellsOut(mix)) {
    if (refused > 0) throw new Error(`${refused} requests for a buyer's own seats were refused`);
    return;
  }
  if (new Set(soldPairs).size < soldPairs.length) throw new Error("a pair was sold twice");
  if (soldPairs.length < seatIds.length >> 1)
    throw new Error(`${soldPairs.length} pairs were sold`);
}

function checkSeats(mix: Mix, { seatIds }: EventOnSale, counts: ReadonlyMap<string, number>): void {
  const expected = sellsOut(mix) ? "sold" : "free";
  if (counts.size === 1 && counts.get(expected) === seatIds.length) return;
  const found = JSON.stringify([...counts]);
  throw new Error(`not all ${seatIds.length} seats are ${expected}: ${found}`);
}

// Processor time from Linux's `/proc`. It shows what limited a round: the server, the generator, or
// other processes. Other systems have no such figures.

/** Linux reports hundredths of a second to programs, whatever the kernel's tick rate is. */
const TICKS_PER_SECOND = 100;
const PARENT_FIELD = 1;
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

export interface CpuTimes {
  /** Seconds of the measured processes and their children. */
  readonly server: number;
  /** Seconds of each of their threads; the busiest one reaches its limit first. */
  readonly threads: ReadonlyMap<number, number>;
  /** Seconds that the processors of the machine were busy. */
  readonly machine: number;
}

/** Processor seconds per second of time, between two readings. */
interface CpuShares {
  readonly server: number;
  readonly busiestThread: number;
  /** Of all processes but the server and the generator. */
  readonly others: number;
}

/** @returns null where there is no `/proc`. */
export function readCpu(pids: readonly number[]): CpuTimes | null {
  if (process.platform !== "linux") return null;
  const threads = new Map<number, number>();
  for (const pid of withDescendants(pids)) {
    for (const thread of numbersIn(`/proc/${pid}/task`)) {
      const fields = statOf(`/proc/${pid}/task/${thread}`);
      const ticks = Number(fields[USER_FIELD] ?? 0) + Number(fields[SYSTEM_FIELD] ?? 0);
      threads.set(thread, ticks / TICKS_PER_SECOND);
    }
  }
  const server = [...threads.values()].reduce((sum, seconds) => sum + seconds, 0);
  return { server, threads, machine: machineSeconds() };
}

function withDescendants(pids: readonly number[]): number[] {
  const all = numbersIn("/proc").map((pid) => ({
    pid,
    parent: Number(statOf(`/proc/${pid}`)[PARENT_FIELD]),
  }));
  const found = [...pids];
  for (const pid of found) {
    found.push(...all.filter(({ parent }) => parent === pid).map((child) => child.pid));
  }
  return found;
}

/** The names in a folder that are numbers; none when the process has ended. */
function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    // The process has ended since it was listed.
    return [];
  }
}

/** The fields after the name, which is in parentheses and may contain anything. */
function statOf(folder: string): string[] {
  try {
    const text = readFileSync(`${folder}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // As above.
    return [];
  }
}

export function sharesBetween(
  before: CpuTimes,
  after: CpuTimes,
  { seconds, generator }: { readonly seconds: number; readonly generator: number },
): CpuShares {
  const perThread = [...after.threads].map(
    ([thread, busy]) => busy - (before.threads.get(thread) ?? 0),
  );
  const server = after.server - before.server;
  const machine = after.machine - before.machine;
  return {
    server: server / seconds,
    busiestThread: Math.max(0, ...perThread) / seconds,
    others: Math.max(0, machine - server - generator) / seconds,
  };
}

/** User, nice, system and interrupts: everything but idle and waiting. */
function machineSeconds(): number {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n");
  const [, user, nice, system, , , interrupt, softInterrupt] = line.split(/\s+/).map(Number);
  return (user! + nice! + system! + interrupt! + softInterrupt!) / TICKS_PER_SECOND;
}
