/** The entry of the library: what `import { open } from "@frontrow/engine"` gives. */
import { randomUUID } from "node:crypto";
import type {
  Administrator,
  AssignmentSelection,
  BestRequest,
  Cart,
  ChannelBody,
  PriceAssignments,
  EventBody,
  EventChange,
  EventCopy,
  EventRulesBody,
  Extension,
  HoldTypesBody,
  LayoutBody,
  ObjectSelection,
  OrganizationBody,
  OrganizationChange,
  PriceBody,
  PriceChange,
  RotationBody,
  SchemaBody,
  SettingsBody,
  StateSelection,
  VenueBody,
  ZoneBody,
  ZoneChange,
} from "../../engine/bodies.ts";
import type { EventStatus, OrganizationRow } from "../../engine/catalog.ts";
import { EMPTY_DOCUMENT } from "../../engine/layout/layout.ts";
import { findPrice, findZone, ownRow, tenantsOrganization } from "../../engine/queries/access.ts";
import type { Moment } from "../../engine/queries/history.ts";
import { summarizeChannel } from "../../engine/queries/summary.ts";
import { helpedRefusal } from "../../engine/queries/alternatives.ts";
import { ActorKind } from "../../engine/records.ts";
import { isRefused } from "../../engine/results.ts";
import type { Etcd } from "../cluster/etcd.ts";
import { openEtcd } from "../cluster/member.ts";
import type { ClusterOptions } from "../cluster/options.ts";
import { RecentChanges } from "../history/recent-changes.ts";
import {
  openEngine,
  type OpenOptions,
  Refused,
  type Result,
  type Store,
  systemCaller,
} from "../store/open-engine.ts";
import { type Change, follow, refusePosition } from "./history.ts";
import {
  Acting,
  type Area,
  type Areas,
  areasAt,
  areasOf,
  type AuditFilter,
  auditOf,
  type AuditPage,
  bestHold,
  partialHold,
  bookedCart,
  channelsOf,
  each,
  extendedHolds,
  type NotInTrail,
  type NotOwn,
  type PastSeats,
  refuseArguments,
  type SeatFilter,
  type Seats,
  seatsAt,
  seatsOf,
} from "./inventory.ts";

export type {
  AccountRow,
  ChannelRow,
  CloneRow,
  EventRow,
  EventRules,
  EventStatus,
  HoldTypeRow,
  OrganizationRow,
  OrphanMode,
  PriceRow,
  RetiredKey,
  SchemaRow,
  SeriesRow,
  TenantRow,
  VenueRow,
  ZoneRow,
} from "../../engine/catalog.ts";
export type { ZoneAssignmentRow } from "../../engine/layout/zones.ts";
export type { LayoutDocument, Row, Sector, Shape } from "../../engine/layout/document.ts";
export type {
  Moment,
  TrailExtent,
  Transition,
  TransitionQuery,
  TransitionSort,
} from "../../engine/queries/history.ts";
export type { StoredLayout } from "../../engine/catalog/schemas.ts";
export type { SeatsInUse } from "../../engine/stored-replies.ts";
export type { Alternative, RefusedObject } from "../../engine/queries/alternatives.ts";
export type { ChannelSummary, StateCounts } from "../../engine/queries/summary.ts";
export type { FieldError } from "../../engine/results.ts";
export type {
  Administrator,
  AssignmentItem,
  AssignmentSelection,
  BestRequest,
  Cart,
  CartItem,
  ChannelBody,
  PriceAssignments,
  EventBody,
  EventChange,
  EventCopy,
  EventRulesBody,
  Extension,
  HoldTypesBody,
  LayoutBody,
  ObjectSelection,
  OrganizationBody,
  OrganizationChange,
  PriceBody,
  PriceChange,
  RotationBody,
  SchemaBody,
  SeatChoice,
  SentRow,
  SentSeat,
  SentSector,
  SettingsBody,
  StateSelection,
  VenueBody,
  ZoneBody,
  ZoneChange,
} from "../../engine/bodies.ts";
export {
  CellExists,
  EtcdIsBehind,
  EtcdRefused,
  LeadershipLost,
  NoSuchCell,
  NotOfThisCell,
  OtherSecret,
  TooFarBehind,
} from "../cluster/options.ts";
export type { MemberStatus } from "../cluster/etcd.ts";
export type {
  ClusterOptions,
  ClusterStatus,
  ClusterView,
  HostRole,
  HostStatus,
} from "../cluster/options.ts";
export type { AuditReport } from "../history/keeper.ts";
export {
  DiskFault,
  FolderRefused,
  LogCorrupt,
  LogFailed,
  SnapshotsDamaged,
  StoreFault,
} from "../disk/faults.ts";
export type { SnapshotReport } from "../snapshot/build.ts";
export { NotLeading, type OpenOptions, StoreClosed } from "../store/open-engine.ts";
export type { RecoveryProgress } from "../store/open-state.ts";
export type { AuditOptions } from "../store/open-store.ts";
export {
  type Refusal,
  type RefusalCode,
  Refused,
  type Result,
  valueOf,
} from "../store/open-engine.ts";
export type {
  AnyCommand,
  BestHold,
  PartialHold,
  BookedCart,
  CartArea,
  CartSeat,
  ExtendedHolds,
  HeldArea,
  HeldSeat,
  NotOwn,
} from "./inventory.ts";
export type { AreaChange, Change, SeatChange, StateName } from "./history.ts";
export type {
  Area,
  Areas,
  AuditEntry,
  AuditFilter,
  AuditPage,
  NotInTrail,
  PastSeats,
  Seat,
  SeatFilter,
  Seats,
  SeatSort,
} from "./inventory.ts";

