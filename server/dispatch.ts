/**
 * Turns a request into an answer; knows nothing of sockets. The order of the checks is the
 * documented precedence: path, key, shape, then the handler. An answer leaves only when everything
 * that it depends on is on disk.
 */
import type { Logger } from "pino";
import { Broken } from "../engine/assert.ts";
import { type FieldError, isRefused, refuseInvalid, Result } from "../engine/results.ts";
import type { Caller } from "../engine/shapes/caller.ts";
import { identify, refuseRotated } from "./auth/access.ts";
import { headOf, Idempotency } from "./idempotency.ts";
import { authFailure } from "./routes/auth.ts";
import { legacyProblem } from "./routes/v1/problems.ts";
import { withoutKeys } from "./observe/log.ts";
import {
  Access,
  type Context,
  type Handled,
  type Route,
  takesIdempotencyKey,
} from "./routing/route.ts";
import { asSent, readBody, refuseHead } from "./routing/validate.ts";
import { refuseAway } from "./auth/away.ts";
import { type Match, refuseRoute, Router } from "./routing/router.ts";
import type { Admitted, CommandFront, Services } from "./routing/services.ts";
import { inSlices } from "./routing/slices.ts";
import { type Answer, NOT_READY, type Problem, problemAnswer } from "./wire/answers.ts";
import type { Exchange, Front, Judged, RequestHead } from "./wire/front.ts";
import { withApplied } from "./routing/prefer.ts";
import { FrontResult, REPLIES } from "./wire/replies.ts";

const NO_ERRORS: readonly FieldError[] = [];
const AUTH_PREFIX = "/api/auth/";

export class Dispatch implements Front<Match>, CommandFront {
  readonly #services: Services;
  readonly #log: Logger;
  readonly #router: Router;
  readonly keyed: Idempotency;

  constructor(services: Services, routes: readonly Route[], log: Logger) {
    this.#services = services;
    this.keyed = new Idempotency(services);
    this.#log = log;
    this.#router = new Router(routes);
    services.commands.attach(this, services);
    services.gateways?.attach(this, services);
    services.live.attach(services);
  }

  find(head: RequestHead): Match {
    return this.#router.find(head.method, head.path);
  }

  judge(exchange: Exchange<Match>): Judged {
    const match = exchange.found!;
    const { route } = match;
    const notNow = this.#notReady(route) ?? this.#services.waiting.refusalOf(route);
    if (notNow !== null) return { refusal: notNow, organization: null };
    const admitted = route === undefined ? refuseRoute(match) : this.#admit(route, exchange);
    if (isRefused(admitted)) return { refusal: admitted, organization: null };
    const { caller } = admitted;
    const isOpen = route?.access === Access.PUBLIC;
    const organization = isOpen ? null : `${caller.tenantId}/${caller.organizationId}`;
    return { refusal: null, organization };
  }

