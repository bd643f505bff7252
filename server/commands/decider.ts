/**
 * Decides the commands of a frame by the rules of HTTP. A usual command goes to the engine at once,
 * any other the general way: as the equivalent request.
 */
import type { Caller } from "../../engine/bodies.ts";
import type { OrganizationRow } from "../../engine/catalog.ts";
import type { BookingKind } from "../../engine/commands.ts";
import type { Engine } from "../../engine/engine.ts";
import { isGranted, isRefused, refuseInvalid } from "../../engine/results.ts";
import { WaitingWork } from "../api/overload.ts";
import { Access, admits, type Identities, identify } from "../auth/access.ts";
import {
  type Answer,
  FALSE,
  isRepeatable,
  type Problem,
  problemAnswer,
  TRUE,
  withApplied,
} from "../http/answers.ts";
import { type Credentials, Exchange, type FirstOfKey, type RequestHead } from "../http/front.ts";
import type { Metrics } from "../observe/metrics.ts";
import {
  type Call,
  type Client,
  type Command,
  ENVELOPE,
  fingerprintOf,
  PATHS,
  SOCKET_PATH,
} from "./command.ts";

/**
 * In-flight limit for locks; for other calls it is twice as high. A connection has more in flight
 * than one of HTTP, and the log takes 100,000 records.
 */
export const COMMANDS_WAITING_MAX = 32_000;

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly caller: Caller;
  readonly idempotencyKey: string;
  /** Of its meaning. */
  readonly fingerprint: () => string;
  /** True when its answer is sealed in the store. */
  readonly isConfidential?: boolean;
  /** True when a retry waits for the first request instead of being refused meanwhile. */
  readonly waits?: boolean;
}

/** Answers each request with an idempotency key once. */
export interface KeyedRequests {
  begin(keyed: KeyedRequest): Answer | Problem | FirstOfKey | Promise<Answer | Problem>;
  /** To be called in the turn of its mutation. */
  store(first: FirstOfKey, answer: Answer): void;
  end(first: FirstOfKey): void;
}

/** Answers requests from elsewhere than HTTP. */
export interface CommandFront {
  readonly keyed: KeyedRequests;
  answerTo(exchange: Exchange): Answer | Promise<Answer>;
}

export interface DeciderServices extends Identities {
  readonly metrics: Pick<Metrics, "refused">;
  /** True while requests are taken. */
  readonly isReady: () => boolean;
}

/** Outcome of a command. `isDone` is null when there is a problem. */
export interface Decided {
  isDone: boolean | null;
  problem: Problem | null;
}

/** A request without a connection: its answer is returned, not sent. */
export class InnerExchange extends Exchange {
  /** A retry waits for the first request, whose connection may be lost. */
  override readonly waits = true;
  readonly address: () => string;

  /** @param body - Read in the same turn. */
  constructor({ address, ...head }: Partial<RequestHead> & Client, body: Buffer) {
    super();
    Object.assign(this, head);
    this.address = address;
    this.body = body;
  }

  respond(): void {}
}

export class Decider {
  readonly waiting: WaitingWork;
  readonly #services: DeciderServices;
  /** The front for the general way. */
  readonly #front: CommandFront;
  #client: Client | null = null;
  /** Null when the commands of the frame must go the general way. */
  #caller: Caller | null = null;
  /** The same object for each command, as the commands themselves. */
  readonly #decided: Decided = { isDone: null, problem: null };

  constructor(services: DeciderServices, front: CommandFront, waitingMax = COMMANDS_WAITING_MAX) {
    this.#services = services;
    this.#front = front;
    this.waiting = new WaitingWork(waitingMax);
  }

  get engine(): Engine {
    return this.#services.engine;
  }

