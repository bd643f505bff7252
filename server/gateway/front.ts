/**
 * The front of a gateway: booking goes to the engine over the link, everything else over HTTP. What
 * a request shows to be wrong by itself is refused here, in the order and the words of the engine's
 * own front.
 */
import { type FieldError, isRefused, refuseInvalid, Result } from "../../engine/results.ts";
import type { StateSelection } from "../../engine/shapes/bodies.ts";
import { CALLS, callNamed } from "../commands/command.ts";
import { legacyProblem } from "../routes/v1/problems.ts";
import { wantsRepresentation } from "../routing/prefer.ts";
import { asSent, readBody, refuseHead } from "../routing/validate.ts";
import type { Route } from "../routing/route.ts";
import { type Match, refuseRoute, Router } from "../routing/router.ts";
import { WaitingWork } from "../routing/waiting-work.ts";
import { type Answer, FALSE, HEALTHY, type Problem, problemAnswer, TRUE } from "../wire/answers.ts";
import type { Exchange, Found, Front, Judged, RequestHead } from "../wire/front.ts";
import { FrontResult } from "../wire/replies.ts";
import type { EngineLink } from "./engine-link.ts";
import type { Engines } from "./engines.ts";
import { fitsCall } from "./frame-writer.ts";
import { LINK_BODY_BYTES_MAX, LINK_HEAD_LENGTH_MAX } from "./link-layout.ts";
import { openTunnel } from "./tunnel.ts";
import { AnswerRoom } from "./passing.ts";
import { Relay } from "./relay.ts";
import type { GatewayMetrics } from "./metrics.ts";

/** Booking requests that may wait before locks are refused; others may be twice as many. */
export const BOOKINGS_WAITING_MAX = 8_000;
const BOOKING = /^\/api\/private\/v[12]\.0\/booking\//;
const KEY = /^[\x20-\x7e]{1,255}$/;
const NO_ERRORS: readonly FieldError[] = [];
const NO_ANSWERS: Route["answers"] = {};

const LOST: Problem = {
  refused: FrontResult.NOT_READY,
  detail: "The gateway cannot reach the engine; try again shortly.",
};

/** Answers that the gateway gives by itself. */
const OWN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);
/** Clients have no business there. */
const INTERNAL_PATHS = "/api/internal/";
const NOT_HERE: Problem = { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such path." };
const NO_METRICS: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "The metrics token is missing or not valid.",
};

/** Where a request goes. */
const Way = { OWN: "own", LINK: "link", HTTP: "http" } as const;

interface GatewayFound extends Found {
  readonly way: (typeof Way)[keyof typeof Way];
  readonly match: Match;
  /** The number of its call in the layout of the link; 0 for none. */
  readonly call: number;
}

interface FrontOptions {
  readonly engines: Engines;
  readonly link: EngineLink;
  readonly metrics: GatewayMetrics;
  /** The routes of the engine. */
  readonly routes: readonly Route[];
  /** The authorization that `/metrics` requires; null for none. */
  readonly metricsAuthorization: string | null;
}