  handle(exchange: Exchange<Match>): void {
    exchange.startedMs = performance.now();
    const { waiting } = this.#services;
    const { route } = exchange.found!;
    const notReady = this.#notReady(route);
    if (notReady !== null) {
      this.#turnAway(exchange, notReady);
      return;
    }
    const busy = waiting.refusalOf(route);
    if (busy !== null) {
      waiting.refusals.add(() => this.#turnAway(exchange, busy));
      return;
    }
    waiting.count += 1;
    try {
      const handled = this.#run(exchange);
      if (handled instanceof Promise) {
        handled
          .then((later) => this.#finish(exchange, later))
          .catch((error: unknown) => this.#finish(exchange, this.#failed(error, exchange)));
      } else {
        this.#finish(exchange, asSent(handled, exchange.body));
      }
    } catch (error) {
      this.#finish(exchange, this.#failed(error, exchange));
    }
  }

  /**
   * Nothing was read, so the answer does not wait for the log: on a host that has lost the
   * majority of its cluster, that would take as long as the loss.
   */
  #turnAway(exchange: Exchange<Match>, problem: Problem): void {
    const answer = this.refuse(problem, exchange);
    const durationMs = performance.now() - exchange.startedMs;
    this.#services.metrics.answered(exchange.found!.route, answer.status, durationMs);
    exchange.respond(answer);
  }

  /**
   * The answer to a request that did not come over HTTP. Unlike with `handle`, the caller bounds
   * the work that waits, and waits for the disk itself.
   */
  answerTo(request: Exchange): Answer | Promise<Answer> {
    const exchange = request as Exchange<Match>;
    exchange.find(this);
    const shown = (handled: Handled) => {
      const answer = this.#shown(exchange, handled);
      if (exchange.first !== null) this.keyed.end(exchange.first);
      return answer;
    };
    try {
      const handled = this.#run(exchange);
      if (!(handled instanceof Promise)) return shown(asSent(handled, exchange.body));
      return handled.catch((error: unknown) => this.#failed(error, exchange)).then(shown);
    } catch (error) {
      return shown(this.#failed(error, exchange));
    }
  }

  /** The answer of a request, which is stored under its key. */
  #shown(exchange: Exchange<Match>, handled: Handled): Answer {
    const { first } = exchange;
    const answer = isRefused(handled) ? this.refuse(handled, exchange) : handled;
    // An invalid request does not use up its key: the client may send it again, corrected.
    const isInvalid = isRefused(handled) && handled.refused === Result.VALIDATION_FAILED;
    if (first !== null && !isInvalid) this.keyed.store(first, answer);
    return answer;
  }

  #finish(exchange: Exchange<Match>, handled: Handled): void {
    const { route } = exchange.found!;
    exchange.answer = this.#shown(exchange, handled);
    if (route?.durable === true) this.#services.engine.afterDurable(exchange.leave);
    else this.leave(exchange);
  }

  /** Ordering: `respond` comes last, because the exchange then serves another request. */
  leave(exchange: Exchange<Match>): void {
    const { found, first, answer, startedMs } = exchange;
    if (first !== null) this.keyed.end(first);
    const durationMs = performance.now() - startedMs;
    const { waiting } = this.#services;
    waiting.count -= 1;
    waiting.lastMs = durationMs;
    this.#services.metrics.answered(found!.route, answer!.status, durationMs);
    exchange.respond(answer!);
  }

  refuse(problem: Problem, { found, path, query }: Exchange<Match>): Answer {
    const route = found?.route;
    return this.#problem(problem, route?.problemPath?.(query) ?? path, route);
  }

  #run(exchange: Exchange<Match>): Handled | Promise<Handled> {
    const match = exchange.found!;
    const { route } = match;
    if (route === undefined) return refuseRoute(match);
    const services = this.#services;
    const admitted = this.#admit(route, exchange);
    if (isRefused(admitted)) return admitted;
    const { caller, issuer } = admitted;
    exchange.organization = caller.organizationId;
    const organization = services.engine.state.catalog.organizations.get(caller.organizationId);
    if (organization?.requestsPerSecond !== undefined) {
      const refusal = services.rates.request(organization, caller, services.engine.nowMs());
      if (refusal !== null) return refusal;
    }
    const { checks } = match;
    const params = checks.params(match.params);
    const query = checks.query(exchange.query);
    if (route.isLong !== undefined && params.errors.length + query.errors.length === 0) {
      const context = { services, caller, issuer, params: params.values, query: query.values };
      const { authorization } = exchange;
      const long = { ...context, body: null, authorization, head: exchange };
      if (route.isLong(long, bytesOf(exchange))) return this.#runLong(exchange, route, long);
    }
    exchange.join();
    let body: unknown = route.readBody?.(exchange.body) ?? null;
    let bodyErrors = NO_ERRORS;
    if (body === null && route.body !== undefined) {
      const read = readBody(route, checks, exchange.body);
      if (isRefused(read)) return read;
      ({ body, errors: bodyErrors } = read);
    }
    if (params.errors.length + query.errors.length + bodyErrors.length > 0) {
      return refuseInvalid([...params.errors, ...query.errors, ...bodyErrors]);
    }
    if (organization?.bookingsPerSecond !== undefined && route.eventParameter !== undefined) {
      const eventId = String(query.values[route.eventParameter]);
      const nowMs = services.engine.nowMs();
      const refusal = services.rates.booking(organization, caller, eventId, nowMs);
      if (refusal !== null) return refusal;
    }
    const { authorization } = exchange;
    const early = this.#claim(exchange, route, caller, this.#meaningOf(route, query.values, body));
    if (early !== null) return early;
    return route.handle({
      services,
      caller,
      issuer,
      params: params.values,
      query: query.values,
      body,
      authorization,
      head: exchange,
    });
  }

  #meaningOf({ method, path, meaning }: Route, query: unknown, body: unknown) {
    if (meaning === undefined) return null;
    return () => {
      const text = Buffer.from(meaning(query, body));
      return this.#services.keys.fingerprint(`${method} ${path}`, text);
    };
  }

