/**
 * Ends of holds: later, as long as the buyer pays and the hold type allows; and the record when one
 * has come.
 */
import { assert } from "./assert.ts";
import { type CommandWith, EXTENSION, type Extension } from "./bodies.ts";
import {
  ANOTHER_HOLD,
  type BookingRules,
  checkDuplicates,
  checkNamed,
  checkNoCapacity,
  checkOpen,
  findHoldType,
  findInventory,
  type Inventories,
  PLAIN_BOOKING,
  refusalsOf,
  sizeError,
} from "./booking.ts";
import type { EventRow, OrganizationRow } from "./catalog.ts";
import { command } from "./command.ts";
import { NONE } from "./constants.ts";
import type { Partition } from "./inventory/partition.ts";
import { Move } from "./inventory/states.ts";
import { callersOrganization, ownEvent, refuseEvent } from "./queries/access.ts";
import { type BookedArea, bookedSeat, type BookedSeat } from "./queries/holds.ts";
import { areaFacts } from "./queries/seats.ts";
import { ActorKind, type ExtensionRecord, type MoveRecord, RecordType } from "./records.ts";
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
import { UUID_KEY } from "./schema.ts";

type ExtendCommand = CommandWith<{ eventId: string; body: Extension }>;

/** The extended holds as they are afterwards. */
export interface Extended {
  /** By id. */
  readonly seats: readonly BookedSeat[];
  /** By id. */
  readonly areas: readonly BookedArea[];
  /** Milliseconds since 1970: the first end of the holds; null when none ends. */
  readonly untilMs: number | null;
}

/** Seats are found, and refused, as for a sale out of their holds. */
const EXCEPTIONS = {
  needsPublished: true,
  respectsSession: true,
  otherFence: ANOTHER_HOLD,
} as const;
export const EXTEND_RULES: BookingRules = { ...PLAIN_BOOKING, ...EXCEPTIONS, move: Move.SALE };

export const EXTEND_COMMANDS = {
  extend: command({
    members: { eventId: UUID_KEY, body: EXTENSION },
    refusals: refusalsOf(EXCEPTIONS),
    decide: decideExtend,
  }),
};

/** Cost: O(first seats of the holds) and `Areas.heldOf`. */
export function decideExtend(
  state: Inventories,
  { caller, eventId, body }: ExtendCommand,
  timeMs: number,
): Decision<Extended> {
  const organization = callersOrganization(state, caller);
  const errors = checkExtension(body);
  if (errors.length > 0) return refuseInvalid(errors);
  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const closed = checkOpen(event, organization, EXTEND_RULES);
  if (closed !== null) return closed;
  const slots = findHolds(state, event, body);
  if (isRefused(slots)) return slots;
  const partition = state.partitionOf(event);
  const ends = new Map<number, number>();
  const later: number[] = [];
  for (const slot of slots) {
    const { expiresAtMs } = partition.holds.get(slot);
    const endMs = laterEndMs(partition, slot, { organization, seconds: body.seconds, timeMs });
    ends.set(slot, endMs);
    if (endMs !== expiresAtMs) later.push(slot);
  }
  const extended = extendedFacts(state, event, ends);
  if (later.length === 0) return grant(null, extended);
  const record: ExtensionRecord = {
    type: RecordType.EXTENSION,
    actor: caller.actor,
    partition: event.partition,
    session: body.sessionId ?? "",
    holds: Uint32Array.from(later),
    endsAtMs: Float64Array.from(later, (slot) => ends.get(slot)!),
    places: later.reduce((sum, slot) => sum + placesOf(partition, slot), 0),
  };
  return grant(record, extended);
}

export function checkExtension(body: Extension): FieldError[] {
  const { sessionId, groupOfSeats, fence, fences } = body;
  const seats = body.seats ?? [];
  const size = sizeError(seats.length);
  if (size !== null) return [size];
  const errors: FieldError[] = [];
  if (groupOfSeats !== undefined && groupOfSeats !== null) {
    const message = "must be left out: name places by the fence or the session of their hold";
    errors.push({ field: "groupOfSeats", code: "NULL", message, rejectedValue: groupOfSeats });
  }
  if (seats.length === 0 && (fence ?? null) === null && (sessionId ?? "") === "") {
    errors.push(missing("seats", "must name a seat, unless fence or sessionId names holds"));
  }
  checkDuplicates(seats, "seats", errors);
  checkNamed(fences, "fences", seats, errors);
  checkNoCapacity(seats, errors);
  return errors;
}

