/** v1 booking: entries by composite key, each tried; no sessions and no hold types. */
import type { AssignmentItem, SeatChoice } from "../../engine/bodies.ts";
import type { AnswerOf, CommandKind, CommandOf } from "../../engine/commands.ts";
import { OBJECTS_PER_REQUEST_MAX } from "../../engine/constants.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import { findKey, type KeyedPlace } from "../../engine/layout/labels.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import { ownEvent, refuseEvent } from "../../engine/queries/access.ts";
import { isGranted, isRefused, type Refusal, Result } from "../../engine/results.ts";
import {
  ANYTHING,
  BOOLEAN,
  CAPACITY,
  integer,
  list,
  LOCAL_DATE_TIME,
  LONG,
  NAME,
  NULL,
  number,
  object,
  optional,
  orNull,
  TEXT,
  type TypeOf,
  UUID,
  whenSet,
} from "../../engine/schema.ts";
import { DONE } from "../api/entities.ts";
import { type QueryOf, type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import { submit } from "../api/router.ts";
import { answer, type Problem, type Refused, REPLIES, TRUE } from "../http/answers.ts";
import { EVENT_ID } from "./handling.ts";
import { BODY_BYTES, OF_LISTS } from "../http/limits.ts";

// v1 requests are not atomic: every entry is tried, and the failed ones are returned. The entries
// become items of one v2 body, because a pair of seats may leave no single seat alone where each of
// the two would. The items that a refusal names are left out and the rest is submitted again.

type Member = KeyedPlace["member"];

/** An entry of a v1 request, converted to an item of a v2 body. */
interface Entry<Item> {
  /** Index in the request. */
  readonly position: number;
  readonly member: Member;
  readonly item: Item;
}

export type Items<Item> = Readonly<Record<Member, readonly Item[]>>;

type Send<Item> = (items: Items<Item>) => Outcome<unknown>;

class Attempts<Item> {
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
class Turn {
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
function placeOf(layout: Layout, key: string, position: number): KeyedPlace {
  const id = ID.test(key) ? Number(key) : 0;
  return (
    findKey(layout, key) ??
    (layout.seatIndexes.has(id) ? { member: "seats", id } : undefined) ??
    (layout.areaIndexes.has(id) ? { member: "groupOfSeats", id } : undefined) ??
    nowhere(position)
  );
}

/** Stands for a key that names nothing: an id that no layout has, different for each entry. */
function nowhere(position: number): KeyedPlace {
  return { member: "seats", id: -1 - position };
}

// What the rows of v1 share. v1 is a translation onto the commands of the engine.

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1_000;

export const LEGACY = {
  tag: "Legacy v1",
  access: Access.LEGACY,
  durable: true,
  isLegacy: true,
};

export const LIST_QUERY = {
  limit: {
    shape: integer({ minimum: 1, maximum: LIMIT_MAX }),
    description: `At most this many, 1 to ${LIMIT_MAX}.`,
    default: LIMIT_DEFAULT,
  },
  offset: {
    shape: integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    description: "Leave out this many.",
    default: 0,
  },
};

export type ListQuery = QueryOf<typeof LIST_QUERY>;

/** The part of a list that the query asks for. */
export function partOf<Row>(rows: readonly Row[], { offset, limit }: ListQuery): readonly Row[] {
  return rows.slice(offset, offset + limit);
}

// The shapes of bodies and answers of v1.

/** A key that names nothing, such as an empty one, fails by itself. */
const COMPOSITE_KEY = TEXT;

const SELECTION = object({ compositeKey: COMPOSITE_KEY, capacity: optional(CAPACITY) });
type Selection = TypeOf<typeof SELECTION>;

/** The body of a booking. */
const BOOKED = list(SELECTION, { minItems: 1, maxItems: OBJECTS_PER_REQUEST_MAX });
const SELECTIONS = list(SELECTION);

const PRICE_ASSIGNMENT = object({
  compositeKey: COMPOSITE_KEY,
  capacity: optional(CAPACITY),
  /** The id of the price. */
  price: LONG,
  properties: optional(ANYTHING),
});
type PriceAssignment = TypeOf<typeof PRICE_ASSIGNMENT>;
const PRICE_ASSIGNMENTS = list(PRICE_ASSIGNMENT);

const EVENT_MEMBERS = {
  start: LOCAL_DATE_TIME,
  endDate: optional(LOCAL_DATE_TIME),
  killAfter: optional(LOCAL_DATE_TIME),
  name: NAME,
  schemaId: LONG,
};
export const NEW_EVENT = object({ id: optional(NULL), ...EVENT_MEMBERS });
export const CHANGED_EVENT = object({
  ...EVENT_MEMBERS,
  id: UUID,
  start: optional(LOCAL_DATE_TIME),
  name: optional(NAME),
  schemaId: optional(LONG),
});
export const EVENT = object({
  ...EVENT_MEMBERS,
  endDate: LOCAL_DATE_TIME,
  killAfter: whenSet(LOCAL_DATE_TIME),
  id: UUID,
});

export const SCHEMA = object({
  id: LONG,
  capacity: orNull(integer({ minimum: 0 })),
  name: TEXT,
  venueId: LONG,
  eventId: orNull(UUID),
});

/** A composite key; with `useInternalIds` the Long id as text. */
const KEY = TEXT;
const INDEX = integer({ minimum: 0 });

const METADATA_SEAT = object({
  key: KEY,
  name: TEXT,
  x: whenSet(number()),
  y: whenSet(number()),
  ix: INDEX,
  iy: INDEX,
});
const METADATA_ROW = object({ key: KEY, name: TEXT, seats: list(METADATA_SEAT) });
export const METADATA = object({
  sectors: list(
    object({
      key: KEY,
      name: TEXT,
      x: whenSet(number()),
      y: whenSet(number()),
      width: whenSet(number()),
      height: whenSet(number()),
      angle: whenSet(number()),
      guid: UUID,
      id: LONG,
      rows: list(METADATA_ROW),
      shapes: list(object({ id: whenSet(TEXT) })),
      labelOffsetX: whenSet(number()),
      labelOffsetY: whenSet(number()),
      labelStyle: whenSet(ANYTHING),
      labelVisible: whenSet(BOOLEAN),
    }),
  ),
});

type Kind = "lock" | "sale" | "unlock";

export const LEGACY_BOOKING_ROUTES: readonly Route[] = [
  bookingRoute("lock"),
  bookingRoute("sale"),
  bookingRoute("unlock"),
];

function bookingRoute(kind: Kind): Route {
  return route(LEGACY, `POST /api/private/v1.0/booking/${kind}`, {
    query: { id: EVENT_ID },
    eventsOf: ({ id }) => [id],
    body: BOOKED,
    // A key has three labels: a thousand long ones take more than the ids of v2.
    bodyBytesMax: BODY_BYTES.keys,
    yields: kind === "lock",
    answers: { 200: SELECTIONS },
    problems: [400, 402, 403],
    handle: ({ services, caller, query, body: given }) => {
      const { engine } = services;
      const event = ownEvent(engine.state, caller, query.id);
      if (event === null) return refuseEvent();
      const { layout } = engine.state.partitionOf(event);
      const entries = given.map((selection, position) => entryOf(layout, selection, position));
      const turn = new Turn(engine);
      const attempts = new Attempts<SeatChoice>(turn, (items) =>
        turn.submit({ kind, caller, eventId: event.id, body: items }),
      );
      for (const round of roundsOf(entries)) {
        const refusal = attempts.run(round);
        if (refusal !== null) return refusal;
      }
      return answer(200, attempts.failedOf(given));
    },
  });
}

/** A key that names nothing fails; so does a seat with a capacity, or an area without one. */
function entryOf(
  layout: Layout,
  { compositeKey, capacity }: Selection,
  position: number,
): Entry<SeatChoice> {
  const { member, id } = placeOf(layout, compositeKey, position);
  const places = capacity ?? 0;
  if (member === "seats" && places === 0) return { position, member, item: { id } };
  if (member === "groupOfSeats" && places > 0) {
    return { position, member, item: { id, capacity: places } };
  }
  return { position, member: "seats", item: { id: nowhere(position).id } };
}

/** A command names an object once: an object that a request repeats is tried in a later round. */
function roundsOf(entries: readonly Entry<SeatChoice>[]): readonly Entry<SeatChoice>[][] {
  const rounds: Entry<SeatChoice>[][] = [];
  const roundOf = new Map<number, number>();
  for (const entry of entries) {
    const round = roundOf.get(entry.item.id) ?? 0;
    roundOf.set(entry.item.id, round + 1);
    (rounds[round] ??= []).push(entry);
  }
  return rounds;
}

// v1 assignments of prices by composite key, each entry on its own.

const CLEAN = {
  shape: BOOLEAN,
  description: "Remove all prices first, except those of sold inventory.",
  default: false,
};

export const LEGACY_ASSIGNMENT_ROUTES: readonly Route[] = [
  route(LEGACY, "POST /api/private/v1.0/assignments/", {
    query: { id: EVENT_ID, clean: CLEAN },
    body: PRICE_ASSIGNMENTS,
    ...OF_LISTS,
    answers: { 200: PRICE_ASSIGNMENTS },
    problems: [400, 403],
    handle: ({ services, caller, query, body: given }) => {
      const { engine } = services;
      const event = ownEvent(engine.state, caller, query.id);
      if (event === null) return refuseEvent();
      const { layout } = engine.state.partitionOf(event);
      const command = { caller, eventId: event.id };
      const turn = new Turn(engine);
      if (query.clean) {
        const cleared = turn.submit({ kind: "clearPrices", ...command });
        if (isRefused(cleared)) return cleared;
      }
      const attempts = new Attempts<AssignmentItem>(turn, (items) =>
        turn.submit({ kind: "assignPrices", ...command, body: items }),
      );
      const entries = given.map((assignment, position) =>
        assignmentEntryOf(layout, assignment, position),
      );
      return attempts.run(entries) ?? answer(200, attempts.failedOf(given));
    },
  }),
  route(LEGACY, "POST /api/private/v1.0/assignments/clean", {
    query: { id: EVENT_ID },
    answers: { 200: DONE },
    problems: [400, 403],
    handle: ({ services, caller, query }) =>
      submit(services, { kind: "clearPrices", caller, eventId: query.id }, () => TRUE),
  }),
  route(LEGACY, "DELETE /api/private/v1.0/assignments/", {
    query: { id: EVENT_ID },
    body: SELECTIONS,
    ...OF_LISTS,
    answers: { 200: SELECTIONS },
    problems: [400, 403],
    handle: ({ services, caller, query, body: given }) => {
      const { engine } = services;
      const event = ownEvent(engine.state, caller, query.id);
      if (event === null) return refuseEvent();
      const { layout } = engine.state.partitionOf(event);
      const turn = new Turn(engine);
      const attempts = new Attempts<{ readonly objectId: number }>(turn, (items) =>
        turn.submit({ kind: "unassignPrices", caller, eventId: event.id, body: items }),
      );
      const entries = given.map(({ compositeKey }, position) => {
        const { member, id } = placeOf(layout, compositeKey, position);
        return { position, member, item: { objectId: id } };
      });
      return attempts.run(entries) ?? answer(200, attempts.failedOf(given));
    },
  }),
];

/** A key that names nothing fails, and so does an area without a capacity. */
function assignmentEntryOf(
  layout: Layout,
  { compositeKey, capacity = null, price }: PriceAssignment,
  position: number,
): Entry<AssignmentItem> {
  const place = placeOf(layout, compositeKey, position);
  const isIncomplete = place.member === "groupOfSeats" && capacity === null;
  const { member, id } = isIncomplete ? nowhere(position) : place;
  return { position, member, item: { objectId: id, assignmentId: price, activeCount: capacity } };
}

// The problems of v1: the same refusals, but a status that a row of v1 does not list becomes 400,
// and a 403 advises to use the correct key. Clients branch on `errorCode`.

const ADVICE = "Use the correct private key of the organization in X-API-Key.";

/** Refusals whose status is not listed by every row of v1. */
const TRANSLATED: ReadonlySet<Refused> = new Set<Refused>([
  Result.ENTITY_NOT_FOUND,
  Result.EVENT_NOT_PUBLISHED,
  Result.EVENT_BOUND_TO_SERIES,
  Result.INVALID_STATUS_TRANSITION,
  Result.ENTITY_IN_USE,
  Result.INVENTORY_IN_USE,
]);

export function legacyProblem(problem: Problem, { problems }: Route): Problem {
  const { status } = REPLIES[problem.refused];
  if (status === 403) return { ...problem, detail: `${problem.detail} ${ADVICE}` };
  const isTranslated = TRANSLATED.has(problem.refused) && !problems.includes(status);
  return isTranslated ? { ...problem, status: 400 } : problem;
}
