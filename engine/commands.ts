/**
 * Commands: what a caller asks. A command carries who asks, the ids of its path, a body in the wire
 * form of the interface, and whatever must come from outside (new UUIDs, hashes): the engine has no
 * dice. Bodies have passed their shape (`shapes.ts`) before they get here; what a shape cannot say
 * is checked by `decide`.
 */
import type { EventStatus, HoldTypeRow, ReplyRow } from "./catalog.ts";
import type { Actor } from "./records.ts";

/** Who asks, and for which organization. */
export interface Caller {
  readonly actor: Actor;
  readonly tenantId: number;
  /** 0 when the caller acts for its tenant and names no organization. */
  readonly organizationId: number;
}

export interface SeatChoice {
  readonly id: number;
  readonly capacity?: number | null | undefined;
}

/** The body of the booking commands. */
export interface StateSelection {
  readonly sessionId?: string | null | undefined;
  readonly seats?: readonly SeatChoice[] | null | undefined;
  readonly groupOfSeats?: readonly SeatChoice[] | null | undefined;
  readonly holdType?: string | null | undefined;
}

export interface AssignmentItem {
  readonly objectId?: number | null | undefined;
  /** Understood in place of `objectId`. */
  readonly seatId?: number | null | undefined;
  readonly assignmentId?: number | null | undefined;
  readonly activeCount?: number | null | undefined;
}

/** The body of an assignment of prices or of pricing zones. */
export interface AssignmentSelection {
  readonly seats?: readonly AssignmentItem[] | null | undefined;
  readonly groupOfSeats?: readonly AssignmentItem[] | null | undefined;
}

/** Seats and areas by their ids. */
export interface ObjectSelection {
  readonly seats?: readonly { readonly objectId: number }[] | null | undefined;
  readonly groupOfSeats?: readonly { readonly objectId: number }[] | null | undefined;
}

export interface VenueBody {
  readonly id?: number | null | undefined;
  readonly name: string;
  readonly address?: string | null | undefined;
  readonly lat?: number | null | undefined;
  readonly lng?: number | null | undefined;
  readonly draft?: boolean | null | undefined;
}

export interface SchemaBody {
  readonly id?: number | null | undefined;
  readonly venueId: number;
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly draft?: boolean | null | undefined;
  readonly template?: boolean | null | undefined;
  readonly archived?: boolean | null | undefined;
  readonly externalId?: string | null | undefined;
  readonly gaCapacity?: number | null | undefined;
  readonly seatsCapacity?: number | null | undefined;
  readonly preview?: string | null | undefined;
  readonly thumbnail?: unknown;
}

