/**
 * Live views of events: maps, changes, and those who follow an event. Keys are judged again while a
 * client follows, so a stream ends with its key.
 */
import { randomBytes } from "node:crypto";
import { TenantQuota } from "../../engine/bounds.ts";
import type { Caller } from "../../engine/bodies.ts";
import type { EventRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import { ownRow } from "../../engine/queries/access.ts";
import { askerOf, type ChangePage, type WaitingClient } from "../../engine/queries/history.ts";
import { isRefused, refuseInvalid, Result } from "../../engine/results.ts";
import type { WaitingWork } from "../api/overload.ts";
import { KeyRounds, Subprotocols } from "../api/websockets.ts";
import { Access, admits, type Identities, identify, type Ticket } from "../auth/access.ts";
import {
  type Answer,
  answer,
  asOfSequence,
  eventStream,
  FrontResult,
  jsonBytes,
  type Problem,
  upgrade,
  varying,
  zipped,
} from "../http/answers.ts";
import type { Credentials, RequestHead } from "../http/front.ts";
import { localDateTime } from "../http/json.ts";
import type { LiveStats } from "../observe/metrics.ts";
import {
  type AuditTrail,
  changesPage,
  EventChanges,
  type RecentSource,
  TenantSemaphore,
} from "./changes.ts";
import { CloseCode, Feed, Follower, Slices } from "./feed.ts";
import { EventMaps } from "./map.ts";
import { Form, SharedMessages } from "./message.ts";

// Web origins allowed to use tickets, and the CORS headers for them.

class Origins {
  readonly #allowed: ReadonlySet<string>;

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map((origin) => origin.toLowerCase()));
  }

  /** @returns True when a request with a ticket may come from there: also from no web page. */
  allows({ origin = "", host = "" }: RequestHead): boolean {
    const from = origin.toLowerCase();
    return from === "" || this.#allowed.has(from) || isOwn(from, host.toLowerCase());
  }

  /** Lets pages of an allowed origin read the answer. */
  show(given: Answer, { origin = "" }: RequestHead): Answer {
    if (this.#allowed.size === 0) return given;
    const varied = varying(given, "Origin");
    if (!this.#allowed.has(origin.toLowerCase())) return varied;
    const headers = [
      ...varied.headers,
      ["Access-Control-Allow-Origin", origin],
      ["Access-Control-Expose-Headers", "X-Sequence"],
    ] as const;
    return { ...varied, headers };
  }
}

function isOwn(origin: string, host: string): boolean {
  return host !== "" && (origin === `https://${host}` || origin === `http://${host}`);
}

// Tickets: a browser must not have the key of an organization, so it reads one event with a ticket.
// They live in memory only: after a restart a page asks its back end for another one.

/** Within this time after its making, or after its last connection, a ticket begins another one. */
export const TICKET_MS = 60_000;
/** A ticket begins no connection after this time, and its open one ends. */
export const TICKET_LIFE_MS = 12 * 3_600_000;
/**
 * Valid tickets without a connection, of all and of an organization: with as many, no other is made.
 * A ticket stays beyond them when its connection ends, as the bounds of connections cover it.
 */
export const TICKETS_MAX = 100_000;
export const TICKETS_PER_ORGANIZATION_MAX = 20_000;

export type TicketFacts = Pick<Ticket, "eventId" | "organizationId" | "credentials">;

/** `EventSource` connects again by itself, with the same URL: so a ticket is not used up. */
export class Tickets {
  /** Without a connection: by their text, in the order of `expiresAtMs`. */
  readonly #idle = new Map<string, Ticket>();
  readonly #quota = new TenantQuota<number>(TICKETS_PER_ORGANIZATION_MAX, TICKETS_MAX);

  get count(): number {
    return this.#idle.size;
  }

  /** @returns A new ticket; null when there are too many. */
  issue(facts: TicketFacts, nowMs: number): Ticket | null {
    const text = randomBytes(32).toString("base64url");
    this.#removeOver(nowMs);
    if (!this.#quota.take(facts.organizationId)) return null;
    return this.#keep({ ...facts, text, expiresAtMs: 0, endsAtMs: nowMs + TICKET_LIFE_MS }, nowMs);
  }

  /** @returns The ticket; null when it is over, or has a connection. */
  find(text: string, nowMs: number): Ticket | null {
    const ticket = this.#idle.get(text);
    return ticket !== undefined && ticket.expiresAtMs > nowMs ? ticket : null;
  }

  /** Begins the ticket's connection. @returns False when another request has begun it. */
  begin({ text, organizationId }: Ticket): boolean {
    if (!this.#idle.delete(text)) return false;
    this.#quota.giveBack(organizationId);
    return true;
  }

  /** Its connection has ended, or its answer was made: a minute begins in which the next may come. */
  end(ticket: Ticket, nowMs: number): void {
    if (ticket.endsAtMs <= nowMs) return;
    this.#removeOver(nowMs);
    this.#quota.add(ticket.organizationId);
    this.#keep(ticket, nowMs);
  }

  #keep(ticket: Ticket, nowMs: number): Ticket {
    const added = { ...ticket, expiresAtMs: Math.min(nowMs + TICKET_MS, ticket.endsAtMs) };
    this.#idle.set(ticket.text, added);
    return added;
  }

  /** The last minute of a life may be shorter, and its ticket wait here for its neighbours. */
  #removeOver(nowMs: number): void {
    for (const ticket of this.#idle.values()) {
      if (ticket.expiresAtMs > nowMs) return;
      this.begin(ticket);
    }
  }
}

/** Streams and server-sent events of an organization. */
export const STREAMS_MAX = 20_000;
/** Long polls of an organization. */
export const POLLS_MAX = 2_000;
/**
 * Snapshots and large messages built or sent for an organization at a time; others wait for their
 * turn.
 */
export const SNAPSHOTS_MAX = 16;
/** The turn of a slow reader ends after this time, in milliseconds. */
const SNAPSHOT_TURN_MS = 1_000;
/** Changes of a catch-up page. */
const PAGE_MAX = 1_000;

const FORMS = new Subprotocols<Form>(
  new Map([
    ["frontrow.stream.v1+json", Form.JSON],
    ["frontrow.stream.v1+msgpack", Form.MSGPACK],
  ]),
);

const NO_TICKET: Problem = {
  refused: Result.ACCESS_DENIED,
  detail:
    "The ticket is not valid for this: it may be over, have an open connection, or be of another " +
    "event or origin. Ask for another one.",
};
const TOO_MANY: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "The organization follows events with too many clients; end some of them.",
};
const NOT_FOR_TICKETS: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "A ticket opens the map, the stream and server-sent events, not this.",
};

