/**
 * The catalog: everything that is not inventory. Plain tables of immutable rows by key, changed
 * only by the puts and removes of a catalog record, plus the few indexes that the rules need.
 */
import { assert } from "./assert.ts";
import type { LayoutDocument } from "./layout/layout-document.ts";

/** A key that was rotated away and works for a while yet. */
export interface RetiredKey {
  readonly keyVersion: number;
  /** As in `TenantRow`; null for an organization's key, which is always derived. */
  readonly tokenSha256: string | null;
  /** Milliseconds since 1970; from then on the key is nobody's. */
  readonly validUntilMs: number;
}

export interface TenantRow {
  readonly id: number;
  readonly name: string;
  /** SHA-256 (hex) of a token that was given from outside; null when the token is derived. */
  readonly tokenSha256: string | null;
  /** Rises with each rotation. */
  readonly keyVersion: number;
  readonly retiredKey: RetiredKey | null;
}

export interface HoldTypeRow {
  readonly name: string;
  /** Seconds until the hold ends; null for never. */
  readonly ttlSeconds: number | null;
}

export interface OrganizationRow {
  readonly id: number;
  readonly tenantId: number;
  readonly name: string;
  readonly publicKey: string;
  readonly privateKey: string;
  readonly domain: string | null;
  readonly autologinEnabled: boolean;
  readonly appendDomainToLogin: boolean;
  readonly type: "VENUE" | "DEFAULT";
  readonly keyVersion: number;
  readonly retiredKey: RetiredKey | null;
  readonly publicSessionsEnabled: boolean;
  readonly salesControl: boolean;
  readonly bookingEnabled: boolean;
  readonly orphanPrevention: boolean;
  /** The organization's own, beside the built-in CART and RESERVED. */
  readonly holdTypes: readonly HoldTypeRow[];
}

export interface AccountRow {
  readonly id: number;
  /** As given; compared through `emailKey`. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** A password hash in its own self-describing text form; never the password. */
  readonly passwordHash: string;
  /** The tenant whose super admin this account is; null for others. */
  readonly superAdminOf: number | null;
  readonly organizationIds: readonly number[];
}

/** A login of an account, alive until it is closed or runs out. */
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
  /** Milliseconds since 1970 of the last change of the schema or its layout. */
  readonly updatedAtMs: number;
}

/** The layout of a schema, as stored. Its key is the schema's id. */
export interface LayoutRow {
  readonly id: number;
  readonly document: LayoutDocument;
}

/** A pricing zone: of a schema, shared by all its events. */
export interface ZoneRow {
  readonly id: number;
  readonly schemaId: number;
  readonly name: string;
}

/** The zone of one object of a layout. Its key is the object's id: section, row, area or seat. */
export interface ZoneAssignmentRow {
  readonly id: number;
  readonly schemaId: number;
  readonly zoneId: number;
}

/** A clone operation that has been carried out. Goes with the schema that it made. */
export interface CloneRow {
  /** UUID, lower case. */
  readonly id: string;
  readonly organizationId: number;
  /** The schema that it made. */
  readonly schemaId: number;
}

/** Events that belong together; while an event is in a series its start does not move. */
export interface SeriesRow {
  readonly id: number;
  readonly organizationId: number;
  readonly name: string;
}

export type EventStatus = "DRAFT" | "PUBLISHED" | "ARCHIVED";

export interface EventRow {
  /** UUID, lower case. */
  readonly id: string;
  readonly organizationId: number;
  readonly schemaId: number;
  /** Number of the partition that keeps the event's inventory; never reused. */
  readonly partition: number;
  readonly name: string;
  /** Local date-times as given, without offset. */
  readonly start: string;
  readonly endDate: string;
  /** A moment that v1 clients keep with an event; it has no effect. */
  readonly killAfter: string | null;
  /** Milliseconds since 1970 on the service clock. */
  readonly createdAtMs: number;
  readonly status: EventStatus;
  readonly publishedAtMs: number | null;
  readonly seriesId: number | null;
}

export interface PriceRow {
  readonly id: number;
  readonly eventId: string;
  /** Position in the partition's price table, from 1. */
  readonly slot: number;
  readonly name: string;
  readonly externalId: string | null;
}

