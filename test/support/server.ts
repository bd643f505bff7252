/**
 * The server under test, without a socket: a dispatch with real services and an engine whose
 * journal is in memory. There are two tenants. The first owns organizations A and B, the second
 * owns C. Each organization has a venue, a schema, and an event with a price.
 */
import { type Logger, pino } from "pino";
import type { EventStatus } from "../../engine/catalog.ts";
import type { BookingKind } from "../../engine/commands.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Caller, StateSelection } from "../../engine/bodies.ts";
import { digest } from "../../engine/verify.ts";
import { Durations } from "../../persistence/log/log-writer.ts";
import { Keys } from "../../server/auth/keys.ts";
import { Copies } from "../../server/cluster/copies.ts";
import { Logins, Passwords } from "../../server/auth/logins.ts";
import { RateLimits, Throttle } from "../../server/auth/limits.ts";
import { Moves } from "../../server/cells/moves.ts";
import { OpenCommandSockets } from "../../server/commands/connection.ts";
import { Dispatch } from "../../server/dispatch.ts";
import { OpenLinks } from "../../server/gateway/link.ts";
import { Metrics } from "../../server/observe/metrics.ts";
import { Doors } from "../../server/door/doors.ts";
import { Live } from "../../server/live/live.ts";
import { LargeLayouts } from "../../server/layouts/large-layouts.ts";
import { LayoutThreads } from "../../server/layouts/layout-thread.ts";
import { StoreReports } from "../../server/observe/progress.ts";
import { ReplyBodies, type Services } from "../../server/api/services.ts";
import { routeTable } from "../../server/routes/table.ts";
import type { Route } from "../../server/api/route.ts";
import { WaitingWork } from "../../server/api/overload.ts";
import type { Answer } from "../../server/http/answers.ts";
import type { Request } from "../../server/http/front.ts";
import { JournalTrail } from "./audit.ts";
import { World } from "./engine.ts";
import { PromptJournal } from "./store.ts";
import { LAYOUT_PACKER, startInProcess } from "./layout-thread.ts";
import { area, type Labels, labelsOf, layoutOf, section, table } from "./layout.ts";
import {
  ask,
  type CallOptions,
  type ProblemBody,
  type Reply,
  replyOf,
  requestOf,
} from "./answers/exchange.ts";
import type { AuditTrail } from "../../server/live/changes.ts";
import { V2 } from "./server-process.ts";

/** Limit of requests with a bad key, per minute. */
export const BAD_KEYS_MAX = 6_000;
/** Limit of wrong passwords, per minute. */
export const BAD_LOGINS_MAX = 30;
/** A public master secret. */
export const TEST_SECRET = "5e".repeat(32);
export const ROUTES: readonly Route[] = routeTable("0.0.0-test");
export { V2 };
export const MANAGEMENT = "/api/private/management/v2.0";

/** An organization and its property. */
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

/** A page of a list. */
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
  readonly priceId?: number;
  readonly priceName?: string;
  readonly updatedAt: string;
}

/** The plan of every organization. */
const PARTS = [
  section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 3 4" }),
  table("Round", "1 2"),
  area("Pit", 100),
];

/** Sources of metrics for a server without a store and a socket. */
export const NO_STORE = {
  version: "0.0.0-test",
  log: {
    batches: 0,
    bytes: 0,
    syncs: 0,
    syncTimes: new Durations(),
    commitTimes: new Durations(),
    pendingBytes: 0,
    pendingRecords: 0,
  },
  store: new StoreReports(pino({ level: "silent" })),
  audit: { lagRecords: 0, isFailing: false, waiting: 0, refused: 0 },
  http: {
    connections: 0,
    connectionsMax: 0,
    connectionsRefused: 0,
    connectionsShed: 0,
    answers: { count: 0, heldBytes: 0, abandoned: 0 },
    bodies: { count: 0, abandoned: 0 },
    bodyBudget: { bytes: 0, refused: 0 },
    exchanges: { open: 0, idle: 0, unmeasuredRefused: 0, unmeasuredBuckets: 0 },
    sockets: { count: 0 },
  },
  passwords: new Passwords(),
  replies: { gone: 0, refused: 0, recentChars: 0 },
  logins: { revoked: 0, throttled: { accounts: 0, addresses: 0 }, knownNetworks: 0 },
  badKeys: { count: 0 },
  keys: { counts: { remembered: 0, privateKeys: 0 } },
  queries: { count: 0 },
  layoutThreads: { count: 0, refused: 0 },
  webhooks: {
    lagRecords: 0,
    disabled: 0,
    counts: { lanes: 0, inFlight: 0, waitingBytes: 0, draftPlaces: 0, succeeded: 0, failed: 0 },
  },
  rates: { refused: 0, count: 0 },
  waiting: { refused: 0, count: 0, refusals: { count: 0 }, longBodies: { used: 0, refused: 0 } },
  commands: { traffic: { text: () => "" }, waiting: { refused: 0, count: 0 }, answerBytes: 0 },
  accessLog: null,
  gateways: null,
  live: {
    stats: {
      streams: 0,
      eventStreams: 0,
      waitingPolls: 0,
      tickets: 0,
      refused: 0,
      slow: 0,
      messages: 0,
      recentBytes: 0,
      recentOldestMs: 0,
      maps: 0,
    },
  },
};
const SILENT_METRICS = {
  contentType: "text/plain",
  text: () => Promise.resolve(""),
  answered: () => {},
  refused: () => {},
} as unknown as Metrics;