/**
 * Opens the store in a folder, or makes one there.
 *
 * @throws StoreFault, among them FolderRefused when the folder is open already, here or in another
 * process, and LogCorrupt when data is damaged. On a host of a cluster also TooFarBehind and
 * NotOfThisCell, when the folder cannot follow the leader, and NoSuchCell, CellExists and
 * EtcdIsBehind, when etcd has not what it should. Its message names the cause and the way
 * out.
 * Refused with VALIDATION_FAILED when `folder` is missing.
 */
export function open(options: FrontrowOptions): Promise<Frontrow> {
  return Frontrow.open(options);
}

// A store in a data folder, opened in this process, with the calls of the domain. Each call is a
// command or a query of the HTTP interface and follows the same rules.

/** A body that replaces the row with its id. */
export type Changed<Body> = Body & { readonly id: number };

/**
 * An open store, and the organization that this object acts for.
 *
 * A call resolves once everything that its result depends on is on disk. It rejects only after
 * `close`, when an argument cannot be written as JSON, and with `NotLeading` on a host of a cluster
 * that may no longer lead. Calls take effect in the order in which they are made. Arguments and
 * results are copies.
 * Where no cost is given, it is proportional to the objects in the call or the rows in its result.
 */
export class Frontrow {
  readonly #acting: Acting;
  readonly #recent: RecentChanges;
  readonly #closing: AbortController;
  readonly #etcd: Etcd | undefined;

  private constructor(
    acting: Acting,
    recent: RecentChanges,
    closing: AbortController,
    etcd?: Etcd,
  ) {
    this.#acting = acting;
    this.#recent = recent;
    this.#closing = closing;
    this.#etcd = etcd;
  }

  /** Use the function `open`. */
  static async open(given: FrontrowOptions): Promise<Frontrow> {
    // A program without types may leave them out.
    const { organization, cluster: host, ...options } = given ?? {};
    const refusal = refuseArguments({ folder: options.folder });
    if (refusal !== null) throw new Refused(refusal);
    const recent = new RecentChanges();
    const joined = joinCluster(host);
    let store: Store | undefined;
    try {
      store = await openEngine({ ...options, cluster: joined?.options }, recent);
      const caller = await store.callerFor(organization ?? "default");
      const acting = new Acting(store, caller);
      return new Frontrow(acting, recent, new AbortController(), joined?.etcd);
    } catch (error) {
      await store?.close();
      await joined?.etcd.close();
      throw error;
    }
  }

