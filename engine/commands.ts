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
import { MOVE_STEPS } from "./decide/moves.ts";
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
import { forgetReplies, rememberReply } from "./decide/replies.ts";
import { cloneSchema } from "./decide/schema/clone-schema.ts";
import { installClone, installLayout } from "./decide/schema/install-layout.ts";
import { putLayout } from "./decide/schema/layouts.ts";
import { createSchema, deleteSchema, updateSchema } from "./decide/schema/schemas.ts";
import { createVenue, deleteVenue, updateVenue } from "./decide/schema/venues.ts";
import { bindEvent, createSeries, deleteSeries } from "./decide/series.ts";
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from "./decide/webhooks.ts";
import { Move } from "./inventory/states.ts";
import type { ReadyClone, ReadyLayout } from "./queries/ready-layouts.ts";
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
  REPLY_BUDGET,
  ROTATION,
  SCHEMA,
  SETTINGS,
  STATE_SELECTION,
  VENUE,
  WEBHOOK,
  WEBHOOK_CHANGE,
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
const READY_LAYOUT: Shape<ReadyLayout> = ANYTHING as Shape<ReadyLayout>;
const READY_CLONE: Shape<ReadyClone> = ANYTHING as Shape<ReadyClone>;
const KILL_AFTER = optional(LOCAL_DATE_TIME);

interface CommandOptions {
  /** Given by the front alone. */
  readonly isInternal?: true;
  /** Who may give it without an organization: the operator, or a tenant as a whole. */
  readonly scope?: "platform" | "tenant";
}

type Decide<M extends Members, Value> = (
  state: State,
  command: CommandWith<ObjectOf<M>>,
  timeMs: number,
) => Decision<Value>;

type Refused = Refusal["refused"];

export interface CommandRow<
  M extends Members,
  Value,
  Code extends Refused = Refused,
> extends CommandOptions {
  /** Ids, the body and whatever else the command carries besides its kind and its caller. */
  readonly members: M;
  /** What `decide` may refuse with; the journal may refuse every command as well. */
  readonly refusals: readonly Code[];
  /** All checks, in the order of the result codes. Changes nothing. */
  readonly decide: Decide<M, Value>;
}

function command<M extends Members, Value, Code extends Refused = never>(
  members: M,
  refusals: readonly Code[],
  decide: Decide<M, Value>,
  options: CommandOptions = {},
): CommandRow<M, Value, Code> {
  return { members, refusals, decide, ...options };
}

const INTERNAL: CommandOptions = { isInternal: true };
const FOR_TENANT: CommandOptions = { scope: "tenant" };

type Exceptions = Partial<BookingRules>;
/** The codes, when the rule is set. */
type If<E extends Exceptions, Rule extends keyof Exceptions, Codes> =
  E extends Readonly<Record<Rule, true>> ? Codes : readonly [];

/** The booking commands differ only in their rules. */
function booking<const E extends Exceptions>(move: Move, exceptions: E) {
  const rules: BookingRules = { ...PLAIN_BOOKING, ...exceptions, move };
  const when = <Rule extends keyof Exceptions, const Codes>(rule: Rule, codes: Codes) =>
    (rules[rule] ? codes : []) as If<E, Rule, Codes>;
  const refusals = [
    VALIDATION_FAILED,
    EVENT_ACCESS_DENIED,
    ORGANIZATION_DISABLED,
    ...when("needsSalesControl", [SALES_CONTROL_REQUIRED]),
    ...when("needsPublished", [EVENT_NOT_PUBLISHED]),
    INVENTORY_NOT_AVAILABLE,
    ...when("preventsOrphans", [ORPHAN_SEAT]),
  ];
  return command({ eventId: UUID_KEY, body: STATE_SELECTION }, refusals, (state, given, timeMs) =>
    decideBooking(state, given, timeMs, rules),
  );
}

export const BOOKING_COMMANDS = {
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
  block: booking(Move.BLOCK, {}),
  unblock: booking(Move.UNBLOCK, { skipsActive: true }),
};

