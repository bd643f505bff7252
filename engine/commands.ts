/**
 * The command table: everything that a caller can ask for. Each command is one row; its types, its
 * validators, the dispatch to its decision and the rows of its routes are derived from the row. A
 * command carries who asks, ids, a body in the wire form of the interface, and whatever the engine
 * cannot make itself: it has no randomness, so new UUIDs and hashes come with the command.
 */
import { assert } from "./assert.ts";
import {
  ADMINISTRATOR,
  ASSIGNMENTS,
  CALLER,
  type CommandWith,
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
  type ReplyBody,
  ROTATION,
  SCHEMA,
  SETTINGS,
  STATE_SELECTION,
  VENUE,
  WEBHOOK,
  WEBHOOK_CHANGE,
  ZONE,
  ZONE_CHANGE,
} from "./bodies.ts";
import { type BookingRules, decideBooking, PLAIN_BOOKING } from "./booking.ts";
import { bytesOfRow, type Catalog, type CatalogPut } from "./catalog.ts";
import {
  closeLogin,
  createTenant,
  openLogin,
  renewLogin,
  rotateOrganizationKey,
  rotateTenantToken,
} from "./catalog/accounts.ts";
import {
  bindEvent,
  changeEventStatus,
  createEvent,
  createSeries,
  deleteEvent,
  deleteSeries,
  updateEvent,
} from "./catalog/events.ts";
import {
  changeSettings,
  configureSessions,
  createOrganization,
  createWebhook,
  deleteOrganization,
  deleteWebhook,
  disableWebhook,
  replaceHoldTypes,
  rotateWebhookSecret,
  updateOrganization,
  updateWebhook,
} from "./catalog/organizations.ts";
import { grantChange } from "./catalog/owned.ts";
import {
  assignPrices,
  assignZones,
  clearPrices,
  createPrices,
  createZones,
  deletePrice,
  deleteZone,
  unassignPrices,
  updatePrices,
  updateZones,
} from "./catalog/prices.ts";
import { MOVE_STEPS, refuseAway } from "./catalog/relocation.ts";
import {
  cloneSchema,
  createSchema,
  createVenue,
  deleteSchema,
  deleteVenue,
  installClone,
  installLayout,
  putLayout,
  updateSchema,
  updateVenue,
} from "./catalog/schemas.ts";
import { cellOf } from "./cells.ts";
import { NONE } from "./constants.ts";
import { Move } from "./inventory/states.ts";
import { countOfRuns, eachZone, type ZoneChange } from "./layout/zones.ts";
import type { ReadyClone, ReadyLayout } from "./queries/layouts.ts";
import { type LogRecord, RecordType } from "./records.ts";
import {
  type Decision,
  type Grant,
  grant,
  isRefused,
  type Refusal,
  refuse,
  Result,
} from "./results.ts";
import {
  ANYTHING,
  BOOLEAN,
  EVENT_STATUS,
  exactObject,
  list,
  LOCAL_DATE_TIME,
  LONG,
  type Members,
  NAME,
  object,
  type ObjectOf,
  optional,
  orNull,
  type Shape,
  TEXT,
  UUID,
  UUID_KEY,
} from "./schema.ts";
import { EVENT_SEAT_BYTES, LAYOUT_SEAT_BYTES, type State } from "./state.ts";
import {
  BODY_IN_MEMORY_MAX,
  diskBytesOf,
  ownerOf,
  type ReplyBudget,
  type ReplyRow,
} from "./stored-replies.ts";

// Stored replies, which make a retry with the same `Idempotency-Key` safe.

const REPLY_LIFETIME_MS = 24 * 3_600_000;
/** Each new reply removes up to this many expired ones, so that they never pile up. */
const REMOVES_MAX = 4;
/** `forgetReplies` removes up to this many. */
const FORGOTTEN_MAX = 1_000;
assert(REMOVES_MAX > 1, "replies are removed faster than they come");

/**
 * To be submitted in the same turn as the command that the reply answers: both share a frame. A
 * body for which the budget has no room is not kept, and older ones may be dropped for it.
 */
function rememberReply(
  state: State,
  { caller, reply, budget }: CommandWith<{ reply: ReplyBody; budget: ReplyBudget }>,
  timeMs: number,
): Decision<ReplyRow> {
  const { replies, storedReplies } = state.catalog;
  const { id, layout, ...facts } = reply;
  const expired = expiredReplies(state, timeMs, REMOVES_MAX);
  // A key that is used again after a day is removed first, so that its new row comes last.
  if (replies.has(id) && !expired.includes(id)) expired.push(id);
  assert(expired.length <= REMOVES_MAX + 1, "a reply costs a bounded number of removals");
  const length = reply.body?.length ?? 0;
  const isLong = length > BODY_IN_MEMORY_MAX;
  const dropped = isLong
    ? storedReplies.bodiesToDrop(ownerOf(id), diskBytesOf(length), budget)
    : [];
  const row: ReplyRow = {
    id,
    ...facts,
    body: dropped === null ? null : reply.body,
    ...(layout === undefined ? {} : { layout }),
    expiresAtMs: timeMs + REPLY_LIFETIME_MS,
  };
  const puts: CatalogPut[] = [];
  for (const old of dropped ?? []) {
    if (!expired.includes(old))
      puts.push({ table: "replies", row: withoutBody(replies.get(old)!) });
  }
  puts.push({ table: "replies", row });
  const removes = expired.map((key) => ({ table: "replies", key }) as const);
  return grantChange(state, caller, { removes, puts }, row);
}