  isAdmitted(client: Credentials): boolean | null {
    return admits(this.#services, identify(this.#services, Access.ORGANIZATION, client, null));
  }

  /**
   * The following commands are those of this client: key and organization are judged for each
   * frame.
   *
   * @returns False when the key has ended.
   */
  begin(client: Client): boolean {
    const services = this.#services;
    const caller = identify(services, Access.ORGANIZATION, client, null);
    this.#client = client;
    this.#caller = null;
    if (isRefused(caller)) return false;
    const { organizations } = services.engine.state.catalog;
    const organization = organizations.get(caller.organizationId);
    if (services.isReady() && !isLimited(organization)) this.#caller = caller;
    return true;
  }

  /** @returns An answer of the general way; a promise when it takes time. */
  decide(command: Command): Decided | Answer | Promise<Answer> {
    const { call, isUsual, invalid, request } = command;
    if (request !== null) return this.#request(request);
    if (call === null || invalid !== null) return this.#refuse(refuseInvalid([invalid!]));
    const locks = call === "lock" || call === "best" || call === "cart";
    const busy = this.waiting.refusalOf(locks ? LOCK : OTHER);
    if (busy !== null) return this.#refuse(busy);
    const caller = this.#caller;
    // A usual command is one of a selection.
    const isOther = call === "best" || call === "extend" || call === "cart";
    if (!isUsual || caller === null || isOther) return this.#answer(call, command);
    return command.idempotencyKey === null
      ? this.#submit(call, command, caller)
      : this.#decideKeyed(call, command, caller);
  }

  /** A request in its general form. */
  #request(request: Exchange): Decided | Answer | Promise<Answer> {
    const { method, path } = request;
    const busy = this.waiting.refusalOf({ method, durable: true, yields: YIELDING.test(path) });
    return busy === null ? this.#front.answerTo(request) : this.#refuse(busy);
  }

  #submit(kind: BookingKind, { eventId, body }: Command, caller: Caller): Decided {
    const { engine } = this.#services;
    const outcome = engine.submit({ kind, caller, eventId: eventId as string, body });
    if (!isGranted(outcome)) return this.#refuse(outcome);
    this.#decided.isDone = outcome.value;
    this.#decided.problem = null;
    return this.#decided;
  }

  /** As the front does with a request. */
  #decideKeyed(
    call: BookingKind,
    command: Command,
    caller: Caller,
  ): Decided | Answer | Promise<Answer> {
    const { keyed } = this.#front;
    const { idempotencyKey, eventId, body } = command;
    const begun = keyed.begin({
      caller,
      idempotencyKey: idempotencyKey!,
      fingerprint: () => fingerprintOf(this.#services.keys, call, eventId as string, body),
      waits: true,
    });
    if (begun instanceof Promise) return begun.then((found) => this.#repeated(call, found));
    if (isRefused(begun)) return this.#refuse(begun);
    if ("status" in begun) return withApplied(begun);
    const decided = this.#submit(call, command, caller);
    const { problem } = decided;
    if (problem === null) keyed.store(begun, decided.isDone === true ? TRUE : FALSE);
    else if (!isRepeatable(problem)) {
      const answer = problemAnswer(problem, PATHS[call], this.#services.engine.nowMs());
      keyed.store(begun, answer);
      keyed.end(begun);
      return answer;
    }
    keyed.end(begun);
    return decided;
  }

  /** A stored answer from disk. */
  #repeated(call: BookingKind, found: Answer | Problem): Answer {
    if (!isRefused(found)) return withApplied(found);
    this.#services.metrics.refused(found.refused);
    return problemAnswer(found, PATHS[call], this.#services.engine.nowMs());
  }

  pathOf({ call, request }: Command): string {
    return request?.path ?? (call === null ? SOCKET_PATH : PATHS[call]);
  }

  #refuse(problem: Problem): Decided {
    this.#services.metrics.refused(problem.refused);
    this.#decided.isDone = null;
    this.#decided.problem = problem;
    return this.#decided;
  }

  #answer(call: Call, command: Command): Answer | Promise<Answer> {
    const { eventId, idempotencyKey, mode, body } = command;
    const given = Object.entries({ eventId, mode: call === "lock" ? mode : null });
    const parameters = given.flatMap(([name, value]) => {
      if (value === null) return [];
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return [`${name}=${encodeURIComponent(text)}`];
    });
    const query = parameters.join("&");
    const client = this.#client!;
    const prefer = client.isStrict === true ? STRICT : "";
    const head = { ...client, prefer, method: "post", path: PATHS[call], query, idempotencyKey };
    const bytes = command.json ?? Buffer.from(JSON.stringify(body));
    const exchange = new InnerExchange(head, bytes);
    exchange.envelope = ENVELOPE;
    return this.#front.answerTo(exchange);
  }
}

const STRICT = "handling=strict";
const LOCK = { method: "post", durable: true, yields: true };
const OTHER = { method: "post", durable: true };
/** Paths shed first under load. */
const YIELDING = /\/(lock|best|cart|check|visitors)\/?$/;

function isLimited(organization: OrganizationRow | undefined): boolean {
  if (organization === undefined) return true;
  const { requestsPerSecond, bookingsPerSecond } = organization;
  return requestsPerSecond !== undefined || bookingsPerSecond !== undefined;
}
