/**
 * The shapes of command bodies as JSON Schema: data only. The front derives its validators and its
 * OpenAPI document from them, the library checks embedded callers with them.
 */
import type { CommandKind, Commands } from "./commands.ts";
import {
  AREA_CAPACITY_MAX,
  HOLD_TTL_SECONDS_MAX,
  HOLD_TYPE_LENGTH_MAX,
  HOLD_TYPES_MAX,
  KEY_GRACE_SECONDS_MAX,
  NAME_LENGTH_MAX,
  SESSION_LENGTH_MAX,
} from "./constants.ts";
import { isLocalDateTime } from "./local-time.ts";

export type Shape = Readonly<Record<string, unknown>>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EMAIL = /^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,190}$/u;
/** Control characters, and halves of a character that cannot be written as UTF-8. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/** The formats that the shapes use. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => UUID.test(text),
  /** Only the composed form: another spelling of a letter must not be another account's address. */
  email: (text) => EMAIL.test(text) && text === text.normalize("NFC"),
  "local-date-time": isLocalDateTime,
  /** A date-time, or a date that stands for its midnight. */
  "local-date": (text) => isLocalDateTime(text) || isLocalDateTime(`${text}T00:00`),
  /** A sequence number of the log, or a date-time or date. */
  moment: (text) => /^[1-9]\d{0,14}$/.test(text) || FORMATS["local-date"]!(text),
  /** One line of text that survives being written as UTF-8. */
  line: (text) => !UNPRINTABLE.test(text),
};

export const LONG: Shape = {
  type: "integer",
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
};
export const UUID_SHAPE: Shape = { type: "string", format: "uuid" };
export const LOCAL_DATE_TIME: Shape = { type: "string", format: "local-date-time" };
export const LOCAL_DATE: Shape = { type: "string", format: "local-date" };
export const NAME: Shape = {
  type: "string",
  minLength: 1,
  maxLength: NAME_LENGTH_MAX,
  format: "line",
};
export const PASSWORD: Shape = { type: "string", minLength: 8, maxLength: 128 };
const BOOLEAN: Shape = { type: "boolean" };
const OPTIONAL_LINE: Shape = {
  type: ["string", "null"],
  maxLength: NAME_LENGTH_MAX,
  format: "line",
};
const COUNT_OR_NULL: Shape = { type: ["integer", "null"], minimum: 0, maximum: AREA_CAPACITY_MAX };
const GUID: Shape = { type: "string", minLength: 1, maxLength: 64, format: "line" };
const LABEL: Shape = { type: "string", minLength: 1, maxLength: NAME_LENGTH_MAX, format: "line" };
const NUMBER_OR_NULL: Shape = { type: ["number", "null"] };

export function orNull(shape: Shape): Shape {
  return { ...shape, type: [shape["type"], "null"] };
}

export function object(
  properties: Readonly<Record<string, Shape>>,
  required: readonly string[] = [],
): Shape {
  return { type: "object", properties, required };
}

export function list(items: Shape, limits: Shape = {}): Shape {
  return { type: "array", items, ...limits };
}

const CHOICE = object({ id: LONG, capacity: { type: ["integer", "null"] } }, ["id"]);
const CHOICES: Shape = { type: ["array", "null"], items: CHOICE };

const STATE_SELECTION: Shape = object({
  sessionId: { type: ["string", "null"], maxLength: SESSION_LENGTH_MAX, format: "line" },
  seats: CHOICES,
  groupOfSeats: CHOICES,
  holdType: { type: ["string", "null"], maxLength: HOLD_TYPE_LENGTH_MAX, format: "line" },
});

const ASSIGNMENT = object({
  objectId: orNull(LONG),
  seatId: orNull(LONG),
  assignmentId: orNull(LONG),
  activeCount: COUNT_OR_NULL,
});
const OBJECTS: Shape = {
  type: ["array", "null"],
  items: object({ objectId: LONG }, ["objectId"]),
};
const ASSIGNMENTS: Shape = { type: ["array", "null"], items: ASSIGNMENT };
const ASSIGNMENT_SELECTION = object({ seats: ASSIGNMENTS, groupOfSeats: ASSIGNMENTS });

const VENUE = object(
  {
    id: orNull(LONG),
    name: NAME,
    address: OPTIONAL_LINE,
    lat: { type: ["number", "null"], minimum: -90, maximum: 90 },
    lng: { type: ["number", "null"], minimum: -180, maximum: 180 },
    draft: { type: ["boolean", "null"] },
  },
  ["name"],
);

const SCHEMA = object(
  {
    id: orNull(LONG),
    name: NAME,
    venueId: LONG,
    description: { type: ["string", "null"], maxLength: 10_000 },
    draft: { type: ["boolean", "null"] },
    template: { type: ["boolean", "null"] },
    archived: { type: ["boolean", "null"] },
    externalId: OPTIONAL_LINE,
    gaCapacity: COUNT_OR_NULL,
    seatsCapacity: COUNT_OR_NULL,
    preview: orNull(UUID_SHAPE),
    thumbnail: {},
  },
  ["name", "venueId"],
);

const SENT = { id: orNull(LONG), guid: GUID, toRemove: { type: ["boolean", "null"] } };
const XY = { x: NUMBER_OR_NULL, y: NUMBER_OR_NULL };

