/**
 * The command table: everything that a caller can ask for. Each command is one row; its types, its
 * validators, the dispatch to its decision and the rows of its routes are derived from the row. A
 * command carries who asks, ids, a body in the wire form of the interface, and whatever the engine
 * cannot make itself: it has no randomness, so new UUIDs and hashes come with the command.
 */
import { closeLogin, createTenant, openLogin, renewLogin } from "./decide/accounts.ts";
import { decideBooking } from "./decide/booking/booking.ts";
import { type BookingRules, PLAIN_BOOKING } from "./decide/booking/rules.ts";
import { changeEventStatus, createEvent, deleteEvent, updateEvent } from "./decide/events.ts";
import { rotateOrganizationKey, rotateTenantToken } from "./decide/keys.ts";
import {
  configureSessions,
  deleteOrganization,
  updateOrganization,
} from "./decide/organization-changes.ts";
import { changeSettings, createOrganization, replaceHoldTypes } from "./decide/organizations.ts";
import { deletePrice, updatePrices } from "./decide/pricing/price-changes.ts";
import { clearPrices, unassignPrices } from "./decide/pricing/price-removal.ts";
import { assignPrices, createPrices } from "./decide/pricing/prices.ts";
import { assignZones } from "./decide/pricing/zone-assignments.ts";
import { createZones, deleteZone, updateZones } from "./decide/pricing/zones.ts";
import { rememberReply } from "./decide/replies.ts";
import { cloneSchema } from "./decide/schema/clone-schema.ts";
import { putLayout } from "./decide/schema/layouts.ts";
import { createSchema, deleteSchema, updateSchema } from "./decide/schema/schemas.ts";
import { createVenue, deleteVenue, updateVenue } from "./decide/schema/venues.ts";
import { bindEvent, createSeries, deleteSeries } from "./decide/series.ts";
import { Move } from "./inventory/states.ts";
import { type Decision, type Refusal, Result } from "./results.ts";
import {
  ADMINISTRATOR,
  ASSIGNMENTS,
  EVENT,
  EVENT_CHANGE,
  HOLD_TYPES,
  LAYOUT,
  LOGIN_TOKENS,
  OBJECTS,
  ORGANIZATION,
  ORGANIZATION_CHANGE,
  PRICE,
  PRICE_CHANGE,
  REPLY,
  ROTATION,
  SCHEMA,
  SETTINGS,
  STATE_SELECTION,
  VENUE,
  ZONE,
  ZONE_CHANGE,
} from "./shapes/bodies.ts";
import { CALLER, type CommandWith } from "./shapes/caller.ts";
import { EVENT_STATUS, LOCAL_DATE_TIME, LONG, NAME, UUID, UUID_KEY } from "./shapes/fields.ts";
import {
  ANYTHING,
  BOOLEAN,
  exactObject,
  list,
  type Members,
  object,
  type ObjectOf,
  optional,
  orNull,
  type Shape,
  TEXT,
} from "./shapes/shape.ts";
import type { State } from "./state.ts";

const {
  VALIDATION_FAILED,
  ENTITY_NOT_FOUND,
  ACCESS_DENIED,
  EVENT_ACCESS_DENIED,
  ORGANIZATION_DISABLED,
  SALES_CONTROL_REQUIRED,
  EVENT_NOT_PUBLISHED,
  EVENT_BOUND_TO_SERIES,
  DUPLICATE_NAME,
  ACCOUNT_EMAIL_IN_USE,
  INVALID_STATUS_TRANSITION,
  ENTITY_IN_USE,
  INVENTORY_IN_USE,
  INVENTORY_NOT_AVAILABLE,
  ORPHAN_SEAT,
} = Result;
/** For a row that does not exist or belongs to somebody else. */
const NOT_OWN = [ENTITY_NOT_FOUND, ACCESS_DENIED];
/** A date-time that v1 clients keep with an event; it has no effect. */
const KILL_AFTER = optional(orNull(LOCAL_DATE_TIME));

export interface CommandRow<M extends Members, Value> {
  /** Ids, the body and whatever else the command carries beside its kind and its caller. */
  readonly members: M;
  /** What `decide` may refuse with; the journal may refuse every command as well. */
  readonly refusals: readonly Refusal["refused"][];
  /** Given by the front alone. */
  readonly isInternal?: true;
  /** Who may give it without an organization: the operator, or a tenant as a whole. */
  readonly scope?: "platform" | "tenant";
  /** All checks, in the order of the result codes. Changes nothing. */
  readonly decide: (
    state: State,
    command: CommandWith<ObjectOf<M>>,
    timeMs: number,
  ) => Decision<Value>;
}

