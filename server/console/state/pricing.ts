/**
 * Prices for sections and areas. Held, sold and blocked places keep theirs unless the person answers
 * otherwise, and the last change can be undone.
 */
import { signal } from "@preact/signals";
import {
  type AreaFacts,
  assignPrices,
  changeStatus,
  createPrice,
  type Price,
  type PriceItem,
  type PriceItems,
  readAreas,
  readPrices,
  unassignPrices,
} from "../api/calls.ts";
import { type Api, ApiError } from "../api/http.ts";
import type { Hit } from "../map/gestures.ts";
import { type AreaCounts, countArea, NO_PRICE, noTotals, SeatState } from "../map/seats.ts";
import { TEXTS } from "../texts.ts";
import type { LiveEvent } from "./live-event.ts";
import { announce } from "./page.ts";

const T = TEXTS.prices;

/** Seats and areas, as indexes of the geometry. */
interface Places {
  readonly seats: readonly number[];
  readonly areas: readonly number[];
}

interface Target extends Places {
  readonly name: string;
}

/** A change that waits for an answer. */
export interface Question {
  readonly target: Target;
  readonly price: Price;
}

interface Change extends Question {
  /** Places that keep their price, as the page knew it. */
  readonly kept: number;
  readonly onlyActive: boolean;
  /** New capacity of an area. */
  readonly capacity?: number;
}

/** Answer to a question; empty for a cancellation. */
export type Answer = "keep" | "all" | "";

/** Places of a target with another price. */
interface Plan {
  readonly free: Places;
  /** Held, sold or blocked. An area with one such place counts as a whole: it has one price. */
  readonly taken: Places;
  /** Index: a `SeatState`. */
  readonly counts: readonly number[];
}

interface AreaBefore {
  readonly priceId: number | null;
  readonly capacity: number;
  readonly isTaken: boolean;
}

/** The before-image of a change. */
interface Undo {
  readonly name: string;
  /** By seat: its price id; null without a price. */
  readonly seats: ReadonlyMap<number, number | null>;
  readonly freeSeats: ReadonlySet<number>;
  readonly areas: ReadonlyMap<number, AreaBefore>;
}

export interface Outcome {
  readonly text: string;
  /** Null when there is nothing to undo. */
  readonly undo: Undo | null;
}

export class Pricing {
  /** The price of the next click; 0 before one is chosen. */
  readonly brush = signal(0);
  /** Of the server, since changes do not tell the price of an area. */
  readonly areas = signal<readonly AreaFacts[]>([]);
  readonly question = signal<Question | null>(null);
  readonly outcome = signal<Outcome | null>(null);
  readonly error = signal("");
  readonly #api: Api;
  readonly #event: LiveEvent;
  /** One at a time: the before-image of a change has the change before it. */
  #last: Promise<void> = Promise.resolve();

  constructor(api: Api, event: LiveEvent) {
    this.#api = api;
    this.#event = event;
    void this.#try(async () => this.#readAreas());
  }

  choose(price: number): void {
    this.brush.value = price;
    this.error.value = "";
  }

