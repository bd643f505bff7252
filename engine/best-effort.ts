/** A lock of all that can be had of a request, by the decision of `lock`. */
import { assert } from "./assert.ts";
import { type SeatChoice, STATE_SELECTION, type StateSelection } from "./bodies.ts";
import {
  type BookingCommand,
  checkBooking,
  type CheckedBooking,
  type Inventory,
  judgeInventory,
  LOCK_REFUSALS,
  LOCK_RULES,
  newHold,
  objectOf,
} from "./booking.ts";
import { command } from "./command.ts";
import { NONE } from "./constants.ts";
import { RecordType } from "./records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  isRefused,
  type Refusal,
  refuse,
} from "./results.ts";
import { UUID_KEY } from "./schema.ts";
import type { State } from "./state.ts";

/** Locked objects as a selection, and the errors of the others. */
export interface PartialLock {
  readonly seats: readonly SeatChoice[];
  readonly groupOfSeats: readonly SeatChoice[];
  /** One error for each object that was not locked, in the order of the request. */
  readonly refused: readonly FieldError[];
}

export const BEST_EFFORT_COMMANDS = {
  lockBestEffort: command({
    members: { eventId: UUID_KEY, body: STATE_SELECTION },
    refusals: LOCK_REFUSALS,
    decide: decideBestEffort,
  }),
};

/** Cost: O(objects of the request) for each round; each but the last one takes an object out. */
function decideBestEffort(
  state: State,
  given: BookingCommand,
  timeMs: number,
): Decision<PartialLock> {
  const { caller, body } = given;
  const checked = checkBooking(state, given, timeMs, LOCK_RULES);
  if (isRefused(checked)) return checked;
  const rest = new Rest(body);
  let first: Refusal | null = null;
  let inventory = judge(state, checked, rest);
  while (isRefused(inventory)) {
    first ??= inventory;
    rest.takeOut(inventory.errors);
    if (rest.isEmpty) return refuse(first.refused, first.detail, rest.refused);
    inventory = judge(state, checked, rest);
  }
  const { event, holdType, visitor } = checked;
  const { seats, groupOfSeats } = rest.selection;
  const hold = newHold(state.partitionOf(event), holdType!, timeMs);
  return grant(
    {
      type: RecordType.MOVE,
      actor: caller.actor,
      partition: event.partition,
      move: inventory.move,
      ...hold,
      session: body.sessionId ?? "",
      seats: inventory.seats,
      areas: inventory.areas,
      ...(visitor === NONE ? {} : { visitor }),
    },
    { seats, groupOfSeats, refused: rest.refused },
  );
}

function judge(state: State, checked: CheckedBooking, rest: Rest): Inventory | Refusal {
  const judged = judgeInventory(state, checked, rest.selection, LOCK_RULES);
  if (!("refused" in judged)) return judged;
  assert(isRefused(judged), "a lock is granted with its inventory");
  return judged;
}

type Lists = Readonly<Record<"seats" | "groupOfSeats", readonly SeatChoice[]>>;

/** A request without the objects that were refused. */
class Rest {
  readonly #body: StateSelection;
  readonly #whole: Lists;
  /** By object of the request: its first error. */
  readonly #refused = new Map<string, FieldError>();
  selection: StateSelection & Lists;

  constructor(body: StateSelection) {
    this.#body = body;
    this.#whole = { seats: body.seats ?? [], groupOfSeats: body.groupOfSeats ?? [] };
    this.selection = { ...body, ...this.#whole };
  }

  get isEmpty(): boolean {
    const { seats, groupOfSeats } = this.selection;
    return seats.length + groupOfSeats.length === 0;
  }

  /** In the order of the request. */
  get refused(): readonly FieldError[] {
    return this.#names().flatMap((name) => this.#refused.get(name) ?? []);
  }

  /** @param errors - Of the present selection; their fields become those of the whole request. */
  takeOut(errors: readonly FieldError[]): void {
    const left = this.#names().filter((name) => !this.#refused.has(name));
    const places = { seats: [] as string[], groupOfSeats: [] as string[] };
    for (const name of left) places[listOf(name)].push(name);
    for (const error of errors) {
      const object = objectOf(error);
      const list = listOf(object);
      const name = places[list][Number(object.slice(list.length + 1, -1))]!;
      const field = name + error.field.slice(object.length);
      if (!this.#refused.has(name)) this.#refused.set(name, { ...error, field });
    }
    const kept = (list: keyof Lists) =>
      this.#whole[list].filter((_, i) => !this.#refused.has(`${list}[${i}]`));
    this.selection = { ...this.#body, seats: kept("seats"), groupOfSeats: kept("groupOfSeats") };
  }

  #names(): string[] {
    const { seats, groupOfSeats } = this.#whole;
    return [
      ...seats.map((_, i) => `seats[${i}]`),
      ...groupOfSeats.map((_, i) => `groupOfSeats[${i}]`),
    ];
  }
}

function listOf(object: string): keyof Lists {
  return object.startsWith("seats[") ? "seats" : "groupOfSeats";
}
