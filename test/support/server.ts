/**
 * The one test-side constructor of the front: a dispatch over real services on an engine whose
 * journal is in memory, without a socket. Two tenants; the first has organizations A and B, the
 * second has C. Each has a priced event, with names that say whose it is.
 */
import { type Logger, pino } from "pino";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { Engine } from "../../engine/engine.ts";
import type { LogRecord } from "../../engine/records.ts";
import { digest } from "../../engine/verify/digest.ts";
import { Keys } from "../../server/auth/keys.ts";
import { Logins } from "../../server/auth/logins.ts";
import { Passwords } from "../../server/auth/passwords.ts";
import { Throttle } from "../../server/auth/throttle.ts";
import { Dispatch } from "../../server/dispatch.ts";
import { Metrics } from "../../server/observe/metrics.ts";
import { StoreReports } from "../../server/observe/store-reports.ts";
import { routeTable } from "../../server/routes/table.ts";
import type { Route } from "../../server/routing/route.ts";
import type { Services } from "../../server/routing/services.ts";
import type { Answer } from "../../server/wire/answers.ts";
import { Exchange, type Request } from "../../server/wire/front.ts";
import { JournalTrail } from "./audit.ts";
import { MemoryJournal, World } from "./engine.ts";
import { area, type Labels, labelsOf, layoutOf, section, table } from "./layout.ts";
import { witness } from "./witness.ts";

/** Where the requests of the tests come from. */
export const ADDRESS = "192.0.2.1";
/** Requests with a bad key that a test may make. */
export const BAD_KEYS_MAX = 6_000;
/** A master secret that everybody may know. */
export const TEST_SECRET = "5e".repeat(32);
export const ROUTES: readonly Route[] = routeTable("0.0.0-test");
export const V2 = "/api/private/v2.0";
export const MANAGEMENT = "/api/private/management/v2.0";

/** What the plan of every organization holds: two rows, a table, a standing area. */
export const PIT_PLACES = 100;

/** Durable in the next microtask, unless it is told to withhold. */
export class PromptJournal extends MemoryJournal {
  withholds = false;

  protected override keep(sequence: number, timeMs: number, record: LogRecord): void {
    super.keep(sequence, timeMs, record);
    queueMicrotask(() => {
      if (!this.withholds) this.sync();
    });
  }
}

/** An organization of the tests and what it owns. */
export interface House {
  readonly caller: Caller;
  readonly id: number;
  readonly name: string;
  readonly key: string;
  readonly venueId: number;
  readonly schemaId: number;
  readonly eventId: string;
  readonly priceId: number;
  readonly labels: Labels;
}

