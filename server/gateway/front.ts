/** The front of a gateway: booking goes to the engine over the link, everything else over HTTP. */
import type { Logger } from "pino";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { StateSelection } from "../../engine/bodies.ts";
import { Result } from "../../engine/results.ts";
import { WaitingWork } from "../api/overload.ts";
import type { Route } from "../api/route.ts";
import { type Match, refuseRoute, Router, withoutSlash } from "../api/router.ts";
import { refuseHead } from "../api/validate.ts";
import { callNamed, CALLS } from "../commands/command.ts";
import {
  type Answer,
  FALSE,
  FrontResult,
  HEALTHY,
  page,
  type Problem,
  problemAnswer,
  TRUE,
  wantsRepresentation,
  wantsStrict,
} from "../http/answers.ts";
import type { Exchange, Found, Front, Judged, RequestHead } from "../http/front.ts";
import type { HttpStats } from "../http/server.ts";
import { Durations, family, histogram, RecentText, rowLines } from "../observe/exposition.ts";
import { version } from "../program.ts";
import { legacyProblem } from "../routes/v1-booking.ts";
import {
  EngineLink,
  type Engines,
  fitsCall,
  type LinkEvents,
  type UsualCall,
} from "./engine-link.ts";
import { LINK_BODY_BYTES_MAX, LINK_HEAD_LENGTH_MAX } from "./link-layout.ts";
import { AnswerRoom, Relay } from "./passing.ts";

/** In-flight limit for locks; for other booking requests it is twice as high. */
export const BOOKINGS_WAITING_MAX = 8_000;
const BOOKING = /^\/api\/private\/v[12]\.0\/booking\//;
const KEY = /^[\x20-\x7e]{1,255}$/;
const NO_ANSWERS: Route["answers"] = {};

const LOST: Problem = {
  refused: FrontResult.NOT_READY,
  detail: "The gateway cannot reach the engine; try again shortly.",
};

/** Paths of the gateway itself. */
const OWN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);
/** Clients have no business there. */
const INTERNAL_PATHS = "/api/internal/";
const NOT_HERE: Problem = { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such path." };
const NO_METRICS: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "The metrics token is missing or not valid.",
};

const Way = { OWN: "own", LINK: "link", HTTP: "http" } as const;

interface GatewayFound extends Found {
  readonly way: (typeof Way)[keyof typeof Way];
  readonly match: Match;
  /** The number of its call in the layout of the link; 0 for none. */
  readonly call: number;
}

interface FrontOptions {
  readonly engines: Engines;
  readonly secret: string;
  readonly metrics: GatewayMetrics;
  /** The routes of the engine. */
  readonly routes: readonly Route[];
  /** The authorization required for `/metrics`; null for none. */
  readonly metricsAuthorization: string | null;
  readonly log: Pick<Logger, "info" | "warn">;
}

