/**
 * Three hosts of a cluster under load, whose leader is killed or paused, alone or together with
 * etcd's leader. After each fault the folder of the next leader is compared with the answers that
 * the clients got.
 */
import { Random } from "../../../server/onsale/random.ts";
import { ledgerDeviations, LedgerFold } from "../../support/ledger-check.ts";
import { sleep } from "../../support/server-process.ts";
import { type Campaign, missingPrograms, type Outcome, type Run, spreadMs } from "../campaign.ts";
import { Crowd } from "../support/crowd.ts";
import { Hosts } from "../support/hosts.ts";
import type { Scope } from "../support/scope.ts";
import { createHouse, type House } from "../support/serving.ts";

const FAULTS = ["kill", "pause", "both leaders", "hand over"] as const;
type Fault = (typeof FAULTS)[number];

const HOSTS = 3;
/** Of each kind; the hand-over is not a fault, so fewer of it are enough. */
const SHORT = { kill: 1, pause: 1, "both leaders": 0, "hand over": 1 };
const LONG = { kill: 50, pause: 50, "both leaders": 50, "hand over": 10 };
/** The holds of a store must not expire before its last check. */
const FAULTS_PER_STORE = 20;
const LINES = 8;
const ANSWERS_MAX = 300;
const DELAY_MS_MAX = 50;
/** Longer than the lease, so that another host leads. */
const PAUSE_MS = 4_000;
const EXIT_LEADERSHIP_LOST = 76;

export const cluster: Campaign = {
  name: "cluster",
  shows: "the leader of three hosts is lost under load: no answered change is lost or doubled",
  missing: () => missingPrograms("etcd"),
  run,
};

class Tally {
  readonly faults: Record<Fault, number> = { kill: 0, pause: 0, "both leaders": 0, "hand over": 0 };
  readonly gapMs: Record<Fault, number[]> = {
    kill: [],
    pause: [],
    "both leaders": [],
    "hand over": [],
  };
  readonly violations: string[] = [];
  acknowledged = 0;
}

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const random = new Random(seed);
  const counts = isLong ? LONG : SHORT;
  const plan = FAULTS.flatMap((fault) => Array.from({ length: counts[fault] }, () => fault));
  const order = plan.map((fault) => ({ fault, at: random.below(1_000_000) }));
  order.sort((a, b) => a.at - b.at);
  const tally = new Tally();
  for (let from = 0; from < order.length; from += FAULTS_PER_STORE) {
    const cell = await Cell.open(scope, seed + from, tally);
    for (const { fault } of order.slice(from, from + FAULTS_PER_STORE)) {
      await cell.cycle(fault, random);
      const done = Object.values(tally.faults).reduce((sum, count) => sum + count, 0);
      tell(`${done} of ${order.length} faults`);
    }
    await cell.finish();
  }
  const gaps = FAULTS.filter((fault) => tally.faults[fault] > 0).map((fault) => [
    `${fault}: times, and without answers`,
    `${tally.faults[fault]}, ${spreadMs(tally.gapMs[fault])}`,
  ]);
  return {
    figures: {
      ...(Object.fromEntries(gaps) as Record<string, string>),
      "operations acknowledged": tally.acknowledged,
      "lost or doubled": tally.violations.length,
    },
    violations: tally.violations,
  };
}

/** Three hosts on members of etcd of their own. */
class Cell {
  readonly #hosts: Hosts;
  readonly #house: House;
  readonly #tally: Tally;
  readonly #seed: number;
  readonly #fold = new LedgerFold();
  #cycles = 0;
  #crowds = 0;

  private constructor(parts: Parts) {
    this.#hosts = parts.hosts;
    this.#house = parts.house;
    this.#tally = parts.tally;
    this.#seed = parts.seed;
  }

  static async open(scope: Scope, seed: number, tally: Tally): Promise<Cell> {
    const { hosts, made: house } = await Hosts.start(scope, HOSTS, createHouse);
    return new Cell({ hosts, house, tally, seed });
  }

  /** Load, a fault, the next leader, and the check of its folder. */
  async cycle(fault: Fault, random: Random): Promise<void> {
    this.#cycles += 1;
    this.#tally.faults[fault] += 1;
    const hosts = this.#hosts;
    const old = await hosts.untilFollowing();
    const crowd = this.#crowd(old);
    await Promise.race([crowd.answered(random.between(1, ANSWERS_MAX)), crowd.ended]);
    await sleep(random.below(DELAY_MS_MAX));
    const startedMs = performance.now();
    const back = await this.#hurt(fault, old);
    const next = await hosts.leader(old);
    this.#tally.gapMs[fault].push(performance.now() - startedMs);
    await back();
    await crowd.ended;
    for (const failure of crowd.failures) this.#violate(fault, failure);
    this.#check(fault, next);
    // The next leader works, and the old one follows it.
    const after = this.#crowd(next);
    await Promise.race([after.answered(LINES), after.ended]);
    await after.stop();
    for (const failure of after.failures) this.#violate(fault, failure);
    hosts.spawn(old);
    await hosts.untilFollowing();
    this.#check(fault, old);
  }

  async finish(): Promise<void> {
    const { lock, unlock, sale } = this.#fold.acknowledged;
    this.#tally.acknowledged += lock + unlock + sale;
    for (let number = 0; number < HOSTS; number++) {
      const { code } = await this.#hosts.end(number, "SIGTERM");
      if (code !== 0) this.#tally.violations.push(`an orderly end exits with ${code}`);
    }
    await this.#hosts.members.end();
  }

  /** @returns What is to be done once another host leads. */
  async #hurt(fault: Fault, old: number): Promise<() => Promise<void>> {
    const hosts = this.#hosts;
    const { members } = hosts;
    switch (fault) {
      case "kill":
        await hosts.end(old, "SIGKILL");
        return () => Promise.resolve();
      case "pause":
        hosts.signal(old, "SIGSTOP");
        return async () => {
          await sleep(PAUSE_MS);
          hosts.signal(old, "SIGCONT");
          const { code } = await hosts.ended(old);
          if (code !== EXIT_LEADERSHIP_LOST) this.#violate(fault, `it exits with ${code}`);
        };
      case "both leaders": {
        const leading = await members.leader();
        await Promise.all([members.kill(leading), hosts.end(old, "SIGKILL")]);
        return () => Promise.resolve(members.spawn(leading));
      }
      case "hand over": {
        const { code } = await hosts.end(old, "SIGTERM");
        if (code !== 0) this.#violate(fault, `it exits with ${code}`);
        return () => Promise.resolve();
      }
      default:
        throw new Error(`no such fault: ${String(fault satisfies never)}`);
    }
  }

  #crowd(number: number): Crowd {
    const url = this.#hosts.urlOf(number);
    this.#crowds += 1;
    // No two crowds may have the same sessions.
    const seed = this.#seed * 1_000 + this.#crowds;
    return new Crowd({ url, house: this.#house, fold: this.#fold, seed, lines: LINES });
  }

  #check(fault: Fault, number: number): void {
    try {
      const { state } = this.#hosts.stateOf(number);
      const deviations = ledgerDeviations(this.#fold, state, this.#house.eventId);
      for (const line of deviations) this.#violate(fault, `host ${number}: ${line}`);
    } catch (error) {
      this.#violate(fault, `host ${number}: ${String(error)}`);
    }
  }

  #violate(fault: Fault, what: string): void {
    this.#tally.violations.push(`seed ${this.#seed}, ${this.#cycles}, ${fault}: ${what}`);
  }
}

interface Parts {
  readonly hosts: Hosts;
  readonly house: House;
  readonly tally: Tally;
  readonly seed: number;
}
