/** Metrics of a gateway, as text for Prometheus. */
import { collectDefaultMetrics, Registry } from "prom-client";
import { family, histogram, RecentText } from "../observe/exposition.ts";
import type { WaitingWork } from "../routing/waiting-work.ts";
import { type Answer, page } from "../wire/answers.ts";
import type { HttpStats } from "../wire/http.ts";
import { version } from "../version.ts";
import type { EngineLink } from "./engine-link.ts";

const BOUNDS_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

export interface MetricsParts {
  readonly link: EngineLink;
  readonly front: {
    readonly waiting: WaitingWork;
    /** Requests that are passed on over HTTP. */
    readonly relay: { readonly count: number };
    /** Answers to them that are being read. */
    readonly room: { readonly bytes: number; readonly waiting: number };
  };
  readonly http: HttpStats;
}

export class GatewayMetrics {
  /** Booking requests whose link broke before they were answered. */
  lost = 0;
  /** To be set before the first request for the metrics. */
  parts: MetricsParts | null = null;
  readonly #registry = new Registry();
  readonly #text: RecentText;
  readonly #booked = new Map<number, number>();
  readonly #passed = new Map<number, number>();
  readonly #times = {
    boundsMs: BOUNDS_MS,
    counts: new Float64Array(BOUNDS_MS.length + 1),
    count: 0,
    sumMs: 0,
  };

  /** @param nowMs - A monotonic clock. */
  constructor(nowMs?: () => number) {
    collectDefaultMetrics({ register: this.#registry });
    this.#text = new RecentText(() => this.#compute(), nowMs);
  }

  /** A booking request has its answer. */
  booked(status: number, durationMs: number): void {
    this.#booked.set(status, (this.#booked.get(status) ?? 0) + 1);
    const times = this.#times;
    let place = 0;
    while (place < BOUNDS_MS.length && durationMs > BOUNDS_MS[place]!) place += 1;
    times.counts[place]! += 1;
    times.count += 1;
    times.sumMs += durationMs;
  }

  /** A request that was passed on over HTTP has its answer. */
  passed(status: number): void {
    this.#passed.set(status, (this.#passed.get(status) ?? 0) + 1);
  }

  /** Computed at most once a second: the default metrics take milliseconds. */
  async answer(): Promise<Answer> {
    return page(this.#registry.contentType, await this.#text.read());
  }

  async #compute(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.#own()}\n`;
  }

  #own(): string {
    const { link, front, http } = this.parts!;
    const build = { version, node: process.versions.node };
    const samples = (counts: ReadonlyMap<number, number>) =>
      [...counts].map(([status, count]) => [{ status: String(status) }, count] as const);
    const gauge = (name: string, help: string, value: number) =>
      family(`frontrow_gateway_${name}`, "gauge", help, [[{}, value]]);
    const counter = (name: string, help: string, value: number) =>
      family(`frontrow_gateway_${name}`, "counter", help, [[{}, value]]);
    const booked = "Booking requests by the status of their answer.";
    const passed = "Requests that were passed on over HTTP, by the status of their answer.";
    const lost = "Booking requests whose connection was closed because the link broke.";
    return [
      ...family("frontrow_build_info", "gauge", "The version that runs; always 1.", [[build, 1]]),
      ...gauge("link_open", "1 while the engine takes requests, else 0.", Number(link.isOpen)),
      ...counter("link_frames_total", "Frames that were sent to the engine.", link.frames),
      ...counter("link_requests_total", "Requests in these frames.", link.requests),
      ...gauge("known_keys", "Keys that the engine has found valid.", link.known.keyCount),
      ...gauge("waiting_requests", "Booking requests without an answer.", link.waiting),
      ...counter("waiting_requests_refused_total", REFUSED, front.waiting.refused),
      ...gauge("delayed_refusals", "Refusals that leave later.", front.waiting.refusals.count),
      ...gauge("passing_requests", "Requests over HTTP without an answer.", front.relay.count),
      ...gauge("passing_answer_bytes", "Bytes of answers that are being read.", front.room.bytes),
      ...gauge("passing_answers_waiting", "Answers that wait to be read.", front.room.waiting),
      ...gauge("http_connections", "Open connections.", http.connections),
      ...gauge("http_sockets", "Open WebSockets.", http.sockets.count),
      ...gauge("http_unfinished_body_bytes", UNFINISHED, http.bodyBudget.bytes),
      ...gauge("http_waiting_answer_bytes", UNREAD, http.answers.heldBytes),
      ...family("frontrow_gateway_bookings_total", "counter", booked, samples(this.#booked)),
      ...family("frontrow_gateway_passed_total", "counter", passed, samples(this.#passed)),
      ...counter("bookings_lost_total", lost, this.lost),
      ...histogram("frontrow_gateway_booking_duration_seconds", DURATION, this.#times),
    ].join("\n");
  }
}

const REFUSED = "Booking requests refused, because too many waited.";
const UNFINISHED = "Bytes announced by bodies that come in pieces, until they are answered.";
const UNREAD = "Bytes of answers that wait until their client reads.";
const DURATION = "Time from a whole booking request to its answer.";