/** An object of a layout as it is sent: with an id when it is stored already. */
export interface SentObject {
  readonly id?: number | null | undefined;
  readonly guid: string;
  readonly toRemove?: boolean | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface SentSector extends SentObject {
  readonly name: string;
  readonly ga: boolean;
  readonly type?: "SECTION" | "TABLE" | undefined;
  readonly gaCapacity?: number | null | undefined;
}

export interface SentRow extends SentObject {
  readonly sectorGuid: string;
  readonly rowNumber: string;
}

export interface SentSeat extends SentObject {
  readonly rowGuid: string;
  readonly name: string;
}

export interface LayoutBody {
  readonly sectors?: readonly SentSector[] | null | undefined;
  readonly rows?: readonly SentRow[] | null | undefined;
  readonly seats?: readonly SentSeat[] | null | undefined;
  readonly shapes?: readonly Readonly<Record<string, unknown>>[] | null | undefined;
  readonly clientViewBox?: unknown;
}

export interface EventBody {
  readonly name: string;
  /** Local date-times. */
  readonly start: string;
  readonly endDate: string;
  readonly schemaId: number;
  readonly status?: EventStatus | undefined;
}

/** The body of a rotation: how long the old key still works. */
export interface RotationBody {
  readonly graceSeconds?: number | undefined;
}

export interface ZoneBody {
  readonly name: string;
  readonly schemaId: number;
}

export interface ZoneUpdate extends ZoneBody {
  readonly id: number;
}

export interface PriceBody {
  readonly name: string;
  readonly eventId: string;
  readonly externalId?: string | null | undefined;
}

export interface PriceUpdate extends PriceBody {
  readonly id: number;
}

/** The account that becomes administrator of what is created with it. */
export interface Administrator {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly passwordHash: string;
}

export interface OrganizationBody {
  readonly name: string;
  readonly domain?: string | null | undefined;
  readonly autologinEnabled?: boolean | undefined;
  readonly appendDomainToLogin?: boolean | undefined;
  readonly type?: "VENUE" | "DEFAULT" | undefined;
}

export interface OrganizationUpdate extends OrganizationBody {
  readonly id: number;
}

export interface SettingsBody {
  readonly salesControl?: boolean | undefined;
  readonly bookingEnabled?: boolean | undefined;
  readonly orphanPrevention?: boolean | undefined;
}

export type BookingKind =
  | "lock"
  | "unlock"
  | "sale"
  | "revertsale"
  | "directsale"
  | "block"
  | "unblock";

/** The hashes of a login's two tokens, and when each ends (milliseconds since 1970). */
export interface LoginTokens {
  readonly tokenSha256: string;
  readonly tokenExpiresAtMs: number;
  readonly refreshSha256: string;
  readonly refreshExpiresAtMs: number;
}

/** What each command carries beside `kind` and `caller`. */
export interface Commands {
  createTenant: {
    name: string;
    tokenSha256: string | null;
    /** Its super admin; null when nobody is to log in. */
    administrator: Administrator | null;
  };
  createOrganization: {
    body: OrganizationBody;
    administrator: Administrator | null;
    publicKey: string;
    privateKey: string;
  };
  updateOrganization: { body: OrganizationUpdate };
  deleteOrganization: { organizationId: number };
  changeSettings: { organizationId: number; body: SettingsBody };
  configureSessions: { body: { publicSessionsEnabled: boolean } };
  rotateOrganizationKey: { body: RotationBody };
  rotateTenantToken: { body: RotationBody };
  replaceHoldTypes: { body: readonly HoldTypeRow[] };
  openLogin: { accountId: number; tokens: LoginTokens };
  renewLogin: { loginId: number; tokens: LoginTokens };
  closeLogin: { loginId: number };
  rememberReply: { reply: Omit<ReplyRow, "expiresAtMs"> };
  createVenue: { body: VenueBody };
  updateVenue: { body: VenueBody };
  deleteVenue: { venueId: number };
  createSchema: { body: SchemaBody };
  updateSchema: { body: SchemaBody };
  deleteSchema: { schemaId: number };
  /** `cloneId` is the UUID of the operation. */
  cloneSchema: { schemaId: number; cloneId: string };
  putLayout: { schemaId: number; body: LayoutBody; forceDelete: boolean };
  createZones: { schemaId: number; body: readonly ZoneBody[] };
  updateZones: { schemaId: number; body: readonly ZoneUpdate[] };
  deleteZone: { schemaId: number; zoneId: number };
  assignZones: { schemaId: number; body: AssignmentSelection };
  createSeries: { body: { name: string } };
  deleteSeries: { seriesId: number };
  createEvent: { eventId: string; body: EventBody; killAfter?: string | null };
  /** Without `killAfter` the event keeps the one that it has. */
  updateEvent: { eventId: string; body: EventBody; force: boolean; killAfter?: string | null };
  deleteEvent: { eventId: string };
  bindEvent: { eventId: string; body: { seriesId: number | null } };
  changeEventStatus: { eventId: string; body: { status: EventStatus } };
  createPrices: { eventId: string; body: readonly PriceBody[] };
  updatePrices: { eventId: string; body: readonly PriceUpdate[] };
  deletePrice: { eventId: string; priceId: number };
  assignPrices: { eventId: string; body: AssignmentSelection };
  unassignPrices: { eventId: string; body: ObjectSelection };
  clearPrices: { eventId: string };
  lock: { eventId: string; body: StateSelection };
  unlock: { eventId: string; body: StateSelection };
  sale: { eventId: string; body: StateSelection };
  revertsale: { eventId: string; body: StateSelection };
  directsale: { eventId: string; body: StateSelection };
  block: { eventId: string; body: StateSelection };
  unblock: { eventId: string; body: StateSelection };
}

export type CommandKind = keyof Commands;

export type CommandOf<K extends CommandKind> = {
  [Kind in K]: { readonly kind: Kind; readonly caller: Caller } & Readonly<Commands[Kind]>;
}[K];
