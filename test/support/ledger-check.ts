/**
 * Compares the ledger of an on-sale with a state: what the server acknowledged must be there, and
 * anything else must be explained by a request of unknown outcome. Only the players of the
 * ledger may have booked on the event.
 */
import type { Partition } from "../../engine/inventory/partition.ts";
import { SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { State } from "../../engine/state.ts";
import type { LedgerLine } from "../../server/onsale/books.ts";

/** A line without its time. */
type Line = Omit<LedgerLine, "time">;

/** The basket of a session: booked as a whole or not at all. */
interface Basket {
  readonly session: string;
  /** The server chooses, and has not said what: seats and areas are unknown. */
  readonly isOpen: boolean;
  readonly seats: LedgerLine["seats"];
  readonly areas: LedgerLine["areas"];
  /** The lock was acknowledged. */
  isLocked: boolean;
  /** Sales and unlocks in flight. */
  salesOpen: number;
  unlocksOpen: number;
}

/** The numbers of acknowledged calls; `best` is a lock. */
export interface Acknowledged {
  readonly lock: number;
  readonly unlock: number;
  readonly sale: number;
}

/** The sum of the lines so far. */
export class LedgerFold {
  readonly acknowledged = { lock: 0, unlock: 0, sale: 0 } satisfies Acknowledged;
  /** Acknowledged calls of any kind. */
  get answers(): number {
    const { lock, unlock, sale } = this.acknowledged;
    return lock + unlock + sale;
  }

  /** Ids of seats whose sale was acknowledged. */
  readonly soldSeats = new Set<number>();
  /** Places bought, by area id. */
  readonly soldPlaces = new Map<number, number>();
  readonly #baskets = new Map<string, Basket>();
  #soldCount = 0;

  /** Takes the next line of the ledger, without its line end. */
  enter(text: string): void {
    this.take(JSON.parse(text) as LedgerLine);
  }

  /** Takes a line before it is written. */
  take(line: Line): void {
    const isLock = line.op === "lock" || line.op === "best";
    if (line.step === "answered") this.acknowledged[line.op === "best" ? "lock" : line.op] += 1;
    if (isLock) this.#enterLock(line);
    else this.#enterEnd(line);
  }

  /** Seats and places bought. */
  get soldCount(): number {
    return this.#soldCount;
  }

  /** By session; one basket each. */
  get baskets(): ReadonlyMap<string, Readonly<Basket>> {
    return this.#baskets;
  }

  #enterLock({ op, step, session, seats, areas }: Line): void {
    if (step === "refused") {
      this.#baskets.delete(session);
    } else if (step === "answered" && !this.#basketOf(session).isOpen) {
      this.#basketOf(session).isLocked = true;
    } else {
      const isLocked = step === "answered";
      const isOpen = op === "best" && !isLocked;
      const ends = { isLocked, salesOpen: 0, unlocksOpen: 0 };
      this.#baskets.set(session, { session, isOpen, seats, areas, ...ends });
    }
  }

  /** A refused unlock says that the session holds nothing; a refused sale changes nothing. */
  #enterEnd({ op, step, session, seats, areas }: Line): void {
    const basket = this.#basketOf(session);
    const opened = op === "sale" ? "salesOpen" : "unlocksOpen";
    if (step === "asked") basket[opened] += 1;
    else if (op === "sale" && step === "refused") basket.salesOpen -= 1;
    else this.#baskets.delete(session);
    if (op !== "sale" || step !== "answered") return;
    for (const id of seats) this.soldSeats.add(id);
    for (const { id, capacity } of areas) {
      this.soldPlaces.set(id, (this.soldPlaces.get(id) ?? 0) + capacity);
      this.#soldCount += capacity;
    }
    this.#soldCount += seats.length;
  }

  #basketOf(session: string): Basket {
    const basket = this.#baskets.get(session);
    if (basket === undefined) throw new Error(`the ledger has no open lock of ${session}`);
    return basket;
  }
}

/** True for a basket with an acknowledged lock and no request since. */
function isCertain({ isLocked, salesOpen, unlocksOpen }: Readonly<Basket>): boolean {
  return isLocked && salesOpen === 0 && unlocksOpen === 0;
}

/** @returns One line for each contradiction between state and ledger. */
export function ledgerDeviations(fold: LedgerFold, state: State, eventId: string): string[] {
  const event = state.catalog.events.get(eventId);
  if (event === undefined) return [`event ${eventId} is gone`];
  const house = houseOf(state.partitionOf(event));
  return [
    ...soldSeatFaults(fold, house),
    ...[...fold.baskets.values()].flatMap((basket) => basketFaults(basket, house)),
    ...seatFaults(fold, house),
    ...areaFaults(fold, house),
  ];
}

