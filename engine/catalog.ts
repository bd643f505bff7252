/**
 * The catalog: everything but inventory. Plain tables of immutable rows by key, changed only by the
 * puts and removes of a catalog record, and a few indexes for the rules.
 */
import { assert } from "./assert.ts";
import type { OrganizationMove } from "./cells.ts";
import { PRICES_PER_EVENT_MAX } from "./constants.ts";
import type { LayoutDocument } from "./layout/document.ts";
import type { Layout } from "./layout/layout.ts";
import { PackedLayout } from "./layout/packed.ts";
import { emailKey } from "./names.ts";
import { jsonBytes, type ORPHAN_MODE, type TypeOf, type WEBHOOK_TYPE } from "./schema.ts";
import { type ReplyRow, rowInMemory, StoredReplies } from "./stored-replies.ts";
import { type ZoneAssignmentRow, type ZoneChange, ZoneTable } from "./layout/zones.ts";

/** A rotated key in its grace time. */
export interface RetiredKey {
  readonly keyVersion: number;
  /** As in `TenantRow`; null for an organization's key, always derived. */
  readonly tokenSha256: string | null;
  /** Milliseconds since 1970; from then on the key is invalid. */
  readonly validUntilMs: number;
}

export interface TenantRow {
  readonly id: number;
  readonly name: string;
  /** SHA-256 (hex) of a configured token; null when the token is derived. */
  readonly tokenSha256: string | null;
  /** Rises with each rotation. */
  readonly keyVersion: number;
  readonly retiredKey: RetiredKey | null;
}

export interface HoldTypeRow {
  readonly name: string;
  /** Lifetime of a hold in seconds; null when it never ends. */
  readonly ttlSeconds: number | null;
  /** Its longest lifetime with extensions, in seconds; `ttlSeconds` where left out. */
  readonly maxSeconds?: number;
}

export type OrphanMode = TypeOf<typeof ORPHAN_MODE>;

/** Own rules of an event. A missing one is that of the organization. */
export interface EventRules {
  readonly orphanMode?: OrphanMode;
  /** Percent of the seats; of an own `orphanMode`. */
  readonly orphanUntilSold?: number;
  /** 0 for no limit. */
  readonly heldPerSession?: number;
  /** 0 for no limit. */
  readonly heldPerEvent?: number;
}

export interface OrganizationRow {
  readonly id: number;
  readonly tenantId: number;
  readonly name: string;
  readonly publicKey: string;
  readonly domain: string | null;
  readonly autologinEnabled: boolean;
  readonly appendDomainToLogin: boolean;
  readonly type: "VENUE" | "DEFAULT";
  readonly keyVersion: number;
  readonly retiredKey: RetiredKey | null;
  readonly publicSessionsEnabled: boolean;
  readonly salesControl: boolean;
  readonly bookingEnabled: boolean;
  /** Milliseconds since 1970: the last change of `bookingEnabled`; 0 before the first. */
  readonly bookingChangedAtMs: number;
  readonly orphanPrevention: boolean;
  /** Of an organization with `orphanPrevention`; a missing one is strict. */
  readonly orphanMode?: "lenient";
  /** Percent of the seats of an event, from which on single seats may be left alone. */
  readonly orphanUntilSold?: number;
  /** An event with held or sold inventory is not deleted without `force`. */
  readonly protectSales: boolean;
  /** Seats and places held by one session in an event, at most. A missing limit is none. */
  readonly heldPerSession?: number;
  /** Seats and places held in an event by all sessions together, at most. */
  readonly heldPerEvent?: number;
  /** Requests with one key. */
  readonly requestsPerSecond?: number;
  /** Booking calls with one key for one event. */
  readonly bookingsPerSecond?: number;
  /** The organization's own, in addition to the built-in CART and RESERVED. */
  readonly holdTypes: readonly HoldTypeRow[];
  /** Its move to another cell; absent when it is in this cell. */
  readonly move?: OrganizationMove;
}

