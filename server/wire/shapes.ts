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
  either,
  integer,
  list,
  number,
  object,
  oneOf,
  openObject,
  type Optional,
  orNull,
  RECORD,
  type Shape,
  TEXT,
  text,
  whenSet,
} from "../../engine/shapes/shape.ts";
import { REPLIES } from "./replies.ts";

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
  heldPerSession: whenSet(integer()),
  heldPerEvent: whenSet(integer()),
  requestsPerSecond: whenSet(integer()),
  bookingsPerSecond: whenSet(integer()),
});

export const SESSION_CONFIG = object({ publicSessionsEnabled: BOOLEAN });

export const SECRET_KEY = object({ secretKey: TEXT });
export const TENANT_TOKEN = object({ tenantToken: TEXT });

export const TENANT = object({ id: LONG, name: TEXT });
export const NEW_TENANT = object({ id: LONG, name: TEXT, tenantToken: TEXT });

export const MOVE = object({
  organizationId: LONG,
  cell: COUNT,
  phase: oneOf(["ABSENT", "HERE", "LEAVING", "LEFT", "ARRIVING"]),
  moveId: COUNT_OR_NULL,
  toCell: COUNT_OR_NULL,
  address: orNull(TEXT),
  parts: COUNT_OR_NULL,
  receipt: orNull(TEXT),
});
export const SEALED_PART = object({ content: TEXT });

export const HOLD_TYPES = list(object({ name: TEXT, ttlSeconds: COUNT_OR_NULL }));

export const VENUE = object({
  id: LONG,
  name: TEXT,
  address: whenSet(TEXT),
  lat: whenSet(number()),
  lng: whenSet(number()),
  draft: BOOLEAN,
});