  /**
   * @param known - The fingerprint, when it is not made of the bytes.
   * @returns What the request gets instead of being carried out; null when it is carried out.
   */
  #claim(
    exchange: Exchange<Match>,
    route: Route,
    caller: Caller,
    known: (() => string) | null,
  ): Handled | Promise<Handled> | null {
    const { idempotencyKey, waits } = exchange;
    if (idempotencyKey === null || !takesIdempotencyKey(route)) return null;
    const isConfidential = route.isConfidential === true;
    const ofBytes = () => this.#services.keys.fingerprint(headOf(exchange), exchange.body);
    const fingerprint = known ?? ofBytes;
    const keyed = { caller, idempotencyKey, isConfidential, waits, fingerprint };
    const begun = this.keyed.begin(keyed);
    if (begun instanceof Promise || !("fingerprint" in begun)) return asRepeated(begun, route);
    exchange.first = begun;
    return null;
  }

  async #runLong(exchange: Exchange<Match>, route: Route, context: Context): Promise<Handled> {
    const parts = exchange.parts ?? [Buffer.from(Uint8Array.from(exchange.body).buffer)];
    const { keys } = context.services;
    const isKeyed = exchange.idempotencyKey !== null;
    const steps = isKeyed ? keys.fingerprintInSteps(headOf(exchange), parts) : null;
    const fingerprint =
      steps === null ? null : await inSlices(steps, context.caller.organizationId);
    const known = fingerprint === null ? null : () => fingerprint;
    const claim = () => this.#claim(exchange, route, context.caller, known);
    return route.handleLong!(context, { parts, claim });
  }

  /** @returns Why no request of the route is taken now; null when they are. */
  #notReady(route: Route | undefined): Problem | null {
    const { isReady, notReady } = this.#services;
    if (route === undefined || route.tag === "Service" || isReady()) return null;
    return notReady?.() ?? NOT_READY;
  }

  /** The checks that need only the head of a request that is taken, in the documented order. */
  #admit(route: Route, head: RequestHead): Admitted | Problem {
    const services = this.#services;
    const refusal = refuseHead(route, head);
    if (refusal !== null) return refusal;
    const ticket = route.access === Access.VIEWER ? ticketOf(head) : null;
    if (ticket !== null) {
      const viewed = services.live.redeem({ eventId: eventIdOf(head.path), ticket, head });
      if (isRefused(viewed)) return this.#denied(viewed, head);
      return refuseAway(services, route, viewed.caller, head) ?? viewed;
    }
    const takesOrgId = route.query?.["orgId"] !== undefined;
    const orgId = takesOrgId ? new URLSearchParams(head.query).get("orgId") : null;
    const caller = identify(services, route.access, head, orgId);
    if (isRefused(caller)) return this.#denied(caller, head);
    const rotated = route.needsCurrentKey === true ? refuseRotated(services, head) : null;
    return rotated ?? refuseAway(services, route, caller, head) ?? { caller, issuer: null };
  }

  /** Slows down an address that tries many keys; valid keys from it are not affected. */
  #denied(problem: Problem, { address }: RequestHead): Problem {
    const { badKeys, engine } = this.#services;
    const [from, nowMs] = [address(), engine.nowMs()];
    if (!badKeys.admits(from, nowMs)) return TOO_MANY_KEYS;
    badKeys.failed(from, nowMs);
    return problem;
  }

  #problem(refusal: Problem, path: string, route?: Route): Answer {
    this.#services.metrics.refused(refusal.refused);
    const isFull = refusal.refused === Result.NO_ROOM;
    const problem: Problem = isFull ? { ...refusal, headers: IN_A_MINUTE } : refusal;
    if (!path.startsWith(AUTH_PREFIX)) {
      const said = route?.isLegacy === true ? legacyProblem(problem, route) : problem;
      return problemAnswer(said, path, this.#services.engine.nowMs());
    }
    const { status } = REPLIES[problem.refused];
    const fields = (problem.errors ?? []).map(({ field, message }) => `${field} ${message}`);
    return authFailure(status, [problem.detail, ...fields].join(" "), problem.headers);
  }

  /** Unexpected errors go to the log, not to the caller. A failed assertion ends the process. */
  #failed(error: unknown, { method, path, id: requestId }: Exchange): Problem {
    if (error instanceof Broken) throw error;
    this.#log.error({ err: error, requestId, method, path: withoutKeys(path) }, "unexpected error");
    return { refused: FrontResult.INTERNAL_ERROR, detail: "An unexpected error occurred." };
  }
}

/** @returns The ticket in the query; null for none. */
function ticketOf({ query }: RequestHead): string | null {
  return query.includes("ticket=") ? new URLSearchParams(query).get("ticket") : null;
}

function eventIdOf(path: string): string {
  return (/\/events\/([^/]+)/.exec(path)?.[1] ?? "").toLowerCase();
}

const IN_A_MINUTE = [["Retry-After", "60"]] as const;

const TOO_MANY_KEYS: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "Too many requests without a valid key came from this address; wait a minute.",
  headers: IN_A_MINUTE,
};

function bytesOf({ body, parts }: Exchange): number {
  return body.length + (parts ?? []).reduce((sum, part) => sum + part.length, 0);
}

/** A stored answer has the form of the first one, whatever a retry prefers. */
function asRepeated(
  begun: Handled | Promise<Handled>,
  { takesPrefer }: Route,
): Handled | Promise<Handled> {
  if (takesPrefer !== true) return begun;
  return begun instanceof Promise ? begun.then(withApplied) : withApplied(begun);
}
