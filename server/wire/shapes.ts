/** The shapes of answers, as JSON Schema: for the OpenAPI document and the tests. */
import { SEAT_SORTS } from "../../engine/queries/seat-listing.ts";
import {
  EVENT_STATUS,
  LOCAL_DATE_TIME,
  LONG,
  NUMBER_OR_NULL,
  ORGANIZATION_TYPE,
  UUID,
} from "../../engine/shapes/fields.ts";
import {
  ANYTHING,
  BOOLEAN,
  integer,
  list,
  object,
  oneOf,
  orNull,
  RECORD,
  type Shape,
  TEXT,
  text,
  whenSet,
} from "../../engine/shapes/shape.ts";

const TEXT_OR_NULL = orNull(TEXT);
const COUNT = integer({ minimum: 0 });
const COUNT_OR_NULL = orNull(COUNT);

export const DONE = BOOLEAN;

const ORGANIZATION_MEMBERS = {
  id: LONG,
  name: TEXT,
  publicKey: UUID,
  privateKey: UUID,
  domain: TEXT_OR_NULL,
  autologinEnabled: BOOLEAN,
  appendDomainToLogin: BOOLEAN,
  type: ORGANIZATION_TYPE,
  tenantId: LONG,
};
export const ORGANIZATION = object(ORGANIZATION_MEMBERS);
export const NEW_ORGANIZATION = object({ ...ORGANIZATION_MEMBERS, secretKey: TEXT });

export const SETTINGS = object({
  salesControl: BOOLEAN,
  bookingEnabled: BOOLEAN,
  orphanPrevention: BOOLEAN,
});

export const SESSION_CONFIG = object({ publicSessionsEnabled: BOOLEAN });

export const SECRET_KEY = object({ secretKey: TEXT });
export const TENANT_TOKEN = object({ tenantToken: TEXT });

export const TENANT = object({ id: LONG, name: TEXT });
export const NEW_TENANT = object({ id: LONG, name: TEXT, tenantToken: TEXT });

export const HOLD_TYPES = list(object({ name: TEXT, ttlSeconds: COUNT_OR_NULL }));

export const VENUE = object({
  id: LONG,
  name: TEXT,
  address: TEXT_OR_NULL,
  lat: NUMBER_OR_NULL,
  lng: NUMBER_OR_NULL,
  draft: BOOLEAN,
});

export const SCHEMA = object({
  id: LONG,
  name: TEXT,
  venueId: LONG,
  description: TEXT_OR_NULL,
  draft: BOOLEAN,
  template: BOOLEAN,
  archived: BOOLEAN,
  externalId: TEXT_OR_NULL,
  gaCapacity: COUNT_OR_NULL,
  seatsCapacity: COUNT_OR_NULL,
  preview: orNull(UUID),
  thumbnail: ANYTHING,
  venueName: TEXT_OR_NULL,
});

const DRAWN_SHAPE = object({ id: whenSet(TEXT) });

export const GROUP_OF_SEATS = object({
  id: LONG,
  name: TEXT,
  prefix: TEXT_OR_NULL,
  seatPrefix: TEXT_OR_NULL,
  parentId: orNull(LONG),
  type: oneOf(["SECTION", "ROW", "GA", "TABLE"]),
  ga: BOOLEAN,
  schemaId: LONG,
  pricingZoneId: orNull(LONG),
  guid: UUID,
  externalId: TEXT_OR_NULL,
  shapes: orNull(list(DRAWN_SHAPE)),
  width: NUMBER_OR_NULL,
  height: NUMBER_OR_NULL,
  left: NUMBER_OR_NULL,
  top: NUMBER_OR_NULL,
  angle: NUMBER_OR_NULL,
});

export const LAYOUT = object({
  sectors: list(object({ id: LONG, guid: TEXT, name: TEXT, ga: whenSet(BOOLEAN) })),
  rows: list(object({ id: LONG, guid: TEXT, sectorGuid: TEXT })),
  seats: list(object({ id: LONG, guid: TEXT, rowGuid: whenSet(TEXT), name: TEXT })),
  shapes: list(RECORD),
  clientViewBox: orNull(RECORD),
});

