/** Seats to offer in place of refused ones: the nearest that a lock of each alone would take now. */
import type { StateSelection } from "../bodies.ts";
import { Allowance } from "../booking.ts";
import type { EventRow, OrphanMode } from "../catalog.ts";
import { NONE } from "../constants.ts";
import { isKeptFrom } from "../inventory/channels.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import { Mark } from "../layout/seating.ts";
import { type Units, unitsOf } from "../layout/units.ts";
import { seatIndexOf } from "../layout/layout.ts";
import { leavesNobodyAlone } from "../orphans.ts";
import { type FieldError, type Refusal, Result } from "../results.ts";
import { limitsOf, orphanModeNow } from "../rules.ts";
import type { State } from "../state.ts";
import { channelSlot } from "./access.ts";
import { bookedSeat } from "./holds.ts";

export interface Alternative {
  readonly id: number;
  /** The composite key of v1. */
  readonly label: string;
  readonly priceId: number;
}

/** An error of a lock, with help to choose others. */
export interface RefusedObject extends FieldError {
  /** Of the first refused seats: the nearest first. */
  readonly alternatives?: readonly Alternative[];
  /** ACTIVE places of an area. */
  readonly available?: number;
}

/** Refused seats with alternatives. */
const HELPED_MAX = 20;
const ALTERNATIVES_MAX = 3;

/**
 * To be called once the lock is decided.
 * @param refused - Errors of the selection, in its order.
 * Cost: O(seats) in bytes read, and O(units) for each of the first 20 refused seats; beside them
 * the seats of near units. The first call on a layout makes its units.
 */
export function withAlternatives(
  state: State,
  event: EventRow,
  selection: StateSelection,
  refused: readonly FieldError[],
): RefusedObject[] {
  const partition = state.partitionOf(event);
  const { layout, areas } = partition;
  const seats = selection.seats ?? [];
  const places = selection.groupOfSeats ?? [];
  const helped = refused.filter(({ field }) => isOfSeat(field)).slice(0, HELPED_MAX);
  const indexes = helped.map(({ field }) => seatIndexOf(layout, seats[positionIn(field)]!.id));
  const organization = state.catalog.organizations.get(event.organizationId)!;
  const session = selection.sessionId ?? "";
  const quota = new Allowance(partition.holds, limitsOf(organization, event), session);
  const hasQuota = quota.take(1, "", 1) === null;
  const mode = orphanModeNow(organization, event, partition);
  const channel = partition.channels === null ? 0 : channelSlot(event, selection.channel);
  const search = hasQuota ? new Search(partition, indexes, mode, channel) : null;
  for (const { id } of seats) search?.exclude(seatIndexOf(layout, id));
  const prices = state.catalog.pricesOf(event.id);
  let next = 0;
  return refused.map((error) => {
    if (!isOfSeat(error.field)) {
      const area = layout.areaIndexes.get(places[positionIn(error.field)]!.id);
      const available = area === undefined ? 0 : areas.places(area, SeatState.ACTIVE);
      return { ...error, available };
    }
    if (next === helped.length) return error;
    const found = search?.nearest(indexes[next]!) ?? [];
    next += 1;
    const alternatives = found.map((seat) => {
      const { id, label, priceId } = bookedSeat(partition, prices, seat);
      return { id, label, priceId: priceId! };
    });
    return { ...error, alternatives };
  });
}

/**
 * The refusal of a lock of what can be had, with help to choose others. To be called in its turn.
 * Cost: as `withAlternatives`.
 */
export function helpedRefusal(
  state: State,
  { eventId, body }: { readonly eventId: string; readonly body: StateSelection },
  refusal: Refusal,
): Refusal {
  const isOfInventory =
    refusal.refused === Result.INVENTORY_NOT_AVAILABLE || refusal.refused === Result.ORPHAN_SEAT;
  if (!isOfInventory) return refusal;
  const event = state.catalog.events.get(eventId)!;
  return { ...refusal, errors: withAlternatives(state, event, body, refusal.errors) };
}

function isOfSeat(field: string): boolean {
  return field.startsWith("seats[");
}

function positionIn(field: string): number {
  return Number(field.slice(field.indexOf("[") + 1, field.indexOf("]")));
}

/** Verdicts on a lock of a seat alone. */
const [UNKNOWN, GRANTED, REFUSED] = [0, 1, 2];

class Search {
  readonly #partition: Partition;
  readonly #units: Units;
  readonly #mode: OrphanMode;
  readonly #channel: number;
  readonly #verdicts: Uint8Array;
  /** By price slot and mark of the wanted seats: per unit 1 while it may have such a seat. */
  readonly #unitsWith = new Map<number, Uint8Array>();