/** As of a server without any delivery yet. */
const NO_DELIVERIES: Services["webhooks"] = {
  allowsPrivate: false,
  list: () => Promise.resolve({ rows: [], total: 0 }),
  retry: () => Promise.resolve(0),
  test: () => Promise.resolve({ status: 204, milliseconds: 7, error: null }),
};

export interface ServerOptions {
  /** Turns on the rows for tenants. */
  readonly platformToken?: string;
  /** Real metrics. They watch the process, so they are off unless a test needs them. */
  readonly hasMetrics?: boolean;
  readonly audit?: AuditTrail;
  readonly webhooks?: Services["webhooks"];
  /** Limits of stored replies, in MiB. */
  readonly replyMemory?: number;
  readonly replyDisk?: number;
  /** In-flight limit for new locks and reads. */
  readonly waitingMax?: number;
  readonly allowedOrigins?: readonly string[];
  /** Memory for recent changes. */
  readonly recentBytes?: number;
}

export class TestServer {
  /** Another way for the requests of all servers, such as through a gateway. */
  static way: ((server: TestServer, request: Request) => Promise<Answer>) | null = null;
  readonly journal: PromptJournal;
  readonly trail: JournalTrail;
  readonly world: World;
  readonly services: Services;
  readonly dispatch: Dispatch;
  /** A and B belong to the same tenant. */
  readonly a: House;
  readonly b: House;
  /** C belongs to another tenant. */
  readonly c: House;
  /** The token of the owner of A and B. */
  readonly tenantToken: string;
  /** The token of the owner of C. */
  readonly otherTenantToken: string;
  /** The lines of the server's log. */
  readonly logged: string[] = [];
  isReady = true;