/** The first answer to a request that carried an `Idempotency-Key`, to be given again. */
export interface ReplyRow {
  /** `<organization id>:<key>`. */
  readonly id: string;
  /** Keyed hash (hex) of method, path, query and body of the first request. */
  readonly fingerprint: string;
  readonly status: number;
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** Every table and its row. The names are in the log: never renamed. */
export interface Rows {
  tenants: TenantRow;
  organizations: OrganizationRow;
  accounts: AccountRow;
  logins: LoginRow;
  venues: VenueRow;
  schemas: SchemaRow;
  layouts: LayoutRow;
  zones: ZoneRow;
  zoneAssignments: ZoneAssignmentRow;
  clones: CloneRow;
  series: SeriesRow;
  events: EventRow;
  prices: PriceRow;
  replies: ReplyRow;
}
export type TableName = keyof Rows;

const EVERY_TABLE: Readonly<Record<TableName, true>> = {
  tenants: true,
  organizations: true,
  accounts: true,
  logins: true,
  venues: true,
  schemas: true,
  layouts: true,
  zones: true,
  zoneAssignments: true,
  clones: true,
  series: true,
  events: true,
  prices: true,
  replies: true,
};

/** The names of all tables. */
export const TABLES = Object.keys(EVERY_TABLE) as readonly TableName[];

const NO_PRICES: ReadonlyMap<number, PriceRow> = new Map();

type Tables = { readonly [T in TableName]: ReadonlyMap<Rows[T]["id"], Rows[T]> };

export class Catalog implements Tables {
  readonly tenants = new Map<number, TenantRow>();
  readonly organizations = new Map<number, OrganizationRow>();
  readonly accounts = new Map<number, AccountRow>();
  readonly logins = new Map<number, LoginRow>();
  readonly venues = new Map<number, VenueRow>();
  readonly schemas = new Map<number, SchemaRow>();
  readonly layouts = new Map<number, LayoutRow>();
  readonly zones = new Map<number, ZoneRow>();
  readonly zoneAssignments = new Map<number, ZoneAssignmentRow>();
  readonly clones = new Map<string, CloneRow>();
  readonly series = new Map<number, SeriesRow>();
  readonly events = new Map<string, EventRow>();
  readonly prices = new Map<number, PriceRow>();
  /** In the order in which they were given, so the first is the first to run out. */
  readonly replies = new Map<string, ReplyRow>();
  /** The next Long id: one counter for all tables, seats and groups, so no id is ever reused. */
  nextId = 1;

  readonly #pricesOfEvent = new Map<string, Map<number, PriceRow>>();
  /** By the hash of either token. */
  readonly #loginOfHash = new Map<string, LoginRow>();

  /** Prices of the event by slot. */
  pricesOf(eventId: string): ReadonlyMap<number, PriceRow> {
    return this.#pricesOfEvent.get(eventId) ?? NO_PRICES;
  }

  /** @param sha256 - Of an access or a refresh token. */
  loginOf(sha256: string): LoginRow | undefined {
    return this.#loginOfHash.get(sha256);
  }

  /** Cost: constant. */
  put(put: CatalogPut): void {
    if (put.table === "prices") this.#indexPrice(put.row);
    if (put.table === "logins") this.#indexLogin(put.row);
    const table: Map<number | string, unknown> = this[put.table];
    table.set(put.row.id, put.row);
  }

  remove({ table, key }: CatalogRemove): void {
    const rows: Map<number | string, unknown> = this[table];
    const row = rows.get(key);
    assert(row !== undefined, "a removed row was there");
    rows.delete(key);
    if (table === "prices") this.#unindexPrice(row as PriceRow);
    if (table === "logins") this.#unindexLogin(row as LoginRow);
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
    const slots = this.#pricesOfEvent.get(price.eventId);
    if (slots === undefined) this.#pricesOfEvent.set(price.eventId, new Map([[price.slot, price]]));
    else slots.set(price.slot, price);
  }

  #unindexPrice({ eventId, slot }: PriceRow): void {
    const slots = this.#pricesOfEvent.get(eventId);
    assert(slots !== undefined, "the prices of an event are indexed");
    slots.delete(slot);
    if (slots.size === 0) this.#pricesOfEvent.delete(eventId);
  }
}

export type CatalogPut = {
  [T in TableName]: { readonly table: T; readonly row: Rows[T] };
}[TableName];

export interface CatalogRemove {
  readonly table: TableName;
  readonly key: number | string;
}