function command<M extends Members, Value>(row: CommandRow<M, Value>): CommandRow<M, Value> {
  return row;
}

/** The booking commands differ only in their rules. */
function booking(move: Move, exceptions: Partial<BookingRules> = {}) {
  const rules: BookingRules = { ...PLAIN_BOOKING, ...exceptions, move };
  return command({
    members: { eventId: UUID_KEY, body: STATE_SELECTION },
    refusals: [
      VALIDATION_FAILED,
      EVENT_ACCESS_DENIED,
      ORGANIZATION_DISABLED,
      ...(rules.needsSalesControl ? [SALES_CONTROL_REQUIRED] : []),
      ...(rules.needsPublished ? [EVENT_NOT_PUBLISHED] : []),
      INVENTORY_NOT_AVAILABLE,
      ...(rules.preventsOrphans ? [ORPHAN_SEAT] : []),
    ],
    decide: (state, selected, timeMs) => decideBooking(state, selected, timeMs, rules),
  });
}

const BOOKING_COMMANDS = {
  lock: booking(Move.LOCK, { needsPublished: true, preventsOrphans: true }),
  unlock: booking(Move.UNLOCK, { respectsSession: true, skipsActive: true }),
  sale: booking(Move.SALE, {
    needsSalesControl: true,
    needsPublished: true,
    preventsOrphans: true,
    respectsSession: true,
  }),
  revertsale: booking(Move.REVERT_SALE, { needsSalesControl: true }),
  directsale: booking(Move.DIRECT_SALE, { needsPublished: true }),
  block: booking(Move.BLOCK),
  unblock: booking(Move.UNBLOCK, { skipsActive: true }),
};