  /** The same store for another organization; with id 0, for a tenant as a whole. */
  as({ id, tenantId }: Pick<OrganizationRow, "id" | "tenantId">): Frontrow {
    const actor = { kind: ActorKind.ORGANIZATION, id };
    const caller = id === 0 ? systemCaller(tenantId) : { actor, tenantId, organizationId: id };
    const acting = new Acting(this.#acting.store, caller);
    return new Frontrow(acting, this.#recent, this.#closing, this.#etcd);
  }

  /** Resolves once everything is on disk and another process can open the folder. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#acting.store.close();
    await this.#etcd?.close();
  }

  /** Tenants: independent owners of organizations in one store. */
  readonly tenants = {
    create: (tenant: NewTenant) => {
      const { name, tokenSha256 = null, administrator = null } = tenant;
      const platform = new Acting(this.#acting.store, systemCaller(0));
      return platform.run("createTenant", { name, tokenSha256, administrator });
    },
    /** Replaces the token of HTTP clients for the tenant that this object acts for. */
    rotateToken: (rotation: RotationBody = {}) =>
      this.#acting.forTenant.run("rotateTenantToken", { body: rotation }),
    list: () =>
      this.#acting.list(
        ({ tenants }) => tenants,
        () => true,
      ),
  };

  /** The organizations of this tenant. */
  readonly organizations = {
    /** @param administrator - The account that manages it over HTTP. */
    create: (organization: OrganizationBody, administrator: Administrator | null = null) => {
      const members = { body: organization, administrator, publicKey: randomUUID() };
      return this.#acting.forTenant.run("createOrganization", members);
    },
    update: (organization: OrganizationChange) =>
      this.#acting.forTenant.run("updateOrganization", { body: organization }),
    /** Deletes an organization with all that it owns. */
    delete: (organizationId: number) =>
      this.#acting.forTenant.run("deleteOrganization", { organizationId }),
    changeSettings: (organizationId: number, settings: SettingsBody) =>
      this.#acting.forTenant.run("changeSettings", { organizationId, body: settings }),
    /** Of the organization that this object acts for. */
    configureSessions: (sessions: { readonly publicSessionsEnabled: boolean }) =>
      this.#acting.run("configureSessions", { body: sessions }),
    /** Replaces the hold types of the organization that this object acts for. */
    replaceHoldTypes: (holdTypes: HoldTypesBody) =>
      this.#acting.run("replaceHoldTypes", { body: holdTypes }),
    /** Replaces the key of HTTP clients for the organization that this object acts for. */
    rotateKey: (rotation: RotationBody = {}) =>
      this.#acting.run("rotateOrganizationKey", { body: rotation }),
    get: (organizationId: number) =>
      this.#acting.read({ organizationId }, (state, caller) =>
        tenantsOrganization(state, caller, organizationId),
      ),
    list: () =>
      this.#acting.list(
        ({ organizations }) => organizations,
        ({ tenantId }) => tenantId === this.#acting.caller.tenantId,
      ),
  };

  /** A venue has schemas. */
  readonly venues = {
    create: (venue: VenueBody) => this.#acting.run("createVenue", { body: venue }),
    /** Replaces all members of the venue with this id. */
    update: (venue: Changed<VenueBody>) => this.#acting.run("updateVenue", { body: venue }),
    /** Deletes a venue that has no schemas. */
    delete: (venueId: number) => this.#acting.run("deleteVenue", { venueId }),
    get: (venueId: number) =>
      this.#acting.own("venue", { venueId }, ({ venues }) => venues.get(venueId)),
    list: () => this.#acting.listOwn(({ venues }) => venues),
  };

  /** A schema is a plan of a venue: it has a layout, pricing zones and events. */
  readonly schemas = {
    create: (schema: SchemaBody) => this.#acting.run("createSchema", { body: schema }),
    /** Replaces all members of the schema with this id. */
    update: (schema: Changed<SchemaBody>) => this.#acting.run("updateSchema", { body: schema }),
    /** Deletes a schema with its layout and pricing zones. */
    delete: (schemaId: number) => this.#acting.run("deleteSchema", { schemaId }),
    /** Clones a schema with its layout and pricing zones. */
    clone: (schemaId: number) =>
      this.#acting.run("cloneSchema", { schemaId, cloneId: randomUUID() }),
    get: (schemaId: number) =>
      this.#acting.own("schema", { schemaId }, ({ schemas }) => schemas.get(schemaId)),
    /** The clone operation with the id that `clone` returned. */
    getClone: (cloneId: string) =>
      this.#acting.own("clone operation", { cloneId }, ({ clones }) => clones.get(cloneId)),
    list: () => this.#acting.listOwn(({ schemas }) => schemas),
  };

