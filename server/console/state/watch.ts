/**
 * The signals of the panel beside the map. Follows the stream of the event and sets the
 * signals at most four times a second, however many changes arrive. Prices and holds are read again
 * after a change, the metrics of the server every few seconds.
 */
import { signal } from "@preact/signals";
import type { Change } from "../../client/changes.ts";
import {
  type Hold,
  type PriceSummary,
  readChanges,
  readMetrics,
  readNextHolds,
  readSummary,
  timeMs,
} from "../api/calls.ts";
import type { Api } from "../api/http.ts";
import { SeatState } from "../map/seats.ts";
import {
  AreaMoves,
  figuresBetween,
  type Happening,
  type HappeningFilter,
  happeningOf,
  Happenings,
  type Kind,
  Rates,
  type Reading,
  readingOf,
  Series,
  type ServerFigures,
} from "./figures.ts";
import type { LiveEvent } from "./live-event.ts";
import type { Past } from "./past.ts";

const BEAT_MS = 250;
/** Beats between two points, two readings of prices and holds, two readings of the metrics. */
const POINT_BEATS = 4;
const READ_BEATS = 8;
const METRICS_BEATS = 20;
const HAPPENINGS_SHOWN = 40;
const HOLDS_READ = 20;
/** The past is read when the map has been painted. */
const PAST_DELAY_MS = 1_000;
const PAST_POINTS = 400;
/** The list of changes begins this many records of the log ago. */
const PAST_RECORDS = 300;
const SHOWN = [SeatState.SOLD, SeatState.HELD, SeatState.FREE];

interface RateFigures {
  readonly perMinute: Readonly<Record<Kind, number>>;
  /** Sold in each second of the last minute. */
  readonly sold: readonly number[];
}

const NO_RATES: RateFigures = {
  perMinute: { sold: 0, held: 0, released: 0, expired: 0 },
  sold: [],
};

export class Watch {
  /** By the clock of the server. */
  readonly nowMs = signal(Date.now());
  /** Seconds since 1970; sold, held, free. */
  readonly overTime = signal<readonly number[][]>([[], [], [], []]);
  readonly rates = signal(NO_RATES);
  /** The newest first. */
  readonly happenings = signal<readonly Happening[]>([]);
  readonly byPrice = signal<readonly PriceSummary[]>([]);
  readonly holds = signal<readonly Hold[]>([]);
  readonly holdCount = signal(0);
  /** Null before the second reading. */
  readonly server = signal<ServerFigures | null>(null);
  /** False when the metrics need a token. */
  readonly hasMetrics = signal(true);
  readonly #api: Api;
  readonly #event: LiveEvent;
  readonly #past: Past;
  readonly #series = new Series(3);
  readonly #rates = new Rates();
  readonly #happenings = new Happenings();
  readonly #areas: AreaMoves;
  #reading: Reading | null = null;
  /** Clock of the browser minus clock of the server. */
  #aheadMs: number | null = null;
  /** True while changes wait to be shown. */
  #isNew = false;
  /** The first change from the stream. */
  #first: number | null = null;
  #readSequence = -1;
  #beat = 0;

  constructor(api: Api, event: LiveEvent, past: Past) {
    this.#api = api;
    this.#past = past;
    this.#event = event;
    this.#areas = new AreaMoves(event.seats.areas);
  }

  /** @returns Ends it. */
  start(): () => void {
    const stop = this.#event.onChanges((changes) => this.#take(changes));
    const timer = setInterval(() => this.#onBeat(), BEAT_MS);
    this.#onBeat();
    const reading = setTimeout(() => void this.#readPast(), PAST_DELAY_MS);
    return () => {
      stop();
      clearTimeout(reading);
      clearInterval(timer);
    };
  }

  set filter(filter: HappeningFilter) {
    this.#happenings.filter = filter;
    this.#showHappenings();
  }

  #showHappenings(): void {
    this.#isNew = false;
    this.happenings.value = this.#happenings.newest(HAPPENINGS_SHOWN);
  }

  #take(changes: readonly Change[]): void {
    const now = Date.now();
    this.#isNew = true;
    this.#first ??= changes[0]!.sequence;
    for (const change of changes) {
      this.#aheadMs = Math.min(this.#aheadMs ?? Infinity, now - timeMs(change.time));
      this.#happenings.add(this.#count(change, this.#areas));
    }
  }