export const COMMANDS = {
  createTenant: command({
    scope: "platform",
    members: { name: NAME, tokenSha256: orNull(TEXT), administrator: orNull(ADMINISTRATOR) },
    refusals: [ACCOUNT_EMAIL_IN_USE],
    decide: createTenant,
  }),
  rotateTenantToken: command({
    scope: "tenant",
    members: { body: ROTATION },
    refusals: [],
    decide: rotateTenantToken,
  }),
  createOrganization: command({
    scope: "tenant",
    members: {
      body: ORGANIZATION,
      administrator: orNull(ADMINISTRATOR),
      publicKey: UUID,
      privateKey: UUID,
    },
    refusals: [DUPLICATE_NAME, ACCOUNT_EMAIL_IN_USE],
    decide: createOrganization,
  }),
  updateOrganization: command({
    scope: "tenant",
    members: { body: ORGANIZATION_CHANGE },
    refusals: [...NOT_OWN, DUPLICATE_NAME],
    decide: updateOrganization,
  }),
  deleteOrganization: command({
    scope: "tenant",
    members: { organizationId: LONG },
    refusals: [...NOT_OWN, ENTITY_IN_USE],
    decide: deleteOrganization,
  }),
  changeSettings: command({
    scope: "tenant",
    members: { organizationId: LONG, body: SETTINGS },
    refusals: NOT_OWN,
    decide: changeSettings,
  }),
  configureSessions: command({
    members: { body: object({ publicSessionsEnabled: BOOLEAN }) },
    refusals: [],
    decide: configureSessions,
  }),
  replaceHoldTypes: command({
    members: { body: HOLD_TYPES },
    refusals: [VALIDATION_FAILED],
    decide: replaceHoldTypes,
  }),
  rotateOrganizationKey: command({
    members: { body: ROTATION },
    refusals: [],
    decide: rotateOrganizationKey,
  }),
  openLogin: command({
    isInternal: true,
    members: { accountId: LONG, tokens: LOGIN_TOKENS },
    refusals: [ENTITY_NOT_FOUND],
    decide: openLogin,
  }),
  renewLogin: command({
    isInternal: true,
    members: { loginId: LONG, tokens: LOGIN_TOKENS },
    refusals: [ENTITY_NOT_FOUND],
    decide: renewLogin,
  }),
  closeLogin: command({
    isInternal: true,
    members: { loginId: LONG },
    refusals: [ENTITY_NOT_FOUND],
    decide: closeLogin,
  }),
  rememberReply: command({
    isInternal: true,
    members: { reply: REPLY },
    refusals: [],
    decide: rememberReply,
  }),
  createVenue: command({ members: { body: VENUE }, refusals: [], decide: createVenue }),
  updateVenue: command({
    members: { body: VENUE },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide: updateVenue,
  }),
  deleteVenue: command({
    members: { venueId: LONG },
    refusals: [...NOT_OWN, ENTITY_IN_USE],
    decide: deleteVenue,
  }),
  createSchema: command({
    members: { body: SCHEMA },
    refusals: [VALIDATION_FAILED],
    decide: createSchema,
  }),
  updateSchema: command({
    members: { body: SCHEMA },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide: updateSchema,
  }),
  deleteSchema: command({
    members: { schemaId: LONG },
    refusals: [...NOT_OWN, INVENTORY_IN_USE],
    decide: deleteSchema,
  }),
  /** `cloneId` is the id of the operation. */
  cloneSchema: command({
    members: { schemaId: LONG, cloneId: UUID_KEY },
    refusals: NOT_OWN,
    decide: cloneSchema,
  }),
  putLayout: command({
    members: { schemaId: LONG, body: LAYOUT, forceDelete: BOOLEAN },
    refusals: [VALIDATION_FAILED, ...NOT_OWN, INVENTORY_IN_USE],
    decide: putLayout,
  }),
  createZones: command({
    members: { schemaId: LONG, body: list(ZONE) },
    refusals: [VALIDATION_FAILED, ACCESS_DENIED],
    decide: createZones,
  }),
  updateZones: command({
    members: { schemaId: LONG, body: list(ZONE_CHANGE) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide: updateZones,
  }),
  deleteZone: command({
    members: { schemaId: LONG, zoneId: LONG },
    refusals: NOT_OWN,
    decide: deleteZone,
  }),
  assignZones: command({
    members: { schemaId: LONG, body: ASSIGNMENTS },
    refusals: [VALIDATION_FAILED, ACCESS_DENIED],
    decide: assignZones,
  }),
  createSeries: command({
    members: { body: object({ name: NAME }) },
    refusals: [],
    decide: createSeries,
  }),
  deleteSeries: command({
    members: { seriesId: LONG },
    refusals: NOT_OWN,
    decide: deleteSeries,
  }),
  createEvent: command({
    members: { eventId: UUID_KEY, body: EVENT, killAfter: KILL_AFTER },
    refusals: [VALIDATION_FAILED],
    decide: createEvent,
  }),
  /** Without `killAfter` the event keeps the one that it has. */
  updateEvent: command({
    members: { eventId: UUID_KEY, body: EVENT_CHANGE, force: BOOLEAN, killAfter: KILL_AFTER },
    refusals: [VALIDATION_FAILED, ...NOT_OWN, EVENT_BOUND_TO_SERIES, INVENTORY_IN_USE],
    decide: updateEvent,
  }),
  deleteEvent: command({
    members: { eventId: UUID_KEY },
    refusals: NOT_OWN,
    decide: deleteEvent,
  }),
  bindEvent: command({
    members: { eventId: UUID_KEY, body: object({ seriesId: orNull(LONG) }) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide: bindEvent,
  }),
  changeEventStatus: command({
    members: { eventId: UUID_KEY, body: object({ status: EVENT_STATUS }) },
    refusals: [...NOT_OWN, INVALID_STATUS_TRANSITION],
    decide: changeEventStatus,
  }),
  createPrices: command({
    members: { eventId: UUID_KEY, body: list(PRICE) },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED],
    decide: createPrices,
  }),
  updatePrices: command({
    members: { eventId: UUID_KEY, body: list(PRICE_CHANGE) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide: updatePrices,
  }),
  deletePrice: command({
    members: { eventId: UUID_KEY, priceId: LONG },
    refusals: [...NOT_OWN, INVENTORY_IN_USE],
    decide: deletePrice,
  }),
  assignPrices: command({
    members: { eventId: UUID_KEY, body: ASSIGNMENTS },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED, INVENTORY_IN_USE],
    decide: assignPrices,
  }),
  unassignPrices: command({
    members: { eventId: UUID_KEY, body: OBJECTS },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED, INVENTORY_IN_USE],
    decide: unassignPrices,
  }),
  clearPrices: command({
    members: { eventId: UUID_KEY },
    refusals: [EVENT_ACCESS_DENIED],
    decide: clearPrices,
  }),
  ...BOOKING_COMMANDS,
};

export type CommandKind = keyof typeof COMMANDS;
export type BookingKind = keyof typeof BOOKING_COMMANDS;

/** What a command carries beside `kind` and `caller`. */
export type MembersOf<K extends CommandKind> = ObjectOf<(typeof COMMANDS)[K]["members"]>;

export type CommandOf<K extends CommandKind> = {
  [Kind in K]: { readonly kind: Kind } & CommandWith<MembersOf<Kind>>;
}[K];

/** The shape of a command as a whole. */
export function commandShape(kind: CommandKind): Shape {
  return exactObject({ kind: ANYTHING, caller: CALLER, ...COMMANDS[kind].members });
}