export interface AccountRow {
  readonly id: number;
  /** As entered; compared by `emailKey`. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** In a self-describing text form, with the algorithm and its parameters. */
  readonly passwordHash: string;
  /** The tenant whose super admin this account is; null for any other account. */
  readonly superAdminOf: number | null;
  readonly organizationIds: readonly number[];
  /** Networks of its logins, the latest last; absent before the first. */
  readonly networks?: readonly KnownNetwork[];
}

/** A network that an account has logged in from. */
export interface KnownNetwork {
  /** Keyed hash of the account and the network, in base64url. */
  readonly hash: string;
  /** Milliseconds since 1970: from then on the network is as good as any other. */
  readonly untilMs: number;
}

/** A login of an account. It lasts until it is closed or expires. */
export interface LoginRow {
  readonly id: number;
  readonly accountId: number;
  /** SHA-256 (hex) of the refresh token. */
  readonly refreshSha256: string;
  /** SHA-256 (hex) of the access token. */
  readonly tokenSha256: string;
  /** Milliseconds since 1970. */
  readonly tokenExpiresAtMs: number;
  readonly refreshExpiresAtMs: number;
}

export interface VenueRow {
  readonly id: number;
  readonly organizationId: number;
  readonly name: string;
  readonly address: string | null;
  /** In degrees, as `lng` is. */
  readonly lat: number | null;
  readonly lng: number | null;
  readonly draft: boolean;
}

export interface SchemaRow {
  readonly id: number;
  readonly organizationId: number;
  readonly venueId: number;
  readonly name: string;
  readonly description: string | null;
  readonly draft: boolean;
  readonly template: boolean;
  readonly archived: boolean;
  readonly externalId: string | null;
  readonly gaCapacity: number | null;
  readonly seatsCapacity: number | null;
  readonly preview: string | null;
  readonly thumbnail: unknown;
  /** Milliseconds since 1970: the last change of the schema or its layout. */
  readonly updatedAtMs: number;
}

/** The stored layout of a schema. Its key is the schema's id. */
export interface LayoutRow {
  readonly id: number;
  readonly document: LayoutDocument;
  /** Rises with each change of the layout; 0 until the layout of a clone first changes. */
  readonly version: number;
}

/** A pricing zone of a schema, shared by all its events. */
export interface ZoneRow {
  readonly id: number;
  readonly schemaId: number;
  readonly name: string;
}

/** A completed clone operation. Removed together with the created schema. */
export interface CloneRow {
  /** UUID, lower case. */
  readonly id: string;
  readonly organizationId: number;
  /** The created schema. */
  readonly schemaId: number;
}

/** A group of events. The start of an event in a series cannot change. */
export interface SeriesRow {
  readonly id: number;
  readonly organizationId: number;
  readonly name: string;
}

export type WebhookType = TypeOf<typeof WEBHOOK_TYPE>;

/** The changes sent to a webhook. */
export interface WebhookFilter {
  readonly types: readonly WebhookType[];
  /** Lower case; empty for all events of the organization. An event may have been deleted. */
  readonly eventIds: readonly string[];
}

export interface EarlierFilter extends WebhookFilter {
  /** The last record before it was replaced. */
  readonly until: number;
}

/** The target for changes of events. Its secret is derived, as keys are. */
export interface WebhookRow extends WebhookFilter {
  readonly id: number;
  readonly organizationId: number;
  readonly url: string;
  /** Filters replaced since it became active, the oldest first: earlier changes may wait. */
  readonly earlier?: readonly EarlierFilter[];
  readonly active: boolean;
  /** Why the server made it inactive; null when it did not. */
  readonly disabledReason: string | null;
  /** The last record before it became active: later changes are sent. */
  readonly activeSince: number;
  /** Version of its secret; rises with each rotation. */
  readonly keyVersion: number;
  readonly retiredKey: RetiredKey | null;
}

export type EventStatus = "DRAFT" | "PUBLISHED" | "ARCHIVED";

