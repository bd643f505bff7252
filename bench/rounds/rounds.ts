/** The rounds of `npm run bench`. A round with a wrong outcome ends the benchmark. */
import type { Contender, RunningContender } from "../contenders/contender.ts";
import { isTrial } from "../harness/command.ts";
import {
  type CpuShares,
  interleave,
  readCpu,
  sharesBetween,
  waitUntilIdle,
} from "../harness/measure.ts";
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

export interface Round extends Omit<Measurement, "soldPairs" | "missed"> {
  readonly cpu: (CpuShares & { readonly generator: number }) | null;
}

/** The rounds of one contender in one setting. */
export interface Row extends Setting {
  readonly name: string;
  readonly rounds: readonly Round[];
}

const WARM_UP_SECONDS = isTrial ? 0.02 : 0.5;
/** Seats of an event in the mixes with more than two for each connection. */
const SEATS: Readonly<Partial<Record<Mix, number>>> = {
  wide: isTrial ? 200 : 50_000,
  "on-sale": isTrial ? 200 : 20_000,
  hot: isTrial ? 100 : 500,
};
const SEATS_STEP = 100;
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
  { target, pids, openEvent, countSeats }: Participant,
  { mix, connections, round: seed }: Setting & { readonly round: number },
): Promise<Round> {
  const event = await openEvent(seatCountOf(mix, connections));
  const durationMs = (seed === 0 ? WARM_UP_SECONDS : seconds) * 1_000;
  const before = readCpu(pids);
  const startedMs = performance.now();
  const plan = { target, event, mix, connections, durationMs, seed };
  const measured = await generator.drive(plan);
  const lasted = (performance.now() - startedMs) / 1_000;
  const after = readCpu(pids);
  checkAnswers(mix, event, measured);
  if (countSeats !== undefined) checkSeats(mix, event, await countSeats(event));
  const { soldPairs: _, missed: __, ...figures } = measured;
  if (before === null || after === null) return { ...figures, cpu: null };
  const shares = sharesBetween(before, after, { seconds: lasted, generator: measured.cpuSeconds });
  return { ...figures, cpu: { ...shares, generator: measured.cpuSeconds / lasted } };
}

function seatCountOf(mix: Mix, connections: number): number {
  return SEATS[mix] ?? Math.max(1, Math.ceil((connections * 2) / SEATS_STEP)) * SEATS_STEP;
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
