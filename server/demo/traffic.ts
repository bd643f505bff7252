/**
 * `--demo-traffic`: buyers who hold seats, hesitate, and buy them, give them back, or let the hold
 * run out. They decide by a seed and by what is free, in steps of equal length, so that the same
 * seed plays the same sale. They use the commands that every caller uses.
 */
import { assert } from "../../engine/assert.ts";
import type { EventRow } from "../../engine/catalog.ts";
import type { BookingKind, CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { ActorKind } from "../../engine/records.ts";
import { isGranted } from "../../engine/results.ts";
import type { StateSelection } from "../../engine/shapes/bodies.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import { Random } from "../onsale/random.ts";
import { addHoldType, openArena, WEB_HOLD } from "./arena.ts";
import type { Demo } from "./demo.ts";

const SEED = 17;
export const STEP_MS = 250;
const STEPS_PER_SECOND = 1_000 / STEP_MS;
/** Buyers who arrive per second: while everything is free, and in addition always. */
const ARRIVALS = { whileFree: 5, always: 0.4 };
/** Seconds between a hold and what the buyer does then. */
const HESITATION = { from: 4, to: 60 };
const BUYS = 0.68;
const GIVES_UP = 0.12;
const WANTS_TO_STAND = 0.12;
const SALE_AT_THE_BOX_OFFICE = 0.03;
const RETURNED_TICKET = 0.02;
/** How many of the buyers have bought before the sale opens. */
const PRESALE_BUYERS = 900;
/** Seats that a buyer looks for; a number that is wanted more often is there more often. */
const PARTY_SIZES = [1, 2, 2, 2, 2, 3, 4, 4, 5, 6];
/** Rows that a buyer looks at before giving up. */
const LOOKS = 6;

type Choice = Pick<StateSelection, "seats" | "groupOfSeats">;

/** A buyer who holds something. */
interface Waiting {
  readonly sessionId: string;
  readonly choice: Choice;
  readonly dueStep: number;
  readonly does: "sale" | "unlock";
}

export class DemoTraffic {
  readonly event: EventRow;
  readonly #engine: Engine;
  readonly #caller: Caller;
  readonly #random: Random;
  #waiting: Waiting[] = [];
  #step = 0;

  /** Creates the event that is sold, when there is none. */
  constructor(engine: Engine, { organization }: Demo, seed = SEED) {
    const { id: organizationId, tenantId } = organization;
    const actor = { kind: ActorKind.ORGANIZATION, id: organizationId };
    const caller = { actor, tenantId, organizationId };
    const submit = <K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> => {
      const outcome = engine.submit(command);
      assert(isGranted(outcome), "the demo breaks no rule");
      return outcome.value;
    };
    this.#engine = engine;
    this.#caller = caller;
    addHoldType(organization, caller, submit);
    const { event, isNew } = openArena(engine, caller, submit);
    this.event = event;
    // A sale that goes on after a restart does not repeat the wishes of its beginning.
    this.#random = new Random(isNew ? seed : seed + engine.sequence);
    if (isNew) this.#presale();
  }

  /** @returns Ends it. */
  start(): () => void {
    const timer = setInterval(() => this.step(), STEP_MS);
    return () => clearInterval(timer);
  }

  /** What happens within `STEP_MS`. */
  step(): void {
    this.#step += 1;
    const due = this.#waiting.filter(({ dueStep }) => dueStep <= this.#step);
    this.#waiting = this.#waiting.filter(({ dueStep }) => dueStep > this.#step);
    for (const { sessionId, choice, does } of due) this.#submit(does, { sessionId, ...choice });
    const { seatsIn, layout } = this.#partition;
    const freeShare = seatsIn[SeatState.ACTIVE]! / layout.seatCount;
    const perStep = (ARRIVALS.always + ARRIVALS.whileFree * freeShare) / STEPS_PER_SECOND;
    const arrivals = Math.floor(perStep) + (this.#random.chance(perStep % 1) ? 1 : 0);
    for (let i = 0; i < arrivals; i++) this.#arrive();
  }

  get #partition(): Partition {
    return this.#engine.state.partitionOf(this.event);
  }

  #presale(): void {
    for (let i = 0; i < PRESALE_BUYERS; i++) {
      const choice = this.#choose();
      if (choice !== null) this.#submit("directsale", { sessionId: "presale", ...choice });
    }
  }

  #arrive(): void {
    const random = this.#random;
    const choice = this.#choose();
    if (choice === null) return;
    if (random.chance(SALE_AT_THE_BOX_OFFICE)) {
      this.#submit("directsale", { sessionId: "box-office", ...choice });
      return;
    }
    const sessionId = `web-${random.next().toString(36)}`;
    const hold = { sessionId, ...choice, holdType: WEB_HOLD.name };
    const seconds = random.between(HESITATION.from, HESITATION.to);
    const wish = random.below(1_000) / 1_000;
    if (!this.#submit("lock", hold) || wish >= BUYS + GIVES_UP) return;
    const does = wish < BUYS ? "sale" : "unlock";
    const dueStep = this.#step + seconds * STEPS_PER_SECOND;
    this.#waiting.push({ sessionId, choice, dueStep, does });
    if (random.chance(RETURNED_TICKET)) this.#returnTickets();
  }

  /** Somebody brings back what the presale sold. */
  #returnTickets(): void {
    const { layout, state } = this.#partition;
    const { seats } = layout.rows[this.#random.below(layout.rows.length)]!;
    const sold = seats.filter((seat) => state[seat] === SeatState.SOLD).slice(0, 2);
    if (sold.length === 0) return;
    const ids = Array.from(sold, (seat) => ({ id: layout.seatIds[seat]! }));
    this.#submit("revertsale", { sessionId: "box-office", seats: ids });
  }

  /** @returns Neighbours of one row, or places to stand; null when nothing suitable was found. */
  #choose(): Choice | null {
    const random = this.#random;
    const { layout, areas } = this.#partition;
    const count = PARTY_SIZES[random.below(PARTY_SIZES.length)]!;
    if (random.chance(WANTS_TO_STAND)) {
      const area = random.below(layout.areas.length);
      if (areas.places(area, SeatState.ACTIVE) < count) return null;
      return { groupOfSeats: [{ id: layout.areas[area]!.id, capacity: count }] };
    }
    for (let look = 0; look < LOOKS; look++) {
      const { rows } = layout.sections[random.below(layout.sections.length)]!;
      // Rows in front fill up first.
      const row = Math.min(random.below(rows.length), random.below(rows.length));
      const seats = this.#neighboursIn(rows[row]!, count);
      if (seats !== null) return { seats: seats.map((seat) => ({ id: layout.seatIds[seat]! })) };
    }
    return null;
  }

  /** From one end of the free seats, so that no single seat stays between. */
  #neighboursIn(rowIndex: number, count: number): number[] | null {
    const { layout, state } = this.#partition;
    const { seats } = layout.rows[rowIndex]!;
    const first = seats.findIndex((seat) => state[seat] === SeatState.ACTIVE);
    if (first < 0) return null;
    const start = this.#random.chance(0.5) ? first : this.#random.below(seats.length);
    const wanted = [...seats.subarray(start, start + count)];
    const areFree = wanted.every((seat) => state[seat] === SeatState.ACTIVE);
    return wanted.length === count && areFree ? wanted : null;
  }

  /** @returns Whether it was granted. Who is refused goes away. */
  #submit(kind: BookingKind, body: StateSelection): boolean {
    const caller = this.#caller;
    return isGranted(this.#engine.submit({ kind, caller, eventId: this.event.id, body }));
  }
}