export class GatewayFront implements Front<GatewayFound>, LinkEvents {
  readonly waiting = new WaitingWork(BOOKINGS_WAITING_MAX);
  readonly room = new AnswerRoom();
  readonly relay: Relay;
  readonly link: EngineLink;
  readonly #options: FrontOptions;
  readonly #router: Router;
  /** By match: of a path without parameters it is always the same object. */
  readonly #found = new Map<Match, GatewayFound>();
  isStopping = false;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#router = new Router(options.routes);
    const refuse = (problem: Problem | null, exchange: Exchange) =>
      this.refuse(problem ?? LOST, exchange);
    const { engines, secret, metrics } = options;
    this.link = new EngineLink({ engines, secret, events: this });
    const onAnswer = (_: Exchange, status: number) => metrics.passed(status);
    this.relay = new Relay({ engines, room: this.room, refuse, onAnswer });
  }

  find(head: RequestHead): GatewayFound {
    const match = this.#router.find(head.method, head.path);
    const known = this.#found.get(match) ?? this.#classify(match, head.path);
    const isLong = known.way === Way.LINK && !fitsLink(head as Exchange);
    return isLong ? { ...known, way: Way.HTTP, isPassedOn: true } : known;
  }

  #classify(match: Match, path: string): GatewayFound {
    const { route, bodyBytesMax, isFixed = false } = match;
    const isOwn = OWN_PATHS.has(withoutSlash(path)) || path.startsWith(INTERNAL_PATHS);
    const isLink = route?.method === "post" && BOOKING.test(route.path);
    const way = isOwn ? Way.OWN : isLink ? Way.LINK : Way.HTTP;
    const name =
      isLink && route.isLegacy !== true ? callNamed(route.path.split("/").at(-1), CALLS) : null;
    const call = name === null ? 0 : CALLS.indexOf(name) + 1;
    const found = { way, match, call, bodyBytesMax, isFixed, isPassedOn: way === Way.HTTP };
    if (way === Way.LINK) this.#found.set(match, found);
    return found;
  }

  judge(exchange: Exchange<GatewayFound>): Judged {
    const key = this.link.keyOf(exchange);
    return { refusal: this.#notNow(), organization: key === 0 ? null : `key ${key}` };
  }

  #notNow(): Problem | null {
    return this.link.isOpen && !this.isStopping ? null : LOST;
  }

  pass(exchange: Exchange<GatewayFound>, piece: Uint8Array, isLast: boolean): void {
    // The refusal is on its way; the rest of the body is dropped.
    if (exchange.answer !== null) return;
    const refusal = this.relay.has(exchange) ? null : this.#notNow();
    if (refusal !== null) this.#refuseLater(exchange, refusal);
    else if (!asksForSocket(exchange)) this.relay.pass(exchange, piece, isLast);
    else this.relay.openTunnel(exchange);
  }

  /** Delayed, as a client in a retry loop would keep the gateway busy. To be called once. */
  #refuseLater(exchange: Exchange<GatewayFound>, refusal: Problem): void {
    const answer = this.refuse(refusal, exchange);
    exchange.answer = answer;
    this.waiting.refusals.add(() => exchange.respond(answer));
  }

  handle(exchange: Exchange<GatewayFound>): void {
    exchange.startedMs = performance.now();
    if (exchange.refusal !== null) this.#refuseLater(exchange, exchange.refusal);
    else if (exchange.found!.way === Way.OWN) void this.#own(exchange);
    else this.#book(exchange);
  }

  async #own(exchange: Exchange<GatewayFound>): Promise<void> {
    const { metrics, metricsAuthorization } = this.#options;
    const { path, authorization, found } = exchange;
    const { match } = found!;
    const name = withoutSlash(path);
    const isHidden = path.startsWith(INTERNAL_PATHS);
    if (isHidden || match.route === undefined) {
      exchange.respond(this.refuse(isHidden ? NOT_HERE : refuseRoute(match), exchange));
    } else if (name === "/healthz") exchange.respond(HEALTHY);
    else if (name === "/readyz") {
      const isReady = this.link.isReady && !this.isStopping;
      exchange.respond(isReady ? HEALTHY : this.refuse(LOST, exchange));
    } else {
      const isAllowed = metricsAuthorization === null || authorization === metricsAuthorization;
      exchange.respond(isAllowed ? await metrics.answer() : this.refuse(NO_METRICS, exchange));
    }
  }

  #book(exchange: Exchange<GatewayFound>): void {
    const { match, call } = exchange.found!;
    const { link } = this;
    const route = match.route!;
    const refusal = this.#notNow() ?? this.waiting.refusalOf(route);
    if (refusal !== null || !link.hasRoom) {
      this.#refuseLater(exchange, refusal ?? LOST);
      return;
    }
    this.waiting.count += 1;
    exchange.join();
    const key = call === 0 ? 0 : link.keyOf(exchange);
    const usual = key === 0 ? null : usualCallOf(exchange, match, call);
    if (usual === null) link.request(exchange);
    else link.call(exchange, key, usual);
  }

  /** The engine has answered. */
  answered(exchange: Exchange, answer: Answer | boolean): void {
    this.waiting.count -= 1;
    this.waiting.lastMs = performance.now() - exchange.startedMs;
    this.#respond(exchange, typeof answer === "boolean" ? (answer ? TRUE : FALSE) : answer);
  }

  #respond(exchange: Exchange, answer: Answer): void {
    this.#options.metrics.booked(answer.status, performance.now() - exchange.startedMs);
    exchange.respond(answer);
  }

  /** Unknown outcome: no answer, as from a lost engine. */
  lost(exchange: Exchange): void {
    this.waiting.count -= 1;
    this.#options.metrics.lost += 1;
    exchange.abandon();
    exchange.respond(FALSE);
  }

  changed(isOpen: boolean, reason: string): void {
    const { log } = this.#options;
    if (isOpen) log.info("linked to the engine");
    else {
      log.warn({ reason }, "no link to the engine; trying again");
      this.relay.lose();
    }
  }

  /** No answer of this front waits. */
  leave(): void {}

  refuse(problem: Problem, exchange: Exchange): Answer {
    const { found, path, query } = exchange;
    const route = (found as GatewayFound | null)?.match.route;
    const said = route?.isLegacy === true ? legacyProblem(problem, route) : problem;
    return problemAnswer(said, route?.problemPath?.(query) ?? path, Date.now());
  }
}

/** A handshake elsewhere is a plain GET, as for the engine. */
function asksForSocket({ protocols, found }: Exchange<GatewayFound>): boolean {
  return protocols !== null && 101 in (found!.match.route?.answers ?? NO_ANSWERS);
}