export interface LiveParts {
  readonly engine: Engine;
  readonly audit: AuditTrail;
  readonly recent: RecentSource;
  readonly waiting: WaitingWork;
  readonly allowedOrigins?: readonly string[] | undefined;
}

interface Opening {
  readonly event: EventRow;
  readonly since: number | null;
  readonly form: Form;
}

/** A request with a ticket. */
export interface TicketUse {
  readonly eventId: string;
  readonly ticket: string;
  readonly head: RequestHead;
}

/** The sender of an admitted request. */
export interface Admitted {
  readonly caller: Caller;
  /** Null for a request with a key of its own. */
  readonly ticket: Ticket | null;
}

/** A request about an event. */
export interface LiveContext extends Admitted {
  readonly eventId: string;
  readonly head: RequestHead;
}

export interface ChangesQuery {
  readonly since: number | undefined;
  readonly limit: number;
  /** Seconds. */
  readonly wait: number;
}

export class Live {
  readonly #engine: Engine;
  readonly #changes: EventChanges;
  readonly #waiting: WaitingWork;
  readonly #maps = new EventMaps();
  readonly #snapshots = new TenantSemaphore(SNAPSHOTS_MAX, SNAPSHOT_TURN_MS);
  readonly #shared = new SharedMessages();
  readonly #slices = new Slices();
  readonly #tickets = new Tickets();
  readonly #origins: Origins;
  readonly #streams = new TenantQuota<number>(STREAMS_MAX);
  readonly #polls = new TenantQuota<number>(POLLS_MAX);
  /** By partition number. */
  readonly #feeds = new Map<number, Feed>();
  readonly #followers = new KeyRounds<Follower>((credentials) =>
    admits(this.#services!, this.#callerOf(credentials)),
  );
  /** Ends the waiting of requests. */
  readonly #wakes = new Set<() => void>();
  #services: Identities | null = null;
  #isStopping = false;
  #eventStreams = 0;
  #slow = 0;
  #messages = 0;