const EVENT_MEMBERS = {
  id: UUID,
  createdDate: LOCAL_DATE_TIME,
  start: LOCAL_DATE_TIME,
  endDate: LOCAL_DATE_TIME,
  name: TEXT,
  schemaId: LONG,
  status: EVENT_STATUS,
};
export const EVENT = object(EVENT_MEMBERS);
export const EVENT_EXPAND = object({
  ...EVENT_MEMBERS,
  schemaName: TEXT_OR_NULL,
  venueId: TEXT_OR_NULL,
  venueName: TEXT_OR_NULL,
});
export const EVENT_STATUS_CHANGE = object({
  id: UUID,
  name: TEXT,
  status: EVENT_STATUS,
  publishedAt: orNull(LOCAL_DATE_TIME),
});

export const EVENT_SERIES = object({ id: UUID, name: TEXT, seriesId: orNull(LONG) });

export const SERIES = object({ id: LONG, name: TEXT });

export const PRICING_ZONE = object({ id: LONG, name: TEXT, schemaId: LONG });

export const CLONE = object({
  id: UUID,
  status: oneOf(["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"]),
  schemaId: orNull(LONG),
  errorMessage: TEXT_OR_NULL,
});

const STATE: Shape = {
  type: ["string", "null"],
  enum: ["ACTIVE", "LOCKED", "SOLD", "BLOCKED", null],
};

export const EVENT_SEAT = object({
  seatId: LONG,
  seatName: TEXT,
  rowId: LONG,
  rowName: TEXT,
  sectionId: LONG,
  sectionName: TEXT,
  state: STATE,
  available: BOOLEAN,
  priceId: orNull(LONG),
  priceName: TEXT_OR_NULL,
  updatedAt: LOCAL_DATE_TIME,
} satisfies Record<(typeof SEAT_SORTS)[number] | "available", Shape>);

export const AREA = object({
  groupOfSeatsId: LONG,
  name: TEXT,
  priceId: orNull(LONG),
  priceName: TEXT_OR_NULL,
  capacity: COUNT,
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
  updatedAt: LOCAL_DATE_TIME,
});

/** A transition of one seat, or of some places of an area. */
export const AUDIT_ENTRY = object({
  sequence: LONG,
  ordinal: COUNT,
  time: LOCAL_DATE_TIME,
  call: TEXT,
  actorType: oneOf(["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"]),
  actorId: orNull(LONG),
  sessionId: TEXT_OR_NULL,
  holdType: TEXT_OR_NULL,
  holdSequence: orNull(LONG),
  seatId: orNull(LONG),
  groupOfSeatsId: orNull(LONG),
  capacity: COUNT_OR_NULL,
  fromState: STATE,
  toState: STATE,
  priceId: orNull(LONG),
});

/** The part of the log that the trail covers. */
export const AUDIT_TRAIL = object({
  firstSequence: LONG,
  firstTime: orNull(LOCAL_DATE_TIME),
  lastSequence: COUNT,
});

export const PRICE = object({
  id: LONG,
  name: TEXT,
  eventId: UUID,
  externalId: TEXT_OR_NULL,
});

export const USER = object({
  id: LONG,
  email: TEXT,
  name: TEXT,
  organizationId: orNull(LONG),
});

export const LOGIN = object({
  success: BOOLEAN,
  token: TEXT,
  refreshToken: TEXT,
  user: USER,
  organizations: list(object({ id: LONG, name: TEXT, secretKey: TEXT })),
  tenantToken: whenSet(TEXT),
});
export const LOGIN_FAILURE = object({ success: BOOLEAN, error: TEXT });

export const HEALTH = object({ status: TEXT });

export const PROBLEM = object({
  type: TEXT,
  title: TEXT,
  status: integer(),
  detail: TEXT,
  instance: TEXT,
  timestamp: text({ format: "date-time" }),
  path: TEXT,
  errorCode: TEXT,
  errors: list(object({ field: TEXT, message: TEXT, rejectedValue: ANYTHING, code: TEXT })),
});
