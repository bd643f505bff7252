/**
 * `best`: locks the best places that are free. Its answer is a function of the state, so of two
 * requests at the same moment the later one gets the next best, never a refusal because of the
 * other. The record is that of a lock.
 */
import { assert } from "./assert.ts";
import { BEST_REQUEST, type BestRequest, type CommandWith, type SeatChoice } from "./bodies.ts";
import {
  Allowance,
  checkNoFences,
  checkOpen,
  findHoldType,
  type Inventories,
  LOCK_RULES,
  newHold,
  unknownHoldType,
} from "./booking.ts";
import type { EventRow, OrganizationRow } from "./catalog.ts";
import { command } from "./command.ts";
import { NONE } from "./constants.ts";
import { admit, leftOf, visitorLimit } from "./door.ts";
import type { Block, Filter } from "./inventory/blocks.ts";
import type { Division } from "./inventory/division.ts";
import type { Partition } from "./inventory/partition.ts";
import { Move, SeatState } from "./inventory/states.ts";
import { GroupType } from "./layout/layout.ts";
import { callersOrganization, channelSlot, ownEvent, refuseEvent } from "./queries/access.ts";
import { RecordType } from "./records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  notFound,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "./results.ts";
import { limitsOf, orphanModeNow } from "./rules.ts";
import { UUID_KEY } from "./schema.ts";

/** The places of a granted request, in the form that `sale` and `unlock` take. */
export interface BestPlaces {
  /** True for places of one block, or of one area. */
  readonly together: boolean;
  /** Block by block, along the row. */
  readonly seats: readonly SeatChoice[];
  readonly groupOfSeats: readonly SeatChoice[];
}

type BestCommand = CommandWith<{ eventId: string; body: BestRequest }>;

/**
 * Cost: that of `Places.best`: microseconds for wishes asked again and again, O(units) for new ones.
 * A refusal adds a census, O(seats) for new wishes. Several blocks add O(units) for each of their
 * sizes, at most ten, and the seats of the units evaluated; at worst, in one long row, O(seats) for
 * each block.
 */
export function decideBest(
  state: Inventories,
  { caller, eventId, body }: BestCommand,
  timeMs: number,
): Decision<BestPlaces> {
  const organization = callersOrganization(state, caller);
  const holdType = findHoldType(organization, body.holdType);
  const errors = wishErrors(organization, body);
  if (errors.length > 0) return refuseInvalid(errors);
  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const unknown = unknownIds(state, event, body);
  if (unknown.length > 0) return refuseInvalid(unknown);
  const closed = checkOpen(event, organization, LOCK_RULES);
  if (closed !== null) return closed;

  const visitor = admit(state, event, body, timeMs);
  if (typeof visitor === "object") return visitor;
  const partition = state.partitionOf(event);
  const { quantity } = body;
  const limits = new Allowance(
    partition.holds,
    limitsOf(organization, event),
    body.sessionId ?? "",
  );
  const beyond = limits.take(quantity, "quantity", quantity);
  if (beyond !== null) {
    const detail = "The places would be more than may be held; nothing was changed.";
    return refuse(Result.INVENTORY_NOT_AVAILABLE, detail, [beyond]);
  }
  if (quantity > leftOf(state, event, visitor)) {
    const detail = "The places would be more than the visitor may take; nothing was changed.";
    return refuse(Result.INVENTORY_NOT_AVAILABLE, detail, [visitorLimit("quantity", quantity)]);
  }
  const wish = wishOf(state, event, organization, body);
  const match = find(partition, wish);
  if (match === null) return refuseUnsuitable(partition, wish);
  const { seats, area } = match;
  const { seatIds, areas } = partition.layout;
  assert(seats.length + (area === NONE ? 0 : quantity) === quantity, "the quantity is found");
  const hold = newHold(partition, holdType!, timeMs);
  const record = {
    type: RecordType.MOVE,
    actor: caller.actor,
    partition: event.partition,
    move: Move.LOCK,
    ...hold,
    session: body.sessionId ?? "",
    seats: Uint32Array.from(seats),
    areas: area === NONE ? new Uint32Array(0) : Uint32Array.of(area, hold.hold, quantity),
    ...(visitor === NONE ? {} : { visitor }),
  };
  return grant(record, {
    together: match.together,
    seats: seats.map((seat) => ({ id: seatIds[seat]! })),
    groupOfSeats: area === NONE ? [] : [{ id: areas[area]!.id, capacity: quantity }],
  });
}

/** @returns The errors of the request itself. */
export function wishErrors(organization: OrganizationRow, body: BestRequest): FieldError[] {
  const errors: FieldError[] = [];
  const { quantity, accessible } = body;
  if ((accessible ?? 0) > quantity) {
    const message = "must be at most the quantity";
    errors.push({ field: "accessible", code: "RANGE", message, rejectedValue: accessible });
  }
  checkNoFences(body, errors);
  if (findHoldType(organization, body.holdType) === undefined) errors.push(unknownHoldType(body));
  return errors;
}

/** @returns An error for each price and group of another event. */
export function unknownIds(
  state: Inventories,
  event: EventRow,
  body: Pick<BestRequest, "priceIds" | "groupOfSeatsIds">,
): FieldError[] {
  const { groups } = state.partitionOf(event).layout;
  const { prices } = state.catalog;
  const priceIds = (body.priceIds ?? []).map((id, i) =>
    prices.get(id)?.eventId === event.id
      ? []
      : [notFound(`priceIds[${i}]`, id, "price of the event")],
  );
  const groupIds = (body.groupOfSeatsIds ?? []).map((id, i) =>
    groups.has(id) ? [] : [notFound(`groupOfSeatsIds[${i}]`, id, "section, table, row or area")],
  );
  return [...priceIds, ...groupIds].flat();
}