/** The inventory of the event by ids, with sessions instead of slots. */
interface House {
  readonly seats: ReadonlyMap<number, { readonly state: SeatState; readonly session: string }>;
  /** By area id. */
  readonly areas: ReadonlyMap<number, { readonly sold: number; readonly held: Held }>;
}

/** Places by session. */
type Held = ReadonlyMap<string, number>;

function houseOf(partition: Partition): House {
  const { layout, state, holds, areas } = partition;
  const seats = Array.from(layout.seatIds, (id, seat) => {
    const isLocked = state[seat] === SeatState.LOCKED;
    const session = isLocked ? holds.get(partition.holdOf(seat)).session : "";
    return [id, { state: state[seat] as SeatState, session }] as const;
  });
  const counted = [...layout.areaIndexes].map(([id, area]) => {
    const held = new Map<string, number>();
    for (const [slot, places] of areas.holdsIn(area)) {
      const { session } = holds.get(slot);
      held.set(session, (held.get(session) ?? 0) + places);
    }
    return [id, { sold: areas.places(area, SeatState.SOLD), held }] as const;
  });
  return { seats: new Map(seats), areas: new Map(counted) };
}

function soldSeatFaults(fold: LedgerFold, house: House): string[] {
  return [...fold.soldSeats]
    .filter((id) => house.seats.get(id)?.state !== SeatState.SOLD)
    .map((id) => `seat ${id} was acknowledged as sold and is ${seatText(house, id)}`);
}

/** A basket is held, or was moved by an open request; in both cases as a whole. */
function basketFaults(basket: Readonly<Basket>, house: House): string[] {
  const { session, seats, areas, isLocked, salesOpen, unlocksOpen } = basket;
  const isMine = (id: number) => house.seats.get(id)?.session === session;
  const places = (id: number) => house.areas.get(id)?.held.get(session) ?? 0;
  if (seats.every(isMine) && areas.every(({ id, capacity }) => places(id) === capacity)) return [];
  const isGone = !seats.some(isMine) && areas.every(({ id }) => places(id) === 0);
  if (isGone && (!isLocked || unlocksOpen > 0)) return [];
  const isSold = seats.every((id) => house.seats.get(id)?.state === SeatState.SOLD);
  if (isGone && isSold && salesOpen > 0) return [];
  const found = [
    ...seats.map((id) => `seat ${id} ${seatText(house, id)}`),
    ...areas.map(({ id, capacity }) => `area ${id} ${places(id)} of ${capacity} places held`),
  ].join(", ");
  const duty = isCertain(basket) ? "must hold its basket" : "may have all of its basket or nothing";
  return [`session ${session} ${duty}: ${found}`];
}

/** Somebody must have requested each LOCKED or SOLD seat. */
function seatFaults({ soldSeats, baskets }: LedgerFold, { seats }: House): string[] {
  const selling = [...baskets.values()].filter(({ salesOpen }) => salesOpen > 0);
  const maybeSold = new Set(selling.flatMap((basket) => basket.seats));
  return [...seats].flatMap(([id, { state, session }]) => {
    if (state === SeatState.SOLD && !soldSeats.has(id) && !maybeSold.has(id)) {
      return [`seat ${id} is SOLD and nobody asked to buy it`];
    }
    if (state !== SeatState.LOCKED || baskets.get(session)?.isOpen === true) return [];
    if (baskets.get(session)?.seats.includes(id) !== true) {
      return [`seat ${id} is LOCKED by ${session}, who has no lock of it open`];
    }
    return [];
  });
}

function areaFaults({ soldPlaces, baskets }: LedgerFold, { areas }: House): string[] {
  const placesAsked = (session: string, areaId: number) =>
    baskets.get(session)?.areas.find(({ id }) => id === areaId)?.capacity ?? 0;
  return [...areas].flatMap(([areaId, { sold, held }]) => {
    const soldMin = soldPlaces.get(areaId) ?? 0;
    const soldMax = [...baskets.values()]
      .filter(({ salesOpen }) => salesOpen > 0)
      .reduce((sum, { session }) => sum + placesAsked(session, areaId), soldMin);
    const faults = [...held]
      .filter(([session]) => baskets.get(session)?.isOpen !== true)
      .filter(([session]) => placesAsked(session, areaId) === 0)
      .map(([session, places]) => {
        return `area ${areaId}: ${places} places are LOCKED by ${session}, who has no lock open`;
      });
    if (sold >= soldMin && sold <= soldMax) return faults;
    return [...faults, `area ${areaId}: ${sold} places are SOLD, not ${soldMin} to ${soldMax}`];
  });
}

function seatText({ seats }: House, id: number): string {
  const seat = seats.get(id);
  if (seat === undefined) return "unknown";
  const name = STATE_NAMES[seat.state] ?? "without a price";
  return seat.state === SeatState.LOCKED ? `${name} by ${seat.session}` : name;
}
