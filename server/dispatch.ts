/**
 * Turns a request into an answer; knows nothing of sockets. The order of the checks is the
 * documented precedence: path, key, shape, then the handler. An answer leaves only when everything
 * that it depends on is on disk.
 */
import type { Logger } from "pino";
import { Broken } from "../engine/assert.ts";
import type { Caller, ReplyBody } from "../engine/bodies.ts";
import { findReply } from "../engine/queries/access.ts";
import { askerOf, AuditGap } from "../engine/queries/history.ts";
import { type FieldError, isRefused, refuseInvalid, Result } from "../engine/results.ts";
import { BODY_IN_MEMORY_MAX, ownerOf, type ReplyRow } from "../engine/stored-replies.ts";
import { inOwnSlice, inSlices, type Owner, TOO_MANY_LONG_BODIES } from "./api/overload.ts";
import {
  canBeStrict,
  type Context,
  type Handled,
  type Route,
  takesIdempotencyKey,
} from "./api/route.ts";
import type { Admitted } from "./live/live.ts";
import type { CommandFront, KeyedRequest, KeyedRequests } from "./commands/decider.ts";
import { type Match, preflightOf, refuseRoute, Router } from "./api/router.ts";
import type { Services } from "./api/services.ts";
import { asSent, bodyChecksOf, findUnknown, readBody, refuseHead } from "./api/validate.ts";
import { Access, identify, refuseAway, refuseRotated } from "./auth/access.ts";
import {
  type Answer,
  CLIENT_GONE,
  forAnyOrigin,
  FrontResult,
  jsonAnswer,
  layoutPutAnswer,
  NOT_READY,
  type Problem,
  problemAnswer,
  REPLIES,
  wantsStrict,
  withApplied,
  isRepeatable,
  withReplayed,
  withStrict,
} from "./http/answers.ts";
import { sourceOf } from "./http/client-address.ts";
import {
  type Exchange,
  type FirstOfKey,
  type Front,
  type Judged,
  NO_BODY,
  type Request,
  type RequestHead,
} from "./http/front.ts";
import { TURN_BYTES } from "./http/limits.ts";
import { withoutKeys } from "./observe/log.ts";
import { authFailure } from "./routes/auth.ts";
import { missingPage } from "./routes/service.ts";
import { legacyProblem } from "./routes/v1-booking.ts";

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
    const notNow = this.#notNow(route);
    if (notNow !== null) return { refusal: notNow, organization: null };
    const admitted = this.#admit(match, exchange);
    if (isRefused(admitted)) return { refusal: admitted, organization: null };
    const { caller } = admitted;
    const isOpen = route?.access === Access.PUBLIC;
    const organization = isOpen ? null : `${caller.tenantId}/${caller.organizationId}`;
    return { refusal: null, organization };
  }

  handle(exchange: Exchange<Match>): void {
    exchange.startedMs = performance.now();
    if (exchange.refusal !== null) this.#turnAway(exchange, exchange.refusal);
    else if (bytesOf(exchange) > TURN_BYTES) void this.#beginInTurn(exchange);
    else this.#begin(exchange);
  }

  #begin(exchange: Exchange<Match>): void {
    const notNow = this.#notNow(exchange.found!.route);
    if (notNow !== null) {
      this.#turnAway(exchange, notNow);
      return;
    }
    this.#services.waiting.count += 1;
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

  async #beginInTurn(exchange: Exchange<Match>): Promise<void> {
    const outcome = await this.#inTurn(exchange, () => this.#begin(exchange));
    if (typeof outcome !== "boolean") this.#turnAway(exchange, outcome);
    else if (!outcome) this.#leaveNow(exchange, CLIENT_GONE);
  }

  /**
   * A long body, in its turn: those of an organization come one after the other, and organizations
   * take turns. Until then the request is not in flight, so that it keeps no lock of others out.
   *
   * @param act - Judges the request again: its key may have ended meanwhile.
   * @returns False, and nothing is carried out, when the client has gone before.
   */
  #inTurn(exchange: Exchange<Match>, act: () => void): Promise<boolean> | Problem {
    const admitted = this.#admit(exchange.found!, exchange);
    if (isRefused(admitted)) return admitted;
    const { longBodies } = this.#services.waiting;
    const owner = senderOf(admitted.caller, exchange);
    if (!longBodies.take(owner)) return TOO_MANY_LONG_BODIES;
    const parts = exchange.parts ?? [Buffer.from(exchange.body)];
    const work = () => {
      exchange.parts = parts;
      act();
      exchange.body = NO_BODY;
      exchange.parts = null;
    };
    return inOwnSlice(work, owner, exchange).finally(() => longBodies.giveBack(owner));
  }

  /** A refused request. */
  #turnAway(exchange: Exchange<Match>, problem: Problem): void {
    const send = () => this.#leaveNow(exchange, this.#refusal(problem, exchange));
    if (problem.isDelayed === true) this.#services.waiting.refusals.add(send);
    else send();
  }

  /**
   * Answers a request without effect, and without waiting for the log: a host outside of the
   * majority of its cluster would wait as long as the loss.
   */
  #leaveNow(exchange: Exchange<Match>, answer: Answer): void {
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
    return bytesOf(exchange) > TURN_BYTES ? this.#answerInTurn(exchange) : this.#answer(exchange);
  }

  async #answerInTurn(exchange: Exchange<Match>): Promise<Answer> {
    let answer: Answer | Promise<Answer> = CLIENT_GONE;
    const outcome = await this.#inTurn(exchange, () => (answer = this.#answer(exchange)));
    return typeof outcome === "boolean" ? answer : this.#refusal(outcome, exchange);
  }

  #answer(exchange: Exchange<Match>): Answer | Promise<Answer> {
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
    const answer = isRefused(handled)
      ? this.#refusal(handled, exchange)
      : forOrigin(exchange.found!.route, handled);
    if (first !== null && !(isRefused(handled) && isRepeatable(handled)))
      this.keyed.store(first, answer);
    return isStrict(exchange) ? withStrict(answer) : answer;
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

  refuse(problem: Problem, exchange: Exchange<Match>): Answer {
    const answer = this.#refusal(problem, exchange);
    this.#services.metrics.answered(exchange.found?.route, answer.status, 0);
    return answer;
  }

  #refusal(problem: Problem, { found, path, query }: Exchange<Match>): Answer {
    const route = found?.route;
    const answer = this.#problem(problem, route?.problemPath?.(query) ?? path, route);
    return forOrigin(route, answer);
  }

  #run(exchange: Exchange<Match>): Handled | Promise<Handled> {
    const match = exchange.found!;
    const { route } = match;
    if (route === undefined) {
      return preflightOf(match, exchange.method) ?? missingPage(exchange) ?? refuseRoute(match);
    }
    const services = this.#services;
    const admitted = this.#admit(match, exchange);
    if (isRefused(admitted)) return admitted;
    const { caller, ticket } = admitted;
    exchange.organization = caller.organizationId;
    const organization = services.engine.state.catalog.organizations.get(caller.organizationId);
    if (organization?.requestsPerSecond !== undefined) {
      const refusal = services.rates.request(organization, caller, services.engine.nowMs());
      if (refusal !== null) return refusal;
    }
    const { checks } = match;
    const params = checks.params(match.params);
    const query = checks.query(exchange.query);
    const isValid = params.errors.length + query.errors.length === 0;
    const isIgnored = query.unknown.length === 0 || !isStrict(exchange);
    if (route.isLong !== undefined && isValid && isIgnored) {
      const context = { services, caller, ticket, params: params.values, query: query.values };
      const { authorization } = exchange;
      const long = { ...context, body: null, authorization, head: exchange };
      if (route.isLong(long, bytesOf(exchange))) return this.#runLong(exchange, route, long);
    }
    exchange.join();
    const chosen = route.bodyOf?.(query.values);
    let body: unknown = chosen === undefined ? (route.readBody?.(exchange.body) ?? null) : null;
    let bodyErrors = NO_ERRORS;
    if (body === null && route.body !== undefined) {
      const bodyChecks = chosen === undefined ? checks : bodyChecksOf(chosen);
      const read = readBody(route, bodyChecks, exchange.body);
      if (isRefused(read)) return read;
      ({ body, errors: bodyErrors } = read);
    }
    if (isStrict(exchange)) {
      const unknown = findUnknown(chosen ?? route.body, body, query.unknown);
      const isForeign = ({ field }: FieldError) => !exchange.envelope.includes(field);
      bodyErrors = [...bodyErrors, ...unknown.filter(isForeign)];
    }
    if (bodyErrors.length > 0 && route.errorsOf !== undefined) {
      bodyErrors = withOthers(bodyErrors, route.errorsOf(services, body));
    }
    if (params.errors.length + query.errors.length + bodyErrors.length > 0) {
      return refuseInvalid([...params.errors, ...query.errors, ...bodyErrors]);
    }
    if (organization?.bookingsPerSecond !== undefined && route.eventsOf !== undefined) {
      const nowMs = services.engine.nowMs();
      for (const eventId of new Set(route.eventsOf(query.values, body))) {
        const refusal = services.rates.booking(organization, caller, eventId, nowMs);
        if (refusal !== null) return refusal;
      }
    }
    const { authorization } = exchange;
    const early = this.#claim(exchange, route, caller, this.#meaningOf(route, query.values, body));
    if (early !== null) return early;
    return route.handle({
      services,
      caller,
      ticket,
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

  /** @returns Null when requests of the route are taken now. */
  #notNow(route: Route | undefined): Problem | null {
    return this.#notReady(route) ?? this.#services.waiting.refusalOf(route);
  }

  #notReady(route: Route | undefined): Problem | null {
    const { isReady, notReady } = this.#services;
    if (route === undefined || route.tag === "Service" || isReady()) return null;
    return notReady?.() ?? NOT_READY;
  }

  /** The checks that need only the head of a request that is taken, in the documented order. */
  #admit(match: Match, head: RequestHead): Admitted | Problem {
    const services = this.#services;
    const { route } = match;
    if (route === undefined) return refuseRoute(match);
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
    return rotated ?? refuseAway(services, route, caller, head) ?? { caller, ticket: null };
  }

  /** Slows down an address that tries many keys; valid keys from it are not affected. */
  #denied(problem: Problem, { address }: RequestHead): Problem {
    const { badKeys, engine } = this.#services;
    const [from, nowMs] = [sourceOf(address()), engine.nowMs()];
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

