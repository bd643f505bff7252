/** The shapes of command bodies, and their derived types. */
import {
  ADMISSION_LENGTH_MAX,
  AMOUNT_MAX,
  BEACON_LENGTH_MAX,
  BEST_GROUPS_MAX,
  BEST_PRICES_MAX,
  BEST_QUANTITY_MAX,
  CART_ITEMS_MAX,
  CHANNEL_GROUPS_MAX,
  CHANNEL_SEATS_MAX,
  CLAIM_SECONDS_MAX,
  EXTENSION_SECONDS_MAX,
  HOLD_TTL_SECONDS_MAX,
  HOLD_TYPE_LENGTH_MAX,
  HOLD_TYPES_MAX,
  INSIDE_SECONDS_MAX,
  INVITED_PER_MINUTE_MAX,
  KEY_GRACE_SECONDS_MAX,
  NAME_LENGTH_MAX,
  OBJECTS_PER_REQUEST_MAX,
  ORGANIZATION_LIMIT_MAX,
  SEAT_RANK_MAX,
  SESSION_LENGTH_MAX,
  URL_LENGTH_MAX,
  WEBHOOK_EVENTS_MAX,
} from "./constants.ts";
import { ActorKind } from "./records.ts";
import {
  ANYTHING,
  BOOLEAN,
  CAPACITY,
  CHANNEL_KEY,
  CURRENCY,
  EMAIL,
  EVENT_STATUS,
  exactObject,
  integer,
  LINE,
  list,
  LOCAL_DATE_TIME,
  LONG,
  map,
  mapOrList,
  NAME,
  NULL,
  number,
  object,
  oneOf,
  openObject,
  optional,
  ORGANIZATION_TYPE,
  ORPHAN_MODE,
  orNull,
  RECORD,
  type Shape,
  TEXT,
  text,
  type TypeOf,
  UUID,
  WEBHOOK_TYPE,
  whenSet,
} from "./schema.ts";

const OPTIONAL_FLAG = optional(BOOLEAN);
const OPTIONAL_ID = optional(LONG);
const OPTIONAL_LINE = optional(LINE);
/** The body of a creation may have an `id`, but only null. */
const NO_ID = optional(NULL);

const HOLD_TYPE_LIMITS = { maxLength: HOLD_TYPE_LENGTH_MAX, format: "name" };

/** The number of a hold, a sale or a block: the sequence of its record. */
const FENCE = integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** A seat, or places of an area. */
const CHOICE = object({ id: LONG, capacity: optional(integer()) });
/** A seat by its id, or `capacity` places of the area with the id. */
export type SeatChoice = TypeOf<typeof CHOICE>;

const SESSION = text({ maxLength: SESSION_LENGTH_MAX, format: "line" });
const FENCES = map(FENCE, OBJECTS_PER_REQUEST_MAX);

const ADMISSION_TOKEN = text({ maxLength: ADMISSION_LENGTH_MAX, format: "line" });

/** By id of a seat or an area. */
const PRICE_GUARDS = map(integer(), OBJECTS_PER_REQUEST_MAX);
/** Of `best`. */
const WISHED_PRICES = list(LONG, { maxItems: BEST_PRICES_MAX });

const SELECTION_MEMBERS = {
  sessionId: optional(SESSION),
  seats: optional(list(CHOICE)),
  groupOfSeats: optional(list(CHOICE)),
  holdType: optional(text(HOLD_TYPE_LIMITS)),
  /** Of every object that `fences` does not name. */
  fence: optional(FENCE),
  /** By seat id. */
  fences: optional(FENCES),
  fromBlocked: OPTIONAL_FLAG,
  toBlocked: OPTIONAL_FLAG,
  all: OPTIONAL_FLAG,
  priceIds: optional(PRICE_GUARDS),
  /** LOCK: the token of a visitor, where the event has a door. */
  admission: optional(ADMISSION_TOKEN),
  /** LOCK and DIRECT_SALE: seats that the event keeps for this channel are taken, too. */
  channel: optional(CHANNEL_KEY),
};
export const STATE_SELECTION = object(SELECTION_MEMBERS);
/**
 * Objects of a booking call, each once: `seats`, and places of areas in `groupOfSeats`, at most
 * 1,000 in all. A lock is held by the session; without `holdType` it is a CART. Fences guard an
 * unlock, a sale, a revertsale and an unblock: `fences` by seat id, `fence` for every other object.
 * `priceIds` guard a lock, a sale and a direct sale: an object with another price is refused. With
 * `all`, an unlock or a sale takes everything that the session holds. With `fromBlocked`, a lock or
 * a direct sale takes BLOCKED inventory, too; with `toBlocked`, an unlock or a revertsale leaves it
 * BLOCKED. With `channel`, a lock or a direct sale takes seats kept for that channel, too.
 */
