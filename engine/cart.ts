/** Booking calls on several events: all of them or none, in one record. */
import { sell } from "./apply.ts";
import { assert } from "./assert.ts";
import { decideBest, unknownIds, wishErrors } from "./best.ts";
import {
  type BestRequest,
  type Caller,
  CART,
  type Cart,
  type CartItem,
  type CommandWith,
  type StateSelection,
} from "./bodies.ts";
import {
  BOOKING_COMMANDS,
  type BookingRules,
  bookingErrors,
  checkOpen,
  decideBooking,
  findHoldType,
  heldBy,
  type Inventories,
  LOCK_RULES,
} from "./booking.ts";
import type { EventRow, OrganizationRow } from "./catalog.ts";
import { command } from "./command.ts";
import {
  BEST_QUANTITY_MAX,
  CART_BEST_SEATS_MAX,
  NONE,
  OBJECTS_PER_REQUEST_MAX,
} from "./constants.ts";
import { admit, refuseAdmission } from "./door.ts";
import { checkExtension, decideExtend, EXTEND_RULES } from "./extend.ts";
import { DoorDraft } from "./inventory/door.ts";
import type { Partition } from "./inventory/partition.ts";
import { callersOrganization, ownEvent, refuseEvent } from "./queries/access.ts";
import type { CartPlaces, ItemPlaces } from "./queries/holds.ts";
import { type CartPart, type CartRecord, type LogRecord, RecordType } from "./records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  isRefused,
  missing,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "./results.ts";
import type { State } from "./state.ts";

export const CART_COMMANDS = {
  cart: command({
    members: { body: CART },
    refusals: [
      Result.VALIDATION_FAILED,
      Result.EVENT_ACCESS_DENIED,
      Result.ORGANIZATION_DISABLED,
      Result.SALES_CONTROL_REQUIRED,
      Result.EVENT_NOT_PUBLISHED,
      Result.ADMISSION_REQUIRED,
      Result.ADMISSION_INVALID,
      Result.CHANGED,
      Result.INVENTORY_NOT_AVAILABLE,
      Result.ORPHAN_SEAT,
      Result.NOTHING_SUITABLE,
    ],
    decide: decideCart,
  }),
};

/** Events of a cart, by the ids of its items; one may come again. */
export function eventIdsOf({ items }: Cart): readonly string[] {
  return items.map(({ eventId }) => eventId.toLowerCase());
}

/** An item with its place in the request. */
interface Step {
  readonly index: number;
  /** With the session of the cart where it has none. */
  readonly item: CartItem;
  readonly event: EventRow;
  readonly rules: BookingRules;
}

/** Cost: that of its calls, and O(areas) for each event with several items: see `Partition.draft`. */
function decideCart(
  state: State,
  { caller, body }: CommandWith<{ body: Cart }>,
  timeMs: number,
): Decision<CartPlaces> {
  const organization = callersOrganization(state, caller);
  const items = body.items.map((item) => ({
    ...item,
    sessionId: item.sessionId ?? body.sessionId ?? null,
  }));
  const errors = checkItems(organization, items);
  if (errors.length > 0) return refuseInvalid(errors);
  const steps: Step[] = [];
  for (const [index, item] of items.entries()) {
    const event = ownEvent(state, caller, item.eventId.toLowerCase());
    if (event === null) return refusedItem(index, refuseEvent());
    steps.push({ index, item, event, rules: rulesOf(item) });
  }
  const unknown = steps.flatMap((step) => unknownIn(state, step));
  if (unknown.length > 0) return refuseInvalid(unknown);
  const tooMany = tooManySeats(state, steps);
  if (tooMany !== null) return refuseInvalid([tooMany]);
  const closed =
    firstClosed(organization, steps) ??
    firstNotAdmitted(state, steps, timeMs) ??
    findChanged(state, steps);
  if (closed !== null) return closed;

  const drafts = new Drafts(state, steps, timeMs);
  const places: ItemPlaces[] = [];
  let objects = countOf(items);
  try {
    for (const step of steps) {
      const decision = decideItem(drafts, caller, step, timeMs);
      if (isRefused(decision)) return refusedItem(step.index, decision);
      places.push(decision.value);
      // Whole holds have more than an item names.
      objects += foundIn(decision.value) - objectsOf(step.item);
      if (objects > OBJECTS_PER_REQUEST_MAX) return refuseInvalid([tooManyObjects(objects)]);
      drafts.follow(step, decision.part);
    }
  } finally {
    drafts.discard();
  }
  const { parts } = drafts;
  if (parts.length === 0) return grant(null, { items: places });
  const record: CartRecord = {
    type: RecordType.CART,
    actor: caller.actor,
    session: body.sessionId ?? "",
    parts,
  };
  return grant(record, { items: places });
}

