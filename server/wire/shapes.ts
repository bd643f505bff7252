/** The shapes of what is answered, as JSON Schema: for the OpenAPI document and the tests. */
import { SEAT_SORTS } from "../../engine/queries/seat-listing.ts";
import {
  EVENT_STATUS,
  list,
  LOCAL_DATE_TIME,
  LONG,
  object,
  orNull,
  type Shape,
  UUID_SHAPE,
} from "../../engine/shapes.ts";

const TEXT: Shape = { type: "string" };
const TEXT_OR_NULL: Shape = { type: ["string", "null"] };
const BOOLEAN: Shape = { type: "boolean" };
const NUMBER_OR_NULL: Shape = { type: ["number", "null"] };
const COUNT: Shape = { type: "integer", minimum: 0 };
const COUNT_OR_NULL: Shape = { type: ["integer", "null"], minimum: 0 };

export const DONE: Shape = { type: "boolean" };

/** An object whose members are all there. */
export function whole(properties: Readonly<Record<string, Shape>>): Shape {
  return object(properties, Object.keys(properties));
}

export const ORGANIZATION: Shape = object(
  {
    id: LONG,
    name: TEXT,
    publicKey: UUID_SHAPE,
    privateKey: UUID_SHAPE,
    domain: TEXT_OR_NULL,
    autologinEnabled: BOOLEAN,
    appendDomainToLogin: BOOLEAN,
    type: { type: "string", enum: ["VENUE", "DEFAULT"] },
    tenantId: LONG,
    secretKey: TEXT,
  },
  ["id", "name", "publicKey", "privateKey", "domain", "type", "tenantId"],
);

export const SETTINGS: Shape = whole({
  salesControl: BOOLEAN,
  bookingEnabled: BOOLEAN,
  orphanPrevention: BOOLEAN,
});

export const SESSION_CONFIG: Shape = whole({ publicSessionsEnabled: BOOLEAN });

export const SECRET_KEY: Shape = whole({ secretKey: TEXT });
export const TENANT_TOKEN: Shape = whole({ tenantToken: TEXT });

export const TENANT: Shape = whole({ id: LONG, name: TEXT });
export const NEW_TENANT: Shape = whole({ id: LONG, name: TEXT, tenantToken: TEXT });

export const HOLD_TYPES: Shape = list(whole({ name: TEXT, ttlSeconds: COUNT_OR_NULL }));

export const VENUE: Shape = whole({
  id: LONG,
  name: TEXT,
  address: TEXT_OR_NULL,
  lat: NUMBER_OR_NULL,
  lng: NUMBER_OR_NULL,
  draft: BOOLEAN,
});

export const SCHEMA: Shape = whole({
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
  preview: orNull(UUID_SHAPE),
  thumbnail: {},
  venueName: TEXT_OR_NULL,
});

const DRAWN_SHAPE: Shape = object({ id: TEXT });

export const GROUP_OF_SEATS: Shape = whole({
  id: LONG,
  name: TEXT,
  prefix: TEXT_OR_NULL,
  seatPrefix: TEXT_OR_NULL,
  parentId: orNull(LONG),
  type: { type: "string", enum: ["SECTION", "ROW", "GA", "TABLE"] },
  ga: BOOLEAN,
  schemaId: LONG,
  pricingZoneId: orNull(LONG),
  guid: TEXT,
  externalId: TEXT_OR_NULL,
  shapes: { type: ["array", "null"], items: DRAWN_SHAPE },
  width: NUMBER_OR_NULL,
  height: NUMBER_OR_NULL,
  left: NUMBER_OR_NULL,
  top: NUMBER_OR_NULL,
  angle: NUMBER_OR_NULL,
});

export const LAYOUT: Shape = whole({
  sectors: list(object({ id: LONG, guid: TEXT, name: TEXT, ga: BOOLEAN }, ["id", "guid", "name"])),
  rows: list(object({ id: LONG, guid: TEXT, sectorGuid: TEXT }, ["id", "guid", "sectorGuid"])),
  seats: list(object({ id: LONG, guid: TEXT, rowGuid: TEXT, name: TEXT }, ["id", "guid", "name"])),
  shapes: list({ type: "object" }),
  clientViewBox: { type: ["object", "null"] },
});

const EVENT_MEMBERS = {
  id: UUID_SHAPE,
  createdDate: LOCAL_DATE_TIME,
  start: LOCAL_DATE_TIME,
  endDate: LOCAL_DATE_TIME,
  name: TEXT,
  schemaId: LONG,
  status: EVENT_STATUS,
};
export const EVENT: Shape = whole(EVENT_MEMBERS);
export const EVENT_EXPAND: Shape = whole({
  ...EVENT_MEMBERS,
  schemaName: TEXT_OR_NULL,
  venueId: TEXT_OR_NULL,
  venueName: TEXT_OR_NULL,
});
export const EVENT_STATUS_CHANGE: Shape = whole({
  id: UUID_SHAPE,
  name: TEXT,
  status: EVENT_STATUS,
  publishedAt: orNull(LOCAL_DATE_TIME),
});

export const EVENT_SERIES: Shape = whole({ id: UUID_SHAPE, name: TEXT, seriesId: orNull(LONG) });

export const SERIES: Shape = whole({ id: LONG, name: TEXT });

export const PRICING_ZONE: Shape = whole({ id: LONG, name: TEXT, schemaId: LONG });

export const CLONE: Shape = whole({
  id: UUID_SHAPE,
  status: { type: "string", enum: ["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"] },
  schemaId: orNull(LONG),
  errorMessage: TEXT_OR_NULL,
});

const STATE: Shape = {
  type: ["string", "null"],
  enum: ["ACTIVE", "LOCKED", "SOLD", "BLOCKED", null],
};

export const EVENT_SEAT: Shape = whole({
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

export const AREA: Shape = whole({
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

/** One seat, or some places of an area, that went from a state to a state. */
export const AUDIT_ENTRY: Shape = whole({
  sequence: LONG,
  ordinal: COUNT,
  time: LOCAL_DATE_TIME,
  call: TEXT,
  actorType: { type: "string", enum: ["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"] },
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

/** From which record to which the trail is kept. */
export const AUDIT_TRAIL: Shape = whole({
  firstSequence: LONG,
  firstTime: orNull(LOCAL_DATE_TIME),
  lastSequence: COUNT,
});

export const PRICE: Shape = whole({
  id: LONG,
  name: TEXT,
  eventId: UUID_SHAPE,
  externalId: TEXT_OR_NULL,
});

export const USER: Shape = whole({
  id: LONG,
  email: TEXT,
  name: TEXT,
  organizationId: orNull(LONG),
});

export const LOGIN: Shape = object(
  {
    success: BOOLEAN,
    token: TEXT,
    refreshToken: TEXT,
    user: USER,
    organizations: list(whole({ id: LONG, name: TEXT, secretKey: TEXT })),
    tenantToken: TEXT,
  },
  ["success", "token", "refreshToken", "user", "organizations"],
);
export const LOGIN_FAILURE: Shape = whole({ success: BOOLEAN, error: TEXT });

export const HEALTH: Shape = whole({ status: TEXT });

export const PROBLEM: Shape = whole({
  type: TEXT,
  title: TEXT,
  status: { type: "integer" },
  detail: TEXT,
  instance: TEXT,
  timestamp: { type: "string", format: "date-time" },
  path: TEXT,
  errorCode: TEXT,
  errors: list(whole({ field: TEXT, message: TEXT, rejectedValue: {}, code: TEXT })),
});