export type StateSelection = TypeOf<typeof STATE_SELECTION>;

const EXTENSION_SECONDS = integer({ minimum: 1, maximum: EXTENSION_SECONDS_MAX });
export const EXTENSION = object({
  sessionId: optional(SESSION),
  seats: optional(list(CHOICE)),
  /** Refused by the command: places are named by their hold or session. */
  groupOfSeats: optional(ANYTHING),
  fence: optional(FENCE),
  fences: optional(FENCES),
  seconds: EXTENSION_SECONDS,
});
/**
 * The holds that are to end `seconds` from now: those of the `seats`; without seats the one with the
 * number `fence`; without both all of the session. With a session only holds of it. `fence` and
 * `fences` guard the holds of the seats, as in a `StateSelection`.
 */
export type Extension = TypeOf<typeof EXTENSION>;

const WISH_MEMBERS = {
  quantity: integer({ minimum: 1, maximum: BEST_QUANTITY_MAX }),
  priceIds: optional(WISHED_PRICES),
  groupOfSeatsIds: optional(list(LONG, { maxItems: BEST_GROUPS_MAX })),
  accessible: optional(integer({ minimum: 0, maximum: BEST_QUANTITY_MAX })),
  includeAccessible: OPTIONAL_FLAG,
  adjacent: optional(oneOf(["required", "preferred"])),
  avoidOrphans: optional(BOOLEAN),
};
export const BEST_REQUEST = object({
  sessionId: optional(SESSION),
  ...WISH_MEMBERS,
  holdType: optional(text(HOLD_TYPE_LIMITS)),
  fence: optional(FENCE),
  fences: optional(FENCES),
  admission: optional(ADMISSION_TOKEN),
  channel: optional(CHANNEL_KEY),
});
/**
 * Wishes for the best places: `quantity` seats together, or places of an area that
 * `groupOfSeatsIds` names, at any of the prices `priceIds` and in any of the groups
 * `groupOfSeatsIds`. Of the seats, `accessible` are accessible ones, and with `includeAccessible`
 * others may be, too. With `adjacent` preferred they may be in several rows; with `avoidOrphans`,
 * the default, places that leave fewer single seats are better. With `channel`, seats kept for it
 * are candidates, too. Fences must be left out.
 */
export type BestRequest = TypeOf<typeof BEST_REQUEST>;

