/** Three hosts of a cluster under load, with faults one after the other and their checks. */
import type { Random } from "../../../../server/onsale/random.ts";
import { seatFaults } from "../../../support/linearizable.ts";
import { ledgerDeviations, LedgerFold } from "../../../support/ledger-check.ts";
import { sleep } from "../../../support/server-process.ts";
import { Crowd } from "../crowd.ts";
import type { Scope } from "../scope.ts";
import { createHouse, type House } from "../serving.ts";
import { HOSTS, Hosts } from "./hosts.ts";
import { SeatPlayers } from "./seat-players.ts";

export const FAULTS = [
  "kill",
  "pause",
  "both leaders",
  "partition",
  "power cut of one",
  "power cut of all",
  "hand over",
] as const;
export type Fault = (typeof FAULTS)[number];

const LINES = 8;
const ANSWERS_MAX = 300;
const DELAY_MS_MAX = 50;
/** Longer than the lease, so that another host leads. */
const PAUSE_MS = 4_000;
/** A host stays cut off so long under its successor: clients reach both meanwhile. */
const CUT_MS = 1_000;
const EXIT_LEADERSHIP_LOST = 76;
/** The row of seats that some clients book again and again. */
const ROW = 50;
const ALL: readonly number[] = Array.from({ length: HOSTS }, (_, number) => number);

/** The sum over all cells. */
export class Tally {
  /** From each fault until a host took requests. */
  readonly gapMs = new Map<Fault, number[]>(FAULTS.map((fault) => [fault, []]));
  readonly violations: string[] = [];
  acknowledged = 0;
  /** Bookings and reads of single seats, whose order is checked. */
  seatCalls = 0;
}

export class Cell {
  readonly #hosts: Hosts;
  readonly #house: House;
  readonly #players: SeatPlayers;
  readonly #tally: Tally;
  readonly #seed: number;
  readonly #fold = new LedgerFold();
  readonly #begun: { readonly atMs: number; readonly fault: Fault }[] = [];
  #crowds = 0;

  private constructor(parts: Parts) {
    this.#hosts = parts.hosts;
    this.#house = parts.house;
    this.#players = parts.players;
    this.#tally = parts.tally;
    this.#seed = parts.seed;
  }

  static async open(scope: Scope, seed: number, tally: Tally): Promise<Cell> {
    const { hosts, made } = await Hosts.start(scope, async (server) => ({
      house: await createHouse(server),
      row: await createHouse(server, ROW, "Row"),
    }));
    const players = new SeatPlayers({ urls: hosts.urls, house: made.row, seed });
    return new Cell({ hosts, house: made.house, players, tally, seed });
  }

  /** Load, a fault, the next leader, and the check of its folder. */
  async cycle(fault: Fault, random: Random): Promise<void> {
    const hosts = this.#hosts;
    const old = await hosts.untilFollowing();
    this.#begun.push({ atMs: performance.now(), fault });
    this.#players.begin();
    const crowd = this.#crowd(old);
    await Promise.race([crowd.answered(random.between(1, ANSWERS_MAX)), crowd.ended]);
    await sleep(random.below(DELAY_MS_MAX));
    const startedMs = performance.now();
    const back = await this.#hurt(fault, old);
    const next = await hosts.leader(fault === "power cut of all" ? -1 : old);
    this.#tally.gapMs.get(fault)!.push(performance.now() - startedMs);
    await back();
    await Promise.all([crowd.ended, this.#players.end()]);
    for (const failure of crowd.failures) this.#violate(failure);
    this.#check(next);
    // The next leader works, and the old one follows it.
    const after = this.#crowd(next);
    await Promise.race([after.answered(LINES), after.ended]);
    await after.stop();
    for (const failure of after.failures) this.#violate(failure);
    if (!hosts.isRunning(old)) hosts.spawn(old);
    await hosts.untilFollowing();
    for (const number of ALL) this.#check(number);
    this.#compareStates();
  }

  async finish(): Promise<void> {
    const { lock, unlock, sale } = this.#fold.acknowledged;
    const { history, failures } = this.#players;
    this.#tally.acknowledged += lock + unlock + sale;
    this.#tally.seatCalls += history.length;
    for (const failure of failures) this.#violate(failure);
    for (const fault of seatFaults(history)) {
      const begun = this.#begun.map(({ atMs, fault: kind }) => `${kind} ${Math.round(atMs)}`);
      this.#violate(`${fault}; begun: ${begun.join(", ")}`);
    }
    for (const number of ALL) {
      const { code } = await this.#hosts.end(number, "SIGTERM");
      if (code !== 0) this.#violate(`an orderly end exits with ${code}`);
    }
    await this.#hosts.members.end();
  }

  /** @returns What is to be done once another host leads. */
  async #hurt(fault: Fault, old: number): Promise<() => Promise<void>> {
    const hosts = this.#hosts;
    const { members, sites } = hosts;
    const done = () => Promise.resolve();
    switch (fault) {
      case "kill":
        await hosts.end(old, "SIGKILL");
        return done;
      case "pause":
        hosts.signal(old, "SIGSTOP");
        return async () => {
          await sleep(PAUSE_MS);
          hosts.signal(old, "SIGCONT");
          await this.#mustStepDown(old);
        };
      case "both leaders": {
        const leading = await members.leader();
        await Promise.all([members.kill(leading), hosts.end(old, "SIGKILL")]);
        return async () => members.spawn(leading);
      }
      case "partition":
        sites.cut(old);
        return async () => {
          await sleep(CUT_MS);
          sites.heal(old);
          await this.#mustStepDown(old);
        };
      case "power cut of one":
        await hosts.cutPower([old]);
        return async () => hosts.restorePower(old);
      case "power cut of all":
        await hosts.cutPower(ALL);
        for (const number of ALL) hosts.restorePower(number);
        for (const number of ALL) hosts.spawn(number);
        return done;
      case "hand over": {
        const { code } = await hosts.end(old, "SIGTERM");
        if (code !== 0) this.#violate(`it exits with ${code}`);
        return done;
      }
      default:
        throw new Error(`no such fault: ${String(fault satisfies never)}`);
    }
  }

  async #mustStepDown(old: number): Promise<void> {
    const { code } = await this.#hosts.ended(old);
    if (code !== EXIT_LEADERSHIP_LOST) this.#violate(`it exits with ${code}`);
  }

  #crowd(number: number): Crowd {
    const url = this.#hosts.urls[number]!;
    this.#crowds += 1;
    // No two crowds may have the same sessions.
    const seed = this.#seed * 1_000 + this.#crowds;
    return new Crowd({ url, house: this.#house, fold: this.#fold, seed, lines: LINES });
  }

  #check(number: number): void {
    try {
      const { state } = this.#hosts.stateOf(number);
      const deviations = ledgerDeviations(this.#fold, state, this.#house.eventId);
      for (const line of deviations) this.#violate(`host ${number}: ${line}`);
    } catch (error) {
      this.#violate(`host ${number}: ${String(error)}`);
    }
  }

  #compareStates(): void {
    const digests = ALL.map((number) => this.#hosts.stateOf(number).digest);
    if (new Set(digests).size > 1) this.#violate(`the hosts have ${digests.join(", ")}`);
  }

  #violate(what: string): void {
    const { length } = this.#begun;
    const { fault } = this.#begun.at(-1)!;
    this.#tally.violations.push(`seed ${this.#seed}, ${length}, ${fault}: ${what}`);
  }
}

interface Parts {
  readonly hosts: Hosts;
  readonly house: House;
  readonly players: SeatPlayers;
  readonly tally: Tally;
  readonly seed: number;
}