export interface EventRow {
  /** UUID, lower case. */
  readonly id: string;
  readonly organizationId: number;
  readonly schemaId: number;
  /** Number of the partition with the event's inventory; never reused. */
  readonly partition: number;
  readonly name: string;
  /** Start and end are local date-times, without an offset. */
  readonly start: string;
  readonly endDate: string;
  /** A local date-time stored with an event for v1 clients; it has no effect. */
  readonly killAfter: string | null;
  /** Milliseconds since 1970 on the service clock. */
  readonly createdAtMs: number;
  readonly status: EventStatus;
  /** Milliseconds since 1970: the last change of `status`; 0 before the first. */
  readonly statusChangedAtMs: number;
  readonly publishedAtMs: number | null;
  readonly seriesId: number | null;
  /** Its own rules; absent without any. */
  readonly rules?: EventRules;
  /** Its door; absent without one. */
  readonly door?: DoorRow;
  /** Its channels, by key; absent without any. */
  readonly channels?: readonly ChannelRow[];
}

/** A public text that a draw depends on, beside its seed. */
export interface Beacon {
  /** Tells the visitors where the text will come from. */
  readonly name: string;
  /** Null until the text is known, and for good where it did not come in time. */
  readonly value: string | null;
}

/** The settings of a door. */
export interface DoorRow {
  /** Another door of the same event has another id. */
  readonly id: number;
  /** Milliseconds since 1970, as all times. */
  readonly opensAtMs: number;
  readonly perMinute: number;
  readonly maxInside: number | null;
  readonly claimSeconds: number;
  readonly insideSeconds: number;
  readonly seatsPerVisitor: number | null;
  readonly draw: boolean;
  /** Absent without one. */
  readonly beacon?: Beacon;
  readonly paused: boolean;
  readonly exemptHoldTypes: readonly string[];
  /** SHA-256 of the seed, in hexadecimal. */
  readonly commitment: string;
}

/** Seats of an event kept for the calls that name it. The partition has which. */
export interface ChannelRow {
  readonly key: string;
  readonly name: string;
  /** Its number in the partition's column, from 1. */
  readonly slot: number;
}

/** The seats of one channel, as they are from a put of the event on. */
export interface ChannelSeats {
  readonly slot: number;
  /** Pairs: first seat index, seats in the run. */
  readonly runs: readonly number[];
}

export interface PriceRow {
  readonly id: number;
  readonly eventId: string;
  /** Position in the partition's price table, from 1. */
  readonly slot: number;
  readonly name: string;
  /** Milliseconds since 1970: the last change of `name`; 0 before the first. */
  readonly renamedAtMs: number;
  readonly externalId: string | null;
  /** Minor units of `currency`; both are left out for none. */
  readonly amount?: number;
  readonly currency?: string;
}

/** Memory of a row, or of an object of a layout: more than most take. */
const ROW_BYTES = 1_024;
/** Tables whose rows differ much in size. */
const MEASURED: ReadonlySet<TableName> = new Set(["events", "layouts", "schemas", "webhooks"]);
/** Tables whose rows are also found by other members than their key. */
const INDEXED: ReadonlySet<TableName> = new Set([
  "events",
  "prices",
  "accounts",
  "logins",
  "replies",
]);
/** Stands for a row of a table whose rows all count the same. */
const ANY_ROW = {};

/** Every table: rows by key. The log stores the names of the tables, so they never change. */
class Tables {
  readonly tenants = new Map<number, TenantRow>();
  readonly organizations = new Map<number, OrganizationRow>();
  readonly accounts = new Map<number, AccountRow>();
  readonly logins = new Map<number, LoginRow>();
  readonly venues = new Map<number, VenueRow>();
  readonly schemas = new Map<number, SchemaRow>();
  readonly layouts = new Map<number, LayoutRow>();
  readonly zones = new Map<number, ZoneRow>();
  readonly zoneAssignments = new ZoneTable();
  readonly clones = new Map<string, CloneRow>();
  readonly series = new Map<number, SeriesRow>();
  readonly events = new Map<string, EventRow>();
  readonly prices = new Map<number, PriceRow>();
  readonly webhooks = new Map<number, WebhookRow>();
  /** In order of arrival, so the first is the first to expire. */
  readonly replies = new Map<string, ReplyRow>();
}

export type TableName = keyof Tables;
type RowOf<T extends TableName> = Tables[T] extends ReadonlyMap<unknown, infer Row> ? Row : never;

export const TABLES = Object.keys(new Tables()) as readonly TableName[];