/** Calls of the items of a cart. */
export const CART_CALLS = [
  "lock",
  "unlock",
  "sale",
  "revertsale",
  "directsale",
  "block",
  "unblock",
  "extend",
  "best",
] as const;
const CART_ITEM = object({
  eventId: UUID,
  call: oneOf(CART_CALLS),
  ...SELECTION_MEMBERS,
  ...WISH_MEMBERS,
  quantity: optional(WISH_MEMBERS.quantity),
  /** The guards of a selection, or the wished prices of `best`. */
  priceIds: optional(mapOrList(PRICE_GUARDS, WISHED_PRICES)),
  seconds: optional(EXTENSION_SECONDS),
  /** The last record of the event before the cart. */
  ifSequence: optional(integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
});
/**
 * A booking call on an event, with its members. Its `sessionId` beats that of the cart. With
 * `ifSequence` the cart is refused unless that is the last record of the event before it.
 */
export type CartItem = TypeOf<typeof CART_ITEM>;
export const CART = object({
  sessionId: optional(SESSION),
  items: list(CART_ITEM, { minItems: 1, maxItems: CART_ITEMS_MAX }),
});
/**
 * Calls on one or more events, all or none, in order: each finds what those before it leave. Up to
 * 50 items with 1,000 objects in all, of which `best` counts its quantity. The locks and the best
 * places in one event are one hold.
 */
export type Cart = TypeOf<typeof CART>;

const ASSIGNMENT = object({
  objectId: OPTIONAL_ID,
  /** Another name for `objectId`. */
  seatId: OPTIONAL_ID,
  /** The price, or the pricing zone. */
  assignmentId: OPTIONAL_ID,
  activeCount: optional(CAPACITY),
});
/**
 * A price or zone for an object: a seat, row, section, table or area. `activeCount` is the number
 * of places of an area that go on sale; without it, those of the layout do.
 */
export type AssignmentItem = TypeOf<typeof ASSIGNMENT>;

const ASSIGNMENT_LISTS = {
  seats: optional(list(ASSIGNMENT)),
  groupOfSeats: optional(list(ASSIGNMENT)),
};
/** Prices or pricing zones for seats and groups of seats. */
export const ASSIGNMENTS = object(ASSIGNMENT_LISTS);
/**
 * Prices or zones for objects: `seats` by id; rows, sections, tables and areas in `groupOfSeats`.
 */
export type AssignmentSelection = TypeOf<typeof ASSIGNMENTS>;

export const PRICE_ASSIGNMENTS = object({ ...ASSIGNMENT_LISTS, onlyActive: OPTIONAL_FLAG });
/**
 * Prices for objects. With `onlyActive`, a LOCKED, SOLD or BLOCKED seat keeps its price, and an area
 * with such places its price and capacity.
 */
export type PriceAssignments = TypeOf<typeof PRICE_ASSIGNMENTS>;

const OBJECT = object({ objectId: LONG });
/** Seats and areas. */
export const OBJECTS = object({
  seats: optional(list(OBJECT)),
  groupOfSeats: optional(list(OBJECT)),
});
/** Objects by id: `seats`; rows, sections, tables and areas in `groupOfSeats`. */
export type ObjectSelection = TypeOf<typeof OBJECTS>;

export const VENUE = object({
  id: OPTIONAL_ID,
  name: NAME,
  address: optional(text({ maxLength: NAME_LENGTH_MAX, format: "text" })),
  lat: optional(number({ minimum: -90, maximum: 90 })),
  lng: optional(number({ minimum: -180, maximum: 180 })),
  draft: OPTIONAL_FLAG,
});
/** A venue. `lat` and `lng` are in degrees. */
export type VenueBody = TypeOf<typeof VENUE>;

export const SCHEMA = object({
  id: OPTIONAL_ID,
  name: NAME,
  venueId: LONG,
  description: optional(text({ maxLength: 10_000, format: "text" })),
  draft: OPTIONAL_FLAG,
  template: OPTIONAL_FLAG,
  archived: OPTIONAL_FLAG,
  externalId: OPTIONAL_LINE,
  gaCapacity: optional(CAPACITY),
  seatsCapacity: optional(CAPACITY),
  preview: optional(UUID),
  thumbnail: optional(ANYTHING),
});
/** A schema. `seatsCapacity` counts seats, `gaCapacity` the places of all its areas. */
export type SchemaBody = TypeOf<typeof SCHEMA>;

/** Members of every object of a layout. A stored object has an id. */
const SENT = { id: OPTIONAL_ID, guid: UUID, toRemove: OPTIONAL_FLAG };
const SENT_OBJECT = openObject(SENT);
export type SentObject = TypeOf<typeof SENT_OBJECT>;
const POSITION = { x: optional(number()), y: optional(number()) };

const SECTOR = openObject({
  ...SENT,
  ...POSITION,
  name: NAME,
  ga: BOOLEAN,
  angle: optional(number()),
  gaCapacity: optional(CAPACITY),
  type: optional(oneOf(["SECTION", "TABLE"])),
});
/**
 * A section or table with rows; or with `ga`, an area with `gaCapacity` places. `x` and `y` are
 * drawing units, `angle` is in degrees.
 */
export type SentSector = TypeOf<typeof SECTOR>;

const ROW = openObject({ ...SENT, sectorGuid: UUID, rowNumber: NAME });
/** A row of the section with the guid `sectorGuid`. `rowNumber` is its label, such as "A". */
export type SentRow = TypeOf<typeof ROW>;

const SEAT = openObject({
  ...SENT,
  ...POSITION,
  rowGuid: UUID,
  name: NAME,
  rank: optional(integer({ minimum: 0, maximum: SEAT_RANK_MAX })),
});
/**
 * A seat of the row with the guid `rowGuid`. `x` and `y` are drawing units within the section. Of
 * two seats, `best` prefers the one with the smaller `rank`.
 */
export type SentSeat = TypeOf<typeof SEAT>;

const SHAPE = openObject({
  id: optional(UUID),
  purpose: optional(oneOf(["OBJECT", "UNDERLAY", "GA", "OUTLINE"])),
  groupOfSeatsGuid: optional(UUID),
  toRemove: OPTIONAL_FLAG,
});
export type SentShape = TypeOf<typeof SHAPE>;

const namesOf = (shape: Shape) => Object.keys(shape["properties"] as object);
/** Members without the drawing members, by kind of object. An outline may be long. */
export const LAYOUT_OBJECT_MEMBERS = {
  sectors: new Set(namesOf(SECTOR)),
  rows: new Set(namesOf(ROW)),
  seats: new Set(namesOf(SEAT)),
  shapes: new Set([...namesOf(SHAPE), "points"]),
} as const;

/** Without further members: a misspelled list would make an empty plan. */
export const LAYOUT = exactObject({
  sectors: optional(list(SECTOR)),
  rows: optional(list(ROW)),
  seats: optional(list(SEAT)),
  shapes: optional(list(SHAPE)),
  clientViewBox: optional(RECORD),
  focalPoint: optional(object({ x: number(), y: number() })),
  /** Ignored: an answer of this call may be sent back. */
  inUse: optional(ANYTHING),
});
/**
 * A layout, or the changed part of it: missing objects stay as they are. Without ranks, `best`
 * prefers the seats closest to the focal point.
 */
export type LayoutBody = TypeOf<typeof LAYOUT>;

export const EVENT_MEMBERS = {
  name: NAME,
  start: LOCAL_DATE_TIME,
  endDate: LOCAL_DATE_TIME,
  schemaId: LONG,
};
export const EVENT = object({ id: NO_ID, ...EVENT_MEMBERS, status: optional(EVENT_STATUS) });
/** An event. `start` and `endDate` are local date-times, such as 2030-05-01T20:00:00. */
export type EventBody = TypeOf<typeof EVENT>;
export const EVENT_CHANGE = object(EVENT_MEMBERS);
/** The members of an event that a change replaces. */
export type EventChange = TypeOf<typeof EVENT_CHANGE>;
export const EVENT_COPY = object({
  name: optional(NAME),
  start: optional(LOCAL_DATE_TIME),
  endDate: optional(LOCAL_DATE_TIME),
  status: optional(oneOf(["DRAFT", "PUBLISHED"])),
});
/** Changes for the clone of an event. Its `status` is DRAFT by default. */
export type EventCopy = TypeOf<typeof EVENT_COPY>;

export const CHANNEL = object({
  name: NAME,
  seats: optional(list(LONG, { maxItems: CHANNEL_SEATS_MAX })),
  groupOfSeatsIds: optional(list(LONG, { maxItems: CHANNEL_GROUPS_MAX })),
});
/**
 * A channel of an event: the seats that it keeps, by id in `seats`, and those that the sections,
 * tables and rows of `groupOfSeatsIds` have now.
 */
export type ChannelBody = TypeOf<typeof CHANNEL>;

const PRICE_MEMBERS = { name: NAME, eventId: UUID, externalId: OPTIONAL_LINE };
const MONEY = {
  amount: optional(integer({ minimum: 0, maximum: AMOUNT_MAX })),
  currency: optional(CURRENCY),
};
export const PRICE = object({ id: NO_ID, ...PRICE_MEMBERS, ...MONEY });
/** A price of an event. `amount` is in minor units of `currency`: both are given, or neither. */
export type PriceBody = TypeOf<typeof PRICE>;
export const PRICE_CHANGE = object({ id: LONG, ...PRICE_MEMBERS, ...MONEY });
/** A price with its new name, external id and amount. */
export type PriceChange = TypeOf<typeof PRICE_CHANGE>;
/** In v1, which ignores amounts. */
export const LEGACY_PRICE = object({ id: NO_ID, ...PRICE_MEMBERS });
export const LEGACY_PRICE_CHANGE = object({ id: LONG, ...PRICE_MEMBERS });

const ZONE_MEMBERS = { name: NAME, schemaId: LONG };
export const ZONE = object({ id: NO_ID, ...ZONE_MEMBERS });
/** A pricing zone of a schema. */
export type ZoneBody = TypeOf<typeof ZONE>;
export const ZONE_CHANGE = object({ id: LONG, ...ZONE_MEMBERS });
/** A pricing zone with its new name. */
export type ZoneChange = TypeOf<typeof ZONE_CHANGE>;

export const ORGANIZATION_MEMBERS = {
  name: NAME,
  domain: OPTIONAL_LINE,
  autologinEnabled: optional(BOOLEAN),
  appendDomainToLogin: optional(BOOLEAN),
  type: optional(ORGANIZATION_TYPE),
};
export const ORGANIZATION = object(ORGANIZATION_MEMBERS);
/** An organization. */
export type OrganizationBody = TypeOf<typeof ORGANIZATION>;
export const ORGANIZATION_CHANGE = object({ id: LONG, ...ORGANIZATION_MEMBERS });
/** The new members of an organization. */
export type OrganizationChange = TypeOf<typeof ORGANIZATION_CHANGE>;

const PERCENT = integer({ minimum: 1, maximum: 100 });
/** Limits of an organization; 0 for none. */
const LIMIT = optional(integer({ minimum: 0, maximum: ORGANIZATION_LIMIT_MAX }));
export const LIMITS = {
  heldPerSession: LIMIT,
  heldPerEvent: LIMIT,
  requestsPerSecond: LIMIT,
  bookingsPerSecond: LIMIT,
};
export const SETTINGS = object({
  salesControl: optional(BOOLEAN),
  bookingEnabled: optional(BOOLEAN),
  orphanPrevention: optional(BOOLEAN),
  orphanMode: optional(ORPHAN_MODE),
  orphanUntilSold: optional(PERCENT),
  protectSales: optional(BOOLEAN),
  ...LIMITS,
});
/** The settings to change; the others stay. With null, `orphanUntilSold` becomes none. */
export type SettingsBody = TypeOf<typeof SETTINGS>;

export const EVENT_RULES = object({
  orphanMode: optional(ORPHAN_MODE),
  orphanUntilSold: optional(PERCENT),
  heldPerSession: LIMIT,
  heldPerEvent: LIMIT,
});
/**
 * The event's own rules: all of them. A missing one is that of the organization; `orphanUntilSold`
 * goes with `orphanMode`. A limit of 0 is none.
 */
export type EventRulesBody = TypeOf<typeof EVENT_RULES>;

const BEACON_TEXT = text({ minLength: 1, maxLength: BEACON_LENGTH_MAX, format: "line" });
export const ADMISSION = object({
  opensAt: LOCAL_DATE_TIME,
  perMinute: integer({ minimum: 1, maximum: INVITED_PER_MINUTE_MAX }),
  maxInside: optional(integer({ minimum: 1, maximum: ORGANIZATION_LIMIT_MAX })),
  claimSeconds: optional(integer({ minimum: 5, maximum: CLAIM_SECONDS_MAX })),
  insideSeconds: optional(integer({ minimum: 5, maximum: INSIDE_SECONDS_MAX })),
  seatsPerVisitor: optional(integer({ minimum: 1, maximum: OBJECTS_PER_REQUEST_MAX })),
  draw: OPTIONAL_FLAG,
  /** A public text that decides the draw as well; it comes to exist at the opening. */
  beacon: optional(object({ name: BEACON_TEXT, value: optional(BEACON_TEXT) })),
  paused: OPTIONAL_FLAG,
  exemptHoldTypes: optional(
    list(text({ minLength: 1, ...HOLD_TYPE_LIMITS }), { maxItems: HOLD_TYPES_MAX }),
  ),
  shop: optional(text({ minLength: 1, maxLength: URL_LENGTH_MAX, format: "line" })),
});
/**
 * The settings of a door: all of them. Those that are left out get their defaults. A `beacon` is
 * named before `opensAt`, and gets its value after it.
 */
export type AdmissionBody = TypeOf<typeof ADMISSION>;

const HOLD_TYPE = object({
  name: text({ minLength: 1, ...HOLD_TYPE_LIMITS }),
  ttlSeconds: optional(integer({ minimum: 1, maximum: HOLD_TTL_SECONDS_MAX })),
  maxSeconds: optional(integer({ minimum: 1, maximum: HOLD_TTL_SECONDS_MAX })),
});
export const HOLD_TYPES = list(HOLD_TYPE, { maxItems: HOLD_TYPES_MAX });
/**
 * Kinds of holds. `ttlSeconds` is how long such a hold lasts; null for no end. `maxSeconds` is how
 * long it lasts at most, with extensions; `ttlSeconds` by default.
 */
export type HoldTypesBody = TypeOf<typeof HOLD_TYPES>;

export const ROTATION = object({
  /** Validity of the old key from now on, in seconds. */
  graceSeconds: optional(integer({ minimum: 0, maximum: KEY_GRACE_SECONDS_MAX })),
});
/** Replacement of a key. */
export type RotationBody = TypeOf<typeof ROTATION>;

const WEBHOOK_MEMBERS = {
  url: text({ minLength: 1, maxLength: URL_LENGTH_MAX, format: "line" }),
  events: list(WEBHOOK_TYPE, { minItems: 1, maxItems: 4 }),
  eventIds: optional(list(UUID, { maxItems: WEBHOOK_EVENTS_MAX })),
  active: OPTIONAL_FLAG,
};
export const WEBHOOK = object({ id: NO_ID, ...WEBHOOK_MEMBERS });
/** A webhook: what is sent where. Without `eventIds`, that of all events of the organization. */
export type WebhookBody = TypeOf<typeof WEBHOOK>;
export const WEBHOOK_CHANGE = object({ id: LONG, ...WEBHOOK_MEMBERS });
/** A webhook with its new members. Those that are left out get their defaults. */
export type WebhookChange = TypeOf<typeof WEBHOOK_CHANGE>;

/** May be empty. */
const GIVEN_NAME = text({ maxLength: NAME_LENGTH_MAX, format: "name" });
/** The account that becomes administrator of a new tenant or organization. */
export const ADMINISTRATOR = object({
  email: EMAIL,
  firstName: GIVEN_NAME,
  lastName: GIVEN_NAME,
  passwordHash: TEXT,
});
export type Administrator = TypeOf<typeof ADMINISTRATOR>;

/** The hashes of a login's two tokens, and when each expires (milliseconds since 1970). */
export const LOGIN_TOKENS = object({
  tokenSha256: TEXT,
  tokenExpiresAtMs: integer(),
  refreshSha256: TEXT,
  refreshExpiresAtMs: integer(),
});
export type LoginTokens = TypeOf<typeof LOGIN_TOKENS>;

/** A reply that is stored under its `Idempotency-Key`. */
export const REPLY = object({
  id: TEXT,
  fingerprint: TEXT,
  status: integer(),
  /** Null when it is a layout, or is not kept: then a retry is refused. */
  body: orNull(TEXT),
  layout: whenSet(
    object({
      schemaId: LONG,
      version: integer(),
      inUse: object({ renamed: integer(), moved: integer() }),
    }),
  ),
});
export type ReplyBody = TypeOf<typeof REPLY>;

/** As `ReplyBudget`. */
export const REPLY_BUDGET = object({
  memory: integer(),
  memoryOfOwner: integer(),
  disk: integer(),
  diskOfOwner: integer(),
});

// The sender of a command, from the library as from the front.

const ID = integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const ACTOR_KIND: Shape<ActorKind> = { type: "integer", enum: Object.values(ActorKind) };

export const CALLER = exactObject({
  actor: exactObject({ kind: ACTOR_KIND, id: ID }),
  tenantId: ID,
  /** 0 when the caller acts for its tenant and names no organization. */
  organizationId: ID,
});
export type Caller = TypeOf<typeof CALLER>;

/** The input of a decision: the caller and the members of its command. */
export type CommandWith<Members> = Readonly<Members> & { readonly caller: Caller };