export const SCHEMA = object({
  id: LONG,
  name: TEXT,
  venueId: LONG,
  description: whenSet(TEXT),
  draft: BOOLEAN,
  template: BOOLEAN,
  archived: BOOLEAN,
  externalId: whenSet(TEXT),
  gaCapacity: whenSet(COUNT),
  seatsCapacity: whenSet(COUNT),
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

const POSITION = { x: whenSet(NUMBER_OR_NULL), y: whenSet(NUMBER_OR_NULL) };
const SECTOR = openObject({
  id: LONG,
  guid: TEXT,
  name: TEXT,
  ga: whenSet(BOOLEAN),
  gaCapacity: whenSet(COUNT_OR_NULL),
  angle: whenSet(NUMBER_OR_NULL),
  ...POSITION,
});
const ROW = openObject({ id: LONG, guid: TEXT, sectorGuid: TEXT, rowNumber: whenSet(TEXT) });
const SEAT = openObject({
  id: LONG,
  guid: TEXT,
  rowGuid: whenSet(TEXT),
  name: TEXT,
  ...POSITION,
});
/** Drawing members that the service does not know are kept and given back. */
export const LAYOUT = object({
  sectors: list(SECTOR),
  rows: list(ROW),
  seats: list(SEAT),
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
  venueId: whenSet(TEXT),
  venueName: whenSet(TEXT),
});
export const EVENT_STATUS_CHANGE = object({
  id: UUID,
  name: TEXT,
  status: EVENT_STATUS,
  publishedAt: whenSet(LOCAL_DATE_TIME),
});

export const EVENT_SERIES = object({ id: UUID, name: TEXT, seriesId: orNull(LONG) });

export const SERIES = object({ id: LONG, name: TEXT });

export const PRICING_ZONE = object({ id: LONG, name: TEXT, schemaId: LONG });

export const CLONE = object({
  id: UUID,
  status: oneOf(["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"]),
  schemaId: LONG,
  errorMessage: whenSet(TEXT),
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
  priceId: whenSet(LONG),
  priceName: whenSet(TEXT),
  updatedAt: LOCAL_DATE_TIME,
} satisfies Record<(typeof SEAT_SORTS)[number] | "available", Shape | Optional>);

export const AREA = object({
  groupOfSeatsId: LONG,
  name: TEXT,
  priceId: whenSet(LONG),
  priceName: whenSet(TEXT),
  capacity: COUNT,
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
  updatedAt: LOCAL_DATE_TIME,
});

const STATE_COUNTS = {
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
  unpriced: COUNT,
};
export const EVENT_SUMMARY = object({
  sequence: COUNT,
  total: object(STATE_COUNTS),
  byPrice: list(object({ priceId: LONG, priceName: TEXT, ...STATE_COUNTS })),
  bySection: list(object({ groupOfSeatsId: LONG, name: TEXT, ...STATE_COUNTS })),
});

/** What one lock still holds. */
export const HOLD = object({
  fence: COUNT,
  sessionId: whenSet(TEXT),
  holdType: TEXT,
  since: LOCAL_DATE_TIME,
  until: orNull(LOCAL_DATE_TIME),
  seats: list(LONG),
  areas: list(object({ groupOfSeatsId: LONG, capacity: COUNT })),
});

/** An area after a change. */
export const AREA_COUNTS = object({
  groupOfSeatsId: LONG,
  capacity: COUNT,
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
});
/** What a booking call has moved; or `true`, or the `false` of a direct sale. */
export const BOOKED = either(
  DONE,
  object({
    sequence: COUNT,
    seats: list(
      object({
        id: LONG,
        label: TEXT,
        state: STATE,
        priceId: whenSet(LONG),
        expiresAt: whenSet(LOCAL_DATE_TIME),
        fence: whenSet(COUNT),
      }),
    ),
    areas: list(AREA_COUNTS),
  }),
);

/** A transition of one seat, or of some places of an area. */
export const AUDIT_ENTRY = object({
  sequence: LONG,
  ordinal: COUNT,
  time: LOCAL_DATE_TIME,
  call: TEXT,
  actorType: oneOf(["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"]),
  actorId: whenSet(LONG),
  sessionId: whenSet(TEXT),
  holdType: whenSet(TEXT),
  holdSequence: whenSet(LONG),
  seatId: whenSet(LONG),
  groupOfSeatsId: whenSet(LONG),
  capacity: whenSet(COUNT),
  fromState: STATE,
  toState: STATE,
  priceId: whenSet(LONG),
});

/** The part of the log that the trail covers. */
export const AUDIT_TRAIL = object({
  firstSequence: LONG,
  firstTime: whenSet(LOCAL_DATE_TIME),
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
  organizationId: whenSet(LONG),
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

export const ERROR_DETAIL = object({
  field: TEXT,
  message: TEXT,
  rejectedValue: ANYTHING,
  code: TEXT,
});
const ERROR_CODES = [...new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode))].sort();
export const PROBLEM = object({
  type: TEXT,
  title: TEXT,
  status: integer(),
  detail: TEXT,
  instance: TEXT,
  timestamp: text({ format: "date-time" }),
  path: TEXT,
  errorCode: oneOf(ERROR_CODES),
  sequence: whenSet(COUNT),
  errors: list(ERROR_DETAIL),
});

export const SEAT_AFTER = object({
  id: LONG,
  state: STATE,
  priceId: orNull(LONG),
  expiresAt: whenSet(LOCAL_DATE_TIME),
});

/** What one record changed in an event. */
export const EVENT_CHANGE = object({
  sequence: COUNT,
  previous: COUNT,
  time: LOCAL_DATE_TIME,
  call: TEXT,
  sessionId: whenSet(TEXT),
  holdType: whenSet(TEXT),
  seats: list(SEAT_AFTER),
  areas: list(AREA_COUNTS),
  status: whenSet(EVENT_STATUS),
  bookable: whenSet(BOOLEAN),
});

export const EVENT_CHANGES = object({
  sequence: COUNT,
  more: BOOLEAN,
  changes: list(EVENT_CHANGE),
});

const MAP_COLUMNS = object({ ids: list(LONG), states: TEXT, priceIndexes: list(integer()) });

/** The whole map of an event. */
export const MAP_MEMBERS = {
  sequence: COUNT,
  status: EVENT_STATUS,
  bookable: BOOLEAN,
  prices: list(LONG),
  columns: MAP_COLUMNS,
  expiresAt: ANYTHING,
  areas: list(AREA_COUNTS),
};
export const EVENT_MAP = object(MAP_MEMBERS);

export const STREAM_TICKET = object({ ticket: TEXT, expiresAt: LOCAL_DATE_TIME });
