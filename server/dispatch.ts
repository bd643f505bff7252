/**
 * From a request value to an answer value; no socket is known here. The order of the checks is the
 * documented precedence: path, key, shape, then the handler. An answer leaves only when what it
 * rests on is on disk.
 */
import type { Logger } from "pino";
import { Broken } from "../engine/assert.ts";
import { type FieldError, isRefused, refuseInvalid, Result } from "../engine/results.ts";
import type { Caller } from "../engine/shapes/caller.ts";
import { identify } from "./auth/access.ts";
import { type FirstOfKey, Idempotency } from "./idempotency.ts";
import { authFailure } from "./routes/auth.ts";
import { legacyProblem } from "./routes/v1/problems.ts";
import { Access, type Handled, type Route } from "./routing/route.ts";
import { Router, type Match } from "./routing/router.ts";
import type { Services } from "./routing/services.ts";
import { checksOf, type RouteChecks } from "./routing/validate.ts";
import { type Answer, headersOf, NOT_READY, type Problem, problemAnswer } from "./wire/answers.ts";
import type { Found, Front, Request, RequestHead, Respond } from "./wire/front.ts";
import { parseJson } from "./wire/json.ts";
import { FrontResult, REPLIES } from "./wire/replies.ts";

const BODY_BYTES_MAX = 1_024 * 1_024;
/** Runs that are kept for later requests; more at once are made afresh. */
const IDLE_MAX = 10_000;
const NO_ERRORS: readonly FieldError[] = [];
const AUTH_PREFIX = "/api/auth/";

/** One request on its way. Made once and used again, so that waiting costs no closure. */
class Run {
  request: Request | null = null;
  route: Route | undefined;
  respond: Respond | null = null;
  startedMs = 0;
  /** Set once it is the first request of an `Idempotency-Key`. */
  first: FirstOfKey | null = null;
  answer: Answer | null = null;
  readonly leave: () => void;

  constructor(leave: (run: Run) => void) {
    this.leave = () => leave(this);
  }
}

/** A request whose path was looked up. */
interface Matched extends Found {
  readonly match: Match;
}

export class Dispatch implements Front {
  readonly #services: Services;
  readonly #log: Logger;
  readonly #router: Router;
  readonly #idempotency: Idempotency;
  readonly #checks = new Map<Route, RouteChecks>();
  readonly #idle: Run[] = [];

  constructor(services: Services, routes: readonly Route[], log: Logger) {
    this.#services = services;
    this.#idempotency = new Idempotency(services);
    this.#log = log;
    this.#router = new Router(routes);
    for (const route of routes) this.#checks.set(route, checksOf(route));
  }

  find(head: RequestHead): Matched {
    const match = this.#router.find(head.method, head.path);
    const { route } = match;
    const bodyBytesMax = route?.bodyBytesMax ?? BODY_BYTES_MAX;
    if (route === undefined || bodyBytesMax <= BODY_BYTES_MAX) {
      return { match, bodyBytesMax, refusal: null };
    }
    const found = this.#admit(route, head);
    return { match, bodyBytesMax, refusal: isRefused(found) ? found : null };
  }

