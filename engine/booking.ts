/**
 * One decision for all booking commands. Each is all or nothing over every seat and area of the
 * request; a refusal names every object in the way.
 */
import { assert } from "./assert.ts";
import {
  type CommandWith,
  type SeatChoice,
  STATE_SELECTION,
  type StateSelection,
} from "./bodies.ts";
import type { EventRow, HoldTypeRow, OrganizationRow, PriceRow } from "./catalog.ts";
import { command } from "./command.ts";
import { admit, leftOf, visitorLimit } from "./door.ts";
import { AREA_CAPACITY_MAX, NONE, OBJECTS_PER_REQUEST_MAX } from "./constants.ts";
import { isKeptFrom } from "./inventory/channels.ts";
import { type Holds, SlotHeap } from "./inventory/holds.ts";
import type { Partition } from "./inventory/partition.ts";
import { type BookingState, Move, MOVES, SeatState, STATE_NAMES } from "./inventory/states.ts";
import { type Layout, seatIndexOf } from "./layout/layout.ts";
import {
  BUILT_IN_HOLD_TYPES,
  callersOrganization,
  channelSlot,
  keyOfChannel,
  misplaced,
  ownEvent,
  refuseEvent,
} from "./queries/access.ts";
import { findOrphans } from "./orphans.ts";
import { type MoveRecord, RecordType } from "./records.ts";
import { type HeldLimits, limitsOf, orphanModeNow } from "./rules.ts";
import {
  type Decision,
  duplicate,
  type FieldError,
  grant,
  isRefused,
  missing,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "./results.ts";
import { UUID_KEY } from "./schema.ts";
import type { State } from "./state.ts";

export type BookingCommand = CommandWith<{ eventId: string; body: StateSelection }>;

/** The inventory to decide on: that of the state, or the draft of a cart. */
export type Inventories = Pick<State, "catalog" | "partitionOf" | "doors" | "doorKeys" | "takenOf">;

/**
 * The refusals come in the order of the result codes. A direct sale of inventory off sale is no
 * refusal: it answers false and changes nothing.
 * Cost: O(objects of the request), usually 2.
 */
export function decideBooking(
  state: Inventories,
  { caller, eventId, body }: BookingCommand,
  timeMs: number,
  rules: BookingRules,
): Decision<boolean> {
  const checked = checkBooking(state, { caller, eventId, body }, timeMs, rules);
  if (isRefused(checked)) return checked;
  const { event, holdType, visitor } = checked;
  const partition = state.partitionOf(event);
  const isOfSession = takesAll(body, rules);
  if (isOfSession && partition.holds.heldBy(body.sessionId!, 1) === 0) {
    return rules.skipsActive ? grant(null, true) : refuseEmptySession(body);
  }
  const inventory = judgeInventory(state, checked, body, rules);
  if ("refused" in inventory) return inventory;
  const { move, seats, areas } = inventory;
  if (seats.length === 0 && areas.length === 0) {
    assert(rules.skipsActive, "a command changes nothing only when it accepts ACTIVE seats");
    return grant(null, true);
  }
  const hold = holdType === undefined ? NO_HOLD : newHold(partition, holdType, timeMs);
  const record: MoveRecord = {
    type: RecordType.MOVE,
    actor: caller.actor,
    partition: event.partition,
    move,
    hold: hold.hold,
    expiresAtMs: hold.expiresAtMs,
    session: body.sessionId ?? "",
    holdType: rules.move === Move.DIRECT_SALE ? (body.holdType ?? "") : hold.holdType,
    seats,
    areas,
  };
  return grant(visitor === NONE ? record : { ...record, visitor }, true);
}

/** A valid request of the event's owner, while the event takes it. */
export interface CheckedBooking {
  readonly organization: OrganizationRow;
  readonly event: EventRow;
  /** Undefined for another command than a lock. */
  readonly holdType: HoldTypeRow | undefined;
  /** Of a lock under the token of a visitor; otherwise NONE. */
  readonly visitor: number;
}

/** The checks before those of the inventory. */
export function checkBooking(
  state: Inventories,
  { caller, eventId, body }: BookingCommand,
  timeMs: number,
  rules: BookingRules,
): CheckedBooking | Refusal {
  const organization = callersOrganization(state, caller);
  const isLock = rules.move === Move.LOCK;
  const holdType = isLock ? findHoldType(organization, body.holdType) : undefined;
  const errors = bookingErrors(organization, body, rules);
  if (errors.length > 0) return refuseInvalid(errors);
  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const closed = checkOpen(event, organization, rules);
  if (closed !== null) return closed;
  const visitor = rules.needsAdmission ? admit(state, event, body, timeMs) : NONE;
  return typeof visitor === "object" ? visitor : { organization, event, holdType, visitor };
}

/** State, then limits on holds, then single seats left alone: the first that refuses answers. */
export function judgeInventory(
  state: Inventories,
  { organization, event, visitor }: CheckedBooking,
  selection: StateSelection,
  rules: BookingRules,
): Inventory | Decision<boolean> {
  const partition = state.partitionOf(event);
  const inventory = takesAll(selection, rules)
    ? inventoryOfSession(partition, selection, rules)
    : findInventory(state, event, selection, rules);
  if (inventory.errors.length > 0) return refuseInventory(rules, inventory.errors);
  if (rules.move === Move.LOCK) {
    const beyond = findBeyondLimits(partition.holds, limitsOf(organization, event), selection);
    if (beyond.length > 0) return refuseInventory(rules, beyond);
    const tooMany = findBeyondVisitor(leftOf(state, event, visitor), selection);
    if (tooMany.length > 0) return refuseInventory(rules, tooMany);
  }
  const mode = rules.preventsOrphans ? orphanModeNow(organization, event, partition) : "off";
  if (mode === "off") return inventory;
  const orphans = findOrphans(partition, inventory.requested, mode);
  if (orphans.length === 0) return inventory;
  const detail = "The request would leave a single seat alone: take it too, or choose others.";
  return refuse(Result.ORPHAN_SEAT, detail, orphans);
}

/** @returns The errors of the request, in its own order. */
export function bookingErrors(
  organization: OrganizationRow,
  body: StateSelection,
  rules: BookingRules,
): FieldError[] {
  const errors = checkSelection(body, rules);
  const isUnknown =
    rules.move === Move.LOCK && findHoldType(organization, body.holdType) === undefined;
  if (isUnknown) errors.push(unknownHoldType(body));
  return errors;
}

function takesAll(
  { all }: StateSelection,
  { respectsSession }: Pick<BookingRules, "respectsSession">,
): boolean {
  return all === true && respectsSession;
}

/**
 * Everything that the session holds; nothing of it can be refused.
 * Cost: O(n log n) in the first seats of its holds and their areas, and `Areas.heldOf`.
 */
function inventoryOfSession(
  partition: Partition,
  selection: StateSelection,
  rules: BookingRules,
): Inventory {
  const { areas, holds } = partition;
  const slots = new Set(holds.slotsOf(selection.sessionId!));
  const seats = seatsOfHolds(partition, slots);
  const triples = [...areas.heldOf(slots)].flatMap(([slot, held]) =>
    held.map(([area, places]) => [area, slot, places] as const),
  );
  const fenceOf = (slot: number) => holds.get(slot).fence;
  triples.sort(([area, slot], [other, its]) => area - other || fenceOf(slot) - fenceOf(its));
  const move = moveOf(rules, selection);
  return { move, requested: seats, seats, areas: Uint32Array.from(triples.flat()), errors: [] };
}

/** @returns Seat indexes, rising. */
function seatsOfHolds(partition: Partition, slots: ReadonlySet<number>): Uint32Array {
  const seats: number[] = [];
  for (const slot of slots) for (const seat of partition.seatsOf(slot)) seats.push(seat);
  return Uint32Array.from(seats).sort();
}

/**
 * @returns The selection with everything that its session holds: seats and areas by id.
 * Cost: as `inventoryOfSession`.
 */
export function heldBy(partition: Partition, selection: StateSelection): StateSelection {
  const { layout, areas, holds } = partition;
  const slots = new Set(holds.slotsOf(selection.sessionId!));
  const seats = Array.from(seatsOfHolds(partition, slots), (seat) => ({
    id: layout.seatIds[seat]!,
  }));
  const places = new Map<number, number>();
  for (const held of areas.heldOf(slots).values()) {
    for (const [area, count] of held) places.set(area, (places.get(area) ?? 0) + count);
  }
  const groupOfSeats = Array.from(places, ([area, capacity]) => {
    return { id: layout.areas[area]!.id, capacity };
  });
  return { ...selection, seats, groupOfSeats: groupOfSeats.sort((a, b) => a.id - b.id) };
}

function refuseEmptySession({ sessionId }: StateSelection): Refusal {
  const message = "holds nothing in this event: its holds may have run out; lock again";
  const error = { field: "sessionId", code: "NOT_FOUND", message, rejectedValue: sessionId };
  return refuse(Result.INVENTORY_NOT_AVAILABLE, "The session holds nothing; nothing was changed.", [
    error,
  ]);
}

export function unknownHoldType({ holdType }: Pick<StateSelection, "holdType">): FieldError {
  const message = "is no hold type of the organization: define it, or take one that its list has";
  return { field: "holdType", code: "UNKNOWN", message, rejectedValue: holdType };
}

/** @returns Why the event does not take the command now; null when it does. */
export function checkOpen(
  event: EventRow,
  organization: OrganizationRow,
  rules: Pick<BookingRules, "needsSalesControl" | "needsPublished">,
): Refusal | null {
  assert(event.organizationId === organization.id, "an organization books on its own events");
  if (!organization.bookingEnabled) {
    return refuse(
      Result.ORGANIZATION_DISABLED,
      "The organization is disabled for booking: its setting bookingEnabled is off.",
    );
  }
  if (rules.needsSalesControl && !organization.salesControl) {
    return refuse(
      Result.SALES_CONTROL_REQUIRED,
      "The organization's setting salesControl is off: turn it on to sell.",
    );
  }
  if (rules.needsPublished && event.status !== "PUBLISHED") {
    return refuse(
      Result.EVENT_NOT_PUBLISHED,
      `The event is ${event.status}, not PUBLISHED: change its status first.`,
    );
  }
  return null;
}

function refuseInventory(rules: BookingRules, errors: readonly FieldError[]): Decision<boolean> {
  const codes = new Set(errors.map(({ code }) => code));
  const isUnknown = codes.delete("NOT_FOUND");
  codes.delete("PRICE_CHANGED");
  if (rules.answersFalse && !isUnknown && codes.size > 0) return grant(null, false);
  return refuse(
    Result.INVENTORY_NOT_AVAILABLE,
    "Some of the inventory is not available; nothing was changed.",
    errors,
  );
}

/** The record members for the hold of a lock. */
type HoldFacts = Pick<MoveRecord, "hold" | "holdType" | "expiresAtMs">;

const NO_HOLD: HoldFacts = { hold: NONE, holdType: "", expiresAtMs: 0 };

/** Of a later lock of a cart: the facts of the hold that it joins. */
export function newHold(partition: Partition, holdType: HoldTypeRow, timeMs: number): HoldFacts {
  const { holds, lockSlot: hold } = partition;
  assert(hold !== NONE, "a hold has a slot");
  const isJoined = hold !== holds.nextSlot;
  const expiresAtMs = isJoined ? holds.get(hold).expiresAtMs : holdEndMs(holdType, timeMs);
  return { hold, holdType: holdType.name, expiresAtMs };
}

// The differences between the booking commands.

export interface BookingRules {
  readonly move: Move;
  /** The move of a request with `fromBlocked`; null when the command does not take it. */
  readonly moveFromBlocked: Move | null;
  /** The move of a request with `toBlocked`; null when the command does not take it. */
  readonly moveToBlocked: Move | null;
  /** Refused with SALES_CONTROL_REQUIRED when the organization's sales control mode is off. */
  readonly needsSalesControl: boolean;
  /** Refused with EVENT_NOT_PUBLISHED unless the event is published. */
  readonly needsPublished: boolean;
  /** Asks for a token where the event has a door. */
  readonly needsAdmission: boolean;
  /** Subject to orphan seat prevention when the organization has it on. */
  readonly preventsOrphans: boolean;
  /** Acts only on holds of the session in the request, if there is one. */
  readonly respectsSession: boolean;
  /** The code for a seat in another lock, sale or block than its fence; null for no fences. */
  readonly otherFence: typeof ANOTHER_HOLD | typeof STALE_FENCE | null;
  /** Accepts ACTIVE seats, and leaves them as they are. */
  readonly skipsActive: boolean;
  /** Answers false for inventory off sale. A cart refuses it. */
  readonly answersFalse: boolean;
  /** Refuses objects whose price is not that of `priceIds`. */
  readonly guardsPrices: boolean;
  /** Refuses seats kept for another channel than that of the request. */
  readonly asksChannel: boolean;
}

/** The rules of a command without special ones. */
export const PLAIN_BOOKING: Omit<BookingRules, "move"> = {
  moveFromBlocked: null,
  moveToBlocked: null,
  needsSalesControl: false,
  needsPublished: false,
  needsAdmission: false,
  preventsOrphans: false,
  respectsSession: false,
  otherFence: null,
  skipsActive: false,
  answersFalse: false,
  guardsPrices: false,
  asksChannel: false,
};

type Exceptions = Partial<BookingRules>;
/** The codes, when the rule is set. */
type If<E extends Exceptions, Rule extends keyof Exceptions, Codes> =
  E extends Readonly<Record<Rule, true>> ? Codes : readonly [];

/** The codes of a command with these rules, in order of precedence. */
export function refusalsOf<const E extends Exceptions>(exceptions: E) {
  const when = <Rule extends keyof Exceptions, const Codes>(rule: Rule, codes: Codes) =>
    (exceptions[rule] === true ? codes : []) as If<E, Rule, Codes>;
  return [
    Result.VALIDATION_FAILED,
    Result.EVENT_ACCESS_DENIED,
    Result.ORGANIZATION_DISABLED,
    ...when("needsSalesControl", [Result.SALES_CONTROL_REQUIRED]),
    ...when("needsPublished", [Result.EVENT_NOT_PUBLISHED]),
    ...when("needsAdmission", [Result.ADMISSION_REQUIRED, Result.ADMISSION_INVALID]),
    Result.INVENTORY_NOT_AVAILABLE,
    ...when("preventsOrphans", [Result.ORPHAN_SEAT]),
  ];
}

/** The booking commands differ only in their rules. */
function booking<const E extends Exceptions>(move: Move, exceptions: E) {
  const rules: BookingRules = { ...PLAIN_BOOKING, ...exceptions, move };
  const row = command({
    members: { eventId: UUID_KEY, body: STATE_SELECTION },
    refusals: refusalsOf(exceptions),
    decide: (state, given, timeMs) => decideBooking(state, given, timeMs, rules),
  });
  return { ...row, rules };
}

/** The same session may have locked the seat again, but the code for programs is the same. */
export const ANOTHER_HOLD = "ANOTHER_HOLD";
/** The seat was sold or blocked by another record. */
const STALE_FENCE = "STALE_FENCE";

const LOCK_EXCEPTIONS = {
  moveFromBlocked: Move.LOCK_WITH_BLOCKED,
  needsPublished: true,
  needsAdmission: true,
  preventsOrphans: true,
  guardsPrices: true,
  asksChannel: true,
} as const;
export const LOCK_REFUSALS = refusalsOf(LOCK_EXCEPTIONS);
export const LOCK_RULES: BookingRules = { ...PLAIN_BOOKING, ...LOCK_EXCEPTIONS, move: Move.LOCK };

export const BOOKING_COMMANDS = {
  lock: booking(Move.LOCK, LOCK_EXCEPTIONS),
  unlock: booking(Move.UNLOCK, {
    moveToBlocked: Move.UNLOCK_TO_BLOCKED,
    respectsSession: true,
    otherFence: ANOTHER_HOLD,
    skipsActive: true,
  }),
  sale: booking(Move.SALE, {
    needsSalesControl: true,
    needsPublished: true,
    preventsOrphans: true,
    respectsSession: true,
    otherFence: ANOTHER_HOLD,
    guardsPrices: true,
  }),
  revertsale: booking(Move.REVERT_SALE, {
    moveToBlocked: Move.REVERT_SALE_TO_BLOCKED,
    needsSalesControl: true,
    otherFence: STALE_FENCE,
  }),
  directsale: booking(Move.DIRECT_SALE, {
    moveFromBlocked: Move.DIRECT_SALE_WITH_BLOCKED,
    needsPublished: true,
    answersFalse: true,
    guardsPrices: true,
    asksChannel: true,
  }),
  block: booking(Move.BLOCK, {}),
  unblock: booking(Move.UNBLOCK, { skipsActive: true, otherFence: STALE_FENCE }),
};
export type BookingKind = keyof typeof BOOKING_COMMANDS;

// The inventory of a booking command: the seats and places in the first state of its move, and an
// error for every other requested object.

const NO_AREAS = new Uint32Array(0);

export interface Inventory {
  readonly move: Move;
  /** Indexes of all requested seats, in the order of the request. */
  readonly requested: Uint32Array;
  /** Indexes of the seats to move: fewer where a seat may stay as it is. */
  readonly seats: Uint32Array;
  /** Triples of a `MoveRecord`: area index, hold slot, places. */
  readonly areas: Uint32Array;
  readonly errors: readonly FieldError[];
}

/** The inventory to search, and the rules. */
interface Search {
  readonly partition: Partition;
  readonly move: Move;
  readonly skipsActive: boolean;
  /** The required owner of the holds; null for any. */
  readonly session: string | null;
  /** By seat id: the required lock, sale or block of the seat; null for any. */
  readonly fences: StateSelection["fences"] | null;
  /** That of every other object; null for any. */
  readonly fence: number | null;
  readonly otherFence: BookingRules["otherFence"];
  /** LOCK: the session that asks; empty for none. */
  readonly lockedBy: string;
  /** The column of channels where the command asks for them, and there are any. */
  readonly channels: Uint8Array | null;
  /** The slot of the request's channel; 0 for none. */
  readonly channel: number;
}

/**
 * Cost: O(objects of the request), usually 2; for GA places O(holds to take them from), usually 1.
 */
export function findInventory(
  state: Inventories,
  event: EventRow,
  selection: StateSelection,
  rules: BookingRules,
): Inventory {
  const partition = state.partitionOf(event);
  const choices = choicesOf(selection);
  const move = moveOf(rules, selection);
  // A move to BLOCKED takes ACTIVE seats along.
  const skipsActive = rules.skipsActive && MOVES[move].orFrom === undefined;
  const session = rules.respectsSession ? (selection.sessionId ?? null) : null;
  const { fences = null, fence = null } = selection;
  const { otherFence } = rules;
  const lockedBy = rules.move === Move.LOCK ? (selection.sessionId ?? "") : "";
  const channels = rules.asksChannel ? partition.channels : null;
  const channel = channels === null ? 0 : channelSlot(event, selection.channel);
  // Without spreading, which takes longer than the rest.
  const search = {
    partition,
    move,
    skipsActive,
    session,
    fences,
    fence,
    otherFence,
    lockedBy,
    channels,
    channel,
  };
  const errors: FieldError[] = [];
  const requested = seatIndexes(partition.layout, choices.seats);
  for (let i = 0; i < requested.length; i++) {
    const code = seatProblem(search, requested[i]!);
    if (code === "CHANNEL") errors.push(channelError(search, event, i, requested[i]!));
    else if (code !== null) errors.push(seatError(search, i, choices.seats[i]!.id, code));
  }
  const areas = choices.areas.length === 0 ? NO_AREAS : findPlaces(search, choices.areas, errors);
  const { priceIds } = selection;
  if (rules.guardsPrices && priceIds !== undefined && priceIds !== null) {
    findOtherPrices(partition, state.catalog.pricesOf(event.id), selection, errors);
  }
  const seats = skipsActive ? withoutActive(partition, requested) : requested;
  assert(areas.length % 3 === 0, "areas are triples");
  return { move, requested, seats, areas, errors };
}

function moveOf(rules: BookingRules, { fromBlocked, toBlocked }: StateSelection): Move {
  if (fromBlocked === true && rules.moveFromBlocked !== null) return rules.moveFromBlocked;
  if (toBlocked === true && rules.moveToBlocked !== null) return rules.moveToBlocked;
  return rules.move;
}

/**
 * Adds an error for each object with another price than the request expects, and sorts the errors
 * in the order of the request. An object with an error keeps that.
 */
function findOtherPrices(
  { layout, price, areas }: Partition,
  prices: ReadonlyMap<number, Pick<PriceRow, "id">>,
  selection: StateSelection,
  errors: FieldError[],
): void {
  const refused = new Map(errors.map((error) => [objectOf(error), error]));
  errors.length = 0;
  const check = (choices: readonly SeatChoice[], list: string, slotOf: (id: number) => number) => {
    for (const [i, { id }] of choices.entries()) {
      const error = refused.get(`${list}[${i}]`);
      const expected = selection.priceIds![id];
      if (error !== undefined) errors.push(error);
      else if (expected !== undefined) {
        const present = prices.get(slotOf(id))?.id;
        const field = `${list}[${i}].id`;
        if (present !== expected) errors.push(otherPrice(field, expected, present));
      }
    }
  };
  const { seats, areas: places } = choicesOf(selection);
  check(seats, "seats", (id) => price[seatIndexOf(layout, id)]!);
  check(places, "groupOfSeats", (id) => areas.price[layout.areaIndexes.get(id)!]!);
}

/** The named object of an error, such as `seats[1]`. */
export function objectOf({ field }: FieldError): string {
  return field.replace(/\.\w+$/, "");
}

function otherPrice(field: string, expected: number, present?: number): FieldError {
  const message = `has price ${present ?? "null"} now, not ${expected}: show it to the buyer and ask again`;
  return { field, code: "PRICE_CHANGED", message, rejectedValue: expected };
}

/** Seats in another state than ACTIVE: usually all of them. */
function withoutActive({ state }: Partition, seats: Uint32Array): Uint32Array {
  for (let i = 0; i < seats.length; i++) {
    if (state[seats[i]!] === SeatState.ACTIVE) {
      return seats.filter((seat) => state[seat] !== SeatState.ACTIVE);
    }
  }
  return seats;
}

/** @returns Triples of a `MoveRecord`. */
function findPlaces(
  search: Search,
  areas: readonly SeatChoice[],
  errors: FieldError[],
): Uint32Array {
  const triples: number[] = [];
  for (let i = 0; i < areas.length; i++) {
    const { id, capacity } = areas[i]!;
    const area = search.partition.layout.areaIndexes.get(id) ?? NONE;
    assert(typeof capacity === "number", "a checked selection has a capacity for each area");
    const code = areaProblem(search, area, capacity);
    if (code !== null) errors.push(areaError(search, i, areas[i]!, code));
    else takePlaces(search, area, capacity, triples);
  }
  return Uint32Array.from(triples);
}

/** @returns Why the seat cannot go through the move; null when it can. */
function seatProblem(search: Search, seat: number): string | null {
  const { partition } = search;
  if (seat === NONE) return "NOT_FOUND";
  const state = partition.state[seat] as SeatState;
  const { from, orFrom } = MOVES[search.move];
  if (state === from || state === orFrom) {
    // A sold seat may have lost its price; then it cannot come back.
    if (partition.price[seat] === 0) return "NO_PRICE";
    if (search.channels !== null && isKeptFrom(search.channels, seat, search.channel))
      return "CHANNEL";
    // A move that begins at ACTIVE seats, too, has its guards for the others.
    return state === SeatState.ACTIVE ? null : guardProblem(search, seat);
  }
  if (search.skipsActive && state === SeatState.ACTIVE) return null;
  if (state === SeatState.LOCKED && search.lockedBy !== "") {
    const { session } = partition.holds.get(partition.holdOf(seat));
    if (session === search.lockedBy) return "HELD_BY_THIS_SESSION";
  }
  return STATE_NAMES[state] ?? "NO_PRICE";
}

/** @returns The mismatch between a LOCKED, SOLD or BLOCKED seat and the guards; null for none. */
function guardProblem(search: Search, seat: number): string | null {
  const { partition, session, fences, fence, otherFence } = search;
  if (session === null && fences === null && fence === null) return null;
  const { holds, layout } = partition;
  if (session !== null && holds.get(partition.holdOf(seat)).session !== session) {
    return "HELD_BY_ANOTHER_SESSION";
  }
  const wanted = fences?.[layout.seatIds[seat]!] ?? fence;
  return wanted === null || wanted === partition.fenceOf(seat) ? null : otherFence;
}

/** @returns Why the places cannot go through the move; null when they can. */
function areaProblem(search: Search, area: number, places: number): string | null {
  const { partition, move, session, fence } = search;
  if (area === NONE) return "NOT_FOUND";
  const { areas } = partition;
  if (areas.price[area] === 0) return "NO_PRICE";
  const { from, orFrom } = MOVES[move];
  const others = orFrom === undefined || from === SeatState.LOCKED ? 0 : areas.places(area, orFrom);
  if (areas.places(area, from) + others < places) return "INSUFFICIENT_CAPACITY";
  if (from !== SeatState.LOCKED || (session === null && fence === null)) return null;
  let held = 0;
  for (const slot of slotsOf(search, area)) held += areas.held(area, slot);
  if (held >= places) return null;
  if (fence === null) return "HELD_BY_ANOTHER_SESSION";
  return held === 0 ? ANOTHER_HOLD : "INSUFFICIENT_CAPACITY";
}

/** Slots of holds that may give places of the area. */
function slotsOf({ partition, session, fence }: Search, area: number): Iterable<number> {
  const { areas, holds } = partition;
  const slots = session === null ? areas.holdsIn(area).keys() : holds.slotsOf(session);
  return fence === null ? slots : [...slots].filter((slot) => holds.get(slot).fence === fence);
}

/** Adds the holds of the places to `triples`, the first to end first. */
function takePlaces(search: Search, area: number, places: number, triples: number[]): void {
  const { partition, move } = search;
  if (MOVES[move].from !== SeatState.LOCKED) {
    const slot = MOVES[move].to === SeatState.LOCKED ? partition.lockSlot : NONE;
    triples.push(area, slot, places);
    return;
  }
  const { areas } = partition;
  let left = places;
  for (const slot of firstToEnd(partition, area, slotsOf(search, area))) {
    const taken = Math.min(left, areas.held(area, slot));
    triples.push(area, slot, taken);
    left -= taken;
    if (left === 0) break;
  }
  assert(left === 0, "the places that were counted are found");
}

/**
 * The holds with the wanted places of an area: the first to end, of equal ends the oldest.
 * Cost: O(slots) and O(log n) for each returned hold.
 */
function* firstToEnd(
  { areas, holds }: Partition,
  area: number,
  slots: Iterable<number>,
): Generator<number, void> {
  const endOf = (slot: number) => holds.get(slot).expiresAtMs || Infinity;
  const heap = new SlotHeap((slot, other) => {
    const [end, otherEnd] = [endOf(slot), endOf(other)];
    if (end !== otherEnd) return end < otherEnd;
    return holds.get(slot).fence < holds.get(other).fence;
  });
  for (const slot of slots) if (areas.held(area, slot) > 0) heap.add(slot);
  for (let slot = heap.first; slot !== NONE; slot = heap.first) {
    yield slot;
    heap.remove(slot);
  }
}

const MESSAGES: Readonly<Record<string, string>> = {
  NO_PRICE: "has no price in this event: assign one, or choose another",
  HELD_BY_ANOTHER_SESSION:
    "is held by another session: your hold may have run out; else send the sessionId that locked it",
  HELD_BY_THIS_SESSION: "is held by this session already: leave it out",
  [ANOTHER_HOLD]:
    "is not in the hold with this fence, which has ended: read the holds, or lock again",
  [STALE_FENCE]:
    "was sold or blocked by another call since the one with this fence: leave it out, or read the audit trail",
};

/** By the state that the move takes: why an object in another state is refused, and the remedy. */
const STATE_MESSAGES: Readonly<Record<BookingState, Readonly<Record<string, string>>>> = {
  [SeatState.ACTIVE]: {
    LOCKED: "is held: choose another, or try again when the hold has ended",
    SOLD: "is sold: choose another",
    BLOCKED: "is withdrawn from sale: choose another, or unblock it",
    INSUFFICIENT_CAPACITY: "has fewer places on sale: ask for fewer",
  },
  [SeatState.LOCKED]: {
    ACTIVE: "is on sale, not held: its hold may have run out; to sell it, lock it again",
    SOLD: "is sold, not held: read the seat to see its state",
    BLOCKED: "is withdrawn from sale, not held: unblock and lock it first",
    INSUFFICIENT_CAPACITY: "has fewer held places: a hold may have run out; lock again",
    HELD_BY_ANOTHER_SESSION:
      "has fewer places held by this session: a hold may have run out; lock again",
  },
  [SeatState.SOLD]: {
    ACTIVE: "is on sale, not sold: nothing is left to revert",
    LOCKED: "is held, not sold: unlock it to free it",
    BLOCKED: "is withdrawn from sale, not sold: unblock it to free it",
    INSUFFICIENT_CAPACITY: "has fewer sold places: ask for fewer",
  },
  [SeatState.BLOCKED]: {
    ACTIVE: "is on sale, not withdrawn",
    LOCKED: "is held: choose another, or try again when the hold has ended",
    SOLD: "is sold: choose another",
    INSUFFICIENT_CAPACITY: "has fewer places to take: ask for fewer",
  },
};

function seatError(search: Search, position: number, id: number, problem: string): FieldError {
  const field = `seats[${position}].id`;
  const { layout } = search.partition;
  if (problem === "NOT_FOUND") return misplaced(layout, id, field);
  const code = problem === ANOTHER_HOLD ? "HELD_BY_ANOTHER_SESSION" : problem;
  const message = MESSAGES[problem] ?? STATE_MESSAGES[MOVES[search.move].from][problem];
  assert(message !== undefined, "every refusal of a seat has its message");
  return { field, code, message, rejectedValue: id };
}

function channelError(
  { partition }: Search,
  event: EventRow,
  position: number,
  seat: number,
): FieldError {
  const kept = keyOfChannel(event, partition.channelOf(seat));
  return {
    field: `seats[${position}].id`,
    code: "CHANNEL",
    message: `is kept for the channel ${kept}: name it as channel, or choose another seat`,
    rejectedValue: partition.layout.seatIds[seat]!,
  };
}

function areaError(
  search: Search,
  position: number,
  choice: SeatChoice,
  problem: string,
): FieldError {
  const member = problem === "INSUFFICIENT_CAPACITY" ? "capacity" : "id";
  const code = problem === ANOTHER_HOLD ? "HELD_BY_ANOTHER_SESSION" : problem;
  const field = `groupOfSeats[${position}].${member}`;
  const { layout } = search.partition;
  if (problem === "NOT_FOUND") return misplaced(layout, choice.id, field);
  const message = STATE_MESSAGES[MOVES[search.move].from][problem] ?? MESSAGES[problem];
  assert(message !== undefined, "every refusal of places has its message");
  return { field, code, message, rejectedValue: choice[member] };
}

// Here the ids of a booking request become indexes of the event's layout, once. Errors of the
// request itself are found too, whatever the state of the inventory. Lengths of texts are checked
// by the shape of the body alone.

const NO_CHOICES: readonly SeatChoice[] = [];

interface Choices {
  readonly seats: readonly SeatChoice[];
  readonly areas: readonly SeatChoice[];
}

function choicesOf(selection: StateSelection): Choices {
  return {
    seats: selection.seats ?? NO_CHOICES,
    areas: selection.groupOfSeats ?? NO_CHOICES,
  };
}

/** @returns The errors of the request, in its own order. */
export function checkSelection(
  selection: StateSelection,
  rules: Pick<BookingRules, "otherFence" | "respectsSession">,
): FieldError[] {
  const errors: FieldError[] = [];
  const { seats, areas } = choicesOf(selection);
  const count = seats.length + areas.length;
  if (takesAll(selection, rules)) checkAll(selection, errors);
  else if (count === 0)
    errors.push(missing("seats", "must name a seat, unless groupOfSeats names an area"));
  const size = sizeError(count);
  if (size !== null) return [size];
  checkDuplicates(seats, "seats", errors);
  checkDuplicates(areas, "groupOfSeats", errors);
  if (rules.otherFence === null) checkNoFences(selection, errors);
  else checkNamed(selection.fences, "fences", seats, errors);
  checkNamed(selection.priceIds, "priceIds", [...seats, ...areas], errors);
  checkNoCapacity(seats, errors);
  for (let i = 0; i < areas.length; i++) {
    const error = capacityError(areas[i]!.capacity, `groupOfSeats[${i}].capacity`);
    if (error !== null) errors.push(error);
  }
  return errors;
}

export function sizeError(count: number): FieldError | null {
  if (count <= OBJECTS_PER_REQUEST_MAX) return null;
  const message = `at most ${OBJECTS_PER_REQUEST_MAX} objects in one request: send several requests`;
  return { field: "seats", code: "SIZE", message, rejectedValue: count };
}

/** A seat is one place. */
export function checkNoCapacity(seats: readonly SeatChoice[], errors: FieldError[]): void {
  for (let i = 0; i < seats.length; i++) {
    const { capacity } = seats[i]!;
    if (capacity === null || capacity === undefined) continue;
    const message = "must be null or left out for a seat, which is one place";
    errors.push({ field: `seats[${i}].capacity`, code: "NULL", message, rejectedValue: capacity });
  }
}

function capacityError(capacity: number | null | undefined, field: string): FieldError | null {
  if (capacity === null || capacity === undefined)
    return missing(field, "must say how many places of the area");
  if (Number.isSafeInteger(capacity) && capacity >= 1 && capacity <= AREA_CAPACITY_MAX) return null;
  const message = `must be a whole number from 1 to ${AREA_CAPACITY_MAX}`;
  return { field, code: "RANGE", message, rejectedValue: capacity };
}

export function checkDuplicates(
  choices: readonly SeatChoice[],
  field: string,
  errors: FieldError[],
): void {
  if (areRising(choices)) return;
  const seen = new Set<number>();
  for (const [i, { id }] of choices.entries()) {
    if (seen.has(id)) errors.push(duplicate(`${field}[${i}].id`, id));
    seen.add(id);
  }
}

/** `all` replaces objects and their fences. */
function checkAll({ sessionId, seats, groupOfSeats, fence }: StateSelection, errors: FieldError[]) {
  if ((sessionId ?? "") === "") {
    errors.push(missing("sessionId", "must name the session, all of whose holds are meant"));
  }
  const message = "must be left out with all, which stands for everything that the session holds";
  for (const [field, choices] of Object.entries({ seats, groupOfSeats })) {
    if ((choices ?? []).length === 0) continue;
    errors.push({ field, code: "NULL", message, rejectedValue: choices });
  }
  if ((fence ?? null) === null) return;
  errors.push({ field: "fence", code: "NULL", message, rejectedValue: fence });
}

/** A fence has no meaning for what is free; ignoring it would feign a guard. */
export function checkNoFences(
  { fence, fences }: Pick<StateSelection, "fence" | "fences">,
  errors: FieldError[],
): void {
  if ((fence ?? null) === null && (fences ?? null) === null) return;
  const message = "must be left out: this call takes what is free, which is in no hold or sale";
  for (const [field, rejectedValue] of Object.entries({ fence, fences })) {
    if (rejectedValue === undefined || rejectedValue === null) continue;
    errors.push({ field, code: "NULL", message, rejectedValue });
  }
}

/** Fences and prices belong to objects of the request. */
export function checkNamed(
  guards: Readonly<Record<string, number>> | null | undefined,
  member: "fences" | "priceIds",
  choices: readonly SeatChoice[],
  errors: FieldError[],
): void {
  if (guards === undefined || guards === null) return;
  const ids = new Set(choices.map(({ id }) => String(id)));
  for (const [id, rejectedValue] of Object.entries(guards)) {
    if (ids.has(id)) continue;
    const message = `is no ${member === "fences" ? "seat" : "seat or area"} of the request`;
    errors.push({ field: `${member}[${id}]`, code: "UNKNOWN", message, rejectedValue });
  }
}

/** Rising ids, as in most requests, repeat none. */
function areRising(choices: readonly SeatChoice[]): boolean {
  for (let i = 1; i < choices.length; i++) {
    if (choices[i - 1]!.id >= choices[i]!.id) return false;
  }
  return true;
}

/** Seat indexes in the order of the request; NONE for an id outside the layout. */
function seatIndexes(layout: Layout, seats: readonly SeatChoice[]): Uint32Array {
  assert(seats.length <= OBJECTS_PER_REQUEST_MAX, "a checked selection is bounded");
  const indexes = new Uint32Array(seats.length);
  for (let i = 0; i < seats.length; i++) {
    indexes[i] = seatIndexOf(layout, seats[i]!.id);
  }
  return indexes;
}

// Limits against hoarding: how much a session, and all sessions together, may hold in an event.

const NO_ERRORS: readonly FieldError[] = [];

/**
 * The requested objects beyond a limit: in the order of the request, those for which nothing is
 * left. Locks without a session count as those of one session.
 * Cost: O(objects of the request); for the first lock of an event under a limit, O(its holds).
 */
function findBeyondLimits(
  holds: Holds,
  present: HeldLimits,
  selection: StateSelection,
): readonly FieldError[] {
  const { heldPerSession, heldPerEvent } = present;
  if (heldPerSession === undefined && heldPerEvent === undefined) return NO_ERRORS;
  const limits = new Allowance(holds, present, selection.sessionId ?? "");
  const { seats, areas } = choicesOf(selection);
  const ofSeats = seats.map(({ id }, i) => limits.take(1, `seats[${i}].id`, id));
  const ofAreas = areas.map(({ capacity }, i) =>
    limits.take(capacity!, `groupOfSeats[${i}].capacity`, capacity!),
  );
  return [...ofSeats, ...ofAreas].filter((error) => error !== null);
}

/**
 * The requested objects beyond what the visitor of a door may take: in the order of the request,
 * those for which nothing is left.
 */
function findBeyondVisitor(left: number, selection: StateSelection): readonly FieldError[] {
  if (left === Infinity) return NO_ERRORS;
  const { seats, areas } = choicesOf(selection);
  const errors: FieldError[] = [];
  let rest = left;
  const take = (places: number, field: string, rejectedValue: number) => {
    if (places <= rest) rest -= places;
    else errors.push(visitorLimit(field, rejectedValue));
  };
  for (const [i, { id }] of seats.entries()) take(1, `seats[${i}].id`, id);
  for (const [i, { capacity }] of areas.entries()) {
    take(capacity!, `groupOfSeats[${i}].capacity`, capacity!);
  }
  return errors;
}

/** Remaining hold quota of a session and its event. */
export class Allowance {
  readonly #limits: HeldLimits;
  #ofSession: number;
  #ofEvent: number;

  constructor(holds: Holds, limits: HeldLimits, sessionId: string) {
    const { heldPerSession, heldPerEvent } = limits;
    this.#limits = limits;
    this.#ofSession =
      heldPerSession === undefined
        ? Infinity
        : heldPerSession - holds.heldBy(sessionId, heldPerSession);
    this.#ofEvent = heldPerEvent === undefined ? Infinity : heldPerEvent - holds.held;
  }

  /** @returns The error of places beyond a limit; null when they are taken. */
  take(places: number, field: string, rejectedValue: number): FieldError | null {
    if (places <= Math.min(this.#ofSession, this.#ofEvent)) {
      this.#ofSession -= places;
      this.#ofEvent -= places;
      return null;
    }
    const { heldPerSession, heldPerEvent } = this.#limits;
    const message =
      places > this.#ofSession
        ? `is more than the ${heldPerSession} that a session may hold in an event`
        : `is more than the ${heldPerEvent} that may be held in an event`;
    return { field, code: "HELD_LIMIT", message, rejectedValue };
  }
}

// Hold types: how long a lock with a given `holdType` lasts.

/**
 * The organization's own hold types come first: they may replace the built-in ones.
 *
 * @returns Undefined without a hold type of the name.
 */
export function findHoldType(
  organization: OrganizationRow,
  name: string | null | undefined,
): HoldTypeRow | undefined {
  const wanted = name ?? "CART";
  return named(organization.holdTypes, wanted) ?? named(BUILT_IN_HOLD_TYPES, wanted);
}

function named(holdTypes: readonly HoldTypeRow[], wanted: string): HoldTypeRow | undefined {
  for (const holdType of holdTypes) if (holdType.name === wanted) return holdType;
  return undefined;
}

/** The end of a hold opened now: milliseconds since 1970; 0 for never. */
function holdEndMs({ ttlSeconds }: HoldTypeRow, timeMs: number): number {
  if (ttlSeconds === null) return 0;
  assert(ttlSeconds > 0, "a hold lasts for a while");
  return timeMs + ttlSeconds * 1_000;
}