  /** @param wanted - Seat indexes; NONE for none. @param channel - Its slot; 0 for none. */
  constructor(partition: Partition, wanted: readonly number[], mode: OrphanMode, channel: number) {
    this.#partition = partition;
    this.#channel = channel;
    this.#units = unitsOf(partition.layout);
    this.#mode = mode;
    const { layout, state } = partition;
    this.#verdicts = new Uint8Array(layout.seatCount);
    for (const seat of wanted) {
      if (seat === NONE || !this.#hasPlace(seat)) continue;
      const key = this.#keyOf(seat);
      if (!this.#unitsWith.has(key)) this.#unitsWith.set(key, new Uint8Array(this.#units.count));
    }
    if (this.#unitsWith.size === 0) return;
    const { unitOfSeat } = this.#units;
    let [lastKey, units] = [-1, this.#unitsWith.get(-1)];
    for (let seat = 0; seat < layout.seatCount; seat++) {
      if (state[seat] !== SeatState.ACTIVE) continue;
      const key = this.#keyOf(seat);
      if (key !== lastKey) [lastKey, units] = [key, this.#unitsWith.get(key)];
      if (units !== undefined) units[unitOfSeat[seat]!] = 1;
    }
  }

  exclude(seat: number): void {
    if (seat !== NONE) this.#verdicts[seat] = REFUSED;
  }

  /** @returns Up to three seats, each for one call alone. */
  nearest(wanted: number): readonly number[] {
    if (wanted === NONE || !this.#hasPlace(wanted)) return [];
    const key = this.#keyOf(wanted);
    const having = this.#unitsWith.get(key)!;
    const best = new Nearest();
    // From its own unit outwards, because numbers of near units are near, too.
    const own = this.#units.unitOfSeat[wanted]!;
    const { count } = this.#units;
    for (let away = 0; away < count; away++) {
      if (own + away < count && having[own + away] === 1) this.#visit(own + away, wanted, best);
      if (away > 0 && own >= away && having[own - away] === 1) {
        this.#visit(own - away, wanted, best);
      }
    }
    for (const seat of best.seats) this.exclude(seat);
    return best.seats;
  }

  #visit(unit: number, wanted: number, best: Nearest): void {
    const { layout, state } = this.#partition;
    const { bounds, starts, seats } = this.#units;
    const { x, y, seatIds } = layout;
    const [nearX, nearY] = [x[wanted]!, y[wanted]!];
    const left = bounds[4 * unit]!;
    if (Number.isNaN(left)) return;
    const dx = Math.max(left - nearX, 0, nearX - bounds[4 * unit + 2]!);
    const dy = Math.max(bounds[4 * unit + 1]! - nearY, 0, nearY - bounds[4 * unit + 3]!);
    if (dx * dx + dy * dy > best.farthest) return;
    const key = this.#keyOf(wanted);
    let isLeft = false;
    for (let i = starts[unit]!; i < starts[unit + 1]!; i++) {
      const seat = seats[i]!;
      if (state[seat] !== SeatState.ACTIVE || this.#verdicts[seat] === REFUSED) continue;
      if (this.#keyOf(seat) !== key || Number.isNaN(x[seat]!)) continue;
      const [sx, sy] = [x[seat]! - nearX, y[seat]! - nearY];
      const distance = sx * sx + sy * sy;
      if (!best.takes(distance, seatIds[seat]!)) isLeft = true;
      else if (this.#isGranted(seat)) {
        best.add(seat, distance, seatIds[seat]!);
        isLeft = true;
      }
    }
    if (!isLeft) this.#unitsWith.get(key)![unit] = 0;
  }

  #isGranted(seat: number): boolean {
    if (this.#verdicts[seat] === UNKNOWN) {
      const { channels } = this.#partition;
      const isFree = channels === null || !isKeptFrom(channels, seat, this.#channel);
      const isGranted = isFree && leavesNobodyAlone(this.#partition, seat, this.#mode);
      this.#verdicts[seat] = isGranted ? GRANTED : REFUSED;
    }
    return this.#verdicts[seat] === GRANTED;
  }

  #hasPlace(seat: number): boolean {
    const { price, layout } = this.#partition;
    return price[seat] !== 0 && !Number.isNaN(layout.x[seat]!);
  }

  #keyOf(seat: number): number {
    const { price, layout } = this.#partition;
    return 2 * price[seat]! + (layout.marks[seat]! & Mark.ACCESSIBLE);
  }
}

/** The nearest seats so far, by distance and then by id. */
class Nearest {
  readonly seats: number[] = [];
  readonly #distances: number[] = [];
  readonly #ids: number[] = [];

  /** Infinity while there is room. */
  get farthest(): number {
    return this.seats.length < ALTERNATIVES_MAX ? Infinity : this.#distances.at(-1)!;
  }

  takes(distance: number, id: number): boolean {
    return distance < this.farthest || (distance === this.farthest && id < this.#ids.at(-1)!);
  }

  add(seat: number, distance: number, id: number): void {
    let at = this.seats.length;
    while (
      at > 0 &&
      (this.#distances[at - 1]! > distance ||
        (this.#distances[at - 1] === distance && this.#ids[at - 1]! > id))
    )
      at -= 1;
    this.seats.splice(at, 0, seat);
    this.#distances.splice(at, 0, distance);
    this.#ids.splice(at, 0, id);
    if (this.seats.length <= ALTERNATIVES_MAX) return;
    for (const list of [this.seats, this.#distances, this.#ids]) list.pop();
  }
}