  async addPrice(name: string): Promise<void> {
    await this.#try(async () => {
      const { id } = this.#event.facts;
      const [created] = await createPrice(this.#api, id, name);
      this.#event.prices.value = await readPrices(this.#api, id);
      this.brush.value = created!.id;
    });
  }

  /** Gives the price to the clicked section or area: a seat stands for its section. */
  async paint(hit: Hit): Promise<void> {
    const { areas, rows, rowOfSeat, sections } = this.#event.geometry;
    if (hit.kind === "area") {
      const { name } = areas[hit.area]!;
      return this.#begin({ name, seats: [], areas: [hit.area] });
    }
    const section = hit.kind === "seat" ? rows[rowOfSeat[hit.seat]!]!.section : hit.section;
    const { name } = sections[section]!;
    return this.#begin({ name, seats: this.#seatsOf(section), areas: [] });
  }

  /** Gives the price to everything without one. */
  async paintRest(): Promise<void> {
    const { prices } = this.#event.seats;
    const seats = [...prices.keys()].filter((seat) => prices[seat] === NO_PRICE);
    const areas = this.#event.geometry.areas.flatMap(({ id }, area) =>
      this.areaFacts(id)?.priceId === undefined ? area : [],
    );
    await this.#begin({ name: T.everything, seats, areas });
  }

  /** Puts as many places of an area on sale. It keeps its price, if it has one. */
  async resize(area: number, capacity: number): Promise<void> {
    const { id, name } = this.#event.geometry.areas[area]!;
    const price = this.#priceOf(this.areaFacts(id)?.priceId ?? this.brush.value);
    if (price === undefined) return this.#chooseFirst();
    await this.#try(async () => {
      await this.#readAreas();
      const target = { name, seats: [], areas: [area] };
      await this.#change({ price, target, kept: 0, onlyActive: false, capacity }, target);
    });
  }

  async answer(answer: Answer): Promise<void> {
    const question = this.question.value;
    this.question.value = null;
    if (question === null || answer === "") return;
    await this.#try(async () => {
      // Of now, not of when the question was asked.
      this.#mustBeLive();
      const { free, taken, counts } = this.planOf(question);
      const { HELD, SOLD, BLOCKED } = SeatState;
      const kept = answer === "all" ? 0 : counts[HELD]! + counts[SOLD]! + counts[BLOCKED]!;
      const seats = answer === "all" ? [...free.seats, ...taken.seats] : free.seats;
      const areas = answer === "all" ? [...free.areas, ...taken.areas] : free.areas;
      const onlyActive = answer !== "all";
      await this.#change({ ...question, kept, onlyActive }, { seats, areas });
    });
  }

  /**
   * Gives the places of the last change their earlier prices. Places taken since keep the new one:
   * somebody saw it.
   */
  async undo(): Promise<void> {
    await this.#try(async () => {
      const undo = this.outcome.value?.undo ?? null;
      if (undo === null) return;
      this.#mustBeLive();
      const left = await this.#restore(undo);
      await this.#readAreas();
      this.#tell(left === 0 ? T.undone(undo.name) : T.undoneBut(undo.name, left), null);
    });
  }

  dismiss(): void {
    this.outcome.value = null;
    this.error.value = "";
  }

  async publish(): Promise<void> {
    await this.#try(async () => {
      await changeStatus(this.#api, this.#event.facts.id, "PUBLISHED");
      announce(T.published);
    });
  }

  planOf({ target, price }: Question): Plan {
    const { geometry, seats } = this.#event;
    const index = this.#event.priceIndex(price.id);
    const free = { seats: [] as number[], areas: [] as number[] };
    const taken = { seats: [] as number[], areas: [] as number[] };
    const counts = noTotals();
    for (const seat of target.seats) {
      const state = seats.states[seat]!;
      if (seats.prices[seat] === index) continue;
      counts[state]! += 1;
      (isTaken(state) ? taken : free).seats.push(seat);
    }
    for (const area of target.areas) {
      const places = seats.areas[area]!;
      if (this.areaFacts(geometry.areas[area]!.id)?.priceId === price.id) continue;
      countArea(counts, places, 1);
      (isAreaTaken(places) ? taken : free).areas.push(area);
    }
    return { free, taken, counts };
  }

  nameOfSection(section: number): string {
    const { rows, sections } = this.#event.geometry;
    const { prices } = this.#event.seats;
    const found = new Set<number>();
    for (const row of sections[section]!.rows) {
      for (const seat of rows[row]!.seats) found.add(prices[seat]!);
    }
    if (found.size > 1) return T.several;
    const [index = NO_PRICE] = found;
    return this.#event.priceAt(index)?.name ?? T.none;
  }

  nameOfArea(id: number): string {
    return this.#priceOf(this.areaFacts(id)?.priceId)?.name ?? T.none;
  }

  /** Places of an area on sale or withdrawn. */
  placesOf(area: number): number {
    return this.areaFacts(this.#event.geometry.areas[area]!.id)?.capacity ?? 0;
  }

  areaFacts(id: number): AreaFacts | undefined {
    return this.areas.value.find(({ groupOfSeatsId }) => groupOfSeatsId === id);
  }

  async #begin(target: Target): Promise<void> {
    const price = this.#priceOf(this.brush.value);
    if (price === undefined) return this.#chooseFirst();
    await this.#try(async () => {
      this.#mustBeLive();
      if (target.areas.length > 0) await this.#readAreas();
      const question = { target, price };
      const { free, taken } = this.planOf(question);
      if (countOf(taken) > 0) this.question.value = question;
      else await this.#change({ ...question, kept: 0, onlyActive: true }, free);
    });
  }

  /** @param places - Get the price. */
  async #change(
    { target, price, kept, onlyActive, capacity }: Change,
    places: Places,
  ): Promise<void> {
    if (countOf(places) === 0) return this.#tell(T.unchanged(target.name), null);
    const undo = this.#imageOf(target.name, places);
    this.outcome.value = null;
    const items = this.#itemsOf(places.seats, price.id);
    const areas = places.areas.map((area): PriceItem => {
      const before = undo.areas.get(area)!;
      // Without a count the area would go back to the places of the layout.
      const own = before.priceId === null ? undefined : before.capacity;
      return { ...this.#areaItem(area, price.id), activeCount: capacity ?? own };
    });
    const groupOfSeats = [...items.groupOfSeats, ...areas];
    try {
      const { id } = this.#event.facts;
      // Seats taken while the request is under way keep the price that their buyers saw.
      await assignPrices(this.#api, id, { ...items, groupOfSeats, onlyActive });
    } catch (error) {
      if (isUncertain(error)) this.#tell(T.uncertain(target.name), undo);
      throw error;
    }
    await this.#readAreas();
    const seats = places.seats.length;
    this.#tell(T.assigned({ price: price.name, name: target.name, seats, kept }), undo);
  }

  /** @returns Places that keep the new price. */
  async #restore({ seats, freeSeats, areas }: Undo): Promise<number> {
    const { geometry, seats: live, facts } = this.#event;
    const bare: number[] = [];
    let left = 0;
    // Those that were free must still be; the others were taken and changed on purpose.
    for (const onlyActive of [true, false]) {
      const byPrice = new Map<number, number[]>();
      for (const [seat, priceId] of seats) {
        if (freeSeats.has(seat) !== onlyActive) continue;
        if (this.#event.priceIdAt(live.prices[seat]!) === priceId) continue;
        if (onlyActive && isTaken(live.states[seat]!)) left += 1;
        else if (priceId === null) bare.push(geometry.ids[seat]!);
        else if (byPrice.get(priceId)?.push(seat) === undefined) byPrice.set(priceId, [seat]);
      }
      const items = [...byPrice].map(([priceId, ofPrice]) => this.#itemsOf(ofPrice, priceId));
      const groupOfSeats = items.flatMap((one) => one.groupOfSeats);
      for (const [area, { priceId, capacity, isTaken: wasTaken }] of areas) {
        if (wasTaken === onlyActive) continue;
        const { id } = geometry.areas[area]!;
        const counts = live.areas[area]!;
        const isSame = this.areaFacts(id)?.priceId === priceId;
        if (!isSame && onlyActive && isAreaTaken(counts)) left += counts.capacity - counts.active;
        else if (priceId === null) bare.push(id);
        else groupOfSeats.push({ ...this.#areaItem(area, priceId), activeCount: capacity });
      }
      const changes = { seats: items.flatMap((one) => one.seats), groupOfSeats, onlyActive };
      // oxlint-disable-next-line no-await-in-loop -- an error ends the rest
      await assignPrices(this.#api, facts.id, changes);
    }
    return left + (await unassignPrices(this.#api, facts.id, bare));
  }

  #imageOf(name: string, places: Places): Undo {
    const { geometry, seats: live } = this.#event;
    const seats = places.seats.map((seat) => {
      return [seat, this.#event.priceIdAt(live.prices[seat]!)] as const;
    });
    const areas = places.areas.map((area) => {
      const { priceId = null, ...counts } = this.areaFacts(geometry.areas[area]!.id)!;
      const before = { priceId, capacity: counts.capacity, isTaken: isAreaTaken(counts) };
      return [area, before] as const;
    });
    const freeSeats = new Set(places.seats.filter((seat) => !isTaken(live.states[seat]!)));
    return { name, seats: new Map(seats), freeSeats, areas: new Map(areas) };
  }

  /** A whole section is one item. */
  #itemsOf(seats: readonly number[], assignmentId: number): PriceItems {
    const { ids, rows, rowOfSeat, sections } = this.#event.geometry;
    const bySection = new Map<number, number[]>();
    for (const seat of seats) {
      const { section } = rows[rowOfSeat[seat]!]!;
      if (bySection.get(section)?.push(seat) === undefined) bySection.set(section, [seat]);
    }
    const items = { seats: [] as PriceItem[], groupOfSeats: [] as PriceItem[] };
    for (const [section, members] of bySection) {
      const { id, seatCount } = sections[section]!;
      if (members.length === seatCount) items.groupOfSeats.push({ objectId: id, assignmentId });
      else items.seats.push(...members.map((seat) => ({ objectId: ids[seat]!, assignmentId })));
    }
    return items;
  }

  #areaItem(area: number, assignmentId: number): PriceItem {
    return { objectId: this.#event.geometry.areas[area]!.id, assignmentId };
  }

  #seatsOf(section: number): number[] {
    const { rows, sections } = this.#event.geometry;
    return sections[section]!.rows.flatMap((row) => [...rows[row]!.seats]);
  }

  #priceOf(id: number | undefined): Price | undefined {
    return this.#event.prices.value.find((price) => price.id === id);
  }

  /** States that are not of now would take a sold seat for a free one. @throws Error */
  #mustBeLive(): void {
    if (this.#event.connection.value !== "live") throw new Error(T.notLive);
  }

  #chooseFirst(): void {
    // Emptied first: a live region says the same text once.
    this.error.value = "";
    this.error.value = T.chooseFirst;
  }

  #tell(text: string, undo: Undo | null): void {
    this.outcome.value = { text, undo };
    announce(undo === null ? text : `${text} ${T.undoKeys}`);
  }

  async #readAreas(): Promise<void> {
    this.areas.value = await readAreas(this.#api, this.#event.facts.id);
  }

  #try(work: () => Promise<void>): Promise<void> {
    this.#last = this.#after(this.#last, work);
    return this.#last;
  }

  async #after(last: Promise<void>, work: () => Promise<void>): Promise<void> {
    await last;
    this.error.value = "";
    try {
      await work();
    } catch (error) {
      this.error.value = (error as Error).message;
    }
  }
}

/** Without an answer, or with one that says nothing about the calls before. */
function isUncertain(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 429);
}

function isTaken(state: number): boolean {
  return state > SeatState.FREE;
}

function isAreaTaken({ locked, sold, blocked }: Omit<AreaCounts, "capacity">): boolean {
  return locked + sold + blocked > 0;
}

function countOf({ seats, areas }: Places): number {
  return seats.length + areas.length;
}