  /** Calls `respond` once, in this turn or a later one, whatever happens. */
  handle({ match }: Matched, request: Request, respond: Respond): void {
    const { route } = match;
    const run = this.#idle.pop() ?? new Run(this.#leave);
    run.request = request;
    run.route = route;
    run.respond = respond;
    run.startedMs = performance.now();
    try {
      const handled =
        route === undefined ? refuseRoute(match) : this.#run(route, match, request, run);
      if (handled instanceof Promise) {
        handled
          .then((later) => this.#finish(run, later))
          .catch((error: unknown) => this.#finish(run, this.#failed(error, request)));
      } else {
        this.#finish(run, handled);
      }
    } catch (error) {
      this.#finish(run, this.#failed(error, request));
    }
  }

  #finish(run: Run, handled: Handled): void {
    const { route, first } = run;
    const answer = isRefused(handled) ? this.#problem(handled, run.request!.path, route) : handled;
    // What is not valid does not use up its key: the request may come again, corrected.
    const isInvalid = isRefused(handled) && handled.refused === Result.VALIDATION_FAILED;
    if (first !== null && !isInvalid) this.#idempotency.store(first, answer);
    run.answer = answer;
    if (route?.durable === true) this.#services.engine.afterDurable(run.leave);
    else run.leave();
  }

  /** Ordering: the run is free for another request from its end on, and not used after it. */
  readonly #leave = (run: Run): void => {
    const { route, respond, first, answer, startedMs } = run;
    if (first !== null) this.#idempotency.end(first);
    this.#services.metrics.answered(route, answer!.status, performance.now() - startedMs);
    respond!(answer!);
    run.request = null;
    run.respond = null;
    run.first = null;
    run.answer = null;
    if (this.#idle.length < IDLE_MAX) this.#idle.push(run);
  };

  /** For what the socket refuses by itself. */
  refuse(problem: Problem, path: string): Answer {
    return this.#problem(problem, path);
  }

  #run(route: Route, match: Match, request: Request, run: Run): Handled | Promise<Handled> {
    const services = this.#services;
    const caller = this.#admit(route, request);
    if (isRefused(caller)) return caller;
    const checks = this.#checks.get(route)!;
    let body: unknown = route.readBody?.(request.body) ?? null;
    let bodyErrors = NO_ERRORS;
    if (body === null && route.body !== undefined) {
      const parsed = parseJson(request.body);
      if (!parsed.ok) {
        return { refused: FrontResult.MALFORMED_REQUEST, detail: parsed.reason };
      }
      body = parsed.value;
      bodyErrors = checks.body(body, request.body.length);
    }
    const params = checks.params(match.params);
    const query = checks.query(request.query);
    if (params.errors.length + query.errors.length + bodyErrors.length > 0) {
      return refuseInvalid([...params.errors, ...query.errors, ...bodyErrors]);
    }
    const isMutation = route.method !== "get" && route.access !== Access.PUBLIC;
    if (isMutation && request.idempotencyKey !== "") {
      const begun = this.#idempotency.begin(route, request, caller);
      if (!("fingerprint" in begun)) return begun;
      run.first = begun;
    }
    const { authorization } = request;
    return route.handle({
      services,
      caller,
      params: params.values,
      query: query.values,
      body,
      authorization,
    });
  }

  /** What the head of a request decides, in the documented order. */
  #admit(route: Route, head: RequestHead): Caller | Problem {
    const services = this.#services;
    if (route.tag !== "Service" && !services.isReady()) return NOT_READY;
    if (route.body !== undefined && !isJson(head.contentType)) return NOT_JSON;
    const takesOrgId = route.query?.["orgId"] !== undefined;
    const orgId = takesOrgId ? new URLSearchParams(head.query).get("orgId") : null;
    const caller = identify(services, route.access, head, orgId);
    return isRefused(caller) ? this.#denied(caller, head) : caller;
  }

  /** Who tries many keys is slowed down; good keys from the same address are not. */
  #denied(problem: Problem, { address }: RequestHead): Problem {
    const { badKeys, engine } = this.#services;
    const [from, nowMs] = [address(), engine.nowMs()];
    if (!badKeys.admits(from, nowMs)) return TOO_MANY_KEYS;
    badKeys.failed(from, nowMs);
    return problem;
  }

  #problem(problem: Problem, path: string, route?: Route): Answer {
    if (!path.startsWith(AUTH_PREFIX)) {
      const said = route?.isLegacy === true ? legacyProblem(problem, route) : problem;
      return problemAnswer(said, path, this.#services.engine.nowMs());
    }
    const { status } = REPLIES[problem.refused];
    const fields = (problem.errors ?? []).map(({ field, message }) => `${field} ${message}`);
    const failure = authFailure(status, [problem.detail, ...fields].join(" "));
    return { ...failure, headers: headersOf(status, problem.headers) };
  }

  /** An unexpected error: told to the log, not to the caller. A broken promise ends the process. */
  #failed(error: unknown, { method, path }: Request): Problem {
    if (error instanceof Broken) throw error;
    this.#log.error({ err: error, method, path }, "unexpected error");
    return { refused: FrontResult.INTERNAL_ERROR, detail: "An unexpected error occurred." };
  }
}

const TOO_MANY_KEYS: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "Too many requests without a valid key came from this address; wait a minute.",
  headers: [["Retry-After", "60"]],
};

const NOT_JSON: Problem = {
  refused: FrontResult.UNSUPPORTED_MEDIA_TYPE,
  detail: "The body must be application/json.",
};

/** A body without a type is taken for what every body here is. */
function isJson(contentType: string): boolean {
  if (contentType === "" || contentType === "application/json") return true;
  return contentType.split(";", 1)[0]!.trim().toLowerCase() === "application/json";
}

function refuseRoute({ methods }: Match): Problem {
  if (methods.length === 0) {
    return { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such path." };
  }
  return {
    refused: FrontResult.METHOD_NOT_ALLOWED,
    detail: `This path takes ${methods.join(", ")}.`,
    headers: [["Allow", methods.join(", ")]],
  };
}