/** A layout already built. The log does not have it: a replay builds it again. */
export interface MadeLayout {
  readonly layout: Layout;
}

export type CatalogPut = {
  [T in TableName]: {
    readonly table: T;
    readonly row: RowOf<T>;
    readonly made?: T extends "layouts" ? MadeLayout : never;
    /** The event is shown as before. */
    readonly isUnshown?: T extends "events" ? true : never;
    /** The change of the event is that of a channel. */
    readonly channel?: T extends "events" ? ChannelSeats : never;
  };
}[TableName];

export interface CatalogRemove {
  readonly table: TableName;
  readonly key: number | string;
}

const NO_PRICES: ReadonlyMap<number, PriceRow> = new Map();

export class Catalog extends Tables {
  /** The next Long id: one counter for all tables, seats and groups, so no id is ever reused. */
  nextId = 1;
  /** Estimated memory of all rows but the stored replies, with their own budget. */
  bytes = 0;
  readonly storedReplies = new StoredReplies();
  /** By organization id: organizations outside this cell, or about to leave it. */
  readonly away = new Map<number, OrganizationMove>();
  /** By event id: the prices of the event by slot. */
  readonly #pricesOfEvent = new Map<string, Map<number, PriceRow>>();
  /** By partition number. */
  readonly #eventOfPartition = new Map<number, EventRow>();
  /** By `emailKey`. */
  readonly #accountsOfEmail = new Map<string, readonly AccountRow[]>();
  /** Networks of all accounts. */
  knownNetworks = 0;
  /** By the hash of the access token and by the hash of the refresh token. */
  readonly #loginOfHash = new Map<string, LoginRow>();

  /** Prices of the event by slot. */
  pricesOf(eventId: string): ReadonlyMap<number, PriceRow> {
    return this.#pricesOfEvent.get(eventId) ?? NO_PRICES;
  }

  /** The event with a partition. */
  eventOf(partition: number): EventRow | undefined {
    return this.#eventOfPartition.get(partition);
  }

  /** @param key - An `emailKey`. */
  accountsOf(key: string): readonly AccountRow[] {
    return this.#accountsOfEmail.get(key) ?? [];
  }

  /** @param sha256 - Of an access or a refresh token. */
  loginOf(sha256: string): LoginRow | undefined {
    return this.#loginOfHash.get(sha256);
  }

  /** Adds the row, or replaces the row with the same key. Cost: constant. */
  put({ table, row }: CatalogPut): void {
    if (table === "events") this.#eventOfPartition.set(row.partition, row);
    if (table === "prices") this.#indexPrice(row);
    if (table === "accounts") this.#indexAccount(row);
    if (table === "logins") this.#indexLogin(row);
    if (table === "organizations") this.#noteMove(row);
    if (table === "replies") return this.#putReply(rowInMemory(row));
    if (table === "zoneAssignments") return this.#putZone(row);
    const rows: Map<number | string, object> = this[table];
    this.bytes += bytesOfRow(table, row) - bytesOfRow(table, rows.get(row.id));
    rows.set(row.id, row);
  }

  /** Cost: constant. */
  remove({ table, key }: CatalogRemove): void {
    if (table === "zoneAssignments") return this.#removeZone(Number(key));
    const rows: Map<number | string, unknown> = this[table];
    if (INDEXED.has(table)) this.#unindex(table, rows.get(key));
    if (table === "organizations") this.away.delete(Number(key));
    // Looking a row up takes as long as removing it, and only these tables need its content.
    const measured = MEASURED.has(table) ? rows.get(key) : ANY_ROW;
    this.bytes -= bytesOfRow(table, measured as object);
    const isRemoved = rows.delete(key);
    assert(isRemoved, "only an existing row is removed");
  }

  /** Cost: as `ZoneTable.change`. */
  changeZones(change: ZoneChange): void {
    this.bytes -= this.zoneAssignments.size * ROW_BYTES;
    this.zoneAssignments.change(change);
    this.bytes += this.zoneAssignments.size * ROW_BYTES;
  }

