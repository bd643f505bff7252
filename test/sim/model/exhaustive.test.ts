/**
 * Every sequence of a few commands over two seats of a row and two sessions, to the engine and to
 * the model: small, but nothing in it is left out.
 */
import { expect, test } from "vitest";
import { SharingJournal, World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { differences, sameAnswer } from "./compare.ts";
import { Model, type ModelSeat, type Word } from "./model.ts";

interface Step {
  readonly word: Word | "wait";
  readonly session: string | null;
  /** Labels of the seats. */
  readonly seats: readonly string[];
}

/** `lock A 1+2`: a word, a session (- for none), the seats. */
function stepOf(text: string): Step {
  const [word, session, seats] = text.split(" ");
  return {
    word: word as Word,
    session: session === "-" ? null : session!,
    seats: (seats ?? "").split("+"),
  };
}

const SETS = ["1", "2", "1+2"];
const EVERYTHING = [
  ...["lock", "unlock", "sale"].flatMap((word) =>
    ["A", "B", "-"].flatMap((session) => SETS.map((seats) => `${word} ${session} ${seats}`)),
  ),
  ...["revertsale", "directsale", "block", "unblock"].flatMap((word) =>
    SETS.map((seats) => `${word} - ${seats}`),
  ),
  "wait",
].map(stepOf);

/** What buyers do; longer sequences of it. */
const SALE = [
  "lock A 1",
  "lock A 1+2",
  "lock B 2",
  "unlock A 1",
  "sale A 1+2",
  "revertsale - 1",
  "directsale - 2",
  "wait",
].map(stepOf);
const SALE_AND_BLOCK = [
  ...SALE,
  ...["unlock B 1+2", "sale B 2", "block - 1", "unblock - 1"].map(stepOf),
];
/** Wide, for a machine that has much else to do. */
const TIMEOUT_MS = 120_000;

test.each([
  { name: "a sale", steps: SALE, length: 5, orphanPrevention: false },
  { name: "a sale without orphans", steps: SALE, length: 4, orphanPrevention: true },
  { name: "a sale with blocking", steps: SALE_AND_BLOCK, length: 4, orphanPrevention: false },
  { name: "all commands", steps: EVERYTHING, length: 3, orphanPrevention: false },
  { name: "all commands without orphans", steps: EVERYTHING, length: 3, orphanPrevention: true },
])(
  "$name: engine and model agree over every sequence of $length",
  { timeout: TIMEOUT_MS },
  (scope) => {
    const both = new Both(scope.orphanPrevention);
    const ends = both.explore(scope.steps, scope.length, []);
    expect(ends).toBe(scope.steps.length ** scope.length);
  },
);

class Both {
  readonly #world: World;
  readonly #model = new Model();

  constructor(orphanPrevention: boolean) {
    this.#world = new World([section("Stalls", { A: "1 2" })], {
      settings: { orphanPrevention },
      journal: new SharingJournal(),
    });
    const { caller, eventId, labels, priceId, clock } = this.#world;
    const organization = caller.organizationId;
    this.#model.organizations.set(organization, {
      salesControl: true,
      bookingEnabled: true,
      orphanPrevention,
      holdTypes: new Map(),
    });
    const seats = labels.seats.map((label, x): ModelSeat => {
      const place = { id: labels.idOf(label), row: 1, section: 2, isTable: false, x };
      return { ...place, state: "ACTIVE", price: priceId, hold: null, updatedMs: clock.timeMs };
    });
    this.#model.events.set(eventId, {
      organization,
      schema: 1,
      status: "PUBLISHED",
      schemaGaCapacity: null,
      prices: new Set([priceId]),
      seats: new Map(seats.map((seat) => [seat.id, seat])),
      areas: new Map(),
    });
  }

  /** Leaves both as they were. @returns The number of sequences that it went through. */
  explore(steps: readonly Step[], length: number, before: readonly Step[]): number {
    if (length === 0) return 1;
    let ends = 0;
    for (const step of steps) {
      const path = [...before, step];
      const changed = this.#run(step, path);
      ends += this.explore(steps, length - 1, path);
      if (changed) this.#return(before);
    }
    return ends;
  }

  /** Back to two seats on sale, then along the path again. */
  #return(path: readonly Step[]): void {
    for (const label of ["1", "2"]) {
      for (const word of ["unlock", "revertsale", "unblock"] as const) {
        const state = this.#world.partition.state[this.#world.seat(`A${label}`)];
        if (state === 2) break;
        this.#run({ word, session: null, seats: [label] }, path);
      }
    }
    for (const step of path) this.#run(step, path);
  }

  /** One command to both. @returns Whether it may have changed anything. */
  #run({ word, session, seats }: Step, path: readonly Step[]): boolean {
    const { clock, eventId, journal, caller, engine } = this.#world;
    if (word === "wait") {
      clock.timeMs += 900_000;
      return true;
    }
    const chosen = seats.map((label) => ({ id: this.#world.labels.idOf(`A${label}`) }));
    const records = journal.kept.length;
    const outcome = this.#world.book(word, { sessionId: session, seats: chosen });
    const request = { word, organization: caller.organizationId, event: eventId, areas: [] };
    const answer = this.#model.book(
      { ...request, sessionId: session, holdType: null, seats: chosen },
      clock.timeMs,
    );
    const problem = sameAnswer(outcome, answer);
    const found = differences(engine.state, eventId, this.#model.events.get(eventId)!);
    if (problem !== null || found.length > 0) {
      throw new Error(`${problem}\n${found.join("\n")}\nafter ${JSON.stringify(path)}`);
    }
    const changed = journal.kept.length > records;
    // The journal of millions of commands is not needed.
    journal.kept.length = 0;
    return changed;
  }
}