  /** The layout of a schema: sections, rows, seats, areas and the drawing. */
  readonly layouts = {
    /**
     * Changes the layout for all events of the schema, in one step. An object with the id or the
     * guid of a stored one replaces it, or with `toRemove` removes it; any other is new. Objects
     * that are not sent stay. Cost: O(seats of the schema and of its events).
     *
     * @param forceDelete - Removes seats even while they are held, sold or blocked.
     */
    put: (schemaId: number, layout: LayoutBody, { forceDelete = false } = {}) =>
      this.#acting.run("putLayout", { schemaId, body: layout, forceDelete }),
    /** Cost: O(seats). */
    get: (schemaId: number) =>
      this.#acting.read({ schemaId }, ({ catalog }, caller) => {
        const schema = ownRow(catalog.schemas.get(schemaId), caller, "schema");
        if (isRefused(schema)) return schema;
        return catalog.layouts.get(schemaId)?.document ?? EMPTY_DOCUMENT;
      }),
  };

  /** Pricing zones of a schema, which all its events share. */
  readonly zones = {
    create: (schemaId: number, zones: readonly Omit<ZoneBody, "schemaId">[]) =>
      this.#acting.run("createZones", { schemaId, body: each(zones, { schemaId }) }),
    update: (schemaId: number, zones: readonly Omit<ZoneChange, "schemaId">[]) =>
      this.#acting.run("updateZones", { schemaId, body: each(zones, { schemaId }) }),
    /** Deletes a zone and its assignments. */
    delete: (schemaId: number, zoneId: number) =>
      this.#acting.run("deleteZone", { schemaId, zoneId }),
    /** Assigns zones (`assignmentId`) to sections, rows, tables, areas and seats. */
    assign: (schemaId: number, assignments: AssignmentSelection) =>
      this.#acting.run("assignZones", { schemaId, body: assignments }),
    get: (schemaId: number, zoneId: number) =>
      this.#acting.read({ schemaId, zoneId }, (state, caller) =>
        findZone(state, { caller, schemaId, zoneId }),
      ),
    list: (schemaId: number) => this.#acting.listOfSchema(schemaId, ({ zones }) => zones),
    /** Each object with a zone of its own. The `id` of a row is the id of the object. */
    assignments: (schemaId: number) =>
      this.#acting.listOfSchema(schemaId, ({ zoneAssignments }) => zoneAssignments),
  };

  /** Events that belong together. */
  readonly series = {
    create: (series: { readonly name: string }) =>
      this.#acting.run("createSeries", { body: series }),
    /** Deletes a series; its events stay. */
    delete: (seriesId: number) => this.#acting.run("deleteSeries", { seriesId }),
    list: () => this.#acting.listOwn(({ series }) => series),
  };

  /** An event has the inventory of its schema: a state for each seat and place. */
  readonly events = {
    /** Creates an event, published by default. Cost: O(seats of the schema). */
    create: (event: EventBody) =>
      this.#acting.run("createEvent", { eventId: randomUUID(), body: event }),
    /** @param force - Changes the schema even while seats or places are held, sold or blocked. */
    update: (eventId: string, event: EventChange, { force = false } = {}) =>
      this.#acting.run("updateEvent", { eventId, body: event, force }),
    /**
     * Creates an event with the prices and the blocked inventory of another one, as a draft by
     * default. Cost: O(seats of the schema).
     */
    clone: (eventId: string, changes: EventCopy = {}) =>
      this.#acting.run("cloneEvent", { eventId, cloneId: randomUUID(), body: changes }),
    /**
     * Deletes an event with its prices.
     * @param force - Deletes held and sold inventory even if the organization protects its sales.
     */
    delete: (eventId: string, { force = false } = {}) =>
      this.#acting.run("deleteEvent", { eventId, force }),
    changeStatus: (eventId: string, status: EventStatus) =>
      this.#acting.run("changeEventStatus", { eventId, body: { status } }),
    /** Replaces the event's own rules; a missing one is that of the organization. */
    changeRules: (eventId: string, body: EventRulesBody) =>
      this.#acting.run("changeEventRules", { eventId, body }),
    /** Adds an event to a series; null removes it from its series. */
    bind: (eventId: string, seriesId: number | null) =>
      this.#acting.run("bindEvent", { eventId, body: { seriesId } }),
    get: (eventId: string) =>
      this.#acting.own("event", { eventId }, ({ events }) => events.get(eventId)),
    list: () => this.#acting.listOwn(({ events }) => events),
  };

  /** The channels of an event: seats kept for the calls that name one as `channel`. */
  readonly channels = {
    /** Sets up a channel, or replaces its name and its seats. Cost: O(seats). */
    put: (eventId: string, key: string, body: ChannelBody) =>
      this.#acting.run("putChannel", { eventId, key, body }, (_, state) =>
        summarizeChannel(state, state.catalog.events.get(eventId)!, key),
      ),
    /** Everybody may take its seats again. Cost: O(seats). */
    delete: (eventId: string, key: string) => this.#acting.run("deleteChannel", { eventId, key }),
    /** By key. Cost: O(seats). */
    list: (eventId: string) => channelsOf(this.#acting, eventId),
  };

  /** The prices of an event, and what is on sale at them. */
  readonly prices = {
    create: (eventId: string, prices: readonly Omit<PriceBody, "eventId">[]) =>
      this.#acting.run("createPrices", { eventId, body: each(prices, { eventId }) }),
    update: (eventId: string, prices: readonly Omit<PriceChange, "eventId">[]) =>
      this.#acting.run("updatePrices", { eventId, body: each(prices, { eventId }) }),
    /** Deletes a price and its assignments. Cost: O(seats). */
    delete: (eventId: string, priceId: number) =>
      this.#acting.run("deletePrice", { eventId, priceId }),
    /** Puts seats, rows, sections, tables and areas on sale at prices (`assignmentId`). */
    assign: (eventId: string, assignments: PriceAssignments) =>
      this.#acting.run("assignPrices", { eventId, body: assignments }),
    /** Takes seats and areas off sale. */
    unassign: (eventId: string, objects: ObjectSelection) =>
      this.#acting.run("unassignPrices", { eventId, body: objects }),
    /** Takes everything off sale that is not sold. Cost: O(seats). */
    clear: (eventId: string) => this.#acting.run("clearPrices", { eventId }),
    get: (eventId: string, priceId: number) =>
      this.#acting.read({ eventId, priceId }, (state, caller) =>
        findPrice(state, { caller, eventId, priceId }),
      ),
    list: (eventId: string) =>
      this.#acting.read({ eventId }, ({ catalog }, caller) => {
        const event = ownRow(catalog.events.get(eventId), caller, "event");
        return isRefused(event) ? event : [...catalog.pricesOf(eventId).values()];
      }),
  };

  /** Holds ACTIVE seats and places for a session. All or nothing, like every booking call. */
  lock(eventId: string, selection: StateSelection) {
    return this.#acting.run("lock", { eventId, body: selection });
  }

  /**
   * Holds what can be had of the selection, in one hold, and says why it is not the rest: each
   * refused object with its error, seats with up to three alternatives. Refused, likewise, where
   * nothing can be had.
   * Cost: as `lock`, and O(seats) in bytes read for alternatives.
   */
  async lockBestEffort(eventId: string, selection: StateSelection) {
    // The program may change its object before the lock is decided.
    const body = structuredClone(selection);
    return this.#acting.run(
      "lockBestEffort",
      { eventId, body },
      (places, state) => partialHold(state, eventId, body, places),
      (refusal, state) => helpedRefusal(state, { eventId, body }, refusal),
    );
  }

  /**
   * Holds the best free places for a session: the later of two callers gets the next best.
   * Cost: tens of microseconds for wishes asked again and again, else O(seats).
   */
  lockBest(eventId: string, request: BestRequest) {
    return this.#acting.run("best", { eventId, body: request }, (places, state) =>
      bestHold(state, eventId, places),
    );
  }

  /** Puts what the session holds back on sale. Objects that are ACTIVE already stay so. */
  unlock(eventId: string, selection: StateSelection) {
    return this.#acting.run("unlock", { eventId, body: selection });
  }

  /** Sells what the session holds. */
  sell(eventId: string, selection: StateSelection) {
    return this.#acting.run("sale", { eventId, body: selection });
  }

  /** Puts SOLD objects back on sale. */
  revertSale(eventId: string, selection: StateSelection) {
    return this.#acting.run("revertsale", { eventId, body: selection });
  }

  /** Sells ACTIVE objects in one step. The value is false when one is not ACTIVE; none is sold. */
  sellDirectly(eventId: string, selection: StateSelection) {
    return this.#acting.run("directsale", { eventId, body: selection });
  }

  /** Lets holds end later, up to `maxSeconds` of their types. */
  extend(eventId: string, extension: Extension) {
    return this.#acting.run("extend", { eventId, body: extension }, extendedHolds);
  }

  /**
   * Makes several booking calls on one or more events, all of them or none, in one record. Each
   * finds what those before it leave; the locks in one event are one hold.
   * Cost: that of the calls, and O(areas) for each event with several items.
   *
   * @returns The seats and areas of each item, as the whole cart leaves them.
   */
  cart(cart: Cart) {
    return this.#acting.run("cart", { body: cart }, (places, state) => bookedCart(state, places));
  }

  /** Withdraws ACTIVE objects from sale. */
  block(eventId: string, selection: StateSelection) {
    return this.#acting.run("block", { eventId, body: selection });
  }

  /** Puts BLOCKED objects back on sale. Objects that are ACTIVE already stay so. */
  unblock(eventId: string, selection: StateSelection) {
    return this.#acting.run("unblock", { eventId, body: selection });
  }

  /**
   * Lists the seats of an event, without those whose price was removed. Cost: O(the page + the
   * changes since the same listing was last read); the first time O(n log n) in the seats.
   */
  seats(eventId: string, filter: SeatFilter = {}): Promise<Result<Seats, NotOwn>> {
    return seatsOf(this.#acting, eventId, filter);
  }

  /** The counters of the general-admission areas. */
  areas(eventId: string): Promise<Result<Areas, NotOwn>> {
    return areasOf(this.#acting, eventId);
  }

  /** Lists the seats as they were at a moment. Needs the option `audit`. */
  seatsAt(
    eventId: string,
    moment: Moment,
    filter: SeatFilter = {},
  ): Promise<Result<PastSeats, NotInTrail>> {
    return seatsAt(this.#acting, eventId, moment, filter);
  }

  /** The areas as they were at a moment, in the order of the layout. Needs the option `audit`. */
  areasAt(eventId: string, moment: Moment): Promise<Result<readonly Area[], NotInTrail>> {
    return areasAt(this.#acting, eventId, moment);
  }

  /**
   * Lists the transitions of an event's seats and areas, including those of a deleted event. Needs
   * the option `audit`.
   */
  audit(eventId: string, filter: AuditFilter = {}): Promise<Result<AuditPage, NotInTrail>> {
    return auditOf(this.#acting, eventId, filter);
  }

  /**
   * Follows the seats and areas of an event: each change after a sequence, in order and without a
   * gap, once it is on disk. The iteration ends when the event is deleted, the store is closed, or
   * the signal is aborted.
   *
   * Changes are kept in memory from the moment the store is opened, up to 32 MiB of all events
   * together: those of tens of thousands of calls. The iteration of a reader that falls further
   * behind throws a `Refused` with the code HISTORY_GONE.
   *
   * @param since - The sequence in the result of `seats` or `areas`, or in the last change read.
   * @returns The changes; HISTORY_GONE when changes after `since` are no longer kept. Then read
   * `seats` again and continue from there. VALIDATION_FAILED when `since` is no whole number.
   */
  async subscribe(
    eventId: string,
    since: number,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<
    Result<AsyncGenerator<Change, void, undefined>, NotOwn | "HISTORY_GONE" | "VALIDATION_FAILED">
  > {
    const event = await this.events.get(eventId);
    if (!event.ok) return event;
    const refusal = refusePosition(this.#recent, since);
    if (refusal !== null) return refusal;
    const end = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    return { ok: true, value: follow(this.#recent, event.value, since, end) };
  }
}

// Arguments of `open`, perhaps for a host of a cluster, and of a new tenant.

/** Options of `open`. */
export interface FrontrowOptions extends OpenOptions {
  /** Name of the organization to act for; "default" by default. It is created if necessary. */
  readonly organization?: string | undefined;
  /**
   * Makes the store a host of a cluster, which follows the leader until it leads itself: `open`
   * resolves when it leads. By default the store is on this host alone.
   */
  readonly cluster?: HostInCluster | undefined;
}

/** A host of a cluster. */
export interface HostInCluster extends Omit<ClusterOptions, "etcd"> {
  /** Host and port of the member of etcd beside this host. */
  readonly etcd: string;
}

/** A new tenant. Its token is for HTTP clients. */
export interface NewTenant {
  readonly name: string;
  /** SHA-256 of its token, 64 hexadecimal digits; without it the token is derived. */
  readonly tokenSha256?: string | null;
  /** The account that manages it over HTTP. */
  readonly administrator?: Administrator | null;
}

/** @returns A connection to etcd, and the options that use it; null without a cluster. */
function joinCluster(
  host: HostInCluster | undefined,
): { readonly etcd: Etcd; readonly options: ClusterOptions } | null {
  if (host === undefined) return null;
  const etcd = openEtcd(host.etcd);
  return { etcd, options: { ...host, etcd } };
}