function rulesOf({ call }: CartItem): BookingRules {
  if (call === "extend") return EXTEND_RULES;
  if (call === "best") return LOCK_RULES;
  return { ...BOOKING_COMMANDS[call].rules, answersFalse: false };
}

// Validation of all items.

function checkItems(organization: OrganizationRow, items: readonly CartItem[]): FieldError[] {
  const count = countOf(items);
  if (count > OBJECTS_PER_REQUEST_MAX) return [tooManyObjects(count)];
  /** By event: its first lock. */
  const locks = new Map<string, CartItem>();
  return items.flatMap((item, index) => {
    const errors = checkItem(organization, item);
    if (item.call === "lock" || item.call === "best") {
      const eventId = item.eventId.toLowerCase();
      const first = locks.get(eventId);
      if (first === undefined) locks.set(eventId, item);
      else errors.push(...findConflicts(organization, first, item));
    }
    return errors.map((error) => placed(index, error));
  });
}

function countOf(items: readonly CartItem[]): number {
  return items.reduce((sum, item) => sum + objectsOf(item), 0);
}

function foundIn({ seats, groupOfSeats }: CartItem | ItemPlaces): number {
  return (seats ?? []).length + (groupOfSeats ?? []).length;
}

function tooManyObjects(count: number): FieldError {
  const message = `at most ${OBJECTS_PER_REQUEST_MAX} objects in one cart, those of whole holds too: send several carts`;
  return { field: "items", code: "SIZE", message, rejectedValue: count };
}

/** Named objects; for `best` the places that it takes. */
function objectsOf(item: CartItem): number {
  return item.call === "best" ? (item.quantity ?? 0) : foundIn(item);
}

function checkItem(organization: OrganizationRow, item: CartItem): FieldError[] {
  const { call, seconds = null, quantity = null, priceIds = null } = item;
  if (call === "extend") {
    const errors = checkExtension({ ...item, seconds: seconds ?? 0 });
    return seconds === null ? [...errors, missing("seconds")] : errors;
  }
  if (call === "best") {
    const errors = wishErrors(organization, wishesOf(item));
    if (quantity === null) errors.unshift(missing("quantity"));
    if (priceIds !== null && !isList(priceIds)) errors.push(otherType(priceIds, "an array"));
    return errors;
  }
  const errors = bookingErrors(organization, selectionOf(item), rulesOf(item));
  if (isList(priceIds)) errors.push(otherType(priceIds, "an object"));
  return errors;
}

type PriceIds = CartItem["priceIds"];

function otherType(priceIds: PriceIds, wanted: string): FieldError {
  const message = `must be ${wanted} or null`;
  return { field: "priceIds", code: "TYPE", message, rejectedValue: priceIds };
}

function isList(priceIds: PriceIds): priceIds is Extract<PriceIds, readonly number[]> {
  return Array.isArray(priceIds);
}

/** The item as the body of `best`. A missing quantity is an error of its own. */
export function wishesOf(item: CartItem): BestRequest {
  const { quantity, priceIds } = item;
  const prices = isList(priceIds) ? priceIds : null;
  return { ...item, quantity: quantity ?? BEST_QUANTITY_MAX, priceIds: prices };
}

/** The item as the body of a call on objects. */
export function selectionOf(item: CartItem): StateSelection {
  const { priceIds } = item;
  return { ...item, priceIds: isList(priceIds) ? null : (priceIds ?? null) };
}

/** Ids of another event in the wishes of `best`. */
function unknownIn(state: State, { index, item, event }: Step): FieldError[] {
  if (item.call !== "best") return [];
  return unknownIds(state, event, wishesOf(item)).map((error) => placed(index, error));
}

