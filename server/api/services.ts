/** The services that handlers use: made once at start, passed with every request. */
import type { Caller } from "../../engine/bodies.ts";
import type { Engine } from "../../engine/engine.ts";
import type {
  AuditAnswers,
  AuditOutcome,
  AuditQuestion,
  AuditTopic,
  WaitingClient,
} from "../../engine/queries/history.ts";
import type { ReplyBudget } from "../../engine/stored-replies.ts";
import type { Keys } from "../auth/keys.ts";
import type { RateLimits, Throttle } from "../auth/limits.ts";
import type { Logins, Passwords } from "../auth/logins.ts";
import type { Answer, Problem } from "../http/answers.ts";
import type { Credentials, Exchange, FirstOfKey, LongBody, RequestHead } from "../http/front.ts";
import type { LiveStats } from "../observe/exposition.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { WaitingWork } from "./overload.ts";

/** The audit trail, wherever it is kept. */
export interface AuditTrail {
  /**
   * Answers from everything that is on disk when it is called. Never rejects.
   * @param asker - As by `askerOf`.
   * @param client - Whose question is dropped when it has gone.
   */
  ask<K extends AuditTopic>(
    question: AuditQuestion<K>,
    asker: string,
    client?: WaitingClient,
  ): Promise<AuditOutcome<AuditAnswers[K]>>;
}

/** Puts a layout for a caller, as the command of that name. */
export interface LayoutPut {
  readonly caller: Caller;
  readonly schemaId: number;
  readonly forceDelete: boolean;
}

/** Work on large layouts, wherever it is done. */
export interface LayoutWork {
  isLarge(schemaId: number): boolean;
  /** Whether putting a body of that size is long work. */
  isLongPut(schemaId: number, bytes: number): boolean;
  put(command: LayoutPut, body: LongBody): Promise<Answer | Problem>;
  /** Clones a schema of the caller. */
  clone(caller: Caller, schemaId: number, cloneId: string): Promise<Answer | Problem>;
  show(schemaId: number): Promise<Answer | Problem>;
  showGroups(schemaId: number, filter: GroupFilter): Promise<Answer | Problem>;
  showMetadata(schemaId: number, options: MetadataOptions): Promise<Answer | Problem>;
  /** Compressed by gzip. */
  showGeometry(schemaId: number): Promise<Answer | Problem>;
}

/** As the parameters of the route of v1. */
export interface MetadataOptions {
  /** Puts its position before the name of a sector: `1. Stalls`. */
  readonly isNumbered: boolean;
  /** Uses ids, as text, instead of composite keys. */
  readonly hasIds: boolean;
}

/** As the parameters of the route. */
export interface GroupFilter {
  readonly parentId: number | undefined;
  readonly type: string | undefined;
}

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly caller: Caller;
  readonly idempotencyKey: string;
  /** Of what it asks for. */
  readonly fingerprint: () => string;
  /** Whether its answer is sealed when it is stored. */
  readonly isConfidential?: boolean;
  /** Whether a repetition waits for the first request instead of being refused meanwhile. */
  readonly waits?: boolean;
}

/** Answers each request with an idempotency key once. */
export interface KeyedRequests {
  begin(keyed: KeyedRequest): Answer | Problem | FirstOfKey | Promise<Answer | Problem>;
  /** To be called in the turn of the mutation that it answers. */
  store(first: FirstOfKey, answer: Answer): void;
  end(first: FirstOfKey): void;
}

/** Answers requests that did not come over HTTP. */
export interface CommandFront {
  readonly keyed: KeyedRequests;
  answerTo(exchange: Exchange): Answer | Promise<Answer>;
}

/** Booking commands over WebSockets. */
export interface CommandSockets {
  readonly traffic: { readonly count: number; text(): string };
  /** Bytes of answers that wait for the disk. */
  readonly answerBytes: number;
  /** @returns The answer to a handshake. */
  open(head: RequestHead, caller: Caller): Answer | Problem;
  /** To be called once, before the first handshake. */
  attach(front: CommandFront, services: Services): void;
}

/** Links of gateways, on the side of the engine. */
export interface GatewayLinks {
  /** Open links. */
  readonly count: number;
  /** Requests that came over links. */
  readonly requests: number;
  /** Those of them that wait for the disk, and those that were refused because too many did. */
  readonly waiting: { readonly count: number; readonly refused: number };
  /** @returns The answer to a handshake. */
  open(head: RequestHead): Answer | Problem;
  /** To be called once, before the first handshake. */
  attach(front: CommandFront, services: Services): void;
}

/** Copies of the store for hosts that join. */
export interface StoreCopies {
  /** @returns The answer to a handshake. */
  open(head: RequestHead): Answer | Problem;
}

/** A request with a ticket. */
export interface TicketUse {
  readonly eventId: string;
  readonly ticket: string;
  readonly head: RequestHead;
}

/** Who sends an admitted request. */
export interface Admitted {
  readonly caller: Caller;
  /** The key that issued its ticket, and with which the ticket ends; null without a ticket. */
  readonly issuer: Credentials | null;
}

