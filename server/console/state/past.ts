/**
 * Back in time: the shown moment of an event, and playing on from there. The history is
 * read once, later only the changes since.
 */
import { computed, signal } from "@preact/signals";
import { readHistory } from "../api/calls.ts";
import type { Api } from "../api/http.ts";
import { type LiveSeats, noTotals, type Totals, totalsOf } from "../map/seats.ts";
import type { Happening } from "./figures.ts";
import { type Bucket, History, type Step } from "./history.ts";
import type { LiveEvent } from "./live-event.ts";

/** Seconds of the event in a second of playing. */
export const SPEEDS = [1, 10, 60, 600, 3_600];
const BUCKETS = 240;
const HAPPENINGS_SHOWN = 40;
/** Interval of reading new changes for the histogram. */
const REFRESH_MS = 10_000;
/** The map is painted first. */
const FIRST_DELAY_MS = 1_000;
/** Before them an event is only set up. */
const SETUP_CALLS: ReadonlySet<string> = new Set([
  "event",
  "prices",
  "deleteprice",
  "channels",
  "layout",
]);

/** Seats whose state is not the present one. */
export interface Difference {
  readonly seats: readonly number[];
  /** Index: a `SeatState`. How many have this state now. */
  readonly totals: Totals;
}

/** Null: everything is to be drawn again. */
export type OnStep = (step: Step | null) => void;

export class Past {
  readonly history: History;
  /** The shown moment, in milliseconds since 1970; null for now. */
  readonly atMs = signal<number | null>(null);
  readonly isNow = computed(() => this.atMs.value === null);
  readonly isPlaying = signal(false);
  readonly speed = signal(60);
  readonly isCompared = signal(false);
  /** Parts of the time since the first booking. */
  readonly buckets = signal<readonly Bucket[]>([]);
  /** At that moment. */
  readonly totals = signal<Totals>([]);
  /** Before that moment, the newest first. */
  readonly happenings = signal<readonly Happening[]>([]);
  /** Null while nothing is compared. */
  readonly difference = signal<Difference | null>(null);
  readonly #api: Api;
  readonly #event: LiveEvent;
  readonly #listeners = new Set<OnStep>();
  #reading: Promise<void> | null = null;
  #frame = 0;

  constructor(api: Api, event: LiveEvent) {
    this.#api = api;
    this.#event = event;
    const { seatCount, areas } = event.geometry;
    this.history = new History({
      seatCount,
      areaCount: areas.length,
      seatOf: (id) => event.seatOf(id),
      areaOf: (id) => event.areaOf(id),
      priceIndex: (id) => event.priceIndex(id),
    });
  }

  /** @returns Ends it. */
  start(): () => void {
    const read = () => void this.read().catch(() => {});
    const first = setTimeout(read, FIRST_DELAY_MS);
    const timer = setInterval(() => {
      if (!document.hidden && this.isNow.value) read();
    }, REFRESH_MS);
    return () => {
      clearTimeout(first);
      clearInterval(timer);
      this.#stopPlaying();
    };
  }

  /** The states at the shown moment. */
  get seats(): LiveSeats {
    return this.isNow.value ? this.#event.seats : this.history.seats;
  }

  /** The first booking, or the first change when there is none. */
  get firstMs(): number {
    const { history } = this;
    for (let change = 0; change < history.length; change++) {
      if (!SETUP_CALLS.has(history.callAt(change))) return history.timeAt(change);
    }
    return this.lastMs;
  }

  get lastMs(): number {
    const { history } = this;
    return history.length === 0 ? 0 : history.timeAt(history.length - 1);
  }

  /** @returns Ends it. */
  onStep(listener: OnStep): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads changes missing in the history. @throws ApiError */
  read(): Promise<void> {
    const hasAll = this.history.length > 0 && this.#event.sequence.value <= this.history.sequence;
    if (hasAll) return Promise.resolve();
    this.#reading ??= this.#readOn().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readOn(): Promise<void> {
    const { history } = this;
    const { id } = this.#event.facts;
    const since = history.length === 0 ? undefined : history.sequence;
    for await (const page of readHistory(this.#api, id, since)) {
      const { position } = history;
      history.add(page);
      if (!this.isNow.value) history.seek(position);
    }
    this.buckets.value = history.buckets(BUCKETS, this.firstMs);
  }

  /** Shows a moment; null for now. */
  go(atMs: number | null): void {
    const { history } = this;
    const isSwitch = (atMs === null) !== this.isNow.value;
    const step = atMs === null ? null : history.seek(history.positionAt(atMs));
    this.atMs.value = atMs;
    if (atMs === null) this.#stopPlaying();
    else {
      this.totals.value = totalsOf(history.seats);
      this.happenings.value = this.#happeningsBefore(history.position);
    }
    this.#compare();
    for (const listener of this.#listeners) listener(isSwitch ? null : step);
  }

  compare(isCompared: boolean): void {
    this.isCompared.value = isCompared;
    this.#compare();
  }

  #compare(): void {
    const isShown = this.isCompared.value && !this.isNow.value;
    this.difference.value = isShown ? differenceOf(this.history.seats, this.#event.seats) : null;
  }

  /** Plays from the shown moment, or from the beginning, up to now. */
  play(): void {
    if (this.isPlaying.value || this.history.length === 0) return;
    this.isPlaying.value = true;
    if (this.isNow.value) this.go(this.firstMs);
    let before = performance.now();
    const turn = (now: number) => {
      const atMs = this.atMs.value! + (now - before) * this.speed.value;
      before = now;
      if (atMs >= this.lastMs) {
        this.go(null);
        return;
      }
      this.go(atMs);
      this.#frame = requestAnimationFrame(turn);
    };
    this.#frame = requestAnimationFrame(turn);
  }

  pause(): void {
    this.#stopPlaying();
  }

  #stopPlaying(): void {
    cancelAnimationFrame(this.#frame);
    this.isPlaying.value = false;
  }

  #happeningsBefore(position: number): Happening[] {
    const { history } = this;
    const { ids } = this.#event.geometry;
    const shown: Happening[] = [];
    for (let at = position - 1; at >= 0 && shown.length < HAPPENINGS_SHOWN; at--) {
      const { seats, areas } = history.placesAt(at);
      shown.push({
        sequence: history.sequenceAt(at),
        time: new Date(history.timeAt(at)).toISOString().slice(0, -1),
        call: history.callAt(at),
        sessionId: "",
        seats: seats.slice(0, 1).map((seat) => ids[seat]!),
        seatCount: seats.length,
        areas: areas.map((area) => ({ area, places: 0 })),
      });
    }
    return shown;
  }
}

/** Cost: O(seats). */
function differenceOf(past: LiveSeats, now: LiveSeats): Difference {
  const seats: number[] = [];
  const totals = noTotals();
  for (const [seat, state] of past.states.entries()) {
    const present = now.states[seat]!;
    if (present === state) continue;
    seats.push(seat);
    totals[present]! += 1;
  }
  return { seats, totals };
}
