/**
 * Plays rounds: every contender once, then every contender again, so that what the machine does
 * meanwhile meets all of them. A round whose outcome is not exactly right ends the run.
 */
import { setTimeout } from "node:timers/promises";
import type { Contender, Running } from "../contenders/contender.ts";
import type { Generator } from "../load/generator-process.ts";
import { isSoldOut, type Measured, type Mix, type Plan } from "../load/plan.ts";
import { type CpuShares, readCpu, sharesBetween } from "./cpu.ts";
import { isTrial } from "./trial.ts";

export interface Playing {
  readonly contender: Contender;
  readonly running: Running;
}

export interface Setting {
  readonly mix: Mix;
  readonly connections: number;
}

export interface Length {
  readonly seconds: number;
  readonly rounds: number;
}

export interface Round extends Omit<Measured, "soldPairs"> {
  readonly cpu: (CpuShares & { readonly generator: number }) | null;
}

/** The rounds of one contender in one setting. */
export interface Row extends Setting {
  readonly name: string;
  readonly rounds: Round[];
}

const WARM_UP_SECONDS = isTrial ? 0.02 : 0.5;
/** Where it is not two for each connection. */
const SEATS: Readonly<Partial<Record<Mix, number>>> = {
  wide: isTrial ? 200 : 50_000,
  "on-sale": isTrial ? 200 : 20_000,
  hot: isTrial ? 100 : 500,
};
const SEATS_STEP = 100;
/** A round begins when all servers together took no more than this of a processor for so long. */
const CALM = { share: 0.05, seconds: isTrial ? 0 : 0.25, triesMax: 80 };
/** A hot show is sold out in a fraction of a second: so many of them for a round of the others. */
const HOT_SHOWS = isTrial ? 1 : 3;

export class Rounds {
  readonly #generator: Generator;
  readonly #length: Length;
  readonly #say: (text: string) => void;
  #seed = 0;
  /** Of all servers that run, whether they play or not. */
  #pids: readonly number[] = [];

  constructor(generator: Generator, length: Length, say: (text: string) => void) {
    this.#generator = generator;
    this.#length = length;
    this.#say = say;
  }

  /** @returns A row for each contender that plays the mix. */
  async play(contenders: readonly Playing[], setting: Setting): Promise<Row[]> {
    this.#pids = contenders.flatMap(({ running }) => running.pids);
    const able = contenders.filter(({ contender }) => contender.mixes.includes(setting.mix));
    const rows = able.map(({ contender }): Row => ({
      name: contender.name,
      ...setting,
      rounds: [],
    }));
    for (const playing of able) await this.#round(playing, setting, WARM_UP_SECONDS);
    const count = this.#length.rounds * (setting.mix === "hot" ? HOT_SHOWS : 1);
    for (let number = 1; number <= count; number++) {
      this.#say(`${setting.mix}, ${setting.connections} connections: round ${number}`);
      // There and back, so that nobody always comes after the same neighbour.
      const order = able.map((_, i) => i);
      for (const i of number % 2 === 1 ? order : order.toReversed()) {
        rows[i]!.rounds.push(await this.#round(able[i]!, setting, this.#length.seconds));
      }
    }
    return rows;
  }

  async #round({ contender, running }: Playing, setting: Setting, seconds: number): Promise<Round> {
    const { mix, connections } = setting;
    await this.#calm();
    const hall = await running.openHall(seatCountOf(setting));
    const plan = {
      target: running.target,
      halls: [hall],
      mix,
      connections,
      durationMs: seconds * 1_000,
    };
    const before = readCpu(running.pids);
    const startedMs = performance.now();
    const measured = await this.#drive(contender.name, { ...plan, seed: this.#seed++ });
    const lasted = (performance.now() - startedMs) / 1_000;
    const after = readCpu(running.pids);
    const { soldPairs: _, ...figures } = measured;
    const fault =
      (await running.findFault(hall, isSoldOut(mix) ? "sold" : "free")) ??
      answersFault(mix, measured, hall.seatIds.length >> 1);
    if (fault !== null) throw new Error(`${contender.name}, ${mix}: no result, since ${fault}`);
    await running.rest?.();
    if (before === null || after === null) return { ...figures, cpu: null };
    const generator = measured.cpuSeconds;
    const shares = sharesBetween(before, after, { seconds: lasted, generator });
    return { ...figures, cpu: { ...shares, generator: generator / lasted } };
  }

  /** What a server has put off until it is left alone burdens nobody else's round. */
  async #calm(): Promise<void> {
    for (let tries = 0; tries < CALM.triesMax; tries++) {
      const before = readCpu(this.#pids);
      await setTimeout(CALM.seconds * 1_000);
      const after = readCpu(this.#pids);
      if (before === null || after === null) return;
      if (after.server - before.server <= CALM.share * CALM.seconds) return;
    }
  }

  async #drive(name: string, plan: Plan): Promise<Measured> {
    try {
      return await this.#generator.drive(plan);
    } catch (error) {
      throw new Error(`${name}, ${plan.mix}: no result`, { cause: error });
    }
  }
}

function seatCountOf({ mix, connections }: Setting): number {
  return SEATS[mix] ?? Math.max(1, Math.ceil((connections * 2) / SEATS_STEP)) * SEATS_STEP;
}

/** Whether what the buyers were told can be true. */
function answersFault(mix: Mix, { refused, soldPairs }: Measured, pairs: number): string | null {
  if (!isSoldOut(mix)) {
    return refused === 0 ? null : `${refused} requests for a buyer's own seats were refused`;
  }
  if (new Set(soldPairs).size !== soldPairs.length) return "a pair of seats was sold twice";
  return soldPairs.length === pairs ? null : `${soldPairs.length} of ${pairs} pairs were sold`;
}
