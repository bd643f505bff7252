/**
 * v1 requests are not atomic: every entry is tried, and the failed ones are returned. The entries
 * become items of one v2 body, because a pair of seats may leave no single seat alone where each of
 * the two would. The items that a refusal names are left out and the rest is submitted again.
 */
import type { CommandKind, CommandOf } from "../../../engine/commands.ts";
import type { AnswerOf } from "../../../engine/decide.ts";
import type { Engine, Outcome } from "../../../engine/engine.ts";
import { findKey, type KeyedPlace } from "../../../engine/layout/composite-keys.ts";
import type { Layout } from "../../../engine/layout/layout.ts";
import { isGranted, type Refusal, Result } from "../../../engine/results.ts";

type Member = KeyedPlace["member"];

/** An entry of a v1 request, converted to an item of a v2 body. */
export interface Entry<Item> {
  /** Index in the request. */
  readonly position: number;
  readonly member: Member;
  readonly item: Item;
}

export type Items<Item> = Readonly<Record<Member, readonly Item[]>>;

type Send<Item> = (items: Items<Item>) => Outcome<unknown>;

export class Attempts<Item> {
  /** Positions of the entries that failed. */
  readonly failed = new Set<number>();
  readonly #turn: Turn;
  readonly #send: Send<Item>;

  /** @param send - Submits items in the turn. */
  constructor(turn: Turn, send: Send<Item>) {
    this.#turn = turn;
    this.#send = send;
  }

  /**
   * A seat that, with the others, would leave a seat alone is tried once more by itself.
   *
   * @returns A refusal that concerns the call and not its entries; null when every entry was tried.
   * After something was granted such a refusal fails the remaining entries instead.
   * Cost: one command for all entries that succeed, and one for each refusal, usually none.
   */
  run(entries: readonly Entry<Item>[]): Refusal | null {
    const alone: Entry<Item>[] = [];
    let left = entries;
    while (left.length > 0) {
      const outcome = this.#send(itemsOf(left));
      if (isGranted(outcome)) break;
      const named = namedBy(outcome, left);
      if (named.size === 0) {
        if (!this.#turn.isGranted) return outcome;
        for (const { position } of left) this.failed.add(position);
        break;
      }
      for (const entry of named) {
        if (outcome.refused === Result.ORPHAN_SEAT) alone.push(entry);
        else this.failed.add(entry.position);
      }
      left = left.filter((entry) => !named.has(entry));
    }
    for (const entry of alone) {
      const outcome = this.#send(itemsOf([entry]));
      if (isGranted(outcome)) continue;
      const isOfCall = namedBy(outcome, [entry]).size === 0;
      if (isOfCall && !this.#turn.isGranted) return outcome;
      this.failed.add(entry.position);
    }
    return null;
  }

  /** The failed entries in their original form and order. */
  failedOf<Given>(given: readonly Given[]): Given[] {
    return given.filter((_, position) => this.failed.has(position));
  }
}

function itemsOf<Item>(entries: readonly Entry<Item>[]): Items<Item> {
  return { seats: itemsIn(entries, "seats"), groupOfSeats: itemsIn(entries, "groupOfSeats") };
}

function itemsIn<Item>(entries: readonly Entry<Item>[], member: Member): Item[] {
  return entries.filter((entry) => entry.member === member).map(({ item }) => item);
}

const FIELD = /^(seats|groupOfSeats)\[(\d+)\]/;

/** The entries that the errors of a refusal name. */
function namedBy<Item>(
  { errors }: Refusal,
  entries: readonly Entry<Item>[],
): ReadonlySet<Entry<Item>> {
  const seats = entries.filter(({ member }) => member === "seats");
  const groupOfSeats = entries.filter(({ member }) => member === "groupOfSeats");
  const named = new Set<Entry<Item>>();
  for (const { field } of errors) {
    const [, member, index] = FIELD.exec(field) ?? [];
    const entry = (member === "seats" ? seats : groupOfSeats)[Number(index)];
    if (entry !== undefined) named.add(entry);
  }
  return named;
}

/**
 * Submits the commands of one request in one turn, so that they reach the disk together. After the
 * first granted command the log has room for the others, unless one is very long.
 */
export class Turn {
  readonly #engine: Engine;
  /** Whether a command was granted. */
  isGranted = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  submit<K extends CommandKind>(command: CommandOf<K>): Outcome<AnswerOf<K>> {
    const outcome = this.isGranted
      ? this.#engine.submitFollowUp(command)
      : this.#engine.submit(command);
    if (isGranted(outcome)) this.isGranted = true;
    return outcome;
  }
}

const ID = /^[1-9]\d{0,15}$/;

/**
 * The seat or area of a key: by its labels, or else by its id. With `useInternalIds` the metadata
 * give ids as keys.
 */
export function placeOf(layout: Layout, key: string, position: number): KeyedPlace {
  const id = ID.test(key) ? Number(key) : 0;
  return (
    findKey(layout, key.normalize("NFC")) ??
    (layout.seatIndexes.has(id) ? { member: "seats", id } : undefined) ??
    (layout.areaIndexes.has(id) ? { member: "groupOfSeats", id } : undefined) ??
    nowhere(position)
  );
}

/** Stands for a key that names nothing: an id that no layout has, different for each entry. */
export function nowhere(position: number): KeyedPlace {
  return { member: "seats", id: -1 - position };
}