export class GatewayFront implements Front<GatewayFound> {
  readonly waiting = new WaitingWork(BOOKINGS_WAITING_MAX);
  readonly room = new AnswerRoom();
  readonly relay: Relay;
  readonly #options: FrontOptions;
  readonly #router: Router;
  /** By the match of a path without parameters, which is always the same object. */
  readonly #found = new Map<Match, GatewayFound>();
  isStopping = false;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#router = new Router(options.routes);
    const refuse = (problem: Problem | null, exchange: Exchange) =>
      this.refuse(problem ?? LOST, exchange);
    const { engines, metrics } = options;
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
    const isOwn = OWN_PATHS.has(path) || path.startsWith(INTERNAL_PATHS);
    const isLink = route?.method === "post" && BOOKING.test(route.path);
    const way = isOwn ? Way.OWN : isLink ? Way.LINK : Way.HTTP;
    const name = isLink && route.isLegacy !== true ? callNamed(route.path.split("/").at(-1)) : null;
    const call = name === null ? 0 : CALLS.indexOf(name) + 1;
    const found = { way, match, call, bodyBytesMax, isFixed, isPassedOn: way === Way.HTTP };
    if (way === Way.LINK) this.#found.set(match, found);
    return found;
  }

  judge(exchange: Exchange<GatewayFound>): Judged {
    const key = this.#options.link.keyOf(exchange);
    return { refusal: this.#notNow(), organization: key === 0 ? null : `key ${key}` };
  }

  #notNow(): Problem | null {
    return this.#options.link.isOpen && !this.isStopping ? null : LOST;
  }

  pass(exchange: Exchange<GatewayFound>, piece: Uint8Array, isLast: boolean): void {
    // The refusal is on its way; the rest of the body is dropped.
    if (exchange.answer !== null) return;
    const { engines, metrics } = this.#options;
    const refusal = this.relay.has(exchange) ? null : this.#notNow();
    if (refusal !== null) this.#refuseLater(exchange, refusal);
    else if (!asksForSocket(exchange)) this.relay.pass(exchange, piece, isLast);
    else {
      const refuse = (problem: Problem | null) => this.refuse(problem ?? LOST, exchange);
      const onAnswer = (_: Exchange, status: number) => metrics.passed(status);
      openTunnel(exchange, { engine: engines.present, room: this.room, refuse, onAnswer });
    }
  }

  /** A client that tries again at once would keep the gateway busy. To be called once. */
  #refuseLater(exchange: Exchange<GatewayFound>, refusal: Problem): void {
    const answer = this.refuse(refusal, exchange);
    exchange.answer = answer;
    this.waiting.refusals.add(() => exchange.respond(answer));
  }

  handle(exchange: Exchange<GatewayFound>): void {
    exchange.startedMs = performance.now();
    if (exchange.found!.way === Way.OWN) void this.#own(exchange);
    else this.#book(exchange);
  }

  async #own(exchange: Exchange<GatewayFound>): Promise<void> {
    const { link, metrics, metricsAuthorization } = this.#options;
    const { path, authorization, found } = exchange;
    const { match } = found!;
    const isHidden = path.startsWith(INTERNAL_PATHS);
    if (isHidden || match.route === undefined) {
      exchange.respond(this.refuse(isHidden ? NOT_HERE : refuseRoute(match), exchange));
    } else if (path === "/healthz") exchange.respond(HEALTHY);
    else if (path === "/readyz") {
      const isReady = link.isReady && !this.isStopping;
      exchange.respond(isReady ? HEALTHY : this.refuse(LOST, exchange));
    } else {
      const isAllowed = metricsAuthorization === null || authorization === metricsAuthorization;
      exchange.respond(isAllowed ? await metrics.answer() : this.refuse(NO_METRICS, exchange));
    }
  }

  #book(exchange: Exchange<GatewayFound>): void {
    const { match, call } = exchange.found!;
    const { link } = this.#options;
    const route = match.route!;
    const refusal = this.#notNow() ?? this.waiting.refusalOf(route);
    if (refusal !== null || link.room === 0) {
      this.#refuseLater(exchange, refusal ?? LOST);
      return;
    }
    const key = link.keyOf(exchange);
    const problem = key === 0 ? null : this.#send(exchange, route, { match, key, call });
    if (problem !== null) {
      this.#respond(exchange, this.refuse(problem, exchange));
      return;
    }
    if (key === 0) link.request(exchange);
    this.waiting.count += 1;
  }

  /** Sends a request whose key is known. @returns What is wrong with it; null for nothing. */
  #send(
    exchange: Exchange<GatewayFound>,
    route: Route,
    { match, key, call }: { readonly match: Match; readonly key: number; readonly call: number },
  ): Problem | null {
    const refusal = refuseHead(route, exchange);
    if (refusal !== null) return refusal;
    exchange.join();
    const query = match.checks.query(exchange.query);
    const body = route.readBody?.(exchange.body) ?? null;
    if (body !== null && query.errors.length === 0) {
      const selection = body as StateSelection;
      if (call !== 0 && isUsual(exchange) && fitsCall(selection)) {
        const eventId = query.values["eventId"] as string;
        this.#options.link.call(exchange, { kind: call, key, eventId, selection });
        return null;
      }
    } else {
      const read = body === null ? readBody(route, match.checks, exchange.body) : null;
      if (read !== null && isRefused(read)) return read;
      const errors = [...query.errors, ...(read?.errors ?? NO_ERRORS)];
      if (errors.length > 0) return asSent(refuseInvalid(errors), exchange.body) as Problem;
    }
    this.#options.link.request(exchange);
    return null;
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

  /** Nobody knows what became of the request: as from a lost engine, there is no answer. */
  lost(exchange: Exchange): void {
    this.waiting.count -= 1;
    this.#options.metrics.lost += 1;
    exchange.abandon();
    exchange.respond(FALSE);
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

/** Whether the general form of a request fits a frame. Its other members are short. */
function fitsLink(request: Exchange): boolean {
  const headLength =
    request.query.length +
    request.apiKey.length +
    request.authorization.length +
    request.organizationId.length +
    request.contentType.length +
    request.contentEncoding.length +
    request.prefer.length +
    (request.idempotencyKey?.length ?? 0);
  return headLength <= LINK_HEAD_LENGTH_MAX && (request.contentLength ?? 0) <= LINK_BODY_BYTES_MAX;
}

/** Whether a request has nothing that the entry of a call does not carry. */
function isUsual({ idempotencyKey, prefer }: Exchange): boolean {
  if (idempotencyKey !== null && !KEY.test(idempotencyKey)) return false;
  return !wantsRepresentation(prefer);
}