  constructor(options: ServerOptions = {}) {
    const { platformToken, hasMetrics = false, audit, replyMemory = 8, replyDisk = 8 } = options;
    this.journal = new PromptJournal(options.recentBytes);
    this.trail = new JournalTrail(this.journal);
    const waiting = new WaitingWork(options.waitingMax);
    this.world = new World(PARTS, { journal: this.journal });
    const { engine, tenant } = this.world;
    const { catalog } = engine.state;
    const keys = new Keys(TEST_SECRET, catalog, platformToken);
    const passwords = new Passwords();
    const logins = new Logins(engine, passwords, keys, new Throttle(BAD_LOGINS_MAX));
    const replies = new ReplyBodies({ replyMemory, replyDisk });
    const rates = new RateLimits();
    const badKeys = new Throttle(BAD_KEYS_MAX);
    const layoutThreads = new LayoutThreads(startInProcess);
    const callers = { keys, logins, badKeys, rates };
    const commands = new OpenCommandSockets();
    const { recent } = this.journal;
    const trail = audit ?? this.trail;
    const { allowedOrigins } = options;
    const live = new Live({ engine, audit: trail, waiting, recent, allowedOrigins });
    const counted = { replies, waiting, commands, live, layoutThreads, ...callers };
    const metrics = hasMetrics ? new Metrics({ engine, ...NO_STORE, ...counted }) : SILENT_METRICS;
    this.services = {
      engine,
      layouts: new LargeLayouts(engine, layoutThreads, LAYOUT_PACKER),
      audit: trail,
      live,
      doors: new Doors(engine, TEST_SECRET),
      commands,
      gateways: new OpenLinks(TEST_SECRET),
      copies: new Copies("nowhere", undefined),
      moves: new Moves({ engine, unpacked: LAYOUT_PACKER.packed }, keys),
      keys,
      webhooks: options.webhooks ?? NO_DELIVERIES,
      passwords,
      logins,
      metrics,
      replies,
      rates,
      waiting,
      metricsToken: null,
      badKeys,
      isReady: () => this.isReady,
    };
    const routes = platformToken === undefined ? ROUTES : routeTable("0.0.0-test", true);
    this.dispatch = new Dispatch(this.services, routes, logTo(this.logged));
    const other = this.world.createTenant("Other");
    this.tenantToken = this.#tokenOf(tenant);
    this.otherTenantToken = this.#tokenOf(other);
    const { caller, venueId, schemaId, eventId, priceId, labels } = this.world;
    const own = { caller, venueId, schemaId, eventId, priceId, labels };
    const organization = catalog.organizations.get(caller.organizationId)!;
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

  /** A digest of the whole state; it shows whether a request changed anything. */
  get digest(): string {
    return digest(this.engine.state);
  }

  /** Creates an organization with a venue, a plan, an event and a price, all named after it. */
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

  /** Sends a request. @param target - Path and query. */
  async call<Body = ProblemBody>(
    method: string,
    target: string,
    options: CallOptions = {},
  ): Promise<Reply<Body>> {
    const request = requestOf(method, target, options);
    return replyOf<Body>(await this.send(request), request.path);
  }

  /** Sends a request with the key of organization A, or as another caller. */
  get<Body = ProblemBody>(target: string, by: CallOptions = this.a): Promise<Reply<Body>> {
    return this.call<Body>("GET", target, by);
  }

  post<Body = ProblemBody>(target: string, body?: unknown, by: CallOptions = this.a) {
    return this.call<Body>("POST", target, { ...by, body });
  }

  put<Body = ProblemBody>(target: string, body?: unknown, by: CallOptions = this.a) {
    return this.call<Body>("PUT", target, { ...by, body });
  }

  delete<Body = ProblemBody>(target: string, by: CallOptions = this.a): Promise<Reply<Body>> {
    return this.call<Body>("DELETE", target, by);
  }

  /** Passes a request to the dispatch, and checks the answer against the OpenAPI document. */
  send(request: Request): Promise<Answer> {
    return TestServer.way?.(this, request) ?? ask(this.dispatch, request);
  }

  bookingPath(kind: BookingKind, eventId: string = this.a.eventId): string {
    return `${V2}/booking/${kind}?eventId=${eventId}`;
  }

  /** The body of a booking on the event of A: seats by label, places as `Pit:3`. */
  selection(session: string | null, ...objects: readonly string[]): StateSelection {
    return this.world.selection(session, ...objects);
  }

  /** Books on the event of A, the event of the test's world. */
  book(kind: BookingKind, session: string | null, ...objects: readonly string[]): Promise<Reply> {
    return this.post(this.bookingPath(kind), this.selection(session, ...objects));
  }

  /** Every seat of the event, as its owner sees it. */
  async seats(house: House = this.a, query = ""): Promise<readonly SeatBody[]> {
    const path = `${V2}/events/${house.eventId}/seats/?size=100${query}`;
    return (await this.get<PageBody<SeatBody>>(path, house)).body.content;
  }

  /** The states of seats of A. */
  async states(...labels: readonly string[]): Promise<(string | null)[]> {
    const seats = await this.seats();
    const idOf = (label: string) => this.a.labels.idOf(label);
    return labels.map((label) => seats.find(({ seatId }) => seatId === idOf(label))!.state);
  }

  /** The places of A's standing area: active, locked, sold, blocked. */
  async pit(): Promise<readonly number[]> {
    const path = `${V2}/events/${this.a.eventId}/areas/`;
    const { body } = await this.get<Record<string, number>[]>(path);
    const { active, locked, sold, blocked } = body[0]!;
    return [active!, locked!, sold!, blocked!];
  }

  /** Moves the event of A through these statuses. */
  setStatus(...statuses: readonly EventStatus[]): void {
    const { world, a } = this;
    for (const status of statuses) {
      world.must("changeEventStatus", a.caller, { eventId: a.eventId, body: { status } });
    }
  }
}

function logTo(lines: string[]): Logger {
  return pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
}