/** A request in terms of the partition. */
interface Wish {
  readonly quantity: number;
  readonly isDivisible: boolean;
  /** Of one block, or the first one. */
  readonly filter: Filter;
  /** Area indexes in the order of the request, without those of other prices. */
  readonly areas: readonly number[];
}

function wishOf(
  state: Inventories,
  event: EventRow,
  organization: OrganizationRow,
  body: BestRequest,
): Wish {
  const { prices: priceRows } = state.catalog;
  const partition = state.partitionOf(event);
  const { layout, areas } = partition;
  const { quantity, accessible, adjacent, avoidOrphans, includeAccessible } = body;
  const priceIds = body.priceIds ?? [];
  const slots = new Set(priceIds.map((id) => priceRows.get(id)!.slot));
  const prices = priceIds.length === 0 ? null : slots;
  const groupIds = [...new Set(body.groupOfSeatsIds)];
  const placesOf = groupIds.map((id) => layout.groups.get(id)!);
  const seated = groupIds.filter((_, i) => placesOf[i]!.type !== GroupType.GA);
  return {
    quantity,
    isDivisible: adjacent === "preferred",
    filter: {
      prices,
      groupIds: groupIds.length === 0 ? null : seated.sort((a, b) => a - b),
      accessible: accessible ?? 0,
      includeAccessible: includeAccessible === true,
      orphanMode: orphanModeNow(organization, event, partition),
      avoidOrphans: avoidOrphans !== false,
      channel: partition.channels === null ? 0 : channelSlot(event, body.channel),
    },
    areas: placesOf
      .filter(({ type }) => type === GroupType.GA && (accessible ?? 0) === 0)
      .map(({ index }) => index)
      .filter((area) => prices === null || prices.has(areas.price[area]!)),
  };
}

interface Match {
  readonly together: boolean;
  readonly seats: readonly number[];
  /** NONE for seats. */
  readonly area: number;
}

function find(partition: Partition, wish: Wish): Match | null {
  const { quantity, filter, areas, isDivisible } = wish;
  const block = partition.places.best(filter, quantity);
  if (block !== null) return { together: true, seats: block.seats, area: NONE };
  const area = areas.find((index) => activePlaces(partition, index) >= quantity);
  if (area !== undefined) return { together: true, seats: [], area };
  const seats = isDivisible ? findApart(partition, wish) : null;
  return seats === null ? null : { together: false, seats, area: NONE };
}

function activePlaces({ areas }: Partition, area: number): number {
  return areas.places(area, SeatState.ACTIVE);
}

/** Smallest block shortened by one seat to spare a single person. */
const SHARED_SIZE_MIN = 3;
const PAIR = 2;

/** Several blocks, the first with the accessible seats. Null when they do not make the quantity. */
function findApart({ places }: Partition, { quantity, filter }: Wish): readonly number[] | null {
  const others = filter.accessible === 0 ? filter : { ...filter, accessible: 0 };
  const firstSize = places.census(filter).largest(quantity - 1);
  if (firstSize === 0) return null;
  const division = places.divide(others);
  const first = withoutLoner(division, quantity, firstSize, (size) => places.best(filter, size));
  const seats = [...first.seats];
  division.anchorTo(first);
  while (seats.length < quantity) {
    const left = quantity - seats.length;
    const size = division.largest(left);
    if (size === 0) return null;
    const next = withoutLoner(division, left, size, (wanted) => division.nearest(wanted));
    seats.push(...next.seats);
  }
  return seats;
}

/**
 * Takes the next block: of the size, or where that would leave one person alone, and a pair beside
 * a smaller block can be had, one less.
 *
 * @param left - Places still to find. @param size - Of which there is a block.
 */
function withoutLoner(
  division: Division,
  left: number,
  size: number,
  choose: (size: number) => Block | null,
): Block {
  if (left - size === 1 && size >= SHARED_SIZE_MIN) {
    const smaller = choose(size - 1);
    if (smaller !== null) {
      division.take(smaller);
      if (division.hasBeside(PAIR, smaller.unit)) return smaller;
      division.giveBack(smaller);
    }
  }
  const block = choose(size);
  assert(block !== null, "a census counts blocks that there are");
  division.take(block);
  return block;
}

function refuseUnsuitable(partition: Partition, { quantity, filter, areas }: Wish): Refusal {
  const census = partition.places.census(filter);
  const active = areas.map((area) => activePlaces(partition, area));
  const ofAreas = active.map((places) => Math.min(places, quantity - 1));
  const largestTogether = Math.max(census.largest(quantity - 1), ...ofAreas);
  const available = active.reduce((sum, places) => sum + places, census.candidates);
  const error = {
    field: "quantity",
    code: "NOTHING_SUITABLE",
    message:
      largestTogether === 0
        ? "no such places are free: ask for others"
        : `such places are free for at most ${largestTogether} together: ask for fewer, or for others`,
    rejectedValue: quantity,
  };
  const detail = "There are no such places; nothing was changed.";
  const members = { largestTogether, available };
  return { ...refuse(Result.NOTHING_SUITABLE, detail, [error]), members };
}

export const BEST_COMMANDS = {
  best: command({
    members: { eventId: UUID_KEY, body: BEST_REQUEST },
    refusals: [
      Result.VALIDATION_FAILED,
      Result.EVENT_ACCESS_DENIED,
      Result.ORGANIZATION_DISABLED,
      Result.EVENT_NOT_PUBLISHED,
      Result.ADMISSION_REQUIRED,
      Result.ADMISSION_INVALID,
      Result.INVENTORY_NOT_AVAILABLE,
      Result.NOTHING_SUITABLE,
    ],
    decide: decideBest,
  }),
};