  constructor({ engine, audit, recent, waiting, allowedOrigins = [] }: LiveParts) {
    this.#engine = engine;
    this.#changes = new EventChanges(engine, audit, recent);
    this.#waiting = waiting;
    this.#origins = new Origins(allowedOrigins);
  }

  /** To be called once, before the first request. */
  attach(services: Identities): void {
    this.#services = services;
  }

  get stats(): LiveStats {
    const { recent } = this.#changes;
    return {
      streams: this.#streams.used - this.#eventStreams,
      eventStreams: this.#eventStreams,
      waitingPolls: this.#polls.used,
      tickets: this.#tickets.count,
      refused: this.#streams.refused + this.#polls.refused,
      slow: this.#slow,
      messages: this.#messages,
      recentBytes: recent.bytes,
      recentOldestMs: recent.oldestMs,
      maps: this.#maps.count,
    };
  }

  /** Judges a ticket. */
  redeem({ eventId, ticket: text, head }: TicketUse): Admitted | Problem {
    if (!this.#origins.allows(head)) return NO_TICKET;
    const ticket = this.#tickets.find(text, this.#engine.nowMs());
    if (ticket === null || ticket.eventId !== eventId) return NO_TICKET;
    const caller = this.#callerOf(ticket.credentials);
    return isRefused(caller) ? NO_TICKET : { caller, ticket };
  }

  /** @returns A new ticket for the caller's event. */
  issue({ caller, eventId, head }: LiveContext): Answer | Problem {
    const event = this.#ownEvent(caller, eventId);
    if (isRefused(event)) return event;
    const facts = { eventId, organizationId: caller.organizationId, credentials: keyOf(head) };
    const issued = this.#tickets.issue(facts, this.#engine.nowMs());
    if (issued === null)
      return {
        ...TOO_MANY,
        detail: "There are too many unused tickets: use some, or wait for their end.",
      };
    const { text: ticket, expiresAtMs } = issued;
    return answer(201, { ticket, expiresAt: localDateTime(expiresAtMs) });
  }

  map({ caller, ticket, eventId, head }: LiveContext): Answer | Problem | Promise<Answer> {
    const event = this.#ownEvent(caller, eventId);
    if (isRefused(event)) return event;
    if (ticket !== null && this.#tickets.begin(ticket)) {
      this.#tickets.end(ticket, this.#engine.nowMs());
    }
    this.#engine.expire(event);
    const map = this.#maps.of(this.#engine.state, event);
    const shown = (made: Answer) => {
      const varied = varying(asOfSequence(made, map.sequence), "Accept, Accept-Encoding");
      return this.#origins.show(varied, head);
    };
    const { accept = "", acceptEncoding = "" } = head;
    if (/msgpack/i.test(accept)) {
      return shown({ ...jsonBytes(200, map.packed), type: "application/vnd.msgpack" });
    }
    if (!/\bgzip\b/i.test(acceptEncoding)) return shown(jsonBytes(200, map.json));
    return map.compressed().then((bytes) => shown(zipped(jsonBytes(200, bytes))));
  }

  changes(context: LiveContext, query: ChangesQuery): Answer | Problem | Promise<Answer | Problem> {
    const { head, ticket } = context;
    if (/text\/event-stream/i.test(head.accept ?? "")) return this.#sendEvents(context, query);
    if (ticket !== null) return NOT_FOR_TICKETS;
    if (query.since !== undefined) return this.#listChanges(context, query, query.since);
    const message = "must be given";
    return refuseInvalid([{ field: "since", code: "NOT_NULL", message, rejectedValue: null }]);
  }

  async #listChanges(
    { caller, eventId, head }: LiveContext,
    { limit, wait }: ChangesQuery,
    since: number,
  ): Promise<Answer | Problem> {
    const asked = { eventId, since, limit, asker: askerOf(caller) };
    let page = await this.#changes.page(asked, head);
    if (isRefused(page)) return page;
    const event = this.#engine.state.catalog.events.get(eventId);
    if (page.changes.length === 0 && wait > 0 && event !== undefined) {
      const { organizationId } = caller;
      if (!this.#polls.take(organizationId)) return TOO_MANY;
      this.#waiting.count -= 1;
      await this.#nextChange(event, wait * 1_000, head);
      this.#waiting.count += 1;
      this.#polls.giveBack(organizationId);
      const again = this.#callerOf(keyOf(head));
      if (isRefused(again)) return again;
      page = await this.#changes.page(asked, head);
      if (isRefused(page)) return page;
    }
    return varying(await changesPage(page, since, caller.organizationId), "Accept");
  }

  /** Settles with the event's next change, or when the client or the server does not wait on. */
  #nextChange({ partition }: EventRow, waitMs: number, head: RequestHead): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        unwatch();
        clearTimeout(timer);
        head.onGone = null;
        this.#wakes.delete(end);
        resolve();
      };
      const unwatch = this.#changes.recent.watch(partition, end);
      const timer = setTimeout(end, waitMs);
      head.onGone = end;
      this.#wakes.add(end);
    });
  }

  async #sendEvents(context: LiveContext, query: ChangesQuery): Promise<Answer | Problem> {
    const { caller, eventId, head } = context;
    const event = this.#ownEvent(caller, eventId);
    if (isRefused(event)) return event;
    const { lastEventId = "" } = head;
    const isKnown = /^\d+$/.test(lastEventId) && Number.isSafeInteger(Number(lastEventId));
    if (lastEventId !== "" && !isKnown) return badEventId(lastEventId);
    const { recent } = this.#changes;
    const wanted = lastEventId === "" ? query.since : Number(lastEventId);
    const since = wanted ?? recent.lastOf(event.partition);
    const asked = { eventId, since, limit: 1, asker: askerOf(caller) };
    // Waiting for the trail is no load.
    this.#waiting.count -= 1;
    const first = await this.#changes.pageInTurn(asked, head);
    this.#waiting.count += 1;
    if (isRefused(first)) return first;
    const follower = this.#follow(context, { event, since, form: Form.EVENTS });
    if (isRefused(follower)) return follower;
    return this.#origins.show(varying(eventStream(follower), "Accept"), head);
  }

  /** @returns The answer to a handshake. */
  open(context: LiveContext, since: number | undefined): Answer | Problem {
    const { caller, eventId, head } = context;
    const event = this.#ownEvent(caller, eventId);
    if (isRefused(event)) return event;
    const chosen = FORMS.choose(head);
    if (isRefused(chosen)) return chosen;
    const isKnown = since !== undefined && since <= this.#changes.recent.durableSequence;
    const opening = { event, since: isKnown ? since : null, form: chosen.protocol };
    const handler = this.#follow(context, opening);
    if (isRefused(handler)) return handler;
    const sender = { name: `${caller.tenantId}/${caller.organizationId}`, hasKey: true };
    return upgrade({ protocol: chosen.name, sender, handler });
  }

  #follow({ caller, ticket, head }: LiveContext, opening: Opening): Follower | Problem {
    const { event, since, form } = opening;
    const { organizationId } = caller;
    if (this.#isStopping || !this.#streams.take(organizationId)) return TOO_MANY;
    if (ticket !== null && !this.#tickets.begin(ticket)) {
      this.#streams.giveBack(organizationId);
      return NO_TICKET;
    }
    const isOfEvents = form === Form.EVENTS;
    if (isOfEvents) this.#eventStreams += 1;
    const asker = askerOf(caller);
    const feed = this.#feedOf(event);
    const inTurn = (work: () => Promise<boolean>, client: WaitingClient) =>
      this.#snapshots.run(organizationId, work, client);
    const follower = new Follower({
      feed,
      since,
      form,
      isPublic: ticket !== null,
      credentials: ticket?.credentials ?? keyOf(head),
      isOver: () => ticket !== null && ticket.endsAtMs <= this.#engine.nowMs(),
      page: (position, client): ChangePage | Promise<ChangePage | Problem> => {
        const asked = { eventId: event.id, since: position, limit: PAGE_MAX, asker };
        return this.#changes.pageInTurn(asked, client);
      },
      snapshot: async (send, client) => {
        const work = () => this.#sendSnapshot(event.id, form, send);
        return (await inTurn(work, client)) === true;
      },
      shared: this.#shared,
      inTurn,
      onClosed: (code) => {
        this.#streams.giveBack(organizationId);
        if (ticket !== null) this.#tickets.end(ticket, this.#engine.nowMs());
        if (isOfEvents) this.#eventStreams -= 1;
        if (code === CloseCode.SLOW) this.#slow += 1;
        this.#followers.delete(follower);
        this.#leave(feed);
      },
    });
    this.#followers.add(follower);
    return follower;
  }

  /** Sends a durable map. A slightly old one will do: its changes follow. */
  async #sendSnapshot(eventId: string, form: Form, send: SendSnapshot): Promise<boolean> {
    const engine = this.#engine;
    const event = engine.state.catalog.events.get(eventId);
    if (event === undefined) return false;
    engine.expire(event);
    const map = this.#maps.recent(engine.state, event);
    await new Promise<void>((resolve) => {
      engine.afterDurable(resolve);
    });
    await send(form === Form.MSGPACK ? map.packedSnapshot : map.snapshot, map.sequence);
    return true;
  }

  #feedOf(event: EventRow): Feed {
    let feed = this.#feeds.get(event.partition);
    if (feed === undefined) {
      const { recent } = this.#changes;
      const onMessage = () => (this.#messages += 1);
      feed = new Feed(event, { recent, shared: this.#shared, slices: this.#slices, onMessage });
      this.#feeds.set(event.partition, feed);
    }
    feed.users += 1;
    return feed;
  }

  #leave(feed: Feed): void {
    feed.users -= 1;
    if (feed.users > 0) return;
    feed.close();
    this.#feeds.delete(feed.event.partition);
  }

  #ownEvent({ organizationId }: Caller, eventId: string): EventRow | Problem {
    const event = this.#engine.state.catalog.events.get(eventId);
    const own = ownRow(event, { organizationId } as Caller, "event");
    return isRefused(own) ? own : event!;
  }

  #callerOf(credentials: Credentials): Caller | Problem {
    return identify(this.#services!, Access.ORGANIZATION, credentials, null);
  }

  /** Answers long polls, and ends all streams: the server stops. */
  stop(): void {
    this.#isStopping = true;
    for (const wake of this.#wakes) wake();
    for (const follower of this.#followers.all) follower.stop();
  }
}

type SendSnapshot = (bytes: Buffer, sequence: number) => Promise<void>;

function keyOf({ apiKey, authorization, organizationId }: RequestHead): Credentials {
  return { apiKey, authorization, organizationId };
}

function badEventId(rejectedValue: string): Problem {
  const message = "must be a sequence number";
  return refuseInvalid([{ field: "Last-Event-ID", code: "TYPE", message, rejectedValue }]);
}