/** Live views of events: maps, changes, streams. */
export interface LiveEvents {
  /** Judges a ticket and uses it up. */
  redeem(use: TicketUse): Admitted | Problem;
  /** @returns A new ticket for the caller's event. */
  issue(context: LiveContext): Answer | Problem;
  map(context: LiveContext): Answer | Problem | Promise<Answer | Problem>;
  changes(context: LiveContext, query: ChangesQuery): Answer | Problem | Promise<Answer | Problem>;
  /** @returns The answer to a handshake. */
  open(context: LiveContext, since: number | undefined): Answer | Problem;
  /** To be called once, before the first request. */
  attach(services: Services): void;
  /** Answers what waits, and ends all streams. */
  stop(): void;
  readonly stats: LiveStats;
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

/** A delivery of a webhook. */
export interface DeliveryRow {
  /** `webhook-id`. */
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly status: string;
  readonly attempts: number;
  readonly lastStatus: number | null;
  /** Milliseconds since 1970. */
  readonly nextAtMs: number | null;
}

export interface DeliveryPage {
  /** The newest first. */
  readonly rows: readonly DeliveryRow[];
  readonly total: number;
}

export const MOVE_STEPS = ["begin", "leave", "open", "cancel", "clear"] as const;

/** A step of a move of an organization to another cell. */
export interface MoveStep {
  readonly step: (typeof MOVE_STEPS)[number];
  /** With `begin`: the number of the other cell. */
  readonly toCell?: number | null | undefined;
  /** With `begin`: its base URL. */
  readonly address?: string | null | undefined;
  /** With `leave` and `open`: that of the other cell. */
  readonly receipt?: string | null | undefined;
}

/** How far the move of an organization is, as one cell sees it. */
export interface MoveView {
  readonly organizationId: number;
  /** The number of this cell. */
  readonly cell: number;
  readonly phase: "ABSENT" | "HERE" | "LEAVING" | "LEFT" | "ARRIVING";
  readonly moveId: number | null;
  /** The cell to which it moves, or has moved. */
  readonly toCell: number | null;
  readonly address: string | null;
  /** How many parts the organization has. */
  readonly parts: number | null;
  /** Proves to the other cell that it has left, or has arrived whole. */
  readonly receipt: string | null;
}

/** A part of an organization that arrives. */
export interface SentPart {
  readonly content: string;
  readonly tenantId?: number | null | undefined;
  /** Only says whether the organization could arrive. */
  readonly isTrial?: boolean | null | undefined;
}

/** Moves of organizations between cells. */
export interface OrganizationMoves {
  view(organizationId: number): MoveView;
  step(organizationId: number, step: MoveStep): Answer | Problem;
  part(organizationId: number, number: number): Answer | Problem;
  take(organizationId: number, number: number, sent: SentPart): Promise<Answer | Problem>;
}

/** The deliveries of webhooks, wherever they are made. */
export interface WebhookDeliveries {
  /** Whether private addresses and plain HTTP are allowed. */
  readonly allowsPrivate: boolean;
  /** @returns Null when they cannot be read now. */
  list(webhookId: number, offset: number, limit: number): Promise<DeliveryPage | null>;
}

export interface Services {
  readonly engine: Engine;
  readonly live: LiveEvents;
  readonly layouts: LayoutWork;
  readonly audit: AuditTrail;
  readonly commands: CommandSockets;
  /** Null for a server that takes no gateways. */
  readonly gateways: GatewayLinks | null;
  readonly copies: StoreCopies;
  readonly webhooks: WebhookDeliveries;
  readonly moves: OrganizationMoves;
  readonly keys: Keys;
  readonly passwords: Passwords;
  readonly logins: Logins;
  readonly metrics: Metrics;
  readonly replies: ReplyBodies;
  readonly rates: RateLimits;
  readonly waiting: WaitingWork;
  /** The token that `/metrics` requires; null when it is public. */
  readonly metricsToken: string | null;
  /** Requests with an unknown key, by the address that they came from. */
  readonly badKeys: Throttle;
  /** Whether requests are taken: false until recovery has ended, and while stopping. */
  readonly isReady: () => boolean;
  /** Why requests are not taken. */
  readonly notReady?: (() => Problem) | undefined;
}

// The bodies of stored replies that are not in the engine's rows. The audit trail has them all. The
// most recent ones are in memory here, because most retries come within seconds.

const MEBIBYTE = 1_024 * 1_024;
/** Characters of the bodies in memory. */
export const RECENT_MAX = 16 * MEBIBYTE;
/** One organization may use this fraction of the memory for rows: half. */
const MEMORY_SHARE = 2;
/** And this fraction of the disk space for bodies: an eighth. */
const DISK_SHARE = 8;

export interface ReplyOptions {
  /** Memory for the rows of stored replies, in MiB. */
  readonly replyMemory: number;
  /** Disk space for their bodies, in MiB. */
  readonly replyDisk: number;
}

export class ReplyBodies {
  readonly budget: ReplyBudget;
  /** Retries whose reply was gone. */
  gone = 0;
  /** First requests with a key that were refused, because there was no memory for their reply. */
  refused = 0;
  /** Characters in memory. */
  recentChars = 0;
  /** By id of the reply, the oldest first. */
  readonly #recent = new Map<string, string>();

  constructor({ replyMemory, replyDisk }: ReplyOptions) {
    const [memory, disk] = [replyMemory * MEBIBYTE, replyDisk * MEBIBYTE].map(Math.floor);
    this.budget = {
      memory: memory!,
      memoryOfOwner: Math.floor(memory! / MEMORY_SHARE),
      disk: disk!,
      diskOfOwner: Math.floor(disk! / DISK_SHARE),
    };
  }

  add(id: string, body: string): void {
    this.#remove(id);
    this.#recent.set(id, body);
    this.recentChars += body.length;
    for (const oldest of this.#recent.keys()) {
      if (this.recentChars <= RECENT_MAX) return;
      this.#remove(oldest);
    }
  }

  /** @returns Undefined for a body that must be read from the trail. */
  find(id: string): string | undefined {
    return this.#recent.get(id);
  }

  #remove(id: string): void {
    this.recentChars -= this.#recent.get(id)?.length ?? 0;
    this.#recent.delete(id);
  }
}