  #count(change: Change, moves: AreaMoves): Happening {
    const areas = moves.moved(change.areas, (id) => this.#event.areaOf(id));
    const places = areas.reduce((sum, area) => sum + area.places, change.seats.length);
    this.#rates.add(timeMs(change.time) / 1_000, change.call, places);
    return happeningOf(change, areas);
  }

  #onBeat(): void {
    const beat = this.#beat++;
    if (this.#isNew) this.#showHappenings();
    if (beat % POINT_BEATS === 0) this.#addPoint();
    if (document.hidden) return;
    if (beat % READ_BEATS === 0) void this.#readEvent();
    if (beat % METRICS_BEATS === 0 && this.hasMetrics.value) void this.#readServer();
  }

  #addPoint(): void {
    const totals = this.#event.totals.value;
    this.nowMs.value = Date.now() - (this.#aheadMs ?? 0);
    if (totals.length === 0) return;
    const seconds = this.nowMs.value / 1_000;
    this.#series.add(
      seconds,
      SHOWN.map((state) => totals[state]!),
    );
    this.overTime.value = [...this.#series.columns];
    const rate = (kind: Kind) => this.#rates.perMinute(seconds, kind);
    this.rates.value = {
      perMinute: {
        sold: rate("sold"),
        held: rate("held"),
        released: rate("released"),
        expired: rate("expired"),
      },
      sold: this.#rates.history(seconds, "sold"),
    };
  }

  /** The time before the page was opened. Without it, list and chart begin there. */
  async #readPast(): Promise<void> {
    await this.#readRecent().catch(() => {});
    await this.#readHistory().catch(() => {});
  }

  async #readRecent(): Promise<void> {
    const { facts, sequence } = this.#event;
    const last = sequence.value;
    const since = Math.max(0, last - PAST_RECORDS);
    const { changes } = await readChanges(this.#api, facts.id, since, PAST_RECORDS);
    const end = Math.min(last + 1, this.#first ?? Infinity);
    const moves = new AreaMoves();
    const past = changes.filter((change) => change.sequence < end);
    this.#happenings.addPast(past.map((change) => this.#count(change, moves)));
    this.#showHappenings();
  }

  async #readHistory(): Promise<void> {
    await this.#past.read();
    const points = this.#past.history.buckets(PAST_POINTS).map(({ timeMs: atMs, totals }) => {
      return { seconds: atMs / 1_000, values: SHOWN.map((state) => totals[state]!) };
    });
    this.#series.prepend(points);
    this.overTime.value = [...this.#series.columns];
  }

  /** A failed reading is repeated later; the stream shows a lost server. */
  async #readEvent(): Promise<void> {
    const { facts, sequence } = this.#event;
    if (sequence.value === this.#readSequence) return;
    const before = this.#readSequence;
    this.#readSequence = sequence.value;
    try {
      const [{ byPrice }, { content, totalElements }] = await Promise.all([
        readSummary(this.#api, facts.id),
        readNextHolds(this.#api, facts.id, HOLDS_READ),
      ]);
      this.byPrice.value = byPrice;
      this.holds.value = content;
      this.holdCount.value = totalElements;
    } catch {
      this.#readSequence = before;
    }
  }

  async #readServer(): Promise<void> {
    const text = await readMetrics().catch(() => "");
    if (text === null) this.hasMetrics.value = false;
    if (text === null || text === "") return;
    const reading = readingOf(text, Date.now() / 1_000);
    if (this.#reading !== null) this.server.value = figuresBetween(this.#reading, reading);
    this.#reading = reading;
  }
}
