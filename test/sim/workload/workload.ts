/**
 * The engine and the model side by side, without disk and processes: the requests of the
 * simulation's clients go to both, and answers and inventory must be equal after each. Time
 * sometimes jumps, stands still or steps back.
 */
import { isDeepStrictEqual } from "node:util";
import type { Outcome } from "../../../engine/engine.ts";
import { Result } from "../../../engine/results.ts";
import { checkState } from "../../../engine/verify.ts";
import { Bench, BOOKING_KINDS, SharingJournal } from "../../support/engine.ts";
import { differences, sameAnswer } from "../model/compare.ts";
import { Model } from "../model/model.ts";
import { openHouses } from "../setup.ts";
import { type Ask, ask, type House, type Scene, type Submit } from "./ask.ts";
import { askOf } from "./asks.ts";
import { bagOf, type Group, GROUPS, LATER_GROUPS } from "./plan.ts";
import { Random } from "./random.ts";

const SWEEP_ONCE = 200;
const CHECK_STEPS = 500;
/** Mostly bookings, because they have the most rules. */
const BOOKINGS_TIMES = 5;
const bagWith = (groups: readonly Group[]) =>
  groups.flatMap((group) => {
    const times = group === "booking" ? BOOKINGS_TIMES : 1;
    return Array.from({ length: times }, () => bagOf([group])).flat();
  });
const BAG = bagWith(GROUPS);
const EARLIER_BAG = bagWith(GROUPS.filter((group) => !LATER_GROUPS.includes(group)));

export interface WorkloadOptions {
  /** Another way to the engine than a call. */
  readonly submitTo?: (bench: Bench) => Submit;
  /** As in `Scene`. */
  readonly hasGuards?: boolean;
}

export class Workload {
  readonly bench = new Bench(new SharingJournal());
  readonly model = new Model();
  /** Counts of each answer and each code of a refused object. */
  readonly tally = new Map<string, number>();
  readonly #seed: number;
  readonly #random: Random;
  readonly #hasGuards: boolean;
  readonly #houses: readonly House[];
  readonly #submit: Submit;
  #names = 0;

  constructor(
    seed: number,
    { submitTo = checkAndSubmit, hasGuards = false }: WorkloadOptions = {},
  ) {
    this.#seed = seed;
    this.#submit = submitTo(this.bench);
    this.#hasGuards = hasGuards;
    this.#random = new Random(seed);
    const must = (first: Ask) => {
      if (!this.#ask(first)) throw new Error(`${first.command.kind} was refused`);
    };
    this.#houses = openHouses({ must, scene: this.#scene([]) }, { seed, isBig: false });
  }

  /** So many random commands, and a sweep. @throws Error naming the step where they differ. */
  play(steps: number): void {
    for (let step = 0; step < steps; step++) {
      try {
        this.step();
      } catch (cause) {
        const where = `step ${step} of seed ${this.#seed} (SIM_SEED=${this.#seed})`;
        throw new Error(`${where}: ${String(cause)}`, { cause });
      }
      if (step % CHECK_STEPS === 0) checkState(this.bench.engine.state);
    }
    this.sweep();
  }

  /** One random command to both. @throws When they differ. */
  step(): void {
    this.#passTime();
    if (this.#random.once(SWEEP_ONCE)) return this.sweep();
    const scene = this.#scene(this.#houses);
    let drawn: Ask | null = null;
    while (drawn === null) {
      const bag = this.#hasGuards ? BAG : EARLIER_BAG;
      drawn = askOf(this.#random.pick(bag), scene, this.#random.pick(this.#houses));
    }
    this.#ask(drawn);
  }

  /** Both end all expired holds and are compared as a whole. */
  sweep(): void {
    const { engine } = this.bench;
    engine.expireAll();
    for (const eventId of this.model.events.keys()) this.model.expire(eventId, engine.nowMs());
    this.#compare(this.model.events.keys(), "sweep");
  }

  #scene(houses: readonly House[]): Scene {
    const nextName = () => String((this.#names += 1));
    const { state } = this.bench.engine;
    const { model } = this;
    const options = { hasLimits: false, hasGuards: this.#hasGuards };
    return { random: this.#random, model, state, houses, ...options, nextName };
  }

  #passTime(): void {
    const { clock } = this.bench;
    const random = this.#random;
    if (random.once(3)) clock.timeMs += random.below(20_000);
    if (random.once(60)) clock.timeMs += 600_000;
    if (random.once(60)) clock.timeMs -= 60_000;
  }

  /** @returns Whether it was granted. */
  #ask(asked: Ask): boolean {
    const { outcome, act } = ask(this.bench.engine, asked, this.#submit);
    const { expected, events } = act(this.model);
    const text = () => JSON.stringify(asked.command);
    if (asked.isForeign === true && outcome.refused === Result.OK) {
      throw new Error(`it was granted: ${text()}`);
    }
    if (expected !== undefined) {
      this.#count(expected.answer);
      for (const { code } of expected.refused) this.#count(code.split(" ")[0]!);
      const problem = sameAnswer(outcome, expected);
      if (problem !== null) throw new Error(`${problem}\nafter ${text()}`);
    }
    this.#compare(events, text());
    if (outcome.refused === Result.OK && hasBest(asked)) this.#count("best in a cart");
    return outcome.refused === Result.OK;
  }

  #count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  #compare(eventIds: Iterable<string>, request: string): void {
    const { state } = this.bench.engine;
    for (const eventId of eventIds) {
      const event = this.model.events.get(eventId);
      const found = event === undefined ? [] : differences(state, eventId, event);
      if (found.length > 0) throw new Error(`${found.join("\n")}\nafter ${request}`);
    }
  }
}

/** True for a cart in which `best` finds what an item before it leaves. */
function hasBest({ command }: Ask): boolean {
  if (command.kind !== "cart") return false;
  const { items } = command.body;
  return items.some(({ call, eventId }, at) => {
    return call === "best" && items.slice(0, at).some((earlier) => earlier.eventId === eventId);
  });
}

/** Each booking call must have the outcome of its check just before. */
function checkAndSubmit({ engine }: Bench): Submit {
  return (command) => {
    const isBooking = [...BOOKING_KINDS, "extend", "best", "lockBestEffort"].some(
      (kind) => kind === command.kind,
    );
    const checked = isBooking ? engine.check(command) : null;
    const outcome = engine.submit(command);
    if (checked === null || isDeepStrictEqual(shownOf(checked), shownOf(outcome))) return outcome;
    throw new Error(`the check of a call differs from the call: ${JSON.stringify(command)}`);
  };
}

/** The part of an outcome visible to a client. */
function shownOf(outcome: Outcome<unknown>): unknown {
  if (outcome.refused === Result.OK) return outcome.value;
  const { refused, detail, errors } = outcome;
  return { refused, detail, errors };
}