/** By kind: members, refusals, decision. */
export const COMMANDS = {
  createTenant: command(
    { name: NAME, tokenSha256: orNull(TEXT), administrator: orNull(ADMINISTRATOR) },
    [ACCOUNT_EMAIL_IN_USE],
    createTenant,
    { scope: "platform" },
  ),
  rotateTenantToken: command({ body: ROTATION }, [], rotateTenantToken, FOR_TENANT),
  createOrganization: command(
    { body: ORGANIZATION, administrator: orNull(ADMINISTRATOR), publicKey: UUID },
    [DUPLICATE_NAME, ACCOUNT_EMAIL_IN_USE],
    createOrganization,
    FOR_TENANT,
  ),
  updateOrganization: command(
    { body: ORGANIZATION_CHANGE },
    [...NOT_OWN, DUPLICATE_NAME],
    updateOrganization,
    FOR_TENANT,
  ),
  deleteOrganization: command(
    { organizationId: LONG },
    [...NOT_OWN, ENTITY_IN_USE],
    deleteOrganization,
    FOR_TENANT,
  ),
  moveOrganization: command(...MOVE_STEPS.moveOrganization, INTERNAL),
  beginArrival: command(...MOVE_STEPS.beginArrival, INTERNAL),
  arrive: command(...MOVE_STEPS.arrive, INTERNAL),
  clearOrganization: command(...MOVE_STEPS.clearOrganization, INTERNAL),
  changeSettings: command(
    { organizationId: LONG, body: SETTINGS },
    NOT_OWN,
    changeSettings,
    FOR_TENANT,
  ),
  configureSessions: command(
    { body: object({ publicSessionsEnabled: BOOLEAN }) },
    [],
    configureSessions,
  ),
  replaceHoldTypes: command({ body: HOLD_TYPES }, [VALIDATION_FAILED], replaceHoldTypes),
  rotateOrganizationKey: command({ body: ROTATION }, [], rotateOrganizationKey),
  openLogin: command(
    { accountId: LONG, tokens: LOGIN_TOKENS },
    [ENTITY_NOT_FOUND],
    openLogin,
    INTERNAL,
  ),
  renewLogin: command(
    { loginId: LONG, tokens: LOGIN_TOKENS },
    [ENTITY_NOT_FOUND],
    renewLogin,
    INTERNAL,
  ),
  closeLogin: command({ loginId: LONG }, [ENTITY_NOT_FOUND], closeLogin, INTERNAL),
  rememberReply: command({ reply: REPLY, budget: REPLY_BUDGET }, [], rememberReply, INTERNAL),
  forgetReplies: command({}, [], forgetReplies, INTERNAL),
  createVenue: command({ body: VENUE }, [], createVenue),
  updateVenue: command({ body: VENUE }, [VALIDATION_FAILED, ...NOT_OWN], updateVenue),
  deleteVenue: command({ venueId: LONG }, [...NOT_OWN, ENTITY_IN_USE], deleteVenue),
  createSchema: command({ body: SCHEMA }, [VALIDATION_FAILED], createSchema),
  updateSchema: command({ body: SCHEMA }, [VALIDATION_FAILED, ...NOT_OWN], updateSchema),
  deleteSchema: command({ schemaId: LONG }, [...NOT_OWN, INVENTORY_IN_USE], deleteSchema),
  /** `cloneId` is the id of the operation. */
  cloneSchema: command({ schemaId: LONG, cloneId: UUID_KEY }, NOT_OWN, cloneSchema),
  putLayout: command(
    { schemaId: LONG, body: LAYOUT, forceDelete: BOOLEAN },
    [VALIDATION_FAILED, ...NOT_OWN, INVENTORY_IN_USE],
    putLayout,
  ),
  /** A large layout that was prepared in another thread. */
  installLayout: command(
    { schemaId: LONG, ready: READY_LAYOUT, forceDelete: BOOLEAN },
    [...NOT_OWN, INVENTORY_IN_USE],
    installLayout,
    INTERNAL,
  ),
  /** The copy of a schema with a large layout, which was prepared in another thread. */
  installClone: command(
    { schemaId: LONG, cloneId: UUID_KEY, ready: READY_CLONE },
    NOT_OWN,
    installClone,
    INTERNAL,
  ),
  createZones: command(
    { schemaId: LONG, body: list(ZONE) },
    [VALIDATION_FAILED, ACCESS_DENIED],
    createZones,
  ),
  updateZones: command(
    { schemaId: LONG, body: list(ZONE_CHANGE) },
    [VALIDATION_FAILED, ...NOT_OWN],
    updateZones,
  ),
  deleteZone: command({ schemaId: LONG, zoneId: LONG }, NOT_OWN, deleteZone),
  assignZones: command(
    { schemaId: LONG, body: ASSIGNMENTS },
    [VALIDATION_FAILED, ACCESS_DENIED],
    assignZones,
  ),
  createSeries: command({ body: object({ name: NAME }) }, [], createSeries),
  deleteSeries: command({ seriesId: LONG }, NOT_OWN, deleteSeries),
  createEvent: command(
    { eventId: UUID_KEY, body: EVENT, killAfter: KILL_AFTER },
    [VALIDATION_FAILED],
    createEvent,
  ),
  /** Without `killAfter` the event keeps the one that it has. */
  updateEvent: command(
    { eventId: UUID_KEY, body: EVENT_CHANGE, force: BOOLEAN, killAfter: KILL_AFTER },
    [
      VALIDATION_FAILED,
      ...NOT_OWN,
      EVENT_BOUND_TO_SERIES,
      INVALID_STATUS_TRANSITION,
      INVENTORY_IN_USE,
    ],
    updateEvent,
  ),
  deleteEvent: command({ eventId: UUID_KEY }, NOT_OWN, deleteEvent),
  bindEvent: command(
    { eventId: UUID_KEY, body: object({ seriesId: orNull(LONG) }) },
    [VALIDATION_FAILED, ...NOT_OWN],
    bindEvent,
  ),
  changeEventStatus: command(
    { eventId: UUID_KEY, body: object({ status: EVENT_STATUS }) },
    [...NOT_OWN, INVALID_STATUS_TRANSITION],
    changeEventStatus,
  ),
  createPrices: command(
    { eventId: UUID_KEY, body: list(PRICE) },
    [VALIDATION_FAILED, EVENT_ACCESS_DENIED],
    createPrices,
  ),
  updatePrices: command(
    { eventId: UUID_KEY, body: list(PRICE_CHANGE) },
    [VALIDATION_FAILED, ...NOT_OWN],
    updatePrices,
  ),
  deletePrice: command(
    { eventId: UUID_KEY, priceId: LONG },
    [...NOT_OWN, INVENTORY_IN_USE],
    deletePrice,
  ),
  assignPrices: command(
    { eventId: UUID_KEY, body: ASSIGNMENTS },
    [VALIDATION_FAILED, EVENT_ACCESS_DENIED, INVENTORY_IN_USE],
    assignPrices,
  ),
  unassignPrices: command(
    { eventId: UUID_KEY, body: OBJECTS },
    [VALIDATION_FAILED, EVENT_ACCESS_DENIED, INVENTORY_IN_USE],
    unassignPrices,
  ),
  clearPrices: command({ eventId: UUID_KEY }, [EVENT_ACCESS_DENIED], clearPrices),
  /** Commands about webhooks are internal, because only the server sends deliveries. */
  createWebhook: command(
    { body: WEBHOOK },
    [VALIDATION_FAILED, EVENT_ACCESS_DENIED],
    createWebhook,
    INTERNAL,
  ),
  updateWebhook: command(
    { body: WEBHOOK_CHANGE },
    [...NOT_OWN, EVENT_ACCESS_DENIED],
    updateWebhook,
    INTERNAL,
  ),
  deleteWebhook: command({ webhookId: LONG }, NOT_OWN, deleteWebhook, INTERNAL),
  rotateWebhookSecret: command(
    { webhookId: LONG, body: ROTATION },
    NOT_OWN,
    rotateWebhookSecret,
    INTERNAL,
  ),
  /** Its receiver does not take deliveries any more. */
  disableWebhook: command({ webhookId: LONG, reason: TEXT }, [], disableWebhook, INTERNAL),
  ...BOOKING_COMMANDS,
};

export type CommandKind = keyof typeof COMMANDS;
export type BookingKind = keyof typeof BOOKING_COMMANDS;

/** What a command carries besides `kind` and `caller`. */
export type MembersOf<K extends CommandKind> = ObjectOf<(typeof COMMANDS)[K]["members"]>;

export type CommandOf<K extends CommandKind> = {
  [Kind in K]: { readonly kind: Kind } & CommandWith<MembersOf<Kind>>;
}[K];

/** The shape of a command as a whole. */
export function commandShape(kind: CommandKind): Shape {
  return exactObject({ kind: ANYTHING, caller: CALLER, ...COMMANDS[kind].members });
}