/** The locks of a cart in one event are one hold. */
function findConflicts(
  organization: OrganizationRow,
  first: CartItem,
  item: CartItem,
): FieldError[] {
  const typeOf = ({ holdType }: CartItem) => findHoldType(organization, holdType)?.name;
  const conflict = (field: "sessionId" | "holdType"): FieldError => {
    const message = `differs from an earlier lock of this event: the locks of a cart are one hold there; send another cart`;
    return { field, code: "CONFLICT", message, rejectedValue: item[field] ?? null };
  };
  const errors: FieldError[] = [];
  if ((item.sessionId ?? "") !== (first.sessionId ?? "")) errors.push(conflict("sessionId"));
  const [type, firstType] = [typeOf(item), typeOf(first)];
  // An unknown one has its own error.
  const areKnown = type !== undefined && firstType !== undefined;
  if (areKnown && type !== firstType) errors.push(conflict("holdType"));
  return errors;
}

/** @returns An error when the searches of a cart would take too long; null otherwise. */
function tooManySeats(state: State, steps: readonly Step[]): FieldError | null {
  const searches = steps.filter(({ item }) => item.call === "best");
  const count = searches.reduce((sum, { event }) => {
    return sum + state.partitionOf(event).layout.seatCount;
  }, 0);
  if (count <= CART_BEST_SEATS_MAX) return null;
  const message = `its best items look through ${count} seats, each through those of its event, and ${CART_BEST_SEATS_MAX} are possible: send several carts`;
  return { field: "items", code: "SIZE", message, rejectedValue: count };
}

function placed(index: number, error: FieldError): FieldError {
  return { ...error, field: `items[${index}].${error.field}` };
}

/** Names the item. */
function refusedItem(index: number, refusal: Refusal): Refusal {
  const { errors, detail } = refusal;
  if (errors.length === 0) return { ...refusal, detail: `items[${index}]: ${detail}` };
  return { ...refusal, errors: errors.map((error) => placed(index, error)) };
}

// Guards of all items, before the inventory of any.

/** @returns The refusal of the smallest code, of the first item that has it; null for none. */
function firstClosed(organization: OrganizationRow, steps: readonly Step[]): Refusal | null {
  let first: Refusal | null = null;
  for (const { index, event, rules } of steps) {
    const closed = checkOpen(event, organization, rules);
    if (closed === null || (first !== null && first.refused <= closed.refused)) continue;
    first = refusedItem(index, closed);
  }
  return first;
}

/** A cart's locks in an event, and its best places, are one hold, and a hold is under the token of one visitor. */
function firstNotAdmitted(state: State, steps: readonly Step[], timeMs: number): Refusal | null {
  /** By event: the visitor of its first lock. */
  const visitors = new Map<string, number>();
  let first: Refusal | null = null;
  for (const { index, item, event, rules } of steps) {
    if (!rules.needsAdmission) continue;
    const admitted = admit(state, event, item, timeMs);
    const other = visitors.get(event.id);
    let refusal: Refusal | null = null;
    if (typeof admitted === "object") refusal = admitted;
    else if (other !== undefined && other !== admitted) refusal = refuseAdmission("SESSION");
    else visitors.set(event.id, admitted);
    if (refusal === null || (first !== null && first.refused <= refusal.refused)) continue;
    first = refusedItem(index, refusal);
  }
  return first;
}

/** One error for each event that is not at the sequence of its first guarded item. */
function findChanged(state: State, steps: readonly Step[]): Refusal | null {
  const changed = new Map<string, FieldError>();
  for (const { index, item, event } of steps) {
    const { ifSequence = null } = item;
    const present = state.sequenceOf(event);
    if (ifSequence === null || ifSequence === present || changed.has(event.id)) continue;
    const message = `the event is at sequence ${present}: read it again, and send the cart with that number`;
    const error = { field: "ifSequence", code: "CHANGED", message, rejectedValue: ifSequence };
    changed.set(event.id, placed(index, error));
  }
  if (changed.size === 0) return null;
  const detail = "An event has changed since its ifSequence; nothing was changed.";
  return refuse(Result.CHANGED, detail, [...changed.values()]);
}

// The inventory of one item after the other.

/** Inventory as the items so far leave it. */
class Drafts implements Inventories {
  readonly catalog: State["catalog"];
  readonly doors: State["doors"];
  readonly doorKeys: State["doorKeys"];
  readonly parts: CartPart[] = [];
  readonly #state: State;
  readonly #timeMs: number;
  /** By partition number: items to be decided. */
  readonly #left = new Map<number, number>();
  /** By partition number. */
  readonly #drafts = new Map<number, Partition>();
  readonly #doorDrafts = new Map<number, DoorDraft>();