/** @returns True when the general form of a request fits a frame. Its other members are short. */
function fitsLink(request: Exchange): boolean {
  const headLength =
    request.query.length +
    request.apiKey.length +
    request.authorization.length +
    request.organizationId.length +
    request.contentType.length +
    request.contentEncoding.length +
    request.prefer.length +
    request.ifMatch.length +
    (request.idempotencyKey?.length ?? 0);
  return headLength <= LINK_HEAD_LENGTH_MAX && (request.contentLength ?? 0) <= LINK_BODY_BYTES_MAX;
}

/** @returns Null for an invalid request, or one without a command: the engine answers it. */
function usualCallOf(exchange: Exchange, match: Match, kind: number): UsualCall | null {
  const { idempotencyKey, prefer } = exchange;
  const route = match.route!;
  if (idempotencyKey !== null && !KEY.test(idempotencyKey)) return null;
  if (wantsRepresentation(prefer) || wantsStrict(prefer)) return null;
  if (refuseHead(route, exchange) !== null) return null;
  const { errors, values } = match.checks.query(exchange.query);
  const selection: StateSelection | null = route.readBody?.(exchange.body) ?? null;
  if (errors.length > 0 || selection === null || !fitsCall(selection)) return null;
  return { kind, eventId: values["eventId"] as string, selection, idempotencyKey };
}

// Metrics of a gateway, as text for Prometheus.

const BOUNDS_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

interface MetricsParts {
  readonly front: Pick<GatewayFront, "link" | "relay" | "room" | "waiting">;
  readonly http: HttpStats;
}

export class GatewayMetrics {
  /** Booking requests lost with their link. */
  lost = 0;
  /** To be set before the first request for the metrics. */
  parts: MetricsParts | null = null;
  readonly #registry = new Registry();
  readonly #text: RecentText;
  readonly #booked = new Map<number, number>();
  readonly #passed = new Map<number, number>();
  readonly #times = new Durations(BOUNDS_MS);

  /** @param nowMs - A monotonic clock. */
  constructor(nowMs?: () => number) {
    collectDefaultMetrics({ register: this.#registry });
    this.#text = new RecentText(() => this.#compute(), nowMs);
  }

  /** A booking request has its answer. */
  booked(status: number, durationMs: number): void {
    this.#booked.set(status, (this.#booked.get(status) ?? 0) + 1);
    this.#times.add(durationMs);
  }

  /** A relayed request has its answer. */
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
    const { front, http } = this.parts!;
    const { link } = front;
    const build = { version, node: process.versions.node };
    const samples = (counts: ReadonlyMap<number, number>) =>
      [...counts].map(([status, count]) => [{ status: String(status) }, count] as const);
    const booked = "Booking requests by the status of their answer.";
    const passed = "Requests that were passed on over HTTP, by the status of their answer.";
    const lost = "Booking requests whose connection was closed because the link broke.";
    return [
      ...family("frontrow_build_info", "gauge", "The version that runs; always 1.", [[build, 1]]),
      ...rowLines("frontrow_gateway", [
        ["link_open", "1 while the engine takes requests, else 0.", Number(link.isOpen)],
        ["link_frames_total", "Frames that were sent to the engine.", link.frames],
        ["link_requests_total", "Requests in these frames.", link.requests],
        ["known_keys", "Keys that the engine has found valid.", link.keyCount],
        ["waiting_requests", "Booking requests without an answer.", link.waiting],
        ["waiting_requests_refused_total", REFUSED, front.waiting.refused],
        ["delayed_refusals", "Refusals that leave later.", front.waiting.refusals.count],
        ["passing_requests", "Requests over HTTP without an answer.", front.relay.count],
        ["passing_answer_bytes", "Bytes of answers that are being read.", front.room.bytes],
        ["passing_answers_waiting", "Answers that wait to be read.", front.room.waiting],
        ["http_connections", "Open connections.", http.connections],
        ["http_sockets", "Open WebSockets.", http.sockets.count],
        ["http_unfinished_body_bytes", UNFINISHED, http.bodyBudget.bytes],
        ["http_waiting_answer_bytes", UNREAD, http.answers.heldBytes],
        ["bookings_lost_total", lost, this.lost],
      ]),
      ...family("frontrow_gateway_bookings_total", "counter", booked, samples(this.#booked)),
      ...family("frontrow_gateway_passed_total", "counter", passed, samples(this.#passed)),
      ...histogram("frontrow_gateway_booking_duration_seconds", DURATION, [[{}, this.#times]]),
    ].join("\n");
  }
}

const REFUSED = "Booking requests refused, because too many waited.";
const UNFINISHED = "Bytes reserved by bodies that come in pieces, until they are answered.";
const UNREAD = "Bytes of answers that wait until their client reads.";
const DURATION = "Time from a whole booking request to its answer.";
