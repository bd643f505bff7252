/**
 * An event as it is now: its geometry, the states of its seats in typed arrays, and the figures.
 * Changes are applied as they arrive and shown once a frame.
 */
import { signal } from "@preact/signals";
import type { Change, EventMap, SeatState as SeatStateName } from "../../client/changes.ts";
import {
  type EventFacts,
  type Price,
  readEvent,
  readGeometry,
  readMap,
  readPrices,
  readTransitions,
  type Transition,
} from "../api/calls.ts";
import { type Api, follow } from "../api/http.ts";
import { decodeGeometry, type Geometry } from "../map/geometry.ts";
import {
  countArea,
  type LiveSeats,
  NO_PRICE,
  noSeats,
  noTotals,
  SeatState,
  STATE_OF_LETTER,
  type Totals,
  totalsOf,
} from "../map/seats.ts";

export type Connection = "live" | "broken" | "over";

const STATE_OF_NAME: Readonly<Record<NonNullable<SeatStateName>, SeatState>> = {
  ACTIVE: SeatState.FREE,
  LOCKED: SeatState.HELD,
  SOLD: SeatState.SOLD,
  BLOCKED: SeatState.BLOCKED,
};
const FIGURES_MS = 150;

/** Seats and areas changed since the last frame. */
export type OnFrame = (seats: readonly number[], areas: readonly number[]) => void;

/** Changes as they arrive, before they are applied. */
export type OnChanges = (changes: readonly Change[]) => void;

export class LiveEvent {
  readonly facts: EventFacts;
  readonly geometry: Geometry;
  readonly seats: LiveSeats;
  readonly prices = signal<readonly Price[]>([]);
  readonly connection = signal<Connection>("live");
  readonly status = signal("");
  readonly sequence = signal(0);
  readonly totals = signal<Totals>([]);
  readonly #api: Api;
  readonly #seatOfId = new Map<number, number>();
  readonly #areaOfId = new Map<number, number>();
  /** Price ids, in the order of their first use. */
  readonly #priceIds: number[] = [];
  /** By seat. */
  readonly #ends = new Map<number, string>();
  #counts = noTotals();
  readonly #listeners = new Set<OnFrame>();
  readonly #watchers = new Set<OnChanges>();
  readonly #changedSeats = new Set<number>();
  readonly #changedAreas = new Set<number>();
  #sequence = 0;
  #frame = 0;
  #figuresTimer: ReturnType<typeof setTimeout> | null = null;
  #isWhole = false;
  #stop: () => void = () => {};

  constructor(api: Api, facts: EventFacts, geometry: Geometry) {
    this.#api = api;
    this.facts = facts;
    this.geometry = geometry;
    this.seats = noSeats(geometry.seatCount, geometry.areas.length);
    for (const [seat, id] of geometry.ids.entries()) this.#seatOfId.set(id, seat);
    for (const [area, { id }] of geometry.areas.entries()) this.#areaOfId.set(id, area);
  }

  /** Reads an event and follows it. @throws ApiError */
  static async open(api: Api, eventId: string): Promise<LiveEvent> {
    const reading = Promise.all([readMap(api, eventId), readPrices(api, eventId)]);
    reading.catch(() => {});
    const facts = await readEvent(api, eventId);
    const geometry = decodeGeometry(await readGeometry(api, facts.schemaId));
    const [map, prices] = await reading;
    const event = new LiveEvent(api, facts, geometry);
    event.prices.value = prices;
    event.#take(map);
    // Nobody listens yet: whoever draws it now, draws everything.
    event.#isWhole = false;
    event.#showFigures();
    event.#follow();
    return event;
  }

  /** The index of a price, for its colour; `NO_PRICE` when there is none. */
  priceIndex(priceId: number | null): number {
    if (priceId === null) return NO_PRICE;
    const index = this.#priceIds.indexOf(priceId);
    return index >= 0 ? index : this.#priceIds.push(priceId) - 1;
  }