  constructor(state: State, steps: readonly Step[], timeMs: number) {
    this.catalog = state.catalog;
    this.doors = state.doors;
    this.doorKeys = state.doorKeys;
    this.#state = state;
    this.#timeMs = timeMs;
    for (const { event } of steps) {
      this.#left.set(event.partition, (this.#left.get(event.partition) ?? 0) + 1);
    }
  }

  partitionOf(event: EventRow): Partition {
    return this.#drafts.get(event.partition) ?? this.#state.partitionOf(event);
  }

  takenOf(event: EventRow, visitor: number): number {
    const door = this.#doorDrafts.get(event.partition);
    if (door === undefined) return this.#state.takenOf(event, visitor);
    return door.takenOf(visitor, this.partitionOf(event));
  }

  /** The fence of the cart's locks, sales and blocks in the event. */
  fenceOf(event: EventRow): number {
    return this.#state.partitionOf(event).holds.nextFence(this.#state.sequence + 1);
  }

  /** @param part - Of the item that was decided last; null when it changes nothing. */
  follow({ event }: Step, part: CartPart | null): void {
    const number = event.partition;
    const left = this.#left.get(number)! - 1;
    this.#left.set(number, left);
    if (part === null) return;
    this.parts.push(part);
    if (left === 0) return;
    const fence = this.fenceOf(event);
    const draft = this.#draftOf(event, fence);
    if (part.type === RecordType.EXTENSION) {
      draft.extend(part, this.#timeMs);
      return;
    }
    const door = this.#doorDrafts.get(number);
    if (door !== undefined) sell(door, draft, part);
    draft.moveAs(part, this.#timeMs, fence);
    if (part.visitor !== undefined) door!.lock(part.visitor);
  }

  /** To be called before anything else reads the inventory. */
  discard(): void {
    for (const draft of this.#drafts.values()) draft.discard();
  }

  #draftOf(event: EventRow, fence: number): Partition {
    const number = event.partition;
    const known = this.#drafts.get(number);
    if (known !== undefined) return known;
    const draft = this.#state.partitionOf(event).draft(fence);
    this.#drafts.set(number, draft);
    const door = this.doors.get(number);
    if (door !== undefined) this.#doorDrafts.set(number, new DoorDraft(door, fence));
    return draft;
  }
}

interface DecidedItem {
  readonly refused: typeof Result.OK;
  readonly part: CartPart | null;
  readonly value: ItemPlaces;
}

function decideItem(
  drafts: Drafts,
  caller: Caller,
  { item, event, rules }: Step,
  timeMs: number,
): DecidedItem | Refusal {
  const given = { caller, eventId: event.id };
  if (item.call === "extend") {
    const body = { ...item, seconds: item.seconds!, groupOfSeats: null };
    const decision = decideExtend(drafts, { ...given, body }, timeMs);
    if (isRefused(decision)) return decision;
    const { seats, areas } = decision.value;
    const groupOfSeats = areas.map(({ areaId }) => ({ id: areaId }));
    return decided(decision.record, { event, seats, groupOfSeats, fence: NONE });
  }
  if (item.call === "best") {
    const decision = decideBest(drafts, { ...given, body: wishesOf(item) }, timeMs);
    if (isRefused(decision)) return decision;
    const { seats, groupOfSeats } = decision.value;
    return decided(decision.record, { event, seats, groupOfSeats, fence: drafts.fenceOf(event) });
  }
  const body = selectionOf(item);
  const decision = decideBooking(drafts, { ...given, body }, timeMs, rules);
  if (isRefused(decision)) return decision;
  assert(decision.value, "an item is granted or refused");
  const isAll = item.all === true && rules.respectsSession;
  const { seats, groupOfSeats } = isAll ? heldBy(drafts.partitionOf(event), body) : body;
  const fence = item.call === "lock" ? drafts.fenceOf(event) : NONE;
  const choices = { seats: seats ?? [], groupOfSeats: groupOfSeats ?? [] };
  return decided(decision.record, { event, ...choices, fence });
}

function decided(record: LogRecord | null, value: ItemPlaces): DecidedItem {
  if (record === null) return { refused: Result.OK, part: null, value };
  const isPart = record.type === RecordType.MOVE || record.type === RecordType.EXTENSION;
  assert(isPart, "an item moves or extends");
  return { refused: Result.OK, part: record, value };
}