function forOrigin(route: Route | undefined, shown: Answer): Answer {
  return route?.isShared === true ? forAnyOrigin(shown) : shown;
}

function isStrict({ prefer, found }: Exchange<Match>): boolean {
  if (prefer === "" || !wantsStrict(prefer)) return false;
  const route = found!.route;
  return route !== undefined && canBeStrict(route);
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

/** The organization of a long body; on other paths the tenant, or the source address. */
function senderOf({ organizationId, tenantId }: Caller, exchange: Exchange<Match>): Owner {
  const { address, found } = exchange;
  if (found!.route?.access === Access.PUBLIC) return sourceOf(address());
  return organizationId === 0 ? `tenant ${tenantId}` : organizationId;
}

function bytesOf({ body, parts }: Exchange): number {
  if (parts === null) return body.length;
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** A stored answer has the form of the first one, whatever a retry prefers. */
function asRepeated(
  begun: Handled | Promise<Handled>,
  { takesPrefer }: Route,
): Handled | Promise<Handled> {
  if (takesPrefer !== true) return begun;
  return begun instanceof Promise ? begun.then(withApplied) : withApplied(begun);
}

// `Idempotency-Key`: the first answer to a key of an organization is stored with the mutation and
// repeated, byte for byte, for a day. A long body is repeated from the audit trail, and a layout
// from the layout itself. Where that is no longer possible, a retry is refused: it never has an
// effect of its own.
//
// Ordering: the reply is submitted in the same turn as the mutation that it answers. The log puts
// all records of a turn into one frame, which is recovered whole or not at all. So neither is ever
// on disk without the other.

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Characters. Only a layout is longer, and it is not kept as a text. */
const BODY_LENGTH_MAX = 4 * 1_024 * 1_024;

const BAD_KEY: Problem = {
  refused: Result.VALIDATION_FAILED,
  detail: "The Idempotency-Key is not valid.",
  errors: [
    {
      field: "Idempotency-Key",
      code: "SIZE",
      message: "must have 1 to 255 printable ASCII characters",
      rejectedValue: null,
    },
  ],
};

const IN_PROGRESS: Problem = {
  refused: FrontResult.IDEMPOTENCY_IN_PROGRESS,
  detail:
    "The first request with this Idempotency-Key has not been answered yet: try again shortly.",
};

const REUSED: Problem = {
  refused: FrontResult.IDEMPOTENCY_KEY_REUSED,
  detail: "This Idempotency-Key came with another request before: a new request needs a new key.",
};

const GONE: Problem = {
  refused: FrontResult.IDEMPOTENCY_REPLY_GONE,
  detail:
    "The request with this Idempotency-Key was carried out before, but its answer is not kept.",
};

const TOO_MANY_IDEMPOTENCY_KEYS: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "Too many Idempotency-Keys were used in the last day: try again later, or without one.",
  headers: [["Retry-After", "60"]],
};

const BUSY: Problem = {
  refused: Result.OVERLOADED,
  detail: "The stored answer cannot be read at present; try again.",
};

/** What a request asks for, besides its body. */
function headOf({ method, path, query }: Request): string {
  return [method, path, query].join("\n");
}

export class Idempotency implements KeyedRequests {
  readonly #services: Services;
  /** Keys whose first request has not been answered. */
  readonly #inFlight = new Set<string>();

  constructor(services: Services) {
    this.#services = services;
  }

  /** @returns The stored answer, a refusal, or the claim of the first request with the key. */
  begin(keyed: KeyedRequest): Answer | Problem | FirstOfKey | Promise<Answer | Problem> {
    const { caller, idempotencyKey, isConfidential = false, waits = false } = keyed;
    if (!KEY.test(idempotencyKey)) return BAD_KEY;
    const { engine } = this.#services;
    const id = `${askerOf(caller)}:${idempotencyKey}`;
    const isInFlight = this.#inFlight.has(id);
    if (isInFlight && !waits) return IN_PROGRESS;
    const fingerprint = keyed.fingerprint();
    const reply = findReply(engine.state, id, engine.nowMs());
    if (reply === null) {
      if (isInFlight) return IN_PROGRESS;
      if (!this.#hasRoom(ownerOf(id), caller)) return TOO_MANY_IDEMPOTENCY_KEYS;
      this.#inFlight.add(id);
      return { id, fingerprint, caller, isConfidential };
    }
    if (reply.fingerprint !== fingerprint) return REUSED;
    const repeated = this.#repeat(reply, isConfidential);
    return repeated instanceof Promise ? repeated.then(withReplayed) : withReplayed(repeated);
  }

  /**
   * Stores the answer, unless a retry may have a different result. One that is too long, or for
   * which a nearly full disk has no space, is stored without its body.
   */
  store({ id, fingerprint, caller, isConfidential }: FirstOfKey, answer: Answer): void {
    const { status, layout, stored } = answer;
    if (status === 409 || status === 429 || status >= 500) return;
    const facts = { id, fingerprint, status };
    if (layout !== undefined) {
      this.#remember(caller, { ...facts, body: null, layout });
      return;
    }
    const text = stored ?? String(answer.body);
    const body = isConfidential ? this.#services.keys.seal(text) : text;
    if (body.length <= BODY_LENGTH_MAX && this.#remember(caller, { ...facts, body })) {
      if (body.length > BODY_IN_MEMORY_MAX) this.#services.replies.add(id, body);
    } else {
      this.#remember(caller, { ...facts, body: null });
    }
  }

  #remember(caller: Caller, reply: ReplyBody): boolean {
    const { engine, replies } = this.#services;
    const { budget } = replies;
    return !isRefused(engine.submitFollowUp({ kind: "rememberReply", caller, reply, budget }));
  }

  /** Whether one more reply may be stored: the mutation must not happen without it. */
  #hasRoom(owner: string, caller: Caller): boolean {
    const { engine, replies } = this.#services;
    const { storedReplies } = engine.state.catalog;
    if (storedReplies.hasRoom(owner, replies.budget)) return true;
    engine.submit({ kind: "forgetReplies", caller });
    const hasRoom = storedReplies.hasRoom(owner, replies.budget);
    if (!hasRoom) replies.refused += 1;
    return hasRoom;
  }

  #repeat(reply: ReplyRow, isConfidential: boolean): Answer | Problem | Promise<Answer | Problem> {
    const { engine, replies } = this.#services;
    const { id, body, bodyLength, layout } = reply;
    if (body !== null) return this.#show(reply, body, isConfidential);
    if (layout !== undefined) {
      const { schemaId, version, inUse } = layout;
      const rowNow = () => engine.state.catalog.layouts.get(schemaId);
      const isSame = () => rowNow()?.version === version;
      const row = rowNow();
      if (row === undefined || !isSame()) return this.#gone();
      const { layouts } = this.#services;
      if (!layouts.isLarge(schemaId)) return layoutPutAnswer(row, inUse);
      // It may have changed while it waited for its turn.
      return layouts.show(schemaId, inUse).then((shown) => (isSame() ? shown : this.#gone()));
    }
    if (bodyLength === undefined) return this.#gone();
    const recent = replies.find(id);
    if (recent !== undefined) return this.#show(reply, recent, isConfidential);
    return this.#read(reply, isConfidential);
  }

  async #read(reply: ReplyRow, isConfidential: boolean): Promise<Answer | Problem> {
    const { id } = reply;
    const { audit } = this.#services;
    const { gap, ...found } = await audit.ask({ about: "reply", id }, ownerOf(id));
    if (gap === AuditGap.BUSY || gap === AuditGap.UNAVAILABLE) return BUSY;
    const body = "value" in found ? found.value : null;
    return body === null ? this.#gone() : this.#show(reply, body, isConfidential);
  }

  #show({ status }: ReplyRow, body: string, isConfidential: boolean): Answer {
    return jsonAnswer(status, isConfidential ? this.#services.keys.unseal(body) : body);
  }

  #gone(): Problem {
    this.#services.replies.gone += 1;
    return GONE;
  }

  /** Call this when the request has been answered. */
  end({ id }: FirstOfKey): void {
    this.#inFlight.delete(id);
  }
}

/** One error for a field: the first. */
function withOthers(
  errors: readonly FieldError[],
  others: readonly FieldError[],
): readonly FieldError[] {
  const fields = new Set(errors.map(({ field }) => field));
  return [...errors, ...others.filter(({ field }) => !fields.has(field))];
}