/** Removes expired replies. Answers how many. */
function forgetReplies(
  state: State,
  { caller }: CommandWith<object>,
  timeMs: number,
): Decision<number> {
  const expired = expiredReplies(state, timeMs, FORGOTTEN_MAX);
  if (expired.length === 0) return grant(null, 0);
  const removes = expired.map((key) => ({ table: "replies", key }) as const);
  return grantChange(state, caller, { removes }, expired.length);
}

/** The oldest replies that have expired. Cost: O(countMax). */
function expiredReplies({ catalog }: State, timeMs: number, countMax: number): string[] {
  const expired: string[] = [];
  for (const [id, { expiresAtMs }] of catalog.replies) {
    if (expiresAtMs > timeMs || expired.length === countMax) break;
    expired.push(id);
  }
  return expired;
}

function withoutBody({ id, fingerprint, status, expiresAtMs }: ReplyRow): ReplyRow {
  return { id, fingerprint, status, body: null, expiresAtMs };
}

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

interface CommandRow<
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
  decision: Decide<M, Value>,
  options: CommandOptions = {},
): CommandRow<M, Value, Code> {
  return { members, refusals, decide: decision, ...options };
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

// Decides a command: returns a refusal, or a grant with the record to write. Changes nothing.

type ValueOf<D> = D extends Grant<infer Value> ? Value : never;

/** The answer of a granted command of the kind. */
export type AnswerOf<K extends CommandKind> = ValueOf<ReturnType<(typeof COMMANDS)[K]["decide"]>>;

export function isCommandKind(kind: unknown): kind is CommandKind {
  return typeof kind === "string" && Object.hasOwn(COMMANDS, kind);
}

export function decide<K extends CommandKind>(
  state: State,
  given: CommandOf<K>,
  timeMs: number,
): Decision<AnswerOf<K>> {
  // The table pairs each kind with its decision, but the compiler cannot derive that for K.
  const row = COMMANDS[given.kind] as unknown as CommandRow<Members, AnswerOf<K>>;
  const away = state.catalog.away.size === 0 ? null : refuseAway(state, given);
  if (away !== null) return away;
  const decision = row.decide(state, given, timeMs);
  if (isRefused(decision)) {
    assert(row.refusals.includes(decision.refused), "a refusal is in the row of its command");
    return decision;
  }
  return refuseWithoutRoom(state, decision.record) ?? decision;
}

// Room for what clients create: rows, layouts and events stay in memory until they are deleted, so
// the operator bounds what all of them may take. Commands that make nothing larger always pass.

const ZONE_BYTES = bytesOfRow("zoneAssignments", {});
const FULL_CATALOG = refuse(
  Result.NO_ROOM,
  "The server has no memory for more layouts, events and other rows. Delete some to make room.",
);
const FULL_EVENTS = refuse(
  Result.NO_ROOM,
  "The server has no memory for the seats of more events. Delete events to make room.",
);

const NO_NUMBERS = refuse(
  Result.NO_ROOM,
  "The cell has given out all its numbers. Create it in an organization of another cell.",
);

/** Why the change is refused; null when there is room for it. Cost: as that of applying it. */
function refuseWithoutRoom(state: State, record: LogRecord | null): Refusal | null {
  if (record?.type !== RecordType.CATALOG) return null;
  const { catalog, room } = state;
  if (cellOf(record.nextId) !== cellOf(catalog.nextId)) return NO_NUMBERS;
  let [rowBytes, layoutSeats, eventSeats] = [0, 0, 0];
  for (const change of record.zones ?? []) rowBytes += zoneBytes(catalog, change);
  for (const put of record.puts) {
    // Replies have a budget of their own, and each account a number of logins.
    if (put.table === "replies" || put.table === "logins") continue;
    rowBytes += bytesOfRow(put.table, put.row) - bytesOfRow(put.table, storedRow(catalog, put));
    if (put.table === "events") {
      if (put.row.partition >= NONE) return NO_NUMBERS;
      eventSeats += seatsOfEvent(state, put.row);
    }
    if (put.table !== "layouts") continue;
    const { id, document } = put.row;
    const seats = put.made?.layout.seatCount ?? document.seats.length;
    const more = seats - state.layoutOf(id).seatCount;
    layoutSeats += more;
    if (more > 0) eventSeats += more * eventsOf(catalog, id);
  }
  const bytes = rowBytes + layoutSeats * LAYOUT_SEAT_BYTES;
  const eventBytes = eventSeats * EVENT_SEAT_BYTES;
  if (bytes > 0 && state.used.catalog + bytes > room.catalog) return FULL_CATALOG;
  return eventBytes > 0 && state.used.events + eventBytes > room.events ? FULL_EVENTS : null;
}

/** Of the objects that have no zone yet. */
function zoneBytes({ zoneAssignments }: Catalog, { schemaId, runs }: ZoneChange): number {
  const zoned = zoneAssignments.of(schemaId);
  if (zoned.size === 0) return countOfRuns(runs) * ZONE_BYTES;
  let bytes = 0;
  eachZone(runs, (id, zoneId) => {
    if (zoneId > 0 && !zoned.has(id)) bytes += ZONE_BYTES;
  });
  return bytes;
}

function storedRow(catalog: Catalog, { table, row }: CatalogPut): object | undefined {
  const rows: ReadonlyMap<number | string, object> = catalog[table];
  return rows.get(row.id);
}

/** The seats that an event gets when its row is stored, less those that it has. */
function seatsOfEvent(state: State, row: { schemaId: number; partition: number }): number {
  const now = state.partitions.layoutOf(row.partition)?.seatCount ?? 0;
  return state.layoutOf(row.schemaId).seatCount - now;
}

function eventsOf({ events }: Catalog, schemaId: number): number {
  let count = 0;
  for (const event of events.values()) if (event.schemaId === schemaId) count += 1;
  return count;
}