export interface CallOptions {
  readonly key?: string;
  /** A value becomes JSON; a text or bytes are sent as they are. */
  readonly body?: unknown;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply<Body = ProblemBody> {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** The text as JSON where it is JSON, else the text. */
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ProblemError {
  readonly field: string;
  readonly message: string;
  readonly rejectedValue: unknown;
  readonly code: string;
}

/** What a refusal looks like. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly timestamp: string;
  readonly path: string;
  readonly errorCode: string;
  readonly errors: readonly ProblemError[];
}

/** A page of whatever. */
export interface PageBody<Item> {
  readonly content: readonly Item[];
  readonly totalElements: number;
  readonly totalPages: number;
  readonly numberOfElements: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly empty: boolean;
}

export interface SeatBody {
  readonly seatId: number;
  readonly seatName: string;
  readonly rowId: number;
  readonly rowName: string;
  readonly sectionId: number;
  readonly sectionName: string;
  readonly state: string | null;
  readonly available: boolean;
  readonly priceId: number | null;
  readonly priceName: string | null;
  readonly updatedAt: string;
}

const PARTS = [
  section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 3 4" }),
  table("Round", "1 2"),
  area("Pit", PIT_PLACES),
];

const NO_STORE = {
  log: { batches: 0, bytes: 0, syncs: 0 },
  store: new StoreReports(pino({ level: "silent" })),
  audit: { lagRecords: 0, isFailing: false },
};
const SILENT_METRICS = {
  contentType: "text/plain",
  text: () => Promise.resolve(""),
  answered: () => {},
} as unknown as Metrics;

export class TestServer {
  readonly journal = new PromptJournal();
  readonly trail = new JournalTrail(this.journal);
  readonly world: World;
  readonly services: Services;
  readonly dispatch: Dispatch;
  /** Same tenant. */
  readonly a: House;
  readonly b: House;
  /** Another tenant. */
  readonly c: House;
  /** Tokens of the tenants of A and B, and of C. */
  readonly tenantToken: string;
  readonly otherTenantToken: string;
  /** Lines of the front's log. */
  readonly logged: string[] = [];
  isReady = true;

  /** @param withMetrics - They watch the process: better not hundreds of times in one. */
  constructor(routes: readonly Route[] = ROUTES, withMetrics = false) {
    this.world = new World(PARTS, { journal: this.journal });
    const { engine, tenant } = this.world;
    const keys = new Keys(TEST_SECRET, engine.state.catalog);
    const passwords = new Passwords();
    const logins = new Logins(engine, passwords);
    const metrics = withMetrics ? new Metrics({ engine, ...NO_STORE }) : SILENT_METRICS;
    const badKeys = new Throttle(BAD_KEYS_MAX);
    const audit = this.trail;
    const parts = { engine, audit, keys, passwords, logins, metrics, metricsToken: null, badKeys };
    this.services = { ...parts, isReady: () => this.isReady };
    this.dispatch = new Dispatch(this.services, routes, logTo(this.logged));
    const other = this.world.createTenant("Other");
    this.tenantToken = this.#tokenOf(tenant);
    this.otherTenantToken = this.#tokenOf(other);
    const { caller, venueId, schemaId, eventId, priceId, labels } = this.world;
    const own = { caller, venueId, schemaId, eventId, priceId, labels };
    const organization = engine.state.catalog.organizations.get(caller.organizationId)!;
    this.a = {
      ...own,
      id: organization.id,
      name: organization.name,
      key: keys.organizationKey(organization),
    };
    this.b = this.createHouse(tenant, "Bravo");
    this.c = this.createHouse(other, "Charlie");
  }

  get engine(): Engine {
    return this.services.engine;
  }

  /** What the state means, to tell whether anything changed. */
  get digest(): string {
    return digest(this.engine.state);
  }

  /** An organization with a venue, a plan, an event and a price, all named after it. */
  createHouse(tenant: Caller, name: string): House {
    const { world } = this;
    const caller = world.createOrganization(tenant, name);
    const venueId = world.must("createVenue", caller, { body: { name: `${name} venue` } }).id;
    const body = { name: `${name} plan`, venueId };
    const schemaId = world.must("createSchema", caller, { body }).id;
    const put = { schemaId, body: layoutOf(...PARTS), forceDelete: false };
    const labels = labelsOf(world.must("putLayout", caller, put));
    const eventId = world.createEvent(caller, schemaId);
    const priceId = world.createPrice(`${name} price`, eventId, caller);
    const priced = (label: string) => ({ objectId: labels.idOf(label), assignmentId: priceId });
    const groupOfSeats = ["Stalls", "Round", "Pit"].map(priced);
    world.must("assignPrices", caller, { eventId, body: { groupOfSeats } });
    const organization = this.engine.state.catalog.organizations.get(caller.organizationId)!;
    const key = this.services.keys.organizationKey(organization);
    return { caller, id: organization.id, name, key, venueId, schemaId, eventId, priceId, labels };
  }

  #tokenOf({ tenantId }: Caller): string {
    const { keys, engine } = this.services;
    return keys.tenantToken(engine.state.catalog.tenants.get(tenantId)!)!;
  }

  /** @param target - Path and query. */
  async call<Body = ProblemBody>(
    method: string,
    target: string,
    options: CallOptions = {},
  ): Promise<Reply<Body>> {
    const answer = await this.send(requestOf(method, target, options));
    return replyOf<Body>(answer);
  }

  /** Hands a request to the dispatch; settles with its answer. */
  send(request: Request): Promise<Answer> {
    return ask(this.dispatch, request);
  }

  /** Every seat of the event, as its owner's list shows it. */
  async seats({ eventId, key }: House = this.a, query = ""): Promise<readonly SeatBody[]> {
    const path = `${V2}/events/${eventId}/seats/?size=100${query}`;
    const { body } = await this.call<PageBody<SeatBody>>("GET", path, { key });
    return body.content;
  }
}

/** An exchange without a socket. */
class TestExchange extends Exchange {
  readonly address: () => string;
  readonly #answered: (answer: Answer) => void;

  constructor(request: Request, answered: (answer: Answer) => void) {
    super();
    Object.assign(this, request);
    this.address = request.address;
    this.#answered = answered;
  }

  respond(answer: Answer): void {
    this.#answered(answer);
  }
}

/** Settles with the answer, which must fit the OpenAPI document. */
export function ask(dispatch: Dispatch, request: Request): Promise<Answer> {
  const { route } = dispatch.find(request).match;
  return new Promise((resolve) => {
    const exchange = new TestExchange(request, (answer) => {
      witness(route, request, answer);
      resolve(answer);
    });
    exchange.find(dispatch);
    exchange.handle(request.body);
  });
}

/** A tenant token and the organization that it acts for. */
export function actingFor(token: string, { id }: { readonly id: number }): CallOptions {
  return { key: token, headers: { "x-organization-id": String(id) } };
}

export function requestOf(
  method: string,
  target: string,
  { key = "", body, headers = {} }: CallOptions,
): Request {
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  return {
    method: method.toLowerCase(),
    path,
    query,
    apiKey: headers["x-api-key"] ?? key,
    authorization: headers["authorization"] ?? "",
    organizationId: headers["x-organization-id"] ?? "",
    address: () => ADDRESS,
    idempotencyKey: headers["idempotency-key"] ?? "",
    contentType: headers["content-type"] ?? (body === undefined ? "" : "application/json"),
    body: bytesOf(body),
  };
}

function bytesOf(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

export function replyOf<Body>({ status, type, body, headers }: Answer): Reply<Body> {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("latin1");
  const isJson = type.includes("json") && text !== "";
  return {
    status,
    type,
    text,
    body: (isJson ? JSON.parse(text) : text) as Body,
    headers: Object.fromEntries(headers),
  };
}

function logTo(lines: string[]): Logger {
  return pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
}