  /** In snapshots, and in records of the log, whose changes are read as rows. */
  #putZone(row: ZoneAssignmentRow): void {
    this.bytes -= this.zoneAssignments.size * ROW_BYTES;
    this.zoneAssignments.put(row);
    this.bytes += this.zoneAssignments.size * ROW_BYTES;
  }

  #removeZone(id: number): void {
    const isRemoved = this.zoneAssignments.remove(id);
    assert(isRemoved, "only an existing row is removed");
    this.bytes -= ROW_BYTES;
  }

  #unindex(table: TableName, row: unknown): void {
    assert(row !== undefined, "only an existing row is removed");
    if (table === "events") this.#eventOfPartition.delete((row as EventRow).partition);
    else if (table === "prices") this.#unindexPrice(row as PriceRow);
    else if (table === "accounts") this.#unindexAccount(row as AccountRow);
    else if (table === "logins") this.#unindexLogin(row as LoginRow);
    else this.storedReplies.remove(row as ReplyRow);
  }

  #noteMove({ id, move }: OrganizationRow): void {
    if (move === undefined) this.away.delete(id);
    else this.away.set(id, move);
  }

  /** A replacing row keeps the place in the order. */
  #putReply(row: ReplyRow): void {
    this.storedReplies.put(row, this.replies.get(row.id));
    this.replies.set(row.id, row);
  }

  #indexAccount(account: AccountRow): void {
    const replaced = this.accounts.get(account.id);
    if (replaced !== undefined) this.#unindexAccount(replaced);
    const key = emailKey(account.email);
    this.#accountsOfEmail.set(key, [...this.accountsOf(key), account]);
    this.knownNetworks += account.networks?.length ?? 0;
  }

  #unindexAccount({ id, email, networks }: AccountRow): void {
    const key = emailKey(email);
    const others = this.accountsOf(key).filter((account) => account.id !== id);
    if (others.length === 0) this.#accountsOfEmail.delete(key);
    else this.#accountsOfEmail.set(key, others);
    this.knownNetworks -= networks?.length ?? 0;
  }

  #indexLogin(login: LoginRow): void {
    const replaced = this.logins.get(login.id);
    if (replaced !== undefined) this.#unindexLogin(replaced);
    this.#loginOfHash.set(login.tokenSha256, login);
    this.#loginOfHash.set(login.refreshSha256, login);
  }

  #unindexLogin({ tokenSha256, refreshSha256 }: LoginRow): void {
    this.#loginOfHash.delete(tokenSha256);
    this.#loginOfHash.delete(refreshSha256);
  }

  #indexPrice(price: PriceRow): void {
    const { id, eventId, slot } = price;
    assert(slot > 0 && slot <= PRICES_PER_EVENT_MAX, "a price slot is in its range");
    assert((this.pricesOf(eventId).get(slot)?.id ?? id) === id, "a slot has one price");
    const slots = this.#pricesOfEvent.get(eventId);
    if (slots === undefined) this.#pricesOfEvent.set(eventId, new Map([[slot, price]]));
    else slots.set(slot, price);
  }

  #unindexPrice({ id, eventId, slot }: PriceRow): void {
    const slots = this.#pricesOfEvent.get(eventId);
    assert(slots?.get(slot)?.id === id, "a price is found by its event and slot");
    slots.delete(slot);
    if (slots.size === 0) this.#pricesOfEvent.delete(eventId);
  }
}

/**
 * The memory of a row, estimated. Cost: constant; O(bytes) for a schema, a webhook and the channels
 * of an event.
 */
export function bytesOfRow(table: TableName, row: object | undefined): number {
  if (row === undefined || table === "replies") return 0;
  if (table === "layouts") return ROW_BYTES + bytesOfDocument((row as LayoutRow).document);
  if (table === "events") {
    const { channels } = row as EventRow;
    return channels === undefined ? ROW_BYTES : ROW_BYTES + jsonBytes(channels);
  }
  return ROW_BYTES + (MEASURED.has(table) ? jsonBytes(row) : 0);
}

function bytesOfDocument(document: LayoutDocument): number {
  if (document instanceof PackedLayout) return document.bytes.length;
  const { sectors, rows, seats, shapes } = document;
  return (sectors.length + rows.length + seats.length + shapes.length) * ROW_BYTES;
}