const SECTOR = object(
  {
    ...SENT,
    ...XY,
    name: LABEL,
    ga: BOOLEAN,
    angle: NUMBER_OR_NULL,
    gaCapacity: COUNT_OR_NULL,
    type: { type: "string", enum: ["SECTION", "TABLE"] },
  },
  ["guid", "name", "ga"],
);
const ROW = object({ ...SENT, sectorGuid: GUID, rowNumber: LABEL }, [
  "guid",
  "sectorGuid",
  "rowNumber",
]);
const SEAT = object({ ...SENT, ...XY, rowGuid: GUID, name: LABEL }, ["guid", "rowGuid", "name"]);

const LAYOUT = object({
  sectors: { type: ["array", "null"], items: SECTOR },
  rows: { type: ["array", "null"], items: ROW },
  seats: { type: ["array", "null"], items: SEAT },
  shapes: { type: ["array", "null"], items: { type: "object" } },
  clientViewBox: { type: ["object", "null"] },
});

export const EVENT_STATUS: Shape = { type: "string", enum: ["DRAFT", "PUBLISHED", "ARCHIVED"] };

const EVENT_MEMBERS = {
  name: NAME,
  start: LOCAL_DATE_TIME,
  endDate: LOCAL_DATE_TIME,
  schemaId: LONG,
};
const EVENT_REQUIRED = Object.keys(EVENT_MEMBERS);
const EVENT = object(
  { id: { type: "null" }, ...EVENT_MEMBERS, status: EVENT_STATUS },
  EVENT_REQUIRED,
);

/** What the interface takes to change an event: its id is in the body, not in the path. */
export const EVENT_WITH_ID: Shape = object({ id: UUID_SHAPE, ...EVENT_MEMBERS }, [
  "id",
  ...EVENT_REQUIRED,
]);

const PRICE_MEMBERS = { name: NAME, eventId: UUID_SHAPE, externalId: OPTIONAL_LINE };
const PRICE = object({ id: { type: "null" }, ...PRICE_MEMBERS }, ["name", "eventId"]);
const PRICE_WITH_ID = object({ id: LONG, ...PRICE_MEMBERS }, ["id", "name", "eventId"]);

const ZONE_MEMBERS = { name: NAME, schemaId: LONG };
const ZONE = object({ id: { type: "null" }, ...ZONE_MEMBERS }, ["name", "schemaId"]);
const ZONE_WITH_ID = object({ id: LONG, ...ZONE_MEMBERS }, ["id", "name", "schemaId"]);

const ROTATION = object({
  graceSeconds: { type: "integer", minimum: 0, maximum: KEY_GRACE_SECONDS_MAX },
});

const ORGANIZATION_MEMBERS = {
  name: NAME,
  domain: OPTIONAL_LINE,
  autologinEnabled: BOOLEAN,
  appendDomainToLogin: BOOLEAN,
  type: { type: "string", enum: ["VENUE", "DEFAULT"] },
};

/** What the interface takes to create an organization: with the administrator's account. */
export const ORGANIZATION_WITH_USER: Shape = object(
  {
    ...ORGANIZATION_MEMBERS,
    email: { type: "string", format: "email" },
    firstName: NAME,
    lastName: NAME,
    password: PASSWORD,
  },
  ["name", "email", "firstName", "lastName", "password"],
);

const HOLD_TYPE = object(
  {
    name: { type: "string", minLength: 1, maxLength: HOLD_TYPE_LENGTH_MAX, format: "line" },
    ttlSeconds: { type: ["integer", "null"], minimum: 1, maximum: HOLD_TTL_SECONDS_MAX },
  },
  ["name"],
);

/** Commands that carry a body in the wire form. */
export type BodyKind = {
  [K in CommandKind]: "body" extends keyof Commands[K] ? K : never;
}[CommandKind];

/** The shape of each command's body. */
export const BODIES: Readonly<Record<BodyKind, Shape>> = {
  createOrganization: object(ORGANIZATION_MEMBERS, ["name"]),
  updateOrganization: object({ id: LONG, ...ORGANIZATION_MEMBERS }, ["id", "name"]),
  configureSessions: object({ publicSessionsEnabled: BOOLEAN }, ["publicSessionsEnabled"]),
  rotateOrganizationKey: ROTATION,
  rotateTenantToken: ROTATION,
  changeSettings: object({
    salesControl: BOOLEAN,
    bookingEnabled: BOOLEAN,
    orphanPrevention: BOOLEAN,
  }),
  replaceHoldTypes: list(HOLD_TYPE, { maxItems: HOLD_TYPES_MAX }),
  createVenue: VENUE,
  updateVenue: VENUE,
  createSchema: SCHEMA,
  updateSchema: SCHEMA,
  putLayout: LAYOUT,
  createZones: list(ZONE),
  updateZones: list(ZONE_WITH_ID),
  assignZones: ASSIGNMENT_SELECTION,
  createSeries: object({ name: NAME }, ["name"]),
  createEvent: EVENT,
  updateEvent: object(EVENT_MEMBERS, EVENT_REQUIRED),
  bindEvent: object({ seriesId: orNull(LONG) }, ["seriesId"]),
  changeEventStatus: object({ status: EVENT_STATUS }, ["status"]),
  createPrices: list(PRICE),
  updatePrices: list(PRICE_WITH_ID),
  assignPrices: ASSIGNMENT_SELECTION,
  unassignPrices: object({ seats: OBJECTS, groupOfSeats: OBJECTS }),
  lock: STATE_SELECTION,
  unlock: STATE_SELECTION,
  sale: STATE_SELECTION,
  revertsale: STATE_SELECTION,
  directsale: STATE_SELECTION,
  block: STATE_SELECTION,
  unblock: STATE_SELECTION,
};