  /** The price of an index; undefined also for one that another client has made since. */
  priceAt(index: number): Price | undefined {
    return this.prices.value.find(({ id }) => id === this.#priceIds[index]);
  }

  /** @returns Null for `NO_PRICE`. */
  priceIdAt(index: number): number | null {
    return this.#priceIds[index] ?? null;
  }

  /** End of the hold of a seat, a local date-time; undefined without an end. */
  endOf(seat: number): string | undefined {
    return this.#ends.get(seat);
  }

  /** Transitions of a seat, the newest first. @throws ApiError */
  transitionsOf(seat: number, count: number): Promise<readonly Transition[]> {
    return readTransitions(this.#api, this.facts.id, this.geometry.ids[seat]!, count);
  }

  /** The index of a seat; undefined for one unknown to the layout. */
  seatOf(id: number): number | undefined {
    return this.#seatOfId.get(id);
  }

  /** @returns Ends it. */
  onFrame(listener: OnFrame): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @returns Ends it. */
  onChanges(watcher: OnChanges): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** The index of an area; undefined for one unknown to the layout. */
  areaOf(id: number): number | undefined {
    return this.#areaOfId.get(id);
  }

  close(): void {
    this.#stop();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#figuresTimer ?? undefined);
    this.#listeners.clear();
  }

  /** Replaces everything by a map. */
  #take(map: EventMap): void {
    const { states, prices, areas } = this.seats;
    // A seat missing in the map has no price.
    states.fill(SeatState.UNPRICED);
    prices.fill(NO_PRICE);
    const priceIndexes = map.prices.map((id) => this.priceIndex(id));
    for (const [i, id] of map.columns.ids.entries()) {
      const seat = this.#seatOfId.get(id);
      if (seat === undefined) continue;
      states[seat] = STATE_OF_LETTER[map.columns.states[i]!]!;
      prices[seat] = priceIndexes[map.columns.priceIndexes[i]!] ?? NO_PRICE;
    }
    this.#ends.clear();
    for (const [id, end] of Object.entries(map.expiresAt)) {
      const seat = this.#seatOfId.get(Number(id));
      if (seat !== undefined) this.#ends.set(seat, end);
    }
    for (const area of map.areas) {
      const index = this.#areaOfId.get(area.groupOfSeatsId);
      if (index !== undefined) areas[index] = area;
    }
    this.#sequence = map.sequence;
    this.status.value = map.status;
    this.#counts = totalsOf(this.seats);
    this.#isWhole = true;
    this.#schedule();
  }

  #follow(): void {
    this.#stop = follow(this.#api, this.facts.id, {
      since: this.#sequence,
      onChanges: (changes) => this.#apply(changes),
      onOpen: () => (this.connection.value = "live"),
      onBreak: () => (this.connection.value = "broken"),
      onGap: () => void this.#readAgain(),
      onEnd: () => (this.connection.value = "over"),
    });
  }

  async #readAgain(): Promise<void> {
    this.#take(await readMap(this.#api, this.facts.id));
    this.#follow();
  }

  /** Another client has made a price. Without an answer its seats have no name of a price. */
  async #readPrices(): Promise<void> {
    const read = readPrices(this.#api, this.facts.id);
    this.prices.value = await read.catch(() => this.prices.value);
  }

  #apply(changes: readonly Change[]): void {
    const { states, prices, areas } = this.seats;
    const knownPrices = this.#priceIds.length;
    for (const watcher of this.#watchers) watcher(changes);
    for (const change of changes) {
      for (const { id, state, priceId, expiresAt } of change.seats) {
        const seat = this.#seatOfId.get(id);
        if (seat === undefined) continue;
        this.#counts[states[seat]!]! -= 1;
        const after = state === null ? SeatState.UNPRICED : STATE_OF_NAME[state];
        states[seat] = after;
        this.#counts[after]! += 1;
        prices[seat] = this.priceIndex(priceId);
        if (expiresAt === undefined) this.#ends.delete(seat);
        else this.#ends.set(seat, expiresAt);
        this.#changedSeats.add(seat);
      }
      for (const after of change.areas) {
        const area = this.#areaOfId.get(after.groupOfSeatsId);
        if (area === undefined) continue;
        countArea(this.#counts, areas[area]!, -1);
        areas[area] = after;
        countArea(this.#counts, after, 1);
        this.#changedAreas.add(area);
      }
      if (change.status !== undefined) this.status.value = change.status;
      this.#sequence = change.sequence;
    }
    if (this.#priceIds.length > knownPrices) void this.#readPrices();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    this.#frame = 0;
    const everySeat = () => Array.from(this.seats.states, (_, seat) => seat);
    const seats = this.#isWhole ? everySeat() : [...this.#changedSeats];
    const areas = this.#isWhole ? [...this.seats.areas.keys()] : [...this.#changedAreas];
    this.#isWhole = false;
    this.#changedSeats.clear();
    this.#changedAreas.clear();
    for (const listener of this.#listeners) listener(seats, areas);
    this.#figuresTimer ??= setTimeout(() => this.#showFigures(), FIGURES_MS);
  }

  /** A few times a second: nobody reads faster, and each time the page is laid out again. */
  #showFigures(): void {
    this.#figuresTimer = null;
    this.sequence.value = this.#sequence;
    this.totals.value = [...this.#counts];
  }
}