/** @returns Slots, rising. */
function findHolds(
  state: Inventories,
  event: EventRow,
  body: Extension,
): readonly number[] | Refusal {
  const { sessionId = null, seats, fence = null } = body;
  const partition = state.partitionOf(event);
  if (seats !== undefined && seats !== null && seats.length > 0) {
    const selection = { sessionId, seats, fence, fences: body.fences ?? null };
    const { requested, errors } = findInventory(state, event, selection, EXTEND_RULES);
    if (errors.length > 0) return refuseHolds(errors);
    const slots = new Set(Array.from(requested, (seat) => partition.holdOf(seat)));
    return [...slots].sort((a, b) => a - b);
  }
  const { holds } = partition;
  if (fence !== null) {
    const slot = holds.slotOf(fence);
    const isOwn = sessionId === null || (slot !== NONE && holds.get(slot).session === sessionId);
    if (slot !== NONE && isOwn) return [slot];
  } else {
    const found = [...holds.slotsOf(sessionId ?? "")].sort((a, b) => a - b);
    if (found.length > 0) return found;
  }
  const field = fence === null ? "sessionId" : "fence";
  const message = "names no hold of the event: it may have run out; read the holds, or lock again";
  return refuseHolds([{ field, code: "NOT_FOUND", message, rejectedValue: fence ?? sessionId }]);
}

function refuseHolds(errors: readonly FieldError[]): Refusal {
  const detail = "Some of the holds are not there; nothing was changed.";
  return refuse(Result.INVENTORY_NOT_AVAILABLE, detail, errors);
}

interface ExtensionTerms {
  readonly organization: OrganizationRow;
  readonly seconds: number;
  readonly timeMs: number;
}

/**
 * The definition of the hold type now decides, so an operator can allow more during an on-sale.
 *
 * @returns Milliseconds since 1970; 0 for a hold without an end.
 */
function laterEndMs(
  { holds }: Partition,
  slot: number,
  { organization, seconds, timeMs }: ExtensionTerms,
): number {
  const { holdType, startedAtMs, expiresAtMs } = holds.get(slot);
  if (expiresAtMs === 0) return 0;
  assert(expiresAtMs > timeMs, "holds that ran out have ended before a command is decided");
  const type = findHoldType(organization, holdType);
  if (type === undefined) return expiresAtMs;
  // A type that now has no end has no cap either.
  const maxSeconds = type.maxSeconds ?? type.ttlSeconds ?? Infinity;
  const wantedMs = Math.min(timeMs + seconds * 1_000, startedAtMs + maxSeconds * 1_000);
  return Math.max(expiresAtMs, wantedMs);
}

/** @returns The seats and areas of a hold. Cost: O(its seats + areas of the event). */
function placesOf(partition: Partition, slot: number): number {
  let places = partition.seatsOf(slot).length;
  for (let area = 0; area < partition.areas.count; area++) {
    if (partition.areas.held(area, slot) > 0) places += 1;
  }
  return places;
}

/** @param ends - By slot: the end of each hold, milliseconds since 1970; 0 for never. */
function extendedFacts(
  state: Inventories,
  event: EventRow,
  ends: ReadonlyMap<number, number>,
): Extended {
  const partition = state.partitionOf(event);
  const prices = state.catalog.pricesOf(event.id);
  const seats: BookedSeat[] = [];
  let untilMs = Infinity;
  for (const [slot, endMs] of ends) {
    if (endMs !== 0) untilMs = Math.min(untilMs, endMs);
    for (const seat of partition.seatsOf(slot)) {
      seats.push({ ...bookedSeat(partition, prices, seat), expiresAtMs: endMs || null });
    }
  }
  const held = new Set<number>();
  for (const places of partition.areas.heldOf(new Set(ends.keys())).values()) {
    for (const [area] of places) held.add(area);
  }
  const areas = Array.from(held, (area) => ({ ...areaFacts(partition, prices, area), hold: null }));
  return {
    seats: seats.sort((a, b) => a.id - b.id),
    areas: areas.sort((a, b) => a.areaId - b.areaId),
    untilMs: untilMs === Infinity ? null : untilMs,
  };
}

// The record at the end of a hold's time.

const SYSTEM = { kind: ActorKind.SYSTEM, id: 0 } as const;

/**
 * @param slot - The slot of an existing hold.
 * Cost: O(seats of the hold + areas of the event), usually 2 + 4.
 */
export function expireHold(number: number, partition: Partition, slot: number): MoveRecord {
  const { session, holdType, expiresAtMs } = partition.holds.get(slot);
  assert(expiresAtMs > 0, "a hold without an end does not expire");
  const held = partition.areas.heldOf(new Set([slot])).get(slot) ?? [];
  const areas = held.flatMap(([area, places]) => [area, slot, places]);
  const seats = partition.seatsOf(slot);
  assert(seats.length + areas.length > 0, "a hold has a seat or a place");
  return {
    type: RecordType.MOVE,
    actor: SYSTEM,
    partition: number,
    move: Move.EXPIRE,
    hold: NONE,
    expiresAtMs: 0,
    session,
    holdType,
    seats,
    areas: Uint32Array.from(areas),
  };
}
